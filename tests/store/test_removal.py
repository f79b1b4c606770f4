"""Taking a whole store away: nobody is disturbed, and it is there or it is not, wherever it is cut short."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES
from cairn.errors import LeaseStuck, StoreBusy
from cairn.store.disk import Disk
from cairn.store.format.layout import COMPACT_LOCK, LEASE_LOCK, READERS_LOCK, create_store
from cairn.store.fs import Fs
from cairn.store.publish.lease import LEASE, MOST_TTL_MS, RunKind, acquire, encode_lease, read_lease
from cairn.store.tend.collect import alone, finish_removal, is_leftover, require_no_writer, retire
from tests.store.disks import Call, MemoryDisk, Mode, TracingDisk
from tests.store.little import FewProcesses, save
from tests.store.test_lease import RECORD
from tests.support.clock import ManualClock

NAME = f"tree__{'0' * 16}__{'1' * 16}"
MODES: tuple[Mode, ...] = ("kill", "lose", "tear")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Disk]:
    with Disk.at(str(tmp_path / "home"), f"data/{NAME}", create=True, clock=ManualClock()) as disk:
        create_store(disk)
        yield disk


def write_lease(fs: Disk | MemoryDisk, data: bytes) -> None:
    fs.create_bytes(LEASE, data)


# --- who is in the way ------------------------------------------------------------------------------------------------


def test_a_store_that_nobody_holds_may_go(store: Disk) -> None:
    with alone(store, SYSTEM_CLOCK, SYSTEM_PROCESSES):
        pass


def test_a_run_that_lives_keeps_its_store_whatever_the_clock_says(store: Disk) -> None:
    far = ManualClock(SYSTEM_CLOCK.wall_ns() + 400 * MOST_TTL_MS * 1_000_000)
    with (
        acquire(
            store, run_id=RECORD.staging_txn_id, kind=RunKind.SYNC, floor_epoch=0, clock=far, processes=SYSTEM_PROCESSES
        ),
        pytest.raises(StoreBusy, match="sync"),
        alone(store, far, SYSTEM_PROCESSES),
    ):
        pass
    with alone(store, far, SYSTEM_PROCESSES):
        pass


def test_a_run_that_is_provably_gone_keeps_nothing(store: Disk) -> None:
    write_lease(store, encode_lease(RECORD))
    require_no_writer(store, SYSTEM_CLOCK, FewProcesses(alive={1}))


def test_a_lease_from_out_of_sight_is_believed_until_it_stood_still_for_longer_than_any_may_last(store: Disk) -> None:
    write_lease(store, encode_lease(RECORD))
    elsewhere = FewProcesses(alive={1, RECORD.process.pid})
    with pytest.raises(StoreBusy, match="sync, process 100"):
        require_no_writer(store, SYSTEM_CLOCK, elsewhere)
    later = ManualClock(SYSTEM_CLOCK.wall_ns() + (MOST_TTL_MS + 1_000) * 1_000_000)
    require_no_writer(store, later, elsewhere)
    # In sight, a process that lives is at work, however long it has been silent.
    me = FewProcesses().me()
    store.remove(LEASE)
    write_lease(store, encode_lease(replace(RECORD, process=replace(me, pid=100))))
    with pytest.raises(StoreBusy):
        require_no_writer(store, later, elsewhere)


def test_a_lease_that_cannot_be_read_is_believed_as_long(store: Disk) -> None:
    write_lease(store, b"{")
    with pytest.raises(StoreBusy, match="unknown"):
        require_no_writer(store, SYSTEM_CLOCK, SYSTEM_PROCESSES)
    later = ManualClock(SYSTEM_CLOCK.wall_ns() + (MOST_TTL_MS + 1_000) * 1_000_000)
    require_no_writer(store, later, SYSTEM_PROCESSES)


@pytest.mark.parametrize(
    ("lock", "why"), [(LEASE_LOCK, "about to write"), (COMPACT_LOCK, "segments"), (READERS_LOCK, "about to read")]
)
def test_whoever_holds_a_lock_keeps_the_store(store: Disk, tmp_path: Path, lock: str, why: str) -> None:
    with (
        Disk.at(str(tmp_path / "home"), f"data/{NAME}") as other,
        other.lock(lock, exclusive=False, timeout=0),
        pytest.raises(LeaseStuck, match=why),
        alone(store, SYSTEM_CLOCK, SYSTEM_PROCESSES),
    ):
        pass
    with alone(store, SYSTEM_CLOCK, SYSTEM_PROCESSES):
        pass


def test_nobody_takes_the_lease_meanwhile(store: Disk, tmp_path: Path) -> None:
    def take(fs: Disk) -> None:
        acquire(
            fs,
            run_id=RECORD.staging_txn_id,
            kind=RunKind.SYNC,
            floor_epoch=0,
            clock=ManualClock(),
            processes=SYSTEM_PROCESSES,
        )

    with alone(store, SYSTEM_CLOCK, SYSTEM_PROCESSES):
        with Disk.at(str(tmp_path / "home"), f"data/{NAME}", clock=ManualClock()) as other, pytest.raises(LeaseStuck):
            take(other)
        assert read_lease(store) is None


def test_a_store_without_its_locks_has_no_writer(store: Disk, tmp_path: Path) -> None:
    for lock in (LEASE_LOCK, READERS_LOCK, COMPACT_LOCK):
        store.remove(lock)
    with alone(store, SYSTEM_CLOCK, SYSTEM_PROCESSES):
        pass
    store.remove_folder("locks")
    (tmp_path / "home" / "data" / NAME / "locks").write_text("not a folder")
    with alone(store, SYSTEM_CLOCK, SYSTEM_PROCESSES):
        pass


@pytest.mark.parametrize("name", ["read", "lock"])
def test_trouble_with_the_disk_is_no_proof_that_nobody_is_there(name: str) -> None:
    fs = MemoryDisk()
    create_store(fs)

    def fail(call: Call) -> None:
        if call.what == name:
            raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"), alone(TracingDisk(fs, fail), ManualClock(), FewProcesses()):
        pass


# --- the removal ------------------------------------------------------------------------------------------------------


def test_only_what_a_removal_leaves_is_taken_for_a_leftover() -> None:
    assert is_leftover(f"removed_{NAME}")
    assert not any(map(is_leftover, [NAME, "removed_", "removed_x", f"removed_removed_{NAME}", f"removed_{NAME}x"]))


def shelf() -> MemoryDisk:
    """A disk like `data/`, with a small store on it, sealed folders and all."""
    fs = MemoryDisk()
    for folder in (NAME, f"{NAME}/segments", f"{NAME}/segments/one"):
        fs.make_folder(folder)
    for file in (f"{NAME}/ACTIVE_SNAPSHOT", f"{NAME}/segments/one/data.bin"):
        fs.create_bytes(file, b"12345")
        fs.sync_file(file)
    fs.seal(f"{NAME}/segments/one/data.bin")
    fs.seal(f"{NAME}/segments/one")
    for folder in (f"{NAME}/segments/one", f"{NAME}/segments", NAME, ""):
        fs.sync_folder(folder)
    return fs


def is_whole(fs: MemoryDisk, name: str) -> bool:
    try:
        return all(fs.read(f"{name}/{file}", 99) == b"12345" for file in ("ACTIVE_SNAPSHOT", "segments/one/data.bin"))
    except FileNotFoundError:
        return False


def remove(fs: Fs) -> None:
    finish_removal(fs, retire(fs, NAME))


def test_wherever_a_removal_is_cut_short_the_store_is_whole_or_has_lost_its_name() -> None:
    class Cut(BaseException):
        pass

    calls: list[Call] = []
    trace = TracingDisk(shelf(), calls.append)
    remove(trace)
    steps = len(calls)
    assert trace.list_folder("") == []
    states = set()
    for number in range(steps):
        for mode in MODES:
            fs, left = shelf(), [number]

            def cut(_: Call, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    raise Cut

            with pytest.raises(Cut):
                remove(TracingDisk(fs, cut))
            after = fs.crash(mode, number)
            names = after.list_folder("")
            if NAME in names:
                assert is_whole(after, NAME), (number, mode)
            states.add(tuple(names))
            for name in filter(is_leftover, names):
                finish_removal(after, name)
            if NAME in names:
                remove(after)
            assert after.list_folder("") == []
    assert (NAME,) in states
    assert (f"removed_{NAME}",) in states


def test_a_reader_that_has_opened_a_file_keeps_its_bytes() -> None:
    fs = shelf()
    with fs.open_map(f"{NAME}/segments/one/data.bin") as data:
        remove(fs)
        assert bytes(data.view) == b"12345"


def test_a_real_store_goes_without_a_trace(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    with Disk.at(home, f"data/{NAME}", create=True) as disk:
        save(disk, {"a": b"1\n"}, clock=SYSTEM_CLOCK)
    with Disk.at(home, "data") as data:
        remove(data)
        assert data.list_folder("") == []
