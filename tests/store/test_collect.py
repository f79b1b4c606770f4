"""The collector: what is old goes, and nothing that somebody may still read; by the clock, whatever the clock says."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cairn.core.clock import SYSTEM_CLOCK
from cairn.errors import LeaseLost, StoreBusy
from cairn.store.disk import Disk
from cairn.store.format.layout import (
    GENERATIONS,
    INDEX_STATE,
    MANIFEST,
    MAPPING,
    READERS_LOCK,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    generation_path,
    manifest_path,
    segment_folder,
    snapshot_folder,
)
from cairn.store.format.manifest import Manifest
from cairn.store.format.side_files import encode_state, state_of
from cairn.store.fs import Fs, remove_tree
from cairn.store.publish.generations import plant_fence, read_generation
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.read.snapshot import IN_USE, NO_LOCKS, SnapshotView, open_view
from cairn.store.repair.verify import FindingLevel, check
from cairn.store.tend import collect as collecting
from cairn.store.tend.collect import Collected, collect, foresee
from tests.conformance import conforms
from tests.lengths import at_length
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.little import FewProcesses, all_files, contents, draft, load, part_names, rewrite, save, write_batch
from tests.support.clock import ManualClock
from tests.support.faults import Faults

YEAR = 365 * 24 * 3600
LONG_AGO = 3600


def texts(number: int) -> dict[str, bytes]:
    """One file that each version changes, one that only the first brought, one that comes and goes."""
    files = {"all": f"version {number}\n".encode(), "first": b"from the beginning\n"}
    return files | ({"now and then": b"here\n"} if number % 2 else {})


def store(snapshots: int, clock: ManualClock, every: float = LONG_AGO) -> tuple[MemoryDisk, list[Manifest]]:
    """A store with so many snapshots, one after the other; the last was published just now."""
    fs = MemoryDisk()
    made = []
    for number in range(1, snapshots + 1):
        clock.advance(every)
        manifest = save(fs, texts(number), clock=clock)
        assert manifest is not None
        made.append(manifest)
    return fs, made


def opened(fs: Fs, clock: ManualClock, pid: int = 1, alive: Iterable[int] = (1,)) -> Writer:
    return open_writer(fs, "store", RunKind.GC, clock=clock, processes=FewProcesses(pid, {*alive, pid}))


def gc(fs: Fs, clock: ManualClock, pid: int = 1) -> Collected:
    with opened(fs, clock, pid) as writer:
        return collect(writer, clock)


def numbers(fs: Fs) -> list[int]:
    return sorted(map(int, fs.list_folder(GENERATIONS)))


def picture(fs: Fs) -> dict[str, bytes]:
    """Every file but the lease, which shows who came by."""
    return {path: fs.read(path, 1 << 30) for path in all_files(fs) if path != "locks/writer_lease.json"}


def read(fs: Fs, manifest: Manifest) -> dict[str, bytes]:
    view = open_view(fs, "store", snapshot=manifest.snapshot_id)
    assert view is not None
    with view:
        assert view.manifest == manifest
        return contents(view)


# --- what stays -------------------------------------------------------------------------------------------------------


@conforms("003.GC1")
@pytest.mark.parametrize("snapshots", [1, 4, 5, 6, 9])
def test_the_five_newest_stay_however_old_they_are_and_the_others_go(snapshots: int) -> None:
    clock = ManualClock()
    fs, made = store(snapshots, clock)
    clock.advance(YEAR)
    done = gc(fs, clock)
    assert done.snapshots == tuple(manifest.snapshot_id for manifest in made[:-5])
    assert done.kept == min(snapshots, 5)
    assert done.note is None
    assert numbers(fs) == [manifest.generation for manifest in made[-5:]]
    for number, manifest in enumerate(made, 1):
        if manifest in made[-5:]:
            assert read(fs, manifest) == texts(number)
        else:
            assert open_view(fs, "store", snapshot=manifest.snapshot_id) is None
    assert check(fs) == []


@conforms("003.GC1b")
def test_a_snapshot_stays_for_ten_minutes_after_another_one_took_its_place() -> None:
    clock = ManualClock()
    fs, made = store(9, clock, every=1)
    # The first was replaced 7 seconds ago, the fourth 4.
    clock.advance(593)
    assert gc(fs, clock).snapshots == ()
    clock.advance(1)
    assert gc(fs, clock).snapshots == (made[0].snapshot_id,)
    clock.advance(3)
    assert gc(fs, clock).snapshots == tuple(manifest.snapshot_id for manifest in made[1:4])
    assert numbers(fs) == [5, 6, 7, 8, 9]


@conforms("003.RDR3")
def test_no_snapshot_goes_before_the_longest_query_and_the_margin_are_over(faults: Faults) -> None:
    faults.limit(collecting, RETAIN_SNAPSHOTS_MIN_AGE_SECONDS=0)
    clock = ManualClock()
    fs, made = store(5, clock)
    clock.advance(LONG_AGO)
    save(fs, texts(6), clock=clock)
    waited = (collecting.QUERY_TIMEOUT_MS + collecting.GC_SAFETY_MARGIN_MS) // 1000
    assert waited == 150
    clock.advance(waited)
    # A query may have begun with the fifth when it was the newest; the first had long been replaced.
    assert gc(fs, clock).snapshots == (made[0].snapshot_id,)
    faults.limit(collecting, RETAIN_SNAPSHOTS_MIN=1)
    assert gc(fs, clock).snapshots == tuple(manifest.snapshot_id for manifest in made[1:4])
    clock.advance(1)
    assert gc(fs, clock).snapshots == (made[4].snapshot_id,)


@conforms("003.GC2", "003.RDR4")
def test_the_snapshot_that_answers_stays_even_when_all_newer_ones_are_damaged() -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    for ref in {made[n].segments[-1] for n in range(2, 9)}:
        rewrite(fs, f"{segment_folder(ref.name)}/data.bin", b"rubbish")
    clock.advance(LONG_AGO)
    assert gc(fs, clock).snapshots == (made[0].snapshot_id,)
    assert load(fs) == texts(2)


@conforms("003.GC4", "003.RDR4")
def test_what_retained_snapshots_share_with_collected_ones_stays() -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    clock.advance(LONG_AGO)
    gc(fs, clock)
    # The first segment still holds a file that never changed, and the fourth snapshot's tombstones still count.
    assert made[0].segments[0].name in fs.list_folder(SEGMENTS)
    fourth = snapshot_folder(made[3].snapshot_id)
    assert fs.list_folder(fourth) == [MAPPING, "tombstones.jsonl"]
    for number in range(5, 10):
        assert read(fs, made[number - 1]) == texts(number)
    with opened(fs, clock):
        pass
    assert check(fs) == []
    # With the last snapshot that needed them they go as well.
    for number in range(10, 15):
        clock.advance(LONG_AGO)
        save(fs, texts(number), clock=clock, full=number == 10)
    clock.advance(LONG_AGO)
    done = gc(fs, clock)
    assert set(done.snapshots) == {manifest.snapshot_id for manifest in made[4:]}
    assert done.segments == 9
    assert fs.list_folder(SNAPSHOTS) == sorted(Path(path).name for path in map(snapshot_folder, kept_ids(fs)))
    assert check(fs) == []


def kept_ids(fs: Fs) -> list[str]:
    found = [read_generation(fs, number) for number in numbers(fs)]
    return [manifest.snapshot_id for manifest in found if manifest is not None]


def test_what_it_says_it_freed_is_what_is_gone() -> None:
    clock = ManualClock()
    fs, _ = store(8, clock)
    clock.advance(LONG_AGO)
    # The second name of a manifest takes no room.
    before = {path: data for path, data in picture(fs).items() if not path.startswith(f"{GENERATIONS}/")}
    done = gc(fs, clock)
    gone = before.keys() - picture(fs).keys()
    assert done.freed_bytes == sum(len(before[path]) for path in gone) > 0
    assert done.segments == len({path.split("/")[1] for path in gone if path.startswith(SEGMENTS)})


def test_an_empty_store_and_one_that_was_never_published_to_have_nothing_to_collect() -> None:
    clock = ManualClock()
    fs = MemoryDisk()
    assert gc(fs, clock) == Collected()
    plant_fence(fs, 0)
    assert gc(fs, clock) == Collected()
    assert numbers(fs) == [1]


# --- clocks -----------------------------------------------------------------------------------------------------------


def test_while_the_clock_is_set_back_nothing_goes_that_was_just_replaced() -> None:
    clock = ManualClock()
    fs, _ = store(9, clock, every=1)
    clock.move(wall=-YEAR)
    clock.advance(LONG_AGO)
    assert gc(fs, clock).snapshots == ()
    # It goes on with the wrong clock, as if nothing had been.
    for number in range(10, 20):
        clock.advance(LONG_AGO)
        save(fs, texts(number), clock=clock)
    clock.advance(LONG_AGO)
    assert len(gc(fs, clock).snapshots) == 14
    assert numbers(fs) == [15, 16, 17, 18, 19]
    assert check(fs) == []


@pytest.mark.parametrize("years", [-10, 10])
def test_a_clock_that_is_off_by_years_costs_at_most_what_is_old_by_number(years: int) -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    clock.move(wall=years * YEAR)
    done = gc(fs, clock)
    assert done.snapshots == (() if years < 0 else tuple(manifest.snapshot_id for manifest in made[:4]))
    assert load(fs) == texts(9)


# --- the lease --------------------------------------------------------------------------------------------------------


@conforms("003.GC5", "003.RDR5")
def test_idx_must_004_nobody_collects_without_the_lease() -> None:
    clock = ManualClock()
    fs, _ = store(9, clock)
    clock.advance(LONG_AGO)
    with opened(fs, clock, pid=1) as writer:
        # It is believed to be gone, and robbed; whoever robs it holds the lease.
        with opened(fs, clock, pid=2, alive=()):
            before = picture(fs)
            with pytest.raises(LeaseLost):
                collect(writer, clock)
            assert picture(fs) == before
        with pytest.raises(LeaseLost):
            collect(writer, clock)
    assert numbers(fs) == list(range(1, 11)), "the fence of the thief is the tenth"


@conforms("003.GC5", "003.RDR5")
def test_idx_must_004_while_another_run_writes_the_collector_is_refused_and_nothing_changes() -> None:
    clock = ManualClock()
    fs, _ = store(9, clock)
    clock.advance(LONG_AGO)
    with open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses(1, {1})) as writer:
        write_batch(writer, {"x": b"x\n"})
        before = picture(fs)
        with pytest.raises(StoreBusy):
            opened(fs, clock, pid=2)
        assert picture(fs) == before
    assert len(gc(fs, clock, pid=2).snapshots) == 4


@conforms("003.GC5")
def test_the_lease_is_looked_at_before_the_first_number_and_again_before_the_first_file_goes() -> None:
    clock = ManualClock()
    disk, _ = store(9, clock)
    clock.advance(LONG_AGO)
    fs = TracingDisk(disk)
    with opened(fs, clock) as writer:
        fs.calls.clear()
        collect(writer, clock)
    calls = list(map(str, fs.calls))
    looks = [at for at, call in enumerate(calls) if call == "read locks/writer_lease.json"]
    first_number = calls.index("remove generations/1")
    first_file = next(at for at, call in enumerate(calls) if call.startswith(("remove snapshots", "remove segments")))
    safe = calls.index("sync_folder generations")
    assert looks[0] < first_number < safe < first_file
    assert any(safe < look < first_file for look in looks)


# --- readers ----------------------------------------------------------------------------------------------------------


@conforms("003.RDR6")
def test_idx_must_005_while_somebody_opens_a_snapshot_nothing_is_collected_and_a_note_says_so() -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    clock.advance(LONG_AGO)
    with fs.lock(READERS_LOCK, exclusive=False, timeout=0):
        before = picture(fs)
        assert gc(fs, clock) == Collected(kept=9, note=IN_USE)
        assert picture(fs) == before
    assert len(gc(fs, clock).snapshots) == 4
    assert load(fs) == texts(9)
    assert len(made) == 9


@conforms("003.RDR6")
def test_idx_must_005_no_reader_can_open_anything_while_snapshots_stop_being_snapshots() -> None:
    clock = ManualClock()
    disk, _ = store(9, clock)
    clock.advance(LONG_AGO)
    refused = 0

    def look(call: Call) -> None:
        nonlocal refused
        if call.what == "remove" and call.path.startswith(f"{GENERATIONS}/"):
            with pytest.raises(TimeoutError), disk.lock(READERS_LOCK, exclusive=False, timeout=0):
                pass
            refused += 1

    gc(TracingDisk(disk, look), clock)
    assert refused == 4


@conforms("003.RDR6", "003.GC4")
def test_a_view_that_was_opened_before_answers_as_before_when_its_snapshot_is_gone(tmp_path: Path) -> None:
    clock = ManualClock()
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        views: list[SnapshotView] = []
        for number in range(1, 10):
            clock.advance(LONG_AGO)
            save(fs, texts(number), clock=clock)
            view = open_view(fs, "store")
            assert view is not None
            views.append(view)
        clock.advance(LONG_AGO)
        assert len(gc(fs, clock).snapshots) == 4
        assert check(fs) == []
        for number, view in enumerate(views, 1):
            with view:
                assert contents(view) == texts(number)


@conforms("003.RDR4", "003.GC2")
def test_at_any_step_of_the_collector_a_reader_finds_the_newest_and_the_checker_no_error() -> None:
    clock = ManualClock()
    disk, _ = store(8, clock)
    clock.advance(LONG_AGO)
    seen = 0

    def look(call: Call) -> None:
        nonlocal seen
        if call.what in ("remove", "remove_folder", "sync_folder"):
            seen += 1
            assert load(disk) == texts(8)
            assert [finding for finding in check(disk) if finding.severity is FindingLevel.ERROR] == []

    gc(TracingDisk(disk, look), clock)
    assert seen > 10


def test_the_checker_looks_again_when_the_collector_came_in_between() -> None:
    clock = ManualClock()
    before, _ = store(8, clock)
    clock.advance(LONG_AGO)
    calls = TracingDisk(before)
    assert check(calls) == []
    for moment in range(0, len(calls.calls), 17):
        disk = before.crash("kill")
        count = 0

        def another(_: Call, disk: MemoryDisk = disk, moment: int = moment) -> None:
            nonlocal count
            count += 1
            if count == moment + 1:
                gc(disk, clock)

        assert [each for each in check(TracingDisk(disk, another)) if each.severity is FindingLevel.ERROR] == [], moment


class Lockless(TracingDisk):
    """A disk that knows no locks, or none but those of the lease."""

    def __init__(self, inner: Fs, number: int = errno.ENOLCK, *, only_readers: bool = True) -> None:
        super().__init__(inner)
        self._number, self._only_readers = number, only_readers

    @contextlib.contextmanager
    def lock(self, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        if path == READERS_LOCK or not self._only_readers:
            raise OSError(self._number, "no locks", path)
        with super().lock(path, exclusive=exclusive, timeout=timeout):
            yield


@conforms("003.RDR7")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_readers_go_on_and_nothing_is_collected(number: int) -> None:
    clock = ManualClock()
    disk, _ = store(9, clock)
    clock.advance(LONG_AGO)
    fs = Lockless(disk, number)
    assert load(fs) == texts(9)
    before = picture(disk)
    assert gc(fs, clock) == Collected(kept=9, note=NO_LOCKS)
    assert picture(disk) == before
    with pytest.raises(OSError, match="no locks"):
        gc(Lockless(disk, errno.EIO), clock)


# --- damage -----------------------------------------------------------------------------------------------------------


def test_while_a_snapshot_that_stays_is_damaged_nothing_is_collected() -> None:
    clock = ManualClock()
    fs, _ = store(9, clock)
    clock.advance(LONG_AGO)
    rewrite(fs, generation_path(6), b"rubbish")
    before = picture(fs)
    done = gc(fs, clock)
    assert done == Collected(kept=8, note="Snapshot number 6 is damaged, so nothing was collected; run `cairn repair`.")
    assert picture(fs) == before
    assert load(fs) == texts(9)


def test_a_damaged_snapshot_that_is_old_goes_and_all_that_only_it_used() -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    clock.advance(LONG_AGO)
    rewrite(fs, generation_path(2), b"rubbish")
    done = gc(fs, clock)
    assert done.snapshots == tuple(made[n].snapshot_id for n in (0, 2, 3))
    assert check(fs) == []
    assert load(fs) == texts(9)


def test_a_state_that_lags_behind_by_many_snapshots_goes_with_its_snapshot() -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    rewrite(fs, INDEX_STATE, encode_state(state_of(made[1])))
    clock.advance(LONG_AGO)
    gc(fs, clock)
    assert INDEX_STATE not in fs.list_folder("")
    assert [each for each in check(fs.crash("lose")) if each.severity is FindingLevel.ERROR] == []


@pytest.mark.parametrize("state", [b"rubbish", None])
def test_a_state_that_is_damaged_or_missing_is_no_obstacle(state: bytes | None) -> None:
    clock = ManualClock()
    fs, _ = store(9, clock)
    clock.advance(LONG_AGO)
    fs.remove(INDEX_STATE)
    if state is not None:
        fs.create_bytes(INDEX_STATE, state)
    assert len(gc(fs, clock).snapshots) == 4


# --- a writer that was robbed, and its number -------------------------------------------------------------------------


class Asleep(Exception):
    """It was stopped here, and wakes up later."""


@conforms("003.GC5")
@pytest.mark.parametrize("damaged", [False, True])
def test_a_writer_that_sleeps_through_the_collection_of_its_fence_cannot_publish_any_more(damaged: bool) -> None:
    """It had looked at its lease for the last time and comes to claim its number, which is free again."""
    clock = ManualClock()
    fs, _ = store(5, clock)
    slept: list[Call] = []

    def sleep(call: Call) -> None:
        if call.what == "claim":
            slept.append(call)
            raise Asleep

    tracing = TracingDisk(fs, sleep)
    sleeper = open_writer(tracing, "store", RunKind.SYNC, clock=clock, processes=FewProcesses(7, {7}))
    with pytest.raises(Asleep):
        publish(sleeper, draft(sleeper, texts(99), clock), lambda: True, clock)
    [claim] = slept
    assert claim.other == generation_path(6)
    assert fs.read(claim.path, 1 << 20)
    # Others come, put a fence at its number, publish, and collect until the fence is gone too.
    if damaged:
        # Then nobody knows what may be cleared away, and its manifest stays.
        part_names(fs, generation_path(2))
        rewrite(fs, generation_path(2), b"rubbish")
    for number in range(6, 13):
        clock.advance(LONG_AGO)
        save(fs, texts(number), clock=clock, processes=FewProcesses(1, {1}))
        assert (claim.path in all_files(fs)) == damaged
    clock.advance(LONG_AGO)
    done = gc(fs, clock)
    assert done.note is None
    assert numbers(fs) == [9, 10, 11, 12, 13]
    assert claim.path not in all_files(fs)
    with pytest.raises(FileNotFoundError):
        fs.claim(claim.path, claim.other)
    tracing.before = lambda _: None
    sleeper.__exit__(None, None, None)
    assert load(fs) == texts(12)
    assert check(fs) == []


# --- staging ----------------------------------------------------------------------------------------------------------

TTL = 1_800


@conforms("003.GC6")
@pytest.mark.parametrize(
    ("age", "alive", "goes"), [(0, False, False), (TTL + 60, False, True), (TTL + 60, True, False)]
)
def test_staged_work_goes_when_it_is_old_and_no_live_run_holds_it(
    tmp_path: Path, age: int, alive: bool, goes: bool
) -> None:
    clock = ManualClock(SYSTEM_CLOCK.wall_ns())
    with Disk.at(str(tmp_path / "home"), "store", create=True) as fs:
        save(fs, texts(1), clock=clock)
        killed = open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses(7, {7}))
        write_batch(killed, {"x": b"x\n"})
        clock.advance(age)
        if alive:
            with pytest.raises(StoreBusy):
                opened(fs, clock, pid=1, alive=[7])
            assert fs.list_folder(STAGING) == [killed.run]
        else:
            with opened(fs, clock) as writer:
                done = collect(writer, clock)
                assert len(writer.adopted) == (not goes)
            assert done.staging == goes
            assert bool(done.freed_bytes) == goes
            assert bool(fs.list_folder(STAGING)) != goes
            # What was young is still there for the next run, which finishes it.
            with opened(fs, clock) as after:
                assert len(after.adopted) == (not goes)
        with contextlib.suppress(LeaseLost):
            killed.__exit__(None, None, None)


def test_of_two_staged_batches_only_the_old_one_goes(tmp_path: Path) -> None:
    clock = ManualClock(0)
    fs = MemoryDisk()
    save(fs, texts(1), clock=clock)
    killed = open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses(7, {7}))
    old, young = (write_batch(killed, {name: b"x\n"}).batches[0] for name in ("old", "young"))
    inode = fs._file(f"staging/{killed.run}/{young.number}/data.bin")
    fs._files[inode] = fs._files[inode]._replace(mtime=int(3 * TTL * 1e9))
    clock.advance(3 * TTL)
    with opened(fs, clock) as writer:
        done = collect(writer, clock)
        [left] = writer.adopted
        assert (left.sha256, done.staging) == (young.sha256, 1)
        assert left.sha256 != old.sha256
    killed._closing.close()


# --- a look ahead -----------------------------------------------------------------------------------------------------


def test_a_look_ahead_says_what_goes_and_changes_nothing() -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    clock.advance(LONG_AGO)
    with open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses(1, {1})) as writer:
        write_batch(writer, {"x": b"x\n"})
        before = picture(fs)
        ahead = foresee(fs, made[-1], clock)
        assert picture(fs) == before
    assert foresee(fs, None, clock) == Collected(kept=9)
    clock.advance(TTL)
    remove_tree(fs, STAGING)
    fs.make_folder(STAGING)
    assert ahead == gc(fs, clock)
    assert len(ahead.snapshots) == 4


def test_a_look_ahead_goes_on_when_a_collector_takes_a_number_away_meanwhile() -> None:
    clock = ManualClock()
    fs, made = store(9, clock)
    clock.advance(LONG_AGO)

    def collected(call: Call) -> None:
        if call == Call("read", generation_path(2)):
            gc(fs, clock)

    ahead = foresee(TracingDisk(fs, collected), made[-1], clock)
    # The first was read before, the second was gone.
    assert ahead.snapshots[:1] == (made[0].snapshot_id,)
    assert (ahead.kept, numbers(fs)) == (5, [5, 6, 7, 8, 9])


# --- any history ------------------------------------------------------------------------------------------------------


class History:
    """A store, what its snapshots must hold, and every path that a collector has removed."""

    def __init__(self) -> None:
        self.fs, self.clock = MemoryDisk(), ManualClock()
        self.files: dict[str, bytes] = {"always": b"here\n"}
        self.held: dict[str, dict[str, bytes]] = {}
        self.pins: list[tuple[SnapshotView, dict[str, bytes]]] = []
        self.deaths = 0

    def publish(self, full: bool) -> None:
        manifest = save(self.fs, self.files, clock=self.clock, processes=FewProcesses(1, {1}), full=full)
        assert manifest is not None
        self.held[manifest.snapshot_id] = dict(self.files)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def set_by(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self.clock.move(wall=seconds)

    def edit(self, key: str, data: bytes | None) -> None:
        if data is None:
            self.files.pop(key, None)
        else:
            self.files[key] = data

    def pin(self) -> None:
        if view := open_view(self.fs, "store"):
            self.pins.append((view, self.held[view.manifest.snapshot_id]))

    def die(self) -> None:
        """A run is killed with a batch in hand; whoever comes next steals its lease and leaves a fence."""
        with contextlib.ExitStack() as files:
            self.deaths += 1
            who = FewProcesses(100 + self.deaths, {100 + self.deaths})
            writer = open_writer(self.fs, "store", RunKind.SYNC, clock=self.clock, processes=who)
            files.enter_context(writer.view or contextlib.nullcontext())
            write_batch(writer, {"never": b"published\n"})

    def collect(self) -> None:
        tracing = TracingDisk(self.fs)
        before = [found for number in self.taken() if (found := read_generation(self.fs, number))]
        with opened(tracing, self.clock) as writer:
            tracing.calls.clear()
            done = collect(writer, self.clock)
        assert done.note is None
        left = [found for number in self.taken() if (found := read_generation(self.fs, number))]
        assert left == before[len(before) - len(left) :]
        assert len(left) == done.kept >= min(5, len(before))
        removed = {call.path for call in tracing.calls if call.what in ("remove", "remove_folder")}
        assert not removed & set(named(left))
        if done.snapshots:
            assert not [each for each in check(self.fs) if each.code != "staging"]
        self.judge(left)

    def judge(self, left: list[Manifest]) -> None:
        for manifest in left:
            assert read(self.fs, manifest) == self.held[manifest.snapshot_id]
        for view, held in self.pins:
            assert contents(view) == held

    def taken(self) -> list[int]:
        return numbers(self.fs) if GENERATIONS in self.fs.list_folder("") else []

    def close(self) -> None:
        for view, _ in self.pins:
            view.close()


def named(manifests: Iterable[Manifest]) -> Iterator[str]:
    """Every path that a manifest names, its own two included."""
    for manifest in manifests:
        yield generation_path(manifest.generation)
        yield manifest_path(manifest.snapshot_id)
        yield f"{snapshot_folder(manifest.snapshot_id)}/{MANIFEST}"
        yield from (ref.path for ref in manifest.tombstones)
        for ref in manifest.segments:
            yield segment_folder(ref.name)
            yield from (f"{segment_folder(ref.name)}/{name}" for name in ("data.bin", "rows.sqlite"))


STEPS = st.one_of(
    st.tuples(st.just("edit"), st.sampled_from("abc"), st.sampled_from([None, b"one\n", b"two\n"])),
    st.tuples(st.just("publish"), st.sampled_from([False, False, False, True])),
    st.tuples(st.just("publish"), st.just(False)),
    st.tuples(st.just("advance"), st.sampled_from([1, 400, LONG_AGO])),
    st.tuples(st.just("set_by"), st.sampled_from([-10 * YEAR, -LONG_AGO, LONG_AGO, 10 * YEAR])),
    st.tuples(st.just("pin")),
    st.tuples(st.just("die")),
    st.tuples(st.just("collect")),
)


# A history is long, and shrinking one takes minutes: the longer run does that.
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)


def live(steps: Iterable[tuple[object, ...]]) -> None:
    history = History()
    history.publish(False)
    try:
        for name, *arguments in steps:
            getattr(history, str(name))(*arguments)
        history.clock.advance(LONG_AGO)
        history.collect()
    finally:
        history.close()


@conforms("003.GC1", "003.GC2", "003.GC4", "003.RDR4")
@given(steps=st.lists(STEPS, min_size=20, max_size=45))
@settings(max_examples=20, derandomize=True, deadline=None, phases=QUICK, suppress_health_check=list(HealthCheck))
def test_whatever_happened_to_a_store_nothing_retained_is_ever_removed(steps: list[tuple[object, ...]]) -> None:
    live(steps)


@pytest.mark.long
@given(steps=st.lists(STEPS, min_size=20, max_size=120))
@settings(max_examples=at_length(2_000), derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_in_thousands_of_histories_nothing_retained_is_ever_removed(steps: list[tuple[object, ...]]) -> None:
    live(steps)
