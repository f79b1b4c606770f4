"""The one door to the settings of agents: a small file of the user's is read, and replaced as a whole or not at all.

A link is followed to the file that it stands for, and that file is replaced, so the link stays; in a project it may not
lead out of it. What is not a plain file of the user's own that they may write is left as it is, with the reason.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cairn.core.limits import MAX_AGENT_SETTINGS_BYTES
from cairn.errors import OUR_TROUBLE
from cairn.install.edits import Unfit

# A FIFO under the name of a file would block an open without O_NONBLOCK for ever.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class FoundFile(NamedTuple):
    """A file with every link resolved, and its bytes; None when there is none."""

    path: str
    data: bytes | None


def look(path: str, *, within: str | None = None) -> FoundFile:
    """Return the file that this path stands for; `Unfit` says why Cairn does not write to it."""
    try:
        real = os.path.realpath(path)
        if within is not None and not real.startswith(within.rstrip("/") + "/"):
            raise Unfit("it leads out of the project")
        if os.path.islink(path) and not os.path.lexists(real):
            raise Unfit("it is a link that leads nowhere")
        return FoundFile(real, _read(real))
    except OSError as problem:
        raise _unfit(problem) from None
    except ValueError:
        raise Unfit("its name holds a NUL") from None


def replace(found: FoundFile, data: bytes | None, *, private: bool = False) -> None:
    """Put these bytes in the place of what was found, or take the file away. Folders that it needs are made.

    The mode and the group of the file are kept; a new one is for the user alone when it is `private`. `Unfit`, with
    everything as it was, when somebody else has changed the file meanwhile.
    """
    made: list[str] = []
    folder, name = os.path.split(found.path)
    try:
        if data is not None:
            made = _made_folders(folder, 0o700 if private else 0o777)
        with _opened(folder, _FOLDER) as at:
            if _read(found.path) != found.data:
                raise Unfit("it was changed meanwhile")
            if data is None:
                os.unlink(name, dir_fd=at)
            else:
                _swap(at, name, data, private=private)
            os.fsync(at)
    except (OSError, Unfit) as problem:
        remove_folders(made)
        raise (_unfit(problem) if isinstance(problem, OSError) else problem) from None


def remove_folders(folders: Sequence[str]) -> None:
    """Take those of these folders away that are empty, the innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _swap(at: int, name: str, data: bytes, *, private: bool) -> None:
    temporary = f".{name[:100]}.{os.urandom(6).hex()}"
    fd = os.open(temporary, _CREATE, 0o600 if private else 0o666, dir_fd=at)
    try:
        try:
            with contextlib.suppress(FileNotFoundError):
                _dress(fd, os.stat(name, dir_fd=at, follow_symlinks=False))
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, name, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=at)
        raise


def _dress(fd: int, old: os.stat_result) -> None:
    """Give the new file the group and the mode of the old one."""
    if os.fstat(fd).st_gid != old.st_gid:
        with contextlib.suppress(PermissionError):
            os.fchown(fd, -1, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode))


def _read(real: str) -> bytes | None:
    try:
        fd = os.open(real, _READ)
    except FileNotFoundError:
        return None
    try:
        _require_fit(os.fstat(fd))
        data = bytearray()
        while len(data) <= MAX_AGENT_SETTINGS_BYTES and (more := os.read(fd, 1 << 20)):
            data += more
    finally:
        os.close(fd)
    if len(data) > MAX_AGENT_SETTINGS_BYTES:
        raise Unfit(f"it is larger than {MAX_AGENT_SETTINGS_BYTES:,} bytes")
    return bytes(data)


def _require_fit(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Unfit("it is not a plain file")
    if found.st_uid != os.geteuid():
        raise Unfit("it belongs to another user")
    if not found.st_mode & stat.S_IWUSR:
        raise Unfit("it is read-only")
    if found.st_nlink > 1:
        # Replacing it would part it from its other names in silence.
        raise Unfit("it has more than one name (hard links)")


def missing_folders(folder: str) -> list[str]:
    """Return the folders that must be made for this path, the outermost first."""
    missing: list[str] = []
    while not os.path.isdir(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def _made_folders(folder: str, mode: int) -> list[str]:
    made: list[str] = []
    try:
        for one in missing_folders(folder):
            os.mkdir(one, mode)
            made.append(one)
    except OSError:
        remove_folders(made)
        raise
    return made


@contextlib.contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def _unfit(problem: OSError) -> Exception:
    if problem.errno in OUR_TROUBLE:
        return problem
    return Unfit(f"the system says: {os.strerror(problem.errno or 0)}")
