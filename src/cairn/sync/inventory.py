"""Which stores a user has. Nothing is changed by looking, and trouble with one store is told with that store.

A store is a folder of `data/` with the name of a store; nothing deeper is ever taken for one.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes, rfc3339
from cairn.errors import Incompatible, StoreBusy, StoreCorrupt, StoreError, StoreUnreadable
from cairn.source.root import printable
from cairn.store import Disk, Home, Manifest, Store
from cairn.sync.codebase import model_of

# --- What the folders of Cairn take on disk: one walk each, by the sizes of the files.


EMBEDDING_CACHE = "cache/embeddings"

# Told how many names were looked at since the last time.
Measured = Callable[[int], None]


def at_home(home: str, below: str, clock: Clock = SYSTEM_CLOCK) -> Disk:
    """The disk at this place below the user's folder, which may be that of a group; see `Disk.at`."""
    return Home(home).disk(below, clock)


def disk_use(disk: Disk, active: Manifest | None, home: str) -> DiskUse:
    """What a store takes, part by part, beside the cache that all stores share and what is left on the disk."""
    return DiskUse(**Home.parts_of(disk, active), embedding_cache=cache_size(home), free=disk.free_bytes())


def cache_size(home: str) -> int | None:
    """What the vectors take that all stores share; None when that folder is not ours to look into."""
    try:
        with at_home(home, EMBEDDING_CACHE) as disk:
            return Home.size_of(disk, "").total
    except FileNotFoundError:
        return 0
    except (OSError, StoreError):
        return None


def free_space(home: str) -> int | None:
    """What is left on the disk of the user's folder; None when there is none yet."""
    try:
        with at_home(home, "") as disk:
            return disk.free_bytes()
    except (OSError, StoreError):
        return None


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What a store takes, part by part, what all stores share, and what the disk has left; None: it could not be told.

    `live` is what the active snapshot reads, `older` what only earlier ones read, `other` the rest.
    """

    live: int = 0
    older: int = 0
    staging: int = 0
    quarantine: int = 0
    other: int = 0
    embedding_cache: int | None = None
    free: int | None = None

    @property
    def total(self) -> int:
        """All that the store takes."""
        return self.live + self.older + self.staging + self.quarantine + self.other


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
        stores, leftovers = list(filter(Home.is_store, names)), tuple(filter(Home.is_leftover, names))
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
        raise Store.trouble(os.path.join(home, DATA), problem) from problem


# --- one store --------------------------------------------------------------------------------------------------------


def _entry(data: Disk, home: str, name: str, tell: Measured | None, clock: Clock, processes: Processes) -> StoreEntry:
    entry = StoreEntry(name, os.path.join(data.path, name), 0)
    size = None
    try:
        if tell is not None:
            size = Home.size_of(data, name, tell)
            entry = replace(entry, size_bytes=size.total)
        with at_home(home, f"{DATA}/{name}") as disk:
            entry = _described(entry, disk, clock, processes)
    except FileNotFoundError:
        return replace(entry, trouble=StoreTrouble(StoreError.code, "It was removed while it was looked at."))
    except StoreError as problem:
        return replace(entry, trouble=StoreTrouble(problem.code, problem.sentence))
    except OSError as problem:
        trouble = Store.trouble(entry.path, problem)
        return replace(entry, trouble=StoreTrouble(trouble.code, trouble.sentence))
    if size is not None and size.stranger is not None:
        why = f"It holds a name that Cairn never gives ({printable(os.fsencode(size.stranger))}); move that away first."
        return replace(entry, trouble=StoreTrouble(_STRANGER, why))
    return entry


def _described(entry: StoreEntry, disk: Disk, clock: Clock, processes: Processes) -> StoreEntry:
    newest, trouble = _newest(disk)
    if trouble is not None and trouble.code == Incompatible.code:
        # For a person to know which it is; that it cannot be used stays true.
        with Home.reading_newer():
            newest, _ = _newest(disk)
    root = newest.canonical_root if newest else _root_by_state(disk)
    notes = Store(disk).notes
    return replace(
        entry,
        root=root,
        root_exists=None if root is None else os.path.isdir(root),
        created_at=time_text(notes.made_ns()),
        last_used_at=time_text(notes.used_ns()),
        active_snapshot_id=newest.snapshot_id if newest else None,
        config_fingerprint=newest.config_fingerprint if newest else None,
        writer_alive=_is_written(disk, clock, processes),
        trouble=trouble,
        files=newest.counts.files_indexed if newest else None,
        last_sync_at=notes.last_sync(newest) if newest else None,
        embedding_model=model_of(newest.config_fields) if newest else None,
        cleared=newest is not None and newest.completion is None,
    )


def _newest(disk: Disk) -> tuple[Manifest | None, StoreTrouble | None]:
    """The manifest that is the newest; whether all that it names is whole is a question for `cairn health`."""
    damage: list[StoreCorrupt] = []
    try:
        newest = Store(disk).newest(damage)
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
    state = Store(disk).notes.state()
    return None if state is None else state.canonical_root


def _is_written(disk: Disk, clock: Clock, processes: Processes) -> bool:
    try:
        Store(disk).require_no_writer(clock, processes)
    except StoreBusy:
        return True
    return False


def time_text(wall_ns: int | None) -> str | None:
    """A time of a file as envelopes show it; None when there is none that can be shown."""
    try:
        return None if wall_ns is None else rfc3339(wall_ns)
    except (ValueError, OverflowError):
        # A file can be dated in the year 30,000.
        return None


@dataclass(frozen=True, slots=True)
class StoreTrouble:
    """Why a store cannot be used as it is: a stable code, and the sentence for a person."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """One store. What is None could not be told; `root_exists` is None when the root could not be."""

    store_id: str
    path: str
    size_bytes: int
    root: str | None = None
    root_exists: bool | None = None
    created_at: str | None = None
    last_used_at: str | None = None
    active_snapshot_id: str | None = None
    config_fingerprint: str | None = None
    writer_alive: bool = False
    trouble: StoreTrouble | None = None
    files: int | None = None
    last_sync_at: str | None = None
    embedding_model: str | None = None
    cleared: bool = False
