"""The states of a codebase, and which may follow which: one table, shown as it is in docs/STATES.md.

A state is never written down. It follows from the store, from the lease of a run that is alive, and, where the store
has nothing to say, from what the registry remembers. So a run that is killed leaves no state behind.
"""

from __future__ import annotations

from enum import StrEnum

from cairn.store.standing import RunOutcome, State, Tracked


class Lifecycle(StrEnum):
    """Where a codebase stands."""

    NOT_FOUND = "not_found"
    INDEXING = "indexing"
    INDEXED = "indexed"
    SYNC_COMPLETED = "sync_completed"
    INDEXFAILED = "indexfailed"
    REQUIRES_REINDEX = "requires_reindex"


_N, _I, _D = Lifecycle.NOT_FOUND, Lifecycle.INDEXING, Lifecycle.INDEXED
_S, _F, _R = Lifecycle.SYNC_COMPLETED, Lifecycle.INDEXFAILED, Lifecycle.REQUIRES_REINDEX

CAUSES: dict[tuple[Lifecycle, Lifecycle], str] = {
    (_N, _I): "a create or reindex takes the lease",
    (_I, _D): "the run publishes a snapshot with a valid proof, or fails and an older proof counts again",
    (_I, _S): "a reindex fails, and the proof that the last sync published counts again",
    (_I, _F): "the run fails or its process dies, and there is no older proof",
    (_I, _N): "the run is cancelled or clears the index, and there is no proof",
    (_D, _S): "a sync publishes a snapshot with a valid proof",
    (_S, _D): "a later sync fails, or the registry is lost: the snapshot still answers",
    (_D, _I): "an explicit reindex takes the lease",
    (_S, _I): "an explicit reindex takes the lease",
    (_D, _R): "settings or versions change what the rows mean",
    (_S, _R): "settings or versions change what the rows mean",
    (_F, _R): "settings change after a first run failed",
    (_R, _D): "the settings are put back",
    (_R, _S): "the settings are put back",
    (_R, _F): "the settings are put back after a first run failed",
    (_R, _I): "an explicit create or reindex takes the lease",
    (_F, _I): "an explicit create or reindex takes the lease",
    (_D, _N): "the index is cleared, removed, or damaged so that no snapshot is whole",
    (_S, _N): "the index is cleared, removed, or damaged so that no snapshot is whole",
    (_F, _N): "the codebase is forgotten",
    (_R, _N): "the index is cleared, removed, or damaged so that no snapshot is whole",
}
TRANSITIONS = frozenset(CAUSES)


class ForbiddenTransition(AssertionError):
    """A state was followed by one that cannot follow it: a mistake of ours, never of a user."""


def moved(before: Lifecycle, after: Lifecycle) -> Lifecycle:
    """The state after; to stay is no move. `ForbiddenTransition` when the table has no such step."""
    if before is not after and (before, after) not in TRANSITIONS:
        raise ForbiddenTransition(f"{before} is never followed by {after}")
    return after


def lifecycle(
    state: State, tracked: Tracked | None = None, *, differs: bool = False, failed: bool = False
) -> Lifecycle:
    """The state of a codebase whose store stands so; `differs`: all of its indexes are of another making."""
    if differs and state in (State.INDEXED, State.NOT_INDEXED):
        return Lifecycle.REQUIRES_REINDEX
    if state is State.INDEXING:
        return Lifecycle.INDEXING
    if state is State.INDEXED:
        synced = tracked is not None and (tracked.last_run_kind, tracked.last_run_outcome) == _SYNCED
        return Lifecycle.SYNC_COMPLETED if synced else Lifecycle.INDEXED
    return Lifecycle.INDEXFAILED if failed and state is State.NOT_INDEXED else Lifecycle.NOT_FOUND


_SYNCED = ("sync", RunOutcome.SUCCEEDED)
