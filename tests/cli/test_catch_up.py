"""What a codebase became while nothing ran is taken in by the commands that people and agents start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import conforms
from tests.support.commands import Person
from tests.support.servers import HELLO, READY, Agent, Mcp


@pytest.fixture
def me(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.commit()
    return person


def told(me: Person, *arguments: str) -> dict[str, Any]:
    done = me.cairn(*arguments, "--json")
    assert done.status == 0, done
    return dict(json.loads(done.stdout))


def changes(report: dict[str, Any]) -> tuple[int, int, int]:
    found = report["changes"]
    return found["added"], found["modified"], found["deleted"]


@conforms("004.CU1", "004.CU2", "004.CU3", "004.CU4", "004.CU5", "004.CU6")
def test_a_sync_takes_in_what_is_missing_modified_and_stale_and_nothing_else(me: Person) -> None:
    (me.tree / "gone.py").write_text("def gone(): ...\n")
    first = told(me, "sync")
    assert (changes(first), first["published"]) == ((4, 0, 0), True), "an empty index is filled by the same command"
    assert (changes(told(me, "sync")), told(me, "sync")["published"]) == ((0, 0, 0), False)
    (me.tree / "new.py").write_text("def new(): ...\n")
    (me.tree / "src" / "lease.py").write_text("class Lease:\n    def give_back(self): ...\n")
    (me.tree / "gone.py").unlink()
    assert changes(told(me, "sync")) == (1, 1, 1)
    for name, there in (("new", 1), ("give_back", 1), ("steal", 0), ("gone", 0)):
        found = told(me, "search", f"def {name}", "--mode", "regex", "--no-sync")["results"]
        assert len(found) == there, name


@conforms("004.CU18", "004.CU21")
def test_new_rules_and_an_emptied_folder_are_obeyed_by_the_next_sync(me: Person) -> None:
    told(me, "sync")
    (me.tree / ".gitignore").write_text("build/\nsrc/\n")
    assert changes(told(me, "sync"))[2] == 1
    assert told(me, "search", "def steal", "--mode", "regex", "--no-sync")["results"] == []
    (me.tree / ".gitignore").write_text("build/\n")
    assert changes(told(me, "sync"))[0] == 1
    for path in (me.tree / "src" / "lease.py", me.tree / "README.md", me.tree / ".gitignore"):
        path.unlink()
    told(me, "sync")
    assert told(me, "status")["coverage"]["indexed"] <= 1
    (me.tree / "src" / "lease.py").write_text("class Lease: ...\n")
    assert changes(told(me, "sync"))[0] == 1


@pytest.mark.long
@conforms("004.STS")
def test_an_agent_reads_where_an_index_stands_from_the_fields_of_the_status(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.index()
    with Mcp(agent, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        status = server.ask("index_status")
    agent.close()
    assert (status["files_indexed"], status["is_indexing"], status["indexing_type"]) == (1, False, None)
    named = {"total_chunks", "embedding_model", "last_updated", "current_file", "progress", "files_to_process"}
    assert named <= status.keys()


@pytest.mark.long
@conforms("004.MD2", "004.MD3")
def test_a_server_refuses_an_index_of_another_model_by_both_names_and_its_place(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.index()
    [store] = (agent.home / "data").iterdir()
    with Mcp(agent, "--offline") as server:
        assert server.said(HELLO)["result"]["serverInfo"], "the same model may start"
    agent.settings('[embedding]\nprovider = "http"\nmodel = "other"\nurl = "http://127.0.0.1:9/v1"\ndimension = 8\n')
    done = subprocess.run(
        [sys.executable, "-m", "cairn", "mcp", "--offline", "--root", str(agent.tree)],
        env=agent.variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    agent.close()
    assert done.returncode == 1
    assert all(name in done.stderr for name in ("cairn-static", "other", store.name)), done.stderr
