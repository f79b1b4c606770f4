"""Stand between Cairn and an indexer: live as long as Cairn does, and leave no process of the indexer behind.

A bare Python runs this file as a program of its own, the leader of a process group. Its standard input is a pipe from
Cairn that nothing is ever written to: the pipe ends when Cairn does, however that happens. On Linux whatever loses its
parent below the keeper becomes a child of the keeper, so that no program gets away by a session or a parent of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

_SET_CHILD_SUBREAPER = 36
# Positions of the fields behind the name of a program; the name may hold any bytes.
_PARENT, _SESSION, _RESIDENT = 1, 3, 21
_PAUSE_SECONDS = 0.01


def family(top: int) -> dict[int, int]:
    """Return the resident pages of a process, of all that descend from it and of its session; none without `/proc`."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    found: set[int] = set()
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    for name in filter(str.isdigit, names):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            # The process has ended meanwhile.
            continue
        if len(fields) > _RESIDENT:
            parents[int(name)], pages[int(name)] = int(fields[_PARENT]), int(fields[_RESIDENT])
            if int(fields[_SESSION]) == top or int(name) == top:
                found.add(int(name))
    added = found
    while added:
        added = {one for one, parent in parents.items() if parent in added} - found
        found |= added
    return {one: pages[one] for one in found}


def end_family(top: int) -> bool:
    """Kill what `family` finds but for the process itself; whether there was anything."""
    left = [one for one in family(top) if one != top]
    for one in left:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)
    return bool(left)


def _adopt() -> None:
    """Become the parent of whatever loses its own below this process, where the system can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _until_orphaned() -> None:
    """Wait until nobody holds the other end of the pipe, then kill all of the family, and this process last."""
    os.read(0, 1)
    while end_family(os.getpid()):
        time.sleep(_PAUSE_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _waited(child: int) -> int:
    """Wait for the end of a child, and reap the others that come and go meanwhile; its status as a shell tells it."""
    while True:
        pid, ended = os.wait()
        if pid == child:
            status = os.waitstatus_to_exitcode(ended)
            return status if status >= 0 else 128 - status


def _end_the_rest() -> None:
    """Kill and reap until no child is left: every process of the indexer is one by then, or is below one."""
    while True:
        end_family(os.getpid())
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_PAUSE_SECONDS)


def main() -> None:
    """Run the command in the arguments and exit with its status; a signal n becomes 128 + n, as in shells."""
    _adopt()
    threading.Thread(target=_until_orphaned, daemon=True).start()
    try:
        child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)  # noqa: S603 - what the table of indexers says
        status = _waited(child.pid)
    except OSError as problem:
        sys.stderr.write(f"{os.strerror(problem.errno or 0)}\n")
        status = 127
    _end_the_rest()
    os._exit(status)


if __name__ == "__main__":
    main()
