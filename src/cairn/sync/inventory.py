"""Which stores a user has. Nothing is changed by looking, and trouble with one store is told with that store.

A store is a folder of `data/` with the name of a store; nothing deeper is ever taken for one.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes, rfc3339
from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import Incompatible, StoreBusy, StoreCorrupt, StoreError, StoreUnreadable
from cairn.source.root import printable
from cairn.store.disk import Disk
from cairn.store.format.document import is_store_id, reading_newer
from cairn.store.format.layout import (
    INDEX_STATE,
    LEASE_LOCK,
    QUARANTINE,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    segment_folder,
    snapshot_folder,
)
from cairn.store.format.manifest import Manifest
from cairn.store.format.side_files import decode_state, last_used
from cairn.store.fs import FileStat, Fs, check_path, store_trouble
from cairn.store.publish.generations import published, read_claims
from cairn.store.sharing import modes_of
from cairn.store.tend.removal import is_leftover, require_no_writer
from cairn.sync.codebase import model_of

# --- What the folders of Cairn take on disk: one walk each, by the sizes of the files.


EMBEDDING_CACHE = "cache/embeddings"

# Told how many names were looked at since the last time.
Measured = Callable[[int], None]


def at_home(home: str, below: str, clock: Clock = SYSTEM_CLOCK) -> Disk:
    """The disk at this place below the user's folder, which may be that of a group; see `Disk.at`."""
    return Disk.at(home, below, modes=modes_of(home), clock=clock)


class Size(NamedTuple):
    """What the files below a folder hold, and a name among them that Cairn never gives (None: there is none)."""

    total: int = 0
    stranger: str | None = None


def size_of(disk: Disk, folder: str, tell: Measured = lambda _: None) -> Size:
    """The size of a folder, links not followed. What is taken away meanwhile holds nothing.

    What is below a folder with a name that is not ours is not looked at.
    """
    total, stranger = 0, None
    left = [folder]
    while left:
        here = left.pop()
        with contextlib.suppress(FileNotFoundError):
            names = disk.list_stats(here)
            tell(len(names))
            for name, found in names:
                if not is_ours(name):
                    stranger = stranger or name
                elif found.is_folder:
                    left.append(f"{here}/{name}" if here else name)
                total += 0 if found.is_folder else found.size
    return Size(total, stranger)


def is_ours(path: str) -> bool:
    """Whether Cairn could have given these names: no others pass its door to the disk."""
    try:
        check_path(path)
    except OSError:
        return False
    return True


def disk_use(disk: Disk, active: Manifest | None, home: str) -> DiskUse:
    """What a store takes, part by part, beside the cache that all stores share and what is left on the disk."""
    live = set()
    if active is not None:
        live = {snapshot_folder(active.snapshot_id), *(segment_folder(ref.name) for ref in active.segments)}
        # A snapshot goes on reading the tombstones of those before it.
        live |= {ref.path.rpartition("/")[0] for ref in active.tombstones}
    parts = Counter[str]()
    for name, found in disk.list_stats(""):
        if name in (SEGMENTS, SNAPSHOTS) and found.is_folder:
            for inner, below in disk.list_stats(name):
                path = f"{name}/{inner}"
                parts["live" if path in live else "older"] += _size(disk, path, below)
        else:
            parts[name if name in (STAGING, QUARANTINE) else "other"] += _size(disk, name, found)
    return DiskUse(**parts, embedding_cache=cache_size(home), free=disk.free_bytes())


def _size(disk: Disk, path: str, found: FileStat) -> int:
    if not found.is_folder:
        return found.size
    return size_of(disk, path).total if is_ours(path) else 0


def cache_size(home: str) -> int | None:
    """What the vectors take that all stores share; None when that folder is not ours to look into."""
    try:
        with at_home(home, EMBEDDING_CACHE) as disk:
            return size_of(disk, "").total
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


def last_sync(fs: Fs, manifest: Manifest) -> str:
    """When the tree was last compared: after the snapshot was made, a sync may have found nothing to do."""
    try:
        state = decode_state(fs.read(INDEX_STATE, MAX_STATE_BYTES))
    except (FileNotFoundError, StoreUnreadable):
        return manifest.created_at
    return state.last_sync_at if state.active_snapshot_id == manifest.snapshot_id else manifest.created_at


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
