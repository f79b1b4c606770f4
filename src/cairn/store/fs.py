"""Define `Fs`, the contract between the store and the disk.

Everything below a store's base folder is written, synced, renamed and removed through an `Fs`, and in no other way. So
the tests can replace the disk by one that loses power or fails at any call, and try every order of writes. `disk.py`
holds the real disk.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, NoReturn, Protocol

from cairn.errors import OUR_TROUBLE, StoreCorrupt, StoreError, StoreFull, StoreIo, StoreOutOfResources, StoreUnwritable

Data = bytes | bytearray | memoryview

# Cairn chooses every name in a store, and all other names are refused: a damaged manifest that names `../x` leads
# nowhere.
_NAME = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]{1,200}"
_PATH = re.compile(rf"{_NAME}(?:/{_NAME})*")


class Modes(NamedTuple):
    """The permissions of a store's folders and files, before and after they are sealed, whatever the umask."""

    folder: int
    file: int
    sealed_folder: int
    sealed_file: int

    @property
    def shared(self) -> bool:
        """Whether these are the modes of a group's store."""
        return bool(self.folder & stat.S_IWGRP)


PRIVATE = Modes(0o700, 0o600, 0o500, 0o400)
# A member of the group cannot change the mode of what another member owns, so a sealed folder must stay writable for
# whoever removes old files.
SHARED = Modes(0o2770, 0o660, 0o2770, 0o440)


class DiskStat(NamedTuple):
    """What the disk says about one name, links not followed. The first five fields identify a file and its content."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


class Map(AbstractContextManager["Map"]):
    """The bytes of one file, read-only, and its stat when it was opened. The bytes outlive the file's name.

    A closed map must not be used; a view of its bytes that is still held keeps them until the view is released.
    """

    __slots__ = ("_owner", "stat", "view")

    def __init__(self, owner: mmap.mmap | bytes, found: DiskStat) -> None:
        self._owner = owner
        self.stat = found
        self.view = memoryview(owner)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the bytes; a second call does nothing."""
        # Unmapping bytes that an array still refers to would crash the process.
        with contextlib.suppress(BufferError):
            self.view.release()
            if isinstance(self._owner, mmap.mmap):
                self._owner.close()


class FileWriter(AbstractContextManager["FileWriter"], Protocol):
    """A file that is being written from its start to its end. As a context manager it closes the file."""

    def write(self, data: Data) -> None:
        """Append all of the bytes; after an error any part of them may have been appended."""

    def close(self) -> None:
        """Close the file, which does not make it safe; a second call does nothing."""


class Fs(Protocol):
    """Everything that the store does to a disk.

    Paths are relative to the base folder, `/` between names of letters, digits, `.`, `_` and `-`; the empty path is the
    base folder itself where a folder is listed, synced or asked for its stat. Any other path is refused with EINVAL,
    and no link is ever followed.

    Files are written once: `create` fails if the name exists. A file is visible to other processes after `create`; it
    is *safe* after `sync_file` and `sync_folder` of its folder, each of which covers what came before it. Without a
    sync between them, two changes may reach the disk in either order. Removing a name never disturbs a reader that has
    opened the file. `modes` says which permissions files and folders get. In a store of one user the names of a sealed
    folder cannot be changed, not even by the superuser; in a store of a group they can, and only the files are
    read-only.

    A failed call raises an `OSError` with its number. A failed `sync_file` condemns the file, since the system may have
    dropped the bytes and will not report that twice: every further use of the file through this Fs raises until the
    file is removed, so write a new one. An interrupted call is continued and a short write is completed; the caller
    does not notice.
    """

    @property
    def modes(self) -> Modes:
        """The permissions of everything in the store; they never change."""

    def create(self, path: str) -> FileWriter:
        """Create an empty file and open it for writing; FileExistsError when the name is taken, even by a link."""

    def create_bytes(self, path: str, data: Data) -> None:
        """Create a file with these bytes. After an error a part of the file may exist: remove it."""

    def make_folder(self, path: str) -> None:
        """Create an empty folder; FileExistsError when the name is taken."""

    def move(self, old: str, new: str) -> None:
        """Rename a folder that is not sealed; FileExistsError when the new name is taken.

        After a power cut the old name, the new name or both may exist until both parent folders were synced; never
        neither.
        """

    def swap(self, temp: str, target: str) -> None:
        """Replace a small file by a synced temporary one: a reader sees the old bytes or the new, never a mix."""

    def claim(self, source: str, name: str) -> None:
        """Give a file a second name. Exactly one caller succeeds; all others get FileExistsError."""

    def remove(self, path: str) -> None:
        """Remove the name of a file."""

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""

    def seal(self, path: str) -> None:
        """Make a file or a folder read-only, as far as `modes` goes."""

    def unseal(self, path: str) -> None:
        """Make a sealed folder writable again, so that its names can be removed."""

    def sync_file(self, path: str) -> None:
        """Make the file's bytes and mode safe; an error condemns the file."""

    def sync_folder(self, path: str) -> None:
        """Make the folder's names and mode safe, but not the content of the files it names."""

    def read(self, path: str, cap: int) -> bytes:
        """Return all bytes of a small file; EFBIG when it holds more than the cap."""

    def open_map(self, path: str) -> Map:
        """Map the bytes of a file; the caller closes the map."""

    def open_database(self, path: str) -> sqlite3.Connection:
        """Open an SQLite database read-only; the caller closes it, and its file may lose its name meanwhile.

        Bytes that are no database raise `sqlite3.DatabaseError`, here or when they are read.
        """

    def stat(self, path: str) -> DiskStat: ...

    def list_folder(self, path: str) -> list[str]:
        """Return the names in a folder, sorted."""

    def lock(self, path: str, *, exclusive: bool, timeout: float) -> AbstractContextManager[None]:
        """Hold the lock of an existing file that is never removed; TimeoutError when another process keeps the lock.

        The lock is on the file, not on its bytes, and ends with the process that holds it.
        """


# --- what the real disk and the simulated disks of the tests share ----------------------------------------------------


def check_path(path: str) -> None:
    """Refuse, with EINVAL, every path that is not a clean one below the base folder."""
    if not _PATH.fullmatch(path):
        refuse(errno.EINVAL, path)


def database_of(data: bytes) -> sqlite3.Connection:
    """Open a read-only database in memory with these bytes, as `Fs.open_database` does with a file."""
    with contextlib.ExitStack() as undo:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        undo.callback(db.close)
        # SQLite takes an empty file for a database without tables.
        if data:
            db.deserialize(data)
        read_only(db)
        undo.pop_all()
        return db


def read_only(db: sqlite3.Connection) -> None:
    """Make the database refuse writes, and read its list of tables."""
    # A view may hold 64 databases open: each gets at most 256 KiB of pages.
    db.executescript("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -256")
    # SQLite opens the file with the first query, and not before.
    db.execute("SELECT count(*) FROM sqlite_schema").fetchone()


class Condemned(set[str]):
    """The files whose sync failed. Using one of them raises EIO until it is removed."""

    def refuse(self, *paths: str) -> None:
        """Raise EIO when one of these files is condemned."""
        for path in self.intersection(paths):
            raise OSError(errno.EIO, "its sync failed, so it may not be what was written", path)

    def refuse_below(self, folder: str) -> None:
        """Raise EIO when a file below this folder is condemned: a move would hide it under a new path."""
        self.refuse(*(path for path in self if path.startswith(folder + "/")))


_TROUBLE: dict[int, type[StoreError]] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), StoreFull),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), StoreUnwritable),
    **dict.fromkeys(OUR_TROUBLE, StoreOutOfResources),
}


def is_full(error: BaseException | None) -> bool:
    """Return whether an error says that the disk has no room left."""
    return isinstance(error, StoreFull) or (isinstance(error, OSError) and _TROUBLE.get(error.errno or 0) is StoreFull)


def store_trouble(path: str, error: OSError) -> StoreError:
    """Return the error that tells a person why the store at this path could not be used."""
    shown = "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in path)
    return _TROUBLE.get(error.errno or 0, StoreIo)(path=shown, why=error.strerror or "unknown trouble")


def refuse(number: int, path: str) -> NoReturn:
    """Raise the `OSError` with this number about this path."""
    raise OSError(number, os.strerror(number), path)


# --- reading, replacing and removing ----------------------------------------------------------------------------------


# The name is that of a folder, a link, or a FIFO or the like.
_NO_FILE = (errno.EISDIR, errno.ELOOP, errno.EINVAL)
# Another process removed or filled the folder since it was listed.
_WORKED_AGAINST = (errno.ENOENT, errno.ENOTEMPTY)


def read_whole(fs: Fs, path: str, cap: int, artifact: str) -> bytes:
    """Return the bytes of a small file; `StoreCorrupt` when it is no file, or is larger than the cap."""
    try:
        return fs.read(path, cap)
    except OSError as error:
        # Both cases are damage to the store's content and no trouble with the disk.
        if error.errno == errno.EFBIG:
            raise StoreCorrupt(artifact=artifact, why=f"it is larger than {cap} bytes") from None
        if error.errno in _NO_FILE:
            raise StoreCorrupt(artifact=artifact, why="it is not a file") from None
        raise


def remove_file(fs: Fs, path: str) -> None:
    """Remove the file if it exists."""
    with contextlib.suppress(FileNotFoundError):
        fs.remove(path)


@contextlib.contextmanager
def despite_a_sleeper() -> Iterator[None]:
    """Give up tidying when a sleeper, a writer that lost its lease, interferes; other errors are raised.

    The next run removes what is left.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _WORKED_AGAINST:
            raise


def remove_tree(fs: Fs, folder: str) -> None:
    """Remove the folder and everything below it, sealed or not, if it exists."""
    # The holder of the lease and a sleeper that lost it may both be removing this: a missing name is no error.
    with contextlib.suppress(FileNotFoundError):
        names = fs.list_folder(folder)
        fs.unseal(folder)
        for name in names:
            path = f"{folder}/{name}"
            try:
                # Do not ask for its stat first: a file whose sync failed refuses every call but its removal.
                remove_file(fs, path)
            except IsADirectoryError:
                remove_tree(fs, path)
        fs.remove_folder(folder)


def replace_file(fs: Fs, path: str, temp: str, data: bytes, *, safe: bool) -> None:
    """Replace a file so that readers see the old bytes or the new ones.

    With `safe` that also holds after a power cut, and once this returns only the new bytes can be seen.
    """
    remove_file(fs, temp)
    try:
        fs.create_bytes(temp, data)
        if safe:
            fs.sync_file(temp)
        fs.swap(temp, path)
    except OSError:
        with contextlib.suppress(OSError):
            remove_file(fs, temp)
        raise
    if safe:
        fs.sync_folder(path.rpartition("/")[0])
