"""An agent's search: the first one indexes, each sees what was saved, and a page names the next."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from cairn.answer.pasted import pasted
from cairn.ask import runs as module
from cairn.ask.runs import Action, Patience
from cairn.core.progress import Progress
from cairn.store.publish.lease import RunKind
from tests.conformance import conforms
from tests.support.commands import typed
from tests.support.servers import AT_ONCE, PATIENT, Agent
from tests.support.waiting import PATIENCE


def test_the_first_search_in_a_folder_indexes_it_and_answers(agent: Agent) -> None:
    answer = agent.ask("search_codebase", query="steal the lease")
    assert (answer["status"], answer["freshness"]["mode"]) == ("ok", "synced")
    assert answer["results"][0]["path"] == "lease.py"


@conforms("004.CU12")
def test_a_build_that_takes_long_is_told_with_its_progress_and_goes_on(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    real = module._ENGINES[Action.CREATE]

    def slow(codebase: Any, options: Any, tell: Any, **more: Any) -> Any:
        assert go.wait(PATIENCE)
        return real(codebase, options, tell, **more)

    monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, Action.CREATE: slow})
    first = agent.ask("search_codebase", query="lease", patience=AT_ONCE)
    again = agent.ask("search_codebase", query="lease", patience=AT_ONCE)
    read = agent.ask("read_file", file="lease.py")
    status = agent.ask("index_status")
    # All say the same though the run has not even taken its lease yet, and there is only one run.
    for answer in (first, again, read, status):
        assert (answer["status"], answer["reason"]) == ("not_ready", "indexing")
        assert answer["hints"]["status"]["args"] == {"action": "status", "path": str(agent.tree)}
    assert first["hints"]["retryAfterMs"] > 0
    assert first["indexing"]["indexingType"] == "full"
    go.set()
    run = agent.desk.runs.active(str(agent.tree))
    assert run is None or run.wait(PATIENCE)
    assert agent.ask("search_codebase", query="lease", patience=PATIENT)["status"] == "ok"


def test_who_waits_for_the_first_build_is_told_how_far_it_is_and_may_leave(agent: Agent) -> None:
    told: list[Progress] = []
    answer = agent.ask(
        "search_codebase", query="lease", patience=Patience(cancelled=lambda: True, progress=told.append)
    )
    assert (answer["status"], answer["error"]["code"]) == ("error", "cancelled")
    # The build is for everybody and goes on.
    run = agent.desk.runs.active(str(agent.tree))
    assert run is not None
    assert run.wait(PATIENCE)
    assert agent.ask("search_codebase", query="lease")["status"] == "ok"


@pytest.mark.parametrize("case", ["cleared", "settings", "too many", "failed"])
def test_what_is_not_indexed_for_a_reason_is_not_indexed_by_a_search(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    if case == "cleared":
        agent.index()
        agent.ask("manage_index", action="clear", force=True)
    if case == "settings":
        agent.settings("[search]\nauto_index = false\n")
    if case == "too many":
        (agent.tree / "second.py").write_text("x = 1\n")
        agent.settings("[index]\nask_above = 1\n")
    if case == "failed":
        monkeypatch.setattr(module, "_ENGINES", {Action.CREATE: lambda *_, **__: 1 // 0})
        assert agent.ask("search_codebase", query="lease")["status"] == "not_indexed"
    began: list[object] = []
    monkeypatch.setattr(module, "_ENGINES", {Action.CREATE: lambda *_, **__: began.append(1)})
    answer = agent.ask("search_codebase", query="lease")
    assert (answer["status"], answer["reason"], began) == ("not_indexed", "not_indexed", [])
    call = answer["hints"]["recommendedAction"]
    assert (call["tool"], call["args"]) == ("manage_index", {"action": "create", "path": str(agent.tree)})


def test_a_search_right_after_a_save_sees_the_save(indexed: Agent) -> None:
    (indexed.tree / "lease.py").write_text("def brand_new(): ...\n")
    answer = indexed.ask("search_codebase", query="brand_new", mode="symbol", patience=PATIENT)
    assert [row["symbol"] for row in answer["results"]] == ["brand_new"]
    assert (answer["freshness"]["mode"], answer["freshness"]["changedFiles"]) == ("synced", 1)
    (indexed.tree / "lease.py").unlink()
    (indexed.tree / ".cairnignore").write_text("other/\n")
    gone = indexed.ask("search_codebase", query="brand_new", mode="symbol", patience=PATIENT)
    assert (gone["results"], gone["coverage"]["exhaustive"]) == ([], True)
    assert gone["freshness"]["mode"] == "reconciled_ignore_change"


@conforms("000.FR1", "000.FR2")
def test_while_another_process_writes_a_search_starts_nothing_and_says_so(indexed: Agent) -> None:
    with indexed.writing(RunKind.SYNC):
        before = indexed.stored()
        answer = indexed.ask("search_codebase", query="lease")
        assert (answer["status"], answer["freshness"]["mode"]) == ("ok", "skipped_indexing")
        assert indexed.desk.runs.last(str(indexed.tree)) is None
        assert indexed.stored() == before


def test_the_old_snapshot_answers_who_takes_it_while_a_new_one_is_built(indexed: Agent) -> None:
    with indexed.writing(RunKind.REINDEX):
        closed = indexed.ask("search_codebase", query="lease")
        answer = indexed.ask("search_codebase", query="lease", allowStale=True)
    assert closed["hints"]["lastGood"]["snapshot"] == answer["snapshot"]["id"]
    assert (answer["status"], answer["freshness"]["mode"]) == ("ok", "stale_ok")


@conforms("000.D7", "000.BLK5")
def test_what_would_prove_the_index_is_told_only_to_who_looks_for_a_fault(indexed: Agent) -> None:
    with indexed.writing(RunKind.REINDEX):
        told = indexed.ask("search_codebase", query="lease", debug=True)
        assert told["hints"]["debugIndexing"] == {"completionProof": "marker_doc", "markerPresent": True}
        assert "debugIndexing" not in indexed.ask("search_codebase", query="lease")["hints"]
    answer = indexed.ask("search_codebase", query="lease", debug=True)
    assert {"fingerprints", "timingsMs"} <= set(answer)
    assert {"fileHash", "reasons"} <= set(answer["results"][0])


def test_a_page_names_the_whole_call_for_the_next_one(indexed: Agent) -> None:
    asked = {"query": "def|return", "mode": "regex", "groupBy": "none", "limit": 1, "languages": ["python"]}
    answer = indexed.ask("search_codebase", **asked, patience=PATIENT)
    seen = []
    # The same snapshot answers to the end, whatever is saved meanwhile.
    (indexed.tree / "lease.py").write_text("def another(): ...\n")
    while True:
        seen += [row["matchLines"][0] for row in answer["results"]]
        call = answer["hints"].get("continuation")
        if call is None:
            break
        assert call["tool"] == "search_codebase"
        answer = indexed.ask(call["tool"], **call["args"])
        assert answer["status"] == "ok", answer
    assert seen == [2, 3, 6, 7]


def test_a_path_inside_the_codebase_is_searched_alone(agent: Agent) -> None:
    for folder in ("one", "two"):
        (agent.tree / folder).mkdir()
        (agent.tree / folder / "x.py").write_text("def needle(): ...\n")
    answer = agent.ask("search_codebase", path="two", query="needle", mode="symbol")
    assert [row["path"] for row in answer["results"]] == ["two/x.py"]
    again = agent.ask("search_codebase", query="needle", mode="symbol")
    assert [row["path"] for row in again["results"]] == ["one/x.py", "two/x.py"]


def test_lines_of_a_file_that_are_not_named_are_counted(indexed: Agent) -> None:
    """A file with very many matches is one result: whoever edits them all must know that these are not all."""
    (indexed.tree / "many.py").write_text("MANY = 1\n" * 350)
    answer = indexed.ask("search_codebase", query="MANY", mode="regex", patience=PATIENT)
    [row] = answer["results"]
    assert (len(row["matchLines"]), row["matchLinesLeft"]) == (100, 250)
    assert answer["limitsHit"] == [{"field": "matchLines", "shown": 100, "left": 250}]
    said = pasted(answer)
    assert '"left":250' in said.head
    assert "and 250 more lines of this file" in said.text
    printed = typed(("search", "MANY", "--mode", "regex"), indexed.tree, indexed.variables())
    assert re.search(r"also on .* and \d+ more\n", printed.stdout), printed
    (indexed.tree / "many.py").write_text("MANY = 1\n" * 100)
    answer = indexed.ask("search_codebase", query="MANY", mode="regex", patience=PATIENT)
    assert answer["limitsHit"] == []
    assert "matchLinesLeft" not in answer["results"][0]


def test_a_line_begins_behind_a_byte_order_mark(indexed: Agent) -> None:
    (indexed.tree / "mark.py").write_bytes(b"\xef\xbb\xbfMARK = 1\n\xef\xbb\xbf\nMARK = 2\n")
    for pattern, lines in (("^MARK", [1, 3]), ("^MARK = 1$", [1]), ("^$", [2]), (r"\^MARK", []), ("[^M]ARK", [])):
        found = indexed.ask("search_codebase", query=pattern, mode="regex", path="mark.py", patience=PATIENT)["results"]
        assert [line for hit in found for line in hit["matchLines"]] == lines, pattern
