"""What is there for a reader: the snapshot that would answer, who is writing, and what else there is of this root.

Nothing is changed by looking.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from cairn.clock import SYSTEM_PROCESSES, Processes
from cairn.errors import Incompatible, NoValidSnapshot, StoreUnreadable
from cairn.fingerprint import IndexFingerprint, explain_mismatch
from cairn.store.disk import Disk
from cairn.store.fs import Fs, store_trouble
from cairn.store.generations import published, read_claims
from cairn.store.layout import is_created
from cairn.store.lease import LeaseRecord, RunKind, is_alive, read_lease
from cairn.store.progress import load_progress
from cairn.store.sharing import modes_of
from cairn.store.snapshot import SnapshotView, open_view
from cairn.store.standing import State, WriterInfo
from cairn.sync.place import Place

# While one of these is at work the older snapshot is not to be believed: somebody asked for a new one.
MASKING = frozenset({RunKind.CREATE, RunKind.REINDEX})


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a store stands for a reader. Whoever gets it closes `view`, which may be there while the gate is closed.

    `differs` names the fields in which the only indexes of this root differ from what this version and its settings
    would make. `failed` says that a run died and left nothing to answer from.
    """

    state: State
    view: SnapshotView | None = None
    writer: WriterInfo | None = None
    failed: bool = False
    differs: tuple[str, ...] = ()


def stand(place: Place, *, snapshot: str | None = None, processes: Processes = SYSTEM_PROCESSES) -> Standing:
    """Look at the store of this place; `snapshot` asks for that one instead of the newest.

    What the disk refuses is told as an error of the store.
    """
    try:
        disk = place.disk()
        if disk is None:
            return Standing(State.NOT_INDEXED, differs=differing(place))
        with disk:
            return _stand(place, disk, snapshot, processes)
    except OSError as problem:
        raise store_trouble(place.path, problem) from problem


def _stand(place: Place, disk: Disk, snapshot: str | None, processes: Processes) -> Standing:
    if not is_created(disk):
        return Standing(State.NOT_INDEXED, differs=differing(place))
    lease = lease_of(disk)
    alive = lease is not None and is_alive(lease, processes)
    writer = writer_info(disk, lease, alive=True) if lease is not None and alive else None
    try:
        view = open_view(disk, place.path, snapshot=snapshot)
    except NoValidSnapshot:
        return Standing(State.INDEXING if alive else State.CORRUPT, writer=writer)
    if view is None:
        died = lease is not None and not alive and not lease.released
        if alive:
            return Standing(State.INDEXING, writer=writer)
        return Standing(State.NOT_INDEXED, failed=died, differs=differing(place))
    if view.manifest.completion is None:
        view.close()
        return Standing(State.INDEXING if alive else State.CLEARED, writer=writer)
    masked = lease is not None and alive and lease.run_kind in MASKING
    return Standing(State.INDEXING if masked else State.INDEXED, view, writer)


def lease_of(fs: Fs) -> LeaseRecord | None:
    """The lease, if there is one that can be read."""
    try:
        return read_lease(fs)
    except StoreUnreadable:
        # Whoever writes next waits until it has stood still; it says nothing about what can be read.
        return None


def writer_info(fs: Fs, lease: LeaseRecord, *, alive: bool) -> WriterInfo:
    """Who holds the lease, and what that run told last; not what another one left behind."""
    told = load_progress(fs) if alive else None
    return WriterInfo(
        pid=lease.process.pid,
        kind=lease.run_kind.value,
        started_at=lease.started_at,
        run_id=lease.staging_txn_id,
        alive=alive,
        progress=told if told is not None and told.run_id == lease.staging_txn_id else None,
    )


def sibling_stores(place: Place) -> list[str]:
    """The other stores of this root, by their paths below home: the fingerprint is the last part of a store's name."""
    prefix = place.store_id.rpartition("__")[0] + "__"
    data, own = os.path.split(os.path.relpath(place.path, place.home))
    try:
        with Disk.at(place.home, data, modes=modes_of(place.home)) as folder:
            names = folder.list_folder("")
    except FileNotFoundError:
        return []
    return [f"{data}/{name}" for name in names if name.startswith(prefix) and name != own]


def differing(place: Place) -> tuple[str, ...]:
    """The fields in which the newest other index of this root differs; none when there is no other index."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for below in sibling_stores(place):
        with suppress(FileNotFoundError), Disk.at(place.home, below, modes=modes_of(place.home)) as disk:
            found += _difference(disk, place.fingerprint)
    return max(found, default=("", ()))[1]


def _difference(disk: Disk, wanted: IndexFingerprint) -> Iterator[tuple[str, tuple[str, ...]]]:
    """When the newest snapshot of another store was made, and the fields in which it differs."""
    try:
        manifest = next(published(disk, read_claims(disk), []), None)
    except Incompatible:
        # A later version of Cairn wrote it, so there is an index, and this one cannot read it.
        yield "", ("schemaVersion",)
        return
    if manifest is not None and manifest.completion is not None:
        before = IndexFingerprint(manifest.config_fields, manifest.config_fingerprint)
        yield manifest.created_at, tuple(field.name for field in explain_mismatch(before, wanted))
