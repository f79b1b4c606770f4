"""Everything of Cairn goes from the user's folder, but the settings: all stores, the caches, the logs.

No link is followed. A name that Cairn does not know stays, and is told. Where there is such a name beside the folders
of Cairn, the folder may be somebody's own (a home, a project): then only stores go, whose names cannot be mistaken.
"""

from __future__ import annotations

import os
import stat

from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, Clock, Processes
from cairn.core.config import BEARER_NAME, INSTALLED_NAME, TOOLS_NAME, USER_CONFIG_NAME
from cairn.errors import StoreError
from cairn.source.root import printable
from cairn.store.disk import Disk
from cairn.store.files import remove_tree
from cairn.store.fs import FileStat, store_trouble
from cairn.store.removal import require_no_writer
from cairn.store.standing import Purged, Stayed, StoreEntry
from cairn.sync.inventory import DATA, Inventory, inventory, open_data, silent
from cairn.sync.sizes import Measured, at_home, size_of
from cairn.sync.stores import MAY_GO, Remover, words

_FOLDERS = ("cache", "logs", "models", "run", "semantic")
_FILES = ("registry.db", "registry.db-journal", "registry.db-shm", "registry.db-wal")


def purge(
    home: str,
    *,
    dry_run: bool = False,
    tell: Measured = silent,
    clock: Clock = SYSTEM_CLOCK,
    processes: Processes = SYSTEM_PROCESSES,
) -> Purged:
    """Remove all of it. `StoreBusy`, before anything is removed, while a run is writing any of the stores."""
    found = inventory(home, tell=tell, clock=clock, processes=processes)
    _require_no_writers(home, found, clock, processes)
    purge = _Purge(home, dry_run)
    try:
        purge.stores(found, clock, processes)
        purge.others(tell)
    except OSError as problem:
        raise store_trouble(home, problem) from problem
    return Purged(tuple(purge.removed), tuple(purge.stayed), purge.freed)


class _Purge:
    """What went, what stayed, and how much that freed."""

    def __init__(self, home: str, dry_run: bool) -> None:
        self._home, self._dry_run = home, dry_run
        self.removed: list[str] = []
        self.stayed: list[Stayed] = []
        self.freed = 0

    def stores(self, found: Inventory, clock: Clock, processes: Processes) -> None:
        """All stores, whole or damaged, and what earlier removals left."""
        notes: list[str] = []
        with open_data(self._home) as data:
            if data is None:
                return
            remover = Remover(data, self._home, clock, processes, notes)
            for name in found.leftovers:
                self.freed += size_of(data, name).total if self._dry_run else remover.finish(name)
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
        """The other folders and files; `data` itself once it is empty."""
        try:
            disk = at_home(self._home, "")
        except FileNotFoundError:
            return
        with disk:
            listed = disk.list_stats("")
            # The record of what stands in the settings of agents stays like them: `cairn uninstall` needs it. Indexers
            # stay: it was the user who installed them.
            known = (DATA, USER_CONFIG_NAME, INSTALLED_NAME, BEARER_NAME, TOOLS_NAME, *_FOLDERS, *_FILES)
            strangers = [name for name, _ in listed if name not in known]
            self.stayed += [Stayed(_shown(name), "It is not Cairn's.") for name in strangers]
            for name, found in listed:
                if name == DATA:
                    self._remove_data(disk, found)
                elif name in _FOLDERS or name in _FILES:
                    size, why = _looked_at(disk, name, found, tell)
                    if strangers and why is None:
                        why = f"It may not be Cairn's: {_shown(strangers[0])} beside it is not."
                    if why is None and not self._dry_run and (why := _removed(disk, name, found)):
                        self.freed += size - size_of(disk, name).total
                    self._account(name, size, why)

    def _remove_data(self, disk: Disk, found: FileStat) -> None:
        if not self._dry_run and found.is_folder and not disk.list_folder(DATA):
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
                require_no_writer(store, clock, processes)


def _foreign(entry: StoreEntry) -> str | None:
    """Why this store is not ours to remove; one that is damaged, or of a later version, is."""
    return entry.trouble.message if entry.trouble is not None and entry.trouble.code not in MAY_GO else None


def _looked_at(disk: Disk, name: str, found: FileStat, tell: Measured) -> tuple[int, str | None]:
    """The size of what is there under a name of ours, and why it stays if it is not what we would have made."""
    if found.uid != os.geteuid():
        return 0, "It belongs to another user."
    if not (found.is_folder if name in _FOLDERS else stat.S_ISREG(found.mode)):
        return 0, "It is not what Cairn makes under that name."
    if not found.is_folder:
        return found.size, None
    size = size_of(disk, name, tell)
    strange = f"It holds a name that Cairn never gives ({_shown(size.stranger)})." if size.stranger else None
    return size.total, strange


def _removed(disk: Disk, name: str, found: FileStat) -> str | None:
    """Remove it, or say why it stays."""
    try:
        if found.is_folder:
            remove_tree(disk, name)
        else:
            disk.remove(name)
    except (OSError, StoreError) as problem:
        return words(problem)
    return None


def _shown(name: str) -> str:
    return printable(os.fsencode(name))
