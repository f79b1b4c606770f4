"""`cairn audit` as a person and a script meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_an_index_that_fits_its_files_is_clean(me: Person) -> None:
    me.cairn("index")
    found = me.cairn("audit", "--full")
    assert (found.status, found.stderr) == (0, "")
    assert found.stdout.startswith("The index is what the files are: 3 files indexed, ")
    answer = json.loads(me.cairn("audit", "--json").stdout)
    check(answer, "cairn.audit/1")
    coverage = answer["coverage"]
    assert answer["verdict"] == "clean"
    assert coverage["walked"] == coverage["indexed"] + coverage["skipped"] + coverage["missing"]


def test_files_that_moved_on_are_no_damage_and_have_an_exit_status_of_their_own(me: Person) -> None:
    me.cairn("index")
    (me.tree / "new.py").write_text("x = 1\n")
    found = me.cairn("audit")
    assert found.status == 93
    assert "warning: new.py: It belongs in the index, and is not in it." in found.stdout
    assert "cairn sync" in found.stderr
    assert me.cairn("audit", "--json").status == 93
    me.cairn("sync")
    assert me.cairn("audit").status == 0


@conforms("003.AUD2")
def test_a_damaged_index_is_told_with_the_way_to_mend_it(me: Person) -> None:
    me.cairn("index")
    me.damage()
    found = me.cairn("audit")
    assert found.status == 90
    assert found.stdout.splitlines()[-1].startswith("The index is damaged")
    assert "cairn repair" in found.stderr
    answer = json.loads(me.cairn("audit", "--json").stdout)
    check(answer, "cairn.audit/1")
    assert answer["verdict"] == "damaged"
    assert {row["code"] for row in answer["results"]} == {"artifact_damaged"}


def test_a_long_list_is_cut_and_a_wrong_call_is_told(me: Person) -> None:
    me.cairn("index")
    for number in range(60):
        (me.tree / f"n{number}.py").write_text("x = 1\n")
    assert "and 10 more; --json lists them." in me.cairn("audit").stdout
    assert me.cairn("audit", "--sample", "-1").status == 2
    assert me.cairn("audit", "--sample", "1", "--full").status == 2


def test_without_an_index_there_is_nothing_to_audit(me: Person) -> None:
    assert me.cairn("audit").status == 10
