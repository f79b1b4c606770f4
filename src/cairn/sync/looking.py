"""Compare the files of a codebase with a snapshot, and write nothing: what must be known before an answer is believed.

A run that writes compares by the same rule (`changes_since`), and then indexes what it found. A reader may not write:
it gets the `Difference`, and decides whether to read the changed files itself or to say what it has not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.clock import Clock, wall_seconds
from cairn.core.types import Candidate, ChangeSet, ReadOutcome, StoredFile, WalkResult
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.changes import NO_HINTS, Read, detect, git_hints
from cairn.source.git import Git
from cairn.source.listing import ListingRecorder, file_stats
from cairn.source.root import path_key
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.store import Manifest, SnapshotView
from cairn.sync.codebase import Codebase, StorePlace
from cairn.sync.memory import TreeMemory, is_unchanged, links_of, load_memory, rules_of

Tick = Callable[[], None]
"""Called again and again while files are compared; it may raise to end the comparison."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How the files differ from a snapshot: new and modified files, paths that are gone, files not comparable.

    A file is not comparable when it changes each time it is read. A renamed file is new and gone.
    """

    changed: tuple[Candidate, ...] = ()
    gone: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many files differ."""
        return len(self.changed) + len(self.gone) + len(self.unknown)


NO_DIFFERENCE = Difference()


class Compared(NamedTuple):
    """The result of a comparison, and the tree that it has seen: while that is as it was, so is the difference.

    `skipped` counts the names that are left out by their reasons, but those of changed files, which nobody has read.
    """

    difference: Difference
    skipped: tuple[tuple[str, int], ...]
    seen: TreeMemory | None = None


def compare(
    codebase: Codebase,
    place: StorePlace,
    view: SnapshotView,
    tick: Tick,
    *,
    clock: Clock,
    last: Compared | None = None,
) -> Compared:
    """Compare all files with the snapshot of a view, as they are after this call began.

    Most comparisons find nothing, or what the `last` one has found, and read names and stat tuples only. Raises an
    `OSError` or a `SourceError` when the tree cannot be looked at, and whatever `tick` raises.
    """
    if last is not None and is_unchanged(codebase, view.manifest, last.seen, clock, tick):
        return last
    disk = place.disk()
    if disk is None:
        memory = None
    else:
        with disk:
            memory = load_memory(disk)
    if is_unchanged(codebase, view.manifest, memory, clock, tick):
        return Compared(NO_DIFFERENCE, view.manifest.skipped)
    began_ns, head = clock.wall_ns(), _head(codebase, clock)
    recorder = ListingRecorder()
    with Tree(codebase.root) as tree:
        walked = walk(tree, codebase.config, tracked=codebase.tracked, progress=lambda _: tick(), recorder=recorder)
        known = view.records()
        recall_touched(known, walked.candidates, lambda: memory, view.manifest)
        most = codebase.config.limits.max_file_bytes

        def read(candidate: Candidate) -> ReadOutcome:
            tick()
            return read_stable(tree, candidate, max_bytes=most, clock=clock)

        changes = changes_since(codebase, view.manifest, walked, known, read, clock=clock)
    found = _difference(changes, known)
    skipped = _skipped(walked, changes, known)
    if found.unknown or not found.total:
        # What finds nothing is remembered with the store, by the next run.
        return Compared(found, skipped)
    rules, links = rules_of(codebase.config), links_of(walked.skips)
    seen = TreeMemory(view.manifest.snapshot_id, began_ns, head, rules, links, recorder.listing())
    return Compared(found, skipped, seen)


def _head(codebase: Codebase, clock: Clock) -> str | None:
    try:
        return Git(codebase.root, clock=clock).head()
    except GitFailed:
        # Then nothing is ever taken for unchanged.
        return None


def _difference(changes: ChangeSet, known: dict[str, StoredFile]) -> Difference:
    new = (*changes.add, *changes.modify, *(rename.new for rename in changes.rename))
    gone = {*changes.delete, *(rename.old for rename in changes.rename)}
    return Difference(
        changed=tuple(sorted(new, key=lambda candidate: candidate.key)),
        # A file that was read and left out before is in no answer, and need not be hidden.
        gone=tuple(sorted(key for key in gone if known[key].skip is None)),
        unknown=tuple(sorted(path_key(unstable.raw) for unstable in changes.unstable)),
    )


def _skipped(walked: WalkResult, changes: ChangeSet, known: dict[str, StoredFile]) -> tuple[tuple[str, int], ...]:
    other = {*changes.delete, *(rename.old for rename in changes.rename), *(one.key for one in changes.modify)}
    other.update(path_key(skip.raw) for skip in changes.skips)
    counts = Counter(skip.reason.value for skip in (*walked.skips, *changes.skips))
    for key, record in known.items():
        if record.skip is not None and key not in other:
            counts[record.skip.value] += 1
    return tuple(sorted(counts.items()))


def changes_since(
    codebase: Codebase,
    base: Manifest,
    walked: WalkResult,
    known: dict[str, StoredFile],
    read: Read,
    *,
    clock: Clock,
    sample: int = -1,
) -> ChangeSet:
    """Compare a walk with the records of a snapshot. `sample` says which hundredth of all files is hashed anyway."""
    hints = NO_HINTS
    if codebase.root.is_git:
        hints = git_hints(Git(codebase.root, clock=clock), base.git.head_sha)
    synced_at = wall_seconds(base.created_at) * 1_000_000_000
    return detect(walked, known, read, synced_at_ns=synced_at, hints=hints, round_number=sample)


def recall_touched(
    known: dict[str, StoredFile],
    candidates: Iterable[Candidate],
    load: Callable[[], TreeMemory | None],
    base: Manifest,
) -> None:
    """Give the records of files that were only touched their new stat tuples, as far as the memory has them."""
    touched = [one for one in candidates if (record := known.get(one.key)) and record.stat != one.stat]
    memory = load() if touched else None
    if memory is None or memory.snapshot_id != base.snapshot_id:
        return
    seen = file_stats(memory.listing)
    for candidate in touched:
        if seen.get(candidate.raw) == candidate.stat:
            known[candidate.key] = known[candidate.key]._replace(stat=candidate.stat)
