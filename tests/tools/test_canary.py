"""What servers write for people and logs holds nothing that was asked, found or kept secret: a canary in all of it."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from cairn.mcp.http import token_path
from mcp import Client
from tests.conformance import conforms
from tests.mcp.test_http import running
from tests.support.servers import HELLO, READY, Agent, connected, mcp_command, process
from tests.support.waiting import PATIENCE

CANARY = "xyzzy_canary_do_not_log"
# In a query, in a name, in a pattern, as the name of a tool, and where nothing fits.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_codebase", {"query": CANARY}),
    ("search_codebase", {"query": CANARY, "mode": CANARY}),
    ("find_symbol", {"name": CANARY}),
    ("read_file", {"file": f"{CANARY}.py"}),
    ("read_file", {"file": f"missing_{CANARY}"}),
    ("manage_index", {"action": CANARY}),
    ("manage_index", {"action": "reindex"}),
    (CANARY, {CANARY: CANARY}),
]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Somebody whose home holds everything, with a file that tells itself, and one that cannot be parsed."""
    found = Agent(tmp_path / "me")
    found.environ["HOME"] = str(tmp_path / "me")
    (found.tree / f"{CANARY}.py").write_text(f"def {CANARY}():\n    return '{CANARY}'\n")
    (found.tree / "broken.py").write_bytes(b"\xff\xfe" + CANARY.encode("utf-16-le") + b"\0" * 9)
    found.index()
    found.close()
    return found


def silent(texts: Iterable[str | bytes], *secrets: str) -> None:
    for text in texts:
        said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        for secret in secrets:
            assert secret not in said, said


def logs(agent: Agent) -> list[str]:
    folder = agent.home / "logs"
    return [path.read_text() for path in folder.iterdir()] if folder.is_dir() else []


def over_stdio(agent: Agent, *options: str) -> bytes:
    """What a server of one agent says beside its answers."""
    calls = [
        {"jsonrpc": "2.0", "id": 10 + number, "method": "tools/call", "params": {"name": name, "arguments": given}}
        for number, (name, given) in enumerate(CALLS)
    ]
    strange: list[Any] = [{"jsonrpc": "2.0", "id": 99, "method": CANARY}, {CANARY: 1}, CANARY]
    sent = b"".join(json.dumps(one).encode() + b"\n" for one in (HELLO, READY, *strange, *calls))
    with subprocess.Popen(
        mcp_command(agent, *options),
        env=agent.variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(sent + f"{{{CANARY}\n".encode())
        server.stdin.flush()
        waiting = {one["id"] for one in calls}
        while waiting:
            waiting.discard(json.loads(server.stdout.readline()).get("id"))
        server.stdin.close()
        told = server.stderr.read()
        server.wait(PATIENCE)
    return told


@conforms("003.LOG1")
def test_a_server_of_one_agent_writes_nothing_that_was_asked_or_found(agent: Agent, tmp_path: Path) -> None:
    silent([over_stdio(agent, "--offline"), *logs(agent)], CANARY, str(tmp_path))


@pytest.mark.long
def test_a_server_over_http_writes_neither_its_token_nor_what_was_asked(agent: Agent) -> None:
    async def ask(address: str, token: str) -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE) as web,
            Client(streamable_http_client(address, http_client=web)) as client,
        ):
            for name, given in CALLS:
                # One that is not there is no answer, but an error.
                with contextlib.suppress(Exception):
                    await client.call_tool(name, given)
                    answered.append(name)

    answered: list[str] = []
    with running(agent) as server:
        anyio.run(ask, server.address, server.token)
        httpx2.post(server.address, headers={"Authorization": f"Bearer {CANARY}"}, content=CANARY)
        server.process.terminate()
        assert server.process.stderr is not None
        token = Path(token_path(agent.environ)).read_text().strip()
        silent([server.process.stderr.read(), *logs(agent)], CANARY, token)
    assert len(answered) >= len(CALLS) - 1


@pytest.mark.long
def test_a_daemon_writes_nothing_that_was_asked_or_found_nor_where_the_home_is(agent: Agent, tmp_path: Path) -> None:
    served = [str(agent.tree)]
    with process(agent.environ) as daemon:
        with connected(agent.environ) as connection:
            for name, given in CALLS:
                connection.request("tool", {"name": name, "arguments": given, "served": served})
            for argv in (["search", CANARY], ["symbol", CANARY], [CANARY], ["refs", CANARY, f"--{CANARY}"]):
                connection.request("command", {"argv": argv, "cwd": str(agent.tree)})
            (agent.tree / "saved.py").write_text(f"{CANARY} = 1\n")
            connection.request("tool", {"name": CALLS[0][0], "arguments": CALLS[0][1], "served": served})
        told = over_stdio(agent)
        daemon.terminate()
        assert daemon.stdout is not None
        written = logs(agent)
        assert any('"event":"request"' in text for text in written)
        silent([told, daemon.stdout.read(), *written], CANARY, str(tmp_path))
