"""The one door through which a file of a codebase is written: a whole new file is made beside it and takes its place.

Below the root and through no link, like every read. What would not be the same file afterwards is refused with the
reason: a link, a file with several names, one of another user, one that is read-only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator

from cairn.core.limits import MAX_FILE_BYTES
from cairn.errors import OUR_TROUBLE, EditRefused
from cairn.source.beneath import NotRegularFile, Tree, read_up_to
from cairn.source.root import printable

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_KEPT_ATTRIBUTES = ("user.", "system.posix_acl_access")
_GONE = (errno.ENOENT, errno.ENOTDIR)
_NOT_OURS = (*_GONE, errno.ELOOP, errno.EFBIG)


class TreeWriter:
    """Writes files below an open root."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def held(self, raw: bytes) -> bytes | None:
        """Return the bytes of a file; None where no plain file that Cairn could have written is there."""
        try:
            return self._read(raw)[0]
        except NotRegularFile:
            return None
        except OSError as problem:
            if problem.errno in _NOT_OURS:
                return None
            raise

    def look(self, raw: bytes) -> tuple[bytes, os.stat_result]:
        """Return the bytes of a file that may be replaced, and its stat; `EditRefused` says why it may not."""
        try:
            data, found = self._read(raw)
        except OSError as problem:
            raise _refused(raw, _why_unread(problem)) from None
        if found.st_nlink > 1:
            # Replacing it would part it from its other names in silence.
            raise _refused(raw, "it has more than one name (hard links), and would be parted from the others")
        if found.st_uid != os.geteuid() and os.geteuid() != 0:
            raise _refused(raw, "it belongs to another user")
        if not found.st_mode & stat.S_IWUSR:
            raise _refused(raw, "it is read-only")
        return data, found

    def is_still(self, raw: bytes, held: os.stat_result) -> bool:
        """Whether nothing was done to the file since it had this stat."""
        try:
            return _identity(self._tree.lstat(raw)) == _identity(held)
        except OSError as problem:
            if problem.errno in OUR_TROUBLE:
                raise
            return False

    def stage(self, raw: bytes, temporary: str, data: bytes) -> None:
        """Make a file beside another one, with these bytes and its mode, owner and attributes; safe on the disk."""
        with self._folder(raw) as (at, name):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=at)
            fd = os.open(temporary, _CREATE, 0o600, dir_fd=at)
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(fd, rest) :]
                _dress(fd, name, at)
                os.fsync(fd)
            finally:
                os.close(fd)

    def put(self, raw: bytes, temporary: str) -> None:
        """Let the file that was made beside another one take its place."""
        with self._folder(raw) as (at, name):
            os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)

    def discard(self, raw: bytes, temporary: str) -> None:
        """Remove what was made beside a file, if it is there."""
        try:
            with self._folder(raw) as (at, _):
                os.unlink(temporary, dir_fd=at)
        except OSError as problem:
            if problem.errno not in _GONE:
                raise

    def beside(self, raw: bytes, temporary: str) -> bytes:
        """Return the raw path of a name beside a file."""
        return raw[: raw.rfind(b"/") + 1] + temporary.encode()

    def sync_folders(self, raws: Iterable[bytes]) -> None:
        """Make the names in the folders of these files safe."""
        for folder in dict.fromkeys(raw.rpartition(b"/")[0] for raw in raws):
            fd = self._tree.open_folder(folder)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def _read(self, raw: bytes) -> tuple[bytes, os.stat_result]:
        fd, found = self._tree.open_regular(raw)
        try:
            data = read_up_to(fd, MAX_FILE_BYTES + 1, MAX_FILE_BYTES + 1)
        finally:
            os.close(fd)
        if len(data) > MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return data, found

    @contextlib.contextmanager
    def _folder(self, raw: bytes) -> Iterator[tuple[int, bytes]]:
        folder, _, name = raw.rpartition(b"/")
        fd = self._tree.open_folder(folder)
        try:
            yield fd, name
        finally:
            os.close(fd)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _dress(fd: int, name: bytes, at: int) -> None:
    """Give a new file the owner, the mode and the attributes of the one under this name."""
    old = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    try:
        held, new = os.fstat(old), os.fstat(fd)
        if (new.st_uid, new.st_gid) != (held.st_uid, held.st_gid):
            os.fchown(fd, held.st_uid, held.st_gid)
        os.fchmod(fd, stat.S_IMODE(held.st_mode))
        if sys.platform == "linux":
            _copy_attributes(old, fd)
    finally:
        os.close(old)


if sys.platform == "linux":

    def _copy_attributes(old: int, new: int) -> None:
        try:
            names = os.listxattr(old)
        except OSError as problem:
            if problem.errno in (errno.ENOTSUP, errno.EPERM):
                return
            raise
        for name in names:
            if name.startswith(_KEPT_ATTRIBUTES):
                os.setxattr(new, name, os.getxattr(old, name))


def _refused(raw: bytes, why: str) -> EditRefused:
    return EditRefused(file=printable(raw), why=why)


def _why_unread(problem: OSError) -> str:
    if isinstance(problem, NotRegularFile):
        return "it is no plain file"
    if problem.errno == errno.ELOOP:
        return "it is a link, or lies behind one"
    if problem.errno in _GONE:
        return "it is gone"
    return f"the system says: {problem.strerror or 'unknown trouble'}"
