"""Build answers about what indexers know: contexts, jobs, refreshes, edit gates, renames and decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cairn.answer.envelope import Envelope, cut, fit, ok, tail
from cairn.answer.search import NAME
from cairn.answer.structure import Timings, filled, no_answer, room, shell_of
from cairn.ask.gate import Status
from cairn.ask.values import Reply
from cairn.core.clock import rfc3339
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.core.text import plain
from cairn.edit.journal import TreeEdit
from cairn.semantic.ambiguity import SENTENCES, Ambiguity
from cairn.semantic.editing import Decision, GateFile, MutationGate, Verdict
from cairn.semantic.plan import PlanCheck, RenamePlan

CONTEXTS = "cairn.contexts/1"
_MOST_HOLES = 100


class ListedContext(NamedTuple):
    """One context, the number of its files, and the indexer that reads it: where that is, or why it cannot be used."""

    id: str
    family: str
    root: str
    name: str
    fence: str
    why: str
    files: int
    config_hash: str
    punched: tuple[str, ...]
    indexer: str
    program: str | None
    trouble: str
    install: str
    tested: bool


class DetachedRow(NamedTuple):
    """A package that belongs to no context, and the file that decides this."""

    family: str
    root: str
    fence: str
    why: str


def context_list(
    contexts: Sequence[ListedContext],
    detached: Sequence[DetachedRow],
    *,
    path: str,
    root: str,
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return every context with its reason, and the packages that belong to none."""
    room = min(budget, MAX_ENVELOPE_BYTES) // 4
    shown = fit([_context(one) for one in contexts], room)
    alone = fit([_detached(one) for one in detached], room)
    body = [
        ("results", shown),
        ("detached", alone),
        *tail(warnings, cut("results", len(shown), len(contexts)), cut("detached", len(alone), len(detached))),
        ("hints", {}),
    ]
    return ok(CONTEXTS, path=path, root=root, body=body)


def _context(row: ListedContext) -> dict[str, Any]:
    return {
        "id": row.id,
        "family": row.family,
        "root": row.root,
        "name": plain(row.name),
        "fence": row.fence or None,
        "why": plain(row.why),
        "files": row.files,
        "configHash": row.config_hash,
        "nested": list(row.punched[:_MOST_HOLES]),
        "nestedCount": len(row.punched),
        "indexer": {
            "name": row.indexer,
            "program": row.program,
            "trouble": plain(row.trouble) or None,
            "install": row.install,
            "tested": row.tested,
        },
    }


def _detached(row: DetachedRow) -> dict[str, Any]:
    return {"family": row.family, "root": row.root, "fence": row.fence, "why": plain(row.why)}


# --- Refreshes: the jobs there are, and what became of each context.


JOBS = "cairn.jobs/1"
REFRESH = "cairn.refresh/1"
_MOST_PATHS = 20


class ScopeRow(NamedTuple):
    """What a job covers: everything, or files, folders and what changed since a time."""

    full: bool
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    since: float | None = None


class JobRow(NamedTuple):
    """One job; times are seconds since 1970."""

    id: int
    context: str
    status: str
    scope: ScopeRow
    reason: str
    priority: int
    head: str
    created_at: float
    started_at: float | None
    finished_at: float | None
    error: str | None
    superseded_reason: str | None
    pid: int | None


class ContextRefresh(NamedTuple):
    """What became of a context: the job, if there was one, and how much it took in."""

    context: str
    family: str
    outcome: str
    job: JobRow | None = None
    files: int = 0
    changed: int = 0
    occurrences: int = 0
    code: str | None = None


def job_list(
    jobs: Sequence[JobRow], *, path: str, root: str, database: str, budget: int = DEFAULT_ENVELOPE_BYTES
) -> Envelope:
    """Return the jobs, the newest first."""
    rows = fit(map(job_row, jobs), min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [
        ("database", database),
        ("jobs", rows),
        *tail((), cut("jobs", len(rows), len(jobs))),
        ("hints", {}),
    ]
    return ok(JOBS, path=path, root=root, body=body)


def refresh_report(
    contexts: Sequence[ContextRefresh],
    *,
    path: str,
    root: str,
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return what a refresh did."""
    rows = fit(map(_context_row, contexts), min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [("contexts", rows), *tail(warnings, cut("contexts", len(rows), len(contexts))), ("hints", {})]
    return ok(REFRESH, path=path, root=root, body=body)


def job_row(job: JobRow) -> dict[str, Any]:
    """Return one job; null stands for what has not happened."""
    scope = {
        "full": job.scope.full,
        "files": list(job.scope.files[:_MOST_PATHS]),
        "fileCount": len(job.scope.files),
        "folders": list(job.scope.packages[:_MOST_PATHS]),
        "since": _time(job.scope.since),
    }
    return {
        "id": job.id,
        "context": job.context,
        "status": job.status,
        "scope": scope,
        "reason": plain(job.reason),
        "priority": job.priority,
        "head": job.head or None,
        "createdAt": _time(job.created_at),
        "startedAt": _time(job.started_at),
        "finishedAt": _time(job.finished_at),
        "error": None if job.error is None else plain(job.error),
        "supersededReason": None if job.superseded_reason is None else plain(job.superseded_reason),
        "pid": job.pid,
    }


def _context_row(one: ContextRefresh) -> dict[str, Any]:
    return {
        "context": one.context,
        "family": one.family,
        "outcome": one.outcome,
        "files": one.files,
        "changedMeanwhile": one.changed,
        "occurrences": one.occurrences,
        "errorCode": one.code,
        "job": None if one.job is None else job_row(one.job),
    }


def _time(seconds: float | None) -> str | None:
    """Return the time as every envelope writes it; None for a time that no clock could show."""
    if seconds is None or not 0 <= seconds < 1e11:
        return None
    return rfc3339(int(seconds * 1e9))


# --- Edits: the state of files and their gate, a rename, a decision.


GATE, RENAME, DECISION, UNDO = "cairn.gate/1", "cairn.rename/1", "cairn.decision/1", "cairn.undo/1"
STATUS = {
    Verdict.AUTOMATIC: Status.OK,
    Verdict.NEEDS_DECISION: Status.NEEDS_DECISION,
    Verdict.BLOCKED: Status.BLOCKED,
}
MESSAGES = {
    Verdict.NEEDS_DECISION: "Something is ambiguous, and somebody has to decide what is meant.",
    Verdict.BLOCKED: "What is known is not fresh or not there, so nothing may be edited by it.",
}
NEW_ERRORS = "With these changes {by} reports errors that it does not report without them, so they are not offered."
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
_MOST_ERRORS_BYTES = 8_192


def gate_answer(
    reply: Reply[MutationGate],
    *,
    judged: bool = True,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return the files and their states; when `judged`, the status says whether all may be edited together."""
    told = reply.value
    if told is None:
        return no_answer(GATE, reply, timings)
    shell = shell_of(GATE, reply, timings, ("verdict", told.verdict.value))
    page = filled(shell, [_file_row(one) for one in told.files], len(told.files), budget)
    return _judged(page, told.verdict, DECIDE) if judged else page


def rename_answer(
    reply: Reply[RenamePlan],
    *,
    edit: int | None = None,
    timings: Timings = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return what a rename changes and what stands against it; `text` is the patch when nothing does and it fits.

    `edit` is the number of the edit that has done it, None when nothing was changed.
    """
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
        *([("check", _check_row(told.check))] if told.check is not None else []),
        ("applied", edit is not None),
        ("edit", edit),
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
    answer = _judged(replace(page, body=tuple(body.items())), told.verdict, DECIDE_NAME)
    if told.check is None or not told.check.errors:
        return answer
    said = dict(answer.body) | {"message": NEW_ERRORS.format(by=", ".join(told.check.by))}
    said["hints"] = {name: text for name, text in said["hints"].items() if name != "next"}
    return replace(answer, body=tuple(said.items()))


def _check_row(one: PlanCheck) -> dict[str, Any]:
    errors = [{"path": each.path, "line": each.line, "text": each.message} for each in one.errors]
    return {"by": list(one.by), "whyNot": plain(one.why_not), "errors": fit(errors, _MOST_ERRORS_BYTES)}


def undo_answer(edit: TreeEdit | None, *, path: str, root: str) -> Envelope:
    """Return which edit was taken back, with its files; None when one was forgotten and no file has changed."""
    paths = edit.paths if edit is not None else ()
    shown = fit([{"path": one} for one in paths], DEFAULT_ENVELOPE_BYTES)
    hit = cut("results", len(shown), len(paths))
    body: list[tuple[str, Any]] = [
        ("edit", None if edit is None else {"number": edit.undoes, "about": plain(edit.about)}),
        ("results", shown),
        *tail((), hit),
        ("hints", {}),
    ]
    return ok(UNDO, path=path, root=root, body=body)


def decision_answer(reply: Reply[Decision], *, timings: Timings = ()) -> Envelope:
    """Return a decision as it is kept."""
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
    """Return as many questions as fit, the undecided ones first."""
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
    """Return a name that is a single word; None for any other, which appears in the patch only."""
    return name if NAME.fullmatch(name) else None
