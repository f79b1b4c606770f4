"""Run one process of an indexer from start to end: watched, below a keeper of its own, never left behind."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import secrets
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cairn.core.clock import Clock
from cairn.core.limits import INDEXER_LOOK_SECONDS, INDEXER_SAID_BYTES, KIB, MAX_SCIP_BYTES, MIB
from cairn.semantic import keeper

# --- memory -----------------------------------------------------------------------------------------------------------


_PAGE = os.sysconf("SC_PAGE_SIZE")


def family_bytes(keeper_pid: int) -> int:
    """Return the resident memory of a keeper and of all processes that it keeps; 0 where the kernel does not say."""
    return sum(keeper.family(keeper_pid).values()) * _PAGE


def machine_bytes() -> int:
    """Return the size of this machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


_NICE = 10
_DYING_SECONDS = 2.0
_READ_BYTES = 64 * KIB
_MOST_WORDS = 300
_MOST_ENVIRON = 2 * MIB
# What every process of a run has in its environment.
_MARK = "CAIRN_INDEXER_RUN"


class ProcessResult(NamedTuple):
    """The exit status of a program (128 plus the number of a signal) and the last bytes that it printed."""

    status: int
    said: bytes

    @property
    def reason(self) -> str:
        """How the program ended and the last printed line that looks like a reason, in one line."""
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.said.decode("utf-8", "replace"))
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if re.search(r"\berror\b|exception|cannot|failed", line, re.IGNORECASE)]
        words = "".join(c if c.isprintable() else "?" for c in (telling or lines or [""])[-1])[:_MOST_WORDS]
        signalled = self.status > 128
        how = f"it was killed by signal {self.status - 128}" if signalled else f"it ended with status {self.status}"
        return f"{how}: {words.rstrip('.')}" if words else how


def run_to_end(
    command: Sequence[str],
    *,
    cwd: str,
    environ: Mapping[str, str],
    look: Callable[[int], None],
    clock: Clock,
    most_said: int = INDEXER_SAID_BYTES,
) -> ProcessResult:
    """Run a program and return how it ended; no process that it started is left, whatever happens here.

    The last `most_said` bytes that it prints are kept. `look` is called several times a second with the number of the
    program's keeper; an exception of `look` ends the program.
    """
    mark = f"{_MARK}={secrets.token_hex(8)}"
    with subprocess.Popen(  # noqa: S603 - a program of the user's, and arguments from the table of indexers
        [sys.executable, "-I", "-S", keeper.__file__, *command],
        cwd=cwd,
        env={**environ, **dict([mark.split("=")])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    ) as child:
        try:
            _restrain(child.pid)
            said = _watch(child, look, clock, most_said)
        finally:
            # Also after a normal end, which the keeper may have missed when somebody has killed it.
            _end(child, mark, clock)
        return ProcessResult(child.wait(), said)


def _watch(child: subprocess.Popen[bytes], look: Callable[[int], None], clock: Clock, most: int) -> bytes:
    """Wait for the end of a program and return the last bytes that it printed."""
    assert child.stdout is not None
    out, said = child.stdout.fileno(), b""
    os.set_blocking(out, False)
    with selectors.DefaultSelector() as selector:
        selector.register(out, selectors.EVENT_READ)
        next_look = clock.monotonic()
        while not _has_ended(child):
            if selector.get_map():
                for _ in selector.select(INDEXER_LOOK_SECONDS):
                    piece = _read(out)
                    said = (said + piece)[-most:]
                    if not piece:
                        selector.unregister(out)
            else:
                # The program has closed its output and is about to end.
                clock.sleep(0.01)
            if clock.monotonic() >= next_look:
                next_look = clock.monotonic() + INDEXER_LOOK_SECONDS
                look(child.pid)
    # The last words of the program are the reason that a user wants to know. No more than this fits into a pipe.
    return (said + _read(out, INDEXER_SAID_BYTES * 64))[-most:]


def _read(out: int, most: int = _READ_BYTES) -> bytes:
    try:
        return os.read(out, most)
    except BlockingIOError:
        return b""


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether a program has ended. It is not reaped here, so its number is not reused meanwhile."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(child: subprocess.Popen[bytes], mark: str, clock: Clock) -> None:
    """Kill all that a keeper keeps, then the keeper, and wait a little for their end; a hanging disk may delay it.

    The keeper goes last: as long as it is there, nobody below it finds another parent. Who has killed it before is
    found by the mark in the environment of what it ran.
    """
    until = clock.monotonic() + _DYING_SECONDS
    while not _has_ended(child) and keeper.end_family(child.pid) and clock.monotonic() < until:
        clock.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    while (left := [*_marked(mark)]) and clock.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        clock.sleep(0.01)


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes with this variable in their environment; those of others cannot be read and are not ours."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in filter(str.isdigit, names):
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
            if mark.encode() in file.read(_MOST_ENVIRON).split(b"\0"):
                yield int(name)


def _restrain(pid: int) -> None:
    """Give a process a low priority, no core dumps, and no files larger than an index that can be read."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, _NICE)
        if sys.platform == "linux":
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (MAX_SCIP_BYTES + 1, MAX_SCIP_BYTES + 1))
