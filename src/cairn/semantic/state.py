"""Freshness and certainty of files, from what was recorded when they were indexed and what they are now.

The worst state that reaches a file along its dependencies wins. A file is dirty when its own bytes differ from the
indexed ones; stale when the interface of a dependency is not the recorded one, or the dependency itself is stale;
pending_check when a dependency is dirty, pending or not indexed; otherwise clean. A cycle of dependencies is no
trouble: a state visits every file once, and all files of a cycle get the same state. When a refresh of a dependency
leaves its interface as recorded, the files that wait for it become clean again without being indexed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Generic, NamedTuple, Protocol, TypeVar

from cairn.core.types import Behind
from cairn.semantic.contexts import project_files, settings_of
from cairn.semantic.database import Connection, has_shapes, stored
from cairn.semantic.importing import owns
from cairn.semantic.model import Certainty, Context, FactFreshness, Family, FileState, family_of
from cairn.semantic.shape import CodeShape, Moves, moves, shape_from_json
from cairn.semantic.symbols import offered_keys

K = TypeVar("K", bound=Hashable)


class Known(NamedTuple, Generic[K]):
    """What was recorded of a file: the hash of its bytes, and the interface that each dependency had then."""

    content_hash: str
    depends: dict[K, str]


class Now(NamedTuple):
    """A file as it is now: the hash of its bytes, and its interface."""

    content_hash: str
    interface_hash: str


class FileStanding(NamedTuple, Generic[K]):
    """The freshness of a file; `cause` is the dependency that it comes from, None when it is the file's own."""

    freshness: FactFreshness
    cause: K | None = None


def standings(known: Mapping[K, Known[K]], now: Callable[[K], Now | None]) -> dict[K, FileStanding[K]]:
    """Return the freshness of every indexed file, and of every other file that an indexed one depends on.

    `now` returns a file as it is, None for a file that is gone; it is called once for each file.
    """
    users: dict[K, list[K]] = {}
    for key, one in known.items():
        for dependency in one.depends:
            users.setdefault(dependency, []).append(key)
    found: dict[K, FileStanding[K]] = {}
    interfaces: dict[K, str | None] = {}
    for key in {**known, **users}:
        is_now = now(key)
        interfaces[key] = is_now and is_now.interface_hash
        if key not in known:
            found[key] = FileStanding(FactFreshness.UNINDEXED)
        elif is_now is None or known[key].content_hash != is_now.content_hash:
            found[key] = FileStanding(FactFreshness.DIRTY)
    own = list(found)
    changed: list[K] = []
    for key, one in known.items():
        if key not in found:
            other = next((each for each, then in one.depends.items() if interfaces[each] != then), None)
            if other is not None:
                found[key] = FileStanding(FactFreshness.STALE, other)
                changed.append(key)
    _spread(FactFreshness.STALE, changed, users, found)
    _spread(FactFreshness.PENDING_CHECK, own, users, found)
    return {key: found.get(key, FileStanding(FactFreshness.CLEAN)) for key in interfaces}


def _spread(
    what: FactFreshness, seeds: list[K], users: Mapping[K, Iterable[K]], found: dict[K, FileStanding[K]]
) -> None:
    """Give a freshness to every file that depends on a seed and has no worse one, each once, the nearest first."""
    following = seeds
    for key in following:
        for user in users.get(key, ()):
            if user not in found:
                found[user] = FileStanding(what, key)
                # The list is the queue: it grows while it is walked.
                following.append(user)


def state_of(standing: FileStanding[K] | None, flags: Iterable[str], shown: Callable[[K], str]) -> FileState:
    """Return the freshness and certainty of a file. Without a standing it was never indexed, and nothing is certain."""
    if standing is None or standing.freshness is FactFreshness.UNINDEXED:
        return FileState(FactFreshness.UNINDEXED, Certainty.UNKNOWN, ("No indexer has read it.",))
    freshness, cause = standing
    if freshness is FactFreshness.DIRTY:
        return FileState(freshness, Certainty.UNKNOWN, ("It has changed since it was indexed.",))
    flags = tuple(flags)
    certainty = Certainty.AMBIGUOUS if flags else Certainty.CERTAIN
    reasons = [] if cause is None else [_BECAUSE[freshness].format(cause=shown(cause))]
    return FileState(freshness, certainty, (*reasons, *flags))


_BECAUSE = {
    FactFreshness.STALE: "What {cause} offers has changed since it was indexed.",
    FactFreshness.PENDING_CHECK: "It depends on {cause}, and whether what that offers has changed is not known yet.",
}


# --- the picture of a whole codebase ----------------------------------------------------------------------------------


Key = tuple[int, int]
"""A context and a file."""
_Known = Known[Key]
_Look = Callable[[str], Now | None]

_STAMP = """SELECT count(*), total(refreshed_at), max(refreshed_at),
    (SELECT max(id) FROM refresh_jobs WHERE status = 'completed'),
    (SELECT group_concat(key || ' ' || config_hash || ' ' || enabled) FROM contexts) FROM file_semantic_facts"""
_FACTS = """SELECT context_id, file_id, content_hash_at_index, ambiguity_flags, reach_hash
    FROM file_semantic_facts"""
_SILENT = "SELECT s.context_id, f.id, s.content_hash FROM silent_files s JOIN files f ON f.path = s.path"
_EDGES = "SELECT context_id, source_file, target_file, interface_hash_at_index, semantic_hash_at_index FROM edges"
_SHAPE = "SELECT shape FROM shapes WHERE context_id = ? AND file_id = ?"
_OTHER = "the project files were others"
_IMPORTERS = "SELECT file_id FROM imported_keys WHERE key = ? AND context_id = ?"
_CONTEXTS = "SELECT id, key, language, root, name FROM contexts WHERE enabled = 1 ORDER BY id"


class StoredContext(NamedTuple):
    """A row of the database for a context in use."""

    id: int
    key: str
    language: str
    root: str
    name: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The contexts in use, the files by number, how fresh each is, where facts of a path are, and their flags.

    `moves` tells of files that have changed where the lines stand now whose facts still hold: those of a clean file all
    do, and those of a dirty file that are outside of the bodies that changed. `behind` counts the files of the snapshot
    of which some facts do not hold, a file that an indexer reads in several contexts once.
    """

    contexts: dict[int, StoredContext]
    paths: dict[int, str]
    standings: dict[Key, FileStanding[Key]]
    keys: dict[str, list[Key]]
    flags: dict[Key, tuple[str, ...]]
    moves: dict[Key, Moves]
    behind: Behind


def stamp_of(db: Connection) -> str:
    """Return a text that changes after every SCIP import and whenever contexts change."""
    return json.dumps(db.execute(_STAMP).fetchone())


class FilesNow(Protocol):
    """The files of a snapshot."""

    def now(self, path: str) -> Now | None:
        """Return a file as it is in the snapshot; None when the snapshot does not hold it."""

    def paths(self) -> Iterable[str]:
        """Return the paths of all files of the snapshot."""

    def shape(self, path: str) -> CodeShape | None:
        """Return which lines of a file are code; None for a file that was not parsed."""


def picture_of(db: Connection, files: FilesNow) -> Picture:
    """Return how fresh every file is at a snapshot, by one look at the whole database."""
    contexts = {row[0]: StoredContext(*row) for row in db.execute(_CONTEXTS)}
    paths: dict[int, str] = dict(db.execute("SELECT id, path FROM files"))
    facts = [row for row in db.execute(_FACTS) if row[0] in contexts]
    indexed: dict[Key, str] = {(context, file): at for context, file, at, _, _ in facts}
    semantic: dict[Key, str] = {(context, file): reach for context, file, _, _, reach in facts}
    flags = {(context, file): _flags(said) for context, file, _, said, _ in facts if said != "[]"}
    # Other files can depend on a silent file for as long as its bytes are the same.
    silent = {(context, file): at for context, file, at in db.execute(_SILENT) if context in contexts}
    known = _known(db, silent | indexed, semantic)
    look, present = cache(files.now), list(files.paths())
    numbers = {path: number for number, path in paths.items()}
    met = {paths[file] for _, file in known}
    knowing = {context: contexts[context] for context in {context for context, _ in known}}
    for context, path, is_now in _arrivals(db, knowing, met, look, present):
        # Every file that may import the new file depends on it; a file without a number gets one below 0.
        number = numbers.setdefault(path, -len(numbers) - 1)
        paths[number] = path
        for word in offered_keys(path):
            for (user,) in db.execute(_IMPORTERS, (word, context)):
                if (context, user) in known:
                    known[context, user].depends.setdefault((context, number), is_now.interface_hash)

    for context, path in _other_settings(db, knowing, look, present).items():
        # Every file of the context depends on the project file that changed.
        number = numbers.setdefault(path, -len(numbers) - 1)
        paths[number] = path
        for key in [key for key in known if key[0] == context]:
            known[key].depends[context, number] = _OTHER
        seen = look(path)
        known[context, number] = Known(seen.content_hash if seen else "", {})

    moved = _moved(db, files, indexed, paths, look)

    def now(key: Key) -> Now | None:
        is_now = look(paths[key[1]])
        if is_now is None:
            return None
        # What differs in a file that has moved, no other file can notice.
        content = indexed[key] if key in moved else is_now.content_hash
        return Now(content, is_now.interface_hash + semantic.get(key, ""))

    keys: dict[str, list[Key]] = {}
    for key in sorted(indexed):
        keys.setdefault(paths[key[1]], []).append(key)
    found = standings(known, now)
    partly = [key for key, where in moved.items() if not where.is_all]
    for key in partly:
        if found[key].freshness is not FactFreshness.CLEAN:
            # What the file depends on is in doubt too, so nothing that was known of it can be believed.
            del moved[key]
        found[key] = FileStanding(FactFreshness.DIRTY)
    clean = {paths[key[1]] for key, one in found.items() if one.freshness is FactFreshness.CLEAN}
    unclean = [path for path in keys if path not in clean and look(path) is not None]
    changed = sum(1 for path in unclean if any(found[key].freshness is FactFreshness.DIRTY for key in keys[path]))
    return Picture(contexts, paths, found, keys, flags, moved, Behind(changed, len(unclean) - changed))


def _moved(
    db: Connection, files: FilesNow, indexed: Mapping[Key, str], paths: Mapping[int, str], look: _Look
) -> dict[Key, Moves]:
    """Return, of each changed file whose frame is as it was, where its lines have moved to."""
    found: dict[Key, Moves] = {}
    if not has_shapes(db):
        return found
    shape = cache(files.shape)
    for key, at in indexed.items():
        is_now = look(paths[key[1]])
        if is_now is None or is_now.content_hash == at:
            continue
        row = db.execute(_SHAPE, key).fetchone()
        then, after = shape_from_json(row[0]) if row else None, shape(paths[key[1]])
        where = moves(then, after) if then is not None and after is not None else None
        if where is not None:
            found[key] = where
    return found


def _known(db: Connection, hashes: dict[Key, str], semantic: dict[Key, str]) -> dict[Key, _Known]:
    """Return what was recorded of each file, and its dependencies by syntax and by what an indexer says."""
    # A file that another context understands is as fresh as it is in that context.
    owners: dict[int, Key] = {key[1]: key for key in sorted(hashes, reverse=True)}
    depends: dict[Key, dict[Key, str]] = {key: {} for key in hashes}
    for context, source, target, interface, said in db.execute(_EDGES):
        leans = depends.get((context, source))
        if leans is not None and source != target:
            key = (context, target) if (context, target) in hashes else owners.get(target, (context, target))
            leans[key] = interface + (said if key in semantic else "")
    return {key: Known(at, depends[key]) for key, at in hashes.items()}


def _other_settings(
    db: Connection, contexts: dict[int, StoredContext], look: _Look, present: Iterable[str]
) -> dict[int, str]:
    """Return the contexts that were read with other project files than there are now, each with one such file."""
    then: dict[int, dict[str, str]] = {}
    for context, path, at in db.execute("SELECT context_id, path, content_hash FROM settings_files"):
        then.setdefault(context, {})[path] = at
    candidates, found = project_files(present), {}
    for context, row in contexts.items():
        was = then.get(context, {})
        here = settings_of(Family(row.language), row.root, candidates)
        is_now = {path: seen.content_hash for path in here if (seen := look(path)) is not None}
        others = sorted(path for path in was.keys() | is_now.keys() if was.get(path) != is_now.get(path))
        if others:
            found[context] = others[0]
    return found


def _arrivals(
    db: Connection, contexts: dict[int, StoredContext], met: set[str], look: _Look, present: Iterable[str]
) -> Iterator[tuple[int, str, Now]]:
    """Yield the files that no run of their context has seen as they are, with the number of the context."""
    silent = {(context, path): at for context, path, at in db.execute("SELECT * FROM silent_files")}
    numbers = {row.key: number for number, row in contexts.items()}
    owners: dict[Family, list[Context]] = {}
    for owner in stored(db):
        if owner.id in numbers:
            owners.setdefault(owner.family, []).append(owner)
    for path in present:
        if path in met or (family := family_of(path)) not in owners or (is_now := look(path)) is None:
            continue
        for owner in owners[family]:
            context = numbers[owner.id]
            if owns(owner, path) and silent.get((context, path)) != is_now.content_hash:
                yield context, path, is_now


def _flags(said: str) -> tuple[str, ...]:
    """Return the flags in a text; a text that Cairn would not have written gives one unknown flag."""
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ("unknown",)
