"""Decode an `index.scip`: its documents, one after the other, with every occurrence and the facts about symbols.

Positions are counted from 0 and ranges are half open, in the units of `Document.encoding`; `byte_column` turns a column
into a byte offset. Paths and symbols are untrusted: look them up among what you know, never open them. Whatever the
bytes are, the outcome is documents or `SemanticUnreadable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum, IntFlag
from functools import partial
from typing import NamedTuple, TypeVar

from cairn.core.lazy import cached_property
from cairn.core.limits import (
    MAX_SCIP_BYTES,
    MAX_SCIP_DOCUMENTS,
    MAX_SCIP_OCCURRENCES,
    MAX_SCIP_RELATIONSHIPS,
    MAX_SCIP_TEXT_BYTES,
)
from cairn.errors import SemanticUnreadable

# --- the wire format of protobuf --------------------------------------------------------------------------------------


VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MOST_VARINT = 1 << 64
_MOST_FIELD_NUMBER = (1 << 29) - 1
_INT32_SIGN = 1 << 31
# Tags and lengths have 32 bits; as many bytes hold them, and no more are read.
_MOST_SHORT_BYTES = 5


class Malformed(Exception):
    """The reason why bytes cannot be decoded, in a few words."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and the position behind it."""
    value = shift = 0
    while True:
        if at >= end:
            raise Malformed("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >= _MOST_VARINT:
                raise Malformed("a number has more than 64 bits")
            return value, at
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 10 bytes")


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield every field of the message in `data[at:end]`: number, wire type, and its value or the range of its bytes.

    A varint comes as `(number, VARINT, value, 0)`, everything else as `(number, type, begin, end)`.
    """
    while at < end:
        tag = data[at]
        if tag < 128:
            at += 1
        else:
            tag, at = varint(data, at, min(end, at + _MOST_SHORT_BYTES))
        number, wire = tag >> 3, tag & 7
        if not 0 < number <= _MOST_FIELD_NUMBER:
            raise Malformed("a field has no valid number")
        if wire == VARINT:
            value, at = varint(data, at, end)
            yield number, VARINT, value, 0
            continue
        if wire == BYTES:
            length, at = varint(data, at, min(end, at + _MOST_SHORT_BYTES))
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise Malformed(f"a field has the unknown wire type {wire}")
        if length > end - at:
            raise Malformed("a field is cut off")
        yield number, wire, at, at + length
        at += length


def text(data: bytes, begin: int, end: int) -> str:
    """Return these bytes as text; raises `Malformed` when they are not UTF-8."""
    try:
        return data[begin:end].decode()
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None


def numbers(data: bytes, begin: int, end: int, most: int) -> list[int]:
    """Return packed varints, at most `most` of them."""
    found: list[int] = []
    while begin < end:
        if len(found) == most:
            raise Malformed("a list of numbers is too long")
        value, begin = varint(data, begin, end)
        found.append(value)
    return found


def int32(value: int) -> int:
    """Return the signed 32-bit number for which a varint stands."""
    value &= (1 << 32) - 1
    return value - (1 << 32) if value & _INT32_SIGN else value


_Read = TypeVar("_Read")
_LOCAL = "local "


class Role(IntFlag):
    """What an occurrence does with its symbol. Not every indexer says more than `DEFINITION`."""

    DEFINITION = 1
    IMPORT = 2
    WRITE = 4
    READ = 8
    GENERATED = 16
    TEST = 32
    FORWARD_DEFINITION = 64


class Encoding(IntEnum):
    """What a column counts on its line."""

    UNSPECIFIED = 0
    UTF8 = 1
    UTF16 = 2
    UTF32 = 3


# What the columns of an indexer count when its documents do not say: most are written in languages of UTF-16 strings.
_UNSAID = {"scip-go": Encoding.UTF8, "rust-analyzer": Encoding.UTF8, "scip-clang": Encoding.UTF8}


class Range(NamedTuple):
    """A half-open piece of a document, counted from 0."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


class ScipOccurrence(NamedTuple):
    """One place of a symbol. `around` is the whole definition or expression, where the indexer says it."""

    range: Range
    symbol: str
    roles: Role
    around: Range | None

    @property
    def is_definition(self) -> bool:
        """Whether the symbol is defined at this place."""
        return bool(self.roles & 1)


class Relationship(NamedTuple):
    """How one symbol relates to another: it implements it, is its type, or is found together with it."""

    symbol: str
    is_reference: bool
    is_implementation: bool
    is_type_definition: bool
    is_definition: bool


class SymbolFacts(NamedTuple):
    """What an indexer says of a symbol. `kind` is 0 and `name` is empty when the indexer does not say."""

    symbol: str
    kind: int
    name: str
    enclosing: str
    documentation: tuple[str, ...]
    relationships: tuple[Relationship, ...]


class Document(NamedTuple):
    """One source file. `path` is relative to the project root, with `/`, and untrusted."""

    path: str
    language: str
    encoding: Encoding
    occurrences: tuple[ScipOccurrence, ...]
    symbols: tuple[SymbolFacts, ...]


class Metadata(NamedTuple):
    """The indexer that wrote an index, and the project that it read."""

    tool: str
    tool_version: str
    project_root: str


class ScipIndex:
    """An index in bytes; `source` names it in errors. Each document is decoded when it is asked for."""

    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self._source = source
        if len(data) > MAX_SCIP_BYTES:
            raise self._refused(f"it has more than {MAX_SCIP_BYTES} bytes")

    @cached_property
    def metadata(self) -> Metadata:
        """The indexer that wrote the index; fields are empty where nothing is said."""
        found = Metadata("", "", "")
        for begin, end in self._parts(1):
            # Several pieces are one message: a later piece changes only the fields that it holds.
            found = self._decoded(partial(_metadata, found), begin, end)
        return found

    def documents(self) -> Iterator[Document]:
        """Yield every document, in the order written; raises `SemanticUnreadable` at the first malformed one."""
        unsaid = _UNSAID.get(self.metadata.tool, Encoding.UTF16)
        for count, (begin, end) in enumerate(self._parts(2)):
            if count == MAX_SCIP_DOCUMENTS:
                raise self._refused(f"it has more than {MAX_SCIP_DOCUMENTS} documents")
            document = self._decoded(_document, begin, end)
            yield document._replace(encoding=document.encoding or unsaid)

    def external_symbols(self) -> Iterator[SymbolFacts]:
        """Yield the facts about symbols that are defined in other projects."""
        for begin, end in self._parts(3):
            yield self._decoded(_symbol, begin, end)

    def _parts(self, wanted: int) -> Iterator[tuple[int, int]]:
        try:
            for number, wire, begin, end in fields(self._data, 0, len(self._data)):
                if number == wanted:
                    if wire != BYTES:
                        raise Malformed("a field has the wrong type")
                    yield begin, end
        except Malformed as problem:
            raise self._refused(str(problem)) from None

    def _decoded(self, read: Callable[[bytes, int, int], _Read], begin: int, end: int) -> _Read:
        try:
            return read(self._data, begin, end)
        except Malformed as problem:
            raise self._refused(str(problem)) from None

    def _refused(self, why: str) -> SemanticUnreadable:
        return SemanticUnreadable(path=self._source, why=why)


def is_local(symbol: str) -> bool:
    """Whether the symbol has a meaning within its own document only."""
    return symbol.startswith(_LOCAL)


def byte_column(line: bytes, column: int, encoding: Encoding) -> int:
    """Return the byte offset of a column on its line; the end of the line for a column behind it."""
    if encoding is Encoding.UTF8 or line.isascii():
        return min(column, len(line))
    units = at = 0
    for character in line.decode("utf-8", "surrogateescape"):
        if units >= column:
            break
        units += 2 if encoding is Encoding.UTF16 and ord(character) > 0xFFFF else 1
        at += len(character.encode("utf-8", "surrogateescape"))
    return at


# --- messages ---------------------------------------------------------------------------------------------------------


def _metadata(known: Metadata, data: bytes, begin: int, end: int) -> Metadata:
    tool, version, root = known
    for number, wire, start, stop in fields(data, begin, end):
        if number == 2:
            _expect(wire, BYTES)
            for inner, inner_wire, first, last in fields(data, start, stop):
                if inner == 1:
                    tool = _text(data, inner_wire, first, last)
                elif inner == 2:
                    version = _text(data, inner_wire, first, last)
        elif number == 3:
            root = _text(data, wire, start, stop)
    return Metadata(tool, version, root)


def _document(data: bytes, begin: int, end: int) -> Document:
    path = language = ""
    encoding = Encoding.UNSPECIFIED
    occurrences: list[ScipOccurrence] = []
    symbols: list[SymbolFacts] = []
    # The same symbols come again and again; one text for all of them keeps a large document small.
    known: dict[bytes, str] = {}
    for number, wire, start, stop in fields(data, begin, end):
        if number == 1:
            path = _text(data, wire, start, stop)
        elif number == 2:
            _expect(wire, BYTES)
            occurrences.append(_occurrence(data, start, stop, known))
        elif number == 3:
            _expect(wire, BYTES)
            symbols.append(_symbol(data, start, stop))
        elif number == 4:
            language = _text(data, wire, start, stop)
        elif number == 6:
            _expect(wire, VARINT)
            said = int32(start)
            encoding = Encoding(said) if 0 <= said <= max(Encoding) else Encoding.UNSPECIFIED
        if max(len(occurrences), len(symbols)) > MAX_SCIP_OCCURRENCES:
            raise Malformed(f"a document has more than {MAX_SCIP_OCCURRENCES} occurrences or symbols")
    return Document(path, language, encoding, tuple(occurrences), tuple(symbols))


def _occurrence(data: bytes, begin: int, end: int, known: dict[bytes, str]) -> ScipOccurrence:
    symbol = ""
    roles = 0
    plain: list[int] = []
    plain_around: list[int] = []
    typed: _TypedRange | None = None
    typed_around: _TypedRange | None = None
    for number, wire, start, stop in fields(data, begin, end):
        if number == 1:
            _add(plain, data, wire, start, stop)
        elif number == 2:
            _expect(wire, BYTES)
            raw = data[start:stop]
            symbol = known.get(raw, "")
            if not symbol and raw:
                symbol = known[raw] = _text(data, wire, start, stop)
        elif number == 3:
            _expect(wire, VARINT)
            roles = int32(start)
        elif number == 7:
            _add(plain_around, data, wire, start, stop)
        elif number in (8, 9):
            typed = _typed(typed, number, data, wire, start, stop)
        elif number in (10, 11):
            typed_around = _typed(typed_around, number, data, wire, start, stop)
    place = _typed_range(typed) if typed else _plain_range(plain)
    around = _typed_range(typed_around) if typed_around else _plain_range(plain_around)
    if place is None:
        raise Malformed("an occurrence has no range")
    if roles < 0:
        raise Malformed("an occurrence has a negative role")
    return ScipOccurrence(place, symbol, Role(roles), around)


def _symbol(data: bytes, begin: int, end: int) -> SymbolFacts:
    symbol = name = enclosing = ""
    kind = 0
    documentation: list[str] = []
    relationships: list[Relationship] = []
    for number, wire, start, stop in fields(data, begin, end):
        if number == 1:
            symbol = _text(data, wire, start, stop)
        elif number == 3:
            documentation.append(_text(data, wire, start, stop))
        elif number == 4:
            _expect(wire, BYTES)
            relationships.append(_relationship(data, start, stop))
        elif number == 5:
            _expect(wire, VARINT)
            kind = int32(start)
        elif number == 6:
            name = _text(data, wire, start, stop)
        elif number == 8:
            enclosing = _text(data, wire, start, stop)
        if max(len(relationships), len(documentation)) > MAX_SCIP_RELATIONSHIPS:
            raise Malformed(f"a symbol has more than {MAX_SCIP_RELATIONSHIPS} relationships or comments")
    return SymbolFacts(symbol, kind, name, enclosing, tuple(documentation), tuple(relationships))


def _relationship(data: bytes, begin: int, end: int) -> Relationship:
    symbol = ""
    flags = [False] * 6
    for number, wire, start, stop in fields(data, begin, end):
        if number == 1:
            symbol = _text(data, wire, start, stop)
        elif number <= 5:
            _expect(wire, VARINT)
            flags[number] = bool(start)
    return Relationship(symbol, *flags[2:])


def _text(data: bytes, wire: int, begin: int, end: int) -> str:
    _expect(wire, BYTES)
    if end - begin > MAX_SCIP_TEXT_BYTES:
        raise Malformed(f"a text has more than {MAX_SCIP_TEXT_BYTES} bytes")
    return text(data, begin, end)


def _expect(wire: int, wanted: int) -> None:
    if wire != wanted:
        raise Malformed("a field has the wrong type")


# --- ranges: a list of 3 or 4 numbers in older indices, a message of its own in newer ones ---------------------------


def _add(found: list[int], data: bytes, wire: int, begin: int, end: int) -> None:
    """Append numbers of a repeated field, which may come packed or one by one."""
    if wire == VARINT:
        found.append(begin)
    else:
        _expect(wire, BYTES)
        found += numbers(data, begin, end, 4)
    if len(found) > 4:
        raise Malformed("a range has more than 4 numbers")


def _plain_range(parts: list[int]) -> Range | None:
    if not parts:
        return None
    if len(parts) == 3:
        return _range(parts[0], parts[1], parts[0], parts[2])
    if len(parts) == 4:
        return _range(*parts)
    raise Malformed("a range has neither 3 nor 4 numbers")


class _TypedRange(NamedTuple):
    """A range that is a message: the number of its field, and its own fields by number."""

    field: int
    parts: list[int]

    @property
    def most(self) -> int:
        """The number of fields of the range: a line and two columns, or two lines and two columns."""
        return 3 if self.field in (8, 10) else 4


def _typed(known: _TypedRange | None, field: int, data: bytes, wire: int, begin: int, end: int) -> _TypedRange:
    """Return the range after one more piece of it; of its two forms the last one counts."""
    _expect(wire, BYTES)
    found = known if known is not None and known.field == field else _TypedRange(field, [0] * 5)
    for number, inner_wire, value, _ in fields(data, begin, end):
        if number <= found.most:
            _expect(inner_wire, VARINT)
            found.parts[number] = value
    return found


def _typed_range(found: _TypedRange) -> Range:
    _, first, second, third, fourth = found.parts
    return _range(first, second, first, third) if found.most == 3 else _range(first, second, third, fourth)


def _range(start_line: int, start_column: int, end_line: int, end_column: int) -> Range:
    found = Range(start_line, start_column, end_line, end_column)
    # A negative number comes as a huge one.
    if max(found) > 0x7FFFFFFF or (end_line, end_column) < (start_line, start_column):
        raise Malformed("a range ends before it begins")
    return found
