"""The answers to questions about edits: the state of files and the gate before them, a rename, a decision, local names.

They keep the rules of every answer about structure. `needs_decision` and `blocked` carry all that is known: what there
is to decide, and for each file that is blocked why, and what will cure it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cairn.answer.envelope import Envelope, Status, cut, fit, plain
from cairn.answer.search import NAME
from cairn.answer.structure import Reply, Timings, filled, no_answer, room, shell_of
from cairn.limits import DEFAULT_ENVELOPE_BYTES
from cairn.semantic.ambiguity import SENTENCES, Ambiguity
from cairn.semantic.decisions import Decision
from cairn.semantic.gate import GateFile, MutationGate, Verdict
from cairn.semantic.rename import RenamePlan

GATE, RENAME, DECISION = "cairn.gate/1", "cairn.rename/1", "cairn.decision/1"
STATUS = {
    Verdict.AUTOMATIC: Status.OK,
    Verdict.NEEDS_DECISION: Status.NEEDS_DECISION,
    Verdict.BLOCKED: Status.BLOCKED,
}
MESSAGES = {
    Verdict.NEEDS_DECISION: "Something is ambiguous, and somebody has to decide what is meant.",
    Verdict.BLOCKED: "What is known is not fresh or not there, so nothing may be edited by it.",
}
DECIDE = "`cairn semantic decide SIGNATURE CHOICE --file FILE` keeps a decision."
DECIDE_NAME = (
    "`cairn semantic decide SIGNATURE CHOICE --rename SYMBOL NEW` keeps a decision; about a file, say `--file FILE`."
)
_CURES = "Each file says in `witness` what will cure it."
_MOST_REASONS = 10
_MOST_QUESTIONS = 20
_MOST_CANDIDATES = 5
_MOST_REASON = 300
_MOST_SELECTED = 20


def gate_answer(
    reply: Reply[MutationGate],
    *,
    judged: bool = True,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """The files and their states; `judged`, the status says whether all of them may be edited together."""
    told = reply.value
    if told is None:
        return no_answer(GATE, reply, timings)
    shell = shell_of(GATE, reply, timings, ("verdict", told.verdict.value))
    page = filled(shell, [_file_row(one) for one in told.files], len(told.files), budget)
    return _judged(page, told.verdict, DECIDE) if judged else page


def rename_answer(reply: Reply[RenamePlan], *, timings: Timings = (), budget: int = DEFAULT_ENVELOPE_BYTES) -> Envelope:
    """What a rename changes, what stands against it, and in `text` the patch when nothing does and it fits."""
    told = reply.value
    if told is None:
        return no_answer(RENAME, reply, timings)
    against = [_file_row(one) for one in told.gate.files if one.verdict is not Verdict.AUTOMATIC]
    fields: list[tuple[str, Any]] = [
        ("verdict", told.verdict.value),
        ("rename", {"old": _name(told.old), "new": _name(told.new)}),
        ("questions", _question_rows(told.questions, told.open)),
        ("mentions", len(told.mentions)),
        ("left", max(0, told.left)),
        ("outside", len(told.outside)),
        ("against", []),
        ("text", ""),
    ]
    shell = shell_of(RENAME, reply, timings, *fields)
    page = filled(shell, [{"path": one.path, "places": one.places} for one in told.edits], len(told.edits), budget // 2)
    body = dict(page.body)
    body["against"] = fit(against, room(page, budget) // 2) if against else []
    patch = told.patch.decode("utf-8", "replace")
    fits = len(patch.encode()) * 2 <= room(replace(page, body=tuple(body.items())), budget)
    body["text"] = patch if fits else ""
    hits = [
        cut("questions", len(body["questions"]), len(told.questions)),
        cut("against", len(body["against"]), len(against)),
        cut("text", int(fits), 1),
    ]
    body["limitsHit"] = [*body["limitsHit"], *(hit for hit in hits if hit)]
    return _judged(replace(page, body=tuple(body.items())), told.verdict, DECIDE_NAME)


def decision_answer(reply: Reply[Decision], *, timings: Timings = ()) -> Envelope:
    """What was decided, as it is kept."""
    told = reply.value
    if told is None:
        return no_answer(DECISION, reply, timings)
    shell = shell_of(DECISION, reply, timings, ("decision", _decision_row(told)))
    return replace(shell, body=tuple((name, value) for name, value in shell.body if name != "results"))


def _judged(page: Envelope, verdict: Verdict, decide: str) -> Envelope:
    if verdict is Verdict.AUTOMATIC:
        return page
    body = {"message": MESSAGES[verdict]} | dict(page.body)
    body["hints"] = body["hints"] | {"next": decide if verdict is Verdict.NEEDS_DECISION else _CURES}
    return replace(page, status=STATUS[verdict], body=tuple(body.items()))


# --- rows -------------------------------------------------------------------------------------------------------------


def _file_row(one: GateFile) -> dict[str, Any]:
    row: dict[str, Any] = {"path": one.path, "context": one.context and plain(one.context, _MOST_REASON)}
    row |= {"freshness": one.state.freshness.value, "certainty": one.state.certainty.value}
    row |= {"verdict": one.verdict.value, "reach": one.reach.value}
    row["reasons"] = [plain(reason, _MOST_REASON) for reason in one.state.reasons[:_MOST_REASONS]]
    row["questions"] = _question_rows(one.questions, one.open)
    row["questionCount"] = len(one.questions)
    row["decisions"] = [_decision_row(each) for each in one.decided[:_MOST_QUESTIONS]]
    if one.witness is not None:
        job = one.witness.job
        shown = None if job is None else {"id": job.id, "status": job.status.value}
        row["witness"] = {"cure": plain(one.witness.cure), "job": shown}
    return row


def _question_rows(questions: Sequence[Ambiguity], still_open: Sequence[Ambiguity]) -> list[dict[str, Any]]:
    """As many as fit, those first that nobody has decided."""
    undecided = set(still_open)
    ordered = sorted(questions, key=lambda one: one not in undecided)
    return [_question_row(one, still_open) for one in ordered[:_MOST_QUESTIONS]]


def _question_row(one: Ambiguity, still_open: Sequence[Ambiguity]) -> dict[str, Any]:
    row: dict[str, Any] = {"signature": one.signature, "source": one.source.value, "path": one.path, "line": one.line}
    if NAME.fullmatch(one.name):
        row["symbol"] = one.name
    shown = [{"path": each.path, "line": each.line} for each in one.candidates[:_MOST_CANDIDATES]]
    row |= {"sentence": SENTENCES[one.source], "candidates": shown, "candidateCount": len(one.candidates)}
    return row | {"open": one in still_open}


def _decision_row(one: Decision) -> dict[str, Any]:
    return {"signature": one.signature, "selected": [plain(each) for each in one.selected[:_MOST_SELECTED]]}


def _name(name: str) -> str | None:
    """A name that is a single word; another one stands in the patch only."""
    return name if NAME.fullmatch(name) else None
