"""What is wrong with a store, what can be built on all the same, and the steps that make it sound again.

`diagnose` only reads, and believes nothing that was remembered. The steps are taken by `remedy.treat`; what a catch-up
has to read again is left to it, and the snapshots that it builds on stay until a new one is published. Every step
leaves a store that readers can use as well as before, so a repair may be killed after any of them.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import StoreCorrupt
from cairn.store.accounts import run_of
from cairn.store.damage import Health, Look, health_of, look_at, names_in
from cairn.store.files import read_whole
from cairn.store.fs import Fs
from cairn.store.ids import decode_pointer
from cairn.store.layout import INDEX_STATE, POINTER, generation_path
from cairn.store.manifest import Manifest
from cairn.store.mapping import read_mapping
from cairn.store.remedy import FENCE, Step, fences, hints, mends, pointer, sides, strangers
from cairn.store.seal import Remembered
from cairn.store.snapshot import SnapshotView, assemble, read_tombstones
from cairn.store.standing import RepairScope


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a repair has to do. `base` is what a catch-up builds on, without the segments that are lost.

    `hinted` are the files that the lost segments held, and `files` how many are to be read again, as far as can be told
    beforehand. `newest` is the snapshot that answers when no catch-up is needed.
    """

    scope: RepairScope
    steps: tuple[Step, ...]
    base: Manifest | None = None
    newest: Manifest | None = None
    hinted: frozenset[str] = frozenset()
    files: int = 0
    published: bool = True


def diagnose(
    fs: Fs, store_id: str, root: str, remembered: Remembered, *, only: str | None = None, rebuild: bool = False
) -> Diagnosis:
    """Read everything in the store, and say what it takes to make it sound.

    With `only`, no other snapshot is believed; with `rebuild`, none is. What the disk will not show raises its
    `OSError`, and what a later version of Cairn has written `Incompatible`: neither is damage.
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
    """A view of what is left of a snapshot: all segments that this manifest names are whole."""
    with ExitStack() as files:
        buried = read_tombstones(fs, manifest.tombstones)
        parts = assemble(fs, manifest.segments, buried, remembered, files)
        return SnapshotView(manifest, parts, files.pop_all())


def _choose(look: Look, healths: list[Health], *, rebuild: bool) -> Diagnosis:
    if not _was_published(look):
        return Diagnosis(RepairScope.NONE, (), published=False)
    sound = [] if rebuild else [health.manifest for health in healths if health.why is None]
    newest = healths[-1].manifest if healths else None
    if sound and sound[-1] is newest and not _newer_is_lost(look, newest):
        return Diagnosis(RepairScope.NONE, (), base=newest, newest=newest)
    if sound and sound[-1].completion is not None:
        # What came after it is read again.
        later = set(healths[-1].manifest.segments) - set(sound[-1].segments)
        return Diagnosis(RepairScope.FILES, (), base=sound[-1], files=sum(ref.files for ref in later))
    for health in [] if rebuild else reversed(healths):
        if (found := _salvaged(look, health)) is not None:
            return found
    return Diagnosis(RepairScope.FULL, (), files=newest.counts.files_indexed if newest else 0)


def _salvaged(look: Look, health: Health) -> Diagnosis | None:
    """The snapshot less its lost segments, when the hints account for all that was in them."""
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


def _was_published(look: Look) -> bool:
    if any(look.taken.values()) or look.mended:
        return True
    return any(name in (POINTER, INDEX_STATE) for name in names_in(look.fs, ""))


def _newer_is_lost(look: Look, newest: Manifest) -> bool:
    """Whether something was published after the newest snapshot that is left, by numbers that are taken or the pointer.

    The pointer may name a snapshot of which nothing is left, when somebody removed both names of its manifest. A
    damaged pointer can look the same: then files are compared for nothing. But a cleared index is not filled for it.
    """
    if any(isinstance(found, str) for number, found in look.taken.items() if number > newest.generation):
        return True
    if newest.completion is None:
        return False
    try:
        named = decode_pointer(read_whole(look.fs, POINTER, MAX_STATE_BYTES, "pointer"))
    except (FileNotFoundError, StoreCorrupt):
        return False
    # Ids are in order of time.
    return named > newest.snapshot_id and all(named != manifest.snapshot_id for manifest in look.manifests)
