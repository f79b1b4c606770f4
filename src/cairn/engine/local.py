"""Search a snapshot on this machine: one table of its live rows, files in order of paths, rows in order of ordinals.

Everything that is counted or scored is indexed by this order, so the same tree gives the same numbers from one segment
or from sixty, with tombstones or rebuilt. Rows that a tombstone hides are not in the table. A file is named by its
position among the paths (`place` in the code), and a row by its position in the table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import simsimd
from numpy.typing import NDArray

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.lazy import cached_property
from cairn.core.limits import ENGINE_CANDIDATES, ENGINE_REST_SECONDS, ENGINE_SAMPLE
from cairn.engine.rows import scope_of
from cairn.errors import EngineDamaged, EngineError
from cairn.store import (
    FIELDS,
    ChunkRow,
    LivePart,
    Outline,
    Passage,
    Reach,
    SnapshotView,
    approximate,
    live_parts,
    quantize,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.contract import RowSearch


Rows = NDArray[np.int64]

_MOST_DEFINITIONS = 3
# How many postings of earlier questions are kept: questions of one session share their words.
_MOST_KEPT = 1 << 20
# A multiple of 1, 2 and 3, so that the shares of a name are whole numbers and their sums exact.
_WHOLE = 6


class Match(NamedTuple):
    """The rows that hold one term in one field, each once, and the count in each."""

    rows: Rows
    counts: NDArray[np.uint8]


class DefinedName(NamedTuple):
    """A definition of a name: the position of its file, its kind, and its container if that was asked for."""

    place: int
    kind: str
    container: str


class FileAt(NamedTuple):
    """One file of the table: its segment, its number there, and how far its rows are shifted there."""

    part: LivePart
    number: int
    shift: int

    def text(self) -> memoryview:
        return self.part.text(self.number)

    def passage(self, row: int) -> Passage:
        """Return what is shown of a row of the file."""
        return self.part.passage(self.number, row + self.shift)

    def row_at(self, offset: int) -> int:
        """Return the row that holds this offset of the file."""
        return self.part.row_at(self.number, offset) - self.shift

    def line_start(self, offset: int) -> int:
        """Return where the line that holds this offset of the file begins."""
        return self.part.line_start(self.number, offset)

    def reaching(self, before: int, until: int) -> list[Reach]:
        """Return the definitions that begin before the byte `before` and reach the byte `until`, in order."""
        return self.part.facts.reaching(self.number, before, until)

    def outline(self, definition: int) -> Outline:
        """Return the outline of a definition of the file, by its number."""
        return self.part.facts.outline(definition)

    def defined_in(self, name: str) -> list[tuple[str, int]]:
        """Return kind and first byte of each definition in the file with exactly this name."""
        return self.part.facts.defined_in(self.number, name)


class _Crossed(NamedTuple):
    """Every defined name, and by its number the files that define it and the files that use it, each pair once."""

    names: list[bytes]
    defined: tuple[Rows, Rows]
    used: tuple[Rows, Rows]


class LocalEngine:
    """A view, ready to be searched. Valid while the view is open; what is computed once is kept."""

    def __init__(self, view: SnapshotView) -> None:
        self.view = view
        self._parts: tuple[LivePart, ...] = live_parts(view)
        found = [(key, place, number) for place, part in enumerate(self._parts) for key, number in part.files()]
        found.sort()
        self.paths = [key for key, _, _ in found]
        self._part = np.array([place for _, place, _ in found], np.int64)
        self._number = np.array([number for _, _, number in found], np.int64)
        self._in_part, sizes = self._rows_in_parts()
        self.first_row: Rows = np.concatenate(([0], np.cumsum(sizes)))
        self._maps = [self._map(place, sizes) for place in range(len(self._parts))]
        self._known: dict[str, dict[str, Match]] = {}
        self._kept = 0
        # Why the server that should find the nearest rows did not; only `CandidateEngine` sets it.
        self.trouble: EngineError | None = None

    @property
    def rows(self) -> int:
        """The number of live chunk rows."""
        return int(self.first_row[-1])

    @cached_property
    def file_of_row(self) -> Rows:
        """The file of each row."""
        return np.repeat(np.arange(len(self.paths)), np.diff(self.first_row))

    # --- words --------------------------------------------------------------------------------------------------------

    def matches(self, terms: Sequence[str]) -> list[dict[str, Match]]:
        """Return for each term its matches by field; a field in which the term does not occur is left out."""
        known = self._known
        if new := [term for term in terms if term not in known]:
            found = self._look(new)
            known.update(zip(new, found, strict=True))
            self._kept += len(new) + sum(len(match.rows) for one in found for match in one.values())
            if self._kept > _MOST_KEPT:
                # Replace the table instead of emptying it: another thread may be reading it.
                self._known, self._kept = {}, 0
        return [dict(known[term]) for term in terms]

    def _look(self, terms: Sequence[str]) -> list[dict[str, Match]]:
        pieces: list[dict[str, list[tuple[Rows, NDArray[np.uint8]]]]] = [{} for _ in terms]
        for part, places in zip(self._parts, self._maps, strict=True):
            ids = part.postings.find(terms).tolist()
            known = [number for number, term in enumerate(ids) if term >= 0]
            for field in FIELDS if known else ():
                for place, rows, counts in part.postings.several(field, [ids[number] for number in known]):
                    pieces[known[place]].setdefault(field, []).append((places[rows], counts))
        return [{field: self._joined(found) for field, found in by_field.items()} for by_field in pieces]

    def _joined(self, found: list[tuple[Rows, NDArray[np.uint8]]]) -> Match:
        if len(found) > 1:
            rows, counts = (np.concatenate(both) for both in zip(*found, strict=True))
        else:
            rows, counts = found[0]
        if self._all_live:
            return Match(rows, counts)
        live = rows >= 0
        return Match(rows[live], counts[live])

    @cached_property
    def _all_live(self) -> bool:
        return sum(map(len, self._maps)) == self.rows

    def lengths(self, field: str) -> NDArray[np.float32]:
        """Return how many terms each row has in this field."""
        return self._lengths[field]

    def mean_length(self, field: str) -> float:
        """Return the average number of terms in this field, over the rows that have any."""
        return self._means[field]

    @cached_property
    def _means(self) -> dict[str, float]:
        # Sums of whole numbers in double precision are exact in any order.
        return {
            field: float(lengths.sum(dtype=np.float64)) / max(1, int(np.count_nonzero(lengths)))
            for field, lengths in self._lengths.items()
        }

    @cached_property
    def _lengths(self) -> dict[str, NDArray[np.float32]]:
        found = {}
        for field in FIELDS:
            lengths = np.zeros(self.rows, np.float32)
            for part, places in zip(self._parts, self._maps, strict=True):
                live = places >= 0
                lengths[places[live]] = part.postings.lengths(field)[live]
            found[field] = lengths
        return found

    # --- meaning ------------------------------------------------------------------------------------------------------

    def similarity(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how near each row's vector is to this one, from -1 to 1; the same in any split into segments."""
        wanted, scale = quantize(vector[None, :])
        found = np.empty(sum(map(len, self._maps)), np.float32)
        first = 0
        for part in self._parts:
            rows, scales = part.vectors
            if len(rows):
                products = np.asarray(
                    simsimd.cdist(rows, wanted, metric="dot", out_dtype=exact_type(len(vector)))
                ).ravel()
                near = found[first : first + len(rows)]
                np.multiply(products, scales * scale[0], out=near, casting="same_kind")
                first += len(rows)
        return found if self._order is None else found.take(self._order)

    def nearest(self, vector: NDArray[np.float32]) -> Candidates | None:
        """Return the candidates of a server; None here, where all rows are compared on this machine."""
        return None

    def vector(self, row: int) -> NDArray[np.float32]:
        """Return the vector of a row, as nearly as it was stored."""
        place = int(self.file_of_row[row])
        inside = int(self._in_part[place]) + row - int(self.first_row[place])
        rows, scales = self._part_of(place).vectors
        found: NDArray[np.float32] = approximate(rows[inside : inside + 1], scales[inside : inside + 1])[0]
        return found

    @cached_property
    def _order(self) -> Rows | None:
        """For each live row its position among the rows of all segments; None when the two orders are the same."""
        places = np.concatenate([np.zeros(0, np.int64), *self._maps])
        if self._all_live and np.array_equal(places, np.arange(len(places))):
            return None
        order = np.empty(self.rows, np.int64)
        live = np.flatnonzero(places >= 0)
        order[places[live]] = live
        return order

    # --- names that files define and use ------------------------------------------------------------------------------

    @cached_property
    def in_degree(self) -> NDArray[np.float64]:
        """For each file, how many other files use a name that it defines.

        A name that is defined in several files counts for each by its share. A name that is defined in more than three
        counts for none, because its uses do not tell which file is meant.
        """
        crossed = self._crossed()
        return _shares(crossed.defined, crossed.used, len(crossed.names), len(self.paths))

    def uses_of_names(self) -> dict[bytes, float]:
        """Return for every defined name how many files use it, divided by the number of files that define it."""
        names, defined, used = self._crossed()
        uses = np.bincount(used[0], minlength=len(names))
        shares = uses / np.maximum(np.bincount(defined[0], minlength=len(names)), 1)
        return dict(zip(names, shares.tolist(), strict=True))

    def _crossed(self) -> _Crossed:
        numbers: dict[bytes, int] = {}
        names = [part.facts.names() for part in self._parts]
        defined, used = [], []
        for place, part in enumerate(self._parts):
            number, file = self._live(place, *part.facts.definitions())
            own = {local: numbers.setdefault(names[place][local], len(numbers)) for local in set(number.tolist())}
            defined.append((np.array([own[local] for local in number.tolist()], np.int64), file))
        for place, part in enumerate(self._parts):
            shared = np.array([numbers.get(name, -1) for name in names[place]], np.int64)
            number, file = self._live(place, *part.facts.uses())
            known = shared[number] >= 0
            used.append((shared[number[known]], file[known]))
        files = len(self.paths)
        return _Crossed(list(numbers), _pairs(defined, files), _pairs(used, files))

    def _live(self, part: int, names: Rows, files: Rows) -> tuple[Rows, Rows]:
        """Return the pairs whose file is live, with the position of the file in the whole table."""
        places = self._places[part]
        live = places[files] >= 0
        return names[live], places[files[live]]

    # --- files, definitions and rows one by one -----------------------------------------------------------------------

    def definitions(self, name: str, *, inside: int = 0) -> list[DefinedName]:
        """Return every definition with exactly this name in a file with rows, in order of files.

        The container of each is read only when there are at most `inside` of them.
        """
        found = [
            (int(self._places[index][file]), kind, index, number)
            for index, part in enumerate(self._parts)
            for number, file, kind, _ in part.facts.definitions_named(name)
            if self._places[index][file] >= 0
        ]
        found.sort()
        read = len(found) <= inside
        return [
            DefinedName(place, kind, self._parts[index].facts.symbol(number).container if read else "")
            for place, kind, index, number in found
        ]

    @cached_property
    def _places(self) -> list[Rows]:
        """For each segment, the position of each of its files in the whole table; -1 for a file that is not live."""
        found = []
        for index, part in enumerate(self._parts):
            places = np.full(len(part.row_starts), -1, np.int64)
            own = self._part == index
            places[self._number[own]] = np.flatnonzero(own)
            found.append(places)
        return found

    def find(self, path: str) -> int | None:
        """Return the position of a file, or None."""
        place = bisect_left(self.paths, path)
        return place if place < len(self.paths) and self.paths[place] == path else None

    def at(self, place: int) -> FileAt:
        """Return one file of the table, to be read."""
        part = self._part_of(place)
        return FileAt(part, int(self._number[place]), int(self._in_part[place]) - int(self.first_row[place]))

    def chunk(self, row: int) -> ChunkRow:
        place = int(np.searchsorted(self.first_row, row, "right")) - 1
        inside = row - int(self.first_row[place])
        return self._part_of(place).chunk(int(self._in_part[place]) + inside)

    def _part_of(self, place: int) -> LivePart:
        return self._parts[int(self._part[place])]

    # --- the order of rows --------------------------------------------------------------------------------------------

    def _rows_in_parts(self) -> tuple[Rows, Rows]:
        """Return the first row of each file in its own segment, and the number of its rows."""
        first = np.zeros(len(self.paths), np.int64)
        sizes = np.zeros(len(self.paths), np.int64)
        for place, part in enumerate(self._parts):
            own = self._part == place
            starts = part.row_starts.astype(np.int64)
            numbers = self._number[own]
            first[own] = starts[numbers]
            sizes[own] = starts[numbers + 1] - starts[numbers]
        return first, sizes

    def _map(self, place: int, sizes: Rows) -> Rows:
        """Return for each row of a segment its position in the whole table, -1 for a row that is not live."""
        places = np.full(int(self._parts[place].row_starts[-1]), -1, np.int64)
        own = np.flatnonzero(self._part == place)
        counts = sizes[own]
        steps = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        places[np.repeat(self._in_part[own], counts) + steps] = np.repeat(self.first_row[own], counts) + steps
        return places


def exact_type(dimension: int) -> Literal["float32", "float64"]:
    """Return the narrowest float type that holds every product of two vectors of bytes exactly."""
    return "float32" if dimension * 127 * 127 <= 1 << 24 else "float64"


def _pairs(found: list[tuple[Rows, Rows]], files: int) -> tuple[Rows, Rows]:
    """Return all pairs of a name and a file, each once, in order."""
    both = np.unique(np.concatenate([np.zeros(0, np.int64), *(names * files + own for names, own in found)]))
    return both // max(1, files), both % max(1, files)


def _shares(defined: tuple[Rows, Rows], used: tuple[Rows, Rows], names: int, files: int) -> NDArray[np.float64]:
    definitions = np.bincount(defined[0], minlength=names)
    uses = np.bincount(used[0], minlength=names)
    counted = definitions[defined[0]] <= _MOST_DEFINITIONS
    name, file = defined[0][counted], defined[1][counted]
    # A file that uses a name of its own does not count as another file.
    itself = np.isin(name * files + file, used[0] * files + used[1])
    shares = (uses[name] - itself) * (_WHOLE // definitions[name])
    return np.bincount(file, shares, minlength=files) / _WHOLE


# --- an engine whose nearest rows a server finds; everything else is done here ----------------------------------------


# The server adds up in another order, so its score of a row may be off by so much.
_ROUNDING = 1e-4


class Candidates(NamedTuple):
    """The rows that the server names, how near each is, and the highest score of any other row (None: no other).

    `middle` is the median nearness of all rows, estimated from a sample; exact where the sample is all rows.
    """

    engine: CandidateEngine
    rows: Rows
    near: NDArray[np.float32]
    others: np.float32 | None
    middle: np.float32


class CandidateEngine(LocalEngine):
    """The local engine, with a server that finds the nearest rows. `trouble` is why the server gave no answer."""

    def __init__(self, view: SnapshotView, remote: RowSearch, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(view)
        self._remote = remote
        self._clock = clock
        self._scope = scope_of(view)
        self._index = {name: place for place, name in enumerate(self._scope.segments)}
        self._resting_until = -1.0

    def nearest(self, vector: NDArray[np.float32]) -> Candidates | None:
        """Return the rows that may be nearest; None when this machine must compare all rows."""
        if not self.rows or self._clock.monotonic() < self._resting_until:
            return None
        wanted, scale = quantize(vector[None, :])
        try:
            found = self._remote.search_dense(approximate(wanted, scale)[0], self._scope, ENGINE_CANDIDATES)
        except EngineError as problem:
            self.trouble = problem
            self._resting_until = self._clock.monotonic() + ENGINE_REST_SECONDS
            return None
        self.trouble = None
        rows = np.unique(np.array([self._place(near.segment, near.row) for near in found], np.int64))
        rows = rows[rows >= 0]
        if len(rows) < min(ENGINE_CANDIDATES, self.rows):
            # A row that the server left out may be the nearest of all.
            self.trouble = EngineDamaged(why="its answer names rows that are none of this snapshot")
            return None
        others = None if len(rows) == self.rows else np.float32(found[-1].score + _ROUNDING)
        middle = np.float32(np.median(self._sampled(vector)))
        return Candidates(self, rows, self.similarity_of(vector, rows), others, middle)

    def _sampled(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how near a sample of rows is: every row of a store that is not large, else each nth row."""
        step = -(-self.rows // ENGINE_SAMPLE)
        return self.similarity(vector) if step == 1 else self.similarity_of(vector, np.arange(0, self.rows, step))

    def similarity_of(self, vector: NDArray[np.float32], rows: Rows) -> NDArray[np.float32]:
        """Return what `similarity` gives for these rows, without comparing the others."""
        wanted, scale = quantize(vector[None, :])
        files = self.file_of_row[rows]
        parts, inside = self._part[files], self._in_part[files] + rows - self.first_row[files]
        found = np.empty(len(rows), np.float32)
        for index in np.unique(parts).tolist():
            own = parts == index
            vectors, scales = self._parts[index].vectors
            chosen = np.ascontiguousarray(vectors[inside[own]])
            products = simsimd.cdist(chosen, wanted, metric="dot", out_dtype=exact_type(len(vector)))
            near = np.empty(len(chosen), np.float32)
            np.multiply(np.asarray(products).ravel(), scales[inside[own]] * scale[0], out=near, casting="same_kind")
            found[own] = near
        return found

    def _place(self, segment: str, row: int) -> int:
        """Return the position of a row in the whole table; -1 for a row that is not live or not of this snapshot."""
        index = self._index.get(segment, -1)
        return int(self._maps[index][row]) if index >= 0 and 0 <= row < len(self._maps[index]) else -1
