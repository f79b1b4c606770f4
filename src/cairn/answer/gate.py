"""May a tool answer from this index? One decision for all of them, and how a closed gate is told.

There are three reasons to be closed. When several hold at once, `requires_reindex` is told before `not_ready`, and that
before `not_indexed`. A damaged store is `not_indexed` with a hint that says so; what could not be read at all is an
error and says nothing about what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cairn.answer.envelope import Envelope, NonOkReason, Status, asked, plain
from cairn.errors import CairnError, NotIndexed, NotReady, NoValidSnapshot, RequiresReindex
from cairn.store.standing import UNPROVEN, Proof, ProofReason, State, WriterInfo

# Of the statuses of several codebases, the first that holds is told for all.
PRECEDENCE = (Status.REQUIRES_REINDEX, Status.NOT_READY, Status.NOT_INDEXED)
_MOST_FIELDS = 20
# The runs that leave the gate open, unless the user wants no answer while they are at work.
_CATCHING_UP = frozenset({"sync", "catchup", "repair"})
# The two runs that read every file again; all others look for what changed.
_FULL_RUNS = frozenset({"create", "reindex"})
PROBE_FAILED = {"ok": False, "reason": ProofReason.PROBE_FAILED.value}
STALE = "it was indexed, and the proof that its index is complete is missing or wrong ({reason})"

_SENTENCES = {
    State.INDEXED: ("{root} is indexed.", ""),
    State.INDEXING: ("{root} is being indexed.", "Ask again when the run has ended."),
    State.CLEARED: ("The index of {root} was cleared.", "Run `cairn index` to fill it again."),
    State.NOT_INDEXED: ("{root} is not indexed.", "Run `cairn index` to index it."),
    State.CORRUPT: (
        "Store corrupt: no snapshot of {root} is whole.",
        "Run `cairn repair`, which keeps what is whole and reads the rest again; your files are untouched.",
    ),
}


@dataclass(frozen=True, slots=True)
class GateFacts:
    """What is known of an index. `differs` names the fields in which all indexes of the root are not what is wanted.

    `last_good` is the snapshot that could answer somebody who takes an old one; `why` is why nobody has indexed it.
    `stale`: there was an index, and `proof` is why there is none now. `strict`: the user wants no answer while any run
    is at work.
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
    """The one place where a gate is decided. `stale_ok` opens it while a run replaces a snapshot that is whole."""
    if facts.differs and facts.state in (State.NOT_INDEXED, State.INDEXED):
        return Gate(Status.REQUIRES_REINDEX, NonOkReason.REQUIRES_REINDEX, facts)
    if facts.is_indexing and not (stale_ok and facts.last_good):
        return Gate(Status.NOT_READY, NonOkReason.INDEXING, facts)
    if facts.state in (State.INDEXED, State.INDEXING):
        return Gate(Status.OK, None, facts)
    return Gate(Status.NOT_INDEXED, NonOkReason.NOT_INDEXED, facts)


def first_told(statuses: Iterable[Status]) -> Status | None:
    """Of several closed gates the one that is told for all of them; None when there is none."""
    found = set(statuses)
    return next((status for status in PRECEDENCE if status in found), None)


def gate_error(gate: Gate, shown_root: str) -> CairnError:
    """The same as an error, for whoever raises instead of answering."""
    facts = gate.facts
    if gate.status is Status.REQUIRES_REINDEX:
        return RequiresReindex(path=shown_root, differs=", ".join(facts.differs[:_MOST_FIELDS]))
    if gate.status is Status.NOT_READY:
        return NotReady(path=shown_root)
    if facts.state is State.CORRUPT:
        return NoValidSnapshot(path=shown_root, why="see `cairn health`")
    return NotIndexed(path=shown_root, why=_why(facts))


def closed(schema: str, gate: Gate, *, path: str | None, ask_id: str | int | None = None) -> Envelope:
    """The answer of a tool whose gate is closed."""
    head = [("id", ask_id)] if ask_id is not None else []
    body = [*head, *gate_fields(gate), ("limitsHit", []), ("warnings", []), ("hints", hints_of(gate))]
    return Envelope(schema, gate.status, asked(path), asked(gate.facts.root), tuple(body))


def gate_fields(gate: Gate) -> list[tuple[str, Any]]:
    """Reason and message, and how far the run is that closes it."""
    assert gate.reason is not None, "an open gate has nothing to say"
    fields: list[tuple[str, Any]] = [("reason", gate.reason.value), ("message", _message(gate))]
    if gate.status is Status.NOT_READY:
        fields.append(("indexing", indexing_fields(gate.facts.writer)))
    return fields


def _message(gate: Gate) -> str:
    facts = gate.facts
    if facts.state is State.CORRUPT:
        return state_sentence(State.CORRUPT, facts.root)[0]
    return plain(gate_error(gate, facts.root).sentence)


def hints_of(gate: Gate) -> dict[str, Any]:
    """What to call next at a closed gate, all of it on the root that is meant."""
    facts = gate.facts
    hints: dict[str, Any] = {"status": _call("status", facts.root)}
    if gate.status is Status.NOT_INDEXED:
        create = {"recommendedAction": _call("create", facts.root)}
        reason = _stale_reason(facts)
        hints |= {"staleLocal": {"completionProof": reason.value} | create} if reason else create
    if gate.status is Status.REQUIRES_REINDEX:
        hints["differs"] = list(facts.differs[:_MOST_FIELDS])
        hints["recommendedAction"] = _call("reindex", facts.root)
    if gate.status is Status.NOT_READY and facts.last_good:
        hints["lastGood"] = {"snapshot": facts.last_good, "with": "allowStale"}
    return hints | {"next": plain(gate_error(gate, facts.root).advice)}


def _call(action: str, root: str) -> dict[str, Any]:
    return {"tool": "manage_index", "args": {"action": action, "path": asked(root)}}


def _stale_reason(facts: GateFacts) -> ProofReason | None:
    """Why an index that was there does not count; None when there was none."""
    if facts.state is State.CORRUPT:
        wrong = facts.proof.reason
        return ProofReason.INVALID_PAYLOAD if wrong in (None, ProofReason.MISSING_MARKER_DOC) else wrong
    return facts.proof.reason if facts.stale else None


def _why(facts: GateFacts) -> str:
    if facts.why:
        return facts.why
    if facts.state is State.CLEARED:
        return "it was cleared"
    if reason := _stale_reason(facts):
        return STALE.format(reason=reason)
    return "the run that made it was stopped" if facts.failed else "nobody has indexed it yet"


# --- words that others use too ----------------------------------------------------------------------------------------


def state_sentence(state: State, root: str) -> tuple[str, str]:
    """What the state means, and what to do about it (nothing when it is indexed)."""
    sentence, advice = _SENTENCES[state]
    return plain(sentence.format(root=root)), advice


def indexing_fields(writer: WriterInfo | None) -> dict[str, Any]:
    """How far a run is; null is what it has not said."""
    told = writer.progress if writer else None
    kind = ("full" if writer.kind in _FULL_RUNS else "catchup") if writer and writer.alive else None
    return {
        "progressPct": round(100 * told.fraction, 1) if told else None,
        "progress": round(told.fraction, 4) if told else None,
        "phase": told.phase if told else None,
        "lastUpdated": told.updated_at if told else None,
        "indexingType": kind,
        "filesToProcess": told.total if told else None,
        "currentFile": told.current_file if told else None,
    }
