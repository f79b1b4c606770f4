"""A root whose search server comes and goes: nothing that is asked may change what is told of it.

Schedules of outages are random, and the same every time: CAIRN_OUTAGES says how many.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import conforms
from tests.engine.servers import RealServer, needs_milvus, running
from tests.support.servers import AT_ONCE, Agent

pytestmark = [needs_milvus, pytest.mark.long]

SCHEDULES = int(os.environ.get("CAIRN_OUTAGES", "1000"))
FAULTS = (None, None, "refuse", "cut after", "truncate", "drop", "Search only", "Query only", "delay")
ASKED = ("search_codebase", "search_codebase", "index_status", "list_codebases", "file_outline", "manage_index")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of a moment, and no rest: every question asks the server anew."""
    for module in ("cairn.engine.local", "cairn.sync.remote.copy"):
        monkeypatch.setattr(f"{module}.ENGINE_REST_SECONDS", 0.0)
    monkeypatch.setattr("cairn.engine.milvus.ENGINE_BACKOFF_SECONDS", 0.001)
    monkeypatch.setattr("cairn.engine.milvus_rows.ENGINE_SEARCH_SECONDS", 0.3)
    monkeypatch.setattr("cairn.sync.remote.copy.ENGINE_SEARCH_SECONDS", 0.3)
    monkeypatch.setattr("cairn.engine.milvus_rows.ENGINE_WRITE_SECONDS", 0.3)


def ask(agent: Agent, tool: str) -> dict[str, Any]:
    own: dict[str, dict[str, Any]] = {
        "search_codebase": {"query": "who steals a lease"},
        "file_outline": {"file": "lease.py"},
        "manage_index": {"action": "status"},
    }
    path = {} if tool == "list_codebases" else {"path": str(agent.tree)}
    return agent.ask(tool, patience=AT_ONCE, **path, **own.get(tool, {}))


def told(answer: dict[str, Any]) -> dict[str, Any]:
    """What must not change: everything but what is said of the server, and times."""
    shown = (
        "status",
        "reason",
        "results",
        "state",
        "codebases",
        "snapshot",
        "files_indexed",
        "total_chunks",
        "outline",
    )
    found = {name: answer[name] for name in shown if name in answer}
    if answer["schema"] == "cairn.list/1":
        # A sync that finds nothing to do is a step of this machine's own: it says when it looked.
        settled = {"sync_completed": "indexed"}
        found["results"] = [
            (one["root"], settled.get(one["state"], one["state"]), one["store"], one["snapshot"])
            for one in answer["results"]
        ]
    return found


@conforms("001.INV2", "001.INV7", "001.AC1", "001.AC5", "001.AC7", "001.RD4")
def test_a_server_that_comes_and_goes_changes_nothing_that_is_told(
    agent: Agent, server: RealServer, impatient: None
) -> None:
    from tests.engine.proxy import between

    with between(server.uri) as proxy:
        agent.settings(f'[engine]\nkind = "milvus"\nuri = "{proxy.uri}"\n')
        _indexed_with_time(agent)
        for tool in ASKED:
            ask(agent, tool)
        wanted = {tool: told(ask(agent, tool)) for tool in ASKED}
        assert {answer["status"] for answer in wanted.values()} == {"ok"}
        before = agent.kept()
        chance = random.Random(1)
        helped = refused = 0
        for _ in range(SCHEDULES):
            fault = chance.choice(FAULTS if chance.random() < 0.02 else FAULTS[:-1])
            proxy.heal()
            proxy.fault = _struck(fault)
            for tool in chance.sample(ASKED, 2):
                answer = ask(agent, tool)
                assert told(answer) == wanted[tool], fault
                said = [warning for warning in answer.get("warnings", ()) if "search server" in warning]
                assert len(said) <= 1
                if tool == "search_codebase":
                    helped += not said
                    refused += bool(said)
        proxy.heal()
        assert agent.kept() == before
        assert refused > SCHEDULES // 20
        assert helped > SCHEDULES // 20


def _struck(fault: str | None) -> Any:
    if fault is not None and fault.endswith(" only"):
        name = fault.removesuffix(" only")
        return lambda call: "refuse" if call == name else None
    return lambda _: fault


def _indexed_with_time(agent: Agent) -> None:
    """The deadlines of a moment are for readers; the run that indexes has its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cairn.engine.milvus_rows.ENGINE_WRITE_SECONDS", 30.0)
        agent.index()


@conforms("001.VAL7", "001.VAL8", "001.RD4")
def test_an_answer_says_why_the_server_did_not_help(agent: Agent, server: RealServer, tmp_path: Path) -> None:
    agent.index()
    agent.settings(f'[engine]\nkind = "milvus"\nuri = "{server.uri}"\n')
    agent.desk.close()
    again = Agent.__new__(Agent)
    again.__dict__.update(agent.__dict__)
    from cairn.ask.allowed import Allowed
    from cairn.ask.workspace import Workspace

    def asked() -> dict[str, Any]:
        again.desk = Workspace(agent.environ, Allowed(agent.environ, [str(agent.tree)]))
        try:
            return ask(again, "search_codebase")
        finally:
            again.desk.close()

    missing = asked()
    assert missing["status"] == "ok"
    assert [w for w in missing["warnings"] if "missing_marker_doc" in w and "cairn engine push" in w]
    agent.settings('[engine]\nkind = "milvus"\nuri = "http://127.0.0.1:1"\n')
    away = asked()
    assert away["status"] == "ok"
    assert [w for w in away["warnings"] if "probe_failed" in w]
    assert away["hints"]["debugProofCheck"] == {"ok": False, "reason": "probe_failed"}
    assert away["results"] == missing["results"]
