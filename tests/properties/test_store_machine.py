"""A real tree, a store that may fail or lose power, and a dictionary that says what a reader must see.

Hypothesis chooses what people and programs do to the tree, when a run looks at it, merges, collects or repairs, and
where the disk fails under the run or the power goes. A reader sees what was published.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule, run_state_machine_as_test

import cairn.store.tend.collect as store_collect
import cairn.sync.pool as extract_module
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.types import Candidate, ReadOutcome
from cairn.errors import CairnError, NotIndexed, NoValidSnapshot, StoreBusy
from cairn.source.beneath import Tree
from cairn.store.format.layout import GENERATIONS, LOCKS, QUARANTINE, is_created
from cairn.store.fs import Fs
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import SnapshotView, open_view, parts_of
from cairn.store.repair.verify import FindingLevel, check
from cairn.sync import repair, run
from cairn.sync.codebase import StorePlace
from cairn.sync.report import RunReport
from cairn.sync.upkeep import CollectReport, CompactReport, compact_store, gc
from tests.conformance import conforms
from tests.properties.tree_machine import NAMES, SYMBOLS, TEXTS, TreeMachine
from tests.store.disks import Call, FailingDisk, Fault, MemoryDisk, Mode, TracingDisk
from tests.store.little import all_files, open_up, rewrite
from tests.support.faults import Faults
from tests.support.repos import checkout, run_git
from tests.sync.desk import extract_here, silent, texts_of

# Fewer than in real life, so that something is collected in a short one.
RETAINED = 2
RUNS = st.sampled_from(["sync", "sync", "compact", "gc"])


class Cut(BaseException):
    """The power went."""


class Lent:
    """The disk of the moment, which a run opens and closes."""

    path = "/memory"

    def __init__(self, fs: Fs) -> None:
        self._fs = fs

    def __enter__(self) -> Lent:
        return self

    def __exit__(self, *_: object) -> None:
        """It is kept."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)


class StoreMachine(TreeMachine):
    """The rules run over the tree, and the invariants are read through views only."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.disk = MemoryDisk()
        self.below: Fs = self.disk
        for opening in ("make_disk", "disk"):
            self.patch.setattr(StorePlace, opening, lambda _, **__: Lent(self.below))
        try:
            Faults(self.patch).limit(store_collect, RETAIN_SNAPSHOTS_MIN=RETAINED)
            extract_here(self.patch, self.desk.clock)
        except BaseException:
            # A machine that was never made is not torn down: what it has patched would stay for all tests after it.
            self.patch.undo()
            raise
        self.published: dict[str, bytes] | None = None
        # The stores of other settings: their disks, and what was published there.
        self.others: dict[str, tuple[MemoryDisk, dict[str, bytes] | None]] = {}
        self.history: list[dict[str, bytes]] = []
        self.pins: list[tuple[SnapshotView, dict[str, bytes]]] = []
        self.ids: dict[tuple[str, bytes], list[str]] = {}
        self.checked = False

    def teardown(self) -> None:
        self._unpin_all()
        self.patch.undo()
        shutil.rmtree(self.folder)

    @rule(limit=st.sampled_from([None, 100]))
    def edit_index_settings(self, limit: int | None) -> None:
        """What decides about rows names another store."""
        before = self.desk.place.store_id
        self.desk.home.mkdir(mode=0o700, exist_ok=True)
        (self.desk.home / "config.toml").write_text(f"[limits]\nmax_file_bytes = {limit}\n" if limit else "")
        after = self.desk.place.store_id
        assert (before == after) == (limit == self.limit)
        self.limit = limit
        self.others[before] = self.disk, self.published
        self.disk, self.published = self.others.setdefault(after, (MemoryDisk(), None))
        self.below = self.disk
        self.checked = False

    @rule(seconds=st.sampled_from([0.1, 10.0]))
    def set_clock(self, seconds: float) -> None:
        """So close to the files that their times prove nothing, or far from them."""
        self.desk.clock.set_wall_ns(SYSTEM_CLOCK.wall_ns() + int(seconds * 1e9))

    # --- runs -----------------------------------------------------------------------------------------------------

    @initialize()
    def create(self) -> None:
        self.write("a.py", TEXTS[1])
        self.sync()

    @rule()
    def sync(self) -> None:
        told = [name for name in self.published or () if name in self.files and not self._is_wanted(name)]
        self._run("sync")
        self.published = self._eligible()
        # Right after it there is nothing to do.
        assert not self._run("sync").published
        with open_view(self.disk, "here") or pytest.fail("nothing is published") as view:
            # What somebody has told us to leave out does not go on lying there under a tombstone.
            assert not [name for name in told for part in parts_of(view) if part.segment.find(name) is not None]

    @rule(kind=st.sampled_from(["reindex", "clear"]))
    def build_anew(self, kind: str) -> None:
        if kind == "clear" and self.published is None:
            return
        self._run(kind)
        self.published = self._eligible() if kind == "reindex" else {}

    @precondition(lambda self: self._picks())
    @rule(data=st.data())
    def sync_while_somebody_writes(self, data: st.DataObject) -> None:
        """A file grows at the moment at which it was read: what is published is what it then is."""
        name = data.draw(st.sampled_from(self._picks()))
        self._grow(name)
        left, read = [name], extract_module.read_stable  # type: ignore[attr-defined]

        def read_slowly(tree: Tree, candidate: Candidate, **options: Any) -> ReadOutcome:
            found = read(tree, candidate, **options)
            if candidate.key in left:
                left.clear()
                self._grow(name)
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(extract_module, "read_stable", read_slowly)
            self._run("sync")
        self.published = self._eligible()

    @precondition(lambda self: self.published is not None)
    @rule()
    def compact(self) -> None:
        """Nobody sees a difference, and nothing dead is left."""
        report = self._act("compact")
        assert isinstance(report, CompactReport)
        with open_view(self.disk, "here") or pytest.fail("nothing is published") as view:
            # Work that a killed run has prepared is taken over by a sync first.
            assert report.note or not any(part.hidden for part in parts_of(view))

    @precondition(lambda self: self.published is not None)
    @rule(later=st.sampled_from([0, 700]))
    def collect(self, later: int) -> None:
        self.desk.clock.advance(later)
        before = self._snapshots()
        report = self._act("gc")
        assert isinstance(report, CollectReport)
        assert report.note is None
        assert self._snapshots() == before[len(report.snapshots) :]
        assert len(self._snapshots()) >= min(RETAINED, len(before))

    @precondition(lambda self: self.published is not None)
    @rule(how=st.sampled_from(["not at all", "flip", "cut", "remove"]), data=st.data())
    def damage_and_repair(self, how: str, data: st.DataObject) -> None:
        if how != "not at all":
            self._damage(how, data)
        self._unpin_all()
        report = repair.repair(self.desk.codebase, self.desk.options(), silent, clock=self.desk.clock)
        self._next_tick()
        assert [each for each in report.findings if each.severity == "error"] == []
        if report.snapshot_id is not None:
            self.published = self._eligible()
        self._either()

    @rule(
        what=RUNS,
        at=st.integers(1, 150),
        how=st.sampled_from(["early", "late", "short"]),
        number=st.sampled_from([errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE]),
    )
    def run_with_fault(self, what: str, at: int, how: str, number: int) -> None:
        failing = FailingDisk(self.disk, Fault(at, number, how))  # type: ignore[arg-type]
        with self._on(failing), contextlib.suppress(CairnError, OSError):
            self._act(what)
        self._either()

    @rule(what=RUNS, at=st.integers(1, 150), mode=st.sampled_from(["kill", "lose", "tear"]), seed=st.integers(0, 999))
    def crash(self, what: str, at: int, mode: Mode, seed: int) -> None:
        """The power goes before the k-th call; the machine starts again with what the disk has kept."""
        left = at
        found: list[MemoryDisk] = []

        def before(_: Call) -> None:
            nonlocal left
            left -= 1
            if not left:
                found.append(self.disk.crash(mode, seed))
                raise Cut

        with self._on(TracingDisk(self.disk, before)), contextlib.suppress(CairnError, FileNotFoundError, Cut):
            self._act(what)
        self._unpin_all()
        self.disk = self.below = found[0] if found else self.disk.crash(mode, seed)
        self._either()

    @rule()
    def second_writer(self) -> None:
        # Without a change nobody needs the lease, and nobody is refused.
        with open_writer(self.disk, "here", RunKind.SYNC, rebuild=True), contextlib.suppress(StoreBusy):
            assert not self._run("sync").published

    # --- readers --------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.published is not None)
    @rule()
    def pin(self) -> None:
        view = open_view(self.disk, "here")
        assert view is not None
        self.pins.append((view, dict(self.published or {})))

    @precondition(lambda self: self.pins)
    @rule(data=st.data())
    def unpin(self, data: st.DataObject) -> None:
        self.pins.pop(data.draw(st.integers(0, len(self.pins) - 1)))[0].close()

    @rule()
    def look(self) -> None:
        """Whatever only reads leaves everything as it is."""
        before = self.disk._files.copy(), self.disk._folders.copy()
        with contextlib.suppress(NotIndexed):
            assert gc(self.desk.codebase, self.desk.options(), silent, clock=self.desk.clock, dry_run=True).dry_run
            repair.plan(self.desk.codebase, self.desk.options())
        with open_view(self.disk, "here") or contextlib.nullcontext():
            check(self.disk)
        assert (self.disk._files, self.disk._folders) == before

    @invariant()
    def pinned_views_stay_as_they_were(self) -> None:
        for view, expected in self.pins:
            assert texts_of(view) == expected

    @invariant()
    def a_reader_sees_what_was_published(self) -> None:
        if self.checked:
            return
        self.checked = True
        if not is_created(self.disk):
            assert self.published is None
            return
        assert [finding for finding in check(self.disk) if finding.severity is FindingLevel.ERROR] == []
        view = open_view(self.disk, "here")
        if view is None:
            assert self.published is None
            return
        with view:
            self._compare(view)
        assert self.published is not None
        if self.published not in self.history:
            self.history.append(self.published)

    def _compare(self, view: SnapshotView) -> None:
        assert view.damage == ()
        assert self.published is not None
        assert texts_of(view) == self.published, (texts_of(view), self.published)
        for name in [*NAMES, ".cairnignore", ".cairn.toml"]:
            if name not in self.published:
                assert not view.text(name)
                assert not view.chunks(name)
                assert not view.symbols(name)
        for symbol in SYMBOLS:
            found = {key for key, _ in view.symbols_named(symbol)}
            assert found <= self.published.keys()
            # An edit may have left anything of a text; of those that are as they were written, it is known.
            written = {key: text for key, text in self.published.items() if key.endswith(".py") and text in TEXTS}
            assert found & written.keys() == {
                key for key, text in written.items() if b"def %s(" % symbol.encode() in text
            }
        for key, text in self.published.items():
            rows = [row.row_id for row in view.chunks(key)]
            assert self.ids.setdefault((key, text), rows) == rows

    # --- helpers --------------------------------------------------------------------------------------------------

    def _run(self, kind: str) -> RunReport:
        self.checked = False
        act = {"sync": run.sync, "reindex": run.reindex, "clear": run.clear}[kind]
        arguments = (self.desk.codebase, self.desk.options(), silent)
        try:
            return act(*arguments, clock=self.desk.clock)
        except NotIndexed:
            # It was cleared: only an explicit index fills it again.
            return run.index(*arguments, clock=self.desk.clock)
        finally:
            self._next_tick()

    def _act(self, what: str) -> object:
        """A sync, or what looks after the store."""
        self.checked = False
        if what == "sync":
            return self._run("sync")
        if what == "gc":
            return gc(self.desk.codebase, self.desk.options(), silent, clock=self.desk.clock)
        return compact_store(self.below, "here", silent, everything=True, clock=self.desk.clock)

    def _damage(self, how: str, data: st.DataObject) -> None:
        """Somebody spoils a file of the store. Whoever reads it meanwhile gets what was true once, or nothing."""
        paths = [path for path in all_files(self.disk) if not path.startswith((LOCKS, QUARANTINE))]
        # Not drawn from the list itself: ids are new each time, and so is the order of what is named after them.
        path = paths[data.draw(st.integers(0, 999)) % len(paths)]
        old = self.disk.read(path, 1 << 30)
        if how == "remove":
            open_up(self.disk, path.rpartition("/")[0], 0o700)
            self.disk.remove(path)
        else:
            half = len(old) // 2
            flipped = old[:half] + bytes([byte ^ 1 for byte in old[half : half + 1]]) + old[half + 1 :]
            rewrite(self.disk, path, flipped if how == "flip" else old[:half])
        with contextlib.suppress(NoValidSnapshot), open_view(self.disk, "here") or contextlib.nullcontext() as view:
            assert view is None or texts_of(view) in self.history

    def _grow(self, name: str) -> None:
        self.files[name] += b"y = 2\n"
        with (self.desk.tree / name).open("ab") as file:
            file.write(b"y = 2\n")

    def _snapshots(self) -> list[str]:
        """The snapshots that are there, in order."""
        found = [read_generation(self.disk, int(name)) for name in self.disk.list_folder(GENERATIONS)]
        published = sorted((each for each in found if each is not None), key=lambda each: each.generation)
        return [each.snapshot_id for each in published]

    @contextlib.contextmanager
    def _on(self, disk: object) -> Iterator[None]:
        self.below = cast(Fs, disk)
        try:
            yield
        finally:
            self.below = self.disk

    def _either(self) -> None:
        """Something went wrong in the middle: the snapshot before, or the new one, and nothing else."""
        self.checked = False
        view = open_view(self.disk, "here")
        if view is None:
            assert self.published is None
            return
        with view:
            found = texts_of(view)
        assert found in (self.published, self._eligible()), (found, self.published, self._eligible())
        self.published = found

    def _unpin_all(self) -> None:
        for view, _ in self.pins:
            view.close()
        self.pins.clear()

    def _next_tick(self) -> None:
        """Wait until the file system's clock has moved on: the machine's own clock says that no edit was so close."""
        probe = self.folder / "probe"
        probe.write_bytes(b"")
        began = probe.stat().st_ctime_ns
        while probe.stat().st_ctime_ns == began:
            probe.write_bytes(b"")


class GitMachine(StoreMachine):
    """The same in a repository, where commits and branches move the tree as well."""

    with_git = True

    @initialize()
    def branch(self) -> None:
        self.desk.commit()
        for branch in ("left", "right"):
            run_git(self.desk.tree, "branch", branch)

    @rule()
    def commit(self) -> None:
        self.desk.commit()

    @rule(branch=st.sampled_from(["main", "left", "right"]))
    def switch(self, branch: str) -> None:
        self.desk.commit()
        checkout(self.desk.tree, branch)
        tree = self.desk.tree
        self.files = {
            path.relative_to(tree).as_posix(): path.read_bytes()
            for path in tree.rglob("*")
            if path.is_file() and not path.is_symlink() and ".git" not in path.parts
        }
        self.ignoring = self.files.get(".cairnignore", b"").decode()


def play(machine: type[StoreMachine], examples: int, steps: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)


@conforms("003.ELIG", "003.CIT1", "003.ID3", "004.CU6")
def test_a_reader_sees_what_was_published_whatever_happens() -> None:
    play(StoreMachine, 8, 30)


@conforms("003.GIT3")
def test_a_reader_sees_what_was_published_while_branches_change() -> None:
    play(GitMachine, 4, 25)


@pytest.mark.long
def test_a_reader_sees_what_was_published_in_two_hundred_long_histories() -> None:
    play(StoreMachine, 200, 60)


@pytest.mark.long
def test_a_reader_sees_what_was_published_in_long_histories_of_a_repository() -> None:
    play(GitMachine, 20, 60)
