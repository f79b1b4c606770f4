"""Build the answer of a closed gate: reason, message, progress of the run that closes it, and what to call next."""

from __future__ import annotations

from typing import Any

from cairn.answer.envelope import Envelope, asked
from cairn.ask.gate import MOST_FIELDS, Gate, Status, gate_error, stale_reason
from cairn.ask.whereabouts import state_sentence
from cairn.core.text import plain
from cairn.store import WriterInfo
from cairn.sync.proof import ProofReason
from cairn.sync.status import ProposedIndex, State

# The two runs that read every file again; all others look only for changes.
_FULL_RUNS = frozenset({"create", "reindex"})
PROBE_FAILED = {"ok": False, "reason": ProofReason.PROBE_FAILED.value}


def closed(schema: str, gate: Gate, *, path: str | None, ask_id: str | int | None = None) -> Envelope:
    """Return the answer of a tool whose gate is closed."""
    head = [("id", ask_id)] if ask_id is not None else []
    body = [*head, *gate_fields(gate), ("limitsHit", []), ("warnings", []), ("hints", hints_of(gate))]
    return Envelope(schema, gate.status, asked(path), asked(gate.facts.root), tuple(body))


def gate_fields(gate: Gate) -> list[tuple[str, Any]]:
    """Return the reason and the message, and the progress of the run that closes the gate."""
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
    """Return what to call next at a closed gate, every call on the root that is meant."""
    facts = gate.facts
    hints: dict[str, Any] = {"status": _call("status", facts.root)}
    if gate.status is Status.NOT_INDEXED:
        create = {"recommendedAction": _call("create", facts.root)}
        reason = stale_reason(facts)
        hints |= {"staleLocal": {"completionProof": reason.value} | create} if reason else create
    if gate.status is Status.REQUIRES_REINDEX:
        hints["differs"] = list(facts.differs[:MOST_FIELDS])
        hints["recommendedAction"] = _call("reindex", facts.root)
    if gate.status is Status.NOT_READY and facts.last_good:
        hints["lastGood"] = {"snapshot": facts.last_good, "with": "allowStale"}
    return hints | {"next": plain(gate_error(gate, facts.root).advice)}


def proposal_hint(proposed: ProposedIndex) -> dict[str, Any]:
    """Return what a repository's settings ask for, the call that makes it, and how far a run that does so is."""
    hint: list[tuple[str, Any]] = [
        ("differs", list(proposed.differs[:MOST_FIELDS])),
        ("recommendedAction", _call("reindex", proposed.root)),
    ]
    if proposed.writer is not None:
        hint.append(("indexing", indexing_fields(proposed.writer)))
    return dict(hint)


def _call(action: str, root: str) -> dict[str, Any]:
    return {"tool": "manage_index", "args": {"action": action, "path": asked(root)}}


def indexing_fields(writer: WriterInfo | None) -> dict[str, Any]:
    """Return the progress of a run; null where the run has not reported it."""
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
        "secondsLeft": writer.seconds_left if writer else None,
    }
