"""Note when stores are used, collect those unused for long, and purge everything of Cairn from the user's folder."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Set
from dataclasses import dataclass, replace
from enum import StrEnum

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes, rfc3339
from cairn.core.config import BEARER_NAME, INSTALLED_NAME, OPEN_EDITS, TOOLS_NAME, USER_CONFIG_NAME
from cairn.core.limits import STORE_UNUSED_DAYS
from cairn.errors import CairnError, Incompatible, LeaseError, StoreBusy, StoreCorrupt, StoreError
from cairn.source.root import printable
from cairn.store import Disk, Home, Store
from cairn.sync.codebase import StorePlace
from cairn.sync.inventory import (
    DATA,
    Inventory,
    Measured,
    StoreEntry,
    at_home,
    inventory,
    open_data,
    silent,
    time_text,
)

_DAY_NS = 24 * 60 * 60 * 1_000_000_000
# An unused store goes even when it is damaged or of a later format.
MAY_GO = (Incompatible.code, StoreCorrupt.code)


def note_use(place: StorePlace, clock: Clock) -> None:
    """Note that this store gave an answer, at most once an hour; ignores all trouble."""
    with contextlib.suppress(OSError, StoreError):
        disk = place.disk()
        if disk is not None:
            with disk:
                Store(disk).notes.touch_used(clock)


def collect_stores(
    home: str,
    *,
    current: Set[str] = frozenset(),
    unused_days: int = STORE_UNUSED_DAYS,
    force: bool = False,
    dry_run: bool = False,
    tell: Measured = silent,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
) -> StoresCollected:
    """Remove every store that was unused for so many days, and what earlier removals left.

    Only with `force`: one of the `current` stores, and one that a later version of Cairn wrote. Never: one that a run
    is writing, and one that is not the user's.
    """
    limit = rfc3339(max(0, clock.wall_ns() - max(0, unused_days) * _DAY_NS))
    removed: list[StoreEntry] = []
    kept: list[KeptStore] = []
    notes: list[str] = []
    freed = 0
    found = inventory(home, tell=tell, clock=clock, processes=processes)
    with open_data(home) as data:
        if data is None:
            return StoresCollected()
        remover = Remover(data, home, clock, processes, notes)
        for name in found.leftovers:
            freed += Home.size_of(data, name).total if dry_run else remover.finish(name)
        for entry in found.stores:
            stays = _stays(entry, current, limit, force)
            if stays is None and not dry_run:
                stays = remover.remove(entry, unless_used_since=limit)
            if stays is None:
                removed.append(entry)
            else:
                kept.append(stays)
        freed += sum(entry.size_bytes for entry in removed) - remover.left_bytes
    return StoresCollected(tuple(removed), tuple(kept), freed, tuple(notes))


class Remover:
    """Removes stores of `data/`. `notes` gets what it could not finish; `left_bytes` is what that still takes."""

    def __init__(self, data: Disk, home: str, clock: Clock, processes: Processes, notes: list[str]) -> None:
        self._data, self._home = data, home
        self._clock, self._processes = clock, processes
        self._notes = notes
        self.left_bytes = 0

    def remove(self, entry: StoreEntry, *, unless_used_since: str | None = None) -> KeptStore | None:
        """Remove this store, or return why it stays."""
        try:
            with (
                at_home(self._home, f"{DATA}/{entry.store_id}", self._clock) as store,
                Home(self._home).alone(store, self._clock, self._processes),
            ):
                # The store may have answered a question while all others were measured.
                used = time_text(Store(store).notes.last_used()) or ""
                if unless_used_since is not None and used > unless_used_since:
                    return _recent(replace(entry, last_used_at=used))
                self.left_bytes += self._finish(Home.retire(self._data, entry.store_id))
                return None
        except FileNotFoundError:
            return KeptStore(entry, KeptBecause.BUSY, "Somebody else is removing it.")
        except (StoreBusy, LeaseError) as problem:
            return KeptStore(entry, KeptBecause.BUSY, problem.sentence)
        except StoreError as problem:
            return KeptStore(entry, KeptBecause.TROUBLE, problem.sentence)
        except OSError as problem:
            return KeptStore(entry, KeptBecause.TROUBLE, Store.trouble(entry.path, problem).sentence)

    def finish(self, gone: str) -> int:
        """Remove what an earlier removal left; return the bytes that this freed."""
        try:
            with at_home(self._home, f"{DATA}/{gone}") as leftover:
                # A run that opened the store just before its removal may still be writing.
                Store(leftover).require_no_writer(self._clock, self._processes)
            before = Home.size_of(self._data, gone).total
        except (CairnError, OSError) as problem:
            self._notes.append(f"{gone} is left of an earlier removal and cannot go yet: {words(problem)}")
            return 0
        return before - self._finish(gone)

    def _finish(self, gone: str) -> int:
        """Remove a store that has lost its name; return the bytes that are left."""
        try:
            Home.finish_removal(self._data, gone)
        except OSError as problem:
            self._notes.append(f"{gone} is not wholly removed, the next call goes on: {words(problem)}")
            with contextlib.suppress(OSError):
                return Home.size_of(self._data, gone).total
        return 0


# --- what stays -------------------------------------------------------------------------------------------------------


def _stays(entry: StoreEntry, current: Set[str], limit: str, force: bool) -> KeptStore | None:
    """Return why this store is not even tried; None when it may go."""
    trouble = entry.trouble
    if trouble is not None and trouble.code not in MAY_GO:
        return KeptStore(entry, KeptBecause.TROUBLE, trouble.message)
    if entry.writer_alive:
        return KeptStore(entry, KeptBecause.BUSY, "A run is writing it.")
    if entry.last_used_at is None or entry.last_used_at > limit:
        return _recent(entry)
    if entry.store_id in current and not force:
        why = "It is the index of the folder you are in; with --force it goes all the same."
        return KeptStore(entry, KeptBecause.CURRENT, why)
    if trouble is not None and trouble.code == Incompatible.code and not force:
        return KeptStore(entry, KeptBecause.TROUBLE, f"{trouble.message} With --force it goes all the same.")
    return None


def _recent(entry: StoreEntry) -> KeptStore:
    return KeptStore(entry, KeptBecause.RECENT, f"It was last used at {entry.last_used_at or 'an unknown time'}.")


def words(problem: CairnError | OSError) -> str:
    """Return what went wrong, as a sentence."""
    return problem.sentence if isinstance(problem, CairnError) else f"{problem.strerror or 'unknown trouble'}."


class KeptBecause(StrEnum):
    """Why a store was not collected."""

    RECENT = "used_recently"
    CURRENT = "current"
    BUSY = "busy"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class KeptStore:
    """A store that stays, and the sentence that says why."""

    entry: StoreEntry
    because: KeptBecause
    why: str


@dataclass(frozen=True, slots=True)
class StoresCollected:
    """What a collection of unused stores removed, or would remove; `notes` say what it left half done."""

    removed: tuple[StoreEntry, ...] = ()
    kept: tuple[KeptStore, ...] = ()
    freed_bytes: int = 0
    notes: tuple[str, ...] = ()


# --- The purge: all stores, caches and logs go from the user's folder; the settings stay.


_EDITS, _OPEN = OPEN_EDITS
_CUT = "An edit of files was cut off, and what it holds may be all that is left of them."
_FOLDERS = ("cache", _EDITS, "logs", "models", "run", "semantic")
_FILES = ("reserve", "registry.db", "registry.db-journal", "registry.db-shm", "registry.db-wal")


def purge(
    home: str,
    *,
    dry_run: bool = False,
    tell: Measured = silent,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
) -> Purged:
    """Remove everything but the settings; raises `StoreBusy`, before anything goes, while a run writes any store."""
    found = inventory(home, tell=tell, clock=clock, processes=processes)
    _require_no_writers(home, found, clock, processes)
    purge = _Purge(home, dry_run)
    try:
        purge.stores(found, clock, processes)
        purge.others(tell)
    except OSError as problem:
        raise Store.trouble(home, problem) from problem
    return Purged(tuple(purge.removed), tuple(purge.stayed), purge.freed)


class _Purge:
    """A purge in progress: what went, what stayed, and the bytes that were freed."""

    def __init__(self, home: str, dry_run: bool) -> None:
        self._home, self._dry_run = home, dry_run
        self.removed: list[str] = []
        self.stayed: list[Stayed] = []
        self.freed = 0

    def stores(self, found: Inventory, clock: Clock, processes: Processes) -> None:
        """Remove all stores, whole or damaged, and what earlier removals left."""
        notes: list[str] = []
        with open_data(self._home) as data:
            if data is None:
                return
            remover = Remover(data, self._home, clock, processes, notes)
            for name in found.leftovers:
                self.freed += Home.size_of(data, name).total if self._dry_run else remover.finish(name)
            for entry in found.stores:
                why = _foreign(entry)
                if why is None and not self._dry_run:
                    kept = remover.remove(entry)
                    why = None if kept is None else kept.why
                self._account(f"{DATA}/{entry.store_id}", entry.size_bytes, why)
            self.freed -= remover.left_bytes
        self.stayed += [Stayed(f"{DATA}/{_shown(name)}", "It is not Cairn's.") for name in found.unknown]
        self.stayed += [Stayed(DATA, note) for note in notes]

    def others(self, tell: Measured) -> None:
        """Remove the other folders and files, and `data` itself once it is empty."""
        try:
            disk = at_home(self._home, "")
        except FileNotFoundError:
            return
        with disk:
            listed = disk.usage.stats("")
            # The record of what was written into agents' settings stays: `cairn uninstall` needs it. Indexers stay: the
            # user installed them.
            known = (DATA, USER_CONFIG_NAME, INSTALLED_NAME, BEARER_NAME, TOOLS_NAME, *_FOLDERS, *_FILES)
            strangers = [name for name, _ in listed if name not in known]
            self.stayed += [Stayed(_shown(name), "It is not Cairn's.") for name in strangers]
            for name, found in listed:
                if name == DATA:
                    self._remove_data(disk, is_folder=found.is_folder)
                elif name in _FOLDERS or name in _FILES:
                    size, why = _looked_at(disk, name, found.uid, found.mode, found.size, tell)
                    if strangers and why is None:
                        why = f"It may not be Cairn's: {_shown(strangers[0])} beside it is not."
                    if why is None and name == _EDITS and _OPEN in disk.list_folder(_EDITS):
                        why = _CUT
                    if why is None and not self._dry_run and (why := _removed(disk, name, is_folder=found.is_folder)):
                        self.freed += size - Home.size_of(disk, name).total
                    self._account(name, size, why)

    def _remove_data(self, disk: Disk, *, is_folder: bool) -> None:
        if not self._dry_run and is_folder and not disk.list_folder(DATA):
            disk.remove_folder(DATA)

    def _account(self, name: str, size: int, why: str | None) -> None:
        if why is None:
            self.removed.append(name)
            self.freed += size
        else:
            self.stayed.append(Stayed(name, why))


def _require_no_writers(home: str, found: Inventory, clock: Clock, processes: Processes) -> None:
    for entry in found.stores:
        if entry.writer_alive:
            with at_home(home, f"{DATA}/{entry.store_id}") as store:
                Store(store).require_no_writer(clock, processes)


def _foreign(entry: StoreEntry) -> str | None:
    """Return why this store is not ours to remove; a damaged one, or one of a later version, is ours."""
    return entry.trouble.message if entry.trouble is not None and entry.trouble.code not in MAY_GO else None


def _looked_at(disk: Disk, name: str, uid: int, mode: int, size: int, tell: Measured) -> tuple[int, str | None]:
    """Return the size of what has a name of ours, and why it stays if Cairn would not have made it like that."""
    if uid != os.geteuid():
        return 0, "It belongs to another user."
    if not (stat.S_ISDIR(mode) if name in _FOLDERS else stat.S_ISREG(mode)):
        return 0, "It is not what Cairn makes under that name."
    if not stat.S_ISDIR(mode):
        return size, None
    whole = Home.size_of(disk, name, tell)
    strange = f"It holds a name that Cairn never gives ({_shown(whole.stranger)})." if whole.stranger else None
    return whole.total, strange


def _removed(disk: Disk, name: str, *, is_folder: bool) -> str | None:
    """Remove this name; return why it stays, None when it is gone."""
    try:
        if is_folder:
            Home.remove_tree(disk, name)
        else:
            disk.remove(name)
    except (OSError, StoreError) as problem:
        return words(problem)
    return None


def _shown(name: str) -> str:
    return printable(os.fsencode(name))


@dataclass(frozen=True, slots=True)
class Stayed:
    """A name in the user's folder that a purge left, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge removed, or would remove: names below the user's folder."""

    removed: tuple[str, ...] = ()
    stayed: tuple[Stayed, ...] = ()
    freed_bytes: int = 0
