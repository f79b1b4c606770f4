"""Bring what indexers know of a codebase up to date: find its contexts, queue what has changed, run the jobs.

The index itself is only read: whatever becomes of a refresh, answers go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum

from cairn.ask.gate import gate_error
from cairn.ask.session import Session
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_PROJECT_FILE_BYTES, REFRESH_ROUNDS
from cairn.errors import CairnError, IndexerMissing, IndexerRefused, NoContext
from cairn.graph.informed import PinnedView
from cairn.semantic import jobs
from cairn.semantic.contexts import Discovery, discover
from cairn.semantic.database import Connection, SemanticDatabase, register
from cairn.semantic.facts import SemanticFacts
from cairn.semantic.importing import look
from cairn.semantic.model import (
    FULL,
    NOTHING,
    Context,
    FactFreshness,
    Job,
    JobStatus,
    RefreshScope,
    family_of,
    of_files,
)
from cairn.semantic.running import Beat, Runner
from cairn.semantic.worker import RefreshEnvironment, RefreshResult, RefreshStep, run_job
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.root import printable
from cairn.source.walk import walk
from cairn.store import SnapshotView
from cairn.sync.codebase import Codebase

# A refresh that a person waits for goes before one that was queued in passing.
_FOREGROUND = 10


@dataclass(frozen=True, slots=True)
class Wish:
    """What to refresh: a scope (None: what has changed), in contexts by id, name, family or root (empty: in all)."""

    scope: RefreshScope | None = None
    contexts: tuple[str, ...] = ()


class RefreshOutcome(StrEnum):
    """What became of a context in a refresh."""

    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    UNCHANGED = "unchanged"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A context and what became of it. `ended` is the job that was run; `job` one that another process runs."""

    context: Context
    outcome: RefreshOutcome
    ended: RefreshResult | None = None
    job: Job | None = None


@dataclass(frozen=True, slots=True)
class Watcher:
    """The callbacks of a refresh: for the steps of each job, and for the state of its indexer."""

    step: Callable[[RefreshStep, Job], None] = lambda *_: None
    beat: Callable[[Beat], None] = lambda _: None


@dataclass(slots=True)
class _Round:
    """One pass over the contexts, at one snapshot."""

    session: Session
    environ: Mapping[str, str]
    watcher: Watcher
    clock: Clock = SYSTEM_CLOCK
    view: SnapshotView = field(init=False)
    found: Discovery = field(init=False)
    owned: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        if self.session.opened() is None:
            raise gate_error(self.session.gate, printable(self.session.root.encode("utf-8", "surrogateescape")))
        self.view = self.session.kept(_itself)
        self.found = _discovered(self.session.target.codebase)
        self.owned = {context.id: [] for context in self.found.contexts}
        for path in _paths_of(self.view):
            owner = self.found.owner(path)
            if owner is not None and owner.id in self.owned:
                self.owned[owner.id].append(path)

    @property
    def database(self) -> SemanticDatabase:
        return SemanticDatabase(self.session.home, self.session.root, clock=self.clock)

    def head(self) -> str:
        """Return the commit, read anew; empty when there is none."""
        root = self.session.target.codebase.root
        return (Git(root, clock=self.clock).head() or "") if root.is_git else ""

    def chosen(self, wish: Wish) -> list[Context]:
        """Return the contexts that the wish names; raises `NoContext` when there are none."""
        wanted = [one for one in self.found.contexts if _is_meant(one, wish.contexts)]
        if not wanted:
            named = ", ".join(printable(name.encode("utf-8", "surrogateescape")) for name in wish.contexts)
            why = f"there is no context {named}" if wish.contexts else "it has no file of a language that one reads"
            raise NoContext(why=why)
        return wanted

    def ask(self, wish: Wish) -> dict[str, int | None]:
        """Queue what the wish asks for; return the job of each context, None where there is nothing to do.

        The whole database is checked first: a damaged one is made anew.
        """
        chosen = self.chosen(wish)
        head = self.head()
        with self.database.writing(check=True) as db:
            jobs.recover(db, clock=self.clock)
            register(db, self.found.contexts)
            facts = SemanticFacts(db, PinnedView(self.view))
            asked = {}
            for context in chosen:
                scope = self._changed(db, facts, context) if wish.scope is None else self._within(wish.scope, context)
                job = jobs.enqueue(
                    *(db, context.id, scope), head=head, reason="asked", priority=_FOREGROUND, clock=self.clock
                )
                asked[context.id] = job.job
        return asked

    def _within(self, scope: RefreshScope, context: Context) -> RefreshScope:
        """Return the part of the scope that lies in the context; nothing where it names none of its files."""
        if scope.full or scope.since is not None:
            return scope
        return of_files(path for path in self.owned[context.id] if scope.names(path))

    def _changed(self, db: Connection, facts: SemanticFacts, context: Context) -> RefreshScope:
        """Return the files of the context that are not clean, except those on which the indexer was silent."""
        known = [key for key in facts.standings if facts.contexts[key[0]].key == context.id]
        indexed = {facts.paths[key[1]]: facts.standings[key].freshness for key in known}
        if any(self.view.file(path) is None for path in indexed):
            # Files that depend on a deleted file must be read again.
            return FULL
        silent = dict(
            db.execute(
                "SELECT path, content_hash FROM silent_files JOIN contexts c ON c.id = context_id WHERE c.key = ?",
                (context.id,),
            )
        )
        wanted = []
        for path in self.owned[context.id]:
            state, record = indexed.get(path, FactFreshness.UNINDEXED), self.view.file(path)
            if state is FactFreshness.UNINDEXED and record is not None and silent.get(path) == record.file_hash:
                continue
            # A pending file becomes clean or stale when the file that it waits for is refreshed.
            if state not in (FactFreshness.CLEAN, FactFreshness.PENDING_CHECK):
                wanted.append(path)
        return NOTHING if not wanted else of_files(wanted) if known else FULL

    def run(self, context: Context, job: int) -> Refreshed:
        """Run the job of a context, unless another process does."""
        ended = run_job(self._surroundings(), job)
        if ended is None:
            running = self.database.ask(jobs.pending) or ()
            other = next((one for one in running if one.context == context.id), None)
            return Refreshed(context, RefreshOutcome.ELSEWHERE, job=other)
        outcomes = {JobStatus.COMPLETED: RefreshOutcome.COMPLETED, JobStatus.SUPERSEDED: RefreshOutcome.SUPERSEDED}
        return Refreshed(context, outcomes.get(ended.job.status, RefreshOutcome.FAILED), ended)

    def _read(self, path: str) -> bytes | None:
        """Return the bytes of a project file on disk; None when it cannot be read."""
        with Tree(self.session.target.codebase.root) as tree:
            return tree.read_small(path.encode(), MAX_PROJECT_FILE_BYTES)

    def _surroundings(self) -> RefreshEnvironment:
        codebase = self.session.target.codebase
        families = [path for path in _paths_of(self.view) if family_of(path) is not None]
        runner = Runner(
            root=codebase.root.path,
            home=self.session.home,
            environ=self.environ,
            settings=codebase.config.semantic,
            files=lambda context: self.owned[context.id],
            read=self._read,
            tell=self.watcher.beat,
            clock=self.clock,
        )
        return RefreshEnvironment(
            database=self.database,
            root=codebase.root.path,
            pinned=self.view,
            head=self.head,
            look=lambda paths: look(codebase.root, paths, clock=self.clock),
            files=lambda context: [path for path in families if family_of(path) is context.family],
            index=runner,
            shape=PinnedView(self.view).shape,
            snapshot=self.view.manifest.snapshot_id,
            tell=self.watcher.step,
            import_seconds=codebase.config.semantic.seconds,
            clock=self.clock,
        )


def refresh(
    open_session: Callable[[], AbstractContextManager[Session]],
    wish: Wish,
    environ: Mapping[str, str],
    watcher: Watcher | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> tuple[Refreshed, ...]:
    """Refresh what is wished for, context by context; return what became of each.

    `open_session` opens the codebase, caught up with its files. A job that a commit has superseded is repeated at the
    new commit, and files that depend on what has changed are refreshed too, both within `REFRESH_ROUNDS`.
    """
    done: dict[str, Refreshed] = {}
    for _ in range(REFRESH_ROUNDS):
        with open_session() as session:
            this = _Round(session, environ, watcher or Watcher(), clock)
            contexts = {context.id: context for context in this.found.contexts}
            ran = []
            for key, job in this.ask(wish).items():
                if job is None:
                    done.setdefault(key, Refreshed(contexts[key], RefreshOutcome.UNCHANGED))
                else:
                    done[key] = this.run(contexts[key], job)
                    ran.append(done[key])
        # A named scope is done once; after a refresh of what has changed, more files may be stale.
        wanted = (
            {RefreshOutcome.SUPERSEDED}
            if wish.scope is not None
            else {RefreshOutcome.SUPERSEDED, RefreshOutcome.COMPLETED}
        )
        again = tuple(one.context.id for one in ran if one.outcome in wanted)
        if not again:
            break
        wish = Wish(wish.scope, again)
    return tuple(done.values())


def trouble_of(found: Iterable[Refreshed]) -> CairnError | None:
    """Return the first error; a missing or untrusted indexer counts only where every context failed."""
    every = list(found)
    troubles = [one.ended.trouble for one in every if one.ended is not None and one.ended.trouble is not None]
    grave = [trouble for trouble in troubles if not isinstance(trouble, IndexerMissing | IndexerRefused)]
    idle = all(one.outcome is RefreshOutcome.FAILED for one in every)
    return next(iter(grave or (troubles if idle else [])), None)


def _paths_of(view: SnapshotView) -> list[str]:
    return [key for key, record in view.records().items() if record.skip is None]


def _discovered(codebase: Codebase) -> Discovery:
    with Tree(codebase.root) as tree:
        walked = walk(tree, codebase.config, tracked=codebase.tracked)
        raw = {candidate.key: candidate.raw for candidate in walked.candidates}
        return discover(raw, lambda key: tree.read_small(raw[key], MAX_PROJECT_FILE_BYTES))


def _is_meant(context: Context, names: tuple[str, ...]) -> bool:
    return not names or any(name in (context.id, context.name, context.family, context.root) for name in names)


def _itself(view: SnapshotView) -> SnapshotView:
    return view
