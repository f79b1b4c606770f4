"""Write and read the data file of a segment: a container of named sections, with names and uses of names as columns.

The columns are read where they lie and need no parsing.
"""

from __future__ import annotations

import re
import struct
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import Literal, NamedTuple, NoReturn, Protocol

from cairn.core.types import Chunk, Reference
from cairn.errors import StoreCorrupt
from cairn.store.format.document import SEGMENT_DATA, check_version
from cairn.store.format.rows import REFERENCE_KINDS
from cairn.store.fs import Data

# --- the container: many sections in one file, so that a segment costs one map and one descriptor ---------------------


Section = tuple[str, Data]

MAGIC = b"cairn.dt"
CONTAINER_FORMAT = SEGMENT_DATA.written
ALIGNMENT = 64
# Far more than any version writes; a larger table is refused before it is read.
MOST_SECTIONS = 1_000

# Magic, format version, number of sections, bytes of the whole file; then the check sum, and four bytes of zeros.
_HEAD = struct.Struct("<8sIIQ")
_SUM = struct.Struct("<II")
_ENTRY = struct.Struct("<24sQQ")
_TABLE_AT = _HEAD.size + _SUM.size
_NAME = re.compile(rb"[a-z][a-z.]{0,23}")


class Sink(Protocol):
    """Where bytes are written: a file of a store, or memory."""

    def write(self, data: Data, /) -> object:
        """Add all of the bytes."""


def write_container(out: Sink, sections: Sequence[Section]) -> int:
    """Write the sections in this order and return the bytes written; ValueError for a bad or repeated name."""
    views = [memoryview(data).cast("B") for _, data in sections]
    names = [name.encode() for name, _ in sections]
    if len(set(names)) != len(names) or len(names) > MOST_SECTIONS or not all(map(_NAME.fullmatch, names)):
        raise ValueError("sections have different names of at most 24 small letters and dots")
    offsets, total = _places(map(len, views))
    table = b"".join(_ENTRY.pack(*entry) for entry in zip(names, offsets, map(len, views), strict=True))
    head = _HEAD.pack(MAGIC, CONTAINER_FORMAT, len(sections), total)
    out.write(head + _SUM.pack(zlib.crc32(table, zlib.crc32(head)), 0) + table)
    at = _TABLE_AT + len(table)
    for offset, view in zip(offsets, views, strict=True):
        if view:
            out.write(bytes(offset - at))
            out.write(view)
            at = offset + len(view)
    return total


def read_container(view: memoryview) -> dict[str, memoryview]:
    """Return the sections by name, as views of the file; `StoreCorrupt` for what `write_container` would not write."""
    if len(view) < _TABLE_AT:
        _refuse("it is too short")
    magic, version, count, total = _HEAD.unpack_from(view)
    checksum, zeros = _SUM.unpack_from(view, _HEAD.size)
    if magic != MAGIC:
        _refuse("it is another kind of file")
    # Check the length before reading behind the header: touching a page that a shortened file lost would kill the
    # process.
    if total != len(view):
        _refuse("it does not have the length that it says")
    table_end = _TABLE_AT + count * _ENTRY.size
    if count > MOST_SECTIONS or table_end > total:
        _refuse("its table does not fit into it")
    table = view[_TABLE_AT:table_end]
    if zeros or checksum != zlib.crc32(table, zlib.crc32(view[: _HEAD.size])):
        _refuse("its table has another check sum")
    # Check the version after the check sum, so that a flipped bit is damage and not a later version.
    check_version(SEGMENT_DATA, version)
    entries = list(_ENTRY.iter_unpack(table))
    offsets, end = _places(length for _, _, length in entries)
    if end != total or offsets != [offset for _, offset, _ in entries]:
        _refuse("its sections are not where they must be")
    found: dict[str, memoryview] = {}
    at = table_end
    for padded, offset, length in entries:
        name = padded.rstrip(b"\0")
        if not _NAME.fullmatch(name) or name.decode() in found:
            _refuse("its sections have bad names")
        if length:
            if any(view[at:offset]):
                _refuse("there are bytes between its sections")
            at = offset + length
        found[name.decode()] = view[offset : offset + length]
    return found


def container_version(view: memoryview) -> int:
    """Return the format version of a container that `read_container` has accepted."""
    version: int = _HEAD.unpack_from(view)[1]
    return version


def _places(lengths: Iterable[int]) -> tuple[list[int], int]:
    """Return where each section begins, and where the last byte ends. An empty section is said to begin at 0."""
    lengths = list(lengths)
    offsets = []
    end = _TABLE_AT + len(lengths) * _ENTRY.size
    for length in lengths:
        offset = -(-end // ALIGNMENT) * ALIGNMENT if length else 0
        offsets.append(offset)
        end = offset + length if length else end
    return offsets, end


def _refuse(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="data file of a segment", why=why)


_KIND_CODES = {kind: code for code, kind in enumerate(REFERENCE_KINDS)}
Width = Literal["H", "I"]
U16: Width = "H"
U32: Width = "I"


def numbers(sections: Mapping[str, memoryview], name: str, width: Width = U32) -> memoryview:
    """Return a section as numbers of this width; `StoreCorrupt` when it is missing or cut."""
    view = section(sections, name)
    if len(view) % (2 if width == U16 else 4):
        raise StoreCorrupt(artifact="data file of a segment", why=f"its section {name} is cut")
    return view.cast(width)


def section(sections: Mapping[str, memoryview], name: str) -> memoryview:
    """Return a section by its name; `StoreCorrupt` when it is missing."""
    if name not in sections:
        raise StoreCorrupt(artifact="data file of a segment", why=f"it has no section {name}")
    return sections[name]


# --- names ------------------------------------------------------------------------------------------------------------


class NamesBuilder:
    """A collector of names that numbers each as it is added; `finish` numbers them anew in the order of their bytes."""

    def __init__(self) -> None:
        # The empty name is always there, and its number is 0 before and after `finish`.
        self.ids = {"": 0}

    def add(self, names: Iterable[str]) -> dict[str, int]:
        """Number these names, and return the numbers of all names so far."""
        ids = self.ids
        for name in names:
            if name not in ids:
                ids[name] = len(ids)
        return ids

    def finish(self) -> tuple[list[Section], array[int]]:
        """Return the sections, and the final number for each number given; ValueError for a name that is no text."""
        encoded = sorted((name.encode(), number) for name, number in self.ids.items())
        final = array(U32, bytes(4 * len(encoded)))
        for place, (_, number) in enumerate(encoded):
            final[number] = place
        ends = accumulate((len(name) for name, _ in encoded), initial=0)
        text = b"".join(name for name, _ in encoded)
        return [("names.text", text), ("names.at", memoryview(array(U32, ends)))], final


_MOST_NAMES = 1 << 16


class Names:
    """The names of a segment by number, and the number of a name. An unknown number is an IndexError."""

    def __init__(self, sections: Mapping[str, memoryview]) -> None:
        self._text, self._at = section(sections, "names.text"), numbers(sections, "names.at")
        if not self._at or self._at[-1] != len(self._text):
            raise StoreCorrupt(artifact="data file of a segment", why="its names do not fit")
        # The same few names are read again and again. The cache must not refer to this object: else the map stays open
        # with it.
        self._decoded = lru_cache(_MOST_NAMES)(partial(_decoded, self._text, self._at))

    def __len__(self) -> int:
        return len(self._at) - 1

    def __getitem__(self, number: int) -> str:
        return self._decoded(number)

    def find(self, name: str) -> int | None:
        """Return the number of a name, or None."""
        # Half of a surrogate pair is encoded to bytes that no name has.
        wanted = name.encode("utf-8", "surrogatepass")
        place = bisect_left(range(len(self)), wanted, key=self.raw)
        return place if place < len(self) and self.raw(place) == wanted else None

    def raw(self, number: int) -> bytes:
        """Return the bytes of a name, by which names are ordered."""
        return _raw(self._text, self._at, number)


def _raw(text: memoryview, at: memoryview, number: int) -> bytes:
    if number < 0:
        raise IndexError(number)
    return bytes(text[at[number] : at[number + 1]])


def _decoded(text: memoryview, at: memoryview, number: int) -> str:
    return _raw(text, at, number).decode()


# --- uses of names ----------------------------------------------------------------------------------------------------


class _Ways(dict[tuple[str, str, str], int]):
    """Kind, name and receiver of a use → the number of this way of using the name."""

    def __missing__(self, way: tuple[str, str, str]) -> int:
        self[way] = number = len(self)
        return number


_WAY = itemgetter(0, 1, 2)


class ReferencesBuilder:
    """A collector of uses in order of their place.

    The same name is used in the same way again and again, so a way of using it (name, receiver, kind) is stored once. A
    use is stored with its chunk, as an offset in the chunk and a way; and a way with the chunks it occurs in.
    """

    def __init__(self) -> None:
        self._ways = _Ways()
        self._at, self._way, self._offset = array(U32, [0]), array(U32), array(U16)

    def add(self, references: Sequence[Reference], chunks: Sequence[Chunk]) -> None:
        """Add the uses of a file, in order of their place; each lies in one of the chunks."""
        # This runs for every use in a repository, so it works on whole lists and leaves the loops to C.
        starts = [use[3] for use in references]
        first = len(self._way)
        self._way.extend(map(self._ways.__getitem__, map(_WAY, references)))
        place = 0
        for chunk in chunks:
            start, after = chunk.start_byte, bisect_left(starts, chunk.end_byte, place)
            self._offset.extend([at - start for at in starts[place:after]])
            self._at.append(first + after)
            place = after

    def finish(self, number: Mapping[str, int], final: array[int]) -> list[Section]:
        """Return the sections, given the number of every name and the final number for each."""
        ways = sorted(
            (final[number[name]], final[number[receiver]], _KIND_CODES[kind], way)
            for (kind, name, receiver), way in self._ways.items()
        )
        rank = array(U32, bytes(4 * len(ways)))
        for place, way in enumerate(ways):
            rank[way[3]] = place
        ranks = [rank[way] for way in self._way]
        rows: list[list[int]] = [[] for _ in ways]
        for row, (first, last) in enumerate(pairwise(self._at)):
            for each in set(ranks[first:last]):
                rows[each].append(row)
        return [
            ("ways.name", memoryview(array(U32, [way[0] for way in ways]))),
            ("ways.receiver", memoryview(array(U32, [way[1] for way in ways]))),
            ("ways.kind", bytes([way[2] for way in ways])),
            ("ways.at", memoryview(array(U32, accumulate(map(len, rows), initial=0)))),
            ("ways.row", memoryview(array(width_for(len(self._at) - 1), chain.from_iterable(rows)))),
            ("refs.at", memoryview(self._at)),
            ("refs.way", memoryview(array(width_for(len(ways)), ranks))),
            ("refs.offset", memoryview(self._offset)),
        ]


def width_for(count: int) -> Width:
    """Return the width of numbers below this count."""
    return U16 if count <= 1 << 16 else U32


class UseRow(NamedTuple):
    """One use of a name: its chunk row, its offset in the chunk, name and receiver by number, and its kind."""

    row: int
    offset: int
    name: int
    receiver: int
    kind: str


class References:
    """The uses in a segment, by name or by chunk row."""

    def __init__(self, sections: Mapping[str, memoryview], rows: int) -> None:
        self.name, self.receiver = numbers(sections, "ways.name"), numbers(sections, "ways.receiver")
        self.kind, self.at = section(sections, "ways.kind"), numbers(sections, "ways.at")
        self.row = numbers(sections, "ways.row", width_for(rows))
        self.first = numbers(sections, "refs.at")
        self.way = numbers(sections, "refs.way", width_for(len(self.name)))
        self.offset = numbers(sections, "refs.offset", U16)
        ways = {len(self.name), len(self.receiver), len(self.kind), len(self.at) - 1}
        if len(ways) != 1 or self.at[-1] != len(self.row) or len(self.first) != rows + 1:
            raise StoreCorrupt(artifact="data file of a segment", why="its references do not fit")
        if not self.first[-1] == len(self.way) == len(self.offset):
            raise StoreCorrupt(artifact="data file of a segment", why="its references do not fit")

    def named(self, name: int) -> list[UseRow]:
        """Return all uses of a name, in order of their place."""
        ways = range(bisect_left(self.name, name), bisect_right(self.name, name))
        found = [
            self.use(row, index)
            for way in ways
            for row in self.row[self.at[way] : self.at[way + 1]]
            for index in range(self.first[row], self.first[row + 1])
            if self.way[index] == way
        ]
        return sorted(found)

    def between(self, first: int, end: int, kind: str | None = None) -> list[UseRow]:
        """Return all uses in these chunk rows, or those of one kind, in order of their place."""
        places = ((row, i) for row in range(first, end) for i in range(self.first[row], self.first[row + 1]))
        if kind is None:
            return [self.use(row, index) for row, index in places]
        wanted = REFERENCE_KINDS.index(kind)
        return [self.use(row, index) for row, index in places if self.kind[self.way[index]] == wanted]

    def use(self, row: int, index: int) -> UseRow:
        """Return the use in a chunk row that has this number in the column of uses."""
        way = self.way[index]
        return UseRow(row, self.offset[index], self.name[way], self.receiver[way], REFERENCE_KINDS[self.kind[way]])


# --- places in the text -----------------------------------------------------------------------------------------------


def lines_of(text: memoryview, known: int, line: int, offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield line and column of each offset; the offsets ascend from `known`, which lies in the given line."""
    begins = last_newline(text, known) + 1
    for offset in offsets:
        passed = bytes(text[known:offset])
        newline = passed.rfind(b"\n")
        if newline >= 0:
            line += passed.count(b"\n")
            begins = known + newline + 1
        yield line, offset - begins
        known = offset


def last_newline(text: memoryview, before: int) -> int:
    """Return the position of the last newline before an offset, or -1."""
    width = 256
    while before:
        # The newline is nearly always near, but a hostile file has one line of megabytes: widen the step each time.
        start = max(0, before - width)
        found = bytes(text[start:before]).rfind(b"\n")
        if found >= 0:
            return start + found
        before, width = start, width * 16
    return -1


Span = tuple[int, int, int]
"""Start, end and the byte of the name of a definition."""


def scopes(spans: Sequence[Span], offsets: Sequence[int]) -> Iterator[int]:
    """Yield, for each of these ascending offsets, the position of the innermost definition around it, or -1.

    Of several definitions with one span (`a = f(), b = g()`), this is the last whose name stands before the offset.
    """
    begins = list(map(itemgetter(0), spans))
    open_at: list[int] = []
    following = 0
    for offset in offsets:
        reached = bisect_right(begins, offset, following)
        open_at.extend(range(following, reached))
        following = reached
        while open_at and spans[open_at[-1]][1] <= offset:
            open_at.pop()
        owner = open_at[-1] if open_at else -1
        while owner > 0 and spans[owner][2] > offset and spans[owner - 1][:2] == spans[owner][:2]:
            owner -= 1
        yield owner
