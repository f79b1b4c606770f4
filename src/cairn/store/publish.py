"""Make a draft the truth, or leave everything as it was.

Order (each step is a name in this file or the next, each gap between two is a crash point in the tests):
    seal (batches, in staging) → install, barrier → tombstones → manifest → sync → gate → fresh look → preflight →
    claim the generation → sync → temporary pointer, sync → swap → sync

Before the claim a crash leaves the old snapshot; after it the new one, and the next writer finishes the swap. No step
waits for readers.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256

from cairn.clock import Clock, rfc3339
from cairn.errors import PublishRefused, TooManySegments
from cairn.fingerprint import IndexFingerprint
from cairn.limits import MAX_SEGMENTS_PER_SNAPSHOT, MAX_TOMBSTONE_FILES, MAX_TOMBSTONES_PER_SNAPSHOT
from cairn.store.conform import segment_problems
from cairn.store.digests import save_digests
from cairn.store.files import remove_file, remove_tree, replace_file
from cairn.store.fs import Fs
from cairn.store.generations import claim
from cairn.store.layout import (
    INDEX_STATE,
    LAST_USED,
    MAPPING,
    SEGMENTS,
    SNAPSHOTS,
    manifest_path,
    segment_folder,
    snapshot_folder,
    temp_path,
)
from cairn.store.manifest import (
    Completion,
    Counts,
    FileError,
    GitState,
    Manifest,
    SegmentRef,
    TombstoneRef,
    encode_manifest,
)
from cairn.store.seal import Remembered
from cairn.store.snapshot import Part, assemble, find_live, live_counts, read_tombstones
from cairn.store.staging import Batch
from cairn.store.state import encode_state, state_of
from cairn.store.tombstones import Tombstone, encode_tombstones, tombstone_path
from cairn.store.versions import CHUNK_ROWS
from cairn.store.writer import Writer, finish_swap, point_to


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of a draft: these tombstones hide what lies below, then these batches come on top."""

    tombstones: tuple[Tombstone, ...] = ()
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """All that a new snapshot will say.

    `on_base` keeps the segments of the snapshot before; without it only the layers count. `expected` names every file
    that was looked at, with the hash of its bytes, or None when it must be gone; `files` is how many the tree holds.
    A draft that is not `complete` clears the index.
    """

    root: str
    store_id: str
    fingerprint: IndexFingerprint
    ignore_fingerprint: str
    git: GitState
    read_at: str
    on_base: bool
    layers: tuple[Layer, ...] = ()
    expected: Mapping[str, str | None] = field(default_factory=dict)
    files: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    errors: tuple[FileError, ...] = ()
    complete: bool = True


def publish(writer: Writer, draft: Draft, is_fresh: Callable[[], bool], clock: Clock) -> Manifest | None:
    """The manifest of the new snapshot; None when the tree moved on since it was read: extend the draft, come again.

    Anything else that is not right raises, and nothing was published.
    """
    fs, remembered = writer.fs, writer.staging.remembered
    writer.lease.check()
    segments, tombstones = install(writer, draft)
    with ExitStack() as files:
        parts = assemble(fs, segments, read_tombstones(fs, tombstones), remembered, files, writer.view)
        manifest = describe(writer, draft, segments, tombstones, parts, clock)
        write_manifest(fs, manifest, parts)
        gate(draft, manifest, parts)
    if not is_fresh():
        remove_tree(fs, snapshot_folder(writer.run))
        return None
    # IDX.MUST.002: whoever lost the lease learns it here, cheaply; whoever is stopped after this line loses the claim.
    writer.lease.check()
    claim(fs, manifest)
    # It is published: readers look ahead of a pointer that a full disk, or a thief that tidies up behind us, leaves
    # behind, and the next writer makes the swap that is owed.
    try:
        point_to(fs, writer.run, manifest)
    except OSError:
        # What the staging took may be the room that the pointer needs.
        with contextlib.suppress(OSError):
            writer.staging.end()
            finish_swap(fs, writer.run, manifest)
    settle(writer, manifest, remembered, clock)
    return manifest


def install(writer: Writer, draft: Draft) -> tuple[tuple[SegmentRef, ...], tuple[TombstoneRef, ...]]:
    """Put batches and tombstones where a manifest may name them, each of them safe: nothing is described before."""
    fs, base = writer.fs, writer.base if draft.on_base else None
    segments = list(base.segments) if base else []
    tombstones = list(base.tombstones) if base else []
    _require_room(draft, segments, tombstones)
    fs.make_folder(snapshot_folder(writer.run))
    taken = [ref.sequence for ref in segments] + [ref.sequence for ref in tombstones]
    sequence = 1 + max(taken, default=-1)
    before = len(tombstones)
    for layer in draft.layers:
        if layer.tombstones:
            path = tombstone_path(writer.run, len(tombstones) - before)
            tombstones.append(_write_tombstones(fs, path, sequence, layer.tombstones))
        for batch in layer.batches:
            name = writer.staging.install(batch)
            segments.append(SegmentRef(name, sequence, batch.rows, batch.files, batch.size_bytes, batch.sha256))
            sequence += 1
        sequence += not layer.batches
    # IDX.MUST.003, the barrier: the files, the folders they are in and the folder above, before a manifest names them.
    fs.sync_folder(SEGMENTS)
    return tuple(segments), tuple(tombstones)


def describe(
    writer: Writer,
    draft: Draft,
    segments: tuple[SegmentRef, ...],
    tombstones: tuple[TombstoneRef, ...],
    parts: tuple[Part, ...],
    clock: Clock,
) -> Manifest:
    """The manifest of what is in place, its counts counted from what a reader will see."""
    live = live_counts(parts)
    own = [ref for ref in tombstones if ref.path.startswith(snapshot_folder(writer.run) + "/")]
    proof = Completion(
        draft.root, draft.fingerprint.digest, live.files, live.chunks, rfc3339(clock.wall_ns()), writer.run
    )
    return Manifest(
        snapshot_id=writer.run,
        parent_snapshot_id=writer.base.snapshot_id if writer.base else None,
        generation=writer.newest + 1,
        lease_epoch=writer.lease.epoch,
        created_at=draft.read_at,
        canonical_root=draft.root,
        store_id=draft.store_id,
        config_fingerprint=draft.fingerprint.digest,
        config_fields=draft.fingerprint.fields,
        ignore_fingerprint=draft.ignore_fingerprint,
        chunk_row_schema_version=CHUNK_ROWS.written,
        git=draft.git,
        segments=segments,
        tombstones=tombstones,
        counts=Counts(live.files, sum(ref.rows for ref in segments), live.chunks, sum(ref.count for ref in own)),
        skipped=draft.skipped,
        completion=proof if draft.complete else None,
        degraded=bool(draft.errors),
        errors=draft.errors,
    )


def write_manifest(fs: Fs, manifest: Manifest, parts: tuple[Part, ...]) -> None:
    """The manifest, safe under its own name; beside it the hint which file went to which segment."""
    folder = snapshot_folder(manifest.snapshot_id)
    try:
        data = encode_manifest(manifest)
    except ValueError as problem:
        raise PublishRefused(path=folder, why=str(problem).removesuffix(".")) from problem
    fs.create_bytes(f"{folder}/{MAPPING}", "".join(_mapping(manifest, parts)).encode())
    path = manifest_path(manifest.snapshot_id)
    fs.create_bytes(path, data)
    try:
        fs.sync_file(path)
    except OSError:
        # It is condemned: nobody could look into it any more, not even to see that it never won.
        remove_file(fs, path)
        raise
    fs.sync_folder(folder)
    fs.sync_folder(SNAPSHOTS)


def gate(draft: Draft, manifest: Manifest, parts: tuple[Part, ...]) -> None:
    """The last look: what is about to be published is whole, and says of every file what the run found."""
    for problem in problems(draft, manifest, parts):
        raise PublishRefused(path=manifest.canonical_root, why=problem)


def problems(draft: Draft, manifest: Manifest, parts: tuple[Part, ...]) -> Iterator[str]:
    """Why a manifest must not be published. That its artifacts are there and whole, `assemble` has seen."""
    new = [part for part in parts if _is_own(manifest, part)]
    for part in new:
        yield from (f"segment {part.ref.name}: {problem}" for problem in segment_problems(part.segment))
    fresh: dict[str, str] = {}
    for part in new:
        live = [record for file_id, record in enumerate(part.segment.records()) if file_id not in part.hidden]
        if any(record.key in fresh for record in live):
            yield "a file is in it twice"
        fresh.update((record.key, record.file_hash) for record in live)
    older = [part for part in parts if not _is_own(manifest, part)]
    if any(find_live(older, key) for key in fresh):
        yield "a file is in it twice"
    counted = live_counts(parts)
    if draft.complete and counted.files + counted.skip_records != draft.files:
        yield f"it holds {counted.files + counted.skip_records} files, the tree {draft.files}"
    for path, file_hash in draft.expected.items():
        found = fresh[path] if path in fresh else _hash_in(older, path)
        if found != file_hash:
            yield "a changed file is neither in it nor gone from it"


def _hash_in(parts: Iterable[Part], path: str) -> str | None:
    for segment, file_id in find_live(parts, path):
        return segment.file(file_id).file_hash
    return None


def settle(writer: Writer, manifest: Manifest, remembered: Remembered, clock: Clock) -> None:
    """Clear the staging away, bring the side files up to date. Published is published: trouble here is no failure."""
    fs, run = writer.fs, writer.run
    with contextlib.suppress(OSError):
        replace_file(fs, INDEX_STATE, temp_path(INDEX_STATE, run), encode_state(state_of(manifest)), safe=False)
        used = f"{rfc3339(clock.wall_ns())}\n".encode()
        replace_file(fs, LAST_USED, temp_path(LAST_USED, run), used, safe=False)
        folders = [segment_folder(ref.name) for ref in manifest.segments]
        paths = [f"{folder}/{name}" for folder in folders for name in fs.list_folder(folder)]
        save_digests(fs, run, remembered, paths)
    with contextlib.suppress(OSError):
        writer.staging.end()


def _require_room(draft: Draft, segments: list[SegmentRef], tombstones: list[TombstoneRef]) -> None:
    counted = (
        ("segments", len(segments) + sum(len(x.batches) for x in draft.layers), MAX_SEGMENTS_PER_SNAPSHOT),
        ("tombstone files", len(tombstones) + sum(bool(x.tombstones) for x in draft.layers), MAX_TOMBSTONE_FILES),
        (
            "tombstones",
            sum(ref.count for ref in tombstones) + sum(len(x.tombstones) for x in draft.layers),
            MAX_TOMBSTONES_PER_SNAPSHOT,
        ),
    )
    for what, count, most in counted:
        if count > most:
            raise TooManySegments(path=draft.root, what=what, count=count, most=most)


def _write_tombstones(fs: Fs, path: str, sequence: int, tombstones: tuple[Tombstone, ...]) -> TombstoneRef:
    data = encode_tombstones(tombstones)
    fs.create_bytes(path, data)
    fs.sync_file(path)
    return TombstoneRef(path, sequence, len(tombstones), len(data), sha256(data).hexdigest())


def _mapping(manifest: Manifest, parts: tuple[Part, ...]) -> Iterator[str]:
    """One line for every file that this snapshot brought. A hint for repairs, so it is not synced."""
    for part in parts:
        if _is_own(manifest, part):
            name = json.dumps(part.ref.name)
            for key in part.segment.keys():  # noqa: SIM118 - no dict
                yield f'{{"path_key":{json.dumps(key, ensure_ascii=False)},"segment_id":{name}}}\n'


def _is_own(manifest: Manifest, part: Part) -> bool:
    return part.ref.name.startswith(f"seg_{manifest.snapshot_id}_")
