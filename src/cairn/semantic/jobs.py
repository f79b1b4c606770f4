"""Refresh jobs: enqueued, claimed, kept alive, ended. For each context at most one runs and one waits.

Every change of a job names the status that it expects and happens in a transaction of the caller, so of many callers
one wins. A request during a run widens the job that waits, because the run has already read its files. A job is
superseded when the commit has changed and for no other reason; the next job then covers its scope.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes, ProcessId
from cairn.core.limits import JOB_ATTEMPTS, JOB_LEASE_SECONDS, JOBS_KEPT
from cairn.semantic.database import Connection, SemanticDatabase
from cairn.semantic.model import FULL, Job, JobStatus, RefreshScope, from_json

HEAD_CHANGED = "the commit has changed"
CANCELLED = "it was cancelled"
_DIED = "the process that ran it has gone"
_JOBS = (
    "SELECT j.id, c.key, j.status, j.scope, j.trigger_reason, j.priority, j.head_at_enqueue, j.created_at,"
    " j.started_at, j.finished_at, j.error, j.superseded_reason, j.pid"
    " FROM refresh_jobs j JOIN contexts c ON c.id = j.context_id"
)
_OPEN = "SELECT id, scope, priority, head_at_enqueue FROM refresh_jobs WHERE context_id = ? AND status = ?"
_INSERT = (
    "INSERT INTO refresh_jobs (context_id, status, scope, trigger_reason, priority, head_at_enqueue, created_at)"
    " VALUES (?, 'queued', ?, ?, ?, ?, ?)"
)


class EnqueueResult(StrEnum):
    """What became of a request."""

    CREATED = "created"
    WIDENED = "widened"
    COVERED = "covered"


class Enqueued(NamedTuple):
    """The job that will do the work, and what became of the request; no job when the scope was empty."""

    job: int | None
    asked: EnqueueResult


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that belongs to this process as long as its row carries this holder."""

    job: Job
    holder: str


# --- asking -----------------------------------------------------------------------------------------------------------


def enqueue(
    db: Connection,
    context: str,
    scope: RefreshScope,
    *,
    head: str,
    reason: str,
    priority: int = 0,
    clock: Clock = SYSTEM_CLOCK,
) -> Enqueued:
    """Make sure that a job refreshes the scope at this commit (empty: no commit). A higher priority goes first."""
    if scope.empty:
        return Enqueued(None, EnqueueResult.COVERED)
    at = _context_id(db, context)
    scope = scope.join(_supersede(db, at, head, clock))
    waiting = db.execute(_OPEN, (at, JobStatus.QUEUED)).fetchone()
    if waiting is None:
        row = at, scope.to_json(), reason, priority, head, _now(clock)
        return Enqueued(db.execute(_INSERT, row).lastrowid, EnqueueResult.CREATED)
    job, known, before, _ = waiting
    asked = EnqueueResult.COVERED if _scope(known).covers(scope) else EnqueueResult.WIDENED
    if asked is EnqueueResult.WIDENED or priority > before:
        wider = _scope(known).join(scope).to_json()
        changed = "UPDATE refresh_jobs SET scope = ?, priority = ? WHERE id = ? AND status = 'queued'"
        db.execute(changed, (wider, max(priority, before), job))
    return Enqueued(job, asked)


def _supersede(db: Connection, at: int, head: str, clock: Clock) -> RefreshScope:
    """End the jobs of another commit and return the scope that they were to cover."""
    left = RefreshScope()
    for status in (JobStatus.QUEUED, JobStatus.RUNNING):
        found = db.execute(_OPEN, (at, status)).fetchone()
        if found is not None and found[3] != head and _end(db, found[0], status, _SUPERSEDED, clock):
            left = left.join(_scope(found[1]))
    return left


# --- claiming ---------------------------------------------------------------------------------------------------------


def claim(
    db: Connection,
    job: int | None = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
) -> Claim | None:
    """Claim a job, or the first one in line, for this process; None when somebody else was faster or there is none."""
    wanted = job if job is not None else _first(db)
    if wanted is None:
        return None
    holder = _holder(processes.me())
    taken = db.execute(
        "UPDATE refresh_jobs SET status = 'running', started_at = ?, holder = ?, pid = ?, heartbeat_at = ?,"
        " attempts = attempts + 1 WHERE id = ? AND status = 'queued' AND NOT EXISTS (SELECT 1 FROM refresh_jobs other"
        " WHERE other.context_id = refresh_jobs.context_id AND other.status = 'running')",
        (_now(clock), holder, processes.me().pid, clock.boottime(), wanted),
    )
    found = get(db, wanted) if taken.rowcount else None
    return Claim(found, holder) if found is not None else None


def _first(db: Connection) -> int | None:
    """Return the job with the highest priority, then the oldest; a context whose job runs has to wait."""
    found = db.execute(
        "SELECT id FROM refresh_jobs q WHERE status = 'queued' AND NOT EXISTS (SELECT 1 FROM refresh_jobs r"
        " WHERE r.context_id = q.context_id AND r.status = 'running') ORDER BY priority DESC, id LIMIT 1"
    ).fetchone()
    return found and int(found[0])


def heartbeat(db: Connection, held: Claim, *, clock: Clock = SYSTEM_CLOCK) -> bool:
    """Record that the worker of this job is alive; False when the job belongs to somebody else by now."""
    beat = "UPDATE refresh_jobs SET heartbeat_at = ? WHERE id = ? AND status = 'running' AND holder = ?"
    return bool(db.execute(beat, (clock.boottime(), held.job.id, held.holder)).rowcount)


def is_held(db: Connection, held: Claim) -> bool:
    """Whether the job still belongs to this claim."""
    ours = "SELECT 1 FROM refresh_jobs WHERE id = ? AND status = 'running' AND holder = ?"
    return db.execute(ours, (held.job.id, held.holder)).fetchone() is not None


# --- ending -----------------------------------------------------------------------------------------------------------


class _End(NamedTuple):
    status: JobStatus
    error: str | None = None
    superseded: str | None = None


_SUPERSEDED = _End(JobStatus.SUPERSEDED, superseded=HEAD_CHANGED)


def complete(db: Connection, held: Claim, *, clock: Clock = SYSTEM_CLOCK) -> bool:
    """End a job as completed, in the transaction that imported its output; False when the claim was lost."""
    return _end(db, held.job.id, JobStatus.RUNNING, _End(JobStatus.COMPLETED), clock, held.holder)


def fail(db: Connection, held: Claim, why: str, *, clock: Clock = SYSTEM_CLOCK) -> bool:
    """End a job as failed, with the reason; False when the claim was lost."""
    return _end(db, held.job.id, JobStatus.RUNNING, _End(JobStatus.FAILED, why), clock, held.holder)


def supersede(db: Connection, held: Claim, head: str, *, clock: Clock = SYSTEM_CLOCK) -> int | None:
    """End a job because the commit has changed; return the job that does the work again at the new commit."""
    if not _end(db, held.job.id, JobStatus.RUNNING, _SUPERSEDED, clock, held.holder):
        return None
    job = held.job
    again = enqueue(db, job.context, job.scope, head=head, reason=job.reason, priority=job.priority, clock=clock)
    return again.job


def cancel(db: Connection, job: int, *, clock: Clock = SYSTEM_CLOCK) -> bool:
    """End a job that waits or runs; the worker of a running job learns of it at its next heartbeat."""
    end = _End(JobStatus.FAILED, CANCELLED)
    return _end(db, job, JobStatus.QUEUED, end, clock) or _end(db, job, JobStatus.RUNNING, end, clock)


def recover(db: Connection, *, clock: Clock = SYSTEM_CLOCK, processes: Processes = SYSTEM_PROCESSES) -> int:
    """Requeue the jobs of workers that are dead or sent no heartbeat for too long; return how many."""
    running = "SELECT id, holder, heartbeat_at, attempts FROM refresh_jobs WHERE status = 'running'"
    lost = [
        (job, attempts)
        for job, holder, beat, attempts in db.execute(running).fetchall()
        if _is_lost(holder, beat, clock, processes)
    ]
    for job, attempts in lost:
        _put_back(db, job, attempts, clock)
    return len(lost)


def _put_back(db: Connection, job: int, attempts: int, clock: Clock) -> None:
    at, scope = db.execute("SELECT context_id, scope FROM refresh_jobs WHERE id = ?", (job,)).fetchone()
    waiting = db.execute(_OPEN, (at, JobStatus.QUEUED)).fetchone()
    if attempts >= JOB_ATTEMPTS:
        why = f"it was begun {attempts} times and its worker died each time"
        _end(db, job, JobStatus.RUNNING, _End(JobStatus.FAILED, why), clock)
    elif waiting is not None:
        # The waiting job does the same work at the same commit, and more at a later one.
        _end(db, job, JobStatus.RUNNING, _End(JobStatus.FAILED, _DIED), clock)
        wider = _scope(waiting[1]).join(_scope(scope)).to_json()
        db.execute("UPDATE refresh_jobs SET scope = ? WHERE id = ? AND status = 'queued'", (wider, waiting[0]))
    else:
        db.execute(
            "UPDATE refresh_jobs SET status = 'queued', started_at = NULL, holder = NULL, pid = NULL,"
            " heartbeat_at = NULL WHERE id = ? AND status = 'running'",
            (job,),
        )


def _is_lost(holder: object, beat: object, clock: Clock, processes: Processes) -> bool:
    process = _process(holder)
    if process is None or not isinstance(beat, float) or processes.is_gone(process):
        return True
    # A heartbeat in the future is from before the machine was restarted.
    return not 0 <= clock.boottime() - beat <= JOB_LEASE_SECONDS


def _end(db: Connection, job: int, expected: JobStatus, end: _End, clock: Clock, holder: str | None = None) -> bool:
    """End a job that has the expected status (and holder, if one is given); False when it has not."""
    ended = db.execute(
        "UPDATE refresh_jobs SET status = ?, finished_at = ?, error = ?, superseded_reason = ?"
        " WHERE id = ? AND status = ? AND holder IS coalesce(?, holder)",
        (end.status, _now(clock), end.error, end.superseded, job, expected, holder),
    )
    if ended.rowcount:
        _forget_old(db, job)
    return bool(ended.rowcount)


def _forget_old(db: Connection, job: int) -> None:
    db.execute(
        "DELETE FROM refresh_jobs WHERE status NOT IN ('queued', 'running') AND context_id = (SELECT context_id FROM"
        " refresh_jobs WHERE id = ?1) AND id NOT IN (SELECT id FROM refresh_jobs WHERE context_id = (SELECT context_id"
        " FROM refresh_jobs WHERE id = ?1) ORDER BY id DESC LIMIT ?2)",
        (job, JOBS_KEPT),
    )


# --- reading ----------------------------------------------------------------------------------------------------------


def get(db: Connection, job: int) -> Job | None:
    """Return one job; None when it is not known, or no longer."""
    found = db.execute(f"{_JOBS} WHERE j.id = ?", (job,)).fetchone()
    return found and _job(found)


def jobs(db: Connection) -> tuple[Job, ...]:
    """Return all jobs that are remembered, the newest first."""
    return _sound(db.execute(f"{_JOBS} ORDER BY j.id DESC"))


def pending(db: Connection) -> tuple[Job, ...]:
    """Return the jobs that run or wait, in the order in which they go."""
    rows = db.execute(f"{_JOBS} WHERE j.status IN ('queued', 'running') ORDER BY j.status DESC, j.priority DESC, j.id")
    return _sound(rows)


def failures(db: Connection) -> tuple[Job, ...]:
    """Return the last job of each context whose last job has failed."""
    last: dict[str, Job] = {}
    for job in jobs(db):
        last.setdefault(job.context, job)
    return tuple(job for _, job in sorted(last.items()) if job.status is JobStatus.FAILED)


def failed_refreshes(database: SemanticDatabase) -> tuple[str, ...]:
    """Return what went wrong when indexers last ran, in sentences; the index itself needs no indexer."""
    found = database.ask(failures) or ()
    return tuple(f"The last semantic refresh of {job.context} failed: {job.error}" for job in found)


def _sound(rows: Iterable[tuple[Any, ...]]) -> tuple[Job, ...]:
    return tuple(job for row in rows if (job := _job(row)) is not None)


def _job(row: tuple[Any, ...]) -> Job | None:
    """Return the job in a row; None for a row that Cairn would not have written."""
    if row[2] not in JobStatus.__members__.values():
        return None
    return Job(int(row[0]), row[1], JobStatus(row[2]), _scope(row[3]), *row[4:])


def _scope(text: object) -> RefreshScope:
    """Return the scope in a text; an unreadable text is taken for the full scope, which covers any other."""
    try:
        return from_json(str(text))
    except ValueError:
        return FULL


def _context_id(db: Connection, key: str) -> int:
    found = db.execute("SELECT id FROM contexts WHERE key = ?", (key,)).fetchone()
    if found is None:
        raise KeyError(key)
    return int(found[0])


def _holder(me: ProcessId) -> str:
    parts = {"pid": me.pid, "started": me.started, "boot": me.boot_id, "namespace": me.namespace, "host": me.hostname}
    return json.dumps({**parts, "token": secrets.token_hex(8)})


def _process(holder: object) -> ProcessId | None:
    try:
        said = json.loads(str(holder))
        return ProcessId(
            int(said["pid"]), int(said["started"]), str(said["boot"]), int(said["namespace"]), str(said["host"])
        )
    except (ValueError, KeyError, TypeError):
        return None


def _now(clock: Clock) -> float:
    return clock.wall_ns() / 1e9
