"""What a codebase became while nothing ran is taken in by the commands that people and agents start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import conforms
from tests.support import commands
from tests.support.commands import Person
from tests.support.servers import HELLO, READY, Agent, Mcp
from tests.support.waiting import until

_FILES = 250


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


@conforms("004.CU1", "004.CU2", "004.CU3", "004.CU4", "004.CU5", "004.CU6", "004.CU22")
def test_a_sync_takes_in_what_is_missing_modified_and_stale_and_nothing_else(me: Person) -> None:
    (me.tree / "gone.py").write_text("def gone(): ...\n")
    first = told(me, "sync")
    assert (changes(first), first["published"]) == ((4, 0, 0), True), "an empty index is filled by the same command"
    assert (changes(told(me, "sync")), told(me, "sync")["published"]) == ((0, 0, 0), False)
    (me.tree / "new.py").write_text("def new(): ...\n")
    (me.tree / "src" / "lease.py").write_text("class Lease:\n    def give_back(self): ...\n")
    (me.tree / "gone.py").unlink()
    assert changes(told(me, "sync")) == (1, 1, 1), "what has not changed is not made anew"
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
        # What its start has begun to compare is over soon.
        until(lambda: not server.ask("index_status")["is_indexing"])
        status = server.ask("index_status")
    agent.close()
    assert (status["files_indexed"], status["is_indexing"], status["indexing_type"]) == (1, False, None)
    named = {"total_chunks", "embedding_model", "last_updated", "current_file", "progress", "files_to_process"}
    assert named <= status.keys()


@pytest.mark.long
@conforms("004.MD2", "004.MD3", "004.MD4")
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
    program = (
        "import cairn, sys\ntry: cairn.start_indexing(sys.argv[1], background=False)\n"
        "except cairn.EmbeddingModelChangedError as error: print(isinstance(error, RuntimeError))"
    )
    script = [sys.executable, "-c", program, str(agent.tree)]
    said = subprocess.run(script, env=agent.variables(), capture_output=True, text=True, check=True).stdout
    assert said == "True\n"
    agent.close()
    assert done.returncode == 1
    assert all(name in done.stderr for name in ("cairn-static", "other", store.name)), done.stderr


def large(agent: Agent, text: str) -> None:
    """Enough files that somebody can look on while they are indexed."""
    for number in range(_FILES):
        body = "".join(f"def f{number}_{at}(a, b):\n    return {text}(a, b) + {at}\n\n\n" for at in range(200))
        (agent.tree / f"m{number:04}.py").write_text(body)


def seen_until_done(server: Mcp) -> list[dict[str, Any]]:
    """What a server says of its own first run, again and again, until nothing is at work any more."""
    until(lambda: server.ask("index_status")["is_indexing"])
    seen = [server.ask("index_status")]
    while seen[-1]["is_indexing"]:
        seen.append(server.ask("index_status"))
    return [one for one in seen if one["is_indexing"]]


@pytest.mark.long
@conforms("004.CU7", "004.CU8", "004.CU10", "004.MD1")
def test_a_run_is_told_while_it_works_and_no_longer_however_it_ends(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    large(agent, "one")
    with Mcp(agent, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        until(lambda: server.ask("index_status")["progress"])
        server.process.kill()
        server.process.wait()
    status = json.loads(commands.typed(("status", "--json"), agent.tree, agent.variables()).stdout)
    assert (status["is_indexing"], status["indexing_type"], status["files_to_process"]) == (False, None, None)
    listed = json.loads(commands.typed(("list", "--json"), agent.tree, agent.variables()).stdout)
    assert [one["embeddingModel"] for one in listed["results"]] == ["cairn-static"], (
        "it is written down before any work"
    )
    assert status["files_indexed"] == 0
    for text, kind in (("one", "full"), ("two", "catchup")):
        large(agent, text)
        with Mcp(agent, "--offline") as server:
            server.said(HELLO)
            server.send(READY)
            seen = seen_until_done(server)
            assert {one["indexing_type"] for one in seen} == {kind}
            if kind == "catchup":
                assert _FILES in {one["files_to_process"] for one in seen}, "as many as have changed"
            parts = [one["progress"] for one in seen if one["progress"] is not None]
            assert parts == sorted(parts)
            assert all(0 <= part <= 1 for part in parts)
            found = server.ask("search_codebase", query=f"return {text}", mode="regex", limit=1)
            assert (found["status"], found["coverage"]["exhaustive"]) == ("ok", True)
            assert server.ask("index_status")["is_indexing"] is False
    agent.close()


@conforms("004.MD5", "004.MD6")
def test_the_model_is_listed_for_as_long_as_anything_is_known_of_a_codebase(me: Person) -> None:
    told(me, "sync")
    for verb in ((), ("clear",), ("index",)):
        if verb:
            told(me, *verb)
        [row] = told(me, "list")["results"]
        assert (row["embeddingModel"], row["root"]) == ("cairn-static", str(me.tree))
    assert row["lastSyncAt"]


@conforms("004.CU13")
def test_the_time_zone_and_the_clock_of_a_file_prove_nothing(me: Person) -> None:
    told(me, "sync")
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        me.environment["TZ"] = zone
        assert changes(told(me, "sync")) == (0, 0, 0)
    file = me.tree / "src" / "lease.py"
    before = file.stat()
    file.write_text(file.read_text().replace("steal", "claim"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changes(told(me, "sync")) == (0, 1, 0), "its time says that nothing has changed"
    os.utime(file, (4_000_000_000, 4_000_000_000))
    assert changes(told(me, "sync")) == (0, 0, 0), "its time says that it has changed"


@pytest.mark.long
@conforms("004.CU20", "004.CU11")
def test_a_folder_that_was_emptied_is_emptied_in_the_index_and_watched_on(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.index()
    agent.close()
    (agent.tree / "lease.py").unlink()
    command = [sys.executable, "-m", "cairn", "watch", "--json", "--offline", "--root", str(agent.tree)]
    with subprocess.Popen(command, env=agent.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert changes(json.loads(process.stdout.readline())) == (0, 0, 1)
            (agent.tree / "new.py").write_text("x = 1\n")
            assert changes(json.loads(process.stdout.readline())) == (1, 0, 0)
        finally:
            process.kill()
