"""A home with several stores in it: copies of one that was really made, each as old as a test wants it."""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

from cairn.core.clock import SystemClock, rfc3339
from cairn.sync.inventory import Inventory, StoreEntry, inventory
from tests.store.little import save

DAY = 24 * 60 * 60
PRINT = "fedcba9876543210"


class Shelf:
    """Stores by a short name; the first is made, all others are copies of it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.data = self.home / "data"
        self.clock = SystemClock()
        self._first: Path | None = None

    def id(self, name: str) -> str:
        return f"{name}__{sha256(name.encode()).hexdigest()[:16]}__{PRINT}"

    def path(self, name: str) -> Path:
        return self.data / self.id(name)

    def put(self, name: str, *, days: float = 0.0) -> Path:
        """A store with one snapshot that was last used so many days ago."""
        path = self.path(name)
        if self._first is None:
            from cairn.store.disk import Disk

            with Disk.at(str(self.home), f"data/{path.name}", create=True) as disk:
                save(disk, {"a.py": b"a = 1\n", "b.py": b"b = 2\n"}, clock=self.clock)
            self._first = path
        else:
            shutil.copytree(self._first, path, symlinks=True)
        used = self.clock.wall_ns() - int(days * DAY * 1e9)
        (path / "last_used").write_text(rfc3339(used) + "\n")
        return path

    def look(self) -> Inventory:
        return inventory(str(self.home))

    def entry(self, name: str) -> StoreEntry:
        (found,) = (entry for entry in self.look().stores if entry.store_id == self.id(name))
        return found

    def names(self) -> set[str]:
        return set(os.listdir(self.data))

    def size(self, name: str) -> int:
        return sum(path.stat().st_size for path in self.path(name).rglob("*") if path.is_file())

    def ledger(self, name: str) -> dict[str, str]:
        """Every file of a store with a digest of its bytes."""
        store = self.path(name)
        found = sorted(path for path in store.rglob("*") if path.is_file())
        return {str(path.relative_to(store)): sha256(path.read_bytes()).hexdigest() for path in found}
