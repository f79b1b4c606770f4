"""Decide whether a store belongs to one user or to a group, and refuse a disk that is unfit for a group.

The owner is fixed when the store is made, and everybody who opens the store follows it. The home folder says what is
possible: a home that is open to its group (setgid, mode 2770) holds only stores of that group, every other home holds
only stores of its owner. A store of a group says so in `sharing.json`, which is safe on the disk before anything else
is in the store. A store of another kind than its home is refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import NoReturn

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_STATE_BYTES
from cairn.core.mounts import is_foreign
from cairn.errors import DiskUnfit, LeaseStuck, SharedUnfit, SharingDiffers, StoreCorrupt, StoreNotOurs
from cairn.store.disk import Disk, file_system
from cairn.store.format.document import SHARING as DOCUMENT
from cairn.store.format.document import seal, unseal
from cairn.store.format.layout import FOLDERS, LEASE_LOCK, RANDOM_BYTES, SHARING, snapshot_id, temp_path
from cairn.store.fs import PRIVATE, SHARED, Fs, Modes, read_whole, remove_file, replace_file, store_trouble

# --- whether a disk is fit for the store of a group -------------------------------------------------------------------


# The errors of a file system that does not support the call. Every other error (a full disk) says nothing about that.
_UNKNOWN = frozenset(
    {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EXDEV, errno.EPERM, errno.ENOLCK, errno.ENOTTY}
)

GUARD, TEMP, POINTER, CLAIM = NAMES = "try.guard", "try.pointer.new", "try.pointer", "try.claim"
_LOCK_SECONDS = 5.0


def require_local(kind: str, path: str) -> None:
    """Raise `SharedUnfit` unless a file system of this kind belongs to this machine alone."""
    if not kind:
        raise SharedUnfit(path=path, why="the system does not say what kind of file system it is on")
    if is_foreign(kind):
        raise SharedUnfit(path=path, why=f"it is on a network or foreign file system ({kind})")


def require_capable(fs: Fs, path: str) -> None:
    """Raise `SharedUnfit`, or `DiskUnfit` for a store of one user, unless the disk can do what a store relies on.

    The attempt takes a lock, creates a guard exclusively, writes, syncs and reads bytes, swaps a pointer and claims a
    name. It works in the store itself and touches nothing else there.
    """
    with contextlib.ExitStack() as stack:
        with _tried(fs, path, "lock a file"):
            try:
                # Every attempt uses the same file names, so two attempts must not run at once.
                stack.enter_context(fs.lock(LEASE_LOCK, exclusive=True, timeout=_LOCK_SECONDS))
            except TimeoutError:
                raise LeaseStuck(why="which one is not known") from None
            except OSError:
                # That something was planted there says nothing about the disk; whoever takes the lease is told.
                if not stat.S_ISREG(fs.stat(LEASE_LOCK).mode):
                    return
                raise
        _require_lock(fs, path)
        try:
            _clear(fs)
            _try_all(fs, path)
        except BaseException:
            # A name that is left here is removed by the next attempt.
            with contextlib.suppress(OSError):
                _clear(fs)
            raise
        if fs.modes.shared:
            with contextlib.suppress(OSError):
                _clear(fs)
        else:
            # Once there is a snapshot no run tries again, so none would remove a name, or what a power cut brings back.
            _clear(fs)
            fs.sync_folder("")


def _try_all(fs: Fs, path: str) -> None:
    with _tried(fs, path, "create a file exclusively"):
        fs.create_bytes(GUARD, b"")
        with contextlib.suppress(FileExistsError):
            fs.create_bytes(GUARD, b"")
            _lacks(fs, path, "create a file exclusively")
    old, new = os.urandom(32), os.urandom(32)
    with _tried(fs, path, "sync a file"):
        for name, data in ((POINTER, old), (TEMP, new)):
            fs.create_bytes(name, data)
            fs.sync_file(name)
            if fs.read(name, 64) != data:
                _lacks(fs, path, "give back what was written")
    with _tried(fs, path, "rename a file over another"):
        fs.swap(TEMP, POINTER)
        if fs.read(POINTER, 64) != new or TEMP in fs.list_folder(""):
            _lacks(fs, path, "rename a file over another")
        fs.sync_folder("")
    with _tried(fs, path, "give a file a second name"):
        fs.claim(POINTER, CLAIM)
        with contextlib.suppress(FileExistsError):
            fs.claim(GUARD, CLAIM)
            _lacks(fs, path, "give a file a second name once")


def _require_lock(fs: Fs, path: str) -> None:
    with contextlib.suppress(TimeoutError), fs.lock(LEASE_LOCK, exclusive=True, timeout=0):
        _lacks(fs, path, "keep others out of a locked file")


def _clear(fs: Fs) -> None:
    for name in NAMES:
        remove_file(fs, name)


@contextlib.contextmanager
def _tried(fs: Fs, path: str, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
        _lacks(fs, path, what)


def _lacks(fs: Fs, path: str, what: str) -> NoReturn:
    raise (SharedUnfit if fs.modes.shared else DiskUnfit)(path=path, why=f"its file system cannot {what}")


_DIGEST = "sharing_sha256"
_POLICY = "shared"
_WHOSE = {True: "a group", False: "one user"}


def modes_of(home: str) -> Modes:
    """Return the modes of the stores below this home, whether or not the home exists."""
    try:
        found = os.stat(home).st_mode
    except OSError:
        return PRIVATE
    return SHARED if found & stat.S_ISGID and found & stat.S_IWGRP else PRIVATE


def open_disk(home: str, below: str, *, clock: Clock = SYSTEM_CLOCK) -> Disk:
    """Open the disk of the store at this path below the home; FileNotFoundError when no store was made there.

    Refuses what `Disk.at` refuses, and a store of another kind than its home holds.
    """
    modes = modes_of(home)
    disk = Disk.at(home, below, modes=modes, clock=clock)
    try:
        (_require_group_store if modes.shared else _require_own_store)(disk)
    except OSError as error:
        disk.close()
        if isinstance(error, FileNotFoundError):
            raise
        raise store_trouble(disk.path, error) from error
    except BaseException:
        disk.close()
        raise
    return disk


def make_disk(home: str, below: str, *, shared: bool | None = None, clock: Clock = SYSTEM_CLOCK) -> Disk:
    """Open the disk of a store for writing; a missing store is made, for a group only when `shared` asks for it.

    `shared` is what the caller asked for; None accepts a store of either kind. `SharingDiffers` when the store is of
    the other kind.
    """
    try:
        disk = open_disk(home, below, clock=clock)
    except FileNotFoundError:
        if not shared:
            return Disk.at(home, below, create=True, clock=clock)
        # Refuse an unfit disk before the store's folder is made.
        require_local(file_system(home if os.path.isdir(home) else os.path.dirname(os.path.abspath(home))), home)
        disk = Disk.at(home, below, create=True, modes=SHARED, clock=clock)
        _declare_or_close(disk, clock)
    except StoreCorrupt:
        # A damaged `sharing.json` still says that the store is a group's, because only such a store has the file. It is
        # read only below the home of a group, so it can be written again.
        disk = Disk.at(home, below, modes=SHARED, clock=clock)
        _declare_or_close(disk, clock)
    if shared is not None and shared != disk.modes.shared:
        disk.close()
        raise SharingDiffers(path=disk.path, made=_WHOSE[disk.modes.shared], wanted=_WHOSE[shared])
    return disk


def declare(fs: Fs, clock: Clock = SYSTEM_CLOCK) -> None:
    """Write, safely, that this store belongs to a group. Every writer writes the same, so the last one may win."""
    # The temporary file is named after a run that does not exist, so that the next run clears it away if this one is
    # killed.
    run = snapshot_id(clock.wall_ns(), secrets.token_bytes(RANDOM_BYTES))
    replace_file(fs, SHARING, temp_path(SHARING, run), seal(DOCUMENT, _DIGEST, {"policy": _POLICY}), safe=True)


def is_declared(fs: Fs) -> bool:
    """Return whether the store says that it belongs to a group; `StoreCorrupt` when `sharing.json` cannot be read."""
    try:
        data = read_whole(fs, SHARING, MAX_STATE_BYTES, DOCUMENT.name)
    except FileNotFoundError:
        return False
    fields = unseal(DOCUMENT, _DIGEST, data, MAX_STATE_BYTES)
    fields.text("policy", {_POLICY}.__contains__)
    fields.end()
    return True


def _require_group_store(disk: Disk) -> None:
    require_local(file_system(disk.path), disk.path)
    if is_declared(disk):
        return
    names = disk.list_folder("")
    if set(FOLDERS).intersection(names):
        raise StoreNotOurs(path=disk.path, why="it was made for one user, and others may write in it")
    # The process that was making the store was killed before it wrote `sharing.json`.
    raise FileNotFoundError(disk.path)


def _require_own_store(disk: Disk) -> None:
    try:
        disk.stat(SHARING)
    except FileNotFoundError:
        return
    raise SharedUnfit(path=disk.path, why="its store was made for a group, and is no longer open to it")


def _declare_or_close(disk: Disk, clock: Clock) -> None:
    try:
        declare(disk, clock)
    except OSError as error:
        disk.close()
        raise store_trouble(disk.path, error) from error
    except BaseException:
        disk.close()
        raise
