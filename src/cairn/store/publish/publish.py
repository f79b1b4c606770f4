"""Publish a draft as the newest snapshot, or leave the store as it was.

Order of the steps (each gap between two of them is a crash point in the tests):
    seal (batches, in staging) → install, barrier → tombstones → manifest → sync → last check → (copy elsewhere) →
    fresh look → preflight → claim the generation → sync → temporary pointer, sync → swap → sync → (mark the copy)

A crash before the claim leaves the old snapshot; a crash after it leaves the new one, and the next writer finishes the
swap. No step waits for readers.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import sha256
from typing import NamedTuple

from cairn.core.clock import Clock, rfc3339
from cairn.core.limits import MAX_SEGMENTS_PER_SNAPSHOT, MAX_TOMBSTONE_FILES, MAX_TOMBSTONES_PER_SNAPSHOT
from cairn.errors import EngineError, PublishRefused, TooManySegments
from cairn.store.format.conform import segment_problems
from cairn.store.format.document import CHUNK_ROWS
from cairn.store.format.layout import (
    INDEX_STATE,
    LAST_USED,
    SEGMENTS,
    SNAPSHOTS,
    manifest_path,
    segment_folder,
    snapshot_folder,
    temp_path,
)
from cairn.store.format.manifest import (
    Completion,
    Counts,
    FileError,
    Manifest,
    SegmentRef,
    TombstoneRef,
    encode_manifest,
)
from cairn.store.format.seal import Remembered, save_digests
from cairn.store.format.segment import Segment
from cairn.store.format.side_files import encode_state, state_of
from cairn.store.format.tombstones import Tombstone, encode_tombstones, mapping_lines, mapping_path, tombstone_path
from cairn.store.fs import Fs, remove_file, remove_tree, replace_file
from cairn.store.publish.generations import claim
from cairn.store.publish.staging import Batch, Draft, Rewrite
from cairn.store.publish.writer import Writer, finish_swap, point_to
from cairn.store.read.snapshot import (
    Part,
    SnapshotView,
    assemble,
    find_live,
    live_counts,
    parts_of,
    read_tombstone_file,
    read_tombstones,
)

# --- tombstones that are still needed after a rewrite -----------------------------------------------------------------


class Below(NamedTuple):
    """A segment of the new snapshot as far as tombstones care: its sequence and the files in it."""

    sequence: int
    keys: frozenset[str]


def pruned(
    fs: Fs, refs: Iterable[TombstoneRef], segments: Sequence[Below]
) -> list[tuple[int, tuple[Tombstone, ...], TombstoneRef | None]]:
    """Return the tombstone files that are still needed: sequence, tombstones, and the ref of a file that can stay.

    The segments are given, and the tombstone files returned, in order of their sequence.
    """
    sequences = [segment.sequence for segment in segments]
    needed: dict[int, dict[str, Tombstone]] = {}
    as_it_is: dict[int, TombstoneRef] = {}
    covered: set[str] = set()
    for ref in sorted(refs, key=lambda ref: -ref.sequence):
        below = bisect_left(sequences, ref.sequence)
        if below == 0:
            continue
        place = sequences[below - 1] + 1
        found = read_tombstone_file(fs, ref)
        group = needed.setdefault(place, {})
        for tombstone in found:
            path = tombstone.path_key
            if path not in covered and any(path in segment.keys for segment in segments[:below]):
                group[path] = tombstone
                covered.add(path)
        # The file with the lowest sequence of its group comes last: when it names what the group needs, it is used as
        # it is.
        if place == ref.sequence and group.keys() == {tombstone.path_key for tombstone in found}:
            as_it_is[place] = ref
    return [(place, tuple(group.values()), as_it_is.get(place)) for place, group in sorted(needed.items()) if group]


# --- installing: batches and tombstones are safe in their final place before a manifest names them --------------------


Installed = tuple[tuple[SegmentRef, ...], tuple[TombstoneRef, ...]]


def install(writer: Writer, draft: Draft) -> Installed:
    """Put the segments and tombstones of the new snapshot in place, make them safe, and return their refs."""
    fs, base = writer.fs, writer.base if draft.on_base else None
    segments = _kept(base, draft.rewrites)
    tombstones = list(base.tombstones) if base else []
    _require_room(draft, len(segments), tombstones)
    fs.make_folder(snapshot_folder(writer.run))
    taken = [ref.sequence for ref in (base.segments if base else ())] + [ref.sequence for ref in tombstones]
    sequence = 1 + max(taken, default=-1)
    own = _Own(writer)
    if draft.rewrites and base:
        merged = [own.rewrite(base, rewrite) for rewrite in draft.rewrites if rewrite.batch]
        tombstones = own.prune(base, segments, merged)
        segments = sorted([*segments, *merged], key=_order)
    for layer in draft.layers:
        if layer.tombstones:
            tombstones.append(own.bury(sequence, layer.tombstones))
        for batch in layer.batches:
            segments.append(own.install(batch, sequence))
            sequence += 1
        sequence += not layer.batches
    # IDX.MUST.003, the barrier: the files, their folders and the folder above are synced before a manifest names them.
    fs.sync_folder(SEGMENTS)
    return tuple(segments), tuple(tombstones)


class _Own:
    """The segments and tombstone files that a run puts in place under its own id."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._tombstone_files = 0

    def install(self, batch: Batch, sequence: int) -> SegmentRef:
        name = self._writer.staging.install(batch)
        return SegmentRef(name, sequence, batch.rows, batch.files, batch.size_bytes, batch.sha256)

    def rewrite(self, base: Manifest, rewrite: Rewrite) -> SegmentRef:
        """Install a merged segment at the sequence of the last segment that it replaces.

        All its rows were live when it was merged, so no tombstone of that time hides them; later tombstones do.
        """
        assert rewrite.batch is not None
        return self.install(rewrite.batch, max(ref.sequence for ref in base.segments if ref.name in rewrite.replaced))

    def bury(self, sequence: int, tombstones: tuple[Tombstone, ...]) -> TombstoneRef:
        path = tombstone_path(self._writer.run, self._tombstone_files)
        self._tombstone_files += 1
        return _write_tombstones(self._writer.fs, path, sequence, tombstones)

    def prune(self, base: Manifest, kept: list[SegmentRef], merged: list[SegmentRef]) -> list[TombstoneRef]:
        """Return the base tombstones that still hide something: a sync may have hidden files during the merge."""
        assert self._writer.view is not None
        below = [
            Below(part.ref.sequence, _keys(part.segment)) for part in parts_of(self._writer.view) if part.ref in kept
        ]
        for ref in merged:
            with Segment.open(self._writer.fs, segment_folder(ref.name)) as segment:
                below.append(Below(ref.sequence, _keys(segment)))
        left = pruned(self._writer.fs, base.tombstones, sorted(below, key=_order))
        return [known or self.bury(sequence, tombstones) for sequence, tombstones, known in left]


def _kept(base: Manifest | None, rewrites: tuple[Rewrite, ...]) -> list[SegmentRef]:
    """Return the segments of the base that stay as they are."""
    replaced = {name for rewrite in rewrites for name in rewrite.replaced}
    segments = base.segments if base else ()
    assert replaced <= {ref.name for ref in segments}, "only what the base holds can be rewritten"
    return [ref for ref in segments if ref.name not in replaced]


def _keys(segment: Segment) -> frozenset[str]:
    return frozenset(segment.keys())


def _order(placed: SegmentRef | Below) -> int:
    return placed.sequence


def _require_room(draft: Draft, kept: int, tombstones: list[TombstoneRef]) -> None:
    batches = sum(rewrite.batch is not None for rewrite in draft.rewrites) + sum(len(x.batches) for x in draft.layers)
    # The room that pruning will make is not counted: a store this close to a limit has been warned about before.
    counted = (
        ("segments", kept + batches, MAX_SEGMENTS_PER_SNAPSHOT),
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


# A merged segment may hold the whole tree: then one pass over all paths is cheaper than a lookup for each.
_MANY_FILES = 1_000


def publish(writer: Writer, draft: Draft, is_fresh: Callable[[], bool], clock: Clock) -> Manifest | None:
    """Publish the draft and return its manifest; None when the tree changed since it was read.

    After None the caller extends the draft and tries again. Every other problem raises, and nothing was published.
    """
    fs, remembered = writer.fs, writer.staging.remembered
    writer.lease.check()
    segments, tombstones = install(writer, draft)
    with ExitStack() as files:
        parts = assemble(fs, segments, read_tombstones(fs, tombstones), remembered, files, writer.view)
        manifest = describe(writer, draft, segments, tombstones, parts, clock)
        write_manifest(fs, manifest, parts)
        gate(draft, manifest, parts)
        if writer.away is not None:
            writer.away.send(SnapshotView(manifest, parts, ExitStack()))
    if not is_fresh():
        remove_tree(fs, snapshot_folder(writer.run))
        return None
    # IDX.MUST.002: a writer that lost the lease notices it here, cheaply; a writer that is stopped after this line
    # fails to claim.
    writer.lease.check()
    claim(fs, manifest)
    # The snapshot is published. When a full disk, or a new writer that tidies up, keeps the pointer behind, readers
    # look ahead of the pointer, and the next writer finishes the swap.
    try:
        point_to(fs, writer.run, manifest)
    except OSError:
        # Removing the staging may free the room that the pointer needs.
        with contextlib.suppress(OSError):
            writer.staging.end()
            finish_swap(fs, writer.run, manifest)
    settle(writer, manifest, remembered, clock)
    if writer.away is not None:
        # The snapshot is published even if the copy cannot be told: a copy without its marker is found and marked
        # later.
        with contextlib.suppress(EngineError):
            writer.away.mark(manifest)
    return manifest


def describe(
    writer: Writer,
    draft: Draft,
    segments: tuple[SegmentRef, ...],
    tombstones: tuple[TombstoneRef, ...],
    parts: tuple[Part, ...],
    clock: Clock,
) -> Manifest:
    """Return the manifest of the installed segments and tombstones; its counts are those that a reader will see."""
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
        errors=tuple(FileError(*error) for error in draft.errors),
    )


def write_manifest(fs: Fs, manifest: Manifest, parts: tuple[Part, ...]) -> None:
    """Write the manifest, safe under its own name, and beside it the hint which file went to which segment."""
    folder = snapshot_folder(manifest.snapshot_id)
    try:
        data = encode_manifest(manifest)
    except ValueError as problem:
        raise PublishRefused(path=folder, why=str(problem).removesuffix(".")) from problem
    fs.create_bytes(mapping_path(manifest.snapshot_id), "".join(_mapping(manifest, parts)).encode())
    path = manifest_path(manifest.snapshot_id)
    fs.create_bytes(path, data)
    try:
        fs.sync_file(path)
    except OSError:
        # The file is condemned and can no longer be read, not even to see that it was never published.
        remove_file(fs, path)
        raise
    fs.sync_folder(folder)
    fs.sync_folder(SNAPSHOTS)


def gate(draft: Draft, manifest: Manifest, parts: tuple[Part, ...]) -> None:
    """Refuse to publish a manifest that has problems: the last check before the claim."""
    for problem in problems(draft, manifest, parts):
        raise PublishRefused(path=manifest.canonical_root, why=problem)


def problems(draft: Draft, manifest: Manifest, parts: tuple[Part, ...]) -> Iterator[str]:
    """Yield why a manifest must not be published. `assemble` has already verified its artifacts."""
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
    if _any_live(older, fresh):
        yield "a file is in it twice"
    counted = live_counts(parts)
    if draft.complete and counted.files + counted.skip_records != draft.files:
        yield f"it holds {counted.files + counted.skip_records} files, the tree {draft.files}"
    for path, file_hash in draft.expected.items():
        found = fresh[path] if path in fresh else _hash_in(older, path)
        if found != file_hash:
            yield "a changed file is neither in it nor gone from it"


def _any_live(parts: Iterable[Part], keys: Collection[str]) -> bool:
    """Return whether one of these files is live in one of the parts. Few files are looked up one by one."""
    if len(keys) < _MANY_FILES:
        return any(find_live(parts, key) for key in keys)
    return any(
        key in keys and file_id not in part.hidden for part in parts for file_id, key in enumerate(part.segment.keys())
    )


def _hash_in(parts: Iterable[Part], path: str) -> str | None:
    for segment, file_id in find_live(parts, path):
        return segment.file(file_id).file_hash
    return None


def settle(writer: Writer, manifest: Manifest, remembered: Remembered, clock: Clock) -> None:
    """Remove the staging and bring the side files up to date. The snapshot is published, so errors are ignored."""
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


def _mapping(manifest: Manifest, parts: tuple[Part, ...]) -> Iterator[str]:
    """Yield one line for every file that this snapshot added. The hint serves only repairs, so it is not synced."""
    for part in parts:
        if _is_own(manifest, part):
            yield from mapping_lines(part.ref.name, part.segment.keys())


def _is_own(manifest: Manifest, part: Part) -> bool:
    return part.ref.name.startswith(f"seg_{manifest.snapshot_id}_")
