"""`cairn mcp` as a real process: what it says on its pipe, and that it goes when its host goes."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from cairn.serve.tools import TOOLS
from tests.serve.conftest import Agent
from tests.serve.test_mcp import EVERY, answer, many_files

# More than a process needs that is told to go, less than a stuck one would take.
SECONDS = 20.0
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def command(agent: Agent) -> list[str]:
    return [sys.executable, "-m", "cairn", "mcp", "--offline", "--root", str(agent.tree)]


def environment(agent: Agent) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **agent.environ}


@contextmanager
def started(agent: Agent, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The process with a pipe at each end; killed when a test did not see it go."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    process = subprocess.Popen(command(agent), env=environment(agent), **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[bytes], *messages: dict[str, Any]) -> dict[str, Any]:
    """The next message of the process after these."""
    assert process.stdin is not None
    assert process.stdout is not None
    for message in messages:
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    return dict(json.loads(process.stdout.readline()))


def is_gone(handle: int, seconds: float = SECONDS) -> bool:
    """Whether this very process has ended, within the time."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def test_every_tool_answers_over_the_pipe(indexed: Agent) -> None:
    async def main() -> None:
        call = command(indexed)
        server = StdioServerParameters(command=call[0], args=call[1:], env=environment(indexed))
        async with Client(server) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
            for tool, arguments in EVERY:
                found = await answer(client, tool, **arguments)
                assert found["status"] == "ok", (tool, found)

    anyio.run(main)


def test_the_end_of_the_input_ends_the_process_and_nothing_else_was_said(agent: Agent) -> None:
    with started(agent) as process:
        hello = said(process, HELLO)
        assert hello["result"]["serverInfo"]["name"] == "cairn"
        # What is no message is passed over, and the next one is answered.
        assert process.stdin is not None
        process.stdin.write(b"this is no JSON\n[1, 2\n\xff\xfe\n{}\n" + b"[" * 10_000 + b"\n")
        listed = said(process, READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        while listed.get("id") != 2:
            listed = said(process)
        assert len(listed["result"]["tools"]) == len(TOOLS)
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0
        assert (out, err) == (b"", b"")
    assert not agent.home.exists(), "who only says hello leaves nothing behind"


_HOST = """
import subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdin=0, stdout=1, stderr=2)
sys.stderr.write(f"{process.pid}\\n")
sys.stderr.flush()
process.wait()
"""


@contextmanager
def hosted(agent: Agent) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A host that has started the process, and the process's own pid. We hold the other ends of its pipes."""
    host = subprocess.Popen(
        [sys.executable, "-c", _HOST, *command(agent)],
        env=environment(agent),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert host.stderr is not None
        yield host, int(host.stderr.readline())
    finally:
        host.kill()
        host.communicate()


def test_a_killed_host_leaves_no_process_although_the_pipe_stays_open(agent: Agent) -> None:
    with hosted(agent) as (host, pid):
        server = os.pidfd_open(pid)
        try:
            assert said(host, HELLO)["id"] == 1
            assert not is_gone(server, 0.0)
            host.send_signal(signal.SIGKILL)
            # The input has not ended: its other end is in our hands.
            assert is_gone(server)
        finally:
            os.close(server)


def descendants(pid: int) -> list[int]:
    """Those who are there now; git, which a run asks too, may go while we look."""
    found = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def handle_of(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


@pytest.mark.long
@pytest.mark.parametrize("way", ["kill the host", "end the input", "kill the server"])
def test_whatever_ends_a_server_at_work_leaves_none_of_its_workers(way: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        agent = Agent(Path(folder))
        many_files(agent.tree)
        with hosted(agent) as (host, pid):
            said(host, HELLO)
            assert host.stdin is not None
            create = {"name": "manage_index", "arguments": {"action": "create"}}
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": create}
            host.stdin.write(json.dumps(READY).encode() + b"\n" + json.dumps(call).encode() + b"\n")
            host.stdin.flush()
            while not (workers := descendants(pid)):
                assert host.poll() is None
            handles = [handle for one in [pid, *workers] if (handle := handle_of(one)) is not None]
            if way == "kill the host":
                host.send_signal(signal.SIGKILL)
            elif way == "kill the server":
                os.kill(pid, signal.SIGKILL)
            else:
                host.stdin.close()
                host.stdin = None
            assert [is_gone(one) for one in handles] == [True] * len(handles)
            for one in handles:
                os.close(one)
        assert agent.ask("manage_index", action="create")["status"] == "ok", "the next run takes over"
        agent.desk.close()


@pytest.mark.long
def test_ten_servers_of_one_codebase_answer_at_once_and_leave_nothing(indexed: Agent) -> None:
    async def one(number: int) -> None:
        call = command(indexed)
        server = StdioServerParameters(command=call[0], args=call[1:], env=environment(indexed))
        async with Client(server) as client:
            for turn in range(10):
                (indexed.tree / f"n{number}.py").write_text(f"def word{number}_{turn}():\n    return {turn}\n")
                found = await answer(client, "search_codebase", query="Lease", mode="symbol")
                assert found["status"] == "ok"
                assert found["results"]

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(one, number)

    anyio.run(main)
