"""How a test waits for another thread or process.

A test never judges by the clock on the wall: the machine may be busy with anything else. A wait ends when what is
waited for has happened; it fails after minutes, which only something that hangs takes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Seconds after which whatever is waited for will not come: for joins, events, sockets and the ends of processes.
PATIENCE = 180.0
_POLL_SECONDS = 0.01


def until(condition: Callable[[], T], why: Callable[[], object] = lambda: "it did not come true") -> T:
    """Return what `condition` returns as soon as that is true; after `PATIENCE` seconds fail, and say `why`."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, why()
        time.sleep(_POLL_SECONDS)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def end(pid: int) -> None:
    """Kill a process that a test has started, and wait for its end; one that has gone is none to kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    until(lambda: not is_alive(pid))
