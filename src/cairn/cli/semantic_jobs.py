"""`cairn semantic jobs`: what the indexers did, do and will do; `--cancel` ends one."""

from __future__ import annotations

import argparse

from cairn.answer.envelope import plain
from cairn.answer.jobs import JobRow, ScopeRow, job_list
from cairn.cli.output import Output, counted
from cairn.clock import rfc3339
from cairn.config import cairn_home
from cairn.errors import NotFound, UsageError
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.semantic import jobs
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.model import Job, JobStatus
from cairn.semantic.scopes import Scope
from cairn.source.root import find_root, printable

_COLOURS = {
    JobStatus.QUEUED: "dim",
    JobStatus.RUNNING: "cyan",
    JobStatus.COMPLETED: "green",
    JobStatus.SUPERSEDED: "yellow",
    JobStatus.FAILED: "red",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn semantic jobs`."""
    parser.add_argument("--cancel", metavar="JOB", type=int, help="end this job, waiting or running")


def run(options: argparse.Namespace, output: Output) -> int:
    """List the jobs of this codebase, the newest first; nothing is changed unless one is cancelled."""
    root = find_root(output.around.path(options.root)).path
    database = SemanticDatabase(cairn_home(output.around.environ), root)
    if options.cancel is not None:
        _cancel(options.cancel, database)
    found = database.ask(jobs.jobs) or ()
    if options.json:
        rows = [job_row(job) for job in found]
        envelope = job_list(rows, path=options.root, root=root, database=database.path, budget=MAX_ENVELOPE_BYTES)
        output.line(envelope.to_json())
        return 0
    for job in found:
        for line in _lines(job, output):
            output.line(line)
    if not found:
        output.line("No indexer has been asked for anything here; `cairn semantic refresh` does.")
    return 0


def _cancel(job: int, database: SemanticDatabase) -> None:
    if job <= 0:
        raise UsageError(problem="A job is named by its number.")
    if database.ask(jobs.jobs) is None:
        raise _not_there("There are no jobs here.")
    with database.writing() as db:
        if jobs.cancel(db, job):
            return
        known = jobs.get(db, job)
    raise _not_there(f"Job {job} has ended already." if known is not None else f"There is no job {job}.")


def _not_there(problem: str) -> NotFound:
    return NotFound(problem=problem, advice="`cairn semantic jobs` lists those that there are")


def job_row(job: Job) -> JobRow:
    """The job as an envelope takes it."""
    return JobRow(job.id, job.context, job.status.value, _scope_row(job.scope), *_rest(job))


def _rest(job: Job) -> tuple[str, int, str, float, float | None, float | None, str | None, str | None, int | None]:
    times = job.created_at, job.started_at, job.finished_at
    return (job.reason, job.priority, job.head, *times, job.error, job.superseded_reason, job.pid)


def _scope_row(scope: Scope) -> ScopeRow:
    return ScopeRow(scope.full, tuple(sorted(scope.files)), tuple(sorted(scope.packages)), scope.since)


def _lines(job: Job, output: Output) -> list[str]:
    when = job.finished_at or job.started_at or job.created_at
    status = output.styled(f"{job.status.value:<10}", _COLOURS[job.status])
    context = printable(job.context.encode())
    lines = [f"{job.id:>5}  {status}  {rfc3339(int(when * 1e9))}  {context}  {_scope(job.scope)}"]
    why = job.error or job.superseded_reason
    return [*lines, f"       {plain(why)}"] if why else lines


def _scope(scope: Scope) -> str:
    parts = [counted(len(scope.files), "file")] if scope.files else []
    parts += [printable(folder.encode()) + "/" for folder in sorted(scope.packages)[:3]]
    parts += ["what has changed since"] if scope.since is not None else []
    return "everything" if scope.full else ", ".join(parts) or "nothing"
