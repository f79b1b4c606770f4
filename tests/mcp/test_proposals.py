"""To an agent the index from before answers while a repository proposes another, and nothing is built unasked."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.ask import runs as runs_module
from cairn.ask.allowed import Allowed
from cairn.ask.runs import Action
from cairn.watch.watcher import WatchedWorkspace
from tests.support.servers import HELLO, READY, Agent, Mcp, no_daemon_left
from tests.support.waiting import PATIENCE, until

CSV = '[index]\ntypes = ["csv"]\n'
QUESTIONS: dict[str, dict[str, Any]] = {
    "search_codebase": {"query": "later"},
    "find_symbol": {"name": "later"},
    "file_outline": {"file": "later.py"},
    "read_file": {"file": "later.py"},
    "call_graph": {"symbol": "later"},
    "repo_map": {},
    "index_status": {},
}


@pytest.fixture
def alone(indexed: Agent) -> Iterator[Agent]:
    with no_daemon_left({**indexed.environ, "PATH": os.environ["PATH"]}):
        yield indexed


def proposed(agent: Agent) -> None:
    (agent.tree / "rows.csv").write_text("lease,1\n")
    (agent.tree / ".cairn.toml").write_text(CSV)
    (agent.tree / "later.py").write_text("def later():\n    return take()\n")


def stores(agent: Agent) -> list[Path]:
    return list((agent.home / "data").iterdir())


@pytest.mark.parametrize("options", [("--offline",), ()], ids=["alone", "with a daemon"])
def test_every_tool_answers_from_the_index_from_before_and_says_what_is_proposed(
    alone: Agent, options: tuple[str, ...]
) -> None:
    with Mcp(alone, *options) as server:
        server.said(HELLO)
        server.send(READY)
        assert server.ask("find_symbol", name="Lease")["status"] == "ok"
        proposed(alone)
        for tool, arguments in QUESTIONS.items():
            answer = server.ask(tool, **arguments)
            assert answer["status"] == "ok", (tool, answer)
            hint = answer["hints"]["requiresReindex"]
            assert hint["differs"] == ["index.types"]
            assert [one for one in answer["warnings"] if "asks for another index" in one], (tool, answer)
            assert tool == "index_status" or "later" in str(answer), (tool, answer)
        assert server.ask("search_codebase", query="later", allowStale=True)["status"] == "ok"
        assert len(stores(alone)) == 1, "nobody asked for another index"
        call = hint["recommendedAction"]
        made = server.ask(call["tool"], **call["args"])
        assert made["status"] == "ok"
        until(lambda: server.ask("index_status")["coverage"]["indexed"] == 4)
        answer = server.ask("search_codebase", query="later", mode="regex")
        assert answer["status"] == "ok"
        assert "requiresReindex" not in answer["hints"]


class Held:
    """A reindex that goes on only when it may."""

    def __init__(self, patching: pytest.MonkeyPatch) -> None:
        self.begun, self.may_go = threading.Event(), threading.Event()
        real = runs_module._ENGINES[Action.REINDEX]

        def reindex(*given: Any, **options: Any) -> Any:
            self.begun.set()
            assert self.may_go.wait(PATIENCE)
            return real(*given, **options)

        patching.setattr(runs_module, "_ENGINES", {**runs_module._ENGINES, Action.REINDEX: reindex})


@pytest.mark.usefixtures("parsed_here")
def test_where_the_user_allows_it_the_proposed_index_is_made_beside_the_one_that_answers(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    held, root = Held(monkeypatch), str(indexed.tree)
    request.addfinalizer(held.may_go.set)
    indexed.settings("[index]\nauto_reindex = true\n")
    desk = WatchedWorkspace(indexed.environ, Allowed(indexed.environ, [root]), roots=[root])
    indexed.desk.close()
    indexed.desk = desk
    assert desk.watching.caught_up(root, PATIENCE)
    proposed(indexed)
    assert held.begun.wait(PATIENCE)
    for tool, arguments in QUESTIONS.items():
        answer = indexed.ask(tool, path=root, **arguments)
        assert answer["status"] == "ok", (tool, answer)
        assert "requiresReindex" in answer["hints"]
        assert tool == "index_status" or "later" in str(answer), (tool, answer)
    assert indexed.ask("manage_index", path=root, action="reindex")["status"] == "ok", "it is at work already"
    held.may_go.set()
    until(lambda: indexed.ask("index_status", path=root)["coverage"]["indexed"] == 4)
    # From now on that one is kept up to date.
    (indexed.tree / "last.py").write_text("def last(): ...\n")
    until(lambda: indexed.ask("index_status", path=root)["coverage"]["indexed"] == 5)
    until(lambda: desk.runs.last(root).action is Action.SYNC)


@pytest.mark.usefixtures("parsed_here")
def test_a_watched_root_whose_user_changes_the_settings_is_not_indexed_anew_unasked(indexed: Agent) -> None:
    root = str(indexed.tree)
    desk = WatchedWorkspace(indexed.environ, Allowed(indexed.environ, [root]), roots=[root])
    indexed.desk.close()
    indexed.desk = desk
    assert desk.watching.caught_up(root, PATIENCE)
    before = desk.runs.last(root)
    indexed.settings("[limits]\nmax_file_bytes = 900_000\n")
    (indexed.tree / "later.py").write_text("def later(): ...\n")
    until(lambda: desk.runs.last(root) is not before)
    for _ in range(3):
        answer = indexed.ask("search_codebase", path=root, query="later")
        assert answer["status"] == "requires_reindex"
    assert [one for one in stores(indexed) if list((one / "generations").glob("[0-9]*"))] == [
        one for one in stores(indexed) if (one / "ACTIVE_SNAPSHOT").exists()
    ]
    assert len([one for one in stores(indexed) if (one / "ACTIVE_SNAPSHOT").exists()]) == 1
