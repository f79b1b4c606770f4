"""Tools that read: which file is meant, and that they cannot write."""

from __future__ import annotations

import ast
import inspect
import os
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cairn.answer.envelope import Envelope, error
from cairn.ask.freshness import Freshener
from cairn.ask.runs import Runs
from cairn.ask.session import Session
from cairn.ask.workspace import SessionPool, Workspace
from cairn.errors import CairnError
from cairn.semantic import jobs
from cairn.semantic.database import SemanticDatabase, register
from cairn.semantic.model import FULL
from cairn.store.disk import Disk, LooseFiles
from cairn.tools import reading
from cairn.tools.table import TOOLS, _reads, call
from tests.conformance import conforms
from tests.semantic.pinned import CONTEXT
from tests.support.servers import AT_ONCE, LEASE, Agent
from tests.tools.test_table import QUESTIONS

# Every way in which a store can be changed.
WRITES = ["create", "create_bytes", "make_folder", "move", "swap", "claim", "remove", "remove_folder", "seal", "unseal"]
# These may index a folder that was never indexed, and are no readers.
SEARCHES = ("search_codebase", "explore")
READS = [(tool, arguments) for tool, arguments in QUESTIONS if tool not in SEARCHES]
READS += [("index_status", {}), ("list_codebases", {}), ("manage_index", {"action": "status"})]


# --- nothing is written -----------------------------------------------------------------------------------------------


@conforms("001.INV5", "001.FG1", "001.AC3", "001.REC3")
def test_the_readers_reach_no_writer() -> None:
    tree = ast.parse(inspect.getsource(reading))
    imported = {f"{node.module}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in imported if name.startswith(("cairn.sync", "cairn.store", "cairn.ask.runs"))]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import) and "cairn" in ast.dump(node)]
    # What they are handed has no way to a run, and of a session they ask only what reads.
    assert {"runs", "freshener", "prepared"}.isdisjoint(dir(SessionPool))
    assert {"prepare", "sync", "index"}.isdisjoint(dir(Session))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert {"runs", "freshener", "prepared", "prepare", "start"}.isdisjoint(used)
    for tool in TOOLS:
        if tool.name not in (*SEARCHES, "manage_index"):
            handler = getattr(reading, tool.name)
            assert str(inspect.signature(handler).parameters["pool"].annotation) == "SessionPool"


def test_what_a_reader_is_handed_when_it_is_called_cannot_write_either(indexed: Agent) -> None:
    handed: list[object] = []

    def look(pool: SessionPool, _: object) -> Envelope:
        handed.append(pool)
        return error(CairnError())

    _reads(look)(indexed.desk, {}, AT_ONCE)
    [pool] = handed
    assert type(pool) is SessionPool
    assert not [name for name, value in vars(pool).items() if isinstance(value, Workspace | Runs | Freshener)]


@conforms("001.INV1")
def test_every_reading_tool_leaves_every_byte_of_the_store_as_it_is(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed.ask("find_symbol", name="Lease")
    before = indexed.stored()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a reader writes")

    for name in WRITES:
        monkeypatch.setattr(Disk, name, refuse)
    for name in ("append", "database"):
        monkeypatch.setattr(LooseFiles, name, refuse)
    for tool, arguments in READS:
        assert indexed.ask(tool, **arguments)["status"] == "ok", tool
    assert indexed.stored() == before


@conforms("001.INV7")
def test_a_codebase_is_never_dropped_from_the_list_by_trouble_with_its_store(
    indexed: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second store that was never anything but an empty folder: a member all the same.
    (indexed.home / "data" / f"ghost__{'0' * 16}__{'1' * 16}").mkdir(mode=0o700)
    members = [(row["root"], row["store"]) for row in indexed.ask("list_codebases")["results"]]
    assert len(members) == 2
    before = indexed.stored()
    chance = random.Random(7)
    real = Disk.read

    def read(disk: Disk, *given: Any, **options: Any) -> Any:
        if chance.random() < 0.3:
            raise chance.choice([OSError(5, "EIO"), TimeoutError(110, "timed out"), PermissionError(13, "EACCES")])
        return real(disk, *given, **options)

    monkeypatch.setattr(Disk, "read", read)
    troubles = 0
    for _ in range(200):
        rows = dict(call(indexed.desk, "list_codebases", {}).body)["results"]
        assert [(row["root"], row["store"]) for row in rows] == members
        troubles += any(row["trouble"] for row in rows)
    assert troubles > 20
    assert indexed.stored() == before


# --- which file -------------------------------------------------------------------------------------------------------


def test_a_file_is_named_from_the_root_or_from_the_folder_or_by_its_whole_path(agent: Agent) -> None:
    for folder in ("", "src", "src/deep"):
        (agent.tree / folder).mkdir(exist_ok=True)
        (agent.tree / folder / f"in_{os.path.basename(folder) or 'root'}.py").write_text(LEASE)
    agent.index()
    whole = str(agent.tree / "src" / "in_src.py")
    for arguments in (
        {"file": "src/in_src.py"},
        {"file": whole},
        {"path": whole},
        {"path": "src/in_src.py"},
        {"path": "src", "file": "in_src.py"},
        {"path": "src", "file": "src/in_src.py"},
        {"path": str(agent.tree / "src"), "file": "src/in_src.py"},
    ):
        for tool in ("file_outline", "read_file"):
            answer = agent.ask(tool, **arguments)
            assert answer["status"] == "ok", (arguments, answer)
            assert answer["file"]["path"] == "src/in_src.py"


def test_lines_of_a_file_are_those_on_disk_and_say_so_when_they_are_not_indexed_yet(indexed: Agent) -> None:
    answer = indexed.ask("read_file", file="lease.py", startLine=2, endLine=3, mode="annotated")
    assert answer["text"] == "    def steal(self):\n        return take()"
    assert [row["symbol"] for row in answer["symbols"]] == ["Lease", "Lease.steal"]
    assert "source" not in answer["file"]
    (indexed.tree / "lease.py").write_text("x = 1\n")
    answer = indexed.ask("read_file", file="lease.py")
    assert (answer["text"], answer["disk"], answer["freshness"]["mode"]) == ("x = 1", "same", "overlay")
    assert (answer["file"]["source"], answer["file"]["sha256"]) == ("working_tree", sha256(b"x = 1\n").hexdigest())
    assert indexed.ask("read_file", file="lease.py", startLine=7)["status"] == "not_found"


def test_an_outline_is_of_one_definition_or_of_lines_or_cut(indexed: Agent) -> None:
    names = lambda **asked: [row["symbol"] for row in indexed.ask("file_outline", file="lease.py", **asked)["results"]]  # noqa: E731
    assert names() == ["Lease", "Lease.steal", "take"]
    assert names(symbol="Lease") == ["Lease", "Lease.steal"]
    assert names(startLine=6) == ["take"]
    assert names(limit=1) == ["Lease"]


def test_a_definition_is_found_with_its_uses_and_its_callers(indexed: Agent) -> None:
    found = indexed.ask("find_symbol", name="take", kind="function")
    assert [row["symbol"] for row in found["results"]] == ["take"]
    assert indexed.ask("find_symbol", name="take", kind="class")["results"] == []
    for name in ("take", "lease.py:6"):
        uses = indexed.ask("find_symbol", name=name, references=True)
        assert [(row["path"], row["line"]) for row in uses["results"]] == [("lease.py", 3)]
    graph = indexed.ask("call_graph", symbol="take", direction="callers")
    node = graph["nodes"][0]["symbolId"]
    for symbol in ({"file": "lease.py", "symbolId": node}, {"file": "lease.py", "symbolId": "take"}, "lease.py:6"):
        again = indexed.ask("call_graph", symbol=symbol, direction="callers")
        assert again["nodes"] == graph["nodes"], again
    assert {one["src"] for one in graph["edges"]} == {"lease.py#Lease.steal"}


@conforms("004.STS")
def test_the_status_has_the_fields_that_agents_know_at_the_top(indexed: Agent) -> None:
    answer = indexed.ask("index_status")
    known = {
        "files_indexed": 1,
        "total_chunks": 1,
        "embedding_model": "cairn-static",
        "is_indexing": False,
        "indexing_type": None,
        "current_file": None,
        "progress": None,
        "files_to_process": None,
    }
    assert {name: answer[name] for name in known} == known
    assert answer["last_updated"] == answer["snapshot"]["publishedAt"]
    managed = indexed.ask("manage_index", action="status")
    # What the disk has left is not ours alone to change.
    assert {name for name in answer if answer[name] != managed[name]} <= {"disk"}


def test_a_refresh_that_failed_is_told_with_the_status(indexed: Agent) -> None:
    database = SemanticDatabase(str(indexed.home), str(indexed.tree))
    with database.writing() as db:
        register(db, [CONTEXT])
        jobs.enqueue(db, CONTEXT.id, FULL, head="one", reason="test")
        claim = jobs.claim(db)
        assert claim is not None
        jobs.fail(db, claim, "the indexer crashed")
    told = indexed.ask("index_status")["warnings"]
    assert told == [f"The last semantic refresh of {CONTEXT.id} failed: the indexer crashed"]


# --- pages of uses ----------------------------------------------------------------------------------------------------


def test_every_use_is_in_reach_page_by_page_whatever_is_saved_meanwhile(indexed: Agent) -> None:
    (indexed.tree / "many.py").write_text("from lease import take\n" + "take()\n" * 12 + "tell(take)\n")
    asked: dict[str, Any] = {"name": "lease.take", "references": True, "limit": 5}
    answer = indexed.ask("find_symbol", **asked)
    seen: list[int] = []
    while True:
        assert answer["status"] == "ok", answer
        seen += [row["line"] for row in answer["results"] if row["path"] == "many.py"]
        call = answer["hints"].get("continuation")
        if call is None:
            break
        assert call["tool"] == "find_symbol"
        answer = indexed.ask(call["tool"], **call["args"])
    assert seen == [*range(2, 15), 1]
    [passed] = indexed.ask("find_symbol", **asked, role="value")["results"]
    assert (passed["line"], passed["kind"]) == (14, "value")
    assert indexed.ask("find_symbol", **asked, minTier="proven")["counts"]["roles"]["call"] == 13
    refused = indexed.ask("find_symbol", **call_of(asked, indexed), role="call")
    assert refused["error"]["code"] == "bad_continuation"


def call_of(asked: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """The call for the second page."""
    following: dict[str, Any] = agent.ask("find_symbol", **asked)["hints"]["continuation"]["args"]
    return following


def test_definitions_that_fit_a_name_have_a_next_page_too(indexed: Agent) -> None:
    (indexed.tree / "fences.py").write_text("".join(f"class Fence{number}: ...\n" for number in range(7)))
    first = indexed.ask("find_symbol", name="Fence", limit=4)
    second = indexed.ask("find_symbol", **first["hints"]["continuation"]["args"])
    assert len({row["symbol"] for row in (*first["results"], *second["results"])}) == 7
    assert "continuation" not in second["hints"]
