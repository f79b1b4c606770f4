"""Build reports about all stores of a user: which there are, what they take, and what a purge removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from cairn.answer.envelope import Envelope, asked, cut, fit, ok, tail
from cairn.answer.runs import failed_run
from cairn.ask.whereabouts import Whereabouts, where_at_most
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES, STORE_UNUSED_DAYS
from cairn.core.text import plain
from cairn.store import Tracked
from cairn.sync.inventory import StoreEntry
from cairn.sync.proof import Proof
from cairn.sync.stores import Purged

# --- The codebases of a user: which are indexed, and where each stands.


LIST = "cairn.list/1"


def codebase_list(
    stores: Sequence[StoreEntry],
    *,
    roots: Mapping[str, str] | None = None,
    tracked: Sequence[Tracked] = (),
    standing: Mapping[str, Whereabouts] | None = None,
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return every codebase that has or had an index, in order of its root, with the index that was used last.

    `roots` maps stores to their roots, for stores that cannot be read just now; a store whose root nobody knows has
    none. `tracked` is what the registry remembers, also of codebases without a store, and `standing` where each
    codebase stands whose folder is there.
    """
    rows = codebase_rows(stores, roots=roots or {}, tracked=tracked, standing=standing or {})
    shown = fit(rows, min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [("results", shown), *tail((), cut("results", len(shown), len(rows))), ("hints", {})]
    return ok(LIST, path=None, root=None, body=body)


def codebase_rows(
    stores: Sequence[StoreEntry],
    *,
    roots: Mapping[str, str],
    tracked: Sequence[Tracked],
    standing: Mapping[str, Whereabouts],
) -> list[dict[str, Any]]:
    """Return one row for each codebase."""
    known = {one.store_id: one.root for one in tracked}
    known |= {one.store_id: one.root for one in stores if one.root} | dict(roots)
    roots = {_family(store): root for store, root in known.items()}
    left = {one.root: one for one in tracked}
    named = sorted(stores, key=lambda one: (_root(one, roots), one.store_id))
    rows = []
    for root, found in groupby(named, key=lambda one: _root(one, roots)):
        each = list(found)
        # Stores of unknown roots may belong to different ones: a row for each.
        if root:
            rows.append(_row(root, each, left.pop(root, None), standing.get(root)))
        else:
            rows += [_row("", [one], None, None) for one in each]
    rows += [_remembered(one, standing.get(one.root)) for one in left.values()]
    return sorted(rows, key=lambda row: row["root"] or "")


def _root(entry: StoreEntry, roots: Mapping[str, str]) -> str:
    return entry.root or roots.get(_family(entry.store_id), "")


def _family(store_id: str) -> str:
    """Return the part of a store's name that all stores of one root share; it names the root even of an empty store."""
    return store_id.rpartition("__")[0] or store_id


def _row(
    root: str, stores: Sequence[StoreEntry], tracked: Tracked | None, stands: Whereabouts | None
) -> dict[str, Any]:
    best = max(stores, key=lambda one: (one.active_snapshot_id is not None, one.last_used_at or "", one.store_id))
    trouble = best.trouble and {"code": best.trouble.code, "message": plain(best.trouble.message)}
    writing = any(one.writer_alive for one in stores)
    stands = stands or where_at_most(best, tracked, writing=writing)
    return {
        "root": root or None,
        "rootExists": best.root_exists,
        "state": stands.state.value,
        "store": best.store_id,
        "stores": len(stores),
        "snapshot": best.active_snapshot_id,
        "files": best.files,
        "embeddingModel": best.embedding_model or (tracked.embedding_model if tracked else None),
        "isIndexing": writing,
        "lastRun": failed_run(stands),
        "lastSyncAt": best.last_sync_at,
        "lastUsedAt": best.last_used_at,
        "trouble": trouble,
    }


def _remembered(tracked: Tracked, stands: Whereabouts | None) -> dict[str, Any]:
    """Return the row of a codebase whose store is gone, or was never made."""
    stands = stands or where_at_most(None, tracked, writing=False)
    return {
        "root": tracked.root,
        "rootExists": None,
        "state": stands.state.value,
        "store": tracked.store_id,
        "stores": 0,
        "snapshot": None,
        "files": None,
        "embeddingModel": tracked.embedding_model,
        "isIndexing": False,
        "lastRun": failed_run(stands),
        "lastSyncAt": None,
        "lastUsedAt": None,
        "trouble": None,
    }


# --- The engine: the place where rows are searched.


ENGINE = "cairn.engine/1"


def proof_fields(proof: Proof | None) -> dict[str, str | None] | None:
    """Return what the marker on the server proves; None where there is nothing to prove."""
    return None if proof is None else {"outcome": proof.outcome.value, "reason": proof.reason and proof.reason.value}


def engine_report(
    *, path: str, root: str, action: str, engine: Mapping[str, object], warnings: Sequence[str] = ()
) -> Envelope:
    """Return which engine it is, its state, and what was sent to it or brought back."""
    body = [("action", action), ("engine", dict(engine)), *tail(warnings), ("hints", {})]
    return ok(ENGINE, path=path, root=root, body=body)


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
    """Return the stores, with that of this root marked; `unknown` are printable names in `data/` of other origin."""
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
    """Return what a purge removed, or would have, and what it left."""
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
    """Return what to do about stores whose folder is gone; None when there are none."""
    lost = sum(entry.root_exists is False for entry in stores)
    if not lost:
        return None
    belong = "1 store belongs to a folder that is" if lost == 1 else f"{lost:,} stores belong to folders that are"
    return f"{belong} no longer there; `cairn gc --stores` removes what was not used for {STORE_UNUSED_DAYS} days."


def store_row(entry: StoreEntry, *, current: bool = False) -> dict[str, Any]:
    """Return one store; null stands for what is not known."""
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
