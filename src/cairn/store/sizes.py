"""Measure what the folders of Cairn take on disk: one walk each, by the sizes of the files."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from cairn.store.disk import Disk
from cairn.store.format.layout import QUARANTINE, SEGMENTS, SNAPSHOTS, STAGING, segment_folder, snapshot_folder
from cairn.store.format.manifest import Manifest
from cairn.store.fs import DiskStat, check_path

# Is called with the number of names that were measured since the last call.
Measured = Callable[[int], None]


class Size(NamedTuple):
    """The bytes of the files below a folder, and one name there that Cairn never gives (None: there is none)."""

    total: int = 0
    stranger: str | None = None


def size_of(disk: Disk, folder: str, tell: Measured = lambda _: None) -> Size:
    """Return the size of a folder, links not followed. A file that is removed meanwhile counts nothing.

    A folder with a name that Cairn never gives is not entered.
    """
    total, stranger = 0, None
    left = [folder]
    while left:
        here = left.pop()
        with contextlib.suppress(FileNotFoundError):
            names = disk.usage.stats(here)
            tell(len(names))
            for name, found in names:
                if not is_ours(name):
                    stranger = stranger or name
                elif found.is_folder:
                    left.append(f"{here}/{name}" if here else name)
                total += 0 if found.is_folder else found.size
    return Size(total, stranger)


def is_ours(path: str) -> bool:
    """Return whether Cairn could have made this path; `Fs` refuses all other names."""
    try:
        check_path(path)
    except OSError:
        return False
    return True


def parts_of_store(disk: Disk, active: Manifest | None) -> Counter[str]:
    """Return the bytes of a store by part.

    `live` is what the active snapshot reads, `older` what only earlier snapshots read; then `staging`, `quarantine` and
    `other`.
    """
    live = set()
    if active is not None:
        live = {snapshot_folder(active.snapshot_id), *(segment_folder(ref.name) for ref in active.segments)}
        # A snapshot also reads the tombstones that earlier snapshots added.
        live |= {ref.path.rpartition("/")[0] for ref in active.tombstones}
    parts = Counter[str]()
    for name, found in disk.usage.stats(""):
        if name in (SEGMENTS, SNAPSHOTS) and found.is_folder:
            for inner, below in disk.usage.stats(name):
                path = f"{name}/{inner}"
                parts["live" if path in live else "older"] += _size(disk, path, below)
        else:
            parts[name if name in (STAGING, QUARANTINE) else "other"] += _size(disk, name, found)
    return parts


def _size(disk: Disk, path: str, found: DiskStat) -> int:
    if not found.is_folder:
        return found.size
    return size_of(disk, path).total if is_ours(path) else 0
