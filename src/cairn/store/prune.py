"""Which tombstones are still needed once segments have given way to others.

A tombstone hides what stands below its sequence, so of all those between two segments that stay, any place does: they
are gathered right above the lower one. One that no segment below it answers to is dropped (IDX.MUST.007), and so is one
that a later tombstone of the same path covers. What is left takes no more files than there are segments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cairn.store.fs import Fs
from cairn.store.manifest import TombstoneRef
from cairn.store.snapshot import read_tombstone_file
from cairn.store.tombstones import Tombstone


class Below(NamedTuple):
    """A segment that stays or has come, as far as tombstones care: its place, and the files in it."""

    sequence: int
    keys: frozenset[str]


def pruned(
    fs: Fs, refs: Iterable[TombstoneRef], segments: Sequence[Below]
) -> list[tuple[int, tuple[Tombstone, ...], TombstoneRef | None]]:
    """Sequence and tombstones of each file that is needed, in order; and the file, where it is there already.

    The segments come in order of their sequence.
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
        # The lowest of its group comes last: when it names what the group does, it need not be written again.
        if place == ref.sequence and group.keys() == {tombstone.path_key for tombstone in found}:
            as_it_is[place] = ref
    return [(place, tuple(group.values()), as_it_is.get(place)) for place, group in sorted(needed.items()) if group]
