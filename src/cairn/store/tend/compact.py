"""Merge segments into fewer ones without dead text, while others go on reading and writing.

Merging takes no lease: it reads a view, and writes where no other run looks. Only the publish takes the lease. When
another snapshot was published meanwhile, the merged segments can replace the same segments in it, as long as it still
holds all of them; otherwise the work is thrown away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cairn.core.clock import Clock
from cairn.core.fingerprint import IndexFingerprint
from cairn.core.limits import (
    COMPACTION_DEAD_SHARE,
    COMPACTION_OVERDUE_SEGMENTS,
    COMPACTION_OVERDUE_TOMBSTONES,
    FULL_GROWN_TEXT_BYTES,
    KIB,
    MAX_SEGMENTS_PER_SNAPSHOT,
)
from cairn.core.progress import Phase, Progress
from cairn.core.progress import Tell as Told
from cairn.store.format.layout import COMPACT_LOCK, STAGING, WORKSHOP, is_snapshot_id
from cairn.store.format.manifest import Manifest
from cairn.store.format.seal import Remembered, Sealed, seal_files
from cairn.store.fs import Fs, remove_tree
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Rewrite
from cairn.store.publish.writer import Attach, Writer, attached, open_writer
from cairn.store.read.snapshot import Part, SnapshotView, open_view, parts_of
from cairn.store.tend.merge import merge

# --- planning: keep a snapshot at about ten segments with little dead text --------------------------------------------


_FAN_OUT = 8
# In a small tree every save makes a large part of the text dead. Up to so many segments that is accepted: otherwise
# every save would cause a merge.
_FEW = 4
_FULL_GROWN_PART = 2
# Below this size the fixed cost of a segment would weigh too much.
_LEAST_FULL_GROWN = 256 * KIB


class Load(NamedTuple):
    """A segment with the bytes of its text, the dead ones among them, and its live files, skip records included."""

    name: str
    text: int
    dead: int
    live_files: int

    @property
    def live(self) -> int:
        return self.text - self.dead


def loads_of(view: SnapshotView) -> list[Load]:
    """Return the load of each segment of a view, in their order."""
    return [_load(part) for part in parts_of(view)]


def is_overdue(manifest: Manifest) -> bool:
    """Return whether a snapshot has too many segments or tombstones; every reader of the snapshot reports that."""
    tombstones = sum(ref.count for ref in manifest.tombstones)
    return len(manifest.segments) >= COMPACTION_OVERDUE_SEGMENTS or tombstones >= COMPACTION_OVERDUE_TOMBSTONES


def plan(loads: Sequence[Load], *, everything: bool = False, also: Collection[str] = ()) -> list[tuple[str, ...]]:
    """Return the groups of segments to merge, each into one segment; none when all is well.

    With `everything`, as few segments as possible are left, without dead text. Segments in `also` are rewritten in any
    case.
    """
    chosen = set(also)
    full_grown = FULL_GROWN_TEXT_BYTES if everything else _full_grown(loads)
    young = sorted((load for load in loads if load.live < full_grown), key=_size)
    if everything:
        chosen |= {load.name for load in loads if load.dead} | {load.name for load in young if len(young) > 1}
    elif len(young) > _FAN_OUT:
        chosen |= {load.name for load in _smallest(young)}
    if len(loads) > _FEW:
        chosen |= _dying(loads)
    if chosen or everything:
        chosen |= {load.name for load in loads if load.live_files == 0}
    return [
        tuple(load.name for load in group)
        for group in _groups([load for load in loads if load.name in chosen], 2 * full_grown)
        if len(group) > 1 or group[0].dead or not group[0].live_files or group[0].name in also
    ]


def _load(part: Part) -> Load:
    segment = part.segment
    # Each text is followed by one newline; files that were left out have neither.
    dead = sum(len(segment.text(file_id)) for file_id in part.hidden)
    return Load(part.ref.name, len(segment.whole_text()), dead, segment.recorded - len(part.hidden))


def _full_grown(loads: Sequence[Load]) -> int:
    part = sum(load.live for load in loads) // _FULL_GROWN_PART
    return min(max(part, _LEAST_FULL_GROWN), FULL_GROWN_TEXT_BYTES)


def _size(load: Load) -> tuple[int, str]:
    return load.live, load.name


def _smallest(young: Sequence[Load]) -> list[Load]:
    taken = list(young[:_FAN_OUT])
    for load in young[_FAN_OUT:]:
        if load.live > _FAN_OUT * sum(each.live for each in taken):
            break
        taken.append(load)
    return taken


def _dying(loads: Sequence[Load]) -> set[str]:
    """Return the segments to rewrite for their dead text, the worst first; none while little of the whole is dead."""
    total, dead = sum(load.text for load in loads), sum(load.dead for load in loads)
    if dead <= total * COMPACTION_DEAD_SHARE:
        return set()
    chosen = set()
    for load in sorted(loads, key=lambda load: (-load.dead / max(1, load.text), load.name)):
        if dead <= total * COMPACTION_DEAD_SHARE / 2:
            break
        chosen.add(load.name)
        dead -= load.dead
    return chosen


def _groups(chosen: Sequence[Load], most: int) -> list[list[Load]]:
    """Group the segments in their order by live text; a segment with more than `most` bytes stays alone."""
    groups: list[list[Load]] = []
    size = 0
    for load in chosen:
        if not groups or size + load.live > most:
            groups.append([])
            size = 0
        groups[-1].append(load)
        size += load.live
    return groups


Tell = Callable[[int], None]


class Built(NamedTuple):
    """A merged segment, sealed in its folder; the folder is None when nothing in the replaced segments was live."""

    replaced: tuple[str, ...]
    folder: str | None
    sealed: Sealed
    rows: int
    files: int


@contextlib.contextmanager
def workshop(fs: Fs) -> Iterator[str]:
    """Give a folder to build in, which no run adopts or removes, empty at first and removed afterwards.

    TimeoutError when another process is building.
    """
    with fs.lock(COMPACT_LOCK, exclusive=True, timeout=0.0):
        # The earlier builder is dead, or it would still hold the lock.
        remove_tree(fs, WORKSHOP)
        fs.make_folder(WORKSHOP)
        try:
            yield WORKSHOP
        finally:
            with contextlib.suppress(OSError):
                remove_tree(fs, WORKSHOP)


def build(
    fs: Fs, view: SnapshotView, groups: Iterable[Sequence[str]], folder: str, tell: Tell = lambda _: None
) -> list[Built]:
    """Merge each group of segments of the view into a folder below this one; `tell` hears how many are done."""
    built = []
    for number, group in enumerate(groups):
        tell(number)
        parts = [part for part in parts_of(view) if part.ref.name in group]
        place = f"{folder}/{number}"
        fs.make_folder(place)
        merged = merge(fs, place, parts)
        if merged.files or merged.records:
            built.append(Built(tuple(group), place, seal_files(fs, place, Remembered()), merged.rows, merged.files))
        else:
            remove_tree(fs, place)
            built.append(Built(tuple(group), None, Sealed(()), 0, 0))
    return built


def holders(view: SnapshotView, paths: Iterable[str]) -> frozenset[str]:
    """Return the segments of a view that hold any copy of one of these files, dead or live."""
    wanted = list(paths)
    return frozenset(
        part.ref.name for part in parts_of(view) if any(part.segment.find(path) is not None for path in wanted)
    )


def rewrite(writer: Writer, groups: Iterable[Sequence[str]], without: Collection[str]) -> tuple[Rewrite, ...]:
    """Merge each group of segments of the base, without these files, inside the run that holds the lease."""
    assert writer.view is not None
    rewrites = []
    for group in groups:
        writer.lease.beat()
        parts = [part for part in parts_of(writer.view) if part.ref.name in group]
        merged = merge(writer.fs, writer.staging.begin(), parts, without)
        batch = None
        if merged.files or merged.records:
            batch = writer.staging.seal(merged.rows, merged.files, adoptable=False)
        else:
            writer.staging.drop()
        rewrites.append(Rewrite(tuple(group), batch))
    return tuple(rewrites)


def fits(built: Iterable[Built], base: Manifest | None) -> bool:
    """Return whether the base of a run still holds every segment that is to be replaced."""
    held = {ref.name for ref in base.segments} if base and base.completion else set()
    return all(held.issuperset(each.replaced) for each in built)


def publish_merged(writer: Writer, built: Iterable[Built], clock: Clock) -> Manifest:
    """Publish what the base holds in the merged segments. The tree is not compared: the content does not change."""
    base, view = writer.base, writer.view
    assert base is not None
    assert view is not None
    counts = view.counts()
    rewrites = [
        Rewrite(
            each.replaced,
            None if each.folder is None else writer.staging.take(each.folder, each.sealed, each.rows, each.files),
        )
        for each in built
    ]
    draft = Draft(
        root=base.canonical_root,
        store_id=base.store_id,
        fingerprint=IndexFingerprint(base.config_fields, base.config_fingerprint),
        ignore_fingerprint=base.ignore_fingerprint,
        git=base.git,
        read_at=base.created_at,
        on_base=True,
        rewrites=tuple(rewrites),
        files=counts.files + counts.skip_records,
        skipped=base.skipped,
        errors=tuple((error.path_key, error.code, error.message) for error in base.errors),
        complete=base.completion is not None,
    )
    manifest = publish(writer, draft, lambda: True, clock)
    assert manifest is not None
    return manifest


# --- one whole run ----------------------------------------------------------------------------------------------------

# When another run replaces the same segments meanwhile, the merge is repeated once.
_ATTEMPTS = 2
_BUSY = "Another process is merging segments."
_STOPPED = "Another run has prepared work and not published it yet; `cairn sync` comes first."
_MOVED = "Other runs were replacing the same segments."


class Compacted(NamedTuple):
    """The manifests before and after; equal when there was nothing to merge, or when `note` says why not."""

    before: Manifest
    after: Manifest
    note: str | None = None


class Compaction:
    """One compaction of a store. `merged` is called with the manifests before and after while the lease is held."""

    def __init__(
        self,
        fs: Fs,
        place: str,
        told: Told,
        merged: Callable[[Manifest, Manifest], None],
        *,
        everything: bool,
        wait_seconds: float,
        clock: Clock,
        attach: Attach | None,
    ) -> None:
        self._fs, self._place = fs, place
        self._told, self._merged = told, merged
        self._everything = everything
        self._wait_seconds, self._clock = wait_seconds, clock
        self._attach = attach

    def run(self) -> Compacted:
        """Merge what is due. FileNotFoundError when nothing was published, `StoreBusy` when another run holds on."""
        with self._opened() as view:
            manifest = view.manifest
            if not self._groups(view):
                return Compacted(manifest, manifest)
        if any(map(is_snapshot_id, self._fs.list_folder(STAGING))):
            # Publishing would remove the batches that another run has staged. That is rare, so the compaction waits for
            # the next time.
            return Compacted(manifest, manifest, _STOPPED)
        try:
            with workshop(self._fs) as folder:
                for attempt in range(_ATTEMPTS):
                    self._fs.make_folder(bench := f"{folder}/{attempt}")
                    done = self._attempt(bench)
                    if done is not None:
                        return done
        except TimeoutError:
            return Compacted(manifest, manifest, _BUSY)
        return Compacted(manifest, manifest, _MOVED)

    def _attempt(self, folder: str) -> Compacted | None:
        """Merge and publish; None when the segments that were merged are gone."""
        fs, place = self._fs, self._place
        with self._opened() as view:
            groups = self._groups(view)
            built = build(
                fs, view, groups, folder, lambda done: self._told(Progress(Phase.COMPACTING, done, len(groups)))
            )
        self._told(Progress(Phase.PUBLISHING))
        wait = self._wait_seconds
        with open_writer(fs, place, RunKind.COMPACT, clock=self._clock, wait_seconds=wait) as writer:
            base = writer.base
            if base is None or not fits(built, base):
                return None
            with attached(self._attach, writer):
                merged = publish_merged(writer, built, self._clock)
            self._merged(base, merged)
            return Compacted(base, merged)

    def _opened(self) -> SnapshotView:
        view = open_view(self._fs, self._place)
        if view is None:
            raise FileNotFoundError
        return view

    def _groups(self, view: SnapshotView) -> list[tuple[str, ...]]:
        return plan(loads_of(view), everything=self._everything or is_overdue(view.manifest))


# --- segments that a run rewrites in its own publish: to forget a text at once, or to make room -----------------------


@dataclass(slots=True)
class Rewriter:
    """The segments that one run rewrites. Each wish is carried out once, however often the publish is tried."""

    writer: Writer
    forgotten: frozenset[str] = frozenset()
    _done: dict[tuple[frozenset[str], bool], tuple[Rewrite, ...]] = field(default_factory=dict)

    def forget(self, keys: frozenset[str]) -> None:
        """Ask for segments without any copy of the text of these files."""
        self.forgotten |= keys

    def rewrites(self, new_batches: int) -> tuple[Rewrite, ...]:
        """Return the rewrites of base segments that are needed when that many batches come on top."""
        view = self.writer.view
        if view is None:
            return ()
        crowded = len(view.manifest.segments) + new_batches > MAX_SEGMENTS_PER_SNAPSHOT
        if not crowded and not self.forgotten:
            return ()
        wish = (self.forgotten, crowded)
        if wish not in self._done:
            wanted = holders(view, self.forgotten)
            groups = plan(loads_of(view), everything=crowded, also=wanted) if crowded or wanted else []
            self._done[wish] = rewrite(self.writer, groups, self.forgotten)
        return self._done[wish]
