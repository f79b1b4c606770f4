"""A dead writer that nobody can see blocks for its term after the first look of anybody; a living one is safe."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import LeaseLost, StoreBusy
from cairn.store.disk import Disk
from cairn.store.door import Store, WriterInfo
from cairn.store.format.document import LEASE_SIGHTING, seal
from cairn.store.format.layout import create_store, is_sighting
from cairn.store.format.seal import Remembered
from cairn.store.fs import Fs
from cairn.store.publish.lease import encode_lease
from cairn.store.repair.salvage import Inspection, strangers
from cairn.store.repair.verify import check
from cairn.store.tend.collect import require_no_writer
from tests.conformance import conforms
from tests.store.disks import FailingDisk, Fault, MemoryDisk
from tests.store.test_lease import HERE, RECORD, TTL, FakeProcesses, new_clock, new_disk, put, take
from tests.support.clock import ManualClock

# Another container of the same machine, and another machine.
CONTAINER = replace(HERE, pid=1, namespace=4026532179)
ELSEWHERE = replace(HERE, boot_id="b0-08", hostname="elsewhere")
OUT_OF_SIGHT = [CONTAINER, ELSEWHERE, replace(HERE, boot_id="b0-08", hostname="renamed")]
US = FakeProcesses(HERE)
# So long a command waits.
WAIT = 10.0


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Disk]:
    with Disk.at(str(tmp_path / "home"), "data/store", create=True) as disk:
        create_store(disk)
        yield disk


def notes(fs: Fs) -> list[str]:
    return [f"locks/{name}" for name in fs.list_folder("locks") if is_sighting(name)]


def note(fs: Fs) -> str:
    (found,) = notes(fs)
    return found


def rewrite(fs: Fs, path: str, data: bytes) -> None:
    fs.remove(path)
    fs.create_bytes(path, data)


def refused(fs: Fs, clock: Clock, processes: Processes = US, wait: float = 0.0) -> str:
    with pytest.raises(StoreBusy) as busy:
        take(fs, clock, processes, wait=wait)
    return busy.value.sentence


def holder(fs: Fs, clock: Clock, processes: Processes = US) -> WriterInfo:
    found = Store(fs).holder(processes, clock)
    assert found is not None
    return found


# --- the promise ------------------------------------------------------------------------------------------------------


@conforms("003.LS1")
@pytest.mark.parametrize("dead", OUT_OF_SIGHT)
def test_commands_that_each_give_up_soon_take_over_together_after_the_term(dead: Any) -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock, FakeProcesses(dead))
    first = clock.monotonic()
    while True:
        try:
            thief = take(disk, clock, US, wait=WAIT)
            break
        except StoreBusy:
            clock.advance(7)
    assert TTL < clock.monotonic() - first <= TTL + WAIT
    assert (thief.epoch, thief.stolen, thief.fence_owed) == (2, True, True)


@pytest.mark.parametrize("dead", OUT_OF_SIGHT)
def test_one_look_is_enough_and_whoever_comes_after_the_term_need_not_wait(dead: Any) -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock, FakeProcesses(dead))
    assert holder(disk, clock).silent_seconds == 0
    clock.advance(TTL + WAIT)
    assert take(disk, clock, US).epoch == 2
    assert clock.slept == []


@conforms("003.LS4")
def test_one_second_before_the_term_is_too_early() -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock, FakeProcesses(CONTAINER))
    holder(disk, clock)
    clock.advance(TTL - 1)
    assert refused(disk, clock) == "Another run (sync, process 1, no heartbeat for 119 s) is writing this index."


@conforms("003.LS2", "003.LS4")
@pytest.mark.parametrize("every", [TTL / 4, TTL / 3, TTL - 0.01])
def test_a_writer_that_beats_is_never_robbed_however_often_somebody_looks(every: float) -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock, FakeProcesses(CONTAINER))
    for _ in range(50):
        clock.advance(every)
        refused(disk, clock)
        lease.beat()
        refused(disk, clock)
        assert not holder(disk, clock).is_silent
    lease.require_ours()


def test_what_the_writer_did_while_nobody_looked_does_not_count() -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock, FakeProcesses(CONTAINER))
    clock.advance(100 * TTL)
    assert refused(disk, clock) == "Another run (sync, process 1) is writing this index."


def test_time_that_the_machine_sleeps_does_not_count() -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock, FakeProcesses(CONTAINER))
    holder(disk, clock)
    clock.move(wall=10 * TTL, boottime=10 * TTL)
    refused(disk, clock)
    lease.check()


def test_a_process_that_is_seen_to_run_is_not_robbed_by_a_note_however_long_it_is_silent() -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock, FakeProcesses(replace(HERE, pid=200)))
    for _ in range(100):
        assert refused(disk, clock) == "Another run (sync, process 200) is writing this index."
        clock.advance(TTL)
    assert notes(disk) == []
    assert holder(disk, clock).alive


def test_a_process_that_is_seen_to_have_ended_is_followed_at_once_and_nothing_is_noted() -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock)
    assert not holder(disk, clock, FakeProcesses(replace(HERE, pid=200), HERE)).alive
    take(disk, clock, FakeProcesses(replace(HERE, pid=200), HERE))
    assert notes(disk) == []


def test_the_writer_that_slept_and_was_robbed_publishes_nothing_more() -> None:
    disk, clock = new_disk(), new_clock()
    sleeper = take(disk, clock, FakeProcesses(CONTAINER))
    holder(disk, clock)
    clock.advance(TTL + 1)
    thief = take(disk, clock, US)
    with pytest.raises(LeaseLost):
        sleeper.check()
    thief.check()


def test_a_damaged_lease_is_followed_after_the_term_too() -> None:
    disk, clock = new_disk(), new_clock()
    put(disk, b"torn")
    assert Store(disk).holder(US, clock) is None
    clock.advance(TTL + 1)
    assert take(disk, clock, US, floor=4).epoch == 5


def test_a_store_may_be_removed_when_its_writer_has_shown_no_heartbeat_for_its_term(real: Disk) -> None:
    clock = ManualClock(SYSTEM_CLOCK.wall_ns())
    for lease in (encode_lease(replace(RECORD, process=CONTAINER)), b"torn"):
        put(real, lease)
        with pytest.raises(StoreBusy):
            require_no_writer(real, clock, US)
        clock.advance(TTL - 1)
        with pytest.raises(StoreBusy, match="no heartbeat for 119 s"):
            require_no_writer(real, clock, US)
        clock.advance(2)
        require_no_writer(real, clock, US)


# --- what is told -----------------------------------------------------------------------------------------------------


def test_a_holder_is_told_as_silent_after_a_third_and_as_dead_after_the_term() -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock, FakeProcesses(CONTAINER))
    told = []
    for seconds in (0, TTL / 3, TTL / 3 + 1, TTL, TTL + 1, 240):
        clock.move(monotonic=50.0 + seconds - clock.monotonic())
        found = holder(disk, clock)
        told.append((found.silent_seconds, found.is_silent, found.alive))
    assert told == [
        (0, False, True),
        (40, False, True),
        (41, True, True),
        (120, True, True),
        (121, True, False),
        (240, True, False),
    ]


# --- whose note counts ------------------------------------------------------------------------------------------------


def test_each_clock_keeps_its_own_note_and_none_shortens_the_time_of_another() -> None:
    disk = new_disk()
    mine, other = ManualClock(monotonic=10_000.0, origin="boot 1"), ManualClock(monotonic=5.0, origin="boot 2")
    take(disk, mine, FakeProcesses(ELSEWHERE))
    holder(disk, other)
    other.advance(TTL + 1)
    # Its own clock shows so much more that the note of the other one would be hours old.
    refused(disk, mine)
    assert len(notes(disk)) == 2
    mine.advance(TTL - 1)
    refused(disk, mine)
    take(disk, other, US)


def test_after_a_reboot_the_time_begins_anew() -> None:
    disk, before = new_disk(), ManualClock(monotonic=50.0, origin="boot 1")
    take(disk, before, FakeProcesses(ELSEWHERE))
    holder(disk, before)
    after = ManualClock(monotonic=50.0 + TTL + 60, origin="boot 2")
    refused(disk, after)
    after.advance(TTL + 1)
    take(disk, after, US)


def test_two_watchers_on_two_machines_do_not_disturb_each_other() -> None:
    disk = new_disk()
    clocks = [ManualClock(monotonic=50.0, origin="boot 1"), ManualClock(monotonic=9.0, origin="boot 2")]
    take(disk, clocks[0], FakeProcesses(CONTAINER))
    waited = 0
    while True:
        try:
            take(disk, clocks[waited % 2], US)
            break
        except StoreBusy:
            waited += 1
            for clock in clocks:
                clock.advance(1)
    # The second of them has looked one second later, and it is the turn of that one.
    assert waited == TTL + 2


def test_a_later_heartbeat_replaces_the_notes_about_earlier_ones() -> None:
    disk = new_disk()
    clocks = [ManualClock(origin=f"boot {number}") for number in range(5)]
    lease = take(disk, clocks[0], FakeProcesses(CONTAINER))
    for clock in clocks:
        holder(disk, clock)
    assert len(notes(disk)) == 5
    clocks[0].advance(TTL / 3)
    lease.beat()
    holder(disk, clocks[3])
    assert len(notes(disk)) == 1


def sealed(**changed: Any) -> Callable[[dict[str, Any]], bytes]:
    return lambda fields: seal(LEASE_SIGHTING, "sighting_sha256", {**fields, **changed})


WRONG: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "empty": lambda _: b"",
    "rubbish": lambda _: b"\0" * 99,
    "too large": lambda _: b"x" * 10_000,
    "an unsealed number": lambda fields: sealed()(fields).replace(b'"since_ns":', b'"since_ns":-'),
    "a flipped digit": lambda fields: sealed()(fields).replace(b'"heartbeat":1', b'"heartbeat":7'),
    "of the future": sealed(since_ns=10**15),
    "the last number there is": sealed(since_ns=(1 << 64) - 1),
    "too large a number": sealed(since_ns=1 << 64),
    "a fraction": sealed(since_ns="1e9"),
    "below zero": sealed(since_ns=-1),
    "of another lease": sealed(lease="0" * 64, since_ns=0),
    "of another clock": sealed(clock="0" * 64, since_ns=0),
    "of a clock that is not said": lambda fields: sealed(since_ns=0)({n: fields[n] for n in fields if n != "clock"}),
    "of no lease": sealed(lease="", since_ns=0),
    "without a field": lambda fields: sealed()({name: fields[name] for name in ("clock", "lease", "since_ns")}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_note_that_is_wrong_counts_as_none_and_is_written_anew(wrong: str) -> None:
    disk = new_disk()
    take(disk, new_clock(), FakeProcesses(CONTAINER))
    clock = new_clock()
    holder(disk, clock)
    data = disk.read(note(disk), MAX_STATE_BYTES)
    clock_id, lease = (data.split(b'"%s":"' % name)[1][:64].decode() for name in (b"clock", b"lease"))
    fields = {"clock": clock_id, "heartbeat": 1, "lease": lease, "lease_epoch": 1, "since_ns": 50}
    rewrite(disk, note(disk), WRONG[wrong](fields))
    # Another process, which remembers nothing by itself.
    clock = new_clock()
    clock.advance(TTL + 1)
    refused(disk, clock)
    clock.advance(TTL)
    refused(disk, clock)
    clock.advance(1)
    take(disk, clock, US)


def test_a_note_of_the_heartbeat_before_does_not_count_for_the_next() -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock, FakeProcesses(CONTAINER))
    holder(disk, clock)
    clock.advance(TTL - 1)
    lease.beat()
    clock.advance(2)
    refused(disk, clock)
    lease.check()


# --- where nothing can be noted ---------------------------------------------------------------------------------------


class ReadOnly(MemoryDisk):
    """A disk that takes no new file any more."""

    locked = False

    def create_bytes(self, path: str, data: Any) -> None:
        if self.locked:
            raise OSError(errno.EROFS, "read-only")
        super().create_bytes(path, data)


def test_a_process_that_cannot_write_remembers_its_own_first_look() -> None:
    disk, clock = ReadOnly(), new_clock()
    create_store(disk)
    take(disk, clock, FakeProcesses(CONTAINER))
    disk.locked = True
    assert holder(disk, clock).alive
    clock.advance(TTL + 1)
    assert not holder(disk, clock).alive
    assert notes(disk) == []
    # Another process begins to count by itself.
    other = new_clock()
    other.advance(TTL + 1)
    assert holder(disk, other).alive


def test_a_clock_that_nobody_can_tell_apart_is_remembered_and_never_noted() -> None:
    disk, clock = new_disk(), ManualClock(origin="")
    take(disk, clock, FakeProcesses(CONTAINER))
    refused(disk, clock)
    assert notes(disk) == []
    clock.advance(TTL + 1)
    refused(disk, ManualClock(monotonic=TTL + 1, origin=""))
    take(disk, clock, US)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE])
def test_whatever_the_disk_refuses_of_a_note_nobody_is_told(number: int) -> None:
    at = 0
    while True:
        at += 1
        memory, clock = new_disk(), new_clock()
        take(memory, clock, FakeProcesses(CONTAINER))
        disk = FailingDisk(memory)
        holder(disk, clock)
        for name in notes(memory):
            memory.remove(name)
        # The lease is read first, and then the folder that it is in.
        disk.fault = Fault(disk.count + 2 + at, number)
        holder(disk, clock)
        if disk.fired is None:
            break
        clock.advance(TTL + 1)
        take(memory, clock, US)
    assert at > 5


# --- a note is a part of the store like others ------------------------------------------------------------------------


def test_a_note_is_no_stranger_to_the_checker_nor_to_a_repair(real: Disk) -> None:
    put(real, encode_lease(replace(RECORD, process=CONTAINER)))
    holder(real, SYSTEM_CLOCK, SYSTEM_PROCESSES)
    assert real.stat(note(real)).mode & 0o777 == 0o600
    assert check(real) == []
    assert list(strangers(Inspection(real, Remembered()), ())) == []
    real.create_bytes("locks/lease_seen.json", b"")
    assert [finding.code for finding in check(real)] == ["stranger"]
    assert [step.path for step in strangers(Inspection(real, Remembered()), ())] == ["locks/lease_seen.json"]
