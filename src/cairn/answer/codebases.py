"""What is said about all codebases of a user: which are indexed, and where each stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from cairn.answer.envelope import Envelope, cut, fit, ok, plain, tail
from cairn.answer.states import Lifecycle, lifecycle
from cairn.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.store.standing import RunOutcome, State, StoreEntry, Tracked

LIST = "cairn.list/1"


def codebase_list(
    stores: Sequence[StoreEntry],
    *,
    roots: Mapping[str, str] | None = None,
    tracked: Sequence[Tracked] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Every codebase that has or had an index, in order of its root, with the index that was used last.

    `roots` says to which root a store belongs that cannot say so itself just now, nor by another of the same root; one
    that nobody knows has none.
    `tracked` is what the registry remembers, of codebases without a store too.
    """
    rows = codebase_rows(stores, roots=roots or {}, tracked=tracked)
    shown = fit(rows, min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [("results", shown), *tail((), cut("results", len(shown), len(rows))), ("hints", {})]
    return ok(LIST, path=None, root=None, body=body)


def codebase_rows(
    stores: Sequence[StoreEntry], *, roots: Mapping[str, str], tracked: Sequence[Tracked]
) -> list[dict[str, Any]]:
    """One row for each codebase."""
    known = {one.store_id: one.root for one in tracked}
    known |= {one.store_id: one.root for one in stores if one.root} | dict(roots)
    roots = {_family(store): root for store, root in known.items()}
    left = {one.root: one for one in tracked}
    named = sorted(stores, key=lambda one: (_root(one, roots), one.store_id))
    rows = []
    for root, found in groupby(named, key=lambda one: _root(one, roots)):
        each = list(found)
        # Indexes of unknown roots are not known to be of the same.
        rows += [_row(root, each, left.pop(root, None))] if root else [_row("", [one], None) for one in each]
    rows += [_remembered(one) for one in left.values()]
    return sorted(rows, key=lambda row: row["root"] or "")


def _root(entry: StoreEntry, roots: Mapping[str, str]) -> str:
    return entry.root or roots.get(_family(entry.store_id), "")


def _family(store_id: str) -> str:
    """What the names of all stores of one root begin with: a store in which nothing was published says no more."""
    return store_id.rpartition("__")[0] or store_id


def _row(root: str, stores: Sequence[StoreEntry], tracked: Tracked | None) -> dict[str, Any]:
    best = max(stores, key=lambda one: (one.active_snapshot_id is not None, one.last_used_at or "", one.store_id))
    trouble = best.trouble and {"code": best.trouble.code, "message": plain(best.trouble.message)}
    return {
        "root": root or None,
        "rootExists": best.root_exists,
        "state": _state(best, any(one.writer_alive for one in stores), tracked).value,
        "store": best.store_id,
        "stores": len(stores),
        "snapshot": best.active_snapshot_id,
        "files": best.files,
        "embeddingModel": best.embedding_model or (tracked.embedding_model if tracked else None),
        "isIndexing": any(one.writer_alive for one in stores),
        "lastSyncAt": best.last_sync_at,
        "lastUsedAt": best.last_used_at,
        "trouble": trouble,
    }


def _remembered(tracked: Tracked) -> dict[str, Any]:
    """A codebase whose store is gone; somebody indexed it, or tried to."""
    state = lifecycle(State.NOT_INDEXED, tracked, failed=tracked.failed)
    return {
        "root": tracked.root,
        "rootExists": None,
        "state": state.value,
        "store": tracked.store_id,
        "stores": 0,
        "snapshot": None,
        "files": None,
        "embeddingModel": tracked.embedding_model,
        "isIndexing": False,
        "lastSyncAt": None,
        "lastUsedAt": None,
        "trouble": None,
    }


def _state(best: StoreEntry, writing: bool, tracked: Tracked | None) -> Lifecycle:
    """The state as far as store and registry say; what closes the gate is for the status to tell."""
    begun = tracked is not None and tracked.last_run_outcome is RunOutcome.BEGUN
    if writing and (begun or best.active_snapshot_id is None):
        return lifecycle(State.INDEXING)
    if best.active_snapshot_id is None:
        return lifecycle(State.NOT_INDEXED, failed=tracked is not None and tracked.failed)
    return lifecycle(State.CLEARED if best.cleared else State.INDEXED, tracked)
