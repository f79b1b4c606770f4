"""Implement the contract of `fs.py` on the real disk, below one base folder. No other module writes to a disk."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import KIB
from cairn.errors import SharedUnfit, StoreNotOurs
from cairn.store.fs import (
    PRIVATE,
    Condemned,
    Data,
    DiskStat,
    FileWriter,
    Map,
    Modes,
    check_path,
    database_of,
    read_only,
    refuse,
    store_trouble,
)

# Folders on the way to a file are only entered, not listed.
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
# Without O_NONBLOCK, opening a FIFO that somebody put in place of a file would block for ever.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# A database up to this size is copied into memory, so that the database of a small sync takes no descriptor.
_SMALL_DATABASE = 64 * KIB
# How long to wait for the transaction of another process.
_DATABASE_SECONDS = 2.0


class _Names:
    """The names below one base folder, which is held open: each is found from there, through no link."""

    __slots__ = ("base", "condemned")

    def __init__(self, base: int) -> None:
        self.base = base
        self.condemned = Condemned()

    def close(self) -> None:
        """Close the base folder; a second call does nothing."""
        # After the close the system may give the number to another file: forget it first.
        fd, self.base = self.base, -1
        if fd >= 0:
            os.close(fd)

    @contextlib.contextmanager
    def folder_of(self, path: str) -> Iterator[tuple[int, str]]:
        """Open the folder that holds this path's last name, and give that folder and the name."""
        check_path(path)
        *folders, name = path.split("/")
        # The number is kept here: Ctrl-C can make this block end after the disk was closed, when `self.base` is no
        # longer ours.
        at = base = self.base
        try:
            for folder in folders:
                outer, at = at, os.open(folder, _STEP, dir_fd=at)
                # Ctrl-C may come after any line: `at` already names the inner folder, so nothing is closed twice below.
                if outer != base:
                    os.close(outer)
            yield at, name
        finally:
            if at != base:
                os.close(at)

    @contextlib.contextmanager
    def changing(self, path: str) -> Iterator[tuple[int, str]]:
        """Do as `folder_of` for a change of the name: refused in a sealed folder, even to the superuser."""
        with self.folder_of(path) as (at, name):
            if not os.fstat(at).st_mode & stat.S_IWUSR:
                refuse(errno.EACCES, path)
            yield at, name

    def opened(self, path: str, flags: int) -> AbstractContextManager[int]:
        """Open a file or folder, none whose sync has failed."""
        self.condemned.refuse(path)
        with self.folder_of(path) as (at, name):
            return _closing(os.open(name, flags, dir_fd=at))

    def opened_folder(self, path: str) -> AbstractContextManager[int]:
        """Open a folder to list or sync it; the empty path is the base folder."""
        # Open the base folder again: two listings of one descriptor would share their position.
        return self.opened(path, _FOLDER) if path else _closing(os.open(".", _FOLDER, dir_fd=self.base))


class Disk(AbstractContextManager["Disk"]):
    """The real disk below one base folder. The folder is held open, so renaming it changes nothing. A context manager.

    Every path is walked name by name from the base folder without following a link, so no folder on the way can be
    swapped for another. Its methods are the contract `Fs` of a store. `loose` gives the files that are in no store, and
    `usage` says what lies here and how much more fits.
    """

    __slots__ = ("_clock", "_names", "loose", "modes", "path", "usage")

    def __init__(self, base: int, path: str, clock: Clock = SYSTEM_CLOCK, modes: Modes = PRIVATE) -> None:
        self._names = _Names(base)
        self._clock = clock
        self.modes = modes
        self.loose = LooseFiles(self._names, modes)
        self.usage = DiskUsage(self._names)
        self.path = path

    @classmethod
    def at(
        cls, home: str, below: str, *, create: bool = False, modes: Modes = PRIVATE, clock: Clock = SYSTEM_CLOCK
    ) -> Disk:
        """Open the disk whose base is this path below the user's home folder of Cairn, which may itself be a link.

        The empty path is the home folder itself.

        With `create`, missing folders are made and made safe. Refuses with `StoreNotOurs` when any of these folders is
        a link, belongs to another user, or lets others write; FileNotFoundError when the base does not exist. With the
        modes of a group the folders may belong to any member; `SharedUnfit` when one is open to everybody, or closed to
        the group.
        """
        if below:
            check_path(below)
        shown = home = os.path.abspath(home)
        try:
            fd = _enter(home, None, shown, modes, create=create)
            for name in filter(None, below.split("/")):
                shown = os.path.join(shown, name)
                with _closing(fd) as outer:
                    fd = _enter(name, outer, shown, modes, create=create)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not create:
                raise
            raise store_trouble(shown, error) from error
        return cls(fd, shown, clock, modes)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the base folder; a second call does nothing."""
        self._names.close()

    def create(self, path: str) -> FileWriter:
        return _DiskWriter(_created(self._names, self.modes, path))

    def create_bytes(self, path: str, data: Data) -> None:
        with self.create(path) as out:
            out.write(data)

    def make_folder(self, path: str) -> None:
        with self._names.changing(path) as (at, name):
            _make_folder(name, at, self.modes)

    def move(self, old: str, new: str) -> None:
        self._names.condemned.refuse_below(old)
        with self._names.changing(old) as (source, name), self._names.changing(new) as (target, wanted):
            found = os.stat(name, dir_fd=source, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                refuse(errno.ENOTDIR, old)
            # Moving a folder changes its `..` entry, which a sealed folder must not allow; the system would let the
            # superuser do it.
            if not found.st_mode & stat.S_IWUSR:
                refuse(errno.EACCES, old)
            # Another process may take the name after this check. Then the rename fails, or replaces an empty folder: no
            # loss.
            with contextlib.suppress(FileNotFoundError):
                os.stat(wanted, dir_fd=target, follow_symlinks=False)
                refuse(errno.EEXIST, new)
            os.rename(name, wanted, src_dir_fd=source, dst_dir_fd=target)

    def swap(self, temp: str, target: str) -> None:
        self._names.condemned.refuse(temp, target)
        with self._names.changing(temp) as (source, name), self._names.changing(target) as (at, wanted):
            _require_file(os.stat(name, dir_fd=source, follow_symlinks=False), temp)
            os.replace(name, wanted, src_dir_fd=source, dst_dir_fd=at)

    def claim(self, source: str, name: str) -> None:
        self._names.condemned.refuse(source, name)
        with self._names.folder_of(source) as (at, given), self._names.changing(name) as (target, wanted):
            _require_file(os.stat(given, dir_fd=at, follow_symlinks=False), source)
            os.link(given, wanted, src_dir_fd=at, dst_dir_fd=target, follow_symlinks=False)

    def remove(self, path: str) -> None:
        with self._names.changing(path) as (at, name):
            os.unlink(name, dir_fd=at)
        self._names.condemned.discard(path)

    def remove_folder(self, path: str) -> None:
        with self._names.changing(path) as (at, name):
            os.rmdir(name, dir_fd=at)

    def seal(self, path: str) -> None:
        with self._names.opened(path, _READ) as fd:
            found = os.fstat(fd)
            is_folder = stat.S_ISDIR(found.st_mode)
            if not is_folder:
                _require_file(found, path)
            _change_mode(fd, found, self.modes.sealed_folder if is_folder else self.modes.sealed_file)

    def unseal(self, path: str) -> None:
        with self._names.opened(path, _FOLDER) as fd:
            _change_mode(fd, os.fstat(fd), self.modes.folder)

    def sync_file(self, path: str) -> None:
        with self._names.opened(path, _READ) as fd:
            _require_file(os.fstat(fd), path)
            try:
                os.fsync(fd)
            except OSError:
                self._names.condemned.add(path)
                raise

    def sync_folder(self, path: str) -> None:
        with self._names.opened_folder(path) as fd:
            os.fsync(fd)

    def read(self, path: str, cap: int) -> bytes:
        with self._names.opened(path, _READ) as fd:
            found = os.fstat(fd)
            _require_file(found, path)
            data = bytearray()
            # The file may grow while it is read: the size is only a guess, and the cap holds for the bytes that come.
            while len(data) <= cap and (more := os.read(fd, min(found.st_size, cap - len(data)) + 1)):
                data += more
        if len(data) > cap:
            refuse(errno.EFBIG, path)
        return bytes(data)

    def open_map(self, path: str) -> Map:
        with self._names.opened(path, _READ) as fd:
            found = os.fstat(fd)
            _require_file(found, path)
            # An empty file cannot be mapped.
            owner = mmap.mmap(fd, found.st_size, prot=mmap.PROT_READ) if found.st_size else b""
            return Map(owner, _file_stat(found))

    def open_database(self, path: str) -> sqlite3.Connection:
        if self.stat(path).size <= _SMALL_DATABASE:
            # A database in memory holds no descriptor; a process may have a thousand in all.
            return database_of(self.read(path, _SMALL_DATABASE))
        with self._names.opened(path, _READ) as fd, contextlib.ExitStack() as undo:
            found = os.fstat(fd)
            _require_file(found, path)
            try:
                # With `immutable` SQLite takes no lock, writes nothing beside the file and looks for no journal.
                uri = f"file:/dev/fd/{fd}?immutable=1"
                db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
                undo.callback(db.close)
                read_only(db)
            except sqlite3.OperationalError as error:
                # SQLite does not say what failed. Repeat its steps: these calls raise the error of the system (no
                # descriptor left, no such file).
                os.close(os.dup(fd))
                self.stat(path)
                raise OSError(errno.EIO, str(error), path) from error
            # SQLite resolves the descriptor to the file's name and opens that: check that the name still leads to the
            # opened file.
            if self.stat(path)[:2] != (found.st_dev, found.st_ino):
                refuse(errno.ENOENT, path)
            undo.pop_all()
            return db

    def stat(self, path: str) -> DiskStat:
        if not path:
            return _file_stat(os.fstat(self._names.base))
        self._names.condemned.refuse(path)
        with self._names.folder_of(path) as (at, name):
            return _file_stat(os.stat(name, dir_fd=at, follow_symlinks=False))

    def list_folder(self, path: str) -> list[str]:
        with self._names.opened_folder(path) as fd:
            return sorted(os.listdir(fd))

    @contextlib.contextmanager
    def lock(self, path: str, *, exclusive: bool, timeout: float) -> Iterator[None]:
        kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        until = self._clock.monotonic() + timeout
        while (fd := self._try_lock(path, kind)) < 0:
            if (left := until - self._clock.monotonic()) <= 0:
                raise TimeoutError(errno.ETIMEDOUT, "the lock is held by others", path)
            self._clock.sleep(min(0.005, left))
        try:
            yield
        finally:
            # Unlock explicitly: a worker that was forked meanwhile shares the descriptor and would keep the lock.
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)

    def _try_lock(self, path: str, kind: int) -> int:
        """Return a descriptor that holds the lock, or -1."""
        self._names.condemned.refuse(path)
        with self._names.folder_of(path) as (at, name):
            fd = os.open(name, _READ, dir_fd=at)
            try:
                _require_file(os.fstat(fd), path)
                fcntl.flock(fd, kind | fcntl.LOCK_NB)
                # If the file was replaced before it was locked, other processes lock the new file: try again with that
                # one.
                if not os.path.samestat(os.fstat(fd), os.stat(name, dir_fd=at, follow_symlinks=False)):
                    raise BlockingIOError
            except BaseException as error:
                os.close(fd)
                if isinstance(error, BlockingIOError):
                    return -1
                raise
            return fd


class LooseFiles:
    """The files below a base folder that belong to no store and are changed where they lie: logs and databases."""

    __slots__ = ("_modes", "_names")

    def __init__(self, names: _Names, modes: Modes) -> None:
        self._names = names
        self._modes = modes

    def append(self, path: str) -> FileWriter:
        """Open a file, made if it is missing, to which lines are appended."""
        with self._names.changing(path) as (at, name):
            fd = os.open(name, _APPEND, self._modes.file, dir_fd=at)
            try:
                _require_file(os.fstat(fd), path)
            except BaseException:
                os.close(fd)
                raise
            return _DiskWriter(fd)

    def database(self, path: str) -> sqlite3.Connection:
        """Open a database, made if it is missing, that is written in transactions; the caller closes it.

        SQLite itself writes it, and its log, by name in this folder.
        """
        with contextlib.suppress(FileExistsError):
            os.close(_created(self._names, self._modes, path))
        with self._names.folder_of(path) as (at, name):
            _require_file(os.stat(name, dir_fd=at, follow_symlinks=False), path)
            uri = f"file:/dev/fd/{at}/{name}?mode=rw"
            db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_DATABASE_SECONDS)
        db.execute("PRAGMA trusted_schema = OFF")
        return db


class DiskUsage:
    """What lies below a base folder, and how much more fits."""

    __slots__ = ("_names",)

    def __init__(self, names: _Names) -> None:
        self._names = names

    def stats(self, path: str) -> list[tuple[str, DiskStat]]:
        """Return all names in a folder, sorted, with their stats, but for names that vanish meanwhile."""
        found = []
        with self._names.opened_folder(path) as fd, os.scandir(fd) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    found.append((entry.name, _file_stat(entry.stat(follow_symlinks=False))))
        return sorted(found)

    def free_bytes(self) -> int:
        """Return how many bytes this user can still write to the disk of the base folder."""
        found = os.fstatvfs(self._names.base)
        return found.f_bavail * found.f_frsize


def _created(names: _Names, modes: Modes, path: str) -> int:
    """Create an empty file and return its descriptor."""
    with names.changing(path) as (at, name):
        fd = os.open(name, _CREATE, modes.file, dir_fd=at)
        try:
            # The umask can remove permissions, even those of the owner.
            os.fchmod(fd, modes.file)
        except BaseException:
            os.close(fd)
            raise
        return fd


class _DiskWriter(AbstractContextManager[FileWriter]):
    """A file of the real disk that is being written."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, data: Data) -> None:
        rest = memoryview(data).cast("B")
        # A nearly full disk takes only what fits, and a single call never takes more than 2 GiB.
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def file_system(path: str) -> str:
    """Return the kernel's name for the file system that holds this folder; empty when the kernel does not say."""
    try:
        with _closing(os.open(path, _STEP & ~os.O_NOFOLLOW)) as fd, open(f"/proc/self/fdinfo/{fd}", "rb") as info:
            mount = re.search(rb"^mnt_id:\s*([0-9]+)$", info.read(), re.MULTILINE)
        with open("/proc/self/mountinfo", "rb") as mounts:
            # `ID PARENT DEVICE ROOT PLACE OPTIONS... - KIND SOURCE OPTIONS`; blanks in names are escaped.
            kinds = {line.split(b" ", 1)[0]: line.partition(b" - ")[2].split(b" ", 1)[0] for line in mounts}
    except OSError:
        return ""
    return kinds.get(mount[1], b"").decode("ascii", "replace") if mount else ""


def _enter(name: str, at: int | None, shown: str, modes: Modes, *, create: bool) -> int:
    """Open one folder on the way to the base; refuses a folder that others than the user or the group may write."""
    if create:
        with contextlib.suppress(FileExistsError):
            _make_folder(name, at, modes)
        # Sync the parent even when the folder existed: its maker may have been killed before this line.
        with _closing(os.open(os.path.dirname(name) + "/." if at is None else ".", _FOLDER, dir_fd=at)) as parent:
            os.fsync(parent)
    try:
        fd = os.open(name + "/." if at is None else name, _FOLDER, dir_fd=at)
    except NotADirectoryError:
        raise StoreNotOurs(path=shown, why="it is a file or a link, not a folder") from None
    try:
        (_require_group if modes.shared else _require_ours)(os.fstat(fd), shown)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _require_ours(found: os.stat_result, shown: str) -> None:
    if found.st_uid != os.geteuid():
        raise StoreNotOurs(path=shown, why="it belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreNotOurs(path=shown, why="others may write in it")


def _require_group(found: os.stat_result, shown: str) -> None:
    if found.st_mode & stat.S_IWOTH:
        raise SharedUnfit(path=shown, why="everybody may write in it")
    if found.st_gid not in {os.getegid(), *os.getgroups()}:
        raise SharedUnfit(path=shown, why="you are not in its group")
    # Without setgid, a new file gets the primary group of its maker, and the other members cannot use it.
    wanted = stat.S_ISGID | stat.S_IRWXG
    if found.st_mode & wanted != wanted:
        raise SharedUnfit(path=shown, why="it is not open to its group")


def _make_folder(name: str, at: int | None, modes: Modes) -> None:
    os.mkdir(name, modes.folder, dir_fd=at)
    # The umask can remove permissions, even those of the owner.
    if modes.shared:
        # Another member may put a link in its place meanwhile, so the folder is opened once and changed through the
        # descriptor.
        with _closing(os.open(name, _STEP, dir_fd=at)) as made:
            os.chmod(f"/proc/self/fd/{made}", modes.folder)
    else:
        # Nobody else can write in the parent folder, so the name still leads to the new folder.
        os.chmod(name, modes.folder, dir_fd=at)


def _change_mode(fd: int, found: os.stat_result, mode: int) -> None:
    # The mode of a file of another member cannot be changed; but such a file has the right mode already.
    if stat.S_IMODE(found.st_mode) != mode:
        os.fchmod(fd, mode)


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _require_file(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        refuse(errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL, path)


def _file_stat(found: os.stat_result) -> DiskStat:
    times = found.st_mtime_ns, found.st_ctime_ns
    return DiskStat(found.st_dev, found.st_ino, found.st_size, *times, found.st_mode, found.st_uid)
