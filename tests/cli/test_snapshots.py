"""`cairn snapshots` as a person meets it, on real indexes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.schemas import check
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_without_an_index_there_are_none_and_the_exit_status_is_10(me: Person) -> None:
    found = me.cairn("snapshots")
    assert (found.status, found.stdout, found.stderr) == (
        10,
        f"{me.tree} is not indexed.\n",
        "Run `cairn index` to index it.\n",
    )
    answer = json.loads(me.cairn("snapshots", "--json").stdout)
    check(answer, "cairn.snapshots/1")
    assert answer["hints"]["status"]["args"] == {"action": "status", "path": str(me.tree)}


def test_they_are_listed_from_the_newest_with_a_star_at_the_one_that_answers(me: Person) -> None:
    me.cairn("index")
    me.commit()
    (me.tree / "src" / "lease.py").unlink()
    me.cairn("sync")
    newest, oldest = me.cairn("snapshots").stdout.splitlines()
    assert newest.startswith("* ")
    assert newest.endswith(f"2 files, 2 chunks; {me.head()[:12]}, with changes")
    assert oldest.startswith("  ")
    assert oldest.endswith("3 files, 3 chunks; no commit")
    answer = json.loads(me.cairn("snapshots", "--json").stdout)
    check(answer, "cairn.snapshots/1")
    assert [(row["files"], row["active"]) for row in answer["results"]] == [(2, True), (3, False)]
