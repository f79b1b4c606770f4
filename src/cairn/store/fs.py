"""The one door to the disk, as a contract that the store relies on.

Everything below a store's base folder is written, synced, renamed and removed through it and in no other way, so a disk
that loses power or fails at any call can stand in for the real one, and every order of writes can be tried. The real
disk is in `disk.py`.
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

# Every name in a store is ours to choose. Nothing else is let through: a manifest that names `../x` is not believed.
_NAME = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]{1,200}"
_PATH = re.compile(rf"{_NAME}(?:/{_NAME})*")


class Modes(NamedTuple):
    """Who may do what with the folders and files of a store, before and after they are sealed; whatever the umask."""

    folder: int
    file: int
    sealed_folder: int
    sealed_file: int

    @property
    def shared(self) -> bool:
        """Whether it is the store of a group."""
        return bool(self.folder & stat.S_IWGRP)


PRIVATE = Modes(0o700, 0o600, 0o500, 0o400)
# A member cannot change the mode of what another one owns, so whoever tidies up must find a sealed folder open.
SHARED = Modes(0o2770, 0o660, 0o2770, 0o440)


class FileStat(NamedTuple):
    """What the disk says about one name, links not followed. The first five say whether it is still the same file."""

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
    """The bytes of one file, read-only, and its stat when it was opened. They outlive the file's name.

    After `close` the map is not to be used; a view of it that somebody still holds keeps its bytes until it goes.
    """

    __slots__ = ("_owner", "stat", "view")

    def __init__(self, owner: mmap.mmap | bytes, found: FileStat) -> None:
        self._owner = owner
        self.stat = found
        self.view = memoryview(owner)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the bytes; a second call does nothing."""
        # An array that still looks at the bytes would crash the process if they were unmapped under it.
        with contextlib.suppress(BufferError):
            self.view.release()
            if isinstance(self._owner, mmap.mmap):
                self._owner.close()


class FileWriter(AbstractContextManager["FileWriter"], Protocol):
    """A file that is being written, from its start to its end. A context manager that closes it."""

    def write(self, data: Data) -> None:
        """Add all of the bytes; when it raises, any part of them may have been added."""

    def close(self) -> None:
        """Let go of the file, which is not safe by that; a second call does nothing."""


class Fs(Protocol):
    """Everything the store does to a disk, and nothing else.

    Paths are relative to the base folder, `/` between names of letters, digits, `.`, `_` and `-`; the empty path is the
    base folder itself where a folder is listed, synced or asked for its stat. Any other path is refused with EINVAL,
    and no link is ever followed.

    Files are written once: `create` fails if the name exists. A file is *there* for other processes after `create`; it
    is *safe* after `sync_file` and `sync_folder` of its folder, each of which covers what came before it. Without a
    sync between them, no two changes reach the disk in any order. Removing a name never disturbs a reader that has
    opened it. `modes` says which rights files and folders get. In a store of one user a sealed folder takes no change
    of its names, whoever asks; in that of a group it does, and only its files are read-only.

    Trouble is an `OSError` with its number. A failed `sync_file` condemns the file, since the system may have dropped
    the bytes and will not say so twice: every further use of it through this Fs raises until it is removed, so write a
    new one. An interrupted call goes on and a short write is completed, unseen.
    """

    @property
    def modes(self) -> Modes:
        """The rights that everything gets; the same as long as the store lives."""

    def create(self, path: str) -> FileWriter:
        """A new, empty file, open for writing; FileExistsError when the name is taken, even by a link."""

    def create_bytes(self, path: str, data: Data) -> None:
        """A new file with these bytes. When it raises, a part of it may be there: remove it."""

    def make_folder(self, path: str) -> None:
        """A new, empty folder; FileExistsError when the name is taken."""

    def move(self, old: str, new: str) -> None:
        """Give a folder another name; FileExistsError when it is taken. Seal it afterwards: a sealed one stays put.

        After a power cut the old name, the new, or both may be there until both folders were synced; never neither.
        """

    def swap(self, temp: str, target: str) -> None:
        """Replace one small file by another, sync it first: a reader sees the old bytes or the new, never a mix."""

    def claim(self, source: str, name: str) -> None:
        """Give a file a second name. Exactly one caller wins; FileExistsError for all others."""

    def remove(self, path: str) -> None:
        """Take a file's name away."""

    def remove_folder(self, path: str) -> None:
        """Take an empty folder away."""

    def seal(self, path: str) -> None:
        """Make a file or a folder read-only, as far as `modes` goes."""

    def unseal(self, path: str) -> None:
        """Let a sealed folder's names be removed again."""

    def sync_file(self, path: str) -> None:
        """Make the file's bytes and mode safe; when it raises, the file is condemned."""

    def sync_folder(self, path: str) -> None:
        """Make the folder's own names and mode safe, not what they name."""

    def read(self, path: str, cap: int) -> bytes:
        """The whole of a small file; EFBIG when it holds more than the cap."""

    def open_map(self, path: str) -> Map:
        """The bytes of a file, to be closed by the caller."""

    def open_database(self, path: str) -> sqlite3.Connection:
        """An SQLite database that cannot be written, to be closed by the caller; its file may then lose its name.

        Bytes that are no database raise `sqlite3.DatabaseError`, here or when they are read.
        """

    def stat(self, path: str) -> FileStat: ...

    def list_folder(self, path: str) -> list[str]:
        """The names in a folder, sorted."""

    def lock(self, path: str, *, exclusive: bool, timeout: float) -> AbstractContextManager[None]:
        """Hold the lock of an existing file that is never removed; TimeoutError when others hold on to it.

        The lock is on the file, not on its bytes, and goes with the process that holds it.
        """


# --- what every disk shares, the make-believe ones too ----------------------------------------------------------------


def check_path(path: str) -> None:
    """Refuse, with EINVAL, whatever is not a clean path below the base folder."""
    if not _PATH.fullmatch(path):
        refuse(errno.EINVAL, path)


def database_of(data: bytes) -> sqlite3.Connection:
    """A database in memory with these bytes, as `open_database` gives them."""
    with contextlib.ExitStack() as undo:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        undo.callback(db.close)
        # No bytes at all are a database without tables, to SQLite as well.
        if data:
            db.deserialize(data)
        read_only(db)
        undo.pop_all()
        return db


def read_only(db: sqlite3.Connection) -> None:
    """Make the database refuse to be written, and read its list of tables."""
    # Sixty-four of them may be open: no more than 256 KiB of pages each.
    db.executescript("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -256")
    # The file is opened by the first look at it, and not before.
    db.execute("SELECT count(*) FROM sqlite_schema").fetchone()


class Condemned(set[str]):
    """The files whose sync failed. Whoever uses one of them gets EIO, until it is removed."""

    def refuse(self, *paths: str) -> None:
        """Raise when one of these files is condemned."""
        for path in self.intersection(paths):
            raise OSError(errno.EIO, "its sync failed, so it may not be what was written", path)

    def refuse_below(self, folder: str) -> None:
        """Raise when a file of this folder is condemned: it would escape under its new path."""
        self.refuse(*(path for path in self if path.startswith(folder + "/")))


_TROUBLE: dict[int, type[StoreError]] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), StoreFull),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), StoreUnwritable),
    **dict.fromkeys(OUR_TROUBLE, StoreOutOfResources),
}


def store_trouble(path: str, error: OSError) -> StoreError:
    """The error that tells a person why the store at this place could not be used."""
    shown = "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in path)
    return _TROUBLE.get(error.errno or 0, StoreIo)(path=shown, why=error.strerror or "unknown trouble")


def refuse(number: int, path: str) -> NoReturn:
    """Raise the trouble of this number about this path."""
    raise OSError(number, os.strerror(number), path)


# --- Small moves on the disk that several steps share: read, replace or remove one file, remove a tree.


# A folder, a link, or a FIFO or the like.
_NO_FILE = (errno.EISDIR, errno.ELOOP, errno.EINVAL)
# Taken away or filled by somebody else in the moment since we looked.
_WORKED_AGAINST = (errno.ENOENT, errno.ENOTEMPTY)


def read_whole(fs: Fs, path: str, cap: int, artifact: str) -> bytes:
    """The bytes of a small file; `StoreCorrupt` when it is no file, or larger than anybody would have written it."""
    try:
        return fs.read(path, cap)
    except OSError as error:
        # A fact about what is there, as any other damage, and no trouble with the disk.
        if error.errno == errno.EFBIG:
            raise StoreCorrupt(artifact=artifact, why=f"it is larger than {cap} bytes") from None
        if error.errno in _NO_FILE:
            raise StoreCorrupt(artifact=artifact, why="it is not a file") from None
        raise


def remove_file(fs: Fs, path: str) -> None:
    """The file is gone, if it was there."""
    with contextlib.suppress(FileNotFoundError):
        fs.remove(path)


@contextlib.contextmanager
def despite_a_sleeper() -> Iterator[None]:
    """Give up a piece of tidying when a writer that was robbed wakes up and works against it; other trouble raises.

    What is left then, the next run finds.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _WORKED_AGAINST:
            raise


def remove_tree(fs: Fs, folder: str) -> None:
    """The folder and all below it are gone, sealed or not, if it was there."""
    # A thief and the sleeper that it robbed may both be at it: what is gone is gone.
    with contextlib.suppress(FileNotFoundError):
        names = fs.list_folder(folder)
        fs.unseal(folder)
        for name in names:
            path = f"{folder}/{name}"
            try:
                # Without a look at it first: of a file whose sync failed nothing can be asked but that it goes.
                remove_file(fs, path)
            except IsADirectoryError:
                remove_tree(fs, path)
        fs.remove_folder(folder)


def replace_file(fs: Fs, path: str, temp: str, data: bytes, *, safe: bool) -> None:
    """Readers see the old bytes or the new ones. `safe`: so they do after a power cut, and then it is the new ones."""
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
