"""How fresh every file of a codebase is at a snapshot: one look at the database, kept until one of the two changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from cairn.semantic.database import Connection
from cairn.semantic.state import Known, Now, Standing, standings

Key = tuple[int, int]
"""A context and a file."""

_STAMP = """SELECT count(*), total(refreshed_at), max(refreshed_at),
    (SELECT max(id) FROM refresh_jobs WHERE status = 'completed'),
    (SELECT group_concat(key || ' ' || config_hash || ' ' || enabled) FROM contexts) FROM file_semantic_facts"""
_FACTS = "SELECT context_id, file_id, content_hash_at_index, ambiguity_flags FROM file_semantic_facts"
_SILENT = "SELECT s.context_id, f.id, s.content_hash FROM silent_files s JOIN files f ON f.path = s.path"
_EDGES = "SELECT context_id, source_file, target_file, interface_hash_at_index FROM edges"
_CONTEXTS = "SELECT id, key, language, root, name FROM contexts WHERE enabled = 1 ORDER BY id"


class ContextRow(NamedTuple):
    """A context of the database that is in use."""

    id: int
    key: str
    language: str
    root: str
    name: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The contexts in use, the files by number, how fresh each is, where facts of a path are, and their flags."""

    contexts: dict[int, ContextRow]
    paths: dict[int, str]
    standings: dict[Key, Standing[Key]]
    keys: dict[str, list[Key]]
    flags: dict[Key, tuple[str, ...]]


def stamp_of(db: Connection) -> str:
    """Another one after every import, and when contexts change."""
    return json.dumps(db.execute(_STAMP).fetchone())


def picture_of(db: Connection, now: Callable[[str], Now | None]) -> Picture:
    """The picture at a snapshot, of which `now` tells the files."""
    contexts = {row[0]: ContextRow(*row) for row in db.execute(_CONTEXTS)}
    paths: dict[int, str] = dict(db.execute("SELECT id, path FROM files"))
    indexed: dict[Key, str] = {}
    flags: dict[Key, tuple[str, ...]] = {}
    for context, file, at, said in db.execute(_FACTS):
        if context in contexts:
            indexed[context, file] = at
            if said != "[]":
                flags[context, file] = _flags(said)
    # A file of which an indexer had nothing to say can be leaned on, for as long as it is the same.
    silent = {(context, file): at for context, file, at in db.execute(_SILENT) if context in contexts}
    known = _known(db, silent | indexed)
    look = cache(now)
    keys: dict[str, list[Key]] = {}
    for key in sorted(indexed):
        keys.setdefault(paths[key[1]], []).append(key)
    return Picture(contexts, paths, standings(known, lambda key: look(paths[key[1]])), keys, flags)


def _known(db: Connection, hashes: dict[Key, str]) -> dict[Key, Known[Key]]:
    """What was recorded of each file, and what it leans on."""
    # A file that another context understands is as fresh as it is there.
    owners: dict[int, Key] = {key[1]: key for key in sorted(hashes, reverse=True)}
    depends: dict[Key, dict[Key, str]] = {key: {} for key in hashes}
    for context, source, target, interface in db.execute(_EDGES):
        leans = depends.get((context, source))
        if leans is not None and source != target:
            key = (context, target)
            leans[key if key in hashes else owners.get(target, key)] = interface
    return {key: Known(at, depends[key]) for key, at in hashes.items()}


def _flags(said: str) -> tuple[str, ...]:
    """The flags of a file; of what is none of our making only that there is something."""
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ("unknown",)
