"""What is said about all stores of a user: which there are, what they take, and what a purge removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cairn.answer.envelope import Envelope, asked, cut, fit, ok, plain, tail
from cairn.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES, STORE_UNUSED_DAYS
from cairn.store.standing import Purged, StoreEntry

_SCHEMA = "cairn.stores/1"


def store_list(
    *,
    path: str,
    root: str | None,
    home: str,
    stores: Sequence[StoreEntry],
    current: str | None = None,
    unknown: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """The stores, that of this root marked; `unknown` are printable names beside them that are not Cairn's."""
    room = min(budget, MAX_ENVELOPE_BYTES)
    rows = fit((store_row(entry, current=entry.store_id == current) for entry in stores), room // 2)
    names = fit(map(plain, unknown), room // 8)
    hits = [cut("results", len(rows), len(stores)), cut("unknown", len(names), len(unknown))]
    body = [
        ("home", asked(home)),
        ("totalBytes", sum(entry.size_bytes for entry in stores)),
        ("results", rows),
        ("unknown", names),
        ("purge", None),
        *tail((), *hits),
        ("hints", {"next": advice} if (advice := lost_roots(stores)) else {}),
    ]
    return ok(_SCHEMA, path=path, root=root, body=body)


def purge_report(
    *, path: str, root: str | None, home: str, purged: Purged, dry_run: bool, budget: int = DEFAULT_ENVELOPE_BYTES
) -> Envelope:
    """What a purge removed, or would have, and what it left."""
    room = min(budget, MAX_ENVELOPE_BYTES) // 4
    removed = fit(purged.removed, room)
    stayed = fit(({"name": plain(row.name), "why": plain(row.why)} for row in purged.stayed), room)
    hits = [cut("removed", len(removed), len(purged.removed)), cut("stayed", len(stayed), len(purged.stayed))]
    done = {"dryRun": dry_run, "freedBytes": purged.freed_bytes, "removed": removed, "stayed": stayed}
    body = [
        ("home", asked(home)),
        ("totalBytes", 0),
        ("results", []),
        ("unknown", []),
        ("purge", done),
        *tail((), *hits),
        ("hints", {}),
    ]
    return ok(_SCHEMA, path=path, root=root, body=body)


def lost_roots(stores: Sequence[StoreEntry]) -> str | None:
    """What to do about stores whose folder is gone; None when there are none."""
    lost = sum(entry.root_exists is False for entry in stores)
    if not lost:
        return None
    belong = "1 store belongs to a folder that is" if lost == 1 else f"{lost:,} stores belong to folders that are"
    return f"{belong} no longer there; `cairn gc --stores` removes what was not used for {STORE_UNUSED_DAYS} days."


def store_row(entry: StoreEntry, *, current: bool = False) -> dict[str, Any]:
    """One store; null is what could not be told."""
    trouble = entry.trouble and {"code": entry.trouble.code, "message": plain(entry.trouble.message)}
    return {
        "id": entry.store_id,
        "path": entry.path,
        "root": entry.root,
        "rootExists": entry.root_exists,
        "current": current,
        "createdAt": entry.created_at,
        "lastUsedAt": entry.last_used_at,
        "bytes": entry.size_bytes,
        "activeSnapshot": entry.active_snapshot_id,
        "indexFingerprint": entry.config_fingerprint,
        "writerAlive": entry.writer_alive,
        "trouble": trouble,
    }
