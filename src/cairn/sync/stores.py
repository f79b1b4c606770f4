"""When a store was used, and the collection of those that nobody used for long. One goes whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Set
from dataclasses import replace

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes, rfc3339
from cairn.core.limits import STORE_UNUSED_DAYS
from cairn.errors import CairnError, Incompatible, LeaseError, StoreBusy, StoreCorrupt, StoreError
from cairn.store.disk import Disk
from cairn.store.fs import store_trouble
from cairn.store.removal import alone, finish_removal, require_no_writer, retire
from cairn.store.standing import KeptBecause, KeptStore, StoreEntry, StoresCollected
from cairn.store.used import last_used, touch_used
from cairn.sync.inventory import DATA, inventory, open_data, silent, time_text
from cairn.sync.place import Place
from cairn.sync.sizes import Measured, at_home, size_of

_DAY_NS = 24 * 60 * 60 * 1_000_000_000
# Damage does not make a store worth keeping that nobody uses.
MAY_GO = (Incompatible.code, StoreCorrupt.code)


def note_use(place: Place, clock: Clock) -> None:
    """Let it be known that this store gave an answer; once in an hour is enough. Whatever goes wrong is not told."""
    with contextlib.suppress(OSError, StoreError):
        disk = place.disk()
        if disk is not None:
            with disk:
                touch_used(disk, clock)


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
    """Remove every store that nobody used for so many days, and what earlier removals left.

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
            freed += size_of(data, name).total if dry_run else remover.finish(name)
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
    """Removes stores of `data/`. `notes` gets what it could not end, `left_bytes` is what that still takes."""

    def __init__(self, data: Disk, home: str, clock: Clock, processes: Processes, notes: list[str]) -> None:
        self._data, self._home = data, home
        self._clock, self._processes = clock, processes
        self._notes = notes
        self.left_bytes = 0

    def remove(self, entry: StoreEntry, *, unless_used_since: str | None = None) -> KeptStore | None:
        """Remove this store; or say why it stays."""
        try:
            with (
                at_home(self._home, f"{DATA}/{entry.store_id}", self._clock) as store,
                alone(store, self._clock, self._processes),
            ):
                # Somebody may have asked it while all others were measured.
                used = time_text(last_used(store)) or ""
                if unless_used_since is not None and used > unless_used_since:
                    return _recent(replace(entry, last_used_at=used))
                self.left_bytes += self._finish(retire(self._data, entry.store_id))
                return None
        except FileNotFoundError:
            return KeptStore(entry, KeptBecause.BUSY, "Somebody else is removing it.")
        except (StoreBusy, LeaseError) as problem:
            return KeptStore(entry, KeptBecause.BUSY, problem.sentence)
        except StoreError as problem:
            return KeptStore(entry, KeptBecause.TROUBLE, problem.sentence)
        except OSError as problem:
            return KeptStore(entry, KeptBecause.TROUBLE, store_trouble(entry.path, problem).sentence)

    def finish(self, gone: str) -> int:
        """Remove what an earlier removal left; how much that freed."""
        try:
            with at_home(self._home, f"{DATA}/{gone}") as leftover:
                # A run that opened it in the last moment may still believe in it.
                require_no_writer(leftover, self._clock, self._processes)
            before = size_of(self._data, gone).total
        except (CairnError, OSError) as problem:
            self._notes.append(f"{gone} is left of an earlier removal and cannot go yet: {words(problem)}")
            return 0
        return before - self._finish(gone)

    def _finish(self, gone: str) -> int:
        """Remove what has lost its name; how much is left."""
        try:
            finish_removal(self._data, gone)
        except OSError as problem:
            self._notes.append(f"{gone} is not wholly removed, the next call goes on: {words(problem)}")
            with contextlib.suppress(OSError):
                return size_of(self._data, gone).total
        return 0


# --- what stays -------------------------------------------------------------------------------------------------------


def _stays(entry: StoreEntry, current: Set[str], limit: str, force: bool) -> KeptStore | None:
    """Why this store is not even tried; None when it may go."""
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
    """What went wrong, as a sentence."""
    return problem.sentence if isinstance(problem, CairnError) else f"{problem.strerror or 'unknown trouble'}."
