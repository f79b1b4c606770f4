"""Runs of `one_publish` and `one_command` under strace: the calls they make, and what a hit at one of them does."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.one_publish import TRACED

# All that can change a disk. Which of them a libc really makes differs: what is never made is never counted.
WRITING = (
    "?write,?pwrite64,?writev,?fsync,?fdatasync,?ftruncate,?rename,?renameat,?renameat2,?link,?linkat,?unlink,"
    "?unlinkat,?rmdir,?mkdir,?mkdirat,?chmod,?fchmod,?fchmodat,?fchmodat2,?open,?openat"
)
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$", re.MULTILINE)


class Point(NamedTuple):
    """The k-th call of a kind, counted from 1, and what it was about."""

    call: str
    number: int
    about: str

    def __str__(self) -> str:
        return f"{self.call}-{self.number}"


class Traced(NamedTuple):
    """How a run ended, and the calls it made; the one that was hit is the last of its kind."""

    status: int
    log: str

    @property
    def claimed(self) -> bool:
        """Whether it got so far as to win its number; the name that is given to try out the disk is none."""
        return re.search(r"^\d+ +link(at)?\((?!.*\"try\.claim\").*= 0$", self.log, re.MULTILINE) is not None

    @property
    def points(self) -> list[Point]:
        """Every call that can change a disk, in order; opening counts when it can create.

        Of the many writes of one file only the first, the second and the last: between them nothing else differs.
        """
        counted: dict[str, int] = {}
        points = []
        for call, about in _CALL.findall(self.log):
            counted[call] = counted.get(call, 0) + 1
            if call != "getppid" and (not call.startswith("open") or "O_CREAT" in about):
                points.append(Point(call, counted[call], about))
        at = range(len(points))
        return [points[i] for i in at if not (i > 1 and _same_file(points[i - 2 : i + 2]))]


def _same_file(points: list[Point]) -> bool:
    """Whether these are four writes, one after the other, of one file."""
    files = {(point.call, point.about.partition(",")[0]) for point in points}
    return len(points) == 4 and len(files) == 1 and points[0].call == "write"


class Stage(AbstractContextManager["Stage"]):
    """A process that runs something on command, and the tracer that is put on each run."""

    def __init__(self, module: str = "tests.faults.one_publish") -> None:
        self._module = module

    def __enter__(self) -> Stage:
        self._server = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        return self

    def __exit__(self, *_: object) -> None:
        with self._server as server:
            assert server.stdin is not None
            server.stdin.close()

    def run(self, home: Path, *injections: str) -> Traced:
        """One publish into the store below this home. Skips the test where nothing can be traced."""
        return self.trace(str(home), home.with_name(home.name + ".strace"), *injections)

    def do(self, order: str) -> int:
        """One run that nobody watches; its status."""
        self._start(order)
        return self._ended()

    def _start(self, order: str) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{order}\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def _ended(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())

    def trace(self, order: str, log: Path, *injections: str, options: tuple[str, ...] = ("-f",)) -> Traced:
        """One run of anything. Skips the test where nothing can be traced."""
        pid = self._start(order)
        faults = [option for injection in injections for option in ("-e", f"inject={injection}")]
        watched = f"trace=getppid,{WRITING}"
        begin = f"inject=getppid:retval={TRACED}"
        command = ["strace", *options, "-qq", "-s", "64", "-o", str(log), "-p", str(pid), "-e", watched, "-e", begin]
        traced = subprocess.run([*command, *faults], capture_output=True, text=True, check=False)
        if traced.returncode:
            os.kill(pid, signal.SIGKILL)
            self._ended()
            pytest.skip(f"no process can be traced here: {traced.stderr.strip()}")
        return Traced(self._ended(), log.read_text(errors="replace"))


def require_strace() -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed, so no call of a real process can be hit")
