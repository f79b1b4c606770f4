"""Run one refresh in five steps: claim the job, run the indexer, check the commit again, import, complete.

The last three steps are one transaction: a job is completed exactly when its output is imported. Whatever goes wrong
leaves the known facts untouched and the reason in the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.limits import INDEXER_SECONDS, JOB_HEARTBEAT_SECONDS
from cairn.errors import CairnError, IndexerTimeout, SemanticBusy
from cairn.semantic import jobs
from cairn.semantic.database import Connection, SemanticDatabase, stored
from cairn.semantic.importing import Imported, ImportRequest, ImportSnapshot, Indexed, SeenFile, import_index
from cairn.semantic.indexers import BY_FAMILY
from cairn.semantic.model import Context, Job, JobStatus, RefreshScope
from cairn.semantic.shape import CodeShape
from cairn.source.root import printable

# Steps of the database's machine between two looks at the clock: some milliseconds.
_STEPS_PER_CHECK = 100_000

Cancelled = Callable[[], bool]
"""Asked by the indexer's runner again and again, at least every second: whether to stop."""
RunIndexer = Callable[[Context, RefreshScope, Cancelled], Indexed]
"""Runs the indexer of a context over a scope, or more; a `CairnError` says why there is no index."""


class RefreshStep(StrEnum):
    """The step that a refresh has reached."""

    CLAIMED = "claimed"
    INDEXING = "indexing"
    CHECKING = "checking"
    IMPORTING = "importing"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class RefreshEnvironment:
    """What a refresh needs from the world.

    `head` reads the commit anew each time (empty: none), `look` the files. `files` returns the files that the context's
    indexer may read: an interface is remembered only for files that did not change while it ran. `shape` tells which
    lines of a file of the snapshot are code. To take in what the indexer has written may take `import_seconds`.
    """

    database: SemanticDatabase
    root: str
    pinned: ImportSnapshot
    head: Callable[[], str]
    look: Callable[[Iterable[str]], Mapping[str, SeenFile]]
    files: Callable[[Context], Iterable[str]]
    index: RunIndexer
    shape: Callable[[str], CodeShape | None] = lambda _: None
    snapshot: str = ""
    tell: Callable[[RefreshStep, Job], None] = lambda *_: None
    import_seconds: int = INDEXER_SECONDS
    clock: Clock = SYSTEM_CLOCK
    processes: Processes = SYSTEM_PROCESSES


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """A job that was run, as it is now; `imported` when it was completed, `trouble` when it failed."""

    job: Job
    imported: Imported | None = None
    trouble: CairnError | None = None


def run_job(at: RefreshEnvironment, job: int | None = None) -> RefreshResult | None:
    """Run this job, or the first in line; None when there is no job to claim."""
    with at.database.writing() as db:
        held = jobs.claim(db, job, clock=at.clock, processes=at.processes)
        contexts = {context.id: context for context in stored(db)}
    if held is None:
        return None
    at.tell(RefreshStep.CLAIMED, held.job)
    try:
        return _run(at, held, contexts[held.job.context])
    except BaseException as problem:
        # On Ctrl-C too, so that the next worker need not wait for the lease to run out.
        why = f"{problem.code}: {problem.sentence}" if isinstance(problem, CairnError) else _unexpected(problem)
        with at.database.writing() as db:
            jobs.fail(db, held, why, clock=at.clock)
            ended = jobs.get(db, held.job.id) or replace(held.job, status=JobStatus.FAILED, error=why)
        if not isinstance(problem, CairnError):
            raise
        return RefreshResult(ended, trouble=problem)


def _run(at: RefreshEnvironment, held: jobs.Claim, context: Context) -> RefreshResult:
    files = tuple(at.files(context))
    before = at.look(files)
    at.tell(RefreshStep.INDEXING, held.job)
    indexed = at.index(context, held.job.scope, _Heart(at, held))
    at.tell(RefreshStep.CHECKING, held.job)
    after = at.look(files)
    imported = None
    with at.database.writing() as db:
        head = at.head()
        if jobs.is_held(db, held):
            if head != held.job.head:
                jobs.supersede(db, held, head, clock=at.clock)
            else:
                at.tell(RefreshStep.IMPORTING, held.job)
                now = at.clock.wall_ns() / 1e9
                limit = _Limit(at, context)
                about = ImportRequest(
                    context, at.root, at.pinned, before, after, now, held.job.scope, at.shape, limit.check
                )
                imported = limit.kept(db, lambda: import_index(db, indexed, about))
                _complete(db, at, held, head)
        ended = jobs.get(db, held.job.id) or replace(held.job, status=JobStatus.SUPERSEDED)
    if imported is not None:
        at.tell(RefreshStep.COMPLETED, ended)
    return RefreshResult(ended, imported)


def _complete(db: Connection, at: RefreshEnvironment, held: jobs.Claim, head: str) -> None:
    completed = jobs.complete(db, held, clock=at.clock)
    assert completed, "nobody else can have ended it within our transaction"
    db.execute(
        "INSERT OR REPLACE INTO repo_state (id, last_seen_head, last_seen_snapshot, checked_at) VALUES (1, ?, ?, ?)",
        (head, at.snapshot, at.clock.wall_ns() / 1e9),
    )


class _Limit:
    """The time that an import has: an index of a few bytes may ask for hours of work."""

    def __init__(self, at: RefreshEnvironment, context: Context) -> None:
        self._clock, self._seconds, self._context = at.clock, at.import_seconds, context
        self._until = at.clock.monotonic() + at.import_seconds

    def check(self) -> None:
        if self._is_over():
            why = f"to take in what it wrote took longer than {self._seconds:,} seconds"
            context = printable(self._context.id.encode())
            raise IndexerTimeout(indexer=BY_FAMILY[self._context.family].name, context=context, why=why)

    def kept(self, db: Connection, work: Callable[[], Imported]) -> Imported:
        """Do the work. A single statement of the database that takes too long is ended as well."""
        db.set_progress_handler(self._is_over, _STEPS_PER_CHECK)
        try:
            return work()
        except Exception:
            # Where the database was ended, it does not say why.
            self.check()
            raise
        finally:
            db.set_progress_handler(None, 0)

    def _is_over(self) -> bool:
        return self._clock.monotonic() > self._until


class _Heart:
    """Sends heartbeats for a job while it runs; calling it returns True once the job belongs to somebody else."""

    def __init__(self, at: RefreshEnvironment, held: jobs.Claim) -> None:
        self._at, self._held = at, held
        self._next = at.clock.monotonic() + JOB_HEARTBEAT_SECONDS
        self._lost = False

    def __call__(self) -> bool:
        if not self._lost and self._at.clock.monotonic() >= self._next:
            self._next = self._at.clock.monotonic() + JOB_HEARTBEAT_SECONDS
            # A long write of another process may block this heartbeat; a lease lasts for several.
            with suppress(SemanticBusy), self._at.database.writing() as db:
                self._lost = not jobs.heartbeat(db, self._held, clock=self._at.clock)
        return self._lost


def _unexpected(problem: BaseException) -> str:
    return jobs.CANCELLED if isinstance(problem, KeyboardInterrupt) else f"internal: {type(problem).__name__}"
