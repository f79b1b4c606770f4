"""The two doors to time and to other processes.

Everything that asks what time it is, or whether a process still lives, takes one of these as a parameter, so a test
can make two hours pass in one line. Nothing else in the package may call `time.time` and its kin.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for people and stat comparisons, monotonic time for waiting, CPU time for budgets."""

    def wall_ns(self) -> int: ...

    def monotonic(self) -> float: ...

    def cpu(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clocks."""

    def wall_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return time.monotonic()

    def cpu(self) -> float:
        return time.process_time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


def rfc3339(wall_ns: int) -> str:
    """A wall time as the text every envelope and manifest uses: UTC, whole seconds, trailing Z."""
    return datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
