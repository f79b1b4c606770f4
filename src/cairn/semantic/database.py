"""The semantic database of a codebase: transactions for who writes, a still picture for who asks.

It can be lost: everything in it is computed again by a refresh. So one that is damaged is thrown away by the next who
writes, and is no database at all to who reads. Who writes holds the lock beside it. Who reads when nobody writes takes
the file as it lies there, so that to read changes nothing, even on a disk that takes no writes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import TypeVar

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MIB, SEMANTIC_WAIT_SECONDS
from cairn.errors import CairnError, SemanticBusy, SemanticUnreadable, StoreError, StoreNotOurs, Unsupported
from cairn.semantic.schema import TABLES, VERSION
from cairn.source.root import printable
from cairn.store.disk import Disk
from cairn.store.files import remove_file
from cairn.store.fs import SHARED, database_of, store_trouble

Connection = sqlite3.Connection
Answer = TypeVar("Answer")

FOLDER = "semantic"
_ENDINGS = ("-journal", "-shm", "-wal", "")
_OF_A_GROUP = "What indexers say is kept for one user alone, and {path} is a folder that a group shares."
_OWN = "With CAIRN_HOME set to a folder of your own, index and refresh there; the group's index answers without it"
# Read whole into memory up to this size, which takes no descriptor.
_SMALL = 1 * MIB
# SQLite's own words about damaged bytes need not be text either.
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)


class SemanticDatabase:
    """The database of one root below the user's folder of Cairn, whether or not it is there."""

    def __init__(self, home: str, root: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        place = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        self._home = home
        self._clock = clock
        self._name = f"{place}.db"
        self._lock = f"{place}.lock"

    @property
    def path(self) -> str:
        """Where it is."""
        return os.path.join(self._home, FOLDER, self._name)

    @contextlib.contextmanager
    def writing(self, *, check: bool = False) -> Iterator[Connection]:
        """One transaction, kept when the block ends well; the database is made if it is not there.

        A damaged one is thrown away: with `check` all of it is looked at first. `SemanticBusy` when others write for
        too long, `SemanticUnreadable` when it cannot be used.
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
                raise self._unreadable(str(problem)) from problem

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection | None]:
        """What was last written, which stays as it is meanwhile; None when there is nothing.

        Ask and let go: who writes waits for it. `SemanticUnreadable` when it is damaged.
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
        """The answer, or None where there is no database that can be used: the layer is never in the way."""
        try:
            with self.reading() as db:
                return None if db is None else question(db)
        except CairnError:
            return None

    def remove(self, *, dry_run: bool = False) -> int:
        """The database is gone, or would be; how many bytes it took. `SemanticBusy` when somebody writes it."""
        try:
            disk = Disk.at(self._home, FOLDER, clock=self._clock)
        except (FileNotFoundError, StoreNotOurs):
            # What is not ours is not ours to remove.
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
        """Whether the user's folder of Cairn is one that a group shares."""
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
                # Held by others, or just removed with the database.
                raise SemanticBusy(path=self.path) from None
            except OSError as problem:
                raise store_trouble(self.path, problem) from problem
            yield

    def _sound(self, disk: Disk, check: bool) -> Connection:
        """A connection in a transaction in which our tables are there."""
        try:
            return self._opened(disk, check)
        except sqlite3.OperationalError:
            # No room, no right: no damage.
            raise
        except _TROUBLE:
            self._throw_away(disk)
            return self._opened(disk, check)

    def _opened(self, disk: Disk, check: bool) -> Connection:
        with contextlib.ExitStack() as undo:
            try:
                db = disk.open_writable_database(self._name)
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
                # A later Cairn keeps more in it than we know; it is not ours to write.
                raise self._unreadable("a later version of Cairn wrote it")
            if check and not _is_whole(db):
                raise sqlite3.DatabaseError("it is damaged")
            if not _has_tables(db):
                for statement in TABLES:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
            undo.pop_all()
            return db

    def _throw_away(self, disk: Disk) -> None:
        # The log first: one without its database would be taken for that of the next.
        for ending in _ENDINGS:
            remove_file(disk, self._name + ending)

    # --- reading ------------------------------------------------------------------------------------------------------

    def _at_rest(self, disk: Disk) -> Connection:
        """The file as it is: nobody writes, and nobody can begin to as long as we hold the lock."""
        if _size(disk, self._name) > _SMALL:
            db = disk.open_database(self._name)
        else:
            data = disk.read(self._name, _SMALL)
            # Bytes 18 and 19 say that there may be a log beside the file; in memory there is none.
            db = database_of(data[:18] + b"\1\1" + data[20:] if data else data)
        db.text_factory = _text
        return db

    def _at_work(self, disk: Disk) -> Connection:
        """What the last transaction left, read beside who writes, or after somebody who was killed."""
        disk.stat(self._name)
        db = disk.open_writable_database(self._name)
        try:
            db.text_factory = _text
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except BaseException:
            db.close()
            raise
        return db

    def _unreadable(self, why: str) -> SemanticUnreadable:
        return SemanticUnreadable(path=self.path, why=why)


def _locked(disk: Disk, lock: str, open_: contextlib.ExitStack) -> bool:
    """Whether nobody writes, and nobody will before all is let go of."""
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
    """Whether our tables are there; a DatabaseError when there is anything else."""
    found = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
    if found and sorted(found) != sorted(TABLES):
        raise sqlite3.DatabaseError("its tables are not those that we make")
    return bool(found)
