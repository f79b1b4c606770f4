"""What is said about refreshes of semantic facts: the jobs there are, and what became of each context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cairn.answer.envelope import Envelope, cut, fit, ok, plain, tail
from cairn.clock import rfc3339
from cairn.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES

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
    """The jobs, the newest first."""
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
    """What a refresh did."""
    rows = fit(map(_context_row, contexts), min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [("contexts", rows), *tail(warnings, cut("contexts", len(rows), len(contexts))), ("hints", {})]
    return ok(REFRESH, path=path, root=root, body=body)


def job_row(job: JobRow) -> dict[str, Any]:
    """One job; null is what has not happened."""
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
    """As every envelope writes it; a time that no clock could show is none."""
    if seconds is None or not 0 <= seconds < 1e11:
        return None
    return rfc3339(int(seconds * 1e9))
