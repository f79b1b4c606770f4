"""The door to time: real clocks that behave, and text that does not depend on the machine."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.clock import SYSTEM_CLOCK, Clock, SystemClock, rfc3339


def test_the_system_clock_is_a_clock() -> None:
    clock: Clock = SystemClock()
    assert isinstance(SYSTEM_CLOCK, SystemClock)
    before = clock.wall_ns()
    assert abs(before - time.time_ns()) < 60 * 10**9
    first, cpu = clock.monotonic(), clock.cpu()
    clock.sleep(0.01)
    assert clock.monotonic() - first >= 0.009
    # Sleeping is not working.
    assert clock.cpu() - cpu < clock.monotonic() - first


def test_a_wall_time_reads_as_utc_whole_seconds() -> None:
    assert rfc3339(0) == "1970-01-01T00:00:00Z"
    assert rfc3339(1_700_000_000_999_999_999) == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_the_text_of_a_time_does_not_depend_on_the_time_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", zone)
    time.tzset()
    try:
        assert rfc3339(1_700_000_000_000_000_000) == "2023-11-14T22:13:20Z"
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.lists(st.integers(0, 4_000_000_000_000_000_000), min_size=2, max_size=2))
def test_text_order_is_time_order(times: list[int]) -> None:
    first, second = sorted(times)
    assert rfc3339(first) <= rfc3339(second)
