"""The list of codebases: one row for each root, and none that is lost because its index is in trouble."""

from __future__ import annotations

import json
from typing import Any

from cairn.answer.stores import codebase_list
from cairn.store.registry import RunOutcome, Tracked
from cairn.sync.inventory import StoreEntry, StoreTrouble
from tests.schemas import check


def entry(store: str, root: str | None, **more: Any) -> StoreEntry:
    return StoreEntry(store, f"/home/data/{store}", 0, root=root, **more)


def listed(
    *stores: StoreEntry, roots: dict[str, str] | None = None, tracked: tuple[Tracked, ...] = (), budget: int = 65_536
) -> dict[str, Any]:
    envelope = codebase_list(stores, roots=roots, tracked=tracked, budget=budget)
    answer: dict[str, Any] = json.loads(envelope.to_json())
    check(answer, "cairn.list/1")
    return answer


def test_the_indexes_of_one_root_are_one_row_with_the_one_that_answers() -> None:
    newer = entry("b", "/r", active_snapshot_id="0" * 26, last_used_at="2026-01-02T00:00:00Z", root_exists=True)
    older = entry("c", "/r", active_snapshot_id="1" * 26, last_used_at="2026-01-01T00:00:00Z", writer_alive=True)
    empty = entry("a", "/r", last_used_at="2026-01-03T00:00:00Z")
    (row,) = listed(newer, older, empty)["results"]
    assert (row["root"], row["store"], row["stores"], row["isIndexing"]) == ("/r", "b", 3, True)


def test_rows_stand_in_order_of_their_roots_whatever_order_they_come_in() -> None:
    stores = [entry("a", "/z"), entry("b", "/a"), entry("c", None), entry("d", None)]
    rows = listed(*stores)["results"]
    assert [row["root"] for row in rows] == [None, None, "/a", "/z"]
    assert rows == listed(*reversed(stores))["results"]


def test_an_index_in_trouble_keeps_the_root_that_it_had_said() -> None:
    broken = entry("a", None, trouble=StoreTrouble("store_io", "The disk\nfailed."))
    (row,) = listed(broken, roots={"a": "/r"})["results"]
    assert (row["root"], row["trouble"]) == ("/r", {"code": "store_io", "message": "The disk\\x0afailed."})


def test_an_index_in_which_nothing_was_published_is_of_the_root_that_its_name_begins_with() -> None:
    whole, killed = entry("tree__00__aa", "/r", active_snapshot_id="0" * 26), entry("tree__00__bb", None)
    other = entry("tree__01__bb", None)
    assert [(row["root"], row["stores"]) for row in listed(whole, killed, other)["results"]] == [(None, 1), ("/r", 2)]


def test_a_long_list_is_cut_and_says_so() -> None:
    answer = listed(*(entry(f"{number:04}", f"/root/{number:04}") for number in range(500)), budget=8_192)
    (cut,) = answer["limitsHit"]
    assert cut["shown"] + cut["left"] == 500
    assert len(json.dumps(answer)) < 8_192


def remembered(root: str, store: str, kind: str, outcome: RunOutcome) -> Tracked:
    time = "2026-01-01T00:00:00Z"
    return Tracked(root, store, time, False, "model", kind, outcome, time)


def test_what_the_registry_remembers_stands_beside_what_the_stores_say() -> None:
    full = entry("a", "/a", active_snapshot_id="0" * 26, files=3, last_sync_at="2026-01-02T00:00:00Z")
    broken = entry("b", None, trouble=StoreTrouble("store_io", "The disk failed."))
    tracked = (
        remembered("/a", "a", "sync", RunOutcome.SUCCEEDED),
        remembered("/b", "b", "create", RunOutcome.FAILED),
        remembered("/gone", "c", "create", RunOutcome.SUCCEEDED),
    )
    rows = listed(full, broken, tracked=tracked)["results"]
    assert [(row["root"], row["state"], row["stores"]) for row in rows] == [
        ("/a", "sync_completed", 1),
        ("/b", "indexfailed", 1),
        ("/gone", "not_found", 0),
    ]
    assert (rows[0]["files"], rows[0]["lastSyncAt"], rows[0]["embeddingModel"]) == (3, "2026-01-02T00:00:00Z", "model")


def test_a_run_at_work_is_indexing_only_when_it_replaces_what_is_there() -> None:
    writing = entry("a", "/a", active_snapshot_id="0" * 26, writer_alive=True)
    states = [
        listed(writing)["results"][0]["state"],
        listed(writing, tracked=(remembered("/a", "a", "reindex", RunOutcome.BEGUN),))["results"][0]["state"],
        listed(entry("a", "/a", writer_alive=True))["results"][0]["state"],
        listed(entry("a", "/a", active_snapshot_id="0" * 26, cleared=True))["results"][0]["state"],
    ]
    assert states == ["indexed", "indexing", "indexing", "not_found"]
