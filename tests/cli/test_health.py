"""`cairn health` as a person meets it, on real indexes with real damage."""

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


def findings(me: Person) -> dict[str, str | None]:
    answer = json.loads(me.cairn("health", "--json").stdout)
    check(answer, "cairn.health/1")
    return {row["code"]: row["path"] for row in answer["results"]}


def test_a_sound_index_is_healthy(me: Person) -> None:
    me.cairn("index")
    found = me.cairn("health")
    assert (found.status, found.stdout, found.stderr) == (0, "The index is healthy.\n", "")
    assert findings(me) == {}


def test_a_folder_without_an_index_is_no_error(me: Person) -> None:
    found = me.cairn("health")
    assert found.status == 0
    assert found.stdout == f"note: {me.tree} is not indexed.\nThere is no index that answers: 1 note.\n"


@conforms("003.SUM2")
def test_one_flipped_bit_is_found_and_the_way_out_is_named(me: Person) -> None:
    me.cairn("index")
    me.damage()
    found = me.cairn("health")
    assert found.status == 90
    assert "error: " in found.stdout
    assert found.stdout.splitlines()[-1].startswith("The index is damaged: ")
    assert "cairn repair" in found.stderr
    assert me.cairn("health", "--json").status == 90
    assert me.cairn("repair").status == 0
    assert me.cairn("status").status == 0


@conforms("003.CI2")
def test_names_that_are_one_file_elsewhere_are_shown_with_their_paths(me: Person) -> None:
    (me.tree / "src" / "Lease.py").write_text("x = 1\n")
    found = me.cairn("health")
    assert found.status == 0
    assert "warning: src/Lease.py: " in found.stdout
    assert "from src/lease.py:" in found.stdout
    assert findings(me)["name_collision"] == "src/Lease.py"


@conforms("003.LOOP2")
def test_a_link_that_leads_back_to_itself_is_left_out_and_shown(me: Person) -> None:
    (me.tree / "loop\x1b").symlink_to("loop\x1b")
    me.cairn("index")
    found = me.cairn("health")
    assert found.status == 0
    assert "note: loop\\x1b: It is a link that leads back to itself" in found.stdout
    assert findings(me)["symlink_loop"] == "loop\\x1b"
