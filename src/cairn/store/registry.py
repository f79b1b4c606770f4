"""Remember in `registry.db` the codebases of a user, their stores and how the last run over each ended.

The registry lists and proves nothing. It can be lost: what the stores know is filled in again, and only the ends of
runs are forgotten. A writer holds a transaction of SQLite in write-ahead mode. A reader takes only the bytes of the
database file, with no lock and no file beside it, so that reading changes nothing, even on a read-only disk. A reader
does not see what a killed writer left in the log; the next writer restores it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cairn.core.limits import MIB
from cairn.errors import StoreCorrupt
from cairn.store.disk import Disk
from cairn.store.format.document import is_absolute_path, is_store_id, is_time
from cairn.store.fs import Fs, database_of, remove_file

REGISTRY = "registry.db"
FILES = (REGISTRY, f"{REGISTRY}-wal", f"{REGISTRY}-shm", f"{REGISTRY}-journal")

_VERSION = 1
_TABLE = """CREATE TABLE codebases (
    root BLOB PRIMARY KEY,
    store_id TEXT NOT NULL,
    tracked_at TEXT NOT NULL,
    cleared INTEGER NOT NULL,
    embedding_model TEXT,
    last_run_kind TEXT,
    last_run_outcome TEXT,
    last_run_at TEXT,
    last_error_code TEXT
) WITHOUT ROWID"""
_ALL = "SELECT * FROM codebases ORDER BY root"
_PUT = "INSERT OR REPLACE INTO codebases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_MOST_TEXT = 1_000
# SQLite's error messages about damaged bytes need not be valid UTF-8 either.
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)
_MOST_BYTES = 16 * MIB
# If a writer changed the file during a read, the file is read again.
_TRIES = 3


def sqlite_version() -> str:
    """Return the version of SQLite that reads and writes databases."""
    return sqlite3.sqlite_version


def read_registry(fs: Fs) -> tuple[Tracked, ...]:
    """Return all codebases in order of their roots; none without a registry. `StoreCorrupt` when it cannot be read."""
    try:
        data = _steady(fs)
    except FileNotFoundError:
        return ()
    try:
        # Bytes 18 and 19 of the file say "write-ahead mode"; a database in memory has no log, so they are set to "no
        # log".
        with contextlib.closing(database_of(data[:18] + b"\1\1" + data[20:] if data else data)) as db:
            # A first writer that was killed leaves a database without tables.
            return _entries(db) if _has_table(db) else ()
    except _DAMAGE:
        raise StoreCorrupt(artifact="registry", why="it cannot be read") from None


def _steady(fs: Fs) -> bytes:
    for _ in range(_TRIES):
        before = fs.stat(REGISTRY)
        data = fs.read(REGISTRY, _MOST_BYTES)
        if fs.stat(REGISTRY)[:5] == before[:5]:
            break
    return data


class Registry:
    """The registry, open for writing in one transaction; see `open_registry`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def entries(self) -> tuple[Tracked, ...]:
        """Return all codebases in order of their roots."""
        return _entries(self._db)

    def put(self, entry: Tracked) -> None:
        """Remember this entry, in place of an earlier one for the same root."""
        outcome = entry.last_run_outcome and entry.last_run_outcome.value
        run = entry.last_run_kind, outcome, entry.last_run_at, entry.last_error_code
        head = os.fsencode(entry.root), entry.store_id, entry.tracked_at, int(entry.cleared), entry.embedding_model
        self._db.execute(_PUT, (*head, *run))

    def forget(self, root: str) -> None:
        """Remove the entry of the codebase with this root."""
        self._db.execute("DELETE FROM codebases WHERE root = ?", (os.fsencode(root),))


@contextlib.contextmanager
def open_registry(disk: Disk) -> Iterator[tuple[Registry, bool]]:
    """Open the registry in this folder, made if it is missing, and say whether it is new, and so empty.

    Changes made inside are kept all or not at all. A damaged registry is thrown away. `OSError` when it cannot be used.
    """
    try:
        db, new = _sound(disk)
        with contextlib.closing(db):
            yield Registry(db), new
            db.execute("COMMIT")
    except _DAMAGE as problem:
        raise OSError(str(problem)) from problem


def _sound(disk: Disk) -> tuple[sqlite3.Connection, bool]:
    try:
        return _opened(disk)
    except sqlite3.OperationalError:
        # The database is locked for too long, the disk is full, or permission is missing: none of it is damage.
        raise
    except _DAMAGE:
        _throw_away(disk)
        return _opened(disk)


def _opened(disk: Disk) -> tuple[sqlite3.Connection, bool]:
    """Return a connection in a transaction, with the table made and the whole file checked."""
    with contextlib.ExitStack() as undo:
        db = disk.loose.database(REGISTRY)
        undo.callback(db.close)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        # SQLite ignores a pragma that it does not know, so ask whether it took effect.
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,), "this SQLite does not keep its promises"
        db.execute("BEGIN IMMEDIATE")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            # A later version of Cairn may keep more in the registry, which writing here would lose.
            raise sqlite3.OperationalError("the registry is that of a later version")
        if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the registry is damaged")
        new = not _has_table(db)
        if new:
            db.execute(_TABLE)
            db.execute(f"PRAGMA user_version = {_VERSION}")
        undo.pop_all()
        return db, new


def _has_table(db: sqlite3.Connection) -> bool:
    """Return whether the registry's table exists; DatabaseError when anything else does."""
    found = db.execute("SELECT sql FROM sqlite_schema").fetchall()
    if found and found != [(_TABLE,)]:
        raise sqlite3.DatabaseError("the registry is not the one that we make")
    return bool(found)


def _throw_away(disk: Disk) -> None:
    # Remove the log first: a log without its database would be applied to the next database.
    for name in reversed(FILES):
        remove_file(disk, name)


# --- rows -------------------------------------------------------------------------------------------------------------


def _entries(db: sqlite3.Connection) -> tuple[Tracked, ...]:
    db.text_factory = lambda data: data.decode("utf-8", "replace")
    return tuple(entry for row in db.execute(_ALL) if (entry := _entry(row)) is not None)


def _entry(row: tuple[Any, ...]) -> Tracked | None:
    """Return the entry in a row; None for a row that Cairn would not write, so that it does not hide the others."""
    root, store_id, tracked_at, cleared, model, kind, outcome, at, code = row
    sound = (
        isinstance(root, bytes),
        isinstance(store_id, str) and is_store_id(store_id),
        isinstance(tracked_at, str) and is_time(tracked_at),
        cleared in (0, 1),
        *(text is None or _is_plain(text) for text in (model, kind, code)),
        outcome is None or outcome in RunOutcome.__members__.values(),
        at is None or (isinstance(at, str) and is_time(at)),
    )
    if not all(sound):
        return None
    try:
        path = root.decode()
    except UnicodeDecodeError:
        return None
    if not is_absolute_path(path):
        return None
    ended = None if outcome is None else RunOutcome(outcome)
    return Tracked(path, store_id, tracked_at, bool(cleared), model, kind, ended, at, code)


def _is_plain(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= _MOST_TEXT and text.isprintable()


class RunOutcome(StrEnum):
    """How a run ended. A run that has `begun` and whose process is gone was killed."""

    BEGUN = "begun"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the registry remembers of a codebase. Only the store can say what is indexed."""

    root: str
    store_id: str
    tracked_at: str
    cleared: bool = False
    embedding_model: str | None = None
    last_run_kind: str | None = None
    last_run_outcome: RunOutcome | None = None
    last_run_at: str | None = None
    last_error_code: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the run that should have made the first index did not succeed."""
        unfinished = self.last_run_outcome in (RunOutcome.FAILED, RunOutcome.BEGUN)
        return self.last_run_kind == "create" and unfinished

    @property
    def claims_index(self) -> bool:
        """Whether the codebase was indexed, as far as the registry knows."""
        made = self.last_run_kind != "create" or self.last_run_outcome is RunOutcome.SUCCEEDED
        return made and not self.cleared
