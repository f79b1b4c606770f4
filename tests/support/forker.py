"""A process of its own that has loaded all that commands load, and forks for every command that tests run.

To start Python and to load Cairn costs ten times what a small command costs. A fork of the process of the tests would
be dear too, for that process is large, and would begin with what earlier tests have left in it: threads of gRPC,
numbers of files, notes about other codebases. The forker stays small, has one thread, and runs no command itself.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import importlib
import os
import pickle
import resource
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

ROOT = Path(__file__).resolve().parents[2]
# Standard output or error is closed, as by `>&-`.
CLOSED = -1
_HEADER = 8
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
# What most codebases of tests are written in. To compile a query costs more than to index a handful of files.
_LANGUAGES = ("python", "markdown")


class Request(NamedTuple):
    """What a fork is to be: Python with these arguments, in a folder, with an environment, a mask and limits."""

    python: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    closed: tuple[int, ...]
    umask: int
    limits: Mapping[int, tuple[int, int]]


class Ended(NamedTuple):
    """How a fork ended, and the CPU seconds of it and of what it has awaited."""

    status: int
    seconds: float


# --- the side of the tests --------------------------------------------------------------------------------------------


class Forker:
    """The forker as the tests see it. Several threads may run commands side by side."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds = 0.0
        """The CPU seconds of all forks that have ended: they are no children of this process."""
        self._wire, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from tests.support.forker import serve; serve({theirs.fileno()})"],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def run(self, python: Sequence[str], folder: str | Path, environment: Mapping[str, str], out: int, err: int) -> int:
        """Return the exit status of Python with these arguments; `out` and `err` are descriptors, or `CLOSED`."""
        closed = tuple(number for number, file in ((1, out), (2, err)) if file == CLOSED)
        limits = {limit: resource.getrlimit(limit) for limit in _LIMITS}
        asked = Request(list(python), os.fspath(folder), dict(environment), closed, file_mask(), limits)
        data = pickle.dumps(asked)
        ours, theirs = socket.socketpair()
        with ours, open(os.devnull, "wb") as null:
            with theirs, self._lock:
                files = [theirs.fileno(), *(null.fileno() if file == CLOSED else file for file in (out, err))]
                socket.send_fds(self._wire, [len(data).to_bytes(_HEADER, "big")], files)
                self._wire.sendall(data)
            data = _received(ours)
        assert data, "the forker has ended: what it said stands in the errors of this test"
        ended = cast("Ended", pickle.loads(data))
        with self._lock:
            self.seconds += ended.seconds
        return ended.status

    def close(self) -> None:
        """End the forker, and wait for its end."""
        self._wire.close()
        self._process.wait()


@cache
def forker() -> Forker:
    """Return the forker of this process of tests; started with the first command, and ended with this process."""
    found = Forker()
    atexit.register(found.close)
    return found


def seconds_of_forks() -> float:
    """Return the CPU seconds of all commands that were run in a fork."""
    return forker().seconds if forker.cache_info().currsize else 0.0


def file_mask() -> int:
    """Return the permissions that new files of this process do not get."""
    # To ask the system for it would be to set it, for all threads.
    for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    raise AssertionError("the system does not say what the mask is")


def _received(wire: socket.socket) -> bytes:
    found = bytearray()
    while data := wire.recv(1 << 16):
        found += data
    return bytes(found)


# --- the side of the forker -------------------------------------------------------------------------------------------


def serve(number: int) -> None:
    """Be the forker, at the other end of the wire with this descriptor."""
    # Ctrl-C reaches every process of a terminal, and the tests end this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _load()
    with socket.socket(fileno=number) as wire:
        _serve(wire)


def _serve(wire: socket.socket) -> None:
    """Fork for every request until nobody can ask any more; say how each fork has ended."""
    waiting: dict[int, socket.socket] = {}
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with selectors.DefaultSelector() as selector:
        selector.register(wire, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if woken in ready:
                os.read(woken, 1 << 10)
                _tell(waiting)
            if wire in ready:
                head, files, _, _ = socket.recv_fds(wire, _HEADER, 3)
                if not head:
                    return
                asked = _read_exactly(wire, int.from_bytes(head, "big"))
                pid = os.fork()
                if not pid:
                    _become(pickle.loads(asked), files[1], files[2])
                waiting[pid] = socket.socket(fileno=files[0])
                for file in files[1:]:
                    os.close(file)


def _tell(waiting: dict[int, socket.socket]) -> None:
    while waiting:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if not pid:
            return
        ended = Ended(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
        with waiting.pop(pid) as answer, contextlib.suppress(BrokenPipeError):
            answer.sendall(pickle.dumps(ended))


def _read_exactly(wire: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size and (data := wire.recv(size - len(found))):
        found += data
    return bytes(found)


def _become(asked: Request, out: int, err: int) -> NoReturn:
    """Be the process that was asked for, and end."""
    status = 70
    # Kept until the end: one that goes closes its number, which is another file by then.
    _before = sys.stdin, sys.stdout, sys.stderr
    try:
        # The first three numbers may be free in this process, so that one of these is among them.
        files = [fcntl.fcntl(file, fcntl.F_DUPFD, 3) for file in (os.open(os.devnull, os.O_RDONLY), out, err)]
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(asked.folder)
        os.umask(asked.umask)
        os.environ.clear()
        os.environ.update(asked.environment)
        sys.argv = list(asked.python[1:])
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
            for number, mode, errors in ((0, "r", "strict"), (1, "w", "surrogateescape"), (2, "w", "backslashreplace"))
        )
        if 1 in asked.closed:
            os.close(1)
            sys.stdout = cast("Any", None)
        if 2 in asked.closed:
            os.close(2)
            sys.stderr = cast("Any", None)
        warnings.resetwarnings()
        for limit, pair in asked.limits.items():
            if resource.getrlimit(limit) != pair:
                resource.setrlimit(limit, pair)
        # See `small_files`: half of a module's bytecode would break all that comes after.
        sys.dont_write_bytecode = asked.limits[resource.RLIMIT_FSIZE][0] != resource.RLIM_INFINITY
        status = _run(asked.python)
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, AttributeError):
                # So ends Python where it cannot write what it holds back.
                status = 120
        os._exit(status)


def _run(python: Sequence[str]) -> int:
    """Do what Python does with `-m cairn …` or with `-c TEXT …`."""
    how, what, *_ = python
    if how == "-c":
        exec(what, {"__name__": "__main__"})
        return 0
    assert (how, what) == ("-m", "cairn"), python
    return cast("int", importlib.import_module("cairn.thin").main())


def _load() -> None:
    """Load what commands load when they need it: every verb, what syncs and merges, the model, some grammars."""
    from cairn.cli.verbs import COMMANDS
    from cairn.core.clock import SYSTEM_CLOCK
    from cairn.core.config import EmbeddingConfig
    from cairn.embedding.choose import Models
    from cairn.syntax.languages import load

    modules = {command.place.partition(":")[0] for command in COMMANDS.values()}
    for module in (*modules, "cairn.cli.main", "cairn.store.tend.compact", "cairn.sync.scoped", "numpy.ma"):
        importlib.import_module(module)
    Models({}, SYSTEM_CLOCK).of(EmbeddingConfig()).embed_query("lease")
    for language in _LANGUAGES:
        load(language)
