"""Contexts as they are kept: exactly those that were found, and nothing known under other settings is believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.semantic.catalog import has_contexts, register, stored
from cairn.semantic.database import SemanticDatabase
from tests.semantic.pinned import CONTEXT

OTHER = replace(CONTEXT, id="python:x", root="x", name="x", include=("x/y",), punched=("x/z",), why="because")


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), "/project")


def count(database: SemanticDatabase) -> int:
    found = database.ask(lambda db: db.execute("SELECT count(*) FROM file_semantic_facts").fetchone())
    assert found is not None
    return int(found[0])


def test_contexts_are_kept_and_what_was_known_under_other_settings_is_believed_no_more(
    database: SemanticDatabase,
) -> None:
    with database.writing() as db:
        register(db, [CONTEXT, OTHER])
        assert stored(db) == (CONTEXT, OTHER)
        db.execute("INSERT INTO files VALUES (1, 'a.py', 'python', 'h', 'i', 0)")
        (key,) = db.execute("SELECT id FROM contexts WHERE key = 'python:.'").fetchone()
        db.execute("INSERT INTO file_semantic_facts VALUES (1, ?, '', 'h', '[]', 0, '')", (key,))
    with database.writing() as db:
        register(db, [replace(CONTEXT, name="another name", why="another reason")])
        assert [context.name for context in stored(db)] == ["another name"]
    assert count(database) == 1
    changed = replace(CONTEXT, config_hash="other settings")
    with database.writing() as db:
        register(db, [changed])
        assert stored(db) == (changed,)
    assert count(database) == 0


def test_a_codebase_is_set_up_once_it_has_contexts(database: SemanticDatabase) -> None:
    assert not has_contexts(database)
    with database.writing() as db:
        register(db, [])
    assert not has_contexts(database)
    with database.writing() as db:
        register(db, [CONTEXT])
    assert has_contexts(database)


@pytest.mark.parametrize("change", ["language = 'klingon'", "include = 'x'", "punched = '7'"])
def test_a_context_that_we_would_not_have_written_hides_no_other(database: SemanticDatabase, change: str) -> None:
    with database.writing() as db:
        register(db, [CONTEXT, OTHER])
        db.execute(f"UPDATE contexts SET {change} WHERE key = 'python:x'")
        assert stored(db) == (CONTEXT,)
