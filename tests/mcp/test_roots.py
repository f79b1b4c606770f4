"""A server that was told no folder serves those that its client works in, and follows when they change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cairn.mcp.server import folder_of
from tests.mcp.test_text import kept
from tests.support.servers import HELLO, READY, Mcp

FOLLOWED: dict[str, Any] = json.loads(json.dumps(HELLO))
FOLLOWED["params"]["capabilities"] = {"roots": {"listChanged": True}}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}


def call(server: Mcp, number: int, roots: list[Path] | None, **arguments: Any) -> dict[str, Any]:
    """The answer to a search; the server is told these roots when it asks for them."""
    params = {"name": "search_codebase", "arguments": arguments}
    reply = server.said({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    while reply.get("id") != number or "method" in reply:
        if reply.get("method") == "roots/list":
            assert roots is not None, "it was asked once"
            listed = [{"uri": root.as_uri()} for root in roots]
            server.send({"jsonrpc": "2.0", "id": reply["id"], "result": {"roots": listed}})
        reply = server.said()
    found: dict[str, Any] = json.loads(reply["result"]["content"][0]["text"])
    return found


def test_a_server_started_in_a_home_serves_the_folders_of_its_client_and_follows_them(tmp_path: Path) -> None:
    agent = kept(tmp_path, {"till.py": "def settle():\n    return 1\n"})
    other = tmp_path / "other project"
    other.mkdir()
    (other / "far.py").write_text("def away():\n    return 2\n")
    code, agent.tree = agent.tree, Path(agent.variables()["HOME"])
    agent.tree.mkdir(exist_ok=True)
    with Mcp(agent, "--offline", "--format", "json", rooted=False) as server:
        server.said(FOLLOWED)
        server.send(READY)
        found = call(server, 2, [code], query="settle", mode="symbol")
        assert (found["codebaseRoot"], found["results"][0]["path"]) == (str(code), "till.py")
        # Nobody asks again before something has changed.
        assert call(server, 3, None, query="settle", mode="symbol")["codebaseRoot"] == str(code)
        server.send(CHANGED)
        found = call(server, 4, [other], query="away", mode="symbol")
        assert (found["codebaseRoot"], [row["path"] for row in found.get("results", [])]) == (str(other), ["far.py"]), (
            found
        )


def test_a_server_started_in_a_home_says_what_to_do_and_names_no_other_project(tmp_path: Path) -> None:
    agent = kept(tmp_path, {"till.py": "def settle():\n    return 1\n"})
    code, agent.tree = agent.tree, Path(agent.variables()["HOME"])
    agent.tree.mkdir(exist_ok=True)
    with Mcp(agent, "--offline", "--format", "json", rooted=False) as server:
        server.said(HELLO)
        server.send(READY)
        found = call(server, 2, None, query="settle")
    assert found["error"]["code"] == "root_not_allowed"
    assert "cairn mcp --root FOLDER" in found["error"]["message"]
    assert str(code) not in json.dumps(found)


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///srv/a%20b", "/srv/a b"),
        ("file://localhost/srv", "/srv"),
        ("file://elsewhere/srv", None),
        ("https://example.org/srv", None),
        ("file:srv", None),
    ],
)
def test_a_folder_is_read_from_its_address(uri: str, folder: str | None) -> None:
    assert folder_of(uri) == folder
