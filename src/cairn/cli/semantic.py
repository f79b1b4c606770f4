"""Ask for what compilers know of a codebase, and show it (`cairn semantic`).

The verbs about edits are in `semantic_edits`. Heavy modules are imported when a verb is run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from cairn.answer.semantic import (
    ContextRefresh,
    DetachedRow,
    JobRow,
    ListedContext,
    ScopeRow,
    context_list,
    job_list,
    refresh_report,
)
from cairn.cli.output import Output, counted, prepare_all
from cairn.cli.verbs import code_of
from cairn.core.clock import rfc3339
from cairn.core.config import cairn_home
from cairn.core.limits import MAX_ENVELOPE_BYTES, MAX_PROJECT_FILE_BYTES
from cairn.core.text import plain
from cairn.errors import IndexerMissing, NoContext, NotFound, UsageError
from cairn.semantic import jobs
from cairn.semantic.contexts import Discovery, discover
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.indexers import BY_FAMILY
from cairn.semantic.model import FULL, NOTHING, Context, Job, JobStatus, RefreshScope, of_files
from cairn.semantic.tools import find_tool, install_command
from cairn.source.beneath import Tree
from cairn.source.root import find_root, path_key, printable, relative_to_root
from cairn.source.walk import walk
from cairn.sync.codebase import Codebase, open_codebase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cairn.ask.refreshing import Refreshed, Watcher, Wish
    from cairn.ask.session import Session, Target
    from cairn.semantic.model import Job
    from cairn.semantic.running import Beat
    from cairn.semantic.worker import RefreshStep


# --- `cairn semantic discover`: the contexts of a codebase, and why they are contexts.


_MOST_SHOWN = 10


def configure_discover(parser: argparse.ArgumentParser) -> None:
    """Add nothing: `cairn semantic discover` has no options of its own."""


def run_discover(options: argparse.Namespace, output: Output) -> int:
    """List the contexts by the names and the project files of the tree; nothing is indexed, and no program is run."""
    environ = output.around.environ
    codebase = open_codebase(options.root, environ)
    found = _discovered(codebase)
    rows = [_context_row(one, found, codebase, environ) for one in found.contexts]
    warnings = [f"{counted(found.left_out, 'context')} more are left out."] if found.left_out else []
    if options.json:
        detached = [DetachedRow(one.family.value, one.root, one.fence, one.why) for one in found.detached]
        envelope = context_list(
            rows, detached, path=options.root, root=codebase.root.path, warnings=warnings, budget=MAX_ENVELOPE_BYTES
        )
        output.line(envelope.to_json())
        return 0
    _show_contexts(rows, found, output)
    for warning in warnings:
        output.note(warning)
    return 0


def _discovered(codebase: Codebase) -> Discovery:
    with Tree(codebase.root) as tree:
        walked = walk(tree, codebase.config, tracked=codebase.tracked)
        raw = {candidate.key: candidate.raw for candidate in walked.candidates}
        return discover(raw, lambda key: tree.read_small(raw[key], MAX_PROJECT_FILE_BYTES))


def _context_row(context: Context, found: Discovery, codebase: Codebase, environ: Mapping[str, str]) -> ListedContext:
    indexer, home = BY_FAMILY[context.family], cairn_home(environ)
    program, trouble = None, ""
    try:
        tool = find_tool(
            indexer, root=codebase.root.path, home=home, environ=environ, settings=codebase.config.semantic
        )
        program = tool.program
    except IndexerMissing as problem:
        trouble = str(problem.fields["why"])
    return ListedContext(
        id=context.id,
        family=context.family.value,
        root=context.root,
        name=context.name,
        fence=context.fence,
        why=context.why,
        files=found.counts[context.id],
        config_hash=context.config_hash,
        punched=context.punched,
        indexer=indexer.name,
        program=program,
        trouble=trouble,
        install=install_command(indexer, home),
        tested=indexer.tested,
    )


def _show_contexts(rows: list[ListedContext], found: Discovery, output: Output) -> None:
    if not rows:
        output.line("No file here is of a language that an indexer reads.")
    for row in rows:
        name = f"  {plain(row.name)}" if row.name not in row.id else ""
        output.line(f"{output.styled(_shown(row.id), 'cyan')}{name}  {counted(row.files, 'file')}")
        output.line(f"    {plain(row.why)}")
        if row.punched:
            output.line(f"    Without {_some(row.punched)}.")
        state = "is there" if row.program else f"is missing: {plain(row.trouble)}"
        output.line(f"    {row.indexer} {state}{'' if row.tested else ' (untested)'}.")
    for one in found.detached:
        output.line(f"{output.styled('detached', 'yellow')}  {one.family.value}:{_shown(one.root)}")
        output.line(f"    {plain(one.why)}")
    for command in sorted({row.install for row in rows if row.program is None}):
        output.note(f"To install: {command}")


def _some(roots: tuple[str, ...]) -> str:
    more = f" and {len(roots) - _MOST_SHOWN:,} more" if len(roots) > _MOST_SHOWN else ""
    return ", ".join(map(_shown, roots[:_MOST_SHOWN])) + more


def _shown(key: str) -> str:
    return printable(key.encode())


# --- `cairn semantic jobs`: what the indexers did, do and will do; `--cancel` ends a job.


_COLOURS = {
    JobStatus.QUEUED: "dim",
    JobStatus.RUNNING: "cyan",
    JobStatus.COMPLETED: "green",
    JobStatus.SUPERSEDED: "yellow",
    JobStatus.FAILED: "red",
}


def configure_jobs(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn semantic jobs`."""
    parser.add_argument("--cancel", metavar="JOB", type=int, help="end this job, waiting or running")


def run_jobs(options: argparse.Namespace, output: Output) -> int:
    """List the jobs of this codebase, the newest first; changes nothing unless a job is cancelled."""
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
    """Return the job as an envelope shows it."""
    return JobRow(job.id, job.context, job.status.value, _scope_row(job.scope), *_rest(job))


def _rest(job: Job) -> tuple[str, int, str, float, float | None, float | None, str | None, str | None, int | None]:
    times = job.created_at, job.started_at, job.finished_at
    return (job.reason, job.priority, job.head, *times, job.error, job.superseded_reason, job.pid)


def _scope_row(scope: RefreshScope) -> ScopeRow:
    return ScopeRow(scope.full, tuple(sorted(scope.files)), tuple(sorted(scope.packages)), scope.since)


def _lines(job: Job, output: Output) -> list[str]:
    when = job.finished_at or job.started_at or job.created_at
    status = output.styled(f"{job.status.value:<10}", _COLOURS[job.status])
    context = printable(job.context.encode())
    lines = [f"{job.id:>5}  {status}  {rfc3339(int(when * 1e9))}  {context}  {_scope_text(job.scope)}"]
    why = job.error or job.superseded_reason
    return [*lines, f"       {plain(why)}"] if why else lines


def _scope_text(scope: RefreshScope) -> str:
    parts = [counted(len(scope.files), "file")] if scope.files else []
    parts += [printable(folder.encode()) + "/" for folder in sorted(scope.packages)[:3]]
    parts += ["what has changed since"] if scope.since is not None else []
    return "everything" if scope.full else ", ".join(parts) or "nothing"


# --- `cairn semantic refresh`: run the indexers over what has changed, and import what they say.


_CHANGED, _FULL = "changed", "full"


def configure_refresh(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn semantic refresh`."""
    parser.add_argument(
        "--scope",
        metavar="WHAT",
        action="append",
        help="changed (default), full, or a file or folder; again for more",
    )
    parser.add_argument(
        "--context",
        metavar="NAME",
        action="append",
        default=[],
        help="only this context, or those of this language; again for more",
    )


def run_refresh(options: argparse.Namespace, output: Output) -> int:
    """Refresh in the foreground; Ctrl-C ends the indexer, and what was known stays."""
    from cairn.ask.refreshing import refresh, trouble_of  # noqa: PLC0415 - numpy takes a tenth of a second

    # Indexers may take minutes: they run in the person's own process, never in the daemon.
    output.around.only_where_typed()
    target = output.around.target(options.root)
    shown = _RefreshLines(output)
    try:
        found = refresh(
            lambda: _opened(target, output), _wish(options, target, output), output.around.environ, shown.watcher()
        )
    finally:
        shown.done()
    trouble = trouble_of(found)
    if options.json:
        rows = [_job_row(one) for one in found]
        root = target.codebase.root.path
        output.line(refresh_report(rows, path=options.root, root=root, budget=MAX_ENVELOPE_BYTES).to_json())
    else:
        for one in found:
            _show_jobs(one, output)
    return trouble.exit_status if trouble is not None else 0


@contextmanager
def _opened(target: Target, output: Output) -> Iterator[Session]:
    """The codebase, open and caught up with its files."""
    from cairn.ask.prepare import Policy  # noqa: PLC0415
    from cairn.ask.session import Session  # noqa: PLC0415

    with Session(target, output.around.environ) as session:
        prepare_all([session], Policy(), output)
        yield session


def _wish(options: argparse.Namespace, target: Target, output: Output) -> Wish:
    from cairn.ask.refreshing import Wish  # noqa: PLC0415

    asked = options.scope or [_CHANGED]
    if _FULL in asked:
        return Wish(FULL, tuple(options.context))
    named = [one for one in asked if one != _CHANGED]
    if not named:
        return Wish(None, tuple(options.context))
    scope = NOTHING
    for one in named:
        scope = scope.join(_asked_scope(one, target, output))
    return Wish(scope, tuple(options.context))


def _asked_scope(typed: str, target: Target, output: Output) -> RefreshScope:
    """Return the file or folder that was typed, relative to the working folder, as a scope."""
    base = output.around.base(".")
    key = relative_to_root(target.codebase.root, typed, base)
    if not key:
        return RefreshScope(packages=frozenset({""}))
    path = path_key(key)
    if os.path.isdir(os.path.join(target.codebase.root.path, path)):
        return RefreshScope(packages=frozenset({path}))
    if not os.path.lexists(os.path.join(target.codebase.root.path, path)):
        raise NoContext(why=f"there is no {printable(typed.encode('utf-8', 'surrogateescape'))} here")
    return of_files([path])


class _RefreshLines:
    """Shows the progress of a refresh on stderr."""

    def __init__(self, output: Output) -> None:
        self._progress = output.progress()
        self._context = ""

    def watcher(self) -> Watcher:
        from cairn.ask.refreshing import Watcher  # noqa: PLC0415

        return Watcher(self._step, self._beat)

    def _step(self, step: RefreshStep, job: Job) -> None:
        self._context = printable(job.context.encode())
        self._progress(f"{self._context}: {step.value}, job", job.id, 0)

    def _beat(self, beat: Beat) -> None:
        memory = beat.peak_bytes // 1_000_000
        self._progress(f"{self._context}: the indexer runs, {memory:,} MB, seconds", int(beat.seconds), 0)

    def done(self) -> None:
        self._progress.done()


def _job_row(one: Refreshed) -> ContextRefresh:
    ended = one.ended
    job = ended.job if ended is not None else one.job
    taken = ended.imported if ended is not None else None
    return ContextRefresh(
        one.context.id,
        one.context.family.value,
        one.outcome.value,
        None if job is None else job_row(job),
        len(taken.files) if taken else 0,
        len(taken.changed) if taken else 0,
        taken.occurrences if taken else 0,
        ended.trouble.code if ended is not None and ended.trouble is not None else None,
    )


def _show_jobs(one: Refreshed, output: Output) -> None:
    row = _job_row(one)
    name = output.styled(printable(row.context.encode()), "cyan")
    if row.outcome == "completed":
        output.line(f"{name}  {counted(row.files, 'file')}, {counted(row.occurrences, 'occurrence')}.")
        if row.changed:
            output.note(f"  {counted(row.changed, 'file')} changed while it ran; run it again for them.")
        return
    sentences = {
        "unchanged": "nothing has changed.",
        "superseded": "the commit changed again and again; run it again when it stays.",
        "elsewhere": "another process is at it; `cairn semantic jobs` shows how far.",
    }
    output.line(f"{name}  {sentences.get(row.outcome, 'failed.')}")
    if one.ended is not None and one.ended.trouble is not None:
        output.note(f"  {plain(one.ended.trouble.sentence)}")
        output.note(f"  {plain(one.ended.trouble.advice)}")
    elif row.outcome == "failed" and row.job is not None and row.job.error:
        output.note(f"  {plain(row.job.error)}")


class Verb(NamedTuple):
    """A verb of `cairn semantic`: one line about it, where its code is (as in `Command`), examples for `--help`."""

    summary: str
    place: str
    examples: tuple[str, ...]


VERBS: dict[str, Verb] = {
    "discover": Verb(
        "show the parts of the code that an indexer understands",
        "cairn.cli.semantic:discover",
        ("cairn semantic discover", "cairn semantic discover --root ~/src/project --json"),
    ),
    "refresh": Verb(
        "run the indexers over what has changed",
        "cairn.cli.semantic:refresh",
        (
            "cairn semantic refresh",
            "cairn semantic refresh --scope src/lease.py",
            "cairn semantic refresh --scope full --context python --json",
        ),
    ),
    "jobs": Verb(
        "list what the indexers did, do and will do",
        "cairn.cli.semantic:jobs",
        ("cairn semantic jobs", "cairn semantic jobs --json", "cairn semantic jobs --cancel 12"),
    ),
    "state": Verb(
        "say how fresh and how sure what is known of files is",
        "cairn.cli.semantic_edits:state",
        ("cairn semantic state src/lease.py", "cairn semantic state src/lease.py src/store.py --json"),
    ),
    "gate": Verb(
        "say whether files may be edited by what is known",
        "cairn.cli.semantic_edits:gate",
        ("cairn semantic gate src/lease.py", "cairn semantic gate src/lease.py --json"),
    ),
    "decide": Verb(
        "keep a decision about something ambiguous",
        "cairn.cli.semantic_edits:decide",
        (
            "cairn semantic decide 3f9a1c0e src/lease.py:12 --file src/app.py",
            "cairn semantic decide 3f9a1c0e accept --rename Lease.steal take",
        ),
    ),
    "plan-rename": Verb(
        "show a rename as a patch, when nothing stands against it",
        "cairn.cli.semantic_edits:rename",
        (
            "cairn semantic plan-rename Lease.steal take",
            "cairn semantic plan-rename steal take --file src/lease.py | git apply",
        ),
    ),
}


_COMMON = "\nIt takes the common options of `cairn semantic`, too: --json, --root PATH, -q, -v, --offline."


def configure_semantic(parser: argparse.ArgumentParser) -> None:
    """Add the verbs, each with its own options and the common ones."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", help="what to do")
    for name, verb in VERBS.items():
        one = verbs.add_parser(
            name,
            help=verb.summary,
            description=f"{verb.summary[:1].upper()}{verb.summary[1:]}.",
            epilog="\n".join(["examples:", *(f"  {example}" for example in verb.examples), _COMMON]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        # Common options may stand before the verb or behind it; behind it they have no default, which would override
        # the first.
        for words in (["--json"], ["-q", "--quiet"], ["-v", "--verbose"], ["--offline"]):
            one.add_argument(*words, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        one.add_argument("--root", metavar="PATH", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        code_of(verb.place, "configure")(one)


def run_semantic(options: argparse.Namespace, output: Output) -> int:
    """Run the verb."""
    if options.verb is None:
        raise UsageError(problem=f"Say what: {', '.join(VERBS)}.")
    return int(code_of(VERBS[options.verb].place, "run")(options, output))
