"""The only door through which a repository file is opened: below the root, through no link, regular files only.

Linux opens with `openat2`, which refuses links and escapes inside the kernel. Where that call is missing or forbidden,
every folder on the way is opened by its own descriptor without following links, which gives the same answers.
Neither way ever looks at a path twice, so nothing can be swapped between a check and an open.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from types import TracebackType
from typing import NamedTuple, NoReturn

from cairn.core.limits import MAX_LINK_HOPS
from cairn.core.types import Root, SkipReason
from cairn.errors import OUR_TROUBLE, RootNotAFolder, RootNotFound, RootUnreadable, SourceError

# Links may spell out at most this many names in all, so 32 links of 4 KiB cannot keep us busy.
_MAX_LINK_STEPS = 1_024

# ENOSYS is an old kernel, EPERM a sandbox that forbids what it does not know, EOPNOTSUPP a strange file system.
_NO_OPENAT2 = frozenset({errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP})
# What opening a socket, or a device without a driver, answers.
_NO_FILE = frozenset({errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP})
_TRY_AGAIN = frozenset({errno.EAGAIN, errno.EINTR})
_OPEN_ATTEMPTS = 8

# A FIFO would block an open without O_NONBLOCK for ever; a terminal would become ours without O_NOCTTY.
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
# A folder on the way needs to be entered, not listed: O_PATH opens one that may be searched but not read.
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_DIRECTORY

_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS


def _how(flags: int) -> ctypes.Array[ctypes.c_uint64]:
    """Return the kernel's `struct open_how` (flags, mode, resolve); it is only read, so all threads may share one."""
    return (ctypes.c_uint64 * 3)(flags, 0, _RESOLVE)


# The arguments are made once: converting them anew costs more than a tenth of the whole open.
_HOW = {flags: _how(flags) for flags in (_FILE, _FOLDER, _STEP)}
_HOW_REF = {flags: ctypes.byref(how) for flags, how in _HOW.items()}
_HOW_SIZE = ctypes.c_long(24)
_OPENAT2 = ctypes.c_long(437)
_HAS_OPENAT2 = sys.platform == "linux"
_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long


class NotRegularFile(OSError):
    """The name is a folder, a pipe, a socket or a device, and a file was asked for."""


class Resolved(NamedTuple):
    """Where a link leads: the raw path of its target below the root, or the reason why it leads nowhere usable."""

    target: bytes | None
    is_folder: bool
    reason: SkipReason | None


class Tree:
    """The open root folder, and everything below it by raw relative path. A context manager.

    An absolute path, or one with an empty part, `.`, `..` or NUL in it, is refused with EINVAL before any system call;
    a link anywhere on the way with ELOOP.
    """

    __slots__ = ("_fd_argument", "_root_parts", "fd", "path", "uses_openat2")

    def __init__(self, root: Root, *, openat2: bool = True) -> None:
        self.path = root.path
        self.uses_openat2 = openat2 and _HAS_OPENAT2
        self._root_parts = [part for part in os.fsencode(root.path).split(b"/") if part]
        try:
            self.fd = os.open(root.path, _FOLDER)
        except OSError as error:
            raise root_trouble(root.path, error) from error
        self._fd_argument = ctypes.c_long(self.fd)

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the root folder; a second call does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
            # The number of the descriptor may soon belong to somebody else's file.
            self.fd = -1
            self._fd_argument = ctypes.c_long(-1)

    @property
    def is_in_place(self) -> bool:
        """Whether the path of the root still leads to this folder."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self.fd))
        except OSError:
            return False

    def open_file(self, raw: bytes) -> int:
        """Return a descriptor of the regular file, which the caller closes. Never blocks."""
        return self.open_regular(raw)[0]

    def open_regular(self, raw: bytes) -> tuple[int, os.stat_result]:
        """Return a descriptor of the regular file and the stat of what was really opened."""
        try:
            fd = self._open(raw, _FILE)
        except OSError as error:
            if error.errno in _NO_FILE:
                raise NotRegularFile(error.errno, "not a regular file", raw) from None
            raise
        try:
            opened = os.fstat(fd)
            if not stat.S_ISREG(opened.st_mode):
                raise NotRegularFile(errno.EINVAL, "not a regular file", raw)
        except BaseException:
            os.close(fd)
            raise
        return fd, opened

    def open_folder(self, raw: bytes) -> int:
        """Return a descriptor of the folder, which the caller closes; the empty path is the root itself."""
        if not raw:
            # Not a dup: two listings of one open folder would share their place in it.
            return os.open(b".", _FOLDER, dir_fd=self.fd)
        return self._open(raw, _FOLDER)

    def read_small(self, raw: bytes, cap: int) -> bytes | None:
        """Return the bytes of a regular file, at most one more than the cap; None when nothing can be read."""
        try:
            fd = self.open_file(raw)
            try:
                return read_up_to(fd, cap + 1, cap + 1)
            finally:
                os.close(fd)
        except OSError as error:
            if error.errno in OUR_TROUBLE:
                raise
            return None

    def lstat(self, raw: bytes) -> os.stat_result:
        """Return the stat of the name itself: of a link, not of its target. The empty path is the root."""
        if not raw:
            return os.fstat(self.fd)
        at, name = self._parent(raw)
        try:
            return os.stat(name, dir_fd=at, follow_symlinks=False)
        finally:
            self._release(at)

    def resolve_link(self, raw: bytes) -> Resolved:
        """Follow a link one name at a time, without looking outside the root, and return where it leads.

        An absolute target counts as inside when it begins with the root's own real path, name by name. A way that
        leaves the root is outside even if it would come back: to know that, we would have to look at the outside.
        """
        try:
            return self._follow(raw)
        except OSError as error:
            if error.errno in OUR_TROUBLE:
                raise
            return _leads_nowhere(_LINK_REASONS.get(error.errno or 0, SkipReason.BROKEN_LINK))

    def _follow(self, raw: bytes) -> Resolved:
        _check(raw)
        todo = raw.split(b"/")[::-1]
        real: list[bytes] = []
        in_folder = True
        hops = steps = 0
        while todo:
            part = todo.pop()
            steps += 1
            if not in_folder:
                # `file/.` and `file/` are as broken as `file/name`.
                return _leads_nowhere(SkipReason.BROKEN_LINK)
            if part == b"..":
                if not real:
                    return _leads_nowhere(SkipReason.OUTSIDE_ROOT)
                real.pop()
            elif part not in (b"", b"."):
                name = b"/".join((*real, part))
                mode = self.lstat(name).st_mode
                if stat.S_ISLNK(mode):
                    hops += 1
                    target = self.read_link(name)
                    if target.startswith(b"/"):
                        below = self._below_root(target)
                        if below is None:
                            return _leads_nowhere(SkipReason.OUTSIDE_ROOT)
                        real, target = [], below
                    todo.extend(reversed(target.split(b"/")))
                else:
                    real.append(part)
                    in_folder = stat.S_ISDIR(mode)
            if hops > MAX_LINK_HOPS or steps > _MAX_LINK_STEPS:
                return _leads_nowhere(SkipReason.SYMLINK_LOOP)
        return Resolved(b"/".join(real), in_folder, None)

    def _below_root(self, absolute: bytes) -> bytes | None:
        """Return the rest of an absolute path below the root, compared by whole names: /r-evil is not below /r."""
        parts = absolute.split(b"/")[::-1]
        for wanted in self._root_parts:
            part = b""
            while parts and part in (b"", b"."):
                part = parts.pop()
            if part != wanted:
                return None
        return b"/".join(reversed(parts))

    def read_link(self, raw: bytes) -> bytes:
        """Return the target of a link, as it is written in the link."""
        at, name = self._parent(raw)
        try:
            return os.readlink(name, dir_fd=at)
        finally:
            self._release(at)

    def _parent(self, raw: bytes) -> tuple[int, bytes]:
        _check(raw)
        folder, _, name = raw.rpartition(b"/")
        return (self._open(folder, _STEP) if folder else self.fd), name

    def _release(self, at: int) -> None:
        if at != self.fd:
            os.close(at)

    def _open(self, raw: bytes, flags: int) -> int:
        _check(raw)
        if self.uses_openat2:
            how = _HOW_REF[flags]
            for _ in range(_OPEN_ATTEMPTS):
                fd: int = _syscall(_OPENAT2, self._fd_argument, raw, how, _HOW_SIZE)
                if fd >= 0:
                    return fd
                trouble = ctypes.get_errno()
                if trouble not in _TRY_AGAIN:
                    break
            if trouble not in _NO_OPENAT2:
                raise OSError(trouble, os.strerror(trouble), raw)
            # A real EPERM comes back from the fallback as well, so this switch can only cost time.
            self.uses_openat2 = False
        return self._open_by_steps(raw, flags)

    def _open_by_steps(self, raw: bytes, flags: int) -> int:
        *folders, name = raw.split(b"/")
        at = self.fd
        try:
            for folder in folders:
                below = _open_no_link(folder, _STEP, at)
                self._release(at)
                at = below
            return _open_no_link(name, flags, at)
        finally:
            self._release(at)


def root_trouble(path: str, error: OSError) -> SourceError:
    """Return the error that tells a person why this folder cannot be a root."""
    shown = "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in path)
    if isinstance(error, FileNotFoundError):
        return RootNotFound(path=shown)
    if isinstance(error, NotADirectoryError):
        return RootNotAFolder(path=shown)
    return RootUnreadable(path=shown, why=error.strerror)


def settle(fd: int) -> None:
    """Wait until every write or truncate of a file that is under way has ended, and go to the start of the file.

    A truncate shows the new size first and the new times later, a write the new times first and the bytes later: a stat
    in between fits neither. Looking for data takes the lock that both hold to their end, on ext4, xfs, btrfs and tmpfs.
    """
    try:
        if os.lseek(fd, 0, os.SEEK_DATA):
            os.lseek(fd, 0, os.SEEK_SET)
    except OSError:
        # No data at all, or a file system that cannot say.
        return


def read_up_to(fd: int, most: int, enough: int) -> bytes:
    """Return at most that many bytes of a file, from its current position."""
    data = os.read(fd, most)
    while len(data) < enough and (more := os.read(fd, most - len(data))):
        data += more
    return data


_LINK_REASONS = {
    errno.EACCES: SkipReason.UNREADABLE,
    errno.EPERM: SkipReason.UNREADABLE,
    errno.ENAMETOOLONG: SkipReason.PATH_TOO_LONG,
}


def _leads_nowhere(reason: SkipReason) -> Resolved:
    return Resolved(None, False, reason)


def _check(raw: bytes) -> None:
    # NUL would cut the path short on its way into the kernel; the other forms mean something else than they say.
    if not raw or b"\0" in raw or raw[-1] == 0x2F or raw[0] == 0x2F or b"//" in raw:
        _refuse(raw)
    if (raw[0] == 0x2E or b"/." in raw) and not {b".", b".."}.isdisjoint(raw.split(b"/")):
        _refuse(raw)


def _refuse(raw: bytes) -> NoReturn:
    raise OSError(errno.EINVAL, "not a clean relative path", raw)


def _open_no_link(name: bytes, flags: int, at: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=at)
    except NotADirectoryError:
        # Asked for a folder, the system calls a link "not a folder"; openat2 calls it a link, and so do we.
        mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        if stat.S_ISDIR(mode):
            # The link has become a folder. "Not a folder" would count the files below it as deleted.
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), name) from None
        raise
