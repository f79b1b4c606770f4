"""The memory that this process holds, and what is done before it holds too much."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import sys
from collections.abc import Callable
from enum import StrEnum

from cairn.core import tokens
from cairn.core.limits import DAEMON_SHED_SHARE, KIB

# Looks in a row above the ceiling, after caches were shed, before the process makes place for a fresh one.
_MOST_LOOKS_ABOVE = 3
# Indexes come and go with every save. What was freed is given back when what is held has grown by so much since the
# last time, and when it has grown at all after so many looks; while nothing happens it does not grow.
_GROWN, _GROWN_AT_ALL, _LOOKS = 1.25, 1.02, 6
# Threads of a process share so many stores of free memory: with the system's own eight for a core most of it lies idle.
_M_ARENA_MAX, _ARENAS = -8, 2


def own_memory() -> int:
    """Return the bytes that only this process holds and no file backs; 0 where the system does not say."""
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"RssAnon:"):
                    return int(line.split()[1]) * KIB
    except (OSError, ValueError, IndexError):
        pass
    return 0


def open_handles() -> int:
    """Return how many descriptors are open; 0 where the system does not say."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def give_back() -> None:
    """Return freed memory to the system; without this the allocator keeps most of it.

    Caches that are made again in a moment are cleared first: words and patterns that were met once pile up for weeks.
    """
    tokens.forget()
    re.purge()
    if (patterns := sys.modules.get("re2")) is not None:
        # Each keeps what it has learned about texts, which may be megabytes. Only who has searched has loaded it.
        patterns.purge()
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        # Another libc, which has no such call.
        return


def share_arenas() -> None:
    """Let all threads take their memory from few places; for a process that has just begun."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


class Pressure(StrEnum):
    """How near the ceiling is."""

    NONE = "none"
    SHED = "shed"
    FULL = "full"
    LEAVE = "leave"


class Ceiling:
    """The most memory that is held. Caches are shed below it; above it nothing is taken in, then it is time to go."""

    def __init__(
        self,
        most: int,
        shed: Callable[[], None],
        *,
        held: Callable[[], int] = own_memory,
        tidy: Callable[[], None] = give_back,
    ) -> None:
        self.most, self.sheds = most, 0
        self._shed, self._held, self._tidy = shed, held, tidy
        self._above = self._settled = self._looks = 0

    @property
    def is_full(self) -> bool:
        return self._above > 0

    def look(self) -> Pressure:
        """Measure the memory in use, and shed caches when it is much."""
        held = self._held()
        if held < self.most * DAEMON_SHED_SHARE:
            self._above = 0
            self._looks += 1
            if held > self._settled * (_GROWN if self._looks < _LOOKS else _GROWN_AT_ALL):
                self._tidy()
                self._settled, self._looks = self._held(), 0
            return Pressure.NONE
        self.sheds += 1
        self._shed()
        if self._held() < self.most:
            self._above = 0
            return Pressure.SHED
        self._above += 1
        return Pressure.LEAVE if self._above >= _MOST_LOOKS_ABOVE else Pressure.FULL
