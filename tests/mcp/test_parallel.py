"""However many calls come at once, all are answered: those of one real client, and those of ten beside one another."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from mcp import Client, StdioServerParameters
from tests.mcp.test_server import answer
from tests.support.servers import Agent, mcp_command, no_daemon_left, threaded

# One call of each kind of work: a name, a pattern, a ranking, a graph, a map, a state.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find_symbol", {"name": "Lease"}),
    ("search_codebase", {"query": "class Lease", "mode": "regex"}),
    ("search_codebase", {"query": "steal"}),
    ("call_graph", {"symbol": "take"}),
    ("file_outline", {"file": "lease.py"}),
    ("index_status", {}),
)


def ask_at_once(agent: Agent, *options: str, clients: int, calls: int) -> list[dict[str, Any]]:
    """The answers of so many real clients that each send so many calls without waiting for one."""
    command = mcp_command(agent, *options)
    server = StdioServerParameters(command=command[0], args=command[1:], env=agent.variables())
    answers: list[dict[str, Any]] = []

    async def call(client: Client, number: int) -> None:
        tool, arguments = CALLS[number % len(CALLS)]
        answers.append(await answer(client, tool, **arguments))

    async def main() -> None:
        async with AsyncExitStack() as stack:
            met = [await stack.enter_async_context(Client(server)) for _ in range(clients)]
            async with anyio.create_task_group() as group:
                for client in met:
                    for number in range(calls):
                        group.start_soon(call, client, number)

    anyio.run(main)
    return answers


def check_all_answered(answers: list[dict[str, Any]], count: int) -> None:
    assert len(answers) == count
    assert {one["status"] for one in answers} == {"ok"}, [one for one in answers if one["status"] != "ok"][:3]


def test_all_calls_of_a_client_are_answered_by_a_daemon(indexed: Agent) -> None:
    with threaded(indexed.environ) as daemon:
        check_all_answered(ask_at_once(indexed, clients=1, calls=20), 20)
        assert daemon.report().refused == 0


@pytest.mark.long
@pytest.mark.parametrize("options", [("--offline",), ()], ids=["alone", "with a daemon"])
def test_fifty_calls_of_a_client_at_once_are_all_answered(indexed: Agent, options: tuple[str, ...]) -> None:
    with no_daemon_left(indexed.environ):
        check_all_answered(ask_at_once(indexed, *options, clients=1, calls=50), 50)


@pytest.mark.long
@pytest.mark.parametrize("options", [("--offline",), ()], ids=["alone", "with a daemon"])
def test_two_hundred_calls_of_ten_clients_at_once_are_all_answered(indexed: Agent, options: tuple[str, ...]) -> None:
    with no_daemon_left(indexed.environ):
        check_all_answered(ask_at_once(indexed, *options, clients=10, calls=20), 200)
