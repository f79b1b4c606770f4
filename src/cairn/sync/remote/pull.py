"""Bring the snapshot that a search server holds back to this machine, byte by byte as it was sent, without a model.

What comes over lies beside the store until all of it is there and has the digests that the manifest names; so a pull
that was cut goes on where it stood. Then it is put in place by a run with the lease, which claims its number as any
other: who came first in the store has won.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import sha256

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import MAX_SEGMENTS_PER_SNAPSHOT
from cairn.core.progress import Phase, Progress, Tell
from cairn.engine.choose import LOCAL
from cairn.errors import EngineDamaged, NotFound, StoreCorrupt
from cairn.store.format.layout import (
    GENERATIONS,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    create_store,
    is_created,
    manifest_path,
    segment_folder,
)
from cairn.store.format.manifest import Manifest, SegmentRef, decode_manifest
from cairn.store.format.seal import Remembered, require, seal_files
from cairn.store.fs import FileWriter, Fs, remove_tree, store_trouble
from cairn.store.publish.generations import claim, published, read_claims
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer, point_to
from cairn.sync.codebase import Codebase, Place, place_of
from cairn.sync.proof import PROVEN, judge
from cairn.sync.remote.copy import EngineReport, remote_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.contract import RowHome

# Not the name of a run, so no run that writes looks there.
_WORK = f"{STAGING}/pull_work"


def pull(
    codebase: Codebase,
    home: str,
    tell: Tell,
    *,
    environ: Mapping[str, str] = os.environ,
    clock: Clock = SYSTEM_CLOCK,
    wait_seconds: float = 10.0,
) -> EngineReport:
    """Take over the newest complete snapshot of the server, unless the store has one that is as new."""
    place = place_of(codebase, home)
    engine = remote_rows(codebase.config, place, environ, clock=clock)
    if engine is None:
        return EngineReport(LOCAL)
    with closing(engine):
        report = EngineReport("milvus", codebase.config.engine.uri, engine.collection, engine.ping())
        manifest, data, others = _newest_there(engine, place)
        report = replace(
            report,
            snapshot_id=manifest.snapshot_id,
            segments=len(manifest.segments),
            there=len(manifest.segments),
            rows=manifest.counts.chunks_indexed,
            proof=PROVEN,
        )
        with place.make_disk(shared=codebase.config.store.shared) as disk:
            try:
                if not is_created(disk):
                    create_store(disk)
                here = next(published(disk, read_claims(disk), []), None)
                if here is not None and here.generation >= manifest.generation:
                    return report
                brought = _fetch(disk, engine, manifest, tell)
                _take_over(disk, place, manifest, data, others, clock, wait_seconds)
            except OSError as problem:
                raise store_trouble(place.path, problem) from problem
    return replace(report, sent=len(brought), sent_rows=sum(brought.values()))


def _newest_there(engine: RowHome, place: Place) -> tuple[Manifest, bytes, dict[str, bytes]]:
    """The newest snapshot on the server that is complete, and meant for this root and these settings."""
    best: tuple[Manifest, bytes, dict[str, bytes]] | None = None
    damaged: EngineDamaged | None = None
    for run in engine.runs():
        try:
            marker = engine.get_marker(run)
            data, others = engine.snapshot(run)
            manifest = _decoded(run, data)
        except EngineDamaged as problem:
            # Whatever became of it, the others are as complete as before.
            damaged = problem
            continue
        if manifest.completion != marker or not judge(manifest, place).is_valid:
            continue
        if best is None or manifest.generation > best[0].generation:
            best = manifest, data, others
    if best is None and damaged is not None:
        raise damaged
    if best is None:
        raise NotFound(
            problem="The search server holds no complete snapshot of this root with these settings.",
            advice="Run `cairn engine push` where there is one",
        )
    return best


def _decoded(run: str, data: bytes) -> Manifest:
    try:
        return decode_manifest(data)
    except StoreCorrupt as problem:
        raise EngineDamaged(why=f"the manifest of {run} cannot be read ({problem.fields['why']})") from problem


def _fetch(fs: Fs, engine: RowHome, manifest: Manifest, tell: Tell) -> dict[str, int]:
    """Every segment lies beside the store, whole; the rows of those that were brought just now."""
    with suppress(FileExistsError):
        fs.make_folder(_WORK)
    brought = {}
    for done, ref in enumerate(manifest.segments):
        tell(Progress(Phase.INDEXING, done, len(manifest.segments)))
        if not _is_whole(fs, segment_folder(ref.name), ref) and not _is_whole(fs, f"{_WORK}/{ref.name}", ref):
            _fetch_one(fs, engine, ref)
            brought[ref.name] = ref.rows
    assert len(brought) <= MAX_SEGMENTS_PER_SNAPSHOT
    return brought


def _is_whole(fs: Fs, folder: str, ref: SegmentRef) -> bool:
    try:
        require(fs, folder, ref.size_bytes, ref.sha256, Remembered())
    except StoreCorrupt:
        return False
    return True


def _fetch_one(fs: Fs, engine: RowHome, ref: SegmentRef) -> None:
    folder = f"{_WORK}/{ref.name}"
    remove_tree(fs, folder)
    fs.make_folder(folder)
    files: dict[str, FileWriter] = {}
    size = dict[str, int]()
    try:
        for name, place, data in engine.sealed_files(ref.name):
            if "/" in name or name.startswith(".") or size.get(name, 0) != place:
                raise EngineDamaged(why=f"a piece of segment {ref.name} is missing")
            if sum(size.values()) + len(data) > ref.size_bytes:
                raise EngineDamaged(why=f"segment {ref.name} is larger than it was when it was sent")
            if name not in files:
                files[name] = fs.create(f"{folder}/{name}")
            files[name].write(data)
            size[name] = place + len(data)
    finally:
        for file in files.values():
            file.close()
    sealed = seal_files(fs, folder, Remembered())
    if (sealed.size_bytes, sealed.sha256) != (ref.size_bytes, ref.sha256):
        remove_tree(fs, folder)
        raise EngineDamaged(why=f"segment {ref.name} has another digest than when it was sent")


def _take_over(
    fs: Fs, place: Place, manifest: Manifest, data: bytes, others: Mapping[str, bytes], clock: Clock, wait: float
) -> None:
    """Put everything in place, then claim the number: the same steps in the same order as a publish."""
    with open_writer(fs, place.path, RunKind.REPAIR, clock=clock, wait_seconds=wait, rebuild=True) as writer:
        for ref in manifest.segments:
            if not _is_whole(fs, folder := segment_folder(ref.name), ref):
                remove_tree(fs, folder)
                fs.move(f"{_WORK}/{ref.name}", folder)
                fs.seal(folder)
                fs.sync_folder(folder)
        fs.sync_folder(SEGMENTS)
        for tombstones in manifest.tombstones:
            found = others.get(tombstones.path, b"")
            if sha256(found).hexdigest() != tombstones.sha256:
                raise EngineDamaged(why=f"{tombstones.path} has another digest than when it was sent")
            _write(fs, tombstones.path, found)
        _write(fs, manifest_path(manifest.snapshot_id), data)
        fs.sync_folder(SNAPSHOTS)
        writer.lease.check()
        claim(fs, manifest)
        point_to(fs, writer.run, manifest)
        fs.sync_folder(GENERATIONS)
    remove_tree(fs, _WORK)


def _write(fs: Fs, path: str, data: bytes) -> None:
    folder = path.rpartition("/")[0]
    with suppress(FileExistsError):
        fs.make_folder(folder)
    with suppress(FileExistsError):
        fs.create_bytes(path, data)
    fs.sync_file(path)
    fs.sync_folder(folder)
