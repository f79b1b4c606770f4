"""Is this disk fit for the store of a group? It is tried, at the start of every run that writes to one.

A network file system may grant a lock to two machines at once, or show old bytes after a rename: there the promises of
the store do not hold, and nothing would say so.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import NoReturn

from cairn.errors import LeaseStuck, SharedUnfit
from cairn.store.files import remove_file
from cairn.store.fs import Fs
from cairn.store.layout import LEASE_LOCK

# As the kernel calls them; `fuse.sshfs` and the like begin with `fuse`. Cluster file systems and the folders of a host
# inside its virtual machine are shared between kernels as well.
_NOT_LOCAL = frozenset({
    "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "fuse", "fuseblk", "gfs", "gfs2",
    "glusterfs", "gpfs", "lustre", "mfs", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "prl_fs", "pvfs2", "smb2",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
})  # fmt: skip
# What a file system answers that does not know what it was asked for. All else (a full disk) is another trouble.
_UNKNOWN = frozenset(
    {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EXDEV, errno.EPERM, errno.ENOLCK, errno.ENOTTY}
)

GUARD, TEMP, POINTER, CLAIM = NAMES = "try.guard", "try.pointer.new", "try.pointer", "try.claim"
_LOCK_SECONDS = 5.0


def require_local(kind: str, path: str) -> None:
    """Nothing, when a file system of this kind is on this machine alone; else `SharedUnfit`."""
    if not kind:
        raise SharedUnfit(path=path, why="the system does not say what kind of file system it is on")
    if kind.partition(".")[0] in _NOT_LOCAL:
        raise SharedUnfit(path=path, why=f"it is on a network or foreign file system ({kind})")


def require_capable(fs: Fs, path: str) -> None:
    """Nothing, when the disk does what a group's store relies on; else `SharedUnfit`, which names what it does not.

    Tried are a lock, a guard by exclusive create, bytes that are written, synced and read again, a pointer that is
    swapped and a name that is claimed, all in the store itself, of which nothing else is touched.
    """
    with contextlib.ExitStack() as stack:
        with _tried(path, "lock a file"):
            try:
                # All who try use the same names, so two of them must not meet.
                stack.enter_context(fs.lock(LEASE_LOCK, exclusive=True, timeout=_LOCK_SECONDS))
            except TimeoutError:
                raise LeaseStuck(why="which one is not known") from None
        _require_lock(fs, path)
        try:
            _clear(fs)
            _try_all(fs, path)
        finally:
            # What is left here is removed by the next who comes.
            with contextlib.suppress(OSError):
                _clear(fs)


def _try_all(fs: Fs, path: str) -> None:
    with _tried(path, "create a file exclusively"):
        fs.create_bytes(GUARD, b"")
        with contextlib.suppress(FileExistsError):
            fs.create_bytes(GUARD, b"")
            _lacks(path, "create a file exclusively")
    old, new = os.urandom(32), os.urandom(32)
    with _tried(path, "sync a file"):
        for name, data in ((POINTER, old), (TEMP, new)):
            fs.create_bytes(name, data)
            fs.sync_file(name)
            if fs.read(name, 64) != data:
                _lacks(path, "give back what was written")
    with _tried(path, "rename a file over another"):
        fs.swap(TEMP, POINTER)
        if fs.read(POINTER, 64) != new or TEMP in fs.list_folder(""):
            _lacks(path, "rename a file over another")
        fs.sync_folder("")
    with _tried(path, "give a file a second name"):
        fs.claim(POINTER, CLAIM)
        with contextlib.suppress(FileExistsError):
            fs.claim(GUARD, CLAIM)
            _lacks(path, "give a file a second name once")


def _require_lock(fs: Fs, path: str) -> None:
    with contextlib.suppress(TimeoutError), fs.lock(LEASE_LOCK, exclusive=True, timeout=0):
        _lacks(path, "keep others out of a locked file")


def _clear(fs: Fs) -> None:
    for name in NAMES:
        remove_file(fs, name)


@contextlib.contextmanager
def _tried(path: str, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
        _lacks(path, what)


def _lacks(path: str, what: str) -> NoReturn:
    raise SharedUnfit(path=path, why=f"its file system cannot {what}")
