"""The tools of agents: what each takes, what each says at every gate, and that none of them ever raises."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path
from typing import Any

import pytest

from cairn.ask.gate import NonOkReason
from cairn.ask.workspace import Workspace
from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.errors import CairnError
from cairn.store import door
from cairn.store.fs import store_trouble
from cairn.store.publish.lease import RunKind
from cairn.tools import reading
from cairn.tools.arguments import told
from cairn.tools.table import TOOLS, call
from tests.conformance import conforms
from tests.support.servers import AT_ONCE, LEASE, Agent

PARAMETERS = {
    "search_codebase": "path query mode limit scope groupBy include exclude languages maxTokens allowStale "
    "allowPartial continuation debug",
    "explore": "about mode to path maxTokens allowPartial",
    "file_outline": "path file symbol startLine endLine limit maxTokens allowPartial",
    "call_graph": "path symbol direction to depth limit maxTokens noteLimit minTier allowPartial",
    "read_file": "path file startLine endLine mode maxTokens allowPartial",
    "find_symbol": "path name kind references minTier role limit maxTokens continuation allowPartial",
    "repo_map": "path query focus include cycles maxTokens allowPartial",
    "manage_index": "action path force allowDegraded",
    "index_status": "path",
    "list_codebases": "",
}
# Every tool that answers from an index, in each of its ways.
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("search_codebase", {"query": "lease"}),
    ("search_codebase", {"query": "Lease", "mode": "regex"}),
    ("explore", {"about": "take"}),
    ("explore", {"about": "who takes the lease from a holder"}),
    ("explore", {"about": "take", "mode": "tests"}),
    ("file_outline", {"file": "lease.py"}),
    ("read_file", {"file": "lease.py"}),
    ("read_file", {"file": "lease.py", "mode": "annotated"}),
    ("find_symbol", {"name": "Lease"}),
    ("find_symbol", {"name": "Lease", "references": True}),
    ("call_graph", {"symbol": "take"}),
    ("repo_map", {}),
    ("repo_map", {"query": "lease", "focus": ["lease.py"]}),
]


@conforms("001.NG")
def test_the_tools_and_their_arguments_are_those_that_are_promised() -> None:
    assert {tool.name: " ".join(tool.schema["properties"]) for tool in TOOLS} == PARAMETERS


def test_only_the_tool_that_manages_an_index_is_said_to_change_something() -> None:
    assert [tool.name for tool in TOOLS if not tool.read_only] == ["manage_index"]
    assert [tool.name for tool in TOOLS if tool.destructive] == ["manage_index"]


def test_the_descriptions_are_short_and_reading_is_told_from_the_hosts_own() -> None:
    assert all(len(tool.description) <= 300 for tool in TOOLS)
    assert next(tool for tool in TOOLS if tool.name == "read_file").description.startswith("From the index snapshot")
    # All that an agent reads before its first question.
    assert len(json.dumps([[tool.name, tool.description, told(tool.schema)] for tool in TOOLS])) < 10_000


def test_every_tool_answers_from_an_index(indexed: Agent) -> None:
    for tool, arguments in QUESTIONS:
        answer = indexed.ask(tool, **arguments)
        assert answer["status"] == "ok", answer
        assert answer["codebaseRoot"] == str(indexed.tree)
        # Agents pay for every word.
        assert {"fingerprints", "timingsMs"}.isdisjoint(answer)
        assert "fileHash" not in json.dumps(answer)


@conforms("000.D2", "000.D3", "000.D4", "000.BLK1", "000.BLK2", "000.BLK3")
@conforms("000.API1", "000.API2", "000.API3", "000.API4")
@pytest.mark.parametrize("kind", [RunKind.CREATE, RunKind.REINDEX])
def test_while_a_full_run_is_at_work_every_tool_says_not_ready(indexed: Agent, kind: RunKind) -> None:
    with indexed.writing(kind):
        answers = [indexed.ask(tool, **arguments, patience=AT_ONCE) for tool, arguments in QUESTIONS]
    for answer in answers:
        assert (answer["status"], answer["reason"]) == ("not_ready", "indexing")
        assert answer["message"]
        assert {"progressPct", "lastUpdated", "phase"} <= set(answer["indexing"])
        hint = {"tool": "manage_index", "args": {"action": "status", "path": str(indexed.tree)}}
        assert answer["hints"]["status"] == hint
        assert answer["hints"]["lastGood"]["with"] == "allowStale"
        assert {"results", "text", "nodes"}.isdisjoint(answer)


def test_while_an_index_catches_up_every_tool_answers_from_the_last_good_snapshot(indexed: Agent) -> None:
    with indexed.writing(RunKind.SYNC):
        for tool, arguments in QUESTIONS:
            answer = indexed.ask(tool, **arguments, patience=AT_ONCE)
            assert answer["status"] == "ok"
            assert answer["indexing"]["indexingType"] == "catchup"


def test_who_wants_no_answer_while_an_index_catches_up_gets_none(indexed: Agent) -> None:
    indexed.settings('[search]\ncatchup_reads = "block"\n')
    with indexed.writing(RunKind.SYNC):
        for tool, arguments in QUESTIONS:
            blocked = indexed.ask(tool, **arguments, patience=AT_ONCE)
            assert (blocked["status"], blocked["reason"]) == ("not_ready", "indexing")
        stale = indexed.ask("search_codebase", query="Lease", allowStale=True, patience=AT_ONCE)
        assert stale["status"] == "ok"
    with indexed.writing(RunKind.COMPACT):
        assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"
    assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"


def test_an_index_of_other_settings_is_told_by_every_tool_and_nothing_is_built(indexed: Agent) -> None:
    indexed.settings("[limits]\nmax_file_bytes = 1000\n")
    before = indexed.stored()
    for tool, arguments in QUESTIONS:
        answer = indexed.ask(tool, **arguments)
        assert (answer["status"], answer["reason"]) == ("requires_reindex", "requires_reindex")
        assert answer["hints"]["differs"]
    assert indexed.stored() == before


@conforms("001.RD1")
def test_what_was_never_indexed_is_told_and_only_a_search_or_an_exploration_indexes_it(agent: Agent) -> None:
    for tool, arguments in [*QUESTIONS, ("index_status", {})]:
        if tool not in ("search_codebase", "explore"):
            answer = agent.ask(tool, **arguments)
            assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
    assert not agent.home.exists()


@conforms("000.D1")
def test_only_the_codebase_that_is_indexed_is_closed(indexed: Agent, tmp_path: Path) -> None:
    others = []
    for number in range(3):
        other = (tmp_path / f"other{number}").resolve()
        other.mkdir()
        (other / "lease.py").write_text(LEASE)
        others.append(other)
    indexed.settings("[serve]\nmanaged_roots = [" + ", ".join(f'"{one}"' for one in others) + "]\n")
    for other in others:
        indexed.index(other)
    with indexed.writing(RunKind.REINDEX, others[1]):
        for tree, expected in ((indexed.tree, "ok"), (others[0], "ok"), (others[1], "not_ready"), (others[2], "ok")):
            assert indexed.ask("file_outline", path=str(tree), file="lease.py")["status"] == expected


@conforms("000.BLK4")
def test_a_call_from_a_folder_inside_echoes_it_and_hints_at_the_root(indexed: Agent) -> None:
    (indexed.tree / "sub").mkdir()
    with indexed.writing(RunKind.REINDEX):
        answer = indexed.ask("search_codebase", path="sub", query="x", patience=AT_ONCE)
    assert (answer["path"], answer["codebaseRoot"]) == ("sub", str(indexed.tree))
    assert answer["hints"]["status"]["args"]["path"] == str(indexed.tree)


@conforms("000.ENV1", "000.ENV2", "000.ENV3")
def test_the_three_reasons_stand_at_the_three_gates_and_nowhere_else(indexed: Agent) -> None:
    found = {indexed.ask("find_symbol", name="Lease")["status"]: None}
    missing = indexed.ask("file_outline", file="nothing.py")
    assert missing["status"] == "not_found"
    assert "reason" not in missing
    with indexed.writing(RunKind.REINDEX):
        answer = indexed.ask("find_symbol", name="Lease")
        found[answer["status"]] = answer["reason"]
    indexed.settings("[limits]\nmax_file_bytes = 1000\n")
    answer = indexed.ask("find_symbol", name="Lease")
    found[answer["status"]] = answer["reason"]
    indexed.settings("")
    indexed.ask("manage_index", action="clear", force=True)
    answer = indexed.ask("find_symbol", name="Lease")
    found[answer["status"]] = answer["reason"]
    pairs = {"not_ready": "indexing", "requires_reindex": "requires_reindex", "not_indexed": "not_indexed"}
    assert found == {"ok": None} | pairs
    assert set(pairs.values()) == {reason.value for reason in NonOkReason}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("no_such_tool", {}, "invalid_request"),
    ("search_codebase", {"query": "x", "bogus": 1}, "invalid_request"),
    ("search_codebase", {"query": "x", "path": "/etc"}, "root_not_allowed"),
    ("search_codebase", {"query": "x", "path": "nothing"}, "path_not_found"),
    ("search_codebase", {"query": "(", "mode": "regex"}, "invalid_pattern"),
    ("search_codebase", {"query": "x", "continuation": "pAAAA"}, "bad_continuation"),
    ("read_file", {"file": "../../etc/passwd"}, "path_outside_root"),
    ("read_file", {"file": "/etc/passwd"}, "root_not_allowed"),
    ("read_file", {}, "invalid_request"),
    ("read_file", {"file": "lease.py", "startLine": 9, "endLine": 3}, "usage"),
]


def test_a_call_that_cannot_be_answered_is_an_error_with_a_code(indexed: Agent) -> None:
    for name, arguments, code in WRONG:
        answer = indexed.ask(name, **arguments)
        assert (answer["status"], answer["error"]["code"]) == ("error", code), name


def test_arguments_of_any_shape_are_answered(agent: Agent) -> None:
    for arguments in (None, [], "x", 7, {"path": 7}, {7: 7}):
        for tool in TOOLS:
            answer = call(agent.desk, tool.name, arguments)
            assert dict(answer.body)["error"]["code"] == "invalid_request", tool.name


def test_a_fault_of_our_own_is_told_without_what_it_was(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(reading, "codebase_list", broken)
    answer = agent.ask("list_codebases")
    assert answer["error"]["code"] == CairnError.code
    assert "secret" not in json.dumps(answer)


def test_a_store_that_cannot_be_read_is_an_error_and_no_gate(indexed: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Workspace(indexed.environ, indexed.desk.pool.allowed)

    def refuse(*_: object, **__: object) -> None:
        raise store_trouble("here", OSError(5, "EIO"))

    with monkeypatch.context() as patch:
        patch.setattr("cairn.ask.session.stand", refuse)
        answer = json.loads(call(other, "find_symbol", {"name": "Lease"}).to_json())
        assert answer["status"] == "error"
    # Who has it open already goes on.
    assert indexed.ask("find_symbol", name="Lease")["status"] == "ok"
    with monkeypatch.context() as patch:
        patch.setattr("cairn.ask.session.stand", refuse)
        answer = indexed.ask("find_symbol", name="Lease")
    assert (answer["status"], answer["freshness"]["mode"]) == ("ok", "sync_failed")
    other.close()


# --- proofs by name ---------------------------------------------------------------------------------------------------

TESTS = Path(__file__).parents[1]
NINE = {
    "no early promotion": "answer/test_states.py::test_nothing_is_promoted_but_by_a_run",
    "blocked envelopes": "tools/test_table.py::test_while_a_full_run_is_at_work_every_tool_says_not_ready",
    "stable reasons": "answer/test_gate.py::test_there_are_three_reasons_and_the_manual_knows_the_same_three",
    "skipped_indexing": "ask/test_freshness.py::test_a_look_that_takes_long_goes_on_and_its_caller_does_not_wait",
    "read_file envelope": "mcp/test_server.py::test_the_gate_of_what_is_being_indexed",
    "note cap": "answer/test_call_graph.py::test_that_notes_are_truncated_is_said_exactly_when_some_are_left_out",
    "several codebases": "tools/test_table.py::test_only_the_codebase_that_is_indexed_is_closed",
    "precedence": "answer/test_gate.py::test_whatever_holds_at_once_the_order_is_always_the_same",
    "effective root": "tools/test_table.py::test_a_call_from_a_folder_inside_echoes_it_and_hints_at_the_root",
}


@conforms("000.TST")
@pytest.mark.parametrize("proof", NINE)
def test_each_of_the_nine_proofs_is_there(proof: str) -> None:
    file, _, name = NINE[proof].partition("::")
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@conforms("003.TMB3")
def test_every_face_reads_through_the_one_entry_that_knows_what_is_live(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where that entry finds nothing, nobody finds anything: there is no other way to a row."""
    asked: list[object] = []

    def nothing(*given: object, **_: object) -> None:
        asked.append(given)

    monkeypatch.setattr(door, "open_view", nothing)
    for tool, arguments in QUESTIONS:
        asked.clear()
        if tool != "search_codebase":
            assert indexed.ask(tool, **arguments)["status"] == "not_indexed"
            assert asked
    monkeypatch.setenv("CAIRN_HOME", str(indexed.home))
    monkeypatch.chdir(indexed.tree)
    for line in (["search", "--no-sync", "Lease"], ["outline", "lease.py"], ["symbol", "Lease"], ["read", "lease.py"]):
        asked.clear()
        printed = io.StringIO()
        assert main([*line, "--json", "--offline"], Output(printed, io.StringIO(), {})) == 10
        assert json.loads(printed.getvalue())["status"] == "not_indexed"
        assert asked
