"""Decisions are replayed for identical inputs only, and what is kept of them is checked before it is believed."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from cairn.semantic.ambiguity import AmbiguitySource
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.editing import (
    Decision,
    EditReach,
    FileStateService,
    GateFile,
    Inputs,
    MutationGate,
    Verdict,
    reach_of,
    record,
    replay,
    verdict_of,
)
from cairn.semantic.model import Certainty, FactFreshness, FileState
from tests.conformance import conforms
from tests.semantic.small_indexer import Memory, refresh

INPUTS = Inputs("s" * 64, "head", (("a.py", "1"), ("b.py", "2")))
DECISION = Decision(INPUTS.signature, ("a.py:1",), {"note": "why"}, 5.0)


@pytest.fixture
def empty_database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


def kept(empty_database: SemanticDatabase, inputs: Inputs) -> Decision | None:
    return empty_database.ask(lambda db: replay(db, inputs))


@conforms("002.DB3")
def test_a_decision_is_replayed_for_the_same_and_for_nothing_else(empty_database: SemanticDatabase) -> None:
    with empty_database.writing() as db:
        record(db, INPUTS, DECISION)
    assert kept(empty_database, INPUTS) == DECISION
    assert kept(empty_database, replace(INPUTS, file_hashes=tuple(reversed(INPUTS.file_hashes)))) == DECISION
    for other in (
        replace(INPUTS, signature="t" * 64),
        replace(INPUTS, head="other"),
        replace(INPUTS, head=""),
        replace(INPUTS, file_hashes=(("a.py", "1"), ("b.py", "3"))),
        replace(INPUTS, file_hashes=(("a.py", "1"),)),
        replace(INPUTS, file_hashes=()),
    ):
        assert kept(empty_database, other) is None


@conforms("002.DB3")
def test_a_dirty_tree_at_the_same_commit_has_a_decision_of_its_own(empty_database: SemanticDatabase) -> None:
    dirty = replace(INPUTS, file_hashes=(("a.py", "changed"), ("b.py", "2")))
    other = replace(DECISION, selected=("accept",))
    with empty_database.writing() as db:
        record(db, INPUTS, DECISION)
        record(db, dirty, other)
    assert (kept(empty_database, INPUTS), kept(empty_database, dirty)) == (DECISION, other)


def test_a_decision_may_be_made_anew(empty_database: SemanticDatabase) -> None:
    again = replace(DECISION, selected=("accept",), created_at=6.0)
    for one in (DECISION, again):
        with empty_database.writing() as db:
            record(db, INPUTS, one)
    assert kept(empty_database, INPUTS) == again


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
def test_what_is_no_decision_is_not_replayed(empty_database: SemanticDatabase, damage: str) -> None:
    with empty_database.writing() as db:
        record(db, INPUTS, DECISION)
        db.execute(damage)
    assert kept(empty_database, INPUTS) is None


# --- The truth table of the mutation gate: fifteen states, and one way through by itself.


@conforms("002.AX3")
def test_of_fifteen_states_one_is_automatic_one_needs_a_decision_and_the_rest_is_blocked() -> None:
    table = {pair: verdict_of(FileState(*pair)) for pair in product(FactFreshness, Certainty)}
    assert len(table) == 15
    assert table.pop((FactFreshness.CLEAN, Certainty.CERTAIN)) is Verdict.AUTOMATIC
    assert table.pop((FactFreshness.CLEAN, Certainty.AMBIGUOUS)) is Verdict.NEEDS_DECISION
    assert set(table.values()) == {Verdict.BLOCKED}


@conforms("002.AX3")
def test_decisions_open_the_gate_for_what_is_ambiguous_and_for_nothing_else() -> None:
    table = {pair: verdict_of(FileState(*pair), decided=True) for pair in product(FactFreshness, Certainty)}
    assert {pair for pair, verdict in table.items() if verdict is Verdict.AUTOMATIC} == {
        (FactFreshness.CLEAN, Certainty.CERTAIN),
        (FactFreshness.CLEAN, Certainty.AMBIGUOUS),
    }


@conforms("002.LAY1")
@pytest.mark.parametrize("parsed", [True, False])
def test_only_semantic_facts_that_hold_carry_an_edit_across_files(parsed: bool) -> None:
    assert reach_of(Verdict.AUTOMATIC, parsed=parsed) is EditReach.CROSS_FILE
    for verdict in (Verdict.NEEDS_DECISION, Verdict.BLOCKED):
        assert reach_of(verdict, parsed=parsed) is (EditReach.LOCAL if parsed else EditReach.NONE)


def test_the_worst_file_decides_for_all() -> None:
    def one(verdict: Verdict) -> GateFile:
        return GateFile("a.py", None, FileState(FactFreshness.CLEAN, Certainty.CERTAIN), verdict, EditReach.LOCAL)

    for first, second in product(Verdict, repeat=2):
        worse = max((first, second), key=list(Verdict).index)
        assert MutationGate((one(first), one(second))).verdict is worse
    assert MutationGate(()).verdict is Verdict.BLOCKED


# --- States and gates by path: what is marked, what is decided, and which job cures what.


TREE = {
    "lib.py": b"def greet(): ...\n",
    "twice.py": b"def load(): ...\n\ndef load(): ...\n",
    "base.py": b"class A(Unknown): ...\n",
    "both.py": b"from lib import *\n\ndef f(o):\n    return getattr(o, 'x')\n",
}


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    found = SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))
    refresh(found, Memory(TREE))
    return found


@conforms("002.AX2", "002.FS6")
def test_certainty_comes_from_what_is_ambiguous_and_is_looked_for_once(database: SemanticDatabase) -> None:
    with database.reading() as db:
        assert db is not None
        service = FileStateService(db, Memory(TREE))
        found = {path: service.state(path).certainty for path in TREE}
        assert found.pop("lib.py") is Certainty.CERTAIN
        assert set(found.values()) == {Certainty.AMBIGUOUS}
        assert service.ambiguous("both.py") is service.ambiguous("both.py")
        assert {one.source for one in service.ambiguous("both.py")} == {
            AmbiguitySource.STAR_IMPORT,
            AmbiguitySource.DYNAMIC_ATTRIBUTE,
        }
        assert {one.source for one in service.ambiguous("base.py")} == {AmbiguitySource.UNRESOLVED_BASE}
        assert service.evidence("nothing.txt") is None


@conforms("002.AX3")
def test_every_question_must_be_decided(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    with database.writing() as db:
        service = FileStateService(db, memory, "head")
        (file,) = service.gate(["both.py"]).files
        assert (file.verdict, len(file.open)) == (Verdict.NEEDS_DECISION, 2)
        for left, one in enumerate(file.open):
            record(db, service.inputs(one), Decision(one.signature, ("accept",), {}, 1.0))
            (again,) = FileStateService(db, memory, "head").gate(["both.py"]).files
            assert (len(again.open), len(again.decided)) == (1 - left, left + 1)
        assert again.verdict is Verdict.AUTOMATIC
        assert FileStateService(db, memory, "other").gate(["both.py"]).verdict is Verdict.NEEDS_DECISION


def test_what_the_importer_has_marked_cannot_be_decided_away(database: SemanticDatabase) -> None:
    with database.writing() as db:
        db.execute("UPDATE file_semantic_facts SET ambiguity_flags = '[\"odd\"]'")
    with database.reading() as db:
        assert db is not None
        (file,) = FileStateService(db, Memory(TREE)).gate(["lib.py"]).files
        assert (file.state.certainty, file.verdict) == (Certainty.AMBIGUOUS, Verdict.NEEDS_DECISION)


def test_a_file_that_nobody_has_read_names_the_context_that_would(database: SemanticDatabase) -> None:
    memory = Memory(TREE | {"new.py": b"x = 1\n"})
    with database.reading() as db:
        assert db is not None
        new, other = FileStateService(db, memory).gate(["new.py", "other.txt"]).files
        assert (new.context, new.state.freshness) == ("python:.", FactFreshness.UNINDEXED)
        assert other.context is None
        assert new.witness is not None
        assert "refresh" in new.witness.cure


def test_a_file_that_the_indexer_is_silent_about_is_not_to_be_refreshed_again_and_again(
    database: SemanticDatabase,
) -> None:
    memory = Memory(TREE | {"other.py": b"def greet(): ...\n"})
    now = memory.now("other.py")
    assert now is not None
    with database.writing() as db:
        db.execute("INSERT INTO silent_files VALUES (1, 'other.py', ?)", (now.content_hash,))
        (file,) = FileStateService(db, memory).gate(["other.py"]).files
        assert (file.state.freshness, file.verdict) == (FactFreshness.UNINDEXED, Verdict.BLOCKED)
        assert file.witness is not None
        assert "refresh" not in file.witness.cure
        # Of other bytes it may have something to say.
        memory.files["other.py"] += b"x = 1\n"
        (file,) = FileStateService(db, memory).gate(["other.py"]).files
        assert file.witness is not None
        assert "cairn semantic refresh" in file.witness.cure
