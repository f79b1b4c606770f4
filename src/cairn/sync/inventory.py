"""Which stores a user has. Nothing is changed by looking, and trouble with one store is told with that store.

A store is a folder of `data/` with the name of a store; nothing deeper is ever taken for one.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes, rfc3339
from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import Incompatible, StoreBusy, StoreCorrupt, StoreError, StoreUnreadable
from cairn.source.root import printable
from cairn.store.disk import Disk
from cairn.store.document import is_store_id
from cairn.store.fs import store_trouble
from cairn.store.generations import published, read_claims
from cairn.store.layout import INDEX_STATE, LEASE_LOCK
from cairn.store.manifest import Manifest
from cairn.store.removal import is_leftover, require_no_writer
from cairn.store.standing import StoreEntry, StoreTrouble
from cairn.store.state import decode_state
from cairn.store.used import last_used
from cairn.store.versions import reading_newer
from cairn.sync.said import last_sync, model_of
from cairn.sync.sizes import Measured, at_home, size_of

DATA = "data"

_STRANGER = "foreign_name"
_NOT_THERE = (errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.EINVAL)


class Inventory(NamedTuple):
    """The stores in order of their names, what killed removals left, and the names that are not Cairn's."""

    stores: tuple[StoreEntry, ...] = ()
    leftovers: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def silent(_: int) -> None:
    """Tell nobody."""


def inventory(
    home: str,
    *,
    tell: Measured = silent,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
    measured: bool = True,
) -> Inventory:
    """Everything in `data/`, one level deep. Nothing is changed by looking; trouble with one store is told with it.

    Who does not ask how large they are (`measured` false) is answered without a look at every file.
    """
    with open_data(home) as data:
        if data is None:
            return Inventory()
        listed = data.list_stats("")
        names = [name for name, found in listed if found.is_folder]
        stores, leftovers = list(filter(is_store_id, names)), tuple(filter(is_leftover, names))
        ours = {*stores, *leftovers}
        return Inventory(
            tuple(_entry(data, home, name, tell if measured else None, clock, processes) for name in stores),
            leftovers,
            tuple(name for name, _ in listed if name not in ours),
        )


@contextlib.contextmanager
def open_data(home: str) -> Iterator[Disk | None]:
    """The folder that holds all stores, None when there is none. Trouble with it is told as an error of that place."""
    try:
        try:
            data = at_home(home, DATA)
        except FileNotFoundError:
            yield None
            return
        with data:
            yield data
    except OSError as problem:
        raise store_trouble(os.path.join(home, DATA), problem) from problem


# --- one store --------------------------------------------------------------------------------------------------------


def _entry(data: Disk, home: str, name: str, tell: Measured | None, clock: Clock, processes: Processes) -> StoreEntry:
    entry = StoreEntry(name, os.path.join(data.path, name), 0)
    size = None
    try:
        if tell is not None:
            size = size_of(data, name, tell)
            entry = replace(entry, size_bytes=size.total)
        with at_home(home, f"{DATA}/{name}") as disk:
            entry = _described(entry, disk, clock, processes)
    except FileNotFoundError:
        return replace(entry, trouble=StoreTrouble(StoreError.code, "It was removed while it was looked at."))
    except StoreError as problem:
        return replace(entry, trouble=StoreTrouble(problem.code, problem.sentence))
    except OSError as problem:
        trouble = store_trouble(entry.path, problem)
        return replace(entry, trouble=StoreTrouble(trouble.code, trouble.sentence))
    if size is not None and size.stranger is not None:
        why = f"It holds a name that Cairn never gives ({printable(os.fsencode(size.stranger))}); move that away first."
        return replace(entry, trouble=StoreTrouble(_STRANGER, why))
    return entry


def _described(entry: StoreEntry, disk: Disk, clock: Clock, processes: Processes) -> StoreEntry:
    newest, trouble = _newest(disk)
    if trouble is not None and trouble.code == Incompatible.code:
        # For a person to know which it is; that it cannot be used stays true.
        with reading_newer():
            newest, _ = _newest(disk)
    root = newest.canonical_root if newest else _root_by_state(disk)
    used = last_used(disk)
    return replace(
        entry,
        root=root,
        root_exists=None if root is None else os.path.isdir(root),
        created_at=time_text(_mtime(disk, LEASE_LOCK)),
        last_used_at=time_text(_mtime(disk, "") if used is None else used),
        active_snapshot_id=newest.snapshot_id if newest else None,
        config_fingerprint=newest.config_fingerprint if newest else None,
        writer_alive=_is_written(disk, clock, processes),
        trouble=trouble,
        files=newest.counts.files_indexed if newest else None,
        last_sync_at=last_sync(disk, newest) if newest else None,
        embedding_model=model_of(newest.config_fields) if newest else None,
        cleared=newest is not None and newest.completion is None,
    )


def _newest(disk: Disk) -> tuple[Manifest | None, StoreTrouble | None]:
    """The manifest that is the newest; whether all that it names is whole is a question for `cairn health`."""
    damage: list[StoreCorrupt] = []
    try:
        newest = next(published(disk, read_claims(disk), damage), None)
    except StoreUnreadable as problem:
        return None, StoreTrouble(problem.code, problem.sentence)
    except OSError as problem:
        if problem.errno not in _NOT_THERE:
            raise
        return None, StoreTrouble(StoreCorrupt.code, "A folder of the index is not a folder any more.")
    if newest is None and damage:
        return None, StoreTrouble(damage[0].code, damage[0].sentence)
    return newest, None


def _root_by_state(disk: Disk) -> str | None:
    try:
        return decode_state(disk.read(INDEX_STATE, MAX_STATE_BYTES)).canonical_root
    except (OSError, StoreUnreadable):
        return None


def _is_written(disk: Disk, clock: Clock, processes: Processes) -> bool:
    try:
        require_no_writer(disk, clock, processes)
    except StoreBusy:
        return True
    return False


def _mtime(disk: Disk, path: str) -> int | None:
    try:
        return disk.stat(path).mtime_ns
    except OSError:
        return None


def time_text(wall_ns: int | None) -> str | None:
    """A time of a file as envelopes show it; None when there is none that can be shown."""
    try:
        return None if wall_ns is None else rfc3339(wall_ns)
    except (ValueError, OverflowError):
        # A file can be dated in the year 30,000.
        return None
