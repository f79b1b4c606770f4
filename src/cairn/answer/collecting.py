"""What is said about a collection: of old snapshots of one index, or of indexes that nobody uses."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.answer.envelope import Envelope, cut, fit, ok, plain, tail
from cairn.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.store.standing import StoresCollected

_SCHEMA = "cairn.gc/1"


def collect_report(
    *,
    path: str,
    root: str,
    dry_run: bool,
    snapshots: Sequence[str],
    segments: int,
    staging: int,
    freed_bytes: int,
    kept: int,
    note: str | None,
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """What went of one index, or would; `note` says why nothing could."""
    shown = fit(snapshots, min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [
        ("dryRun", dry_run),
        ("freedBytes", freed_bytes),
        ("index", {"snapshots": shown, "segments": segments, "staging": staging, "kept": kept}),
        ("stores", None),
        ("note", None if note is None else plain(note)),
        *tail(warnings, cut("snapshots", len(shown), len(snapshots))),
        ("hints", {}),
    ]
    return ok(_SCHEMA, path=path, root=root, body=body)


def stores_report(
    *, path: str, root: str | None, dry_run: bool, collected: StoresCollected, budget: int = DEFAULT_ENVELOPE_BYTES
) -> Envelope:
    """Which indexes went, or would, and why the others stay."""
    room = min(budget, MAX_ENVELOPE_BYTES) // 4
    removed = [
        {"id": entry.store_id, "root": entry.root, "lastUsedAt": entry.last_used_at, "bytes": entry.size_bytes}
        for entry in collected.removed
    ]
    kept = [{"id": row.entry.store_id, "because": row.because.value, "why": plain(row.why)} for row in collected.kept]
    shown, stayed = fit(removed, room), fit(kept, room)
    body = [
        ("dryRun", dry_run),
        ("freedBytes", collected.freed_bytes),
        ("index", None),
        ("stores", {"removed": shown, "kept": stayed}),
        ("note", None),
        *tail(collected.notes, cut("removed", len(shown), len(removed)), cut("kept", len(stayed), len(kept))),
        ("hints", {}),
    ]
    return ok(_SCHEMA, path=path, root=root, body=body)
