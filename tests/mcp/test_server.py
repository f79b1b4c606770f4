"""The MCP server as the SDK's own client meets it, in one process: every tool, every gate, progress, cancelling."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

from cairn.ask.workspace import Workspace
from cairn.core.progress import Phase, Progress
from cairn.errors import Cancelled, ConfigError
from cairn.mcp.calls import InThisProcess
from cairn.mcp.server import INSTRUCTIONS, Form, _percent, mcp_server
from cairn.store.publish.lease import RunKind
from cairn.tools.table import TOOLS
from mcp import Client, MCPError
from tests.conformance import conforms
from tests.schemas import validator
from tests.support.servers import Agent
from tests.support.waiting import PATIENCE, until
from tests.tools.test_table import QUESTIONS

T = TypeVar("T")
Answer = dict[str, Any]
Call = tuple[str, dict[str, Any]]

GOLDEN = Path(__file__).parent.parent / "golden" / "mcp"
MODES = ("auto", "legacy")
STATUS: list[Call] = [("index_status", {}), ("manage_index", {"action": "status"})]
EVERY: list[Call] = [*QUESTIONS, *STATUS, ("manage_index", {"action": "sync"}), ("list_codebases", {})]


def served(
    desk: Workspace, work: Callable[[Client], Awaitable[T]], *, mode: str = "auto", structured: bool = False
) -> T:
    """What comes of the work with a client of this desk; the desk is closed after it."""

    async def main() -> T:
        server = mcp_server(InThisProcess(lambda: desk), version="1.2.3", structured=structured, form=Form.JSON)
        async with Client(server, mode=mode) as client:
            return await work(client)

    return anyio.run(main)


def asked(desk: Workspace, calls: list[Call], *, mode: str = "auto", structured: bool = False) -> list[Answer]:
    """The answer to each call; whatever it is, it has the shape that is promised."""

    async def work(client: Client) -> list[Answer]:
        return [await answer(client, tool, structured=structured, **arguments) for tool, arguments in calls]

    return served(desk, work, mode=mode, structured=structured)


async def answer(client: Client, tool: str, *, structured: bool = False, **arguments: Any) -> Answer:
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    text = getattr(content, "text", "")
    assert "\n" not in text
    found = json.loads(text)
    assert result.structured_content == (found if structured else None)
    assert isinstance(found, dict)
    validator(found["schema"]).validate(found)
    assert result.is_error == (found["status"] == "error")
    return found


# --- hello ------------------------------------------------------------------------------------------------------------

_HELLO = """
import anyio, sys
from mcp import Client
from cairn.mcp.calls import InThisProcess
from cairn.mcp.server import mcp_server

HEAVY = {"numpy", "tree_sitter", "cairn.ask.session", "cairn.tools.table", "cairn.ask.workspace"}

def heavy():
    return sorted(HEAVY & set(sys.modules))

def never():
    raise AssertionError("opened before anything was asked")

async def main():
    async with Client(mcp_server(InThisProcess(never), version="1"), mode="legacy") as client:
        assert client.server_info.name == "cairn"
        print("hello", heavy())
        await client.list_tools()
        print("tools", heavy())

anyio.run(main)
"""


def test_hello_is_said_before_anything_heavy_is_imported_or_opened() -> None:
    done = subprocess.run([sys.executable, "-c", _HELLO], capture_output=True, text=True, check=True, timeout=PATIENCE)
    hello, tools = done.stdout.splitlines()
    assert hello == "hello []"
    assert "cairn.tools.table" in tools


def test_the_server_says_who_it_is_and_how_to_begin(agent: Agent) -> None:
    async def work(client: Client) -> None:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("cairn", "1.2.3")
        assert client.instructions == INSTRUCTIONS
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.prompts is not None

    served(agent.desk, work)
    named = set(re.findall(r"\b[a-z]+_[a-z]+\b", INSTRUCTIONS))
    assert named <= {tool.name for tool in TOOLS} | {"not_ready", "not_indexed", "requires_reindex"}


# --- every tool, every gate -------------------------------------------------------------------------------------------


@conforms("000.ENV4")
@pytest.mark.parametrize("mode", MODES)
def test_every_tool_answers_with_its_envelope_as_text(indexed: Agent, mode: str) -> None:
    assert {tool for tool, _ in EVERY} == {tool.name for tool in TOOLS}
    direct = [indexed.ask(tool, **arguments) for tool, arguments in QUESTIONS]
    answers = asked(indexed.desk, EVERY, mode=mode)
    assert [one["status"] for one in answers] == ["ok"] * len(EVERY)
    for ours, theirs in zip(direct, answers, strict=False):
        assert without_moment(ours) == without_moment(theirs)


def without_moment(found: Answer) -> Answer:
    # Whether a run is at work just then is of the moment too: on a busy machine a look at the files takes longer.
    return {key: value for key, value in found.items() if key not in ("freshness", "indexing")}


def test_structured_answers_are_the_same_and_fit_the_schema_that_is_listed(indexed: Agent) -> None:
    async def work(client: Client) -> list[Answer]:
        listed = await client.list_tools()
        assert all(tool.output_schema is not None for tool in listed.tools)
        # The client itself refuses an answer that is not of the schema that was listed.
        return [await answer(client, tool, structured=True, **arguments) for tool, arguments in EVERY]

    direct = [indexed.ask(tool, **arguments) for tool, arguments in QUESTIONS]
    answers = served(indexed.desk, work, structured=True)
    assert [without_moment(one) for one in answers[: len(direct)]] == [without_moment(one) for one in direct]


def golden(name: str, calls: list[Call], answers: list[Answer], agent: Agent) -> None:
    """Compare with the recorded answers; what differs from run to run is written as a word."""
    text = json.dumps(
        [{"call": [tool, arguments], "answer": found} for (tool, arguments), found in zip(calls, answers, strict=True)],
        indent=1,
        sort_keys=True,
    )
    for pattern, word in (
        (re.escape(str(agent.tree)), "<root>"),
        (re.escape(str(agent.home)), "<home>"),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "<time>"),
        (r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "<id>"),
        (r"(?<![0-9a-f])[0-9a-f]{16,64}(?![0-9a-f])", "<hash>"),
        (r'(?<="pid": )\d+', "1"),
        (r'(?<=[bB]ytes": )\d+', "1"),
    ):
        text = re.sub(pattern, word, text)
    text += "\n"
    file = GOLDEN / f"{name}.json"
    if os.environ.get("CAIRN_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), "an answer changed; `just golden` records it when that is meant"


GATED = [*QUESTIONS, *STATUS]


def test_the_gate_of_what_was_never_indexed(agent: Agent) -> None:
    agent.settings("[search]\nauto_index = false\n")
    calls: list[Call] = [*GATED, ("manage_index", {"action": "sync"})]
    answers = asked(agent.desk, calls)
    assert {(one["status"], one["reason"]) for one in answers} == {("not_indexed", "not_indexed")}
    golden("not_indexed", calls, answers, agent)


def test_the_gate_of_what_was_cleared(indexed: Agent) -> None:
    calls: list[Call] = [*GATED, ("manage_index", {"action": "sync"})]
    answers = asked(indexed.desk, [("manage_index", {"action": "clear", "force": True}), *calls])[1:]
    assert {(one["status"], one["reason"]) for one in answers} == {("not_indexed", "not_indexed")}
    golden("cleared", calls, answers, indexed)


def test_the_gate_of_what_is_there_without_its_proof(indexed: Agent) -> None:
    [store] = (indexed.home / "data").iterdir()
    shutil.rmtree(store)
    calls: list[Call] = [*GATED, ("manage_index", {"action": "sync"})]
    answers = asked(indexed.desk, calls)
    assert {(one["status"], one["reason"]) for one in answers} == {("not_indexed", "not_indexed")}
    assert {one["hints"]["staleLocal"]["completionProof"] for one in answers} == {"missing_marker_doc"}
    golden("stale_local", calls, answers, indexed)


def test_the_gate_of_what_is_damaged(indexed: Agent) -> None:
    for path in [*indexed.home.glob("data/*/generations/*"), *indexed.home.glob("data/*/snapshots/*/manifest.json")]:
        path.chmod(0o600)
        path.write_bytes(b"{}")
    calls: list[Call] = [*GATED, ("manage_index", {"action": "sync"})]
    answers = asked(indexed.desk, calls)
    assert {(one["status"], one["reason"]) for one in answers} == {("not_indexed", "not_indexed")}
    assert all(one["message"].startswith("Store corrupt") for one in answers)
    golden("corrupt", calls, answers, indexed)


def test_the_gate_of_what_is_being_indexed(indexed: Agent) -> None:
    calls = [*GATED, ("manage_index", {"action": "create"}), ("manage_index", {"action": "reindex"})]
    with indexed.writing(RunKind.REINDEX):
        answers = asked(indexed.desk, calls)
    assert {(one["status"], one["reason"]) for one in answers} == {("not_ready", "indexing")}
    golden("not_ready", calls, answers, indexed)


def test_the_gate_of_what_was_indexed_with_other_settings(indexed: Agent) -> None:
    indexed.settings("[limits]\nmax_file_bytes = 1000\n")
    calls: list[Call] = [*GATED, ("manage_index", {"action": "sync"})]
    answers = asked(indexed.desk, calls)
    assert {(one["status"], one["reason"]) for one in answers} == {("requires_reindex", "requires_reindex")}
    golden("requires_reindex", calls, answers, indexed)


def test_a_call_that_cannot_be_answered_is_an_error_that_the_agent_can_read(indexed: Agent) -> None:
    calls: list[Call] = [
        ("search_codebase", {}),
        ("search_codebase", {"query": "x", "path": "/etc"}),
        ("read_file", {"file": "../../etc/passwd"}),
        ("no_such_tool", {}),
    ]
    answers = asked(indexed.desk, calls)
    codes = [one["error"]["code"] for one in answers]
    assert codes == ["invalid_request", "root_not_allowed", "path_outside_root", "invalid_request"]


def test_a_desk_that_cannot_be_opened_is_an_error_too() -> None:
    def refused() -> Workspace:
        raise ConfigError(file="config.toml", why="it is broken")

    async def main() -> None:
        async with Client(mcp_server(InThisProcess(refused), version="1", form=Form.JSON)) as client:
            found = await answer(client, "list_codebases")
            assert found["error"]["code"] == ConfigError.code
            assert (await client.list_resources()).resources == []

    anyio.run(main)


# --- progress and cancelling ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "arguments"), [("search_codebase", {"query": "Lease"}), ("manage_index", {"action": "create"})]
)
def test_who_waits_for_a_first_index_is_told_how_far_it_is(
    agent: Agent, tool: str, arguments: dict[str, Any], mode: str
) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async def work(client: Client) -> Answer:
        result = await client.call_tool(tool, arguments, progress_callback=note)
        return dict(json.loads(getattr(result.content[0], "text", "")))

    assert served(agent.desk, work, mode=mode)["status"] == "ok"
    assert told
    done = [one for one, _, _ in told]
    # Each more than the one before: hosts take it for a mistake otherwise.
    assert done == sorted(set(done))
    assert {total for _, total, _ in told} == {100.0}
    assert not any("lease.py" in (message or "") for _, _, message in told)


def test_what_is_told_of_a_run_grows_from_each_step_to_the_next() -> None:
    steps = [Progress(phase, done, 10 if phase is Phase.INDEXING else 0) for phase in Phase for done in range(11)]
    told = list(dict.fromkeys(_percent(step) for step in steps))
    assert told == sorted(told)
    assert told[0] == 0
    assert told[-1] < 100
    assert len(told) == len(Phase) + 10


def many_files(tree: Path) -> None:
    for number in range(400):
        body = "".join(f"def f{number}_{part}(x):\n    return x + {part}\n\n\n" for part in range(30))
        (tree / f"m{number}.py").write_text(body)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_is_cancelled_cancels_its_run_and_keeps_nobody_waiting(agent: Agent, mode: str) -> None:
    many_files(agent.tree)

    async def work(client: Client) -> Answer:
        begun = anyio.Event()

        async def note(*_: object) -> None:
            begun.set()

        async with anyio.create_task_group() as group:

            async def create() -> None:
                await client.call_tool("manage_index", {"action": "create"}, progress_callback=note)
                raise AssertionError("it was answered before it was cancelled")

            group.start_soon(create)
            await begun.wait()
            # Others are answered meanwhile.
            assert (await answer(client, "index_status"))["status"] == "not_ready"
            group.cancel_scope.cancel()
        with anyio.fail_after(PATIENCE):
            while agent.desk.runs.active(str(agent.tree)) is not None:
                await anyio.sleep(0.05)
        run = agent.desk.runs.last(str(agent.tree))
        assert run is not None
        assert isinstance(run.error, Cancelled)
        return await answer(client, "index_status")

    assert served(agent.desk, work, mode=mode)["status"] == "not_indexed"


def test_the_end_of_the_connection_ends_the_runs(agent: Agent) -> None:
    many_files(agent.tree)

    async def work(client: Client) -> None:
        begun = anyio.Event()

        async def note(*_: object) -> None:
            begun.set()

        async with anyio.create_task_group() as group:

            async def search() -> None:
                await client.call_tool("search_codebase", {"query": "x"}, progress_callback=note)

            group.start_soon(search)
            await begun.wait()
            group.cancel_scope.cancel()

    served(agent.desk, work)
    until(lambda: agent.desk.runs.active(str(agent.tree)) is None)
    run = agent.desk.runs.last(str(agent.tree))
    assert run is not None
    assert isinstance(run.error, Cancelled), "it was not simply through"


# --- resources --------------------------------------------------------------------------------------------------------


def test_the_resources_are_the_answers_of_their_tools(indexed: Agent) -> None:
    async def work(client: Client) -> list[Answer]:
        listed = (await client.list_resources()).resources
        assert len(listed) == 2
        assert len((await client.list_resource_templates()).resource_templates) == 2
        found = []
        for resource in listed:
            [content] = (await client.read_resource(str(resource.uri))).contents
            assert content.mime_type == "application/json"
            found.append(dict(json.loads(getattr(content, "text", ""))))
        with pytest.raises(MCPError):
            await client.read_resource("cairn://other/%2Fr")
        [outside] = (await client.read_resource("cairn://map/%2Fetc")).contents
        assert json.loads(getattr(outside, "text", ""))["error"]["code"] == "root_not_allowed"
        return found

    direct = [indexed.ask("index_status"), indexed.ask("repo_map")]
    for ours, theirs in zip(direct, served(indexed.desk, work), strict=True):
        validator(theirs["schema"]).validate(theirs)
        assert ours["schema"] == theirs["schema"]
        assert ours["status"] == theirs["status"] == "ok"
