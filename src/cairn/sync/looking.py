"""Compare the files of a codebase with a snapshot, and write nothing: what must be known before an answer is believed.

A run that writes compares by the same rule (`changes_since`), and then indexes what it found. A reader may not write:
it gets the `Difference`, and decides whether to read the changed files itself or to say what it has not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cairn.core.clock import Clock, wall_seconds
from cairn.core.types import Candidate, ChangeSet, ReadOutcome, StoredFile, WalkResult
from cairn.source.beneath import Tree
from cairn.source.changes import NO_HINTS, Read, detect, git_hints
from cairn.source.git import Git
from cairn.source.listing import file_stats
from cairn.source.root import path_key
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.store import Manifest, SnapshotView
from cairn.sync.codebase import Codebase, StorePlace
from cairn.sync.memory import TreeMemory, is_unchanged, load_memory

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


def compare(codebase: Codebase, place: StorePlace, view: SnapshotView, tick: Tick, *, clock: Clock) -> Difference:
    """Compare all files with the snapshot of a view, as they are after this call began.

    Most comparisons find nothing and read names and stat tuples only. Raises an `OSError` or a `SourceError` when the
    tree cannot be looked at, and whatever `tick` raises.
    """
    disk = place.disk()
    if disk is None:
        memory = None
    else:
        with disk:
            memory = load_memory(disk)
    if is_unchanged(codebase, view.manifest, memory, clock, tick):
        return NO_DIFFERENCE
    with Tree(codebase.root) as tree:
        walked = walk(tree, codebase.config, tracked=codebase.tracked, progress=lambda _: tick())
        known = view.records()
        recall_touched(known, walked.candidates, lambda: memory, view.manifest)
        most = codebase.config.limits.max_file_bytes

        def read(candidate: Candidate) -> ReadOutcome:
            tick()
            return read_stable(tree, candidate, max_bytes=most, clock=clock)

        changes = changes_since(codebase, view.manifest, walked, known, read, clock=clock)
    return _difference(changes, known)


def _difference(changes: ChangeSet, known: dict[str, StoredFile]) -> Difference:
    new = (*changes.add, *changes.modify, *(rename.new for rename in changes.rename))
    gone = {*changes.delete, *(rename.old for rename in changes.rename)}
    return Difference(
        changed=tuple(sorted(new, key=lambda candidate: candidate.key)),
        # A file that was read and left out before is in no answer, and need not be hidden.
        gone=tuple(sorted(key for key in gone if known[key].skip is None)),
        unknown=tuple(sorted(path_key(unstable.raw) for unstable in changes.unstable)),
    )


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
