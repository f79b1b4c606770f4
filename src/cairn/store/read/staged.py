"""Open what a run has sealed and not published yet, for a reader who would rather have a part than wait.

A batch is read only once its seal says that it is whole and its bytes are those that were sealed. Nothing of it is a
snapshot: it may be published, adopted by another run, or thrown away.
"""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from typing import NamedTuple

from cairn.core.fingerprint import IndexFingerprint
from cairn.errors import StoreCorrupt
from cairn.store.format.document import CHUNK_ROWS
from cairn.store.format.layout import batch_folder, segment_folder, segment_name
from cairn.store.format.manifest import Counts, GitState, Manifest, SegmentRef
from cairn.store.format.seal import Remembered, require
from cairn.store.format.segment import Segment
from cairn.store.fs import Fs
from cairn.store.publish.staging import sealed_batches
from cairn.store.read.snapshot import Part, SnapshotView, live_counts, parts_of

# The rules of what is left out are known to the run alone until it publishes.
_UNKNOWN = "0" * 64


class Begun(NamedTuple):
    """A run at work, when it began, and what it makes an index of."""

    run: str
    at: str
    root: str
    store_id: str
    fingerprint: IndexFingerprint


def has_sealed(fs: Fs, run: str) -> bool:
    """Whether a run that has not published has sealed anything."""
    return next(sealed_batches(fs, run), None) is not None


def open_staged(fs: Fs, begun: Begun, held: SnapshotView | None = None) -> SnapshotView | None:
    """Open what a run has sealed so far as a view; None when it has sealed nothing, or is about to publish.

    The view that the caller has `held` open from before is returned itself while nothing was added. Otherwise it
    belongs to the new view, which closes it.
    """
    open_already = {part.ref: part.segment for part in parts_of(held)} if held is not None else {}
    found: list[tuple[SegmentRef, Segment]] = []
    with ExitStack() as files:
        for batch in sealed_batches(fs, begun.run):
            name, size, digest = segment_name(begun.run, batch.number), batch.size_bytes, batch.sha256
            ref = SegmentRef(name, len(found), batch.rows, batch.files, size, digest)
            segment = open_already.get(ref)
            # A run that publishes has moved it; one that found the tree changed then goes on.
            for folder in (batch_folder(begun.run, batch.number), segment_folder(name)):
                # Damaged: whoever publishes it says so.
                with contextlib.suppress(FileNotFoundError, StoreCorrupt):
                    if segment is None:
                        require(fs, folder, size, digest, Remembered())
                        segment = files.enter_context(Segment.open(fs, folder))
            if segment is not None:
                found.append((ref, segment))
        refs = tuple(ref for ref, _ in found)
        if not refs:
            return None
        if held is not None and refs == held.manifest.segments:
            return held
        parts = _latest(found)
        if held is not None:
            files.push(held)
        return SnapshotView(_manifest(begun, parts), parts, files.pop_all())


def _latest(found: list[tuple[SegmentRef, Segment]]) -> tuple[Part, ...]:
    """Return the segments; of a file that the run has read again, the last version alone is live."""
    seen: set[str] = set()
    parts: list[Part] = []
    for ref, segment in reversed(found):
        keys = list(segment.keys())
        parts.append(Part(ref, segment, frozenset(at for at, key in enumerate(keys) if key in seen)))
        seen.update(keys)
    return tuple(reversed(parts))


def _manifest(begun: Begun, parts: tuple[Part, ...]) -> Manifest:
    """Return what a manifest would say of these segments: never written, and without a proof of completion."""
    live = live_counts(parts)
    rows = sum(part.ref.rows for part in parts)
    return Manifest(
        snapshot_id=begun.run,
        parent_snapshot_id=None,
        generation=1,
        lease_epoch=0,
        created_at=begun.at,
        canonical_root=begun.root,
        store_id=begun.store_id,
        config_fingerprint=begun.fingerprint.digest,
        config_fields=begun.fingerprint.fields,
        ignore_fingerprint=_UNKNOWN,
        chunk_row_schema_version=CHUNK_ROWS.written,
        git=GitState(None, dirty=False, untracked_included=False),
        segments=tuple(part.ref for part in parts),
        tombstones=(),
        counts=Counts(live.files, rows, live.chunks, 0),
        skipped=(),
        completion=None,
    )
