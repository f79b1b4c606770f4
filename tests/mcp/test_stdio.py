"""`cairn mcp` as a real process: what it says on its pipe, and that it goes when its host goes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from cairn.tools.table import TOOLS
from mcp import Client, StdioServerParameters
from tests.mcp.test_server import EVERY, answer, many_files
from tests.support.servers import HELLO, READY, Agent, Mcp, mcp_command
from tests.support.waiting import PATIENCE, until


def server_of(agent: Agent) -> StdioServerParameters:
    call = mcp_command(agent, "--offline")
    return StdioServerParameters(command=call[0], args=call[1:], env=agent.variables())


def is_gone(handle: int, seconds: float = PATIENCE) -> bool:
    """Whether this very process has ended, within the time."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def test_every_tool_answers_over_the_pipe(indexed: Agent) -> None:
    async def main() -> None:
        async with Client(server_of(indexed)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
            for tool, arguments in EVERY:
                found = await answer(client, tool, **arguments)
                assert found["status"] == "ok", (tool, found)

    anyio.run(main)


def test_the_end_of_the_input_ends_the_process_and_nothing_else_was_said(agent: Agent) -> None:
    agent.settings("[search]\nauto_index = false\n")
    with Mcp(agent, "--offline") as server:
        hello = server.said(HELLO)
        assert hello["result"]["serverInfo"]["name"] == "cairn"
        listed = server.said(READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert len(listed["result"]["tools"]) == len(TOOLS)
        out, err = server.process.communicate(timeout=PATIENCE)
        assert server.process.returncode == 0
        assert (out, err) == (b"", b"")
    assert list(agent.home.iterdir()) == [agent.home / "config.toml"], "who only says hello leaves nothing behind"


def test_a_killed_host_leaves_no_process_although_the_pipe_stays_open(agent: Agent) -> None:
    with Mcp(agent, "--offline", hosted=True) as host:
        server = os.pidfd_open(host.pid)
        try:
            assert host.said(HELLO)["id"] == 1
            assert not is_gone(server, 0.0)
            host.process.send_signal(signal.SIGKILL)
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
        with Mcp(agent, "--offline", hosted=True) as host:
            host.said(HELLO)
            create = {"name": "manage_index", "arguments": {"action": "create"}}
            host.send(READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": create})
            while not (workers := descendants(host.pid)):
                assert host.process.poll() is None
            handles = [handle for one in [host.pid, *workers] if (handle := handle_of(one)) is not None]
            if way == "kill the host":
                host.process.send_signal(signal.SIGKILL)
            elif way == "kill the server":
                os.kill(host.pid, signal.SIGKILL)
            else:
                assert host.process.stdin is not None
                host.process.stdin.close()
                host.process.stdin = None
            assert [is_gone(one) for one in handles] == [True] * len(handles)
            for one in handles:
                os.close(one)
        # On a busy machine it is told to ask again.
        until(lambda: agent.ask("manage_index", action="create")["status"] == "ok", lambda: "the next run takes over")
        agent.close()


@pytest.mark.long
def test_ten_servers_of_one_codebase_answer_at_once_and_leave_nothing(indexed: Agent) -> None:
    async def one(number: int) -> None:
        async with Client(server_of(indexed)) as client:
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


def test_a_server_that_cannot_go_on_says_so(agent: Agent, tmp_path: Path) -> None:
    """A client sees no more than the end of the connection: what was the matter stands in its log of stderr."""
    (tmp_path / "lame").mkdir()
    (tmp_path / "lame" / "_ssl.py").write_text("raise ImportError('it cannot be loaded')\n")
    done = subprocess.run(
        mcp_command(agent, "--offline"),
        env=agent.variables() | {"PYTHONPATH": str(tmp_path / "lame")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("cairn: The server cannot go on: ")
