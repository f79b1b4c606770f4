"""Everything that serves, set up for a test: a desk, a daemon in a thread or as a process, `cairn mcp`, and who asks.

Each has a home of its own and is awaited at its end: nothing still writes when the next test begins.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cairn.ask.allowed import Allowed
from cairn.ask.runs import Patience
from cairn.ask.workspace import Workspace
from cairn.cli.commands import run_command
from cairn.core.clock import SystemClock
from cairn.core.config import ServeConfig, cairn_home
from cairn.daemon.address import at_socket
from cairn.daemon.client import Connection, connect
from cairn.daemon.frames import encode, hello, receive
from cairn.daemon.listening import listening
from cairn.daemon.process import Daemon
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.sync.codebase import open_codebase, place_of
from cairn.tools.table import call
from tests.schemas import check
from tests.support.waiting import PATIENCE, end, until
from tests.sync.desk import extract_here

VERSION = "0.1.0"
LEASE = "class Lease:\n    def steal(self):\n        return take()\n\n\ndef take():\n    return 1\n"
AT_ONCE = Patience(seconds=0.0, sync_seconds=0.0)
PATIENT = Patience(seconds=PATIENCE, sync_seconds=PATIENCE)


# --- an agent and its desk --------------------------------------------------------------------------------------------


class Agent:
    """Somebody who calls tools of one desk, over a tree of one file."""

    def __init__(self, folder: Path) -> None:
        self.home, self.tree = folder / "home", (folder / "tree").resolve()
        self.environ = {"CAIRN_HOME": str(self.home), "HOME": str(folder / "me")}
        self.tree.mkdir(parents=True)
        (self.tree / "lease.py").write_text(LEASE)
        self.desk = self._opened()

    def ask(self, tool: str, *, patience: Patience | None = None, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool; whatever it is, it has the shape that is promised."""
        envelope = call(self.desk, tool, arguments, patience=patience)
        answer: dict[str, Any] = json.loads(envelope.to_json())
        check(answer, envelope.schema)
        return answer

    def index(self, tree: Path | None = None) -> None:
        answer = self.ask("manage_index", patience=PATIENT, action="create", path=str(tree or self.tree))
        assert answer["status"] == "ok", answer

    def settings(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        self.home.chmod(0o700)
        (self.home / "config.toml").write_text(text)

    def variables(self) -> dict[str, str]:
        """The environment of a process that this agent starts."""
        return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **self.environ}

    @contextmanager
    def writing(self, kind: RunKind, tree: Path | None = None) -> Iterator[None]:
        """Another run holds the lease meanwhile."""
        place = place_of(open_codebase(str(tree or self.tree), self.environ), str(self.home))
        with place.make_disk() as disk, open_writer(disk, "here", kind, rebuild=True):
            yield

    def stored(self) -> dict[str, bytes]:
        """Every file of the home, but the note that a store was used."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and path.name != "last_used"
        }

    def kept(self) -> dict[str, bytes]:
        """What makes up the indexes. A sync that finds nothing to do notes when it looked, and who held the lease."""
        noted = ("tree.bin", "writer_lease.json", "registry.db", "registry.db-wal", "registry.db-shm", "progress.json")
        return {name: data for name, data in self.stored().items() if name.rpartition("/")[2] not in noted}

    def reopened(self) -> None:
        """As another process would find it: nothing is remembered of what was asked before."""
        self.close()
        self.desk = self._opened()

    def _opened(self) -> Workspace:
        return Workspace(self.environ, Allowed(self.environ, [str(self.tree)]))

    def close(self) -> None:
        """Close the desk, and wait for the end of every run in it: a desk that closes waits for seconds only."""
        self.desk.close()
        until(lambda: not self.desk.runs._active, lambda: self.desk.runs._active)


def indexed_agent(folder: Path) -> Agent:
    """An agent whose tree is indexed. Its file was parsed in this process: a worker takes longer than all else."""
    found = Agent(folder)
    with pytest.MonkeyPatch.context() as patching:
        extract_here(patching, SystemClock())
        found.index()
    found.reopened()
    return found


# --- daemons ----------------------------------------------------------------------------------------------------------


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
            thread.join(PATIENCE)
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


@contextmanager
def daemon_home(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody whose home is in this folder; daemons that are started there are ended with it."""
    environ = {"CAIRN_HOME": str(folder / "home"), "HOME": str(folder), "PATH": os.environ["PATH"]}
    with no_daemon_left(environ):
        yield environ


@contextmanager
def no_daemon_left(environ: Mapping[str, str]) -> Iterator[None]:
    """Whatever daemon of this home is there at the end is ended and awaited, one that has only begun to start too."""
    try:
        yield
    finally:
        for pid in _daemons_of(cairn_home(environ)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            end(pid)


def _daemons_of(home: str) -> list[int]:
    """The processes of `cairn daemon run` that were given this home."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                is_daemon = b"\0daemon\0run\0" in (folder / "cmdline").read_bytes()
                if is_daemon and f"CAIRN_HOME={home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def daemons_started(environ: Mapping[str, str]) -> list[int]:
    """The pids of all daemons that this home has seen, in their order."""
    with open(os.path.join(cairn_home(environ), "logs", "daemon.log"), encoding="ascii") as lines:
        said = [json.loads(line) for line in lines]
    return [one["pid"] for one in said if (one["event"], one["action"]) == ("daemon", "start")]


# --- clients of a daemon ----------------------------------------------------------------------------------------------


def met(environ: Mapping[str, str]) -> bool:
    """Whether a daemon answers."""
    connection = connect(cairn_home(environ), environ, "cli")
    if connection is not None:
        connection.close()
    return connection is not None


@contextmanager
def connected(environ: Mapping[str, str], face: str = "mcp") -> Iterator[Connection]:
    connection = connect(cairn_home(environ), environ, face, seconds=PATIENCE)
    assert connection is not None
    try:
        yield connection
    finally:
        connection.close()


class Raw:
    """A client that sends whatever it likes."""

    def __init__(self, environ: Mapping[str, str], *, greet: bool = True) -> None:
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.wire.settimeout(PATIENCE)
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


# --- `cairn mcp` over its pipes ---------------------------------------------------------------------------------------

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
_HOST = """
import subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdin=0, stdout=1)
sys.stderr.write(f"{process.pid}\\n")
sys.stderr.flush()
process.wait()
"""


def mcp_command(agent: Agent, *options: str, rooted: bool = True) -> list[str]:
    """`cairn mcp` for the tree of an agent, which answers with envelopes unless the options say otherwise.

    Not `rooted`, it serves the folder that it is started in.
    """
    root = ["--root", str(agent.tree)] if rooted else []
    return [sys.executable, "-m", "cairn", "mcp", "--format", "json", *options, *root]


class Mcp:
    """A process of `cairn mcp` whose pipes we hold: started by us, or by a host that can be killed by itself.

    `before` is a program that becomes it, such as `setpriv` with its options.
    """

    def __init__(
        self, agent: Agent, *options: str, hosted: bool = False, rooted: bool = True, before: Sequence[str] = ()
    ) -> None:
        host = [sys.executable, "-c", _HOST] if hosted else [*before]
        self.process = subprocess.Popen(
            [*host, *mcp_command(agent, *options, rooted=rooted)],
            env=agent.variables(),
            cwd=None if rooted else agent.tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stderr is not None
        self.pid = int(self.process.stderr.readline()) if hosted else self.process.pid
        self.number = 1
        self.codes: set[str] = set()

    def send(self, *messages: Mapping[str, Any]) -> None:
        """Send messages without a look at what comes back."""
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def said(self, *messages: Mapping[str, Any]) -> dict[str, Any]:
        """The next message of the process after these."""
        assert self.process.stdout is not None
        self.send(*messages)
        return dict(json.loads(self.process.stdout.readline()))

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The envelope of a tool's answer; `codes` keeps those of errors."""
        [text] = self.parts(tool, **arguments)
        envelope: dict[str, Any] = json.loads(text)
        if envelope["status"] == "error":
            self.codes.add(envelope["error"]["code"])
        return envelope

    def parts(self, tool: str, **arguments: Any) -> list[str]:
        """The texts of a tool's answer."""
        self.number += 1
        params = {"name": tool, "arguments": arguments}
        reply = self.said({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params})
        while reply.get("id") != self.number:
            reply = self.said()
        return [part["text"] for part in reply["result"]["content"]]

    def __enter__(self) -> Mcp:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        end(self.pid)
        self.process.communicate()
