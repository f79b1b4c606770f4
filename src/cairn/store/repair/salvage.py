"""Find out what is wrong with a store and what can still be built on, and take the steps that make it sound again.

`diagnose` only reads, and uses no remembered digests. `treat` takes the steps. Files that must be read again are left
to a catch-up, and the snapshots that it builds on stay until a new one is published. After every step readers can use
the store as well as before, so a repair may be killed at any point.
"""

from __future__ import annotations

import contextlib
import errno
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from cairn.core.clock import SYSTEM_PROCESSES, Clock, Processes
from cairn.core.limits import MAX_MANIFEST_BYTES, MAX_STATE_BYTES
from cairn.errors import NotIndexed, StoreCorrupt, StoreUnreadable
from cairn.store.format.conform import segment_problems
from cairn.store.format.layout import (
    DIGESTS,
    GENERATIONS,
    INDEX_STATE,
    LOCK_NAMES,
    LOCKS,
    MAPPING,
    OWN_NAMES,
    POINTER,
    QUARANTINE,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    TREE,
    WORKSHOP,
    decode_pointer,
    generation_number,
    generation_path,
    is_segment_name,
    is_sighting,
    is_snapshot_id,
    is_temp,
    manifest_path,
    segment_folder,
    snapshot_folder,
    temp_path,
)
from cairn.store.format.manifest import Manifest, SegmentRef, decode_manifest
from cairn.store.format.seal import Remembered, read_digests, require
from cairn.store.format.segment import Segment
from cairn.store.format.side_files import decode_state, encode_state, state_of
from cairn.store.format.tombstones import mapping_lines, mapping_path, read_mapping
from cairn.store.fs import Fs, read_whole, remove_file, replace_file
from cairn.store.publish.generations import read_generation
from cairn.store.publish.lease import MISSED, Lease, find_lease, silence_of
from cairn.store.publish.tidy import Accounts, accounts_of, run_of
from cairn.store.publish.writer import Writer
from cairn.store.read.snapshot import SnapshotView, assemble, live_counts, read_tombstones
from cairn.store.repair import RepairAction, RepairPlan, RepairScope

# --- looking: manifests under both of their names, and whether their artifacts are whole ------------------------------


_NO_FILE = (errno.ELOOP, errno.EINVAL)


@dataclass(frozen=True, slots=True)
class Health:
    """A readable manifest, and what is wrong with the artifacts that it names."""

    manifest: Manifest
    why: str | None
    lost: tuple[SegmentRef, ...] = ()
    salvageable: bool = False


class Content(NamedTuple):
    """The content of a segment: what is wrong with it, and the files in it when nothing is."""

    why: str | None
    keys: tuple[str, ...] = ()


@dataclass(slots=True)
class Inspection:
    """Everything that was read of a store, each thing once."""

    fs: Fs
    remembered: Remembered
    taken: dict[int, Manifest | str | None] = field(default_factory=dict)
    own: dict[str, Manifest] = field(default_factory=dict)
    staged: frozenset[str] = frozenset()
    mended: dict[int, Manifest] = field(default_factory=dict)
    segments: dict[SegmentRef, Content] = field(default_factory=dict)

    @property
    def manifests(self) -> list[Manifest]:
        """All readable manifests, oldest first."""
        found = {number: each for number, each in self.taken.items() if isinstance(each, Manifest)} | self.mended
        return [found[number] for number in sorted(found)]


def look_at(fs: Fs, remembered: Remembered) -> Inspection:
    """Read every manifest, and list the runs that have staged batches."""
    look = Inspection(fs, remembered)
    for number in sorted(n for name in names_in(fs, GENERATIONS) if (n := generation_number(name)) is not None):
        try:
            look.taken[number] = read_generation(fs, number)
        except StoreCorrupt as problem:
            look.taken[number] = problem.sentence
    for name in filter(is_snapshot_id, names_in(fs, SNAPSHOTS)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, StoreCorrupt):
            manifest = decode_manifest(read_whole(fs, manifest_path(name), MAX_MANIFEST_BYTES, "manifest"))
            if manifest.snapshot_id == name:
                look.own[name] = manifest
    look.staged = frozenset(filter(is_snapshot_id, names_in(fs, STAGING)))
    look.mended = _lost_numbers(look)
    return look


def _lost_numbers(look: Inspection) -> dict[int, Manifest]:
    """Return the generations whose manifest has lost its name in `generations/`, and only has its own.

    A run that has not published still has its staging, so its manifest is not among them.
    """
    lowest = min(look.taken, default=0)
    waiting = [manifest for run, manifest in look.own.items() if run not in look.staged]
    claimed = Counter(manifest.generation for manifest in waiting)
    return {
        manifest.generation: manifest
        for manifest in waiting
        if claimed[manifest.generation] == 1
        # A manifest below all others was collected, and its folder is what a killed collector left.
        and manifest.generation >= lowest
        and isinstance(look.taken.get(manifest.generation, "gone"), str)
    }


def health_of(look: Inspection, manifest: Manifest, store_id: str, root: str) -> Health:
    """Return whether a snapshot can be trusted and read, and which of its segments are lost if not."""
    if (manifest.store_id, manifest.canonical_root) != (store_id, root):
        return Health(manifest, "It belongs to another store.")
    for before, after in pairwise(look.manifests):
        if before is manifest and after.lease_epoch < before.lease_epoch:
            return Health(manifest, "A later snapshot was published under an older lease.")
    twins = [each for each in look.manifests if each.snapshot_id == manifest.snapshot_id]
    if len(twins) > 1 and look.own.get(manifest.snapshot_id) != manifest:
        return Health(manifest, "One snapshot has won two numbers.")
    try:
        buried = read_tombstones(look.fs, manifest.tombstones)
    except StoreCorrupt as problem:
        return Health(manifest, problem.sentence)
    lost = tuple(ref for ref in manifest.segments if content_of(look, ref).why is not None)
    if lost:
        return Health(manifest, content_of(look, lost[0]).why, lost, salvageable=True)
    with ExitStack() as files:
        parts = assemble(look.fs, manifest.segments, buried, look.remembered, files)
        live = live_counts(parts)
        keys = Counter(
            key for part in parts for number, key in enumerate(part.segment.keys()) if number not in part.hidden
        )
    if any(count > 1 for count in keys.values()):
        return Health(manifest, "A file is live in two segments.")
    if (live.files, live.chunks) != (manifest.counts.files_indexed, manifest.counts.chunks_live):
        return Health(manifest, "Its counts are not what can be read through it.", salvageable=True)
    return Health(manifest, None)


def content_of(look: Inspection, ref: SegmentRef) -> Content:
    """Return the content of a segment, reading it only once."""
    if ref not in look.segments:
        look.segments[ref] = _read_segment(look, ref)
    return look.segments[ref]


def _read_segment(look: Inspection, ref: SegmentRef) -> Content:
    folder = segment_folder(ref.name)
    try:
        require(look.fs, folder, ref.size_bytes, ref.sha256, look.remembered)
        with Segment.open(look.fs, folder) as segment:
            if (segment.rows, segment.files) != (ref.rows, ref.files):
                return Content(f"The counts of segment {ref.name} are not the ones in the manifest.")
            return Content(next(segment_problems(segment), None), tuple(segment.keys()))
    except StoreCorrupt as problem:
        return Content(problem.sentence)
    except OSError as problem:
        if problem.errno not in _NO_FILE:
            raise
        return Content(f"A file of segment {ref.name} is no file.")


def pointed_id(fs: Fs) -> str | None:
    """Return the snapshot that the pointer names, whether or not that snapshot exists; None when it is unreadable."""
    with contextlib.suppress(FileNotFoundError, StoreCorrupt):
        return decode_pointer(read_whole(fs, POINTER, MAX_STATE_BYTES, "pointer"))
    return None


def names_in(fs: Fs, folder: str) -> list[str]:
    """Return the names in a folder; none when the folder is missing."""
    try:
        return fs.list_folder(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a repair has to do. `base` is what a catch-up builds on, without the segments that are lost.

    `hinted` are the files that the lost segments held, and `files` how many files must be read again, as far as that
    can be told beforehand. `newest` is the snapshot that answers when no catch-up is needed.
    """

    scope: RepairScope
    steps: tuple[Step, ...]
    base: Manifest | None = None
    newest: Manifest | None = None
    hinted: frozenset[str] = frozenset()
    files: int = 0
    published: bool = True

    @property
    def plan(self) -> RepairPlan:
        """The plan of the repair as it is shown to people."""
        actions = tuple(RepairAction(step.kind, step.path, step.why) for step in self.steps)
        return RepairPlan(self.scope, actions, self.files, self.base.snapshot_id if self.base is not None else None)


def diagnose(
    fs: Fs, store_id: str, root: str, remembered: Remembered, *, only: str | None = None, rebuild: bool = False
) -> Diagnosis:
    """Read everything in the store, and return what it takes to make it sound.

    With `only`, no other snapshot is trusted; with `rebuild`, none is. An unreadable disk raises its `OSError`, and an
    artifact of a later version `Incompatible`: neither is damage.
    """
    look = look_at(fs, remembered)
    healths = [health_of(look, manifest, store_id, root) for manifest in look.manifests]
    if only is not None:
        healths = [h if h.manifest.snapshot_id == only else replace(h, why="It is not to be trusted.") for h in healths]
    choice = _choose(look, healths, rebuild=rebuild)
    catch_up = choice.scope in (RepairScope.FILES, RepairScope.FULL)
    sound = [health.manifest for health in healths if health.why is None]
    retained = look.manifests if catch_up else sound
    steps = [
        *mends(look),
        *strangers(look, retained),
        *fences(look, late=catch_up),
        *pointer(look, choice.newest, late=catch_up),
        *sides(look, retained),
        *hints(look, retained),
    ]
    bad = {health.manifest.snapshot_id: health.why for health in healths if health.why is not None}
    if catch_up:
        known = {step.path for step in steps}
        steps += [step._replace(late=True) for step in strangers(look, sound) if step.path not in known]
    steps += [
        Step(FENCE, generation_path(manifest.generation), why, late=catch_up)
        for manifest in look.manifests
        if (why := bad.get(manifest.snapshot_id)) is not None
    ]
    scope = RepairScope.TIDY if choice.scope is RepairScope.NONE and steps else choice.scope
    return replace(choice, scope=scope, steps=tuple(steps))


def open_base(fs: Fs, manifest: Manifest, remembered: Remembered) -> SnapshotView:
    """Open a view of what is left of a snapshot: all segments that this manifest names are whole."""
    with ExitStack() as files:
        buried = read_tombstones(fs, manifest.tombstones)
        parts = assemble(fs, manifest.segments, buried, remembered, files)
        return SnapshotView(manifest, parts, files.pop_all())


def _choose(look: Inspection, healths: list[Health], *, rebuild: bool) -> Diagnosis:
    if not _was_published(look):
        return Diagnosis(RepairScope.NONE, (), published=False)
    sound = [] if rebuild else [health.manifest for health in healths if health.why is None]
    newest = healths[-1].manifest if healths else None
    if sound and sound[-1] is newest and not _newer_is_lost(look, newest):
        return Diagnosis(RepairScope.NONE, (), base=newest, newest=newest)
    if sound and sound[-1].completion is not None:
        # The files of later segments are read again.
        later = set(healths[-1].manifest.segments) - set(sound[-1].segments)
        return Diagnosis(RepairScope.FILES, (), base=sound[-1], files=sum(ref.files for ref in later))
    for health in [] if rebuild else reversed(healths):
        if (found := _salvaged(look, health)) is not None:
            return found
    return Diagnosis(RepairScope.FULL, (), files=newest.counts.files_indexed if newest else 0)


def _salvaged(look: Inspection, health: Health) -> Diagnosis | None:
    """Return a diagnosis on the snapshot without its lost segments, when the hints name all files that were in them."""
    kept = tuple(ref for ref in health.manifest.segments if ref not in health.lost)
    if not health.salvageable or not kept:
        return None
    hinted: set[str] = set()
    for ref in health.lost:
        files = (read_mapping(look.fs, run_of(ref.name)) or {}).get(ref.name, frozenset())
        if len(files) < max(ref.files, 1):
            return None
        hinted |= files
    base = replace(health.manifest, segments=kept)
    return Diagnosis(RepairScope.FILES, (), base=base, hinted=frozenset(hinted), files=len(hinted))


def _was_published(look: Inspection) -> bool:
    if any(look.taken.values()) or look.mended:
        return True
    return any(name in (POINTER, INDEX_STATE) for name in names_in(look.fs, ""))


def _newer_is_lost(look: Inspection, newest: Manifest) -> bool:
    """Return whether a snapshot after the newest one that is left was published and is lost.

    A taken generation or the pointer may show that. The pointer may name a snapshot of which nothing is left, when
    somebody removed both names of its manifest. A damaged pointer can look the same: then files are compared for
    nothing. But a cleared index is not filled because of it.
    """
    if any(isinstance(found, str) for number, found in look.taken.items() if number > newest.generation):
        return True
    if newest.completion is None:
        return False
    try:
        named = decode_pointer(read_whole(look.fs, POINTER, MAX_STATE_BYTES, "pointer"))
    except (FileNotFoundError, StoreCorrupt):
        return False
    # Ids sort in order of time.
    return named > newest.snapshot_id and all(named != manifest.snapshot_id for manifest in look.manifests)


# --- the quarantine: damaged files are moved there, never deleted, below the id of the repair's run -------------------


# The path is a link, a FIFO or the like; or its name is none that Cairn gives.
_STRANGE = (errno.EINVAL, errno.ELOOP, errno.ENOTDIR)
_TEMP = "repair"


class Quarantine:
    """The quarantine of one repair, made when the first file is moved into it.

    `moved` are the paths that were moved there; `left` are those that could not be: links, devices, unusable names.
    """

    def __init__(self, fs: Fs, run: str) -> None:
        self._fs = fs
        self._run = run
        self.folder = f"{QUARANTINE}/{run}"
        self.moved: list[str] = []
        self.left: list[str] = []

    def take(self, path: str) -> None:
        """Move a file or a whole folder into the quarantine; a missing path is no error."""
        try:
            is_folder = self._fs.stat(path).is_folder
            target = self._room(path)
            if is_folder:
                # A sealed folder cannot be moved.
                self._fs.unseal(path)
                self._fs.move(path, target)
            else:
                self._fs.swap(path, target)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in _STRANGE:
                raise
            self.left.append(path)
            return
        # Sync the new name first, so that at every moment one of the two names is safe.
        self._fs.sync_folder(_parent(target))
        self._fs.sync_folder(_parent(path))
        self.moved.append(path)

    def fence(self, number: int) -> None:
        """Put a generation aside and a fence in its place, so that no sleeper can claim the number."""
        path, temp = generation_path(number), temp_path(_TEMP, self._run)
        self._keep(path)
        remove_file(self._fs, temp)
        self._fs.create_bytes(temp, b"")
        self._fs.sync_file(temp)
        self._swap_in(temp, path)

    def mend(self, source: str, target: str) -> None:
        """Give a manifest back the name that it has lost; the file that has that name now is kept in the quarantine."""
        folder, temp = _parent(target), temp_path(_TEMP, self._run)
        with contextlib.suppress(FileExistsError):
            self._fs.make_folder(folder)
            self._fs.sync_folder(SNAPSHOTS)
        self._keep(target)
        remove_file(self._fs, temp)
        self._fs.claim(source, temp)
        self._swap_in(temp, target)

    def _swap_in(self, temp: str, target: str) -> None:
        self._fs.swap(temp, target)
        self._fs.sync_folder(_parent(target))
        self._fs.sync_folder("")

    def _keep(self, path: str) -> None:
        """Give a file that is about to be replaced a second name in the quarantine; a folder is moved there."""
        try:
            if self._fs.stat(path).is_folder:
                self.take(path)
                return
            target = self._room(path)
            self._fs.claim(path, target)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in _STRANGE:
                raise
            return
        self._fs.sync_folder(_parent(target))
        self.moved.append(path)

    def _room(self, path: str) -> str:
        """Return a free path for this path in the quarantine, with its folders made and safe."""
        folder = ""
        for name in f"{self.folder}/{path}".split("/")[:-1]:
            above, folder = folder, f"{folder}/{name}".lstrip("/")
            with contextlib.suppress(FileExistsError):
                self._fs.make_folder(folder)
                self._fs.sync_folder(above)
        target, number = f"{self.folder}/{path}", 0
        with contextlib.suppress(FileNotFoundError):
            while True:
                self._fs.stat(target)
                number += 1
                target = f"{self.folder}/{path}.{number}"
        return target


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


MEND, FENCE, MOVE, POINT, RENEW = "mend", "fence", "quarantine", "point", "renew"

_NOBODY = "No snapshot accounts for it."


class Step(NamedTuple):
    """One step of a repair. A `late` step waits until a new snapshot is published.

    `source` is the other name of a manifest that is mended, or the text of a hint that is written again.
    """

    kind: str
    path: str
    why: str
    source: str = ""
    late: bool = False


def treat(fs: Fs, run: str, steps: Iterable[Step], newest: Manifest | None, quarantine: Quarantine) -> None:
    """Take every step that need not wait. Only for the holder of the lease."""
    for step in steps:
        if step.late or step.kind == POINT:
            # Opening a writer, or the publish, moves the pointer.
            continue
        if step.kind == MEND:
            quarantine.mend(step.source, step.path)
        elif step.kind == MOVE:
            quarantine.take(step.path)
        elif step.kind == FENCE:
            quarantine.fence(int(step.path.rpartition("/")[2]))
        elif step.path == INDEX_STATE and newest is not None:
            data = encode_state(state_of(newest))
            replace_file(fs, INDEX_STATE, temp_path(INDEX_STATE, run), data, safe=False)
        elif step.path != INDEX_STATE:
            replace_file(fs, step.path, temp_path("hint", run), step.source.encode(), safe=False)


def mends(look: Inspection) -> Iterator[Step]:
    """Yield steps for manifests that have lost one of their two names."""
    for number, manifest in look.mended.items():
        own, place = manifest_path(manifest.snapshot_id), generation_path(number)
        yield Step(MEND, place, "The manifest that won this number has another name only.", own)
    for number, found in look.taken.items():
        if isinstance(found, Manifest) and look.own.get(found.snapshot_id) != found:
            others = [each for each in look.manifests if each.snapshot_id == found.snapshot_id]
            if len(others) == 1:
                own, place = manifest_path(found.snapshot_id), generation_path(number)
                yield Step(MEND, own, "It is not the manifest that was published.", place)


def fences(look: Inspection, *, late: bool) -> Iterator[Step]:
    """Yield steps for generations that are missing between others, or that hold something unreadable.

    Unreadable ones stay until the files that were lost with them are indexed again: else a repair that is killed would
    leave a store that looks sound and is behind.
    """
    numbers = {manifest.generation for manifest in look.manifests}
    taken = look.taken.keys() | numbers
    for number in range(min(numbers, default=0), max(taken, default=0)):
        if number not in taken and number:
            yield Step(FENCE, generation_path(number), "The number is missing between others.")
    for number, found in look.taken.items():
        if isinstance(found, str) and number not in look.mended:
            yield Step(FENCE, generation_path(number), found, late=late)


def strangers(look: Inspection, retained: Iterable[Manifest]) -> Iterator[Step]:
    """Yield steps that move away what none of these snapshots accounts for, but not what a killed run staged."""
    return (Step(MOVE, path, _NOBODY) for path in _unaccounted(look, accounts_of(retained)))


def _unaccounted(look: Inspection, accounts: Accounts) -> Iterator[str]:
    fs, staged = look.fs, look.staged
    yield from (name for name in names_in(fs, "") if name not in OWN_NAMES and not is_temp(name))
    for run in names_in(fs, SNAPSHOTS):
        folder = snapshot_folder(run)
        if run in accounts.files:
            yield from (f"{folder}/{name}" for name in names_in(fs, folder) if name not in accounts.files[run])
        elif run not in staged:
            yield folder
    for name in names_in(fs, SEGMENTS):
        if name not in accounts.segments and not (is_segment_name(name) and run_of(name) in staged):
            yield segment_folder(name)
    yield from (f"{GENERATIONS}/{name}" for name in names_in(fs, GENERATIONS) if generation_number(name) is None)
    staging = (f"{STAGING}/{name}" for name in names_in(fs, STAGING) if name not in staged)
    yield from (path for path in staging if path != WORKSHOP)
    locks = (name for name in names_in(fs, LOCKS) if name not in LOCK_NAMES and not is_sighting(name))
    yield from (f"{LOCKS}/{name}" for name in locks if not is_temp(name))


def pointer(look: Inspection, newest: Manifest | None, *, late: bool) -> Iterator[Step]:
    """Yield steps for a pointer that does not name the newest snapshot."""
    named, there = pointed_id(look.fs), POINTER in names_in(look.fs, "")
    known = {manifest.snapshot_id for manifest in look.manifests}
    if there and named not in known:
        yield Step(MOVE, POINTER, "It does not name a snapshot of this store.")
    if late or (newest is not None and named != newest.snapshot_id):
        why = (
            "It will name the snapshot that the repair publishes." if late else "It does not name the newest snapshot."
        )
        yield Step(POINT, POINTER, why, late=late)


def sides(look: Inspection, retained: list[Manifest]) -> Iterator[Step]:
    """Yield steps that put wrong side files aside and write them again."""
    if (why := _wrong_state(look.fs, retained)) is not None:
        yield Step(MOVE, INDEX_STATE, why)
        yield Step(RENEW, INDEX_STATE, why)
    if (why := _wrong_digests(look)) is not None:
        yield Step(MOVE, DIGESTS, why)


def _wrong_state(fs: Fs, retained: list[Manifest]) -> str | None:
    try:
        state = decode_state(read_whole(fs, INDEX_STATE, MAX_STATE_BYTES, "index state"))
    except FileNotFoundError:
        return None
    except StoreUnreadable as problem:
        return problem.sentence
    known = any(state == state_of(each, state.last_sync_at) for each in retained)
    return None if known else "It is the state of no snapshot that is left."


def _wrong_digests(look: Inspection) -> str | None:
    try:
        remembered = read_digests(look.fs)
    except FileNotFoundError:
        return None
    except StoreUnreadable as problem:
        return problem.sentence
    lies = any(look.remembered.get(stat, digest) != digest for stat, digest in remembered.items())
    return "It remembers files as they are not." if lies else None


def hints(look: Inspection, retained: Iterable[Manifest]) -> Iterator[Step]:
    """Yield steps for missing or wrong hints of snapshots whose segments are whole."""
    for manifest in retained:
        keys = _keys_of(look, manifest.snapshot_id)
        if not keys:
            continue
        hint = read_mapping(look.fs, manifest.snapshot_id) or {}
        if any(hint.get(name, frozenset()) != frozenset(found) for name, found in keys.items()):
            why = "It does not say which files the segments hold."
            lines = "".join(line for name in sorted(keys) for line in mapping_lines(name, keys[name]))
            if MAPPING in names_in(look.fs, snapshot_folder(manifest.snapshot_id)):
                yield Step(MOVE, mapping_path(manifest.snapshot_id), why)
            yield Step(RENEW, mapping_path(manifest.snapshot_id), why, lines)


def _keys_of(look: Inspection, run: str) -> Mapping[str, tuple[str, ...]]:
    """Return the files of every segment of this run; none when a segment is lost, since then only the hint is left."""
    found = {ref.name: content for ref, content in look.segments.items() if run_of(ref.name) == run}
    if any(content.why is not None for content in found.values()):
        return {}
    return {name: content.keys for name, content in found.items()}


# --- one whole repair -------------------------------------------------------------------------------------------------

# A watch that ends with the term would miss it by a hair.
_LONGER_SECONDS = 5.0


class Mending:
    """A repair of one store. `tree_is_sound` says whether the remembered listing of the tree can be read.

    `found` is what the run with the lease found out, `quarantine` where it moves damaged files; both are None before
    that.
    """

    def __init__(self, fs: Fs, store_id: str, root: str, shown: str, tree_is_sound: Callable[[], bool]) -> None:
        self._fs = fs
        self._store_id, self._root, self._shown = store_id, root, shown
        self._tree_is_sound = tree_is_sound
        self.rebuild = False
        self.found: Diagnosis | None = None
        self.quarantine: Quarantine | None = None

    def diagnose(
        self, remembered: Remembered | None = None, *, only: str | None = None, rebuild: bool = False
    ) -> Diagnosis:
        """Find out what is damaged and what mends it. `NotIndexed` when nothing was ever published."""
        known = Remembered() if remembered is None else remembered
        found = diagnose(self._fs, self._store_id, self._root, known, only=only, rebuild=rebuild)
        if not found.published and not found.steps:
            raise NotIndexed(path=self._shown, why="it was never indexed")
        if TREE in self._fs.list_folder("") and not self._tree_is_sound():
            step = Step(MOVE, TREE, "It cannot be read.")
            scope = RepairScope.TIDY if found.scope is RepairScope.NONE else found.scope
            found = replace(found, scope=scope, steps=(*found.steps, step))
        return found

    def begin(self, lease: Lease, remembered: Remembered) -> SnapshotView | None:
        """Diagnose and treat while holding the lease; return a view of what is left to build on."""
        found = self.found = self.diagnose(remembered, rebuild=self.rebuild)
        quarantine = self.quarantine = Quarantine(self._fs, lease.run_id)
        lease.check()
        treat(self._fs, lease.run_id, found.steps, found.newest, quarantine)
        return open_base(self._fs, found.base, remembered) if found.base is not None else None

    def finish(self, writer: Writer, *, only: str | None) -> None:
        """Put aside what a new snapshot has replaced; with `only`, no other snapshot is trusted."""
        assert self.quarantine is not None, "a repair begins before it ends"
        writer.lease.check()
        after = self.diagnose(writer.staging.remembered, only=only)
        treat(self._fs, writer.run, after.steps, after.newest, self.quarantine)

    def patience(self, clock: Clock, processes: Processes = SYSTEM_PROCESSES) -> float:
        """Return how long to wait for a lease that is damaged, or whose holder has missed its heartbeat.

        It is the rest of the term, and a little more. For any other lease it is 0.
        """
        found = find_lease(self._fs)
        silent, term = silence_of(self._fs, found, clock, processes), found.term_ms() / 1_000
        waits = silent > term / MISSED if found.record else found.data is not None
        return max(0.0, term - silent) + _LONGER_SECONDS if waits else 0.0
