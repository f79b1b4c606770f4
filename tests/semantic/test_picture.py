"""The picture of what is fresh: contexts that are off, files of several contexts, silent files, flags, stamps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.semantic.catalog import register
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.model import Freshness
from cairn.semantic.picture import Picture, picture_of, stamp_of
from tests.semantic.small_indexer import CONTEXT, Memory, refresh

TREE = {"lib.py": b"def greet(): ...\n", "app.py": b"from lib import greet\ngreet()\n"}


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


def picture(database: SemanticDatabase, memory: Memory) -> Picture:
    with database.reading() as db:
        assert db is not None
        return picture_of(db, memory)


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


def test_a_type_that_nobody_wrote_down_is_a_part_of_what_a_file_offers(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "lib.py": b"def greet():\n    return Cat()\n"})
    refresh(database, memory)
    memory.files["lib.py"] = b"def greet():\n    # The same.\n    return Cat()\n"
    refresh(database, memory, ["lib.py"])
    assert set(freshness(database, memory).values()) == {Freshness.CLEAN}
    memory.files["lib.py"] = b"def greet():\n    return Dog()\n"
    assert freshness(database, memory)["app.py"] is Freshness.PENDING_CHECK
    refresh(database, memory, ["lib.py"])
    assert freshness(database, memory)["app.py"] is Freshness.STALE
    refresh(database, memory, ["app.py"])
    assert set(freshness(database, memory).values()) == {Freshness.CLEAN}


# --- files that nobody has told an indexer of -------------------------------------------------------------------------


def test_who_may_import_a_new_file_waits_until_somebody_has_looked(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "other.py": b"import json\n"})
    refresh(database, memory)
    memory.files["lib/__init__.py"] = b"def greet(): ...\n"
    assert freshness(database, memory) == {
        "lib.py": Freshness.CLEAN,
        "app.py": Freshness.PENDING_CHECK,
        "other.py": Freshness.CLEAN,
        "lib/__init__.py": Freshness.UNINDEXED,
    }
    del memory.files["lib/__init__.py"]
    memory.files["json.py"] = b""
    assert freshness(database, memory)["app.py"] is Freshness.CLEAN
    assert freshness(database, memory)["other.py"] is Freshness.PENDING_CHECK
    # A run that has seen both knows what the import means.
    refresh(database, memory)
    assert set(freshness(database, memory).values()) == {Freshness.CLEAN}


def test_a_run_that_reads_a_new_file_alone_makes_stale_who_may_mean_it(database: SemanticDatabase) -> None:
    memory = Memory(TREE)
    refresh(database, memory)
    memory.files["lib/__init__.py"] = b"def greet(): ...\n"
    refresh(database, memory, ["lib/__init__.py"])
    assert freshness(database, memory)["app.py"] is Freshness.STALE
    refresh(database, memory, ["app.py"])
    assert set(freshness(database, memory).values()) == {Freshness.CLEAN}


def test_a_new_file_of_which_the_indexer_had_nothing_to_say_makes_nobody_wait(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "pack/lib.py": b""})
    refresh(database, memory, ["lib.py", "app.py"])
    assert freshness(database, memory)["app.py"] is Freshness.PENDING_CHECK
    now = memory.now("pack/lib.py")
    assert now is not None
    change(database, "INSERT INTO silent_files VALUES (1, 'pack/lib.py', ?)", now.content_hash)
    assert freshness(database, memory)["app.py"] is Freshness.CLEAN
    memory.files["pack/lib.py"] = b"def greet(): ...\n"
    assert freshness(database, memory)["app.py"] is Freshness.PENDING_CHECK


def test_a_context_that_was_never_read_makes_nobody_wait(database: SemanticDatabase) -> None:
    memory = Memory({**TREE, "x/lib.py": b""})
    inner = replace(CONTEXT, id="python:x", root="x")
    with database.writing() as db:
        register(db, [replace(CONTEXT, punched=("x",)), inner])
    refresh(database, memory, context=replace(CONTEXT, punched=("x",)))
    assert set(freshness(database, memory).values()) == {Freshness.CLEAN}


@pytest.mark.parametrize(
    "now",
    [
        {"pyproject.toml": b"[project]\nname = 'other'\n"},
        {},
        {"pyproject.toml": b"[project]\n", "setup.cfg": b""},
    ],
)
def test_a_context_is_stale_while_its_project_files_are_others(
    database: SemanticDatabase, now: dict[str, bytes]
) -> None:
    then = Memory(TREE, {"pyproject.toml": b"[project]\n", "notes.toml": b""})
    refresh(database, then)
    assert set(freshness(database, then).values()) == {Freshness.CLEAN}
    found = freshness(database, Memory(TREE, now))
    assert {found[path] for path in TREE} <= {Freshness.STALE, Freshness.PENDING_CHECK}
    # What lies elsewhere says nothing about this one.
    below = Memory(TREE, {"pyproject.toml": b"[project]\n", "sub/pyproject.toml": b"", "package.json": b""})
    assert {freshness(database, below)[path] for path in TREE} == {Freshness.CLEAN}
