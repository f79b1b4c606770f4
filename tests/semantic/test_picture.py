"""The picture of what is fresh: contexts that are off, files of several contexts, silent files, flags, stamps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.semantic.database import SemanticDatabase
from cairn.semantic.model import Freshness
from cairn.semantic.picture import Picture, picture_of, stamp_of
from tests.semantic.small_indexer import Memory, refresh

TREE = {"lib.py": b"def greet(): ...\n", "app.py": b"from lib import greet\ngreet()\n"}


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


def picture(database: SemanticDatabase, memory: Memory) -> Picture:
    with database.reading() as db:
        assert db is not None
        return picture_of(db, memory.now)


def freshness(database: SemanticDatabase, memory: Memory) -> dict[str, Freshness]:
    found = picture(database, memory)
    return {found.paths[key[1]]: standing.freshness for key, standing in found.standings.items()}


def change(database: SemanticDatabase, statement: str, *values: object) -> None:
    with database.writing() as db:
        db.execute(statement, values)


def test_a_context_that_is_switched_off_knows_nothing(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    assert set(freshness(database, memory).values()) == {Freshness.CLEAN}
    change(database, "UPDATE contexts SET enabled = 0")
    found = picture(database, memory)
    assert (found.contexts, found.standings, found.keys) == ({}, {}, {})


def test_a_file_of_which_the_indexer_said_nothing_can_be_leaned_on_while_it_is_the_same(
    database: SemanticDatabase,
) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    change(database, "DELETE FROM file_semantic_facts WHERE file_id = (SELECT id FROM files WHERE path = 'lib.py')")
    assert freshness(database, memory) == {"lib.py": Freshness.UNINDEXED, "app.py": Freshness.PENDING_CHECK}
    now = memory.now("lib.py")
    assert now is not None
    change(database, "INSERT INTO silent_files VALUES (1, 'lib.py', ?)", now.content_hash)
    assert freshness(database, memory)["app.py"] is Freshness.CLEAN
    # Asked about itself, nothing is known of it.
    assert "lib.py" not in picture(database, memory).keys
    memory.files["lib.py"] += b"\n"
    assert freshness(database, memory)["app.py"] is Freshness.PENDING_CHECK


@pytest.mark.parametrize(
    ("said", "expected"), [('["odd"]', ("odd",)), ("[1]", ()), ("{}", ("unknown",)), ("no json", ("unknown",))]
)
def test_flags_are_read_with_care(database: SemanticDatabase, said: str, expected: tuple[str, ...]) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    change(database, "UPDATE file_semantic_facts SET ambiguity_flags = ?", said)
    assert set(picture(database, memory).flags.values()) == {expected}


def test_the_stamp_changes_with_every_import_and_every_change_of_contexts(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    stamps = []

    def look() -> None:
        stamps.append(database.ask(stamp_of))

    refresh(database, memory)
    look()
    refresh(database, memory)
    look()
    refresh(database, memory, ["app.py"])
    look()
    change(database, "UPDATE contexts SET config_hash = 'other'")
    look()
    change(database, "DELETE FROM file_semantic_facts WHERE file_id = 1")
    look()
    assert len(set(stamps)) == len(stamps) == 5
    look()
    assert stamps[-1] == stamps[-2]


def test_a_file_that_another_context_knows_is_as_fresh_as_it_is_there(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    with database.writing() as db:
        # The one who is leaned on belongs to a context of its own.
        db.execute(
            "INSERT INTO contexts SELECT 2, 'python:lib', language, 'x', name, fence, config_hash, include, punched,"
            " why, tool_version, enabled, refreshed_at FROM contexts WHERE id = 1"
        )
        of_lib = "(SELECT id FROM files WHERE path = 'lib.py')"
        db.execute(f"UPDATE file_semantic_facts SET context_id = 2 WHERE file_id = {of_lib}")
    assert set(freshness(database, memory).values()) == {Freshness.CLEAN}
    memory.files["lib.py"] += b"\n"
    assert freshness(database, memory) == {"lib.py": Freshness.DIRTY, "app.py": Freshness.PENDING_CHECK}
    assert replace(picture(database, memory)).contexts.keys() == {1, 2}
