"""Whose a store is: one user's alone, or a group's. Fixed when it is made, and followed by everybody who opens it.

The home folder says what is possible: one that is open to its group (setgid, mode 2770) holds stores of that group and
no others, every other one holds stores of its owner. A store of a group says so itself, in `sharing.json`, which is
safe on the disk before anything else is in the store. A store that is not what its home says is refused.
"""

from __future__ import annotations

import os
import secrets
import stat

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import SharedUnfit, SharingDiffers, StoreCorrupt, StoreNotOurs
from cairn.store.capability import require_local
from cairn.store.disk import Disk, file_system
from cairn.store.document import seal, unseal
from cairn.store.files import read_whole, replace_file
from cairn.store.fs import PRIVATE, SHARED, Fs, Modes, store_trouble
from cairn.store.ids import RANDOM_BYTES, snapshot_id
from cairn.store.layout import FOLDERS, SHARING, temp_path
from cairn.store.versions import SHARING as DOCUMENT

_DIGEST = "sharing_sha256"
_POLICY = "shared"
_WHOSE = {True: "a group", False: "one user"}


def modes_of(home: str) -> Modes:
    """The modes of the stores below this home, whether or not it is there."""
    try:
        found = os.stat(home).st_mode
    except OSError:
        return PRIVATE
    return SHARED if found & stat.S_ISGID and found & stat.S_IWGRP else PRIVATE


def open_disk(home: str, below: str, *, clock: Clock = SYSTEM_CLOCK) -> Disk:
    """The disk of the store at this path below the home; a FileNotFoundError when none was made there.

    Refuses, as `Disk.at` does, what is not safe; and a store that is not of the kind that its home holds.
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
    """The same for whoever writes: made if it is not there, for a group only when that is asked for.

    `shared` is what somebody asked for; None takes what is there. `SharingDiffers` when it is of the other kind.
    """
    try:
        disk = open_disk(home, below, clock=clock)
    except FileNotFoundError:
        if not shared:
            return Disk.at(home, below, create=True, clock=clock)
        # Before anything is made there.
        require_local(file_system(home if os.path.isdir(home) else os.path.dirname(os.path.abspath(home))), home)
        disk = Disk.at(home, below, create=True, modes=SHARED, clock=clock)
        _declare_or_close(disk, clock)
    except StoreCorrupt:
        # That the document is there is all that it says; only the home of a group gets as far as to read it.
        disk = Disk.at(home, below, modes=SHARED, clock=clock)
        _declare_or_close(disk, clock)
    if shared is not None and shared != disk.modes.shared:
        disk.close()
        raise SharingDiffers(path=disk.path, made=_WHOSE[disk.modes.shared], wanted=_WHOSE[shared])
    return disk


def declare(fs: Fs, clock: Clock = SYSTEM_CLOCK) -> None:
    """Say, safely, that this is the store of a group. Whoever says it says the same, so the last one may win."""
    # The name of a run that never was: what is left of it, the next run clears away.
    run = snapshot_id(clock.wall_ns(), secrets.token_bytes(RANDOM_BYTES))
    replace_file(fs, SHARING, temp_path(SHARING, run), seal(DOCUMENT, _DIGEST, {"policy": _POLICY}), safe=True)


def is_declared(fs: Fs) -> bool:
    """Whether the store says that it is a group's. `StoreCorrupt` when what it says cannot be read."""
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
    # Whoever was about to make it was killed before it could say whose it is.
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
