"""When a store was last used: written seldom, read kindly, and no reader ever fails because of it."""

from __future__ import annotations

import pytest

from cairn.core.limits import LAST_USED_SECONDS
from cairn.store.format.layout import LAST_USED
from cairn.store.format.side_files import last_used, touch_used
from cairn.store.fs import remove_file
from cairn.store.repair.verify import check
from tests.conformance import conforms
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.little import save
from tests.support.clock import ManualClock

HOUR_NS = LAST_USED_SECONDS * 1_000_000_000


@conforms("003.SL3")
def test_a_thousand_uses_within_an_hour_write_once() -> None:
    calls: list[Call] = []
    fs, clock = TracingDisk(MemoryDisk(), calls.append), ManualClock()
    for _ in range(1_000):
        touch_used(fs, clock)
        clock.advance(LAST_USED_SECONDS / 1_000)
    assert sum(call.what == "swap" for call in calls) == 1
    # Nothing else was changed either: what is made is what was swapped in.
    assert sum(call.what in {"create", "create_bytes"} for call in calls) == 1
    clock.advance(1)
    touch_used(fs, clock)
    assert sum(call.what == "swap" for call in calls) == 2


def test_what_is_written_is_read_back_to_the_second() -> None:
    fs, clock = MemoryDisk(), ManualClock()
    assert last_used(fs) is None
    touch_used(fs, clock)
    assert last_used(fs) == clock.wall_ns() // 1_000_000_000 * 1_000_000_000
    assert fs.list_folder("") == [LAST_USED]


def test_a_clock_that_was_set_back_is_written_down_as_it_is_now() -> None:
    fs, clock = MemoryDisk(), ManualClock()
    touch_used(fs, clock)
    earlier = ManualClock(clock.wall_ns() - 365 * 24 * HOUR_NS)
    touch_used(fs, earlier)
    assert last_used(fs) == earlier.wall_ns()


@pytest.mark.parametrize(
    "text", [b"", b"yesterday\n", b"\xff\xfe", b"2026-02-31T00:00:00Z\n", b"2026-01-01T00:00:00Z" * 9, b"\n\n"]
)
def test_of_a_file_that_says_nothing_sensible_the_time_of_its_change_counts(text: bytes) -> None:
    fs = MemoryDisk()
    fs.create_bytes(LAST_USED, text)
    assert last_used(fs) == fs.stat(LAST_USED).mtime_ns


def test_a_folder_in_its_place_is_no_reason_to_fail() -> None:
    fs = MemoryDisk()
    fs.make_folder(LAST_USED)
    assert last_used(fs) == fs.stat(LAST_USED).mtime_ns
    touch_used(fs, ManualClock())
    assert fs.list_folder("") == [LAST_USED]


@pytest.mark.parametrize("wall_ns", [1 << 80, -(1 << 80)])
def test_a_clock_that_shows_no_time_at_all_is_no_reason_to_fail(wall_ns: int) -> None:
    fs = MemoryDisk()
    touch_used(fs, ManualClock(wall_ns))
    assert fs.list_folder("") == []


def test_what_a_killed_reader_left_is_cleared_away_by_the_next_writer() -> None:
    class Killed(BaseException):
        pass

    def kill(call: Call) -> None:
        if call.what == "swap":
            raise Killed

    fs, clock = MemoryDisk(), ManualClock()
    save(fs, {"a": b"1\n"}, clock=clock)
    clock.advance(2 * LAST_USED_SECONDS)
    with pytest.raises(Killed):
        touch_used(TracingDisk(fs, kill), clock)
    assert [name for name in fs.list_folder("") if name.endswith(".tmp")] != []
    save(fs, {"a": b"2\n"}, clock=clock)
    assert check(fs) == []


def test_a_use_after_a_publish_waits_for_the_hour_too() -> None:
    fs, clock = MemoryDisk(), ManualClock()
    save(fs, {"a": b"1\n"}, clock=clock)
    before = fs.stat(LAST_USED)
    touch_used(fs, clock)
    assert fs.stat(LAST_USED) == before
    remove_file(fs, LAST_USED)
    touch_used(fs, clock)
    assert last_used(fs) is not None
