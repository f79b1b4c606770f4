"""Every call with which this process can change a disk, counted, and what goes wrong at one of them."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from typing import Any

from tests.support.faults import Faults

CALLS = (
    *("write", "fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "chmod", "fchmod", "fchown"),
    "setxattr",
)
# What a full disk refuses: the others take no room, or free some.
_TAKES_ROOM = frozenset({"write", "mkdir", "open", "setxattr"})


class Writes:
    """Counts calls, and hits at one: `kill` ends the process before it, or after it; `fill` lets the disk be full."""

    def __init__(self, faults: Faults, at: int = 0) -> None:
        self.count, self.at = 0, at
        self._exists = False
        self._hit: Callable[[str, Callable[[], Any]], Any] = lambda _, go: go()
        for name in CALLS:
            faults.around(os, name, self._watched(name))
        faults.around(os, "open", self._opened)

    def kill(self, *, after: bool) -> None:
        """End the process at the call, as SIGKILL does: nothing that follows is run."""

        def hit(_: str, go: Callable[[], Any]) -> Any:
            if self.count != self.at:
                return go()
            try:
                return go() if after else None
            finally:
                os.kill(os.getpid(), signal.SIGKILL)

        self._hit = hit

    def fill(self) -> None:
        """Let nothing that takes room succeed from the call on."""

        def hit(name: str, go: Callable[[], Any]) -> Any:
            if self.count < self.at or name not in _TAKES_ROOM:
                return go()
            if name in ("mkdir", "open") and self._exists:
                # That the name is taken is found out first.
                return go()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        self._hit = hit

    def _watched(self, name: str) -> Callable[..., Any]:
        def call(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
            self.count += 1
            if name in ("mkdir", "open"):
                self._exists = os.access(given[0], os.F_OK, dir_fd=named.get("dir_fd"), follow_symlinks=False)
            return self._hit(name, lambda: real(*given, **named))

        return call

    def _opened(self, real: Callable[..., Any], path: Any, flags: int, *given: Any, **named: Any) -> Any:
        if not flags & os.O_CREAT:
            return real(path, flags, *given, **named)
        return self._watched("open")(real, path, flags, *given, **named)


def in_a_fork(do: Callable[[], None]) -> int:
    """Do it in a fork of this process; how that ended: 0, 1 for an error, or the negative number of a signal."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            do()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
