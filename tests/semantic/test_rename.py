"""What stands against a rename, by facts alone; that a plan holds on a codebase is shown in tests/test_edits.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cairn.errors import UsageError
from cairn.semantic.ambiguity import Source
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.gate import Verdict
from cairn.semantic.model import Family
from cairn.semantic.rename import RenamePlan, checked_name, plan_rename
from cairn.semantic.service import FileStateService
from tests.conformance import conforms
from tests.semantic.small_indexer import Memory, refresh

TREE = {"lib.py": b"def greet():\n    greet()\n", "app.py": b"from lib import greet as hi\n\nhi()\n"}


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    found = SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))
    refresh(found, Memory(TREE))
    return found


@contextmanager
def changed(database: SemanticDatabase) -> Iterator[tuple[int, int]]:
    """A transaction, with the number of the symbol that is renamed and that of its file."""
    with database.writing() as db:
        (symbol,) = db.execute("SELECT id FROM identities WHERE symbol LIKE '%greet().'").fetchone()
        (file,) = db.execute("SELECT id FROM files WHERE path = 'lib.py'").fetchone()
        db.execute("INSERT INTO identities (symbol) VALUES ('other x y . z#')")
        yield symbol, file


def planned(database: SemanticDatabase, new: str = "welcome", memory: Memory | None = None) -> RenamePlan:
    with database.reading() as db:
        assert db is not None
        (symbol,) = db.execute("SELECT id FROM identities WHERE symbol LIKE '%greet().'").fetchone()
        service = FileStateService(db, memory or Memory(TREE))
        return plan_rename(service, frozenset([symbol]), "greet", new, sorted(TREE))


def test_an_alias_stays_and_what_it_stands_for_is_renamed(database: SemanticDatabase) -> None:
    plan = planned(database)
    assert (plan.verdict, [(one.path, one.places) for one in plan.edits]) == (
        Verdict.AUTOMATIC,
        [("app.py", 1), ("lib.py", 2)],
    )
    assert b"+from lib import welcome as hi" in plan.patch
    assert b"-hi()" not in plan.patch


def test_comments_and_texts_with_the_name_stay_and_are_counted(database: SemanticDatabase) -> None:
    tree = TREE | {"lib.py": b"__all__ = ['greet']  # greet\n" + TREE["lib.py"]}
    refresh(database, Memory(tree))
    plan = planned(database, memory=Memory(tree))
    assert (plan.verdict, plan.left) == (Verdict.AUTOMATIC, 2)
    assert b"__all__ = ['greet']  # greet" in plan.patch


def test_what_implements_something_of_another_project_keeps_its_name(database: SemanticDatabase) -> None:
    with changed(database) as (symbol, file):
        pass
    with database.writing() as db:
        (other,) = db.execute("SELECT id FROM identities WHERE symbol LIKE 'other%'").fetchone()
        db.execute("INSERT INTO relationships VALUES (?, 1, ?, ?, 'implementation')", (file, symbol, other))
    plan = planned(database)
    assert (plan.verdict, plan.outside, plan.patch) == (Verdict.BLOCKED, ("other x y . z#",), b"")


def test_a_class_is_renamed_without_its_bases_and_without_those_it_is_a_base_of(database: SemanticDatabase) -> None:
    with changed(database) as (symbol, file):
        pass
    with database.writing() as db:
        (other,) = db.execute("SELECT id FROM identities WHERE symbol LIKE 'other%'").fetchone()
        db.execute("INSERT INTO relationships VALUES (?, 1, ?, ?, 'implementation')", (file, other, symbol))
    with database.reading() as db:
        assert db is not None
        facts = FileStateService(db, Memory(TREE)).facts
        assert facts.related(other) == {other}
        assert facts.related(symbol) == {other, symbol}


def test_a_place_that_stands_for_two_symbols_must_be_decided(database: SemanticDatabase) -> None:
    with changed(database) as (_, file):
        pass
    with database.writing() as db:
        (other,) = db.execute("SELECT id FROM identities WHERE symbol LIKE 'other%'").fetchone()
        db.execute(
            "INSERT INTO occurrences (file_id, context_id, identity_id, start_line, start_col, end_line, end_col, role,"
            " layer, anchor_before, anchor_after) SELECT file_id, context_id, ?, start_line, start_col, end_line,"
            " end_col, role, layer, anchor_before, anchor_after FROM occurrences WHERE file_id = ? AND start_line = 2",
            (other, file),
        )
    plan = planned(database)
    assert (plan.verdict, plan.patch) == (Verdict.NEEDS_DECISION, b"")
    assert [(one.source, one.path, one.line) for one in plan.open] == [(Source.SHARED_PLACE, "lib.py", 2)]


def test_the_new_name_in_a_file_to_be_changed_must_be_decided(database: SemanticDatabase) -> None:
    plan = planned(database, "hi")
    assert [(one.source, one.path, one.line) for one in plan.open] == [(Source.NAME_TAKEN, "app.py", 1)]


@conforms("002.DB4")
def test_places_that_have_moved_are_not_part_of_a_plan(database: SemanticDatabase) -> None:
    moved = Memory(TREE | {"app.py": b"# above\n" + TREE["app.py"]})
    plan = planned(database, memory=moved)
    assert plan.verdict is Verdict.BLOCKED
    assert [one.path for one in plan.edits] == ["lib.py"]


@pytest.mark.parametrize(
    ("family", "old", "new", "fits"),
    [
        (Family.PYTHON, "a", "b", True),
        (Family.PYTHON, "a", "é", True),
        (Family.PYTHON, "a", "lambda", False),
        (Family.PYTHON, "__init__", "b", False),
        (Family.PYTHON, "a", "a", False),
        (Family.TYPESCRIPT, "a", "$b", True),
        (Family.TYPESCRIPT, "a", "b c", False),
        (Family.TYPESCRIPT, "a", "", False),
        (Family.GO, "a", "1b", False),
    ],
)
def test_a_new_name_must_be_a_name(family: Family, old: str, new: str, fits: bool) -> None:
    if fits:
        checked_name(family, old, new)
        return
    with pytest.raises(UsageError):
        checked_name(family, old, new)
