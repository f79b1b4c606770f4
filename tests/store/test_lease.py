"""One writer at a time, no lease for ever, no early steal: whatever clocks, disks and processes do."""

from __future__ import annotations

import contextlib
import errno
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes, ProcessId
from cairn.core.limits import LEASE_TTL_MS, MAX_STATE_BYTES
from cairn.errors import Incompatible, LeaseLapsed, LeaseLost, LeaseStuck, StoreBusy, StoreCorrupt
from cairn.store.disk import Disk
from cairn.store.format.document import WRITER_LEASE, seal
from cairn.store.format.layout import LEASE_LOCK, create_store, is_sighting
from cairn.store.fs import Fs
from cairn.store.publish.lease import (
    GUARD,
    LEASE,
    Lease,
    LeaseRecord,
    RunKind,
    acquire,
    decode_lease,
    encode_lease,
    is_alive,
    read_lease,
)
from tests.conformance import conforms
from tests.lengths import at_length
from tests.store.disks import FAULTS, Call, FailingDisk, Fault, MemoryDisk, Mode, TracingDisk
from tests.support.clock import ManualClock

RUN = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"
TTL = LEASE_TTL_MS / 1000
YEAR = 365 * 24 * 3600.0
HERE = ProcessId(pid=100, started=7, boot_id="b0-07", namespace=4026531836, hostname="here")
THERE = replace(HERE, pid=200, started=8)

RECORD = LeaseRecord(
    owner_id="ab" * 16,
    process=HERE,
    started_at="2026-01-01T12:00:00Z",
    last_heartbeat_at="2026-01-01T12:00:03Z",
    heartbeat=3,
    boottime_ms=4_000,
    lease_epoch=42,
    lease_ttl_ms=120_000,
    staging_txn_id=RUN,
    run_kind=RunKind.SYNC,
    released=False,
)


def new_clock() -> ManualClock:
    """A clock whose hands all show something else."""
    return ManualClock(1_767_268_800_000_000_000, monotonic=50.0, boottime=900.0)


class FakeProcesses:
    """We are `process`, and see those of our boot and namespace; those are gone that were put in there."""

    def __init__(self, process: ProcessId = HERE, *gone: ProcessId) -> None:
        self.process = process
        self.gone = set(gone)

    def me(self) -> ProcessId:
        return self.process

    def is_gone(self, process: ProcessId) -> bool:
        return process in self.gone

    def is_running(self, process: ProcessId) -> bool:
        seen = (process.boot_id, process.namespace) == (self.process.boot_id, self.process.namespace)
        return process.is_known and seen and process not in self.gone


def new_disk() -> MemoryDisk:
    disk = MemoryDisk()
    create_store(disk)
    return disk


def take(
    fs: Fs, clock: Clock, processes: Processes | None = None, *, floor: int = 0, wait: float = 0.0, **more: Any
) -> Lease:
    given = {"run_id": RUN, "kind": RunKind.SYNC, **more}
    processes = processes or FakeProcesses()
    try:
        return acquire(fs, floor_epoch=floor, clock=clock, processes=processes, wait_seconds=wait, **given)
    finally:
        # Who waits lets time pass.
        assert not (isinstance(clock, ManualClock) and 0 in clock.slept)


def put(fs: Fs, data: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        fs.remove(LEASE)
    fs.create_bytes(LEASE, data)


def there(fs: Fs) -> LeaseRecord:
    record = read_lease(fs)
    assert record is not None
    return record


# --- the file ---------------------------------------------------------------------------------------------------------


def document() -> dict[str, Any]:
    found = json.loads(encode_lease(RECORD))
    assert isinstance(found, dict)
    return {name: value for name, value in found.items() if name not in ("lease_sha256", "schema_version")}


def sealed(changed: dict[str, Any], version: int = 1) -> bytes:
    return seal(replace(WRITER_LEASE, written=version), "lease_sha256", changed)


@conforms("003.IS3")
def test_the_lease_has_every_field_of_the_contract() -> None:
    found = json.loads(encode_lease(RECORD))
    assert len(found.pop("lease_sha256")) == 64
    assert found == {
        "schema_version": 1,
        "owner_id": "ab" * 16,
        "pid": 100,
        "hostname": "here",
        "started_at": "2026-01-01T12:00:00Z",
        "last_heartbeat_at": "2026-01-01T12:00:03Z",
        "lease_epoch": 42,
        "lease_ttl_ms": 120_000,
        "staging_txn_id": RUN,
        "boot_id": "b0-07",
        "boottime_ms": 4_000,
        "heartbeat": 3,
        "pid_started": 7,
        "pid_namespace": 4026531836,
        "run_kind": "sync",
        "released": False,
    }
    assert decode_lease(encode_lease(RECORD)) == RECORD


@pytest.mark.parametrize("kind", RunKind)
def test_every_kind_of_run_can_be_written_and_read(kind: RunKind) -> None:
    record = decode_lease(encode_lease(replace(RECORD, run_kind=kind, released=True)))
    assert (type(record.run_kind), record.run_kind, record.released) == (RunKind, kind, True)
    assert kind.value == kind.name.lower()


@conforms("003.IS3")
def test_unknown_fields_are_passed_over_and_covered_by_the_digest() -> None:
    data = sealed({**document(), "future": [1, {"x": "trunk"}]})
    assert decode_lease(data) == RECORD
    with pytest.raises(StoreCorrupt, match="digest"):
        decode_lease(data.replace(b"trunk", b"drunk"))


@pytest.mark.parametrize("name", document())
def test_a_missing_or_mistyped_field_is_refused_by_its_name(name: str) -> None:
    without = {key: value for key, value in document().items() if key != name}
    with pytest.raises(StoreCorrupt, match=f"{name} is missing"):
        decode_lease(sealed(without))
    for value in (None, -1, 1 << 64, 0.5, "\x1b[2J", "é" * 300, [], ["x"]):
        with pytest.raises(StoreCorrupt):
            decode_lease(sealed({**document(), name: value}))


def test_every_single_flipped_bit_is_refused() -> None:
    data = encode_lease(RECORD)
    for position in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        with pytest.raises(StoreCorrupt):
            decode_lease(bytes(flipped))


@conforms("003.VER2")
@pytest.mark.parametrize("version", [0, 999])
def test_a_lease_of_another_version_is_refused_by_name(version: int) -> None:
    with pytest.raises(Incompatible, match=f"The writer lease of the index has format version {version};"):
        decode_lease(sealed(document(), version))


@pytest.mark.parametrize(
    "record",
    [
        replace(RECORD, owner_id=""),
        replace(RECORD, owner_id="../x"),
        replace(RECORD, staging_txn_id="../x"),
        replace(RECORD, lease_epoch=0),
        replace(RECORD, lease_ttl_ms=0),
        replace(RECORD, lease_ttl_ms=10**9),
        replace(RECORD, process=replace(HERE, pid=0)),
        replace(RECORD, process=replace(HERE, hostname="two\nlines")),
        replace(RECORD, process=replace(HERE, boot_id="B")),
    ],
)
def test_what_could_not_be_read_again_is_never_written(record: LeaseRecord) -> None:
    with pytest.raises(ValueError, match="writer lease"):
        encode_lease(record)


def test_a_store_without_a_lease_has_none_and_a_damaged_one_is_not_believed() -> None:
    disk = new_disk()
    assert read_lease(disk) is None
    for data in (b"", b"{}\n", encode_lease(RECORD)[:-9], b"x" * (MAX_STATE_BYTES + 1)):
        put(disk, data)
        with pytest.raises(StoreCorrupt, match="writer lease"):
            read_lease(disk)
    disk.remove(LEASE)
    disk.make_folder(LEASE)
    with pytest.raises(IsADirectoryError):
        read_lease(disk)


# --- taking it --------------------------------------------------------------------------------------------------------


def test_a_free_lease_is_granted_with_all_that_it_says() -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock, kind=RunKind.REINDEX, owner_id="me")
    assert (lease.epoch, lease.owner_id, lease.run_id, lease.kind) == (1, "me", RUN, RunKind.REINDEX)
    assert (lease.previous, lease.stolen, lease.fence_owed) == (None, False, False)
    assert there(disk) == LeaseRecord(
        owner_id="me",
        process=HERE,
        started_at="2026-01-01T12:00:00Z",
        last_heartbeat_at="2026-01-01T12:00:00Z",
        heartbeat=1,
        boottime_ms=900_000,
        lease_epoch=1,
        lease_ttl_ms=LEASE_TTL_MS,
        staging_txn_id=RUN,
        run_kind=RunKind.REINDEX,
        released=False,
    )


def test_owners_are_random_and_distinct() -> None:
    owners = {take(new_disk(), new_clock()).owner_id for _ in range(100)}
    assert len(owners) == 100
    assert {len(owner) for owner in owners} == {32}


def test_a_held_lease_is_refused_with_the_name_of_its_run() -> None:
    disk, clock = new_disk(), new_clock()
    with take(disk, clock, kind=RunKind.CATCHUP) as lease:
        before = disk.read(LEASE, MAX_STATE_BYTES)
        with pytest.raises(StoreBusy, match=r"\(catchup, process 100\)"):
            take(disk, clock, FakeProcesses(THERE))
        with pytest.raises(StoreBusy):
            take(disk, clock, FakeProcesses(HERE))
        assert clock.slept == []
        assert disk.read(LEASE, MAX_STATE_BYTES) == before
        lease.check()


def test_a_released_lease_is_free_and_owes_nothing() -> None:
    disk, clock = new_disk(), new_clock()
    with take(disk, clock) as first:
        pass
    assert there(disk).released
    second = take(disk, clock, FakeProcesses(THERE))
    assert (second.epoch, second.stolen, second.fence_owed) == (2, False, False)
    assert second.previous is not None
    assert second.previous.owner_id == first.owner_id


def grant(times: int) -> None:
    disk, clock, dead = new_disk(), new_clock(), FakeProcesses(HERE, HERE)
    last = 0
    for number in range(times):
        lease = take(disk, clock, dead, floor=number // 3)
        assert lease.epoch == last + 1
        last = lease.epoch
        if number % 2:
            lease.fence_owed = False
            lease.release()
            assert lease.epoch == last


@conforms("003.LS8")
def test_every_grant_has_an_epoch_above_the_last_one() -> None:
    grant(1_000)


@pytest.mark.long
def test_ten_thousand_grants_have_ten_thousand_rising_epochs() -> None:
    grant(10_000)


@conforms("003.LS8")
@pytest.mark.parametrize(("floor", "epoch"), [(0, 43), (41, 43), (42, 43), (43, 44), (99, 100)])
def test_an_epoch_is_above_the_last_one_and_above_every_manifest(floor: int, epoch: int) -> None:
    for record in (RECORD, replace(RECORD, released=True)):
        disk = new_disk()
        put(disk, encode_lease(record))
        assert take(disk, new_clock(), FakeProcesses(THERE, HERE), floor=floor).epoch == epoch


def test_a_lost_lease_file_does_not_bring_old_epochs_back() -> None:
    disk = new_disk()
    assert take(disk, new_clock(), floor=41).epoch == 42


@conforms("003.LS1")
def test_the_lease_of_a_process_that_is_gone_is_taken_at_once() -> None:
    disk, clock = new_disk(), new_clock()
    dead = take(disk, clock)
    thief = take(disk, clock, FakeProcesses(THERE, HERE))
    assert clock.slept == []
    assert (thief.epoch, thief.stolen, thief.fence_owed) == (2, True, True)
    assert thief.previous is not None
    assert thief.previous.owner_id == dead.owner_id


def test_a_waiter_takes_the_lease_as_soon_as_it_is_let_go() -> None:
    disk, clock = new_disk(), new_clock()
    first = take(disk, clock)
    clock.on_sleep = lambda: first.release() if len(clock.slept) == 3 else None
    lease = take(disk, clock, FakeProcesses(THERE), wait=60)
    assert (lease.epoch, lease.stolen) == (2, False)
    assert clock.slept == [0.05, 0.1, 0.2]


def test_a_waiter_notices_that_the_holder_has_died_meanwhile() -> None:
    disk, clock, processes = new_disk(), new_clock(), FakeProcesses(THERE)
    take(disk, clock)
    clock.on_sleep = lambda: processes.gone.add(HERE)
    assert take(disk, clock, processes, wait=60).stolen
    assert clock.slept == [0.05]


def test_a_waiter_waits_as_long_as_it_was_told_and_looks_less_and_less_often() -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock)
    with pytest.raises(StoreBusy):
        take(disk, clock, FakeProcesses(THERE), wait=10.0)
    assert sum(clock.slept) == pytest.approx(10.0)
    assert clock.slept[:6] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0]
    assert max(clock.slept) == 1.0


@conforms("003.LS4")
@pytest.mark.parametrize("ttl_ms", [1_000, LEASE_TTL_MS])
def test_a_silent_holder_is_robbed_only_after_more_than_a_whole_term(ttl_ms: int) -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock, ttl_ms=ttl_ms)
    start = clock.monotonic()
    # The term is that of the holder, whatever the thief would choose for itself.
    with pytest.raises(StoreBusy):
        take(disk, clock, FakeProcesses(THERE), wait=ttl_ms / 1000, ttl_ms=10)
    assert clock.monotonic() - start == pytest.approx(ttl_ms / 1000)
    start = clock.monotonic()
    # What an earlier call has watched does not count: nobody knows what happened in between.
    thief = take(disk, clock, FakeProcesses(THERE), wait=ttl_ms / 1000 + 2)
    assert ttl_ms / 1000 < clock.monotonic() - start < ttl_ms / 1000 + 1.1
    assert (thief.epoch, thief.stolen) == (2, True)


@conforms("003.LS2", "003.LS4")
@pytest.mark.parametrize("step", [0.1, 0.7, 3.0, 9.9])
def test_a_holder_that_is_called_often_beats_in_every_third_and_is_never_robbed(step: float) -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock)
    beats = [(clock.boottime(), there(disk).heartbeat)]
    for _ in range(int(4 * TTL / step)):
        clock.advance(step)
        lease.beat()
        record = there(disk)
        if record.heartbeat != beats[-1][1]:
            assert record.boottime_ms == int(clock.boottime() * 1000)
            beats.append((clock.boottime(), record.heartbeat))
    assert [count for _, count in beats] == list(range(1, len(beats) + 1))
    assert all(later[0] - first[0] <= TTL / 3 for first, later in pairwise(beats))
    assert len(beats) <= 4 * 4 + 1
    clock.on_sleep = lease.beat
    with pytest.raises(StoreBusy):
        take(disk, clock, FakeProcesses(THERE), wait=4 * TTL)


def test_a_beat_that_is_not_due_touches_nothing() -> None:
    clock = new_clock()
    disk = TracingDisk(new_disk())
    lease = take(disk, clock)
    disk.calls.clear()
    for _ in range(1_000):
        lease.beat()
    clock.advance(TTL / 4 - 0.01)
    lease.beat()
    assert disk.calls == []
    clock.advance(0.01)
    lease.beat()
    assert disk.calls != []


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"nonsense", b"x" * (MAX_STATE_BYTES + 1), encode_lease(RECORD)[:-20]])
def test_a_damaged_lease_is_taken_only_after_it_stood_still_for_a_term(data: bytes) -> None:
    disk, clock = new_disk(), new_clock()
    put(disk, data)
    with pytest.raises(StoreBusy, match=r"\(unknown, process unknown, no heartbeat for 2 min\)"):
        take(disk, clock, wait=TTL)
    lease = take(disk, clock, wait=2, floor=7)
    assert (lease.epoch, lease.previous, lease.stolen, lease.fence_owed) == (8, None, True, True)


def test_a_damaged_lease_that_changes_is_held_by_somebody() -> None:
    disk, clock = new_disk(), new_clock()
    put(disk, b"0")
    clock.on_sleep = lambda: put(disk, b"%d" % (clock.monotonic() // 60))
    with pytest.raises(StoreBusy):
        take(disk, clock, wait=5 * TTL)


def test_a_lease_of_the_future_is_neither_waited_for_nor_taken() -> None:
    disk, clock = new_disk(), new_clock()
    put(disk, sealed(document(), version=2))
    with pytest.raises(Incompatible):
        take(disk, clock, wait=10 * TTL)
    assert clock.slept == []


# --- holding it -------------------------------------------------------------------------------------------------------

Loss = Callable[[Fs], None]
LOSSES: dict[str, Loss] = {
    "another owner": lambda fs: put(fs, encode_lease(replace(there(fs), owner_id="thief"))),
    "another epoch": lambda fs: put(fs, encode_lease(replace(there(fs), lease_epoch=2))),
    "released": lambda fs: put(fs, encode_lease(replace(there(fs), released=True))),
    "gone": lambda fs: fs.remove(LEASE),
    "damaged": lambda fs: put(fs, b"nonsense"),
    "too large": lambda fs: put(fs, bytes(MAX_STATE_BYTES + 1)),
    "of the future": lambda fs: put(fs, sealed(document(), version=2)),
}


@conforms("003.LS7")
@pytest.mark.parametrize("silent", [0.0, TTL / 2, 10 * TTL])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_lease_that_is_not_ours_any_more_is_lost_for_good_and_left_alone(loss: str, silent: float) -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock)
    LOSSES[loss](disk)
    after = contents(disk)
    clock.advance(silent)
    with pytest.raises(LeaseLost, match="we held epoch 1"):
        lease.check()
    if silent:
        with pytest.raises(LeaseLost):
            lease.beat()
    lease.release()
    lease.release()
    assert contents(disk) == after


def contents(disk: Fs) -> dict[str, bytes]:
    return {name: disk.read(f"locks/{name}", 1 << 20) for name in disk.list_folder("locks")}


@conforms("003.LS7")
def test_a_holder_that_slept_through_a_steal_is_told_so() -> None:
    disk, clock = new_disk(), new_clock()
    sleeper = take(disk, clock)
    thief = take(disk, clock, FakeProcesses(THERE), wait=TTL + 2)
    for late in (sleeper.check, sleeper.beat):
        with pytest.raises(LeaseLost, match="we held epoch 1, it is now 2"):
            late()
    sleeper.release()
    thief.check()
    assert there(disk).owner_id == thief.owner_id


def test_a_holder_that_slept_and_was_not_robbed_goes_on() -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock)
    clock.advance(10 * TTL)
    lease.check()
    assert there(disk).heartbeat == 2
    with pytest.raises(StoreBusy):
        take(disk, clock, FakeProcesses(THERE), wait=TTL / 2)


@conforms("003.LS7")
@pytest.mark.parametrize(("seconds", "passes"), [(TTL / 3 - 0.1, True), (TTL / 3, False), (YEAR, False)])
@pytest.mark.parametrize(("silent", "what"), [(0.0, "read"), (TTL / 4, "swap"), (TTL / 4, "sync_file")])
def test_a_check_that_took_too_long_itself_does_not_pass(
    silent: float, what: str, seconds: float, passes: bool
) -> None:
    clock, memory = new_clock(), new_disk()
    lease = take(memory, clock)
    clock.advance(silent)

    def hang(call: Call) -> None:
        if call == Call(what, LEASE) or (call.what == what and call.path.startswith(f"{LEASE}.")):
            clock.move(boottime=seconds)

    lease._fs = TracingDisk(memory, hang)
    if passes:
        lease.check()
        return
    with pytest.raises(LeaseLapsed, match="epoch 1"):
        lease.check()
    # It was not lost, so once the machine is awake again the next look may find that all is well.
    lease._fs = memory
    lease.check()


def test_after_its_release_a_lease_does_not_come_back_to_life() -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock)
    lease.release()
    after = contents(disk)
    clock.advance(TTL)
    for late in (lease.beat, lease.check):
        with pytest.raises(LeaseLost):
            late()
    assert contents(disk) == after


def test_a_lease_that_owes_its_fence_is_not_released_and_the_next_writer_owes_it_too() -> None:
    disk, clock = new_disk(), new_clock()
    take(disk, clock)
    with take(disk, clock, FakeProcesses(THERE, HERE)) as second:
        assert second.fence_owed
    assert not there(disk).released
    third = take(disk, clock, FakeProcesses(HERE, THERE))
    assert (third.epoch, third.stolen, third.fence_owed) == (3, True, True)
    third.fence_owed = False
    third.release()
    assert not take(disk, clock, FakeProcesses(THERE)).stolen


def test_a_record_of_our_own_process_that_nobody_here_holds_is_free() -> None:
    disk, clock = new_disk(), new_clock()
    put(disk, encode_lease(RECORD))
    assert not is_alive(RECORD, FakeProcesses(HERE))
    assert take(disk, clock, FakeProcesses(HERE)).stolen
    # What cannot be told apart from another container's process proves nothing.
    for unknown in (replace(HERE, started=0), replace(HERE, boot_id=""), replace(HERE, namespace=0)):
        assert is_alive(replace(RECORD, process=unknown), FakeProcesses(unknown))


def test_a_run_is_alive_until_it_is_released_or_provably_gone() -> None:
    disk = new_disk()
    lease = take(disk, new_clock())
    assert is_alive(there(disk), FakeProcesses(HERE))
    assert is_alive(there(disk), FakeProcesses(THERE))
    assert not is_alive(there(disk), FakeProcesses(THERE, HERE))
    lease.release()
    assert not is_alive(there(disk), FakeProcesses(THERE))


# --- F9: clocks -------------------------------------------------------------------------------------------------------

JUMPS = [sign * jump for jump in (1.0, 60.0, TTL, 3600.0, 86_400.0, YEAR, 10 * YEAR) for sign in (1, -1)]


@conforms("003.LS4")
@pytest.mark.parametrize("jump", JUMPS)
def test_no_jump_of_the_wall_clock_takes_a_lease_or_keeps_one(jump: float) -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock)
    clock.move(wall=jump)
    lease.check()
    with pytest.raises(StoreBusy):
        take(disk, clock, FakeProcesses(THERE), wait=TTL - 1)

    def jump_on() -> None:
        clock.move(wall=jump if len(clock.slept) % 2 else -jump)

    clock.on_sleep = jump_on
    start = clock.monotonic()
    thief = take(disk, clock, FakeProcesses(THERE), wait=TTL + 2)
    assert TTL < clock.monotonic() - start < TTL + 1.1
    assert (thief.epoch, thief.stolen) == (2, True)
    clock.move(wall=-jump)
    thief.check()


@conforms("003.LS4")
@pytest.mark.parametrize("asleep", [1.0, TTL / 3, TTL, 10 * TTL, YEAR])
def test_time_that_the_machine_sleeps_does_not_count_against_the_holder(asleep: float) -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock)

    def suspend() -> None:
        if len(clock.slept) == 4:
            clock.move(wall=asleep, boottime=asleep)

    clock.on_sleep = suspend
    with pytest.raises(StoreBusy):
        take(disk, clock, FakeProcesses(THERE), wait=TTL)
    # The holder itself does count it, and shows that it lives before it goes on.
    lease.check()
    assert there(disk).heartbeat == 2


def test_a_holder_whose_boot_time_stands_still_is_robbed_and_told_so() -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock)

    def stand_still() -> None:
        clock.move(boottime=900.0 - clock.boottime())

    clock.on_sleep = stand_still
    take(disk, clock, FakeProcesses(THERE), wait=TTL + 2)
    lease.beat()
    with pytest.raises(LeaseLost):
        lease.check()


@conforms("003.LS1")
def test_after_a_reboot_the_lease_is_taken_at_once() -> None:
    disk, clock = new_disk(), new_clock()
    before = replace(SYSTEM_PROCESSES.me(), boot_id="0" * 32)
    put(disk, encode_lease(replace(RECORD, process=before)))
    clock.move(monotonic=-45.0, boottime=-895.0)
    lease = acquire(disk, run_id=RUN, kind=RunKind.GC, floor_epoch=0, clock=clock, processes=SYSTEM_PROCESSES)
    assert (lease.epoch, lease.stolen, clock.slept) == (43, True, [])
    lease.check()


def test_equal_time_stamps_do_not_make_two_grants_one() -> None:
    disk, clock = new_disk(), new_clock()
    first = take(disk, clock)
    second = take(disk, clock, FakeProcesses(THERE, HERE))
    third = take(disk, clock, FakeProcesses(HERE, THERE))
    assert (first.epoch, second.epoch, third.epoch) == (1, 2, 3)
    for old in (first, second):
        with pytest.raises(LeaseLost):
            old.check()
    third.check()


# --- the guard --------------------------------------------------------------------------------------------------------


@conforms("003.LS3", "003.LS6")
def test_every_change_of_the_lease_is_a_swap_under_the_guard() -> None:
    clock = new_clock()
    disk = TracingDisk(new_disk())
    lease = take(disk, clock)
    granted = [str(call) for call in disk.calls]
    assert granted == [
        f"read {LEASE}",
        f"lock {LEASE_LOCK}",
        f"remove {GUARD}",
        f"create_bytes {GUARD}",
        f"read {LEASE}",
        f"remove {LEASE}.tmp",
        f"create_bytes {LEASE}.tmp",
        f"sync_file {LEASE}.tmp",
        f"swap {LEASE}.tmp -> {LEASE}",
        f"remove {GUARD}",
        "sync_folder locks",
    ]
    # A beat and a release do the same without the last sync: they hold no promise that a power cut could break.
    for update in (lease.beat, lease.release):
        disk.calls.clear()
        clock.advance(TTL / 3)
        update()
        assert [str(call) for call in disk.calls] == granted[1:-1]
    assert "lease_guard.lock" not in disk.list_folder("locks")


@conforms("003.LS6")
def test_the_guard_of_a_dead_process_is_removed() -> None:
    disk, clock = new_disk(), new_clock()
    disk.create_bytes(GUARD, b"4711\n")
    take(disk, clock).check()
    assert disk.list_folder("locks") == ["compact.flock", "lease.flock", "readers.lock", "writer_lease.json"]


@conforms("003.LS6")
@pytest.mark.parametrize(
    ("guard", "says"),
    [(b"4711\n", "process 4711"), (b"\x1b[2J", "not known"), (b"9" * 99, "not known"), (None, "not known")],
)
def test_a_guard_that_somebody_holds_on_to_is_not_broken(guard: bytes | None, says: str) -> None:
    disk, clock = new_disk(), new_clock()
    lease = take(disk, clock, FakeProcesses(THERE))
    clock.advance(TTL)
    before = disk.read(LEASE, MAX_STATE_BYTES)
    if guard is not None:
        disk.create_bytes(GUARD, guard)
    with disk.lock(LEASE_LOCK, exclusive=True, timeout=0):
        for stuck in (lease.beat, lease.check, lease.release, lambda: take(disk, clock, FakeProcesses(HERE, THERE))):
            with pytest.raises(LeaseStuck, match=says):
                stuck()
        with lease:
            pass
    assert disk.read(LEASE, MAX_STATE_BYTES) == before


def test_a_thief_looks_again_under_the_guard() -> None:
    clock, memory = new_clock(), new_disk()
    dead, faster = FakeProcesses(THERE, HERE), FakeProcesses(replace(THERE, pid=300), HERE)
    take(memory, clock)
    others: list[Lease] = []

    def overtake(call: Call) -> None:
        if call.what == "lock" and not others:
            others.append(take(memory, clock, faster))

    with pytest.raises(StoreBusy, match="process 300"):
        take(TracingDisk(memory, overtake), clock, dead)
    others[0].check()


@conforms("003.LS4", "003.LS5")
def test_a_heartbeat_at_the_last_moment_foils_the_steal() -> None:
    clock, memory = new_clock(), new_disk()
    lease = take(memory, clock)

    def beat(call: Call) -> None:
        if call.what == "lock":
            lease.beat()

    with pytest.raises(StoreBusy):
        take(TracingDisk(memory, beat), clock, FakeProcesses(THERE), wait=TTL + 2)
    lease.check()


def test_a_lease_that_changes_hands_under_our_eyes_is_taken_when_the_new_hand_has_let_go() -> None:
    clock, memory = new_clock(), new_disk()
    with take(memory, clock):
        pass

    def come_and_go(call: Call) -> None:
        if call.what == "lock":
            take(memory, clock, FakeProcesses(THERE)).release()

    assert take(TracingDisk(memory, come_and_go), clock).epoch == 3


# --- F1 and F3: crashes and failing disks -----------------------------------------------------------------------------


def life(disk: Fs, clock: ManualClock, granted: list[int]) -> None:
    """Everything that happens to a lease: granted, beaten, released, stolen, kept because of its fence."""
    with take(disk, clock, floor=5) as first:
        granted.append(first.epoch)
        clock.advance(TTL / 3)
        first.beat()
        clock.advance(TTL / 3)
        first.check()
    second = take(disk, clock, FakeProcesses(THERE))
    granted.append(second.epoch)
    with take(disk, clock, FakeProcesses(HERE, THERE)) as third:
        granted.append(third.epoch)
        clock.advance(TTL / 3)
        third.beat()
        third.release()
        third.fence_owed = False


@conforms("003.LS1", "003.LS8")
@pytest.mark.parametrize("draws", [10, pytest.param(40, marks=pytest.mark.long)])
def test_whatever_a_crash_leaves_the_next_writer_gets_a_higher_epoch(draws: int) -> None:
    modes: list[tuple[Mode, int]] = [("kill", 0), ("lose", 0), *(("tear", seed) for seed in range(draws))]
    memory, granted, states = new_disk(), list[int](), 0

    def crash(_: Call) -> None:
        nonlocal states
        for mode, seed in modes:
            after = memory.crash(mode, seed)
            # No cut damages the file: else the next writer would wait a whole term for nobody.
            seen = read_lease(after)
            lease = take(after, new_clock(), FakeProcesses(replace(HERE, pid=300), HERE, THERE), floor=5)
            assert lease.epoch > max([5, *granted, seen.lease_epoch if seen else 0])
            lease.check()
            assert after.list_folder("locks") == ["compact.flock", "lease.flock", "readers.lock", "writer_lease.json"]
            states += 1

    life(TracingDisk(memory, crash), new_clock(), granted)
    assert granted == [6, 7, 8]
    assert states > 60 * len(modes)


@pytest.mark.parametrize(("number", "how"), FAULTS)
def test_whichever_call_fails_it_is_said_and_the_next_writer_gets_a_higher_epoch(number: int, how: Any) -> None:
    at = 0
    while True:
        at += 1
        memory, clock, granted = new_disk(), new_clock(), list[int]()
        disk = FailingDisk(memory, Fault(at, number, how))
        said: int | None = None
        try:
            life(disk, clock, granted)
        except OSError as error:
            said = error.errno
        except StoreBusy:
            # The farewell failed in silence, and its process lives.
            assert granted == [6]
        assert said in (None, number)
        assert said is None or disk.fired is not None
        if disk.fired is None:
            break
        # The same disk and process again, as in a daemon; the other one has died.
        lease = take(disk, clock, FakeProcesses(HERE, THERE), floor=5)
        assert lease.epoch > max([5, *granted])
        lease.check()
        assert disk.list_folder("locks") == ["compact.flock", "lease.flock", "readers.lock", "writer_lease.json"]
        lease.fence_owed = False
        lease.release()
    assert at > 60


def test_a_grant_that_failed_half_way_is_not_held_by_anybody_here() -> None:
    disk, clock = FailingDisk(new_disk()), new_clock()
    disk.fault = Fault(11, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        take(disk, clock)
    assert disk.fired == Call("sync_folder", "locks")
    # Its record is there and names this living process, so others must wait.
    assert there(disk).lease_epoch == 1
    with pytest.raises(StoreBusy):
        take(disk, clock, FakeProcesses(THERE))
    lease = take(disk, clock)
    assert (lease.epoch, lease.stolen) == (2, True)


def test_a_disk_without_room_keeps_nothing_of_a_lease_that_it_did_not_grant() -> None:
    failed = []
    for at in range(1, 12):
        disk = FailingDisk(new_disk(), Fault(at, errno.ENOSPC, "short"))
        with contextlib.suppress(OSError):
            take(disk, new_clock())
        if disk.fired is not None and disk.fired.what == "create_bytes":
            failed.append(disk.fired.path)
            assert disk.list_folder("locks") == ["compact.flock", "lease.flock", "readers.lock"]
    assert failed == [GUARD, f"{LEASE}.tmp"]


def test_a_failed_farewell_does_not_spoil_the_run() -> None:
    disk, clock = FailingDisk(new_disk()), new_clock()
    with take(disk, clock):
        disk.fault = Fault(disk.count + 6, errno.ENOSPC)
    assert disk.fired == Call("create_bytes", f"{LEASE}.tmp")
    assert not there(disk).released
    lease = take(disk, clock)
    assert (lease.epoch, lease.stolen) == (2, True)
    lease.fence_owed = False
    disk.fault = Fault(disk.count + 6, errno.ENOSPC)
    with pytest.raises(OSError, match="space"):
        lease.release()


# --- the real disk ----------------------------------------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Disk]:
    with Disk.at(str(tmp_path / "home"), "data/store", create=True) as disk:
        create_store(disk)
        yield disk


def test_on_a_real_disk_a_lease_is_granted_beaten_checked_and_released(real: Disk) -> None:
    clock = new_clock()
    with acquire(
        real, run_id=RUN, kind=RunKind.CREATE, floor_epoch=0, clock=clock, processes=SYSTEM_PROCESSES
    ) as lease:
        clock.advance(TTL / 3)
        lease.beat()
        lease.check()
        assert is_alive(there(real), SYSTEM_PROCESSES)
        with pytest.raises(StoreBusy):
            take(real, clock, FakeProcesses(THERE))
        assert there(real).process == SYSTEM_PROCESSES.me()
        assert real.stat(LEASE).mode & 0o777 == 0o600
    assert not is_alive(there(real), SYSTEM_PROCESSES)
    found = [name for name in real.list_folder("locks") if not is_sighting(name)]
    assert found == ["compact.flock", "lease.flock", "readers.lock", "writer_lease.json"]


@conforms("003.LS5")
@pytest.mark.parametrize("rounds", [10, pytest.param(at_length(10_000), marks=pytest.mark.long)])
def test_of_sixteen_thieves_one_wins(real: Disk, rounds: int) -> None:
    dead = replace(SYSTEM_PROCESSES.me(), started=1)
    start, end = threading.Barrier(17), threading.Barrier(17)
    won: list[Lease] = []
    lost: list[StoreBusy] = []

    def steal(disk: Disk) -> None:
        for _ in range(rounds):
            start.wait(60)
            try:
                won.append(take(disk, SYSTEM_CLOCK, SYSTEM_PROCESSES))
            except StoreBusy as busy:
                lost.append(busy)
            end.wait(60)

    home = str(Path(real.path).parent.parent)
    opened = contextlib.ExitStack()
    disks = [opened.enter_context(Disk.at(home, "data/store")) for _ in range(16)]
    thieves = [threading.Thread(target=steal, args=(disk,), daemon=True) for disk in disks]
    for thief in thieves:
        thief.start()
    for number in range(rounds):
        put(real, encode_lease(replace(RECORD, process=dead, lease_epoch=2 * number + 1)))
        start.wait(60)
        end.wait(60)
        assert [(lease.epoch, lease.stolen) for lease in won] == [(2 * number + 2, True)]
        assert len(lost) == 15
        won[0].check()
        won[0].release()
        won.clear()
        lost.clear()
    for thief in thieves:
        thief.join()
    opened.close()
