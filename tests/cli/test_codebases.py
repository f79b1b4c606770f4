"""`cairn list` and `cairn status` as a person meets them, when an index is there, gone, or of another making."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def answer_of(me: Person, command: str) -> dict[str, Any]:
    found = me.cairn(command, "--json")
    answer: dict[str, Any] = json.loads(found.stdout)
    check(answer, f"cairn.{command}/1")
    return answer


def test_without_any_index_there_is_a_sentence_and_no_home_is_made(me: Person) -> None:
    found = me.cairn("list")
    assert (found.status, found.stdout, found.stderr) == (0, "", "None is indexed.\n")
    assert answer_of(me, "list")["results"] == []
    assert not me.home.exists()


@conforms("001.RD1", "001.ST1", "001.INV1", "001.STL")
def test_an_index_that_is_lost_is_listed_told_and_never_made_by_the_way(me: Person) -> None:
    assert me.cairn("index").status == 0
    (row,) = answer_of(me, "list")["results"]
    assert (row["root"], row["state"], row["stores"], row["trouble"]) == (str(me.tree), "indexed", 1, None)
    assert row["files"] > 0
    assert row["lastSyncAt"]
    assert f"indexed  {row['files']} file" in me.cairn("list").stdout
    shutil.rmtree(me.home / "data")
    (row,) = answer_of(me, "list")["results"]
    assert (row["root"], row["state"], row["stores"]) == (str(me.tree), "not_found", 0)
    create = {"tool": "manage_index", "args": {"action": "create", "path": str(me.tree)}}
    stale = {"completionProof": "missing_marker_doc", "recommendedAction": create}
    status = answer_of(me, "status")
    assert (status["status"], status["reason"], status["hints"]["staleLocal"]) == ("not_indexed", "not_indexed", stale)
    search = json.loads(me.cairn("search", "lease", "--json").stdout)
    assert (search["status"], search["hints"]["staleLocal"]) == ("not_indexed", stale)
    assert not (me.home / "data").exists()
    made = me.cairn("index")
    assert made.status == 0
    assert "Local snapshot claims indexed, but completion proof is missing/invalid" in made.stderr
    assert me.cairn("status").status == 0


@conforms("001.ST2", "001.PREC")
def test_an_index_of_other_settings_is_told_alike_by_status_and_search(me: Person) -> None:
    assert me.cairn("index").status == 0
    (me.home / "config.toml").write_text("[limits]\nmax_file_bytes = 1000\n")
    status, search = answer_of(me, "status"), json.loads(me.cairn("search", "lease", "--json").stdout)
    for answer in (status, search):
        assert answer["status"] == answer["reason"] == "requires_reindex"
        assert answer["hints"]["differs"] == ["limits.maxFileBytes"]
        assert answer["hints"]["recommendedAction"]["args"]["action"] == "reindex"
    assert status["lifecycle"] == "requires_reindex"
    assert me.cairn("status").status == me.cairn("search", "lease").status == 12


def test_an_index_that_was_collected_is_forgotten_and_may_be_made_by_the_way_again(me: Person) -> None:
    assert me.cairn("index").status == 0
    (store,) = (me.home / "data").iterdir()
    (store / "last_used").write_text("2020-01-01T00:00:00Z\n")
    assert me.cairn("gc", "--stores", "--force").status == 0
    assert answer_of(me, "list")["results"] == []
    assert "staleLocal" not in answer_of(me, "status")["hints"]
