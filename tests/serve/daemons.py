"""Daemons for tests: one in a thread of this process, one as a process of its own, and a client that says anything."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cairn.cli.commands import run_command
from cairn.config import ServeConfig, cairn_home
from cairn.serve.address import at_socket
from cairn.serve.client import Connection, connect
from cairn.serve.daemon import Daemon
from cairn.serve.frames import encode, hello, receive
from cairn.serve.listening import listening

SECONDS = 20.0
VERSION = "0.1.0"


@contextmanager
def threaded(environ: Mapping[str, str], settings: ServeConfig | None = None, **more: Any) -> Iterator[Daemon]:
    """A daemon that serves while the test runs; its end is waited for."""
    with listening(cairn_home(environ)) as listener:
        # Its memory would be that of this process, which has run many tests.
        daemon = Daemon(environ, settings, **{"render": run_command, "held": lambda: 0, **more})
        thread = threading.Thread(target=daemon.serve, args=(listener,))
        thread.start()
        try:
            yield daemon
        finally:
            daemon.leave("test")
            # Longer than all that its end may take, one bound after the other, on a machine that does much else.
            thread.join(3 * SECONDS)
            assert not thread.is_alive()


@contextmanager
def process(environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon of its own; killed when the test did not end it."""
    found = subprocess.Popen(
        [sys.executable, "-m", "cairn", "daemon", "run"],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        until(lambda: found.poll() is not None or met(environ))
        yield found
    finally:
        found.kill()
        found.communicate()


def met(environ: Mapping[str, str]) -> bool:
    """Whether a daemon answers."""
    connection = connect(cairn_home(environ), environ, "cli")
    if connection is not None:
        connection.close()
    return connection is not None


@contextmanager
def connected(environ: Mapping[str, str], face: str = "mcp") -> Iterator[Connection]:
    connection = connect(cairn_home(environ), environ, face)
    assert connection is not None
    try:
        yield connection
    finally:
        connection.close()


class Raw:
    """A client that sends whatever it likes."""

    def __init__(self, environ: Mapping[str, str], *, greet: bool = True) -> None:
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.wire.settimeout(SECONDS)
        at_socket(cairn_home(environ), self.wire.connect)
        if greet:
            self.say(hello(VERSION, os.getpid(), "cli", environ))
            assert "hello" in self.hear()

    def say(self, message: Mapping[str, Any]) -> None:
        self.wire.sendall(encode(message, 1 << 30))

    def bytes(self, data: bytes) -> None:
        self.wire.sendall(data)

    def hear(self) -> dict[str, Any]:
        message = receive(self.wire)
        assert message is not None, "the connection has ended"
        return message

    def has_ended(self) -> bool:
        try:
            return receive(self.wire) is None
        except ConnectionResetError:
            return True

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.wire.close()


def until(true: Callable[[], object], seconds: float = SECONDS) -> None:
    """Wait until it is true."""
    for _ in range(int(seconds / 0.02)):
        if true():
            return
        select.select([], [], [], 0.02)
    raise AssertionError("it did not come true")


def is_alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def end(pid: int) -> None:
    """Kill a process that a test has started; one that has gone is none to kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    until(lambda: not is_alive(pid))


@contextmanager
def no_daemon_left(environ: Mapping[str, str]) -> Iterator[None]:
    """Whatever daemon is there at the end is ended: by its pid, which it has told."""
    try:
        yield
    finally:
        log = os.path.join(cairn_home(environ), "logs", "daemon.log")
        if os.path.exists(log):
            with open(log, encoding="ascii") as lines:
                pids = {json.loads(line)["pid"] for line in lines}
            for pid in pids - {os.getpid()}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                end(pid)


def daemons_started(environ: Mapping[str, str]) -> list[int]:
    """The pids of all daemons that this home has seen, in their order."""
    with open(os.path.join(cairn_home(environ), "logs", "daemon.log"), encoding="ascii") as lines:
        said = [json.loads(line) for line in lines]
    return [one["pid"] for one in said if (one["event"], one["action"]) == ("daemon", "start")]
