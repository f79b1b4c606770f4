"""The contexts of a codebase as they are kept in its semantic database."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from cairn.semantic.database import Connection, SemanticDatabase
from cairn.semantic.model import Context, Family

_ALL = "SELECT key, language, root, name, fence, config_hash, include, punched, why FROM contexts ORDER BY key"
_PUT = (
    "INSERT INTO contexts (key, language, root, name, fence, config_hash, include, punched, why)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET language = excluded.language,"
    " root = excluded.root, name = excluded.name, fence = excluded.fence, config_hash = excluded.config_hash,"
    " include = excluded.include, punched = excluded.punched, why = excluded.why"
)


def register(db: Connection, contexts: Iterable[Context]) -> None:
    """Keep exactly these contexts. What was known of a file under another setting, or by a lost context, goes."""
    known = {context.id: context for context in stored(db)}
    found = {context.id: context for context in contexts}
    for lost in known.keys() - found.keys():
        db.execute("DELETE FROM contexts WHERE key = ?", (lost,))
    for key, context in found.items():
        before = known.get(key)
        if before is not None and _settings(before) != _settings(context):
            _disbelieve(db, key)
        lists = json.dumps(context.include), json.dumps(context.punched)
        head = key, context.family, context.root, context.name, context.fence, context.config_hash
        db.execute(_PUT, (*head, *lists, context.why))


def stored(db: Connection) -> tuple[Context, ...]:
    """The contexts that are kept, by their ids."""
    return tuple(context for row in db.execute(_ALL) if (context := _context(row)) is not None)


def has_contexts(database: SemanticDatabase) -> bool:
    """Whether indexers have been set up for a codebase."""
    return database.ask(lambda db: db.execute("SELECT 1 FROM contexts WHERE enabled").fetchone()) is not None


def _settings(context: Context) -> tuple[object, ...]:
    """What decides how its files are understood."""
    return context.family, context.root, context.config_hash, context.include, context.punched


def _disbelieve(db: Connection, key: str) -> None:
    # Without this row nothing else that is kept of a file is believed; the next refresh replaces the rest.
    of_context = "DELETE FROM file_semantic_facts WHERE context_id = (SELECT id FROM contexts WHERE key = ?)"
    db.execute(of_context, (key,))


def _context(row: tuple[Any, ...]) -> Context | None:
    """What a row says; None for one that we would not have written."""
    key, family, root, name, fence, config_hash, include, punched, why = row
    try:
        folders = tuple(map(str, json.loads(include))), tuple(map(str, json.loads(punched)))
        return Context(key, Family(family), root, name, fence, config_hash, *folders, why)
    except (ValueError, TypeError):
        return None
