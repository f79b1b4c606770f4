"""`check_edit`: listed once an indexer is set up, and closed by what was saved a moment before."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.ask.runs import Patience
from cairn.core.clock import SYSTEM_CLOCK
from cairn.mcp.calls import InThisProcess
from cairn.semantic.database import SemanticDatabase
from cairn.tools.searching import is_set_up
from cairn.tools.table import CHECK_EDIT, TOOLS, listed
from tests.conformance import conforms
from tests.semantic.small_indexer import Memory, refresh
from tests.support.servers import LEASE, Agent
from tests.sync.desk import extract_here

PATIENT = Patience(sync_seconds=30.0)


@pytest.fixture
def known(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Agent:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    agent.index()
    index(agent)
    return agent


def index(agent: Agent) -> None:
    files = {file.name: file.read_bytes() for file in Path(agent.tree).glob("*.py")}
    refresh(SemanticDatabase(str(agent.home), str(agent.tree)), Memory(files))


def test_it_is_listed_once_an_indexer_is_set_up(agent: Agent) -> None:
    agent.index()
    assert not is_set_up(agent.desk.pool)
    index(agent)
    assert is_set_up(agent.desk.pool)
    assert [*listed(semantic=True)] == [*TOOLS, CHECK_EDIT]
    for semantic in (False, True):
        own = InThisProcess(lambda: agent.desk, lambda there=semantic: there)
        assert ("check_edit" in {tool.name for tool in own.tools()}) is semantic


@conforms("002.AX3")
def test_an_agent_learns_what_may_be_edited(known: Agent) -> None:
    first = known.ask("check_edit", files=["lease.py"], patience=PATIENT)
    assert (first["status"], first["results"][0]["reach"]) == ("ok", "cross_file")
    (known.tree / "lease.py").write_text(f"{LEASE}\nmore = 1\n")
    second = known.ask("check_edit", files=["lease.py"], patience=PATIENT)
    assert (second["status"], second["results"][0]["freshness"]) == ("blocked", "dirty")
    assert "cairn semantic refresh" in second["results"][0]["witness"]["cure"]
    assert "timingsMs" not in second
    # Within a second of a look at the files there is no other, so what is on disk closes the gate by itself.
    known.ask("manage_index", action="sync")
    index(known)
    assert known.ask("check_edit", files=["lease.py"], patience=PATIENT)["status"] == "ok"


def test_bad_questions_are_refused(known: Agent) -> None:
    assert known.ask("check_edit", files=["gone.py"])["status"] == "not_found"
    for files in ([], ["../outside.py"], {"lease.py": True}):
        assert known.ask("check_edit", files=files)["status"] == "error"
