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
from cairn.answer.runs import indexing_fields, state_sentence
from cairn.errors import CairnError, NotIndexed, NotReady, NoValidSnapshot, RequiresReindex
from cairn.store.standing import State, WriterInfo

# Of the statuses of several codebases, the first that holds is told for all.
PRECEDENCE = (Status.REQUIRES_REINDEX, Status.NOT_READY, Status.NOT_INDEXED)
_MOST_FIELDS = 20


@dataclass(frozen=True, slots=True)
class GateFacts:
    """What is known of an index. `differs` names the fields in which all indexes of the root are not what is wanted.

    `last_good` is the snapshot that could answer somebody who takes an old one; `why` is why nobody has indexed it.
    """

    root: str
    state: State
    differs: tuple[str, ...] = ()
    failed: bool = False
    writer: WriterInfo | None = None
    last_good: str | None = None
    why: str = ""


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
    if facts.state is State.INDEXING and not (stale_ok and facts.last_good):
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
    body = [*head, *gate_fields(gate), ("limitsHit", []), ("warnings", []), ("hints", _hints(gate))]
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


def _hints(gate: Gate) -> dict[str, Any]:
    facts = gate.facts
    status = {"action": "status", "path": asked(facts.root)}
    hints: dict[str, Any] = {"status": {"tool": "manage_index", "args": status}}
    if facts.state is State.CORRUPT:
        hints["staleLocal"] = {"completionProof": "invalid_payload"}
    if gate.status is Status.REQUIRES_REINDEX:
        hints["differs"] = list(facts.differs[:_MOST_FIELDS])
    if gate.status is Status.NOT_READY and facts.last_good:
        hints["lastGood"] = {"snapshot": facts.last_good, "with": "allowStale"}
    return hints | {"next": plain(gate_error(gate, facts.root).advice)}


def _why(facts: GateFacts) -> str:
    if facts.why:
        return facts.why
    if facts.state is State.CLEARED:
        return "it was cleared"
    return "the run that made it was stopped" if facts.failed else "nobody has indexed it yet"
