"""Where the index of a codebase stands. Nothing is changed by looking, and no file of the tree is compared.

Whether a run is at work is read from its lease and the process behind it, never from something a run wrote down about
itself: a killed run would block everyone for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from cairn.core.clock import SYSTEM_PROCESSES, Processes
from cairn.core.types import SkipReason
from cairn.errors import NoValidSnapshot, StoreCorrupt
from cairn.store.disk import Disk
from cairn.store.fs import Fs, store_trouble
from cairn.store.generations import published, read_claims
from cairn.store.layout import is_created
from cairn.store.lease import is_alive
from cairn.store.manifest import Manifest
from cairn.store.readers import NO_LOCKS, has_locks
from cairn.store.snapshot import open_view
from cairn.store.standing import DiskUse, SnapshotInfo, State, StoreStatus, WriterInfo
from cairn.sync.codebase import Codebase
from cairn.sync.group import told_to_group
from cairn.sync.place import Place, place_of
from cairn.sync.proof import sibling_stores
from cairn.sync.reading import lease_of, stand, stand_at, writer_info
from cairn.sync.said import last_sync, model_of
from cairn.sync.sizes import cache_size, disk_use, free_space


def look(codebase: Codebase, home: str, processes: Processes = SYSTEM_PROCESSES) -> StoreStatus:
    """The status of the store that belongs to this codebase and its settings."""
    from cairn.sync.tracking import remembered  # noqa: PLC0415

    place = place_of(codebase, home)
    siblings = len(sibling_stores(place))
    with open_store(place) as disk:
        if disk is None:
            standing = stand(place)
            use = DiskUse(embedding_cache=cache_size(home), free=free_space(home))
            status = StoreStatus(standing.state, place.root, place.store_id, place.path, siblings=siblings, disk=use)
        else:
            standing = stand_at(place, disk, processes=processes)
            with standing.view or nullcontext():
                manifest = standing.view.manifest if standing.view else _emptied(disk)
            status = replace(_described(disk, manifest, home), root=place.root, store_id=place.store_id)
            writer = _last_writer(disk, processes)
            status = replace(status, state=standing.state, siblings=siblings, writer=writer)
    return replace(
        status,
        proof=standing.proof,
        differs=standing.differs,
        failed=standing.failed,
        stale=standing.stale,
        strict=codebase.config.search.catchup_reads == "block",
        tracked=standing.tracked or remembered(place),
    )


def _described(disk: Disk, manifest: Manifest | None, home: str) -> StoreStatus:
    """What a store and its snapshot say of themselves; not yet how they stand."""
    use = disk_use(disk, manifest, home)
    return StoreStatus(
        state=State.NOT_INDEXED,
        root="",
        store_id="",
        path=disk.path,
        snapshot=snapshot_info(manifest, active=True) if manifest else None,
        index_fingerprint=manifest.config_fingerprint if manifest else None,
        ignore_fingerprint=manifest.ignore_fingerprint if manifest else None,
        skipped=tuple((SkipReason(name), count) for name, count in manifest.skipped) if manifest else (),
        store_bytes=use.total,
        embedding_model=model_of(manifest.config_fields) if manifest else None,
        last_sync_at=last_sync(disk, manifest) if manifest else None,
        disk=use,
        warnings=(*told_to_group(disk, manifest), *([] if has_locks(disk) else [NO_LOCKS])),
    )


def _emptied(disk: Disk) -> Manifest | None:
    """The snapshot of an index that was cleared."""
    newest = next(published(disk, read_claims(disk), []), None)
    return newest if newest is not None and newest.completion is None else None


def _last_writer(disk: Disk, processes: Processes) -> WriterInfo | None:
    """The run that holds the lease, or has died with it."""
    lease = lease_of(disk)
    if lease is None or lease.released:
        return None
    return writer_info(disk, lease, alive=is_alive(lease, processes))


def kept_snapshots(codebase: Codebase, home: str) -> list[SnapshotInfo]:
    """The snapshots that can be read, the newest first; the first of them is the one that answers."""
    with open_store(place_of(codebase, home)) as disk:
        if disk is None:
            return []
        active, _ = _active(disk, disk.path)
        damage: list[StoreCorrupt] = []
        kept = [
            snapshot_info(manifest, active=active is not None and manifest.snapshot_id == active.snapshot_id)
            for manifest in published(disk, read_claims(disk), damage)
        ]
        if damage and not kept:
            raise NoValidSnapshot(path=disk.path, why=damage[0].sentence.removesuffix("."))
        return kept


def snapshot_info(manifest: Manifest, *, active: bool) -> SnapshotInfo:
    """What a manifest says of its snapshot."""
    return SnapshotInfo(
        id=manifest.snapshot_id,
        generation=manifest.generation,
        created_at=manifest.completion.completed_at if manifest.completion else manifest.created_at,
        files=manifest.counts.files_indexed,
        chunks=manifest.counts.chunks_live,
        chunks_physical=manifest.counts.chunks_indexed,
        segments=len(manifest.segments),
        tombstones=sum(ref.count for ref in manifest.tombstones),
        degraded=manifest.degraded,
        errors=len(manifest.errors),
        head=manifest.git.head_sha,
        dirty=manifest.git.dirty,
        active=active,
    )


@contextmanager
def open_store(place: Place, is_there: Callable[[Disk], bool] = is_created) -> Iterator[Disk | None]:
    """The store's disk, None when no store is there. What the disk refuses is told as an error about that place."""
    try:
        disk = place.disk()
        if disk is None:
            yield None
            return
        with disk:
            yield disk if is_there(disk) else None
    except OSError as problem:
        raise store_trouble(place.path, problem) from problem


def _active(fs: Fs, place: str) -> tuple[Manifest | None, State]:
    """The snapshot that answers, verified, and what follows from it while nobody is at work."""
    try:
        view = open_view(fs, place)
    except NoValidSnapshot:
        return None, State.CORRUPT
    if view is None:
        return None, State.NOT_INDEXED
    with view:
        return view.manifest, State.INDEXED if view.manifest.completion else State.CLEARED
