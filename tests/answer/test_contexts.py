"""What is said about the parts of a codebase that an indexer understands."""

from __future__ import annotations

import json
from typing import Any

from cairn.answer.semantic import DetachedRow, ListedContext, context_list
from tests.schemas import check


def row(number: int = 1, **more: Any) -> ListedContext:
    values = {
        "id": f"python:p{number}",
        "family": "python",
        "root": f"p{number}",
        "name": "shop",
        "fence": f"p{number}/pyproject.toml",
        "why": "It is a package.",
        "files": 3,
        "config_hash": "0" * 64,
        "punched": (),
        "indexer": "scip-python",
        "program": None,
        "trouble": "there is no program scip-python on PATH",
        "install": "npm install",
        "tested": True,
    }
    return ListedContext(**{**values, **more})


def listed(*rows: ListedContext, detached: tuple[DetachedRow, ...] = (), budget: int = 65_536) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(context_list(rows, detached, path=".", root="/r", budget=budget).to_json())
    check(answer, "cairn.contexts/1")
    return answer


def test_a_context_is_shown_with_its_reason_and_its_indexer() -> None:
    answer = listed(row(), detached=(DetachedRow("go", "b", "go.work", "It is not listed."),))
    (one,) = answer["results"]
    assert (one["id"], one["files"], one["why"]) == ("python:p1", 3, "It is a package.")
    assert one["indexer"]["trouble"].startswith("there is no program")
    assert answer["detached"][0]["fence"] == "go.work"


def test_an_indexer_that_is_there_has_no_trouble_and_a_context_may_have_no_fence() -> None:
    (one,) = listed(row(program="/bin/x", trouble="", fence=""))["results"]
    assert (one["indexer"]["trouble"], one["indexer"]["program"], one["fence"]) == (None, "/bin/x", None)


def test_what_a_project_calls_itself_cannot_play_tricks() -> None:
    (one,) = listed(row(name="a\x1b[31m\u202eb" + "x" * 5_000))["results"]
    assert "\x1b" not in one["name"]
    assert len(one["name"]) < 1_010


def test_long_lists_are_cut_and_say_so() -> None:
    rows = [row(number, punched=tuple(f"h{hole}" for hole in range(500))) for number in range(400)]
    lost = tuple(DetachedRow("go", f"d{number}", "go.work", "x" * 100) for number in range(1_000))
    answer = listed(*rows, detached=lost)
    assert {cut["field"] for cut in answer["limitsHit"]} == {"results", "detached"}
    assert len(json.dumps(answer)) < 65_536
    assert (len(answer["results"][0]["nested"]), answer["results"][0]["nestedCount"]) == (100, 500)
