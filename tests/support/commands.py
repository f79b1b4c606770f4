"""Somebody with a small repository and a home of their own who types commands."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TextIO, cast

import cairn.cli.main  # noqa: F401 - what a fork need not load again
from cairn import thin
from cairn.sync import pool


class Typed(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    stdout: str
    stderr: str


# Standard output is closed, as by `>&-`.
CLOSED = -1


def typed(
    arguments: Sequence[str],
    folder: str | Path,
    environment: Mapping[str, str],
    out: int | None = None,
    err: int | None = None,
) -> Typed:
    """What `python -m cairn` does there; `out` and `err` are descriptors of its standard streams, or `CLOSED`."""
    done = forked(thin.main, ["-m", "cairn", *arguments], folder, environment, out, err)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def forked(
    act: Callable[[], int],
    python: Sequence[str],
    folder: str | Path,
    environment: Mapping[str, str],
    out: int | None = None,
    err: int | None = None,
) -> Typed:
    """What Python prints there with these arguments, in a process of its own.

    `act` does what they say: called in a fork of this process, it need not load again what is loaded here.
    """
    if "grpc" in sys.modules and out is err is None:
        # Its threads do not survive a fork.
        command = [sys.executable, *python]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return Typed(done.returncode, done.stdout, done.stderr)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        with warnings.catch_warnings():
            # Newer Pythons warn of forks beside the thread that pytest-xdist listens in; it holds no lock of ours.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            written = stdout.fileno() if out is None else out
            noted = stderr.fileno() if err is None else err
            _become(act, [*python[1:]], folder, environment, written, noted)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said = []
        for stream in (stdout, stderr):
            stream.seek(0)
            said.append(stream.read().decode("utf-8", "surrogateescape"))
    return Typed(status, *said)


def _become(
    act: Callable[[], int],
    argv: list[str],
    folder: str | Path,
    environment: Mapping[str, str],
    stdout: int,
    stderr: int,
) -> NoReturn:
    status = 70
    # Kept until the end: one that goes closes its number, which is another file by then.
    _before = sys.stdin, sys.stdout, sys.stderr, pool._SPARES
    gc.freeze()
    try:
        # The first three numbers may be free in a worker of pytest-xdist, so that one of these is among them.
        null = os.open(os.devnull, os.O_RDONLY)
        wanted = (null, *(null if file == CLOSED else file for file in (stdout, stderr)))
        files = [fcntl.fcntl(file, fcntl.F_DUPFD, 3) for file in wanted]
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        _forget_what_ran_before()
        sys.argv = argv
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
            for number, mode, errors in ((0, "r", "strict"), (1, "w", "surrogateescape"), (2, "w", "backslashreplace"))
        )
        if stdout == CLOSED:
            os.close(1)
            sys.stdout = cast("TextIO", None)
        if stderr == CLOSED:
            os.close(2)
            sys.stderr = cast("TextIO", None)
        warnings.resetwarnings()
        status = act()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                # So ends Python where it cannot write what it holds back.
                status = 120
        os._exit(status)


def _forget_what_ran_before() -> None:
    """Let this fork begin as a process does: what earlier tests left in memory is not its own.

    A tracker of resources that was started before has the number of a file that is closed, or another one by now. A
    worker that waits for the next call is a child of somebody else. Modules note things about codebases of other tests.
    """
    resource_tracker._resource_tracker.__init__()  # type: ignore[misc] # there is no other way to forget the first one
    pool._SPARES = pool._Spares()
    for name, module in list(sys.modules.items()):
        if name.startswith("cairn."):
            for notes in notes_of(module).values():
                notes.clear()


def notes_of(module: ModuleType) -> dict[str, dict[Any, Any]]:
    """Return what a module notes while it runs: its private dictionaries that are no constants, by their names."""
    named = vars(module).items()
    return {name: value for name, value in named if type(value) is dict and re.fullmatch("_[a-z][a-z_]*", name)}


class Person:
    """Three files that are indexed, one of each of four kinds that are left out; commands are real processes."""

    def __init__(self, tmp_path: Path) -> None:
        self.tree, self.home = (tmp_path / "tree").resolve(), tmp_path / "home"
        (self.tree / "src").mkdir(parents=True)
        (self.tree / "build").mkdir()
        (self.tree / "src" / "lease.py").write_text("class Lease:\n    def steal(self):\n        return take(self)\n")
        (self.tree / "README.md").write_text("# A lease\n\nOne writer at a time.\n")
        (self.tree / ".gitignore").write_text("build/\n")
        (self.tree / "build" / "out.js").write_text("x")
        (self.tree / "logo.txt").write_bytes(b"\0\1\2")
        (self.tree / ".env").write_text("TOKEN=1\n")
        self.git("init", "-q")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            "CAIRN_HOME": str(self.home),
        }

    def cairn(self, *arguments: str) -> Typed:
        return typed(arguments, self.tree, self.environment)

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=self.tree, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "All of it")

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def damage(self) -> None:
        """Change the last byte of every segment's data."""
        changed = 0
        for data in self.home.glob("data/*/segments/*/data.bin"):
            content = bytearray(data.read_bytes())
            content[-1] ^= 1
            data.chmod(0o600)
            data.write_bytes(content)
            changed += 1
        assert changed
