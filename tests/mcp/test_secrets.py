"""No secret leaves in an answer to an agent: every tool and resource of the real `cairn mcp`, by the SDK's own client.

The tree holds a secret of each kind wherever an answer quotes text: in signatures, uses, calls, documentation, keys of
data, names that do not exist, the middle of a private key, lines that are cut. The list of tools is the server's own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
import pytest

from cairn.core.secrets import REDACTED
from cairn.mcp.server import resource_at
from mcp import Client, StdioServerParameters
from tests.support.commands import typed
from tests.support.secrets import BASE64, TOKENS, drawn, pieces, private_key
from tests.support.servers import Agent, mcp_command, no_daemon_left
from tests.tools.test_table import PARAMETERS

Call = tuple[str, dict[str, Any]]
RNG = random.Random(20261119)
KEY = private_key(RNG)
TOKEN = TOKENS["github classic"](RNG)
OTHER = TOKENS["stripe live"](RNG)
LATER = TOKENS["gitlab"](RNG)
VALUE = drawn(RNG, BASE64, 44)
PASSWORD = drawn(RNG, "abcdefghkmnpqrstuvwxyzABCDEFGHKLMNPQRSTUVWXYZ23456789", 24)
CANARIES = (TOKEN, OTHER, LATER, VALUE, PASSWORD, *KEY.splitlines()[1:-1])

CODE = f'''"""What opens the bank. Ask with {OTHER} for it."""

API_KEY = "{VALUE}"
LONG = "{"a b " * 200}{TOKEN}{" c d" * 200}"


def unlock(door, token="{TOKEN}"):
    """Open a door with {OTHER}."""
    return take(door, token)


def take(door, token):
    return door.open(token)


def begin():
    return unlock("front", "{TOKEN}")


class Vault:
    password = "{PASSWORD}"

    def key(self):
        return """{KEY}"""
'''
DATA = json.dumps({"client_secret": VALUE, TOKEN: {"value": 1}, "nested": {"password": PASSWORD}}, indent=2)
NOTES = f"# Notes\n\nThe token {TOKEN} opens it, `Authorization: Bearer {VALUE}` too.\n\n## {OTHER}\n\nText.\n"
FILES = {"bank.py": CODE, "data.json": DATA, "notes.md": NOTES}

QUERIES = ("unlock", "API_KEY", "password", "opens the bank", "token", TOKEN, "Bearer", "key")
CALLS: dict[str, list[dict[str, Any]]] = {
    "search_codebase": [
        *({"query": query, "mode": mode} for query in QUERIES for mode in ("hybrid", "lexical", "regex", "symbol")),
        *(
            {"query": query, "mode": "regex"}
            for query in (TOKEN[:12], KEY[100:112], KEY[300:320].strip(), "[A-Za-z0-9+/]{60}")
        ),
        {"query": "a b", "mode": "regex", "debug": True},
        {"query": "bank", "mode": "path"},
    ],
    "explore": [
        *({"about": about} for about in ("unlock", "API_KEY", "Vault", "opens the bank", f"what is {VALUE}", TOKEN)),
        *({"about": "unlock", "mode": mode} for mode in ("tests", "impact")),
        {"about": "begin", "mode": "path", "to": "unlock"},
        {"mode": "changes"},
    ],
    "file_outline": [*({"file": file} for file in FILES), {"file": "bank.py", "symbol": "Vault"}],
    "call_graph": [
        {"symbol": "unlock", "direction": "both", "depth": 3},
        {"symbol": "begin", "minTier": "name_only"},
        {"symbol": TOKEN},
    ],
    "read_file": [
        *({"file": file, "mode": mode} for file in FILES for mode in ("plain", "annotated")),
        *({"file": "bank.py", "startLine": line, "endLine": line + 1} for line in range(20, 40)),
        {"file": TOKEN},
    ],
    "find_symbol": [
        *({"name": name} for name in ("unlock", "API_KEY", "password", "Vault", TOKEN, TOKEN[:14], OTHER)),
        *({"name": name, "references": True} for name in ("unlock", "take", "Vault.password", "API_KEY")),
    ],
    "repo_map": [{}, {"maxTokens": 4_000}, {"query": "unlock", "focus": ["bank.py"]}, {"include": ["**"]}],
    "manage_index": [{"action": "status"}, {"action": "sync"}, {"action": TOKEN}],
    "index_status": [{}],
    "list_codebases": [{}],
    "check_edit": [{"files": ["bank.py"]}, {"files": [TOKEN]}],
}
"""What each tool is asked. A tool that is added to the server needs a line here, and then keeps the rule."""


class Said(NamedTuple):
    """What the server said to one call: all of the text, and the answer in it."""

    asked: str
    text: str
    answer: dict[str, Any]


def leaks(text: str, asked: str) -> list[str]:
    """Every piece of a canary in what was said, but for what the agent itself has asked with."""
    return [piece for canary in CANARIES for piece in sorted(pieces(canary)) if piece in text and piece not in asked]


async def say(client: Client, calls: list[Call]) -> list[Said]:
    found = []
    for tool, arguments in calls:
        result = await client.call_tool(tool, arguments)
        text = result.model_dump_json()
        inner = result.structured_content or json.loads(getattr(result.content[0], "text", "{}"))
        found.append(Said(f"{tool} {json.dumps(arguments)}", text, inner))
    return found


def talk(agent: Agent, work: Callable[[Client], Awaitable[list[Said]]], *options: str) -> list[Said]:
    async def main() -> list[Said]:
        command = mcp_command(agent, *options)
        server = StdioServerParameters(command=command[0], args=command[1:], env=agent.variables())
        async with Client(server) as client:
            return await work(client)

    with no_daemon_left(agent.environ):
        return anyio.run(main)


@pytest.fixture
def bank(agent: Agent) -> Agent:
    """A tree full of secrets, indexed; and a file that nobody has indexed since it was saved."""
    for name, text in FILES.items():
        (agent.tree / name).write_text(text)
    agent.index()
    return agent


def every_call(listed: list[str]) -> list[Call]:
    assert set(listed) <= set(CALLS), "say in CALLS what the new tool is asked"
    return [(tool, arguments) for tool in listed for arguments in CALLS[tool]]


def test_no_tool_is_left_out_of_what_is_asked() -> None:
    assert {*PARAMETERS, "check_edit"} == set(CALLS)


@pytest.mark.parametrize(
    "options",
    [
        ("--offline",),
        pytest.param((), marks=pytest.mark.long),
        pytest.param(("--offline", "--structured"), marks=pytest.mark.long),
    ],
    ids=["alone", "daemon", "shapes"],
)
def test_no_secret_leaves_in_an_answer_of_any_tool_or_resource(bank: Agent, options: tuple[str, ...]) -> None:
    async def work(client: Client) -> list[Said]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        found = await say(client, every_call([*tools, *({"check_edit"} - set(tools))]))
        for one in (await client.list_resources()).resources:
            assert resource_at(str(one.uri)) is not None
            text = (await client.read_resource(one.uri)).model_dump_json()
            found.append(Said(str(one.uri), text, {}))
        return found

    said = talk(bank, work, *options)
    for one in said:
        assert not leaks(one.text, one.asked), (one.asked, leaks(one.text, one.asked)[:3], one.text[:3_000])
    counted = [one for one in said if one.answer.get("redactedLines")]
    assert len(counted) > 20
    assert all(REDACTED in one.text for one in counted)
    assert all("redactedLines" in one.answer for one in said if one.answer and REDACTED in one.text)


def test_the_hit_its_place_and_its_number_stay(bank: Agent) -> None:
    [line] = [number for number, text in enumerate(CODE.split("\n"), 1) if text.startswith("API_KEY")]
    [hit] = bank.ask("search_codebase", query="API_KEY = ", mode="regex")["results"]
    assert hit["path"] == "bank.py"
    assert hit["matchLines"] == [line]
    assert hit["text"].split("\n")[line - hit["startLine"]] == f'API_KEY = "{REDACTED}"'
    [by_value] = bank.ask("search_codebase", query=f"def unlock.*{TOKEN}", mode="regex")["results"]
    assert by_value["matchLines"] == [7]
    read = bank.ask("read_file", file="bank.py", maxTokens=100_000)
    assert read["text"].count("\n") == CODE.rstrip("\n").count("\n")
    assert read["redactedLines"] == sum(REDACTED in one for one in read["text"].split("\n"))
    assert len([one for one in read["text"].split("\n") if one == REDACTED]) == len(KEY.splitlines()) - 2


def test_a_file_that_was_only_saved_is_read_with_the_same_care(bank: Agent) -> None:
    async def work(client: Client) -> list[Said]:
        await client.call_tool("read_file", {"file": "bank.py"})
        (bank.tree / "bank.py").write_text(CODE.replace(TOKEN, LATER))
        (bank.tree / "fresh.py").write_text(f'def fresh(token="{LATER}"):\n    return """{KEY}"""\n')
        calls: list[Call] = [
            ("read_file", {"file": "fresh.py"}),
            ("read_file", {"file": "fresh.py", "startLine": 5, "endLine": 6}),
            ("file_outline", {"file": "fresh.py"}),
            ("find_symbol", {"name": "fresh"}),
            ("find_symbol", {"name": "unlock", "references": True}),
            ("call_graph", {"symbol": "unlock", "direction": "both"}),
            ("repo_map", {}),
            ("search_codebase", {"query": "fresh", "mode": "regex"}),
            ("search_codebase", {"query": "unlock"}),
        ]
        return await say(client, calls)

    said = talk(bank, work, "--offline")
    assert "working_tree" in said[0].text
    for one in said:
        assert one.answer["status"] == "ok", one
        assert one.answer.get("redactedLines"), one.asked
        assert not leaks(one.text, one.asked), (one.asked, one.text[:3_000])


def test_who_asks_at_a_terminal_sees_what_is_there(bank: Agent) -> None:
    for more in ((), ("--json",)):
        done = typed(("search", "API_KEY = ", "--mode", "regex", *more), bank.tree, bank.variables())
        assert VALUE in done.stdout, done
        assert REDACTED not in done.stdout
    done = typed(("read", "bank.py"), bank.tree, bank.variables())
    assert all(line in done.stdout for line in KEY.splitlines())
