"""Which segments are to be merged, so that a snapshot stays at about ten of them and little in them is dead.

Every save adds a small segment. When there are more than eight that are not full-grown, the smallest are merged, and
with them every next one that is not eight times as large as all before it: what is left over grows by a factor from one
to the next, so there are few, and a row is written again only as often as there are such steps. And when more than a
tenth of all text is dead, the worst segments are written again until no more than a twentieth is. What holds nothing
that is live goes with the next merge.

A segment is full-grown with half of all text. What changes often then gathers in young segments, and what seldom does
is left in peace: were all of it one segment, each tenth that dies would write the whole index again, and while old
snapshots are kept the disk would hold it several times. Smaller ones would save more of that, but each holds a list of
words of its own: with quarters a snapshot takes a twentieth more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from cairn.core.limits import (
    COMPACTION_DEAD_SHARE,
    COMPACTION_OVERDUE_SEGMENTS,
    COMPACTION_OVERDUE_TOMBSTONES,
    FULL_GROWN_TEXT_BYTES,
    KIB,
)
from cairn.store.manifest import Manifest
from cairn.store.snapshot import Part, SnapshotView, parts_of

_FAN_OUT = 8
# In a small tree every save makes a large part of it dead. With so few segments that may be: else each would be merged.
_FEW = 4
_FULL_GROWN_PART = 2
# Below this what every segment takes for itself would weigh too much.
_LEAST_FULL_GROWN = 256 * KIB


class Load(NamedTuple):
    """A segment: its text, what of it is dead, and how many of its files are live (those left out counted too)."""

    name: str
    text: int
    dead: int
    live_files: int

    @property
    def live(self) -> int:
        return self.text - self.dead


def loads_of(view: SnapshotView) -> list[Load]:
    """What the segments of a view hold, in their order."""
    return [_load(part) for part in parts_of(view)]


def is_overdue(manifest: Manifest) -> bool:
    """Whether merging can wait no longer; everything says so that reads a snapshot."""
    tombstones = sum(ref.count for ref in manifest.tombstones)
    return len(manifest.segments) >= COMPACTION_OVERDUE_SEGMENTS or tombstones >= COMPACTION_OVERDUE_TOMBSTONES


def plan(loads: Sequence[Load], *, everything: bool = False, also: Collection[str] = ()) -> list[tuple[str, ...]]:
    """The groups to merge, each of which becomes one segment; none when all is well.

    With `everything` as few as there can be are left, with nothing dead in them. Segments in `also` are written again
    in any case.
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
    # One newline follows each text; files that were left out have none of both.
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
    """The segments to write again for what is dead in them, the worst first; none while that is little of the whole."""
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
    """In their order, no group with more live text than a segment is to hold; one that holds more stays alone."""
    groups: list[list[Load]] = []
    size = 0
    for load in chosen:
        if not groups or size + load.live > most:
            groups.append([])
            size = 0
        groups[-1].append(load)
        size += load.live
    return groups
