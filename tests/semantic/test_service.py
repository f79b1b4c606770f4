"""States and gates by path: what is marked, what is decided, and which job cures what."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.semantic.ambiguity import Source
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.decisions import Decision, record
from cairn.semantic.gate import Verdict
from cairn.semantic.model import Certainty, Freshness
from cairn.semantic.service import FileStateService
from tests.conformance import conforms
from tests.semantic.small_indexer import Memory, refresh

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
        assert {one.source for one in service.ambiguous("both.py")} == {Source.STAR_IMPORT, Source.DYNAMIC_ATTRIBUTE}
        assert {one.source for one in service.ambiguous("base.py")} == {Source.UNRESOLVED_BASE}
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
        assert (new.context, new.state.freshness) == ("python:.", Freshness.UNINDEXED)
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
        assert (file.state.freshness, file.verdict) == (Freshness.UNINDEXED, Verdict.BLOCKED)
        assert file.witness is not None
        assert "refresh" not in file.witness.cure
        # Of other bytes it may have something to say.
        memory.files["other.py"] += b"x = 1\n"
        (file,) = FileStateService(db, memory).gate(["other.py"]).files
        assert file.witness is not None
        assert "cairn semantic refresh" in file.witness.cure
