"""Decide whether an index may answer: one decision for all tools, and the reason of a closed gate.

A gate is closed for one of three reasons. When several hold at once, `requires_reindex` goes before `not_ready`, and
that before `not_indexed`. A damaged store is `not_indexed` with a hint that says so; a store that could not be read is
an error and says nothing about what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from cairn.errors import CairnError, IndexingInProgressError, NotIndexed, NoValidSnapshot, RequiresReindex
from cairn.store import RunOutcome, Tracked, WriterInfo
from cairn.sync.proof import UNPROVEN, Proof, ProofReason
from cairn.sync.status import State

# --- The states of a codebase, and which may follow which: one table, shown as it is in docs/STATES.md.


class Lifecycle(StrEnum):
    """The state of a codebase."""

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
    """Return the state after a move; staying is no move. Raises `ForbiddenTransition` when the table lacks the move."""
    if before is not after and (before, after) not in TRANSITIONS:
        raise ForbiddenTransition(f"{before} is never followed by {after}")
    return after


def lifecycle(
    state: State, tracked: Tracked | None = None, *, differs: bool = False, failed: bool = False
) -> Lifecycle:
    """Return the state of a codebase by its store; `differs`: all of its indexes have another fingerprint."""
    if differs and state in (State.INDEXED, State.NOT_INDEXED):
        return Lifecycle.REQUIRES_REINDEX
    if state is State.INDEXING:
        return Lifecycle.INDEXING
    if state is State.INDEXED:
        synced = tracked is not None and (tracked.last_run_kind, tracked.last_run_outcome) == _SYNCED
        return Lifecycle.SYNC_COMPLETED if synced else Lifecycle.INDEXED
    return Lifecycle.INDEXFAILED if failed and state is State.NOT_INDEXED else Lifecycle.NOT_FOUND


_SYNCED = ("sync", RunOutcome.SUCCEEDED)


class Status(StrEnum):
    """The closed set of outcomes; everything else is an error code, a hint or a field."""

    OK = "ok"
    NOT_READY = "not_ready"
    REQUIRES_REINDEX = "requires_reindex"
    NOT_INDEXED = "not_indexed"
    UNSUPPORTED = "unsupported"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    NEEDS_DECISION = "needs_decision"
    BLOCKED = "blocked"
    ERROR = "error"


class NonOkReason(StrEnum):
    """Why a gate is closed. There are three reasons and there will be no fourth."""

    INDEXING = "indexing"
    REQUIRES_REINDEX = "requires_reindex"
    NOT_INDEXED = "not_indexed"


# The first of these that any of several codebases has is the status for all of them.
PRECEDENCE = (Status.REQUIRES_REINDEX, Status.NOT_READY, Status.NOT_INDEXED)
MOST_FIELDS = 20
# The runs that leave the gate open, unless the user's settings say `block`.
_CATCHING_UP = frozenset({"sync", "catchup", "repair"})
STALE = "it was indexed, and the proof that its index is complete is missing or wrong ({reason})"


@dataclass(frozen=True, slots=True)
class GateFacts:
    """What is known of an index. `differs` names the fields in which all indexes of the root are not what is wanted.

    `last_good` is the snapshot that could answer a caller who accepts an old one; `why` is why there is no index.
    `stale`: there was an index, and `proof` is why there is none now. `strict`: the user wants no answer while any run
    is at work. `part`: what the run at work has done so far is open, for a caller who takes it.
    """

    root: str
    state: State
    differs: tuple[str, ...] = ()
    failed: bool = False
    writer: WriterInfo | None = None
    last_good: str | None = None
    why: str = ""
    proof: Proof = UNPROVEN
    stale: bool = False
    strict: bool = False
    part: bool = False

    @property
    def is_indexing(self) -> bool:
        """Whether a run closes the gate."""
        if self.state is not State.INDEXED or not self.strict or self.writer is None:
            return self.state is State.INDEXING
        return self.writer.alive and self.writer.kind in _CATCHING_UP


@dataclass(frozen=True, slots=True)
class Gate:
    """The decision: open when `reason` is None."""

    status: Status
    reason: NonOkReason | None
    facts: GateFacts

    @property
    def is_open(self) -> bool:
        return self.reason is None


def decide(facts: GateFacts, *, stale_ok: bool = False) -> Gate:
    """Decide the gate; nothing else does. `stale_ok` opens it while a run replaces a snapshot that is whole.

    So does a `part` of the index that the run makes.
    """
    if facts.differs and facts.state in (State.NOT_INDEXED, State.INDEXED):
        return Gate(Status.REQUIRES_REINDEX, NonOkReason.REQUIRES_REINDEX, facts)
    if facts.is_indexing and not (stale_ok and facts.last_good) and not facts.part:
        return Gate(Status.NOT_READY, NonOkReason.INDEXING, facts)
    if facts.state in (State.INDEXED, State.INDEXING):
        return Gate(Status.OK, None, facts)
    return Gate(Status.NOT_INDEXED, NonOkReason.NOT_INDEXED, facts)


def first_told(statuses: Iterable[Status]) -> Status | None:
    """Return the status that stands for several closed gates; None when there is none."""
    found = set(statuses)
    return next((status for status in PRECEDENCE if status in found), None)


def gate_error(gate: Gate, shown_root: str) -> CairnError:
    """Return a closed gate as an error, for callers that raise."""
    facts = gate.facts
    if gate.status is Status.REQUIRES_REINDEX:
        return RequiresReindex(path=shown_root, differs=", ".join(facts.differs[:MOST_FIELDS]))
    if gate.status is Status.NOT_READY:
        return IndexingInProgressError(path=shown_root)
    if facts.state is State.CORRUPT:
        return NoValidSnapshot(path=shown_root, why="see `cairn health`")
    return NotIndexed(path=shown_root, why=_why(facts))


def stale_reason(facts: GateFacts) -> ProofReason | None:
    """Return why an earlier index does not count; None when there was none."""
    if facts.state is State.CORRUPT:
        wrong = facts.proof.reason
        return ProofReason.INVALID_PAYLOAD if wrong in (None, ProofReason.MISSING_MARKER_DOC) else wrong
    return facts.proof.reason if facts.stale else None


def _why(facts: GateFacts) -> str:
    if facts.why:
        return facts.why
    if facts.state is State.CLEARED:
        return "it was cleared"
    if reason := stale_reason(facts):
        return STALE.format(reason=reason)
    return "the run that was to make it did not finish" if facts.failed else "nobody has indexed it yet"
