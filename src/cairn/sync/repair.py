"""Make a damaged index whole again with as little work as possible, deleting nothing.

A plan comes first, which only reads. Damaged files, and files that no manifest accounts for, go into the quarantine;
what was lost is read again from the tree, on top of everything that is still whole. Hints in the store say how much
that will be. They are not believed: the catch-up compares the whole tree, and afterwards every hinted file is looked up
in the new snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.progress import Tell
from cairn.core.text import lasting
from cairn.core.types import Skip, Vanished
from cairn.embedding.cache import EmbeddingCache
from cairn.embedding.choose import choose
from cairn.errors import NotIndexed
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.store import Disk, RepairPlan, RunKind, Store, Writer
from cairn.sync.catchup import CatchUp, Outcome, Task
from cairn.sync.codebase import Codebase, StorePlace, place_of
from cairn.sync.health import agrees, checked, planned
from cairn.sync.inventory import EMBEDDING_CACHE
from cairn.sync.memory import load_memory
from cairn.sync.remote.copy import keep_copy
from cairn.sync.report import Changes, FailedFile, HealthFinding, RunOptions
from cairn.sync.room import truthful

# A person decides who may read the store; a repair mends all other errors.
_NOT_OURS = frozenset({"mode_wrong"})


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did. `quarantine` is the folder it moved things to (None: nothing), `left` what it could not move.

    `findings` are what the checker says now. `plan` is what was done: more than was planned when the hints turned out
    to be wrong (`fell_back`).
    """

    plan: RepairPlan
    snapshot_id: str | None = None
    changes: Changes = field(default_factory=Changes)
    failed: tuple[FailedFile, ...] = ()
    quarantine: str | None = None
    moved: int = 0
    left: tuple[str, ...] = ()
    fell_back: bool = False
    findings: tuple[HealthFinding, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()


def plan(codebase: Codebase, options: RunOptions, *, clock: Clock = SYSTEM_CLOCK) -> RepairPlan:
    """Return what a repair would do now; reads every byte of the store and changes nothing."""
    with _store(codebase, options) as (place, disk):
        found = planned(disk, codebase, place)
        silent = _silent(disk, clock)
        return found.taking_over(silent) if silent else found


def repair(codebase: Codebase, options: RunOptions, tell: Tell, *, clock: Clock = SYSTEM_CLOCK) -> RepairReport:
    """Mend the store; writes nothing when all is well. A snapshot that was whole before answers meanwhile."""
    began = clock.monotonic()
    with _store(codebase, options) as (place, disk):
        first, silent = planned(disk, codebase, place), _silent(disk, clock)
        if first.scope.is_nothing and not silent and not _broken(disk):
            report = RepairReport(first)
            return _finished(report, codebase, place, disk, options, tell, began, clock)
        work = _Work(codebase, options, tell, clock, place, disk)
        report = work.run(rebuild=False)
        if work.missing or _broken(disk):
            report = replace(work.run(rebuild=True), fell_back=True)
        if silent:
            report = replace(report, plan=report.plan.taking_over(silent))
        return _finished(report, codebase, place, disk, options, tell, began, clock)


def _finished(
    report: RepairReport,
    codebase: Codebase,
    place: StorePlace,
    disk: Disk,
    options: RunOptions,
    tell: Tell,
    began: float,
    clock: Clock,
) -> RepairReport:
    """Complete the report with what the checker says now, after the copy on a server was brought up to date."""
    copied = keep_copy(codebase, place, disk, tell, embedder=options.embedder, clock=clock)
    seconds = clock.monotonic() - began
    return replace(report, findings=tuple(checked(disk)), seconds=seconds, warnings=(*report.warnings, *copied))


@dataclass(slots=True)
class _Work:
    """One repair in progress. `missing` are files that the hints named and the new snapshot does not hold."""

    codebase: Codebase
    options: RunOptions
    tell: Tell
    clock: Clock
    place: StorePlace
    disk: Disk
    missing: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def run(self, *, rebuild: bool) -> RepairReport:
        """Diagnose and treat under the lease, catch up if the diagnosis asks for it, quarantine what was replaced."""
        disk, place = self.disk, self.place
        store = Store(disk, place.path)
        root, shown = self.codebase.root.path, _shown(self.codebase)
        mending = store.mending(place.store_id, root, shown, lambda: load_memory(disk) is not None)
        mending.rebuild = rebuild
        wait = max(self.options.wait_seconds, mending.patience(self.clock))
        outcome = None
        with (
            store.open_writer(RunKind.REPAIR, clock=self.clock, wait_seconds=wait, mending=mending) as writer,
            ExitStack() as stack,
        ):
            diagnosis, quarantine = mending.found, mending.quarantine
            assert diagnosis is not None
            assert quarantine is not None
            if diagnosis.scope.catches_up:
                tree = stack.enter_context(Tree(self.codebase.root))
                outcome = self._catch_up(stack, writer, tree, full=diagnosis.scope.is_full)
                assert outcome.manifest is not None
                mending.finish(writer, only=outcome.manifest.snapshot_id if rebuild else None)
                self.missing = self._not_repaired(tree, diagnosis.hinted)
        self.moved += quarantine.moved
        self.left += quarantine.left
        return RepairReport(
            diagnosis.plan,
            snapshot_id=outcome.manifest.snapshot_id if outcome and outcome.manifest else None,
            changes=outcome.changes if outcome else Changes(),
            failed=outcome.failed if outcome else (),
            quarantine=f"{disk.path}/{quarantine.folder}" if quarantine.moved else None,
            moved=len(self.moved),
            left=tuple(self.left),
            warnings=outcome.warnings if outcome else (),
        )

    def _catch_up(self, stack: ExitStack, writer: Writer, tree: Tree, *, full: bool) -> Outcome:
        options = self.options
        embedder = options.embedder or choose(self.codebase.config.embedding, os.environ, self.clock)
        cache = None
        if not embedder.cheap:
            cached = stack.enter_context(Disk.at(self.place.home, EMBEDDING_CACHE, create=True, modes=self.disk.modes))
            cache = stack.enter_context(EmbeddingCache(cached))
        task = Task(
            self.codebase, self.place, embedder, cache, full, options.allow_degraded, options.workers, always=True
        )
        return CatchUp(task, writer, tree, self.tell, self.clock).go()

    def _not_repaired(self, tree: Tree, hinted: frozenset[str]) -> list[str]:
        """Return the hinted files that the tree holds and that the new snapshot lacks or holds differently."""
        if not hinted:
            return []
        config = self.codebase.config
        walked = walk(tree, config, tracked=self.codebase.tracked)
        missing = []
        opened = Store(self.disk, self.place.path).view()
        assert opened is not None, "it was published just now"
        with opened as view:
            failed = {error.path_key for error in view.manifest.errors}
            for candidate in walked.candidates:
                if candidate.key not in hinted or candidate.key in failed:
                    continue
                record = view.file(candidate.key)
                if record is not None and record.stat != candidate.stat:
                    # The file has changed since it was read, which the next sync finds.
                    continue
                outcome = read_stable(tree, candidate, max_bytes=config.limits.max_file_bytes, clock=self.clock)
                wrong = (
                    not isinstance(outcome, Skip | Vanished)
                    if record is None
                    else not agrees(record, candidate, outcome)
                )
                if wrong:
                    missing.append(candidate.key)
        return missing


@contextmanager
def _store(codebase: Codebase, options: RunOptions) -> Iterator[tuple[StorePlace, Disk]]:
    """Open the store of the codebase, in whatever state; raises `NotIndexed` when there is none."""
    place = place_of(codebase, options.home, None if options.embedder is None else options.embedder.identity)
    with truthful(place):
        try:
            disk = place.disk()
            if disk is None:
                raise NotIndexed(path=_shown(codebase), why="it was never indexed")
            with disk:
                yield place, disk
        except OSError as problem:
            raise Store.trouble(place.path, problem) from problem


def _silent(disk: Disk, clock: Clock) -> str:
    """Return what is to be said of the run that holds the lease and shows no heartbeat; empty for any other."""
    writer = Store(disk).holder(clock=clock)
    if writer is None or not writer.is_silent:
        return ""
    return f"Its run ({writer.kind}, process {writer.pid}) has shown no heartbeat for {lasting(writer.silent_seconds)}."


def _broken(disk: Disk) -> bool:
    return any(finding.is_error and finding.code not in _NOT_OURS for finding in Store(disk).check())


def _shown(codebase: Codebase) -> str:
    return printable(os.fsencode(codebase.root.path))
