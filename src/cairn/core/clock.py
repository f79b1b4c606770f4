"""The two doors to time and to other processes.

Everything that asks what time it is, or whether a process still lives, takes one of these as a parameter, so a test
can make two hours pass in one line. Nothing else in the package may call `time.time` and its kin.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_MOST_PID = (1 << 31) - 1
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Clock(Protocol):
    """Wall time for people and stat comparisons, monotonic time for waiting, CPU time for budgets.

    Boot time is monotonic time that goes on while the machine sleeps. The origin names the monotonic clock: two
    readings can be compared when their clocks have the same origin. It is empty where that is not known.
    """

    def wall_ns(self) -> int: ...

    def monotonic(self) -> float: ...

    def boottime(self) -> float: ...

    def cpu(self) -> float: ...

    def origin(self) -> str: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clocks."""

    def wall_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        return time.clock_gettime(_BOOTTIME)

    def cpu(self) -> float:
        return time.process_time()

    def origin(self) -> str:
        boot = _first_line(_BOOT_ID)
        # A time namespace has an offset of its own, and its number is given to another one after it has ended.
        offsets = " ".join(_first_line("/proc/self/timens_offsets").split())
        return f"{boot} {_namespace('time')} {offsets}" if boot else ""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


def rfc3339(wall_ns: int) -> str:
    """Return a wall time as the text that every envelope and manifest uses: UTC, whole seconds, trailing Z."""
    return datetime.fromtimestamp(wall_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def wall_seconds(text: str) -> int:
    """Return the wall time, in seconds, of a text that `rfc3339` wrote."""
    return int(datetime.fromisoformat(text).timestamp())


# --- other processes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, told apart from all others on this machine or another; zero or no text where it is not known.

    A bare pid is soon given to somebody else, and means another process in another container.
    """

    pid: int
    started: int
    boot_id: str
    namespace: int
    hostname: str

    @property
    def is_known(self) -> bool:
        """Whether no other process can have the same id."""
        return bool(self.pid > 0 and self.started and self.boot_id and self.namespace)


class Processes(Protocol):
    """Who we are, and whether another process has ended."""

    def me(self) -> ProcessId: ...

    def is_gone(self, process: ProcessId) -> bool:
        """Whether this process has provably ended; what cannot be known counts as alive."""

    def is_running(self, process: ProcessId) -> bool:
        """Whether this process provably goes on, stopped or not; what cannot be known does not count."""


class SystemProcesses:
    """The processes of this machine, as the kernel shows them."""

    def me(self) -> ProcessId:
        pid = os.getpid()
        stat = _stat_fields("self")
        # Another container's /proc shows its numbers, not ours.
        ours = stat[:1] == [str(pid)]
        return ProcessId(
            pid=pid,
            started=int(stat[21]) if ours else 0,
            boot_id=_first_line(_BOOT_ID),
            namespace=_namespace("pid") if ours else 0,
            hostname=os.fsencode(os.uname().nodename).decode("ascii", "backslashreplace"),
        )

    def is_gone(self, process: ProcessId) -> bool:
        return self._ended(process) is True

    def is_running(self, process: ProcessId) -> bool:
        return self._ended(process) is False

    def _ended(self, process: ProcessId) -> bool | None:
        """Whether this process has ended; None when that cannot be known from here."""
        me = self.me()
        if not (process.boot_id and me.boot_id):
            return None
        if process.boot_id != me.boot_id:
            return True if process.hostname == me.hostname != "" else None
        if not 0 < process.pid <= _MOST_PID or not me.namespace or process.namespace != me.namespace:
            return None
        # /proc may hide the processes of other users, so only this says that there is none.
        try:
            os.kill(process.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        stat = _stat_fields(str(process.pid))
        if not stat:
            return None
        # Killed, its last thread ended, and nobody has asked for its exit status yet: in a container perhaps never.
        if stat[2] in ("Z", "X") and int(stat[19]) <= 1:
            return True
        if not process.started:
            return None
        return int(stat[21]) != process.started


SYSTEM_PROCESSES = SystemProcesses()


def _stat_fields(process: str) -> list[str]:
    """Return what the kernel says of a process, numbered from 0; empty when the kernel does not say."""
    line = _first_line(f"/proc/{process}/stat")
    # The name stands in brackets and may hold blanks and brackets itself.
    before, _, after = line.rpartition(")")
    pid, _, name = before.partition(" (")
    fields = [pid, name, *after.split()]
    return fields if len(fields) > 21 else []


def _namespace(kind: str) -> int:
    """Return the number of the namespace that this process is in; 0 when the kernel does not say."""
    try:
        return os.stat(f"/proc/self/ns/{kind}").st_ino
    except OSError:
        return 0


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return ""
