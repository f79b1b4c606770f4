"""Hints from the kernel that something in the tree has changed; the change detector alone decides what did.

This speaks inotify itself, because each promise below needs something that the notification libraries keep to
themselves: that the kernel's queue overflowed (events were lost, so everything must be looked at), names that are not
UTF-8, watches on the eligible folders only, and no step through a link that leads out of the root. There is no thread
and no growing buffer: what is not polled waits in the kernel's bounded queue, and what does not fit there is an
overflow. A file on a network drive may change without an event; the periodic reconcile is for those.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
from collections.abc import Callable, Iterable, Iterator, Sequence
from struct import Struct
from typing import NamedTuple, Protocol

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import KIB, MAX_PENDING_EVENTS, MAX_WATCHED_FOLDERS, WATCH_DEBOUNCE_MS
from cairn.core.types import Root
from cairn.errors import WatchFailed
from cairn.source.beneath import Tree

_ATTRIB, _MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x4, 0x2, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_UNMOUNT, _Q_OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000
_ONLYDIR, _EXCL_UNLINK, _ISDIR = 0x1000000, 0x4000000, 0x40000000
# A mapped file changes without _MODIFY but not without _CLOSE_WRITE; a log that is never closed has only _MODIFY.
_CONTENT = _MODIFY | _CLOSE_WRITE | _ATTRIB
_NAMES = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO
_WANTED = _CONTENT | _NAMES | _DELETE_SELF | _MOVE_SELF | _ONLYDIR | _EXCL_UNLINK
_ROOT_IS_GONE = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED

_EVENT = Struct("iIII")
_READ_BYTES = 64 * KIB
_NOT_IN_PLACE = "it was moved or deleted"
_LONGEST_COALESCE_SECONDS = 1.0
# The folder went away, may not be read, or became a link between being named and being watched: the walk skips it too.
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG})


class Hints(NamedTuple):
    """Paths (of files or whole folders) worth a look. `overflow` says that some are missing: look at everything."""

    raws: frozenset[bytes]
    overflow: bool


class Watch(Protocol):
    """A live subscription; must be closed."""

    def poll(self, timeout: float) -> Hints | None:
        """Wait for hints, at most so many seconds; None when nothing happened."""
        ...

    def take(self) -> Hints | None:
        """Return the hints so far, without waiting: a save that ended before this call is among them."""
        ...

    def follow(self, folders: Iterable[bytes]) -> bool:
        """Watch these folders, and no others but wanted ones; True when one is new, so that something was missed."""
        ...

    def fileno(self) -> int:
        """Return the descriptor to wait for; it changes after an overflow."""
        ...

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        ...

    def close(self) -> None: ...


Wanted = Callable[[bytes], bool]


def watch_tree(
    root: Root, folders: Sequence[bytes], *, wanted: Wanted = lambda raw: True, clock: Clock = SYSTEM_CLOCK
) -> Watch:
    """Subscribe to the root and these folders below it; folders made later are covered when `wanted` says so.

    Raises WatchFailed when there are too many folders, or the system has no watch left to give.
    """
    return _Inotify(root, folders, wanted, clock)


class _WatchedFolder:
    """A watched folder, by its place in the tree, so that moving one renames everything below it at once."""

    __slots__ = ("children", "name", "parent", "wd")

    def __init__(self, parent: _WatchedFolder | None, name: bytes) -> None:
        self.parent = parent
        self.name = name
        self.wd = -1
        self.children: dict[bytes, _WatchedFolder] = {}

    def path(self, name: bytes = b"") -> bytes:
        """Return the path of this folder below the root, or of a name in it."""
        parts = [name] if name else []
        folder: _WatchedFolder = self
        while folder.parent is not None:
            parts.append(folder.name)
            folder = folder.parent
        return b"/".join(reversed(parts))


class _Inotify:
    """A `Watch` that uses inotify."""

    def __init__(self, root: Root, folders: Sequence[bytes], wanted: Wanted, clock: Clock) -> None:
        self._root, self._wanted, self._clock = root, wanted, clock
        self._fd = -1
        self._tree = Tree(root)
        self._pending: set[bytes] = set()
        self._overflow = False
        self._by_wd: dict[int, _WatchedFolder] = {}
        self._top = _WatchedFolder(None, b"")
        try:
            self._start()
            for raw in sorted(folders):
                self._cover_known(raw)
        except OSError as problem:
            self.close()
            raise self._failed(problem.strerror or str(problem)) from None
        except BaseException:
            self.close()
            raise

    def poll(self, timeout: float) -> Hints | None:
        deadline = self._clock.monotonic() + _LONGEST_COALESCE_SECONDS + timeout
        return self._told(max(0.0, timeout), WATCH_DEBOUNCE_MS / 1000, deadline)

    def take(self) -> Hints | None:
        return self._told(0.0, 0.0, self._clock.monotonic() + _LONGEST_COALESCE_SECONDS)

    def follow(self, folders: Iterable[bytes]) -> bool:
        self._check_place()
        wanted = {b"", *folders}
        before = set(self._by_wd)
        try:
            for folder in [one for one in self._by_wd.values() if one.path() not in wanted]:
                # The folder may be gone with one above it. A wanted folder that is not listed came after the listing.
                if self._by_wd.get(folder.wd) is folder and not self._wanted(folder.path()):
                    self._drop(folder)
            for raw in sorted(wanted):
                self._cover_known(raw)
        except OSError as problem:
            raise self._failed(problem.strerror or str(problem)) from None
        return not before.issuperset(self._by_wd)

    def fileno(self) -> int:
        return self._fd

    @property
    def folders(self) -> int:
        return len(self._by_wd)

    def _told(self, wait: float, quiet: float, deadline: float) -> Hints | None:
        try:
            self._collect(wait, quiet, deadline)
            self._check_place()
            if self._overflow:
                # A folder made while events were lost is not watched: begin again before the caller looks.
                self._start()
                self._cover_found(self._top)
        except OSError as problem:
            raise self._failed(problem.strerror or str(problem)) from None
        hints = Hints(frozenset() if self._overflow else frozenset(self._pending), self._overflow)
        self._pending.clear()
        self._overflow = False
        return hints if hints.raws or hints.overflow else None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._tree.close()
        self._by_wd.clear()

    def _check_place(self) -> None:
        """Raise when another folder, or none, is where the root was.

        The kernel does not tell that a folder above the root was moved. That the root was deleted is told when the last
        descriptor of it is closed, and one is ours.
        """
        if not self._tree.is_in_place:
            raise self._failed(_NOT_IN_PLACE)

    # --- events -------------------------------------------------------------------------------------------------

    def _collect(self, wait: float, quiet: float, deadline: float) -> None:
        """Take events until the tree is quiet for a moment, so one save is one hint; a flood ends at the deadline."""
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        while poller.poll(wait * 1000):
            for wd, mask, name in _events(os.read(self._fd, _READ_BYTES)):
                self._take(wd, mask, name)
            if self._overflow or self._clock.monotonic() > deadline:
                return
            wait = quiet

    def _take(self, wd: int, mask: int, name: bytes) -> None:
        if mask & _Q_OVERFLOW:
            self._overflow = True
            return
        folder = self._by_wd.get(wd)
        if folder is None:
            return
        if mask & _ROOT_IS_GONE and folder is self._top:
            raise self._failed(_NOT_IN_PLACE)
        if mask & _IGNORED:
            self._forget(folder)
            return
        if not name or (name == b".git" and folder is self._top):
            return
        self._hint(folder.path(name))
        if mask & _ISDIR and mask & (_CREATE | _MOVED_TO):
            self._cover_new(folder, name)
        elif mask & _ISDIR and mask & _MOVED_FROM and (moved := folder.children.get(name)) is not None:
            self._drop(moved)

    def _hint(self, raw: bytes) -> None:
        if len(self._pending) >= MAX_PENDING_EVENTS and raw not in self._pending:
            self._overflow = True
        else:
            self._pending.add(raw)

    # --- folders ------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Begin with the root alone, on an empty queue."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._by_wd.clear()
        self._top = _WatchedFolder(None, b"")
        self._fd = _libc_call("inotify_init1", os.O_CLOEXEC | os.O_NONBLOCK)
        if not self._watch(self._top, self._tree.fd):
            raise self._failed("it is not there any more")

    def _cover_known(self, raw: bytes) -> None:
        """Watch a folder that the caller has walked, and the folders that lead to it."""
        folder = self._top
        for name in raw.split(b"/"):
            below = folder.children.get(name)
            if below is None and name:
                below = self._add(folder, name)
            if below is None:
                return
            folder = below

    def _cover_new(self, parent: _WatchedFolder, name: bytes) -> None:
        """Watch a folder that has just appeared, and what was put into it before we could."""
        if name in parent.children:
            self._drop(parent.children[name])
        if self._wanted(parent.path(name)) and (folder := self._add(parent, name)) is not None:
            self._cover_found(folder)

    def _cover_found(self, top: _WatchedFolder) -> None:
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            for name, is_folder in self._entries(folder):
                raw = folder.path(name)
                self._hint(raw)
                if is_folder and name not in folder.children and self._wanted(raw):
                    below = self._add(folder, name)
                    waiting.extend((below,) if below is not None else ())

    def _entries(self, folder: _WatchedFolder) -> list[tuple[bytes, bool]]:
        try:
            fd = self._tree.open_folder(folder.path())
        except OSError:
            return []
        try:
            with os.scandir(fd) as entries:
                found = [(os.fsencode(e.name), e.is_dir(follow_symlinks=False)) for e in entries]
        except OSError:
            return []
        finally:
            os.close(fd)
        return [(name, is_folder) for name, is_folder in found if name != b".git"]

    def _add(self, parent: _WatchedFolder, name: bytes) -> _WatchedFolder | None:
        if name in (b".git", b".", b".."):
            return None
        folder = _WatchedFolder(parent, name)
        try:
            fd = self._tree.open_folder(folder.path())
        except OSError as problem:
            if problem.errno in _NOT_THERE:
                return None
            raise
        try:
            if not self._watch(folder, fd):
                return None
        finally:
            os.close(fd)
        parent.children[name] = folder
        return folder

    def _watch(self, folder: _WatchedFolder, fd: int) -> bool:
        if len(self._by_wd) >= MAX_WATCHED_FOLDERS:
            raise self._failed(f"it has more than {MAX_WATCHED_FOLDERS} folders")
        try:
            folder.wd = _libc_call("inotify_add_watch", self._fd, b"/proc/self/fd/%d" % fd, _WANTED)
        except OSError as problem:
            if problem.errno in _NOT_THERE:
                return False
            if problem.errno == errno.ENOSPC:
                raise self._failed("the system has no watch left to give") from None
            raise
        self._by_wd[folder.wd] = folder
        return True

    def _drop(self, top: _WatchedFolder) -> None:
        """Stop watching a folder that was moved away, with all below it; where it arrives it is new."""
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            waiting.extend(folder.children.values())
            if self._by_wd.get(folder.wd) is folder:
                del self._by_wd[folder.wd]
                try:
                    _libc_call("inotify_rm_watch", self._fd, folder.wd)
                except OSError:
                    continue  # the kernel was faster: the folder is deleted
        self._forget(top)

    def _forget(self, folder: _WatchedFolder) -> None:
        if self._by_wd.get(folder.wd) is folder:
            del self._by_wd[folder.wd]
        if folder.parent is not None and folder.parent.children.get(folder.name) is folder:
            del folder.parent.children[folder.name]

    def _failed(self, why: str) -> WatchFailed:
        return WatchFailed(path=self._root.path, why=why)


def _events(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at < len(data):
        wd, mask, _, size = _EVENT.unpack_from(data, at)
        at += _EVENT.size + size
        yield wd, mask, data[at - size : at].rstrip(b"\0")


_LIBC = ctypes.CDLL(None, use_errno=True)


def _libc_call(name: str, *arguments: int | bytes) -> int:
    try:
        result = int(getattr(_LIBC, name)(*arguments))
    except AttributeError:
        raise OSError(errno.ENOSYS, "this system has no inotify") from None
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
