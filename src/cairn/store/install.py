"""Put batches and tombstones where a manifest may name them. Nothing is described before all of it is safe."""

from __future__ import annotations

from hashlib import sha256

from cairn.core.limits import MAX_SEGMENTS_PER_SNAPSHOT, MAX_TOMBSTONE_FILES, MAX_TOMBSTONES_PER_SNAPSHOT
from cairn.errors import TooManySegments
from cairn.store.draft import Draft, Rewrite
from cairn.store.fs import Fs
from cairn.store.layout import SEGMENTS, segment_folder, snapshot_folder
from cairn.store.manifest import Manifest, SegmentRef, TombstoneRef
from cairn.store.prune import Below, pruned
from cairn.store.segment import Segment
from cairn.store.snapshot import parts_of
from cairn.store.staging import Batch
from cairn.store.tombstones import Tombstone, encode_tombstones, tombstone_path
from cairn.store.writer import Writer

Installed = tuple[tuple[SegmentRef, ...], tuple[TombstoneRef, ...]]


def install(writer: Writer, draft: Draft) -> Installed:
    """The segments and tombstones of the new snapshot, in place and safe."""
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
    # IDX.MUST.003, the barrier: the files, the folders they are in and the folder above, before a manifest names them.
    fs.sync_folder(SEGMENTS)
    return tuple(segments), tuple(tombstones)


class _Own:
    """What a run puts in place under its own name."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._tombstone_files = 0

    def install(self, batch: Batch, sequence: int) -> SegmentRef:
        name = self._writer.staging.install(batch)
        return SegmentRef(name, sequence, batch.rows, batch.files, batch.size_bytes, batch.sha256)

    def rewrite(self, base: Manifest, rewrite: Rewrite) -> SegmentRef:
        """The merged segment, in the place of the last of those that it replaces.

        All its rows were live when it was merged, so no tombstone of that time stands above them; later ones do.
        """
        assert rewrite.batch is not None
        return self.install(rewrite.batch, max(ref.sequence for ref in base.segments if ref.name in rewrite.replaced))

    def bury(self, sequence: int, tombstones: tuple[Tombstone, ...]) -> TombstoneRef:
        path = tombstone_path(self._writer.run, self._tombstone_files)
        self._tombstone_files += 1
        return _write_tombstones(self._writer.fs, path, sequence, tombstones)

    def prune(self, base: Manifest, kept: list[SegmentRef], merged: list[SegmentRef]) -> list[TombstoneRef]:
        """The tombstones of the base that still hide something: a sync may have hidden what was being merged."""
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
    """The segments of the base that stay as they are."""
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
    # Pruning makes room that is not counted on: who comes this close has been told before.
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
