"""The clock that the tests share: it moves by what moves it, and by nothing else."""

from __future__ import annotations

import pytest

from cairn.core.clock import SYSTEM_CLOCK, Clock
from tests.support.clock import START_NS, ManualClock


def hands(clock: Clock) -> tuple[int, float, float, float]:
    return clock.wall_ns(), clock.monotonic(), clock.boottime(), clock.cpu()


def test_the_hands_stand_still_until_they_are_moved() -> None:
    clock = ManualClock(5, monotonic=1.0, boottime=2.0, cpu=3.0)
    assert hands(clock) == hands(clock) == (5, 1.0, 2.0, 3.0)


def test_time_that_passes_moves_all_hands_but_that_of_the_cpu() -> None:
    clock = ManualClock()
    clock.advance(2.5)
    assert hands(clock) == (START_NS + 2_500_000_000, 2.5, 2.5, 0.0)


def test_each_hand_can_be_moved_alone() -> None:
    clock = ManualClock(0)
    clock.move(wall=-1.0)
    clock.move(monotonic=2.0)
    clock.move(boottime=3.0)
    clock.move(cpu=4.0)
    assert hands(clock) == (-1_000_000_000, 2.0, 3.0, 4.0)


def test_the_wall_clock_can_be_put_to_a_date_while_the_others_go_on() -> None:
    clock = ManualClock()
    clock.advance(1.0)
    clock.set_wall_ns(7)
    assert hands(clock) == (7, 1.0, 1.0, 0.0)
    clock.advance(1.0)
    assert hands(clock) == (1_000_000_007, 2.0, 2.0, 0.0)


def test_a_sleep_takes_its_time_and_is_remembered_before_anybody_hears_of_it() -> None:
    heard: list[tuple[float, list[float]]] = []
    clock = ManualClock()
    clock.on_sleep = lambda: heard.append((clock.monotonic(), list(clock.slept)))
    clock.sleep(1.5)
    clock.sleep(0.0)
    assert clock.slept == [1.5, 0.0]
    assert heard == [(1.5, [1.5]), (1.5, [1.5, 0.0])]
    assert clock.wall_ns() == START_NS + 1_500_000_000
    with pytest.raises(ValueError, match="less than no time"):
        clock.sleep(-0.1)


def test_where_a_sleep_does_not_pass_the_hands_stay() -> None:
    clock = ManualClock(passes=False)
    clock.sleep(9.0)
    assert clock.slept == [9.0]
    assert hands(clock) == (START_NS, 0.0, 0.0, 0.0)


def test_every_look_may_take_time_and_is_counted() -> None:
    looks: list[None] = []
    clock = ManualClock(0, step=1.0, cpu_step=0.5, on_read=lambda: looks.append(None))
    assert [clock.monotonic(), clock.boottime(), clock.monotonic()] == [1.0, 2.0, 3.0]
    assert clock.wall_ns() == 4_000_000_000
    assert [clock.cpu(), clock.cpu()] == [0.5, 1.0]
    assert clock.reads == {"monotonic": 2, "boottime": 1, "wall": 1, "cpu": 2}
    assert len(looks) == 6


def test_over_the_system_clock_real_time_passes_besides() -> None:
    clock = ManualClock.over_system(1_000.0)
    for real, ours in (
        (SYSTEM_CLOCK.monotonic, clock.monotonic),
        (SYSTEM_CLOCK.boottime, clock.boottime),
        (lambda: SYSTEM_CLOCK.wall_ns() / 1e9, lambda: clock.wall_ns() / 1e9),
    ):
        before, seen, after = real(), ours(), real()
        assert before - 0.001 <= seen - 1_000.0 <= after + 0.001
    before, seen, after = SYSTEM_CLOCK.cpu(), clock.cpu(), SYSTEM_CLOCK.cpu()
    assert before <= seen <= after


def test_over_the_system_clock_a_sleep_is_not_slept_but_has_passed() -> None:
    clock = ManualClock.over_system()
    before = clock.monotonic()
    clock.sleep(100_000.0)
    assert clock.monotonic() - before >= 100_000.0
    assert clock.slept == [100_000.0]


def test_over_the_system_clock_the_wall_clock_can_be_put_to_a_date() -> None:
    clock = ManualClock.over_system()
    clock.set_wall_ns(0)
    assert 0 <= clock.wall_ns() < 3_600 * 1_000_000_000
