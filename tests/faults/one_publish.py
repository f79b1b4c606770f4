"""Publishes on command, so that a tracer can watch, kill or disturb it: `python -m tests.faults.one_publish`.

Everything is imported once. Then each line on stdin, a home folder, is one run in a process of its own: its pid is
printed, it waits until it is traced, publishes, and how it ended is printed: its status, negative for a signal. So no
run costs a start of Python, and the tracer counts the calls of the publish and no others.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

import tests.store.little as little
from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES
from cairn.errors import CairnError
from cairn.store.disk import Disk
from cairn.store.fs import Fs, store_trouble

STORE = "data/little"
BEFORE = {"kept.txt": b"kept\n", "changed.txt": b"old\n", "gone.txt": b"gone\n"}
AFTER = {"kept.txt": b"kept\n", "changed.txt": b"new\n", "new.txt": b"new here\n"}
# What the tracer answers when a traced run asks for its parent: from then on it misses no call.
TRACED = 1_234_567
_SET_TRACER, _ANYBODY = 0x59616D61, ctypes.c_ulong(-1)


def save(fs: Fs, files: dict[str, bytes]) -> None:
    """One run of a real process at the real time."""
    little.save(fs, files, clock=SYSTEM_CLOCK, processes=SYSTEM_PROCESSES)


def publish(home: str) -> int:
    """The exit status, as a command would give it."""
    try:
        with Disk.at(home, STORE, create=True) as disk:
            save(disk, AFTER)
    except OSError as problem:
        return store_trouble(home, problem).exit_status
    except CairnError as problem:
        return problem.exit_status
    return 0


def let_in(parent: int) -> bool:
    """Wait for the tracer; whether it is there."""
    # On some systems only a parent may trace; this lets anybody of the same user in.
    ctypes.CDLL(None).prctl(_SET_TRACER, _ANYBODY, 0, 0, 0)
    while (asked := os.getppid()) == parent:
        time.sleep(0.0005)
    return asked == TRACED


def main() -> None:
    parent = os.getpid()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(publish(line.removesuffix("\n")) if let_in(parent) else 1)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
