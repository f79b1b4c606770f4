"""List the stores of a user and what they take on disk; nothing is changed, and trouble is reported with its store.

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

# Called with the number of names that were looked at since the last call.
Measured = Callable[[int], None]


def at_home(home: str, below: str, clock: Clock = SYSTEM_CLOCK) -> Disk:
    """Open the disk at this place below the user's folder, which may be that of a group; see `Disk.at`."""
    return Home(home).disk(below, clock)


def disk_use(disk: Disk, active: Manifest | None, home: str) -> DiskUse:
    """Return what a store takes, part by part, with the cache that all stores share and the free space of the disk."""
    return DiskUse(**Home.parts_of(disk, active), embedding_cache=cache_size(home), free=disk.usage.free_bytes())


def cache_size(home: str) -> int | None:
    """Return the size of the vector cache that all stores share; None when the user may not read that folder."""
    try:
        with at_home(home, EMBEDDING_CACHE) as disk:
            return Home.size_of(disk, "").total
    except FileNotFoundError:
        return 0
    except (OSError, StoreError):
        return None


def free_space(home: str) -> int | None:
    """Return the free space on the disk of the user's folder; None when the folder does not exist or cannot be read."""
    try:
        with at_home(home, "") as disk:
            return disk.usage.free_bytes()
    except (OSError, StoreError):
        return None


@dataclass(frozen=True, slots=True)
class DiskUse:
    """The bytes that a store takes, part by part, those that all stores share, and the free space; None: not known.

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
    """Ignore a progress report."""


def inventory(
    home: str,
    *,
    tell: Measured = silent,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
    measured: bool = True,
) -> Inventory:
    """Return everything in `data/`, one level deep; changes nothing, and reports trouble with a store in its entry.

    With `measured` false the sizes stay 0, and not every file is looked at.
    """
    with open_data(home) as data:
        if data is None:
            return Inventory()
        listed = data.usage.stats("")
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
    """Open the folder that holds all stores, None when there is none; raises trouble with it as a store error."""
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
        # A person still wants to know whose store this is; the entry keeps the trouble that it cannot be used.
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
    """Return the newest manifest, or the trouble; whether its artifacts are whole is a question for `cairn health`."""
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
    """Return the time of a file as envelopes show it; None when there is none that can be shown."""
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
    """One store. None stands for what is not known; `root_exists` is None when the root is not known."""

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
