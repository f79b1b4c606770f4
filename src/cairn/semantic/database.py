"""The semantic database of a codebase: its tables, transactions for writers and a stable view for readers.

The database can be lost: a refresh computes everything in it again. The next writer throws a damaged database away; to
a reader a damaged database does not exist. A writer holds the lock file beside the database. A reader that finds no
writer reads the file as it lies there, so that reading changes nothing, even on a read-only disk.

No row is believed for itself. The facts of a file hold while `file_semantic_facts.content_hash_at_index` equals the
`StoredFile.file_hash` of the pinned snapshot; otherwise the file is dirty, and without a row it is unindexed.

`edges` holds what a file depends on, one row for each (source_file, target_file, context_id). `interface_hash_at_index`
is the syntactic interface hash (`StoredFile.interface_hash`) that the target had when the source was indexed; it is
empty when the target changed meanwhile. While the target is clean, this hash is compared with
`files.syntactic_interface_hash`, which was recorded when the target itself was last indexed: a difference makes the
source stale. So does a different `semantic_hash_at_index`, the `reach_hash` that the target had then: a hash of what an
indexer said about its definitions (`semantic_interface_hash`, including types that nobody wrote down) and about
everything they rest on. A file that other files depend on keeps its row in `files` when it is gone, without facts: it
is unindexed. `imported_keys` are the keys of what files with facts import (`symbols.py`): a new file that offers one of
these keys may be what such an import means from now on.

`identities` holds each normalised symbol once, whichever contexts mention it. Occurrences refer to an identity and not
to a definition, so a file can be imported again without touching the files that use it. `silent_files` are files that
an index should have mentioned and did not, with the hash that each had then: they are unindexed, and no reason to run
the indexer again. `shapes` say which lines of a file were code (`shape.py`), so that facts outlive an edit of comments;
a database of version 1 has no such table, and gets it from the next writer. `settings_files` are the project files that
a context was read by: while one of them differs, all of the context is stale. Lines are 1-based, columns count bytes
from 0, and times are seconds since 1970. `layer` is
`semantic` in every row that an indexer caused.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MIB, SEMANTIC_WAIT_SECONDS
from cairn.errors import CairnError, SemanticBusy, SemanticUnreadable, StoreError, StoreNotOurs, Unsupported
from cairn.semantic.model import Context, Family
from cairn.source.root import printable
from cairn.store import SHARED, Disk, database_of, remove_file, store_trouble

# --- the tables -------------------------------------------------------------------------------------------------------


VERSION = 2

TABLES: tuple[str, ...] = (
    """CREATE TABLE contexts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    root TEXT NOT NULL,
    name TEXT NOT NULL,
    fence TEXT NOT NULL,
    config_hash TEXT NOT NULL,
    include TEXT NOT NULL,
    punched TEXT NOT NULL,
    why TEXT NOT NULL,
    tool_version TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    refreshed_at REAL
)""",
    """CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    syntactic_interface_hash TEXT NOT NULL,
    indexed_at REAL NOT NULL
)""",
    """CREATE TABLE file_semantic_facts (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    semantic_interface_hash TEXT NOT NULL,
    content_hash_at_index TEXT NOT NULL,
    ambiguity_flags TEXT NOT NULL DEFAULT '[]',
    refreshed_at REAL NOT NULL,
    reach_hash TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (file_id, context_id)
) WITHOUT ROWID""",
    """CREATE TABLE settings_files (
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (context_id, path)
) WITHOUT ROWID""",
    """CREATE TABLE silent_files (
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (context_id, path)
) WITHOUT ROWID""",
    """CREATE TABLE identities (
    id INTEGER PRIMARY KEY,
    symbol TEXT NOT NULL UNIQUE
)""",
    """CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    name TEXT NOT NULL,
    qualified_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    line INTEGER NOT NULL,
    column INTEGER NOT NULL,
    body_start_line INTEGER,
    body_end_line INTEGER,
    signature TEXT NOT NULL,
    layer TEXT NOT NULL CHECK (layer IN ('syntactic', 'semantic'))
)""",
    """CREATE TABLE symbol_interface_hashes (
    symbol_id INTEGER PRIMARY KEY REFERENCES symbols(id) ON DELETE CASCADE,
    interface_hash TEXT NOT NULL
)""",
    """CREATE TABLE exports (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    name TEXT NOT NULL,
    PRIMARY KEY (file_id, context_id, identity_id)
) WITHOUT ROWID""",
    """CREATE TABLE occurrences (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    start_line INTEGER NOT NULL,
    start_col INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    end_col INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('definition', 'reference', 'import')),
    layer TEXT NOT NULL CHECK (layer IN ('syntactic', 'semantic')),
    anchor_before TEXT NOT NULL,
    anchor_after TEXT NOT NULL
)""",
    """CREATE TABLE relationships (
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    identity_id INTEGER NOT NULL REFERENCES identities(id),
    target_id INTEGER NOT NULL REFERENCES identities(id),
    kind TEXT NOT NULL CHECK (kind IN ('reference', 'implementation', 'type_definition', 'definition')),
    PRIMARY KEY (file_id, context_id, identity_id, target_id, kind)
) WITHOUT ROWID""",
    """CREATE TABLE edges (
    id INTEGER PRIMARY KEY,
    source_file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    target_file INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    dependency_type TEXT NOT NULL,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    layer TEXT NOT NULL CHECK (layer IN ('syntactic', 'semantic')),
    interface_hash_at_index TEXT NOT NULL,
    semantic_hash_at_index TEXT NOT NULL DEFAULT '',
    UNIQUE (source_file, target_file, context_id)
)""",
    """CREATE TABLE imported_keys (
    key TEXT NOT NULL,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    PRIMARY KEY (key, context_id, file_id)
) WITHOUT ROWID""",
    """CREATE TABLE refresh_jobs (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'superseded', 'failed')),
    scope TEXT NOT NULL,
    trigger_reason TEXT NOT NULL,
    priority INTEGER NOT NULL,
    head_at_enqueue TEXT NOT NULL,
    created_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL,
    superseded_reason TEXT,
    error TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    holder TEXT,
    pid INTEGER,
    heartbeat_at REAL
)""",
    """CREATE TABLE repo_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_seen_head TEXT NOT NULL,
    last_seen_snapshot TEXT NOT NULL,
    checked_at REAL NOT NULL
)""",
    """CREATE TABLE decision_cache (
    id INTEGER PRIMARY KEY,
    ambiguity_signature TEXT NOT NULL,
    repo_head TEXT NOT NULL,
    file_hashes TEXT NOT NULL,
    file_hashes_digest TEXT NOT NULL,
    decision TEXT NOT NULL,
    proof_payload TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (ambiguity_signature, repo_head, file_hashes_digest)
)""",
    """CREATE TABLE shapes (
    context_id INTEGER NOT NULL REFERENCES contexts(id) ON DELETE CASCADE,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    shape TEXT NOT NULL,
    PRIMARY KEY (context_id, file_id)
) WITHOUT ROWID""",
    # For jobs: each context has at most one that runs and one that waits, whoever asks at the same time.
    "CREATE UNIQUE INDEX one_running ON refresh_jobs (context_id) WHERE status = 'running'",
    "CREATE UNIQUE INDEX one_queued ON refresh_jobs (context_id) WHERE status = 'queued'",
    # For questions, and for deletes that cascade.
    "CREATE INDEX facts_of_context ON file_semantic_facts (context_id)",
    "CREATE INDEX symbols_of_identity ON symbols (identity_id)",
    "CREATE INDEX symbols_of_file ON symbols (file_id, context_id)",
    "CREATE INDEX symbols_by_name ON symbols (name)",
    "CREATE INDEX occurrences_of_identity ON occurrences (identity_id)",
    "CREATE INDEX occurrences_of_file ON occurrences (file_id, context_id, start_line)",
    "CREATE INDEX exports_of_identity ON exports (identity_id)",
    "CREATE INDEX relationships_of_identity ON relationships (identity_id)",
    "CREATE INDEX relationships_of_target ON relationships (target_id)",
    "CREATE INDEX edges_of_target ON edges (target_file)",
    "CREATE INDEX imported_keys_of_file ON imported_keys (file_id, context_id)",
)


# What version 2 added.
_SINCE_2 = [statement for statement in TABLES if statement.startswith("CREATE TABLE shapes ")]

Connection = sqlite3.Connection
Answer = TypeVar("Answer")

FOLDER = "semantic"
_ENDINGS = ("-journal", "-shm", "-wal", "")
_OF_A_GROUP = "What indexers say is kept for one user alone, and {path} is a folder that a group shares."
_OWN = "With CAIRN_HOME set to a folder of your own, index and refresh there; the group's index answers without it"
# A database up to this size is read whole into memory, which takes no descriptor.
_SMALL = 1 * MIB
# SQLite's own words about damaged bytes need not be text either.
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)
# What is no trouble of the database but of the disk or the machine, by SQLite's number.
_NOT_ITS_OWN = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
}


class SemanticDatabase:
    """The semantic database of one root, whether or not its file exists."""

    def __init__(self, home: str, root: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        place = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        self._home = home
        self._clock = clock
        self._name = f"{place}.db"
        self._lock = f"{place}.lock"

    @property
    def path(self) -> str:
        """The path of the database file."""
        return os.path.join(self._home, FOLDER, self._name)

    @contextlib.contextmanager
    def writing(self, *, check: bool = False) -> Iterator[Connection]:
        """One write transaction, committed when the block ends well; creates the database when there is none.

        A damaged database is thrown away; with `check` all of it is verified first. Raises `SemanticBusy` when other
        writers take too long, a `StoreError` when the disk is full or fails, and `SemanticUnreadable` when the database
        cannot be used for another reason.
        """
        with self._disk() as disk, self._alone(disk):
            try:
                with contextlib.closing(self._sound(disk, check)) as db:
                    try:
                        yield db
                        db.execute("COMMIT")
                    except _TROUBLE:
                        db.rollback()
                        if not _is_whole(db):
                            db.close()
                            self._throw_away(disk)
                        raise
            except _TROUBLE as problem:
                raise self._unwritable(problem) from problem

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection | None]:
        """The last committed state, which does not change inside the block; None when there is no database.

        Keep the block short: writers wait for it. Raises `SemanticUnreadable` when the database is damaged.
        """
        db: Connection | None = None
        with contextlib.ExitStack() as open_:
            try:
                disk = open_.enter_context(Disk.at(self._home, FOLDER, clock=self._clock))
                still = _locked(disk, self._lock, open_)
                at_rest = still and not _size(disk, f"{self._name}-wal")
                found = self._at_rest(disk) if at_rest else self._at_work(disk)
                open_.callback(found.close)
                if _has_tables(found):
                    db = found
            except FileNotFoundError:
                pass
            except _TROUBLE as problem:
                raise self._unreadable(str(problem)) from problem
            except OSError as problem:
                raise self._unreadable(problem.strerror or "unknown trouble") from problem
            try:
                yield db
            except _TROUBLE as problem:
                raise self._unreadable(str(problem)) from problem

    def ask(self, question: Callable[[Connection], Answer]) -> Answer | None:
        """Return the answer of a question to the database; None where there is no database that can be used."""
        try:
            with self.reading() as db:
                return None if db is None else question(db)
        except CairnError:
            return None

    def remove(self, *, dry_run: bool = False) -> int:
        """Remove the database (not with `dry_run`) and return its size; raises `SemanticBusy` while it is written."""
        try:
            disk = Disk.at(self._home, FOLDER, clock=self._clock)
        except (FileNotFoundError, StoreNotOurs):
            # A file that is not ours is not ours to remove.
            return 0
        with disk, contextlib.ExitStack() as held:
            try:
                held.enter_context(disk.lock(self._lock, exclusive=True, timeout=0))
                freed = sum(_size(disk, self._name + ending) for ending in _ENDINGS)
                if not dry_run:
                    self._throw_away(disk)
                    remove_file(disk, self._lock)
            except FileNotFoundError:
                return 0
            except TimeoutError:
                raise SemanticBusy(path=self.path) from None
            except OSError as problem:
                raise store_trouble(self.path, problem) from problem
            return freed

    # --- writing ------------------------------------------------------------------------------------------------------

    def _disk(self) -> Disk:
        try:
            disk = Disk.at(self._home, FOLDER, create=True, clock=self._clock)
        except StoreNotOurs:
            if self._is_a_groups():
                raise Unsupported(
                    problem=_OF_A_GROUP.format(path=printable(os.fsencode(self._home))), advice=_OWN
                ) from None
            raise
        try:
            with contextlib.suppress(FileExistsError):
                disk.create_bytes(self._lock, b"")
        except OSError as problem:
            disk.close()
            raise store_trouble(self.path, problem) from problem
        return disk

    def _is_a_groups(self) -> bool:
        """Whether the user's Cairn folder is one that a group shares."""
        try:
            Disk.at(self._home, "", modes=SHARED).close()
        except (StoreError, OSError):
            return False
        return True

    @contextlib.contextmanager
    def _alone(self, disk: Disk) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(disk.lock(self._lock, exclusive=True, timeout=SEMANTIC_WAIT_SECONDS))
            except (TimeoutError, FileNotFoundError):
                # Other processes hold the lock, or it was just removed with the database.
                raise SemanticBusy(path=self.path) from None
            except OSError as problem:
                raise store_trouble(self.path, problem) from problem
            yield

    def _sound(self, disk: Disk, check: bool) -> Connection:
        """Return a connection in a transaction in which all our tables exist."""
        try:
            return self._opened(disk, check)
        except sqlite3.OperationalError:
            # A full disk or missing permissions are no damage.
            raise
        except _TROUBLE:
            self._throw_away(disk)
            return self._opened(disk, check)

    def _opened(self, disk: Disk, check: bool) -> Connection:
        with contextlib.ExitStack() as undo:
            try:
                db = disk.loose.database(self._name)
            except OSError as problem:
                raise store_trouble(self.path, problem) from problem
            undo.callback(db.close)
            db.text_factory = _text
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            # SQLite says nothing when it does not know a pragma; without this one no delete would cascade.
            assert db.execute("PRAGMA foreign_keys").fetchone() == (1,), "this SQLite does not keep its promises"
            db.execute("BEGIN IMMEDIATE")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                # A later version of Cairn keeps more in the database than this one knows; this one must not write it.
                raise self._unreadable("a later version of Cairn wrote it")
            if check and not _is_whole(db):
                raise sqlite3.DatabaseError("it is damaged")
            _has_tables(db)
            for statement in _missing(db):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")
            undo.pop_all()
            return db

    def _throw_away(self, disk: Disk) -> None:
        # The log first: a log without its database would be taken for the log of the next database.
        for ending in _ENDINGS:
            remove_file(disk, self._name + ending)

    # --- reading ------------------------------------------------------------------------------------------------------

    def _at_rest(self, disk: Disk) -> Connection:
        """The database file while nobody writes; the lock that is held keeps writers from starting."""
        if _size(disk, self._name) > _SMALL:
            db = disk.open_database(self._name)
        else:
            data = disk.read(self._name, _SMALL)
            # Bytes 18 and 19 say that there may be a log beside the file; in memory there is none.
            db = database_of(data[:18] + b"\1\1" + data[20:] if data else data)
        db.text_factory = _text
        return db

    def _at_work(self, disk: Disk) -> Connection:
        """The state that the last transaction left, read beside a writer or after a writer that was killed."""
        disk.stat(self._name)
        db = disk.loose.database(self._name)
        try:
            db.text_factory = _text
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except BaseException:
            db.close()
            raise
        return db

    def _unwritable(self, problem: Exception) -> CairnError:
        number = _NOT_ITS_OWN.get(getattr(problem, "sqlite_errorcode", 0) & 0xFF)
        if number is None:
            return self._unreadable(str(problem))
        return store_trouble(self.path, OSError(number, os.strerror(number)))

    def _unreadable(self, why: str) -> SemanticUnreadable:
        return SemanticUnreadable(path=self.path, why=why)


def _locked(disk: Disk, lock: str, open_: contextlib.ExitStack) -> bool:
    """Whether nobody writes, and nobody can start to write before the lock is released."""
    try:
        open_.enter_context(disk.lock(lock, exclusive=False, timeout=0))
    except TimeoutError:
        return False
    return True


def _size(disk: Disk, name: str) -> int:
    try:
        return disk.stat(name).size
    except FileNotFoundError:
        return 0


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _is_whole(db: Connection) -> bool:
    try:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except _TROUBLE:
        return False


def _has_tables(db: Connection) -> bool:
    """Whether our tables exist; raises `DatabaseError` when the file holds anything else."""
    missing = _missing(db)
    if missing not in ([], _SINCE_2, list(TABLES)):
        raise sqlite3.DatabaseError("its tables are not those that we make")
    return missing != list(TABLES)


def _missing(db: Connection) -> list[str]:
    """Return the statements of the tables that the file does not have; `DatabaseError` when it has another one."""
    found = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
    if len(set(found)) != len(found) or not set(found) <= set(TABLES):
        raise sqlite3.DatabaseError("its tables are not those that we make")
    return [statement for statement in TABLES if statement not in found]


def has_shapes(db: Connection) -> bool:
    """Whether the database says which lines of its files were code; one that an older Cairn wrote does not."""
    return db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'shapes'").fetchone() is not None


# --- contexts ---------------------------------------------------------------------------------------------------------


_ALL = "SELECT key, language, root, name, fence, config_hash, include, punched, why FROM contexts ORDER BY key"
_PUT = (
    "INSERT INTO contexts (key, language, root, name, fence, config_hash, include, punched, why)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET language = excluded.language,"
    " root = excluded.root, name = excluded.name, fence = excluded.fence, config_hash = excluded.config_hash,"
    " include = excluded.include, punched = excluded.punched, why = excluded.why"
)


def register(db: Connection, contexts: Iterable[Context]) -> None:
    """Keep exactly these contexts; remove the facts of lost contexts and of contexts whose settings changed."""
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
    """Return the contexts that are kept, ordered by id."""
    return tuple(context for row in db.execute(_ALL) if (context := _context(row)) is not None)


def has_contexts(database: SemanticDatabase) -> bool:
    """Whether indexers have been set up for a codebase."""
    return database.ask(lambda db: db.execute("SELECT 1 FROM contexts WHERE enabled").fetchone()) is not None


def _settings(context: Context) -> tuple[object, ...]:
    """Return the values of a context that decide how its files are understood."""
    return context.family, context.root, context.config_hash, context.include, context.punched


def _disbelieve(db: Connection, key: str) -> None:
    # Without this row no other row about the file is believed; the next refresh replaces the rest.
    of_context = "DELETE FROM file_semantic_facts WHERE context_id = (SELECT id FROM contexts WHERE key = ?)"
    db.execute(of_context, (key,))


def _context(row: tuple[Any, ...]) -> Context | None:
    """Return the context in a row; None for a row that Cairn would not have written."""
    key, family, root, name, fence, config_hash, include, punched, why = row
    try:
        folders = tuple(map(str, json.loads(include))), tuple(map(str, json.loads(punched)))
        return Context(key, Family(family), root, name, fence, config_hash, *folders, why)
    except (ValueError, TypeError):
        return None
