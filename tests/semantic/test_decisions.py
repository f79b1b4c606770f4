"""Decisions are replayed for identical inputs only, and what is kept of them is checked before it is believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.semantic.database import SemanticDatabase
from cairn.semantic.decisions import Decision, Inputs, record, replay
from tests.conformance import conforms

INPUTS = Inputs("s" * 64, "head", (("a.py", "1"), ("b.py", "2")))
DECISION = Decision(INPUTS.signature, ("a.py:1",), {"note": "why"}, 5.0)


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


def kept(database: SemanticDatabase, inputs: Inputs) -> Decision | None:
    return database.ask(lambda db: replay(db, inputs))


@conforms("002.DB3")
def test_a_decision_is_replayed_for_the_same_and_for_nothing_else(database: SemanticDatabase) -> None:
    with database.writing() as db:
        record(db, INPUTS, DECISION)
    assert kept(database, INPUTS) == DECISION
    assert kept(database, replace(INPUTS, file_hashes=tuple(reversed(INPUTS.file_hashes)))) == DECISION
    for other in (
        replace(INPUTS, signature="t" * 64),
        replace(INPUTS, head="other"),
        replace(INPUTS, head=""),
        replace(INPUTS, file_hashes=(("a.py", "1"), ("b.py", "3"))),
        replace(INPUTS, file_hashes=(("a.py", "1"),)),
        replace(INPUTS, file_hashes=()),
    ):
        assert kept(database, other) is None


@conforms("002.DB3")
def test_a_dirty_tree_at_the_same_commit_has_a_decision_of_its_own(database: SemanticDatabase) -> None:
    dirty = replace(INPUTS, file_hashes=(("a.py", "changed"), ("b.py", "2")))
    other = replace(DECISION, selected=("accept",))
    with database.writing() as db:
        record(db, INPUTS, DECISION)
        record(db, dirty, other)
    assert (kept(database, INPUTS), kept(database, dirty)) == (DECISION, other)


def test_a_decision_may_be_made_anew(database: SemanticDatabase) -> None:
    again = replace(DECISION, selected=("accept",), created_at=6.0)
    for one in (DECISION, again):
        with database.writing() as db:
            record(db, INPUTS, one)
    assert kept(database, INPUTS) == again


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE decision_cache SET decision = 'no json'",
        "UPDATE decision_cache SET decision = '[]'",
        "UPDATE decision_cache SET decision = '{\"selected\": [1]}'",
        "UPDATE decision_cache SET decision = '{}'",
        "UPDATE decision_cache SET proof_payload = '1'",
        "UPDATE decision_cache SET file_hashes = '{}'",
    ],
)
def test_what_is_no_decision_is_not_replayed(database: SemanticDatabase, damage: str) -> None:
    with database.writing() as db:
        record(db, INPUTS, DECISION)
        db.execute(damage)
    assert kept(database, INPUTS) is None
