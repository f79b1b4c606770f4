"""Give search access to the segments of a view: postings, vectors and text, and which files are live.

Files and definitions that a tombstone hides are left out where the docstring does not say otherwise. Arrays are given
as they lie in the data file, dead rows among them. An engine places only the rows of live files (`LivePart.files`), so
nothing else can be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cairn.core.lazy import cached_property
from cairn.core.types import Reference, Symbol
from cairn.store.format.columns import last_newline
from cairn.store.format.postings import Postings, Vectors, read_vectors
from cairn.store.format.rows import ChunkRow, Outline, Passage, Reach
from cairn.store.format.segment import Segment, reading
from cairn.store.format.segment_facts import SegmentFacts
from cairn.store.read.snapshot import SnapshotView

__all__ = ["LivePart", "NamedUses", "Outline", "Passage", "Reach", "live_parts"]

Numbers = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


class LivePart:
    """One segment of a view. Files are named by their number in the segment; `facts` are the definitions and uses."""

    def __init__(self, segment: Segment, hidden: frozenset[int]) -> None:
        self._segment = segment
        self._hidden = hidden
        self.facts = LiveFacts(segment, hidden)

    @property
    def hidden(self) -> tuple[int, ...]:
        """The numbers of the files that a tombstone hides."""
        return tuple(sorted(self._hidden))

    @cached_property
    def postings(self) -> Postings:
        return Postings(self._segment.sections)

    @cached_property
    def vectors(self) -> Vectors:
        return read_vectors(self._segment.sections, self._segment.rows, self._segment.dimension)

    @cached_property
    def row_starts(self) -> NDArray[np.uint32]:
        """The first chunk row of each file, and the number of rows."""
        return np.frombuffer(self._segment.sections["file.rows"], "<u4")

    def key(self, number: int) -> str:
        """Return the path of a file by its number."""
        return self._segment.key(number)

    def keys(self) -> list[str]:
        """Return the path of every file by its number, hidden files too."""
        return list(self._segment.keys())

    def files(self) -> list[tuple[str, int]]:
        """Return path and number of every live file that has rows."""
        starts = self.row_starts.tolist()
        return [
            (key, number)
            for number, key in enumerate(self._segment.keys())
            if starts[number] < starts[number + 1] and number not in self._hidden
        ]

    def with_text(self) -> list[tuple[str, str, int]]:
        """Return path, language and number of every live file with text, with or without rows; reads no facts."""
        rows = self._segment.query("SELECT path, language, id FROM files WHERE skip IS NULL ORDER BY id")
        return [row for row in rows if row[2] not in self._hidden]

    def not_understood(self) -> list[tuple[str, str, tuple[tuple[int, int], ...]]]:
        """Return path and language of every live file that was not parsed as a whole, with the lines that are missing.

        Without lines nothing of the file was parsed.
        """
        rows = self._segment.query("SELECT path, language, id FROM files WHERE skip IS NULL AND state != 0")
        return [(path, language, self._segment.partial(n)) for path, language, n in rows if n not in self._hidden]

    def texts(self) -> tuple[memoryview, list[int]]:
        """Return the text of the whole segment, hidden files included, and where each file begins in it."""
        return self._segment.whole_text(), self._segment.text_starts()

    def text(self, number: int) -> memoryview:
        return self._segment.text(number)

    def chunk(self, row: int) -> ChunkRow:
        return self._segment.chunk(row)

    def row_at(self, number: int, offset: int) -> int:
        """Return the chunk row that holds this offset of a file."""
        first, last = int(self.row_starts[number]), int(self.row_starts[number + 1])
        starts = _numbers(self._segment, "chunk.at")[first:last]
        base = int(_numbers(self._segment, "file.text")[number])
        return first + max(0, int(np.searchsorted(starts, base + offset, "right")) - 1)

    def passage(self, number: int, row: int) -> Passage:
        """Return what is shown of a chunk row of a file."""
        return self._segment.passage(number, row)

    def line_start(self, number: int, offset: int) -> int:
        """Return where the line that holds this offset of a file begins."""
        return last_newline(self._segment.text(number), offset) + 1


class LiveFacts:
    """The definitions and uses in one segment of a view. Files, names and definitions go by their number in it."""

    def __init__(self, segment: Segment, hidden: frozenset[int]) -> None:
        self._segment = segment
        self._facts = self.sealed = SegmentFacts(segment)
        self._hidden = hidden

    def reaching(self, number: int, before: int, until: int) -> list[Reach]:
        """Return the definitions of a file that begin before the byte `before` and reach the byte `until`, in order."""
        return self._facts.reaching(number, before, until)

    def outline(self, definition: int) -> Outline:
        """Return the outline of a definition, by its number."""
        return self._facts.outline(definition)

    def defined_in(self, number: int, name: str) -> list[tuple[str, int]]:
        """Return kind and first byte of each definition in a file with exactly this name."""
        return self._facts.defined_in(number, name)

    def defined_names(self) -> list[tuple[int, str]]:
        """Return number and text of every name that has a definition in the segment, hidden files included."""
        return [(number, self._segment.names[number]) for number in self._facts.defined()]

    def defined_as(self, names: Sequence[int]) -> list[tuple[int, int, int, str, bool]]:
        """Return the live definitions of these names: numbers of name, definition and file, kind, whether exported."""
        return [row for row in self._facts.definitions_of(names) if row[2] not in self._hidden]

    def definitions_named(self, name: str) -> list[tuple[int, int, str, bool]]:
        """Return live definitions with exactly this name: numbers of definition and file, kind, whether exported."""
        number = self._segment.names.find(name)
        return [] if number is None else [row[1:] for row in self.defined_as([number])]

    def symbol(self, number: int) -> Symbol:
        return self._facts.symbol(number)

    def names(self) -> list[bytes]:
        """Return every name in the segment, by its number."""
        text = bytes(self._segment.sections["names.text"])
        at = _numbers(self._segment, "names.at").tolist()
        return [text[start:end] for start, end in pairwise(at)]

    def definitions(self) -> tuple[Numbers, Numbers]:
        """Return name and file of every definition, hidden files included."""
        rows = self._segment.query("SELECT name FROM symbols ORDER BY id")
        names = np.fromiter((number for (number,) in rows), np.int64, len(rows))
        starts = _numbers(self._segment, "file.symbols").astype(np.int64)
        return names, np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def uses(self) -> tuple[Numbers, Numbers]:
        """Return name and file of every use, each pair once, hidden files included."""
        at = _numbers(self._segment, "ways.at").astype(np.int64)
        names = _numbers(self._segment, "ways.name").astype(np.int64)
        rows = np.asarray(self._segment.uses.row, np.int64)
        starts = _numbers(self._segment, "file.rows")
        files = np.searchsorted(starts, rows, "right") - 1
        count = len(starts)
        pairs = np.unique(np.repeat(names, np.diff(at)) * count + files)
        return pairs // count, pairs % count

    @property
    def closed(self) -> bool:
        return self._facts.closed

    @reading
    def uses_named(self, name: str) -> tuple[Numbers, Numbers, Numbers]:
        """Return file, chunk row and number of every use of exactly this name, in order; hidden files included."""
        number, uses = self._segment.names.find(name), self._segment.uses
        if number is None:
            return _NONE, _NONE, _NONE
        # All ways in which a name is used stand together.
        names = _numbers(self._segment, "ways.name")
        first_way, after = (int(np.searchsorted(names, number, side)) for side in ("left", "right"))
        rows = np.unique(np.asarray(uses.row[uses.at[first_way] : uses.at[after]], np.int64))
        starts = _numbers(self._segment, "refs.at").astype(np.int64)
        begin, many = starts[rows], starts[rows + 1] - starts[rows]
        places = np.repeat(begin - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
        way = np.asarray(uses.way)[places]
        kept = (way >= first_way) & (way < after)
        rows, places = np.repeat(rows, many)[kept], places[kept]
        return np.searchsorted(_numbers(self._segment, "file.rows"), rows, "right") - 1, rows, places


class NamedUses:
    """The uses of one name in a view: how many each file has, and, file by file, which they are."""

    def __init__(self, view: SnapshotView, name: str) -> None:
        self._at: dict[str, tuple[SegmentFacts, int, Numbers, Numbers]] = {}
        for part in live_parts(view):
            hidden = frozenset(part.hidden)
            files, rows, places = part.facts.uses_named(name)
            firsts = np.flatnonzero(np.diff(files, prepend=-1)).tolist()
            for first, after in pairwise([*firsts, len(files)]):
                number = int(files[first])
                if number not in hidden:
                    facts = part.facts.sealed
                    self._at[part.key(number)] = facts, number, rows[first:after], places[first:after]

    def counts(self) -> dict[str, int]:
        """Return how many uses of the name each file has; files without any are left out."""
        return {path: len(rows) for path, (_, _, rows, _) in self._at.items()}

    def in_file(self, path: str) -> list[Reference]:
        """Return the uses of the name in a file, in order of their place."""
        if path not in self._at:
            return []
        facts, number, rows, places = self._at[path]
        return facts.references_at(number, list(zip(rows.tolist(), places.tolist(), strict=True)))


def _numbers(segment: Segment, name: str) -> NDArray[np.uint32]:
    return np.frombuffer(segment.sections[name], "<u4")


def live_parts(view: SnapshotView) -> tuple[LivePart, ...]:
    """Return the segments of a view, for an engine to search."""
    return tuple(LivePart(part.segment, part.hidden) for part in view._parts)
