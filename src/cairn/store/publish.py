"""Make a draft the truth, or leave everything as it was.

Order (each step is a name in this file or the next, each gap between two is a crash point in the tests):
    seal (batches, in staging) → install, barrier → tombstones → manifest → sync → gate → (copy elsewhere) →
    fresh look → preflight → claim the generation → sync → temporary pointer, sync → swap → sync → (mark the copy)

Before the claim a crash leaves the old snapshot; after it the new one, and the next writer finishes the swap. No step
waits for readers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack

from cairn.core.clock import Clock, rfc3339
from cairn.errors import EngineError, PublishRefused
from cairn.store.conform import segment_problems
from cairn.store.digests import save_digests
from cairn.store.draft import Draft
from cairn.store.files import remove_file, remove_tree, replace_file
from cairn.store.fs import Fs
from cairn.store.generations import claim
from cairn.store.install import install
from cairn.store.layout import (
    INDEX_STATE,
    LAST_USED,
    SNAPSHOTS,
    manifest_path,
    segment_folder,
    snapshot_folder,
    temp_path,
)
from cairn.store.manifest import (
    Completion,
    Counts,
    Manifest,
    SegmentRef,
    TombstoneRef,
    encode_manifest,
)
from cairn.store.mapping import mapping_lines, mapping_path
from cairn.store.seal import Remembered
from cairn.store.snapshot import Part, SnapshotView, assemble, find_live, live_counts, read_tombstones
from cairn.store.state import encode_state, state_of
from cairn.store.versions import CHUNK_ROWS
from cairn.store.writer import Writer, finish_swap, point_to

# A merged segment holds the whole tree: then one pass over the paths is cheaper than to look up each.
_MANY_FILES = 1_000


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
        if writer.away is not None:
            writer.away.send(SnapshotView(manifest, parts, ExitStack()))
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
    if writer.away is not None:
        # Published is published: a copy that could not be told is found without its marker, and is told again.
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
    fs.create_bytes(mapping_path(manifest.snapshot_id), "".join(_mapping(manifest, parts)).encode())
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
    """Whether one of these files is live in one of the parts. Looked up one by one, unless there are very many."""
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


def _mapping(manifest: Manifest, parts: tuple[Part, ...]) -> Iterator[str]:
    """One line for every file that this snapshot brought. A hint for repairs, so it is not synced."""
    for part in parts:
        if _is_own(manifest, part):
            yield from mapping_lines(part.ref.name, part.segment.keys())


def _is_own(manifest: Manifest, part: Part) -> bool:
    return part.ref.name.startswith(f"seg_{manifest.snapshot_id}_")
