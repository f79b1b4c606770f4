"""Which files a merged segment holds, and where in it each row of theirs goes."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from cairn.errors import StoreCorrupt
from cairn.store.build import MOST_TEXT_BYTES
from cairn.store.columns import numbers
from cairn.store.postings import MOST_ROWS
from cairn.store.rows import Row
from cairn.store.segment import Segment
from cairn.store.snapshot import Part
from cairn.store.tombstones import is_path_key

Numbers = NDArray[np.int64]

_FILES = """
SELECT id, path, size, mtime, ctime, inode, hash, language, state, interface, exports, partial, skip, detail, wide
FROM files ORDER BY id
"""
PATH, HASH, EXPORTS, SKIP = 0, 5, 9, 11
# What a file has any number of; where each file begins is in a section of this name.
_KINDS = ("text", "rows", "symbols", "imports")


class DoesNotFit(ValueError):
    """Segments that cannot be merged into one: together they hold more than one may, or they differ in kind."""


class Move(NamedTuple):
    """Rows of a source in the order in which they are merged, by their number; and the number that each gets."""

    old: Numbers
    new: Numbers


class Source(NamedTuple):
    """A segment that is merged, and what of it is: its files as rows of their table, and where everything goes."""

    segment: Segment
    records: list[Row]
    files: Move
    rows: Move
    symbols: Move
    imports: Move


class Plan(NamedTuple):
    """What is merged; and for the text, the chunks, the definitions and the imports where each merged file begins."""

    sources: tuple[Source, ...]
    starts: Mapping[str, Numbers]

    @property
    def rows(self) -> int:
        return int(self.starts["rows"][-1])


def plan_merge(parts: Sequence[Part], without: Container[str]) -> Plan:
    """All files of the parts that are not hidden and not in `without`, in order of their paths."""
    if len({(part.segment.dimension, part.segment.meta.chunker) for part in parts}) != 1:
        raise DoesNotFit("what is merged is at least one segment, all of one chunker and one dimension")
    tables = [numbered(part.segment, _FILES, len(part.segment.row_starts()) - 1) for part in parts]
    live = sorted(
        (row[PATH], place, number)
        for place, (part, table) in enumerate(zip(parts, tables, strict=True))
        for number, row in enumerate(table)
        if number not in part.hidden and row[PATH] not in without
    )
    if any(one[0] == other[0] for one, other in pairwise(live)) or not all(is_path_key(path) for path, *_ in live):
        refuse("a path is not one, or another file has it")
    places, found = np.array([(place, number) for _, place, number in live], np.int64).reshape(-1, 2).T
    files = [Move(found[places == place], np.flatnonzero(places == place)) for place in range(len(parts))]
    starts = [_file_starts(part.segment, table) for part, table in zip(parts, tables, strict=True)]
    merged = {kind: starts_of([np.diff(each[kind]) for each in starts], files, len(live)) for kind in _KINDS}
    if merged["text"][-1] > MOST_TEXT_BYTES:
        raise DoesNotFit("a segment's text stays below 4 GiB")
    if merged["rows"][-1] > MOST_ROWS:
        raise DoesNotFit("a segment cannot hold so many rows")
    return Plan(
        tuple(
            Source(
                part.segment,
                [table[number] for number in move.old.tolist()],
                move,
                *(_moved(each[kind], merged[kind], move) for kind in _KINDS[1:]),
            )
            for part, table, move, each in zip(parts, tables, files, starts, strict=True)
        ),
        merged,
    )


def _file_starts(segment: Segment, table: list[Row]) -> dict[str, Numbers]:
    starts = {kind: ascending(segment, f"file.{kind}") for kind in _KINDS}
    has_text = np.array([row[SKIP] is None for row in table], bool)
    empty = {kind: np.diff(each) == 0 for kind, each in starts.items()}
    # A file has text, if only the newline behind it; a file that was left out has nothing at all.
    if (empty["text"] == has_text).any() or not all(each[~has_text].all() for each in empty.values()):
        refuse("a file was left out, and yet there are rows of it")
    return starts


def _moved(old: Numbers, new: Numbers, files: Move) -> Move:
    sizes = np.diff(old)[files.old]
    return Move(spans(old[files.old], sizes), spans(new[files.new], sizes))


# --- what all of the merge uses ---------------------------------------------------------------------------------------


def spans(starts: Numbers, sizes: Numbers) -> Numbers:
    """The numbers of all of these runs, one run after the other."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    # A running number, moved to where its run begins.
    found: Numbers = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
    return found


def starts_of(sizes: Sequence[Numbers], moves: Sequence[Move], total: int) -> Numbers:
    """Where each of the merged rows begins, given how much each row of each source holds; one more for the end."""
    starts = np.zeros(total + 1, np.int64)
    for each, move in zip(sizes, moves, strict=True):
        starts[move.new + 1] = each[move.old]
    return np.cumsum(starts)


def u32(values: Numbers) -> bytes:
    """The numbers as a section, which hold no more than 32 bits."""
    if len(values) and values.max() >= 1 << 32:
        raise DoesNotFit("a segment cannot hold so many rows")
    return values.astype("<u4").tobytes()


def ascending(segment: Segment, name: str) -> Numbers:
    """A section of numbers that ascend from 0; `StoreCorrupt` when they do not."""
    found = np.array(numbers(segment.sections, name), np.int64)
    if found[0] or (found[1:] < found[:-1]).any():
        refuse(f"its section {name} is out of order")
    return found


def numbered(segment: Segment, query: str, count: int) -> list[Row]:
    """The rows of a table without their numbers, which are the first column and run from 0 without a gap."""
    rows = segment.query(query)
    if [row[0] for row in rows] != list(range(count)):
        refuse("a row of its tables is missing")
    return [row[1:] for row in rows]


def refuse(why: str) -> NoReturn:
    """Raise `StoreCorrupt` about a segment that is merged."""
    raise StoreCorrupt(artifact="segment", why=why)
