"""Whose index an agent may change, and whose paths it learns: over the pipe, through the daemon, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cairn.ask.allowed import Allowed
from cairn.ask.runs import Action
from cairn.ask.workspace import Workspace
from cairn.tools.table import NAMES, call
from tests.hostile.test_bare import PASSWORD, bare
from tests.mcp.test_http import posted, running
from tests.support.servers import HELLO, LEASE, READY, Agent, Mcp, no_daemon_left

Ask = Callable[..., dict[str, Any]]
# What every tool needs besides the path.
NEEDS: dict[str, dict[str, Any]] = {
    "search_codebase": {"query": "lease"},
    "explore": {"about": "take"},
    "file_outline": {"file": "lease.py"},
    "call_graph": {"symbol": "take"},
    "read_file": {"file": "lease.py"},
    "find_symbol": {"name": "Lease"},
    "repo_map": {},
    "manage_index": {"action": "status"},
    "index_status": {},
    "list_codebases": {},
    "check_edit": {"files": ["lease.py"]},
}


@pytest.fixture
def others(indexed: Agent, parsed_here: None) -> tuple[Path, Path]:
    """Two projects of the same user that are indexed and that nobody serves here."""
    found = []
    for name in ("payroll", "diary"):
        tree = indexed.tree.parent / name
        tree.mkdir()
        (tree / "lease.py").write_text(LEASE)
        desk = Workspace(indexed.environ, Allowed(indexed.environ, [str(tree)]))
        assert call(desk, "manage_index", {"action": "create"}).status == "ok"
        desk.close()
        found.append(tree)
    return found[0], found[1]


def made_up_of(agent: Agent) -> dict[str, bytes]:
    """The sealed files of the index of `payroll`, and which of them is the index."""
    sealed = {"segments", "snapshots", "generations"}
    return {name: data for name, data in agent.kept().items() if "payroll" in name and sealed & {*name.split("/")}}


@contextmanager
def over_pipe(agent: Agent, *options: str) -> Iterator[Ask]:
    with Mcp(agent, *options) as server:
        server.said(HELLO)
        server.send(READY)
        yield server.ask


@contextmanager
def through_daemon(agent: Agent) -> Iterator[Ask]:
    with no_daemon_left(agent.environ), over_pipe(agent) as ask:
        yield ask


@contextmanager
def over_http(agent: Agent) -> Iterator[Ask]:
    with running(agent) as server:
        session = posted(server, json.dumps(HELLO).encode()).session

        def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
            body = json.dumps({**message, "params": {"name": tool, "arguments": arguments}}).encode()
            answer = posted(server, body, {"Mcp-Session-Id": session}).answer
            return dict(json.loads(answer["result"]["content"][0]["text"]))

        yield ask


FACES = {"pipe": lambda agent: over_pipe(agent, "--offline"), "daemon": through_daemon, "http": over_http}


@pytest.mark.parametrize("face", ["pipe", *(pytest.param(one, marks=pytest.mark.long) for one in ("daemon", "http"))])
def test_no_action_changes_an_index_that_is_not_served_before_the_user_lists_it(
    indexed: Agent, others: tuple[Path, Path], face: str
) -> None:
    before = made_up_of(indexed)
    assert before
    with FACES[face](indexed) as ask:
        for action in Action:
            for force in (True, False):
                refused = ask("manage_index", action=action.value, path=str(others[0]), force=force)
                assert refused["error"]["code"] == "root_not_managed", (action, refused)
                assert str(others[1]) not in json.dumps(refused), "no other project is named"
        assert ask("manage_index", action="status", path=str(others[0]))["state"] == "indexed"
        assert ask("find_symbol", path=str(others[0]), name="Lease")["status"] == "ok", "it may still be read"
        assert made_up_of(indexed) == before
        # The settings are read for each call. Without `force` nothing is cleared, served or not.
        indexed.settings(f'[serve]\nmanaged_roots = ["{others[0]}"]\n')
        for path in (str(others[0]), str(indexed.tree)):
            assert ask("manage_index", action="clear", path=path)["error"]["code"] == "invalid_request"
            assert ask("manage_index", action="clear", path=path, force=True)["kind"] == "clear"
        assert ask("manage_index", action="clear", path=str(others[1]), force=True)["status"] == "error"
        assert ask("manage_index", action="status", path=str(others[1]))["state"] == "indexed"


def test_a_folder_that_may_be_asked_about_is_not_one_whose_index_may_be_changed(
    indexed: Agent, others: tuple[Path, Path]
) -> None:
    indexed.settings(f'[serve]\nallowed_roots = ["{others[0]}"]\n')
    for asked in (others[0], others[0] / "lease.py"):
        refused = indexed.ask("manage_index", action="clear", force=True, path=str(asked))
        assert refused["error"]["code"] == "root_not_managed"
    # Neither does a link in a served folder lead to one.
    (indexed.tree / "link").symlink_to(others[1])
    refused = indexed.ask("manage_index", action="clear", force=True, path="link")
    assert refused["error"]["code"] == "root_not_managed"


def test_no_refusal_of_any_tool_names_another_project(indexed: Agent, others: tuple[Path, Path]) -> None:
    """The tools are those of the table: a new one belongs into `NEEDS`."""
    assert set(NEEDS) == NAMES
    allowed = indexed.tree.parent / "journal"
    allowed.mkdir()
    indexed.settings(f'[serve]\nallowed_roots = ["{allowed}"]\n')
    for tool, needed in NEEDS.items():
        if tool == "list_codebases":
            continue
        for path in ("/etc", str(indexed.tree.parent / "nothing"), "..", "\0", "nothing", 7):
            told = json.dumps(indexed.ask(tool, **{**needed, "path": path}))
            assert '"error"' in told, (tool, path)
            assert not any(str(other) in told for other in (*others, allowed)), (tool, path)


def test_an_agent_that_asks_about_a_bare_repository_is_told_what_it_is(indexed: Agent) -> None:
    alone = bare(indexed.tree.parent / "alone.git", "clone")
    indexed.settings(f'[serve]\nmanaged_roots = ["{alone.parent}"]\n')
    with over_pipe(indexed, "--offline") as ask:
        for tool, more in (("search_codebase", {"query": "deploy"}), ("manage_index", {"action": "create"})):
            told = ask(tool, path=str(alone), **more)
            assert told["error"]["code"] == "root_is_bare", told
            assert PASSWORD not in json.dumps(told)
