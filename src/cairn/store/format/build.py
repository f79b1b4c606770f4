"""Build the two files of a segment from the facts of files. Everything is held in memory until `write`."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from io import BytesIO
from itertools import count
from operator import itemgetter, le, lt

import numpy as np
from numpy.typing import NDArray

from cairn.core.collector import no_cycle_collection
from cairn.core.types import FileFacts, SkipRecord, Symbol
from cairn.store.format.columns import U32, NamesBuilder, ReferencesBuilder, Section, write_container
from cairn.store.format.postings import PostingsBuilder, Vectors, quantize, vector_sections
from cairn.store.format.rows import (
    CHUNK_KINDS,
    DATA_FILE,
    MAX_STORED_DOC,
    REFERENCE_KINDS,
    ROWS_FILE,
    SKIPS,
    STATES,
    SYMBOL_KINDS,
    Meta,
    Row,
    Tables,
    chunk_id,
    encode_rows,
    folded,
    narrow_stat,
    packed_doc,
    qualified,
)
from cairn.store.format.segment import Segment
from cairn.store.format.tombstones import is_path_key
from cairn.store.fs import Fs

# Offsets in the text of a segment are 32-bit numbers.
MOST_TEXT_BYTES = (1 << 32) - 1
# The offset of a use in its chunk is a 16-bit number.
MOST_CHUNK_BYTES = (1 << 16) - 1

_WIDE_FILES = 64

_HASH = re.compile("[0-9a-f]{64}")
_SYMBOL_CODES = {kind: code for code, kind in enumerate(SYMBOL_KINDS)}


VectorRows = NDArray[np.float32]
Embedded = tuple[FileFacts, VectorRows]
"""A file with everything about it, and the vector of each of its chunks."""


class SegmentBuilder:
    """A collector of files and skip records, each path once, that writes them as one segment.

    Facts that could not be read back as they came are refused with a ValueError, which leaves the builder as it was.
    """

    def __init__(self, dimension: int, chunker: str, most_text: int = MOST_TEXT_BYTES) -> None:
        self.files = self.rows = self.payload = 0
        self._dimension, self._chunker, self._most_text = dimension, chunker, most_text
        self._paths: set[str] = set()
        self._text = bytearray()
        self._starts = {name: array(U32, [0]) for name in ("text", "rows", "symbols", "imports")}
        self._chunk_at, self._chunk_line = array(U32), array(U32)
        self._tables = Tables([], [], [], [])
        self._names, self._references = NamesBuilder(), ReferencesBuilder()
        self._postings = PostingsBuilder()
        self._vectors = [quantize(np.empty((0, dimension), np.float32))]
        self._wide: list[NDArray[np.float32]] = []

    def add(self, facts: FileFacts, vectors: NDArray[np.float32]) -> None:
        """Add a file and the vector of each of its chunks."""
        source, data = facts.source, facts.source.data
        self._refuse_path(source.key)
        if vectors.shape != (len(facts.chunks), self._dimension) or not np.isfinite(vectors).all():
            raise ValueError("every chunk has one vector of the model's dimension, and its numbers are finite")
        if len(self._text) + len(data) + 1 > self._most_text:
            raise ValueError("a segment's text stays below 4 GiB")
        _check_chunks(facts, self._chunker)
        _check_syntax(facts)
        names = _names_of(facts)
        with no_cycle_collection():
            number = self._names.add(names)
            self._add_file(facts, number)
            self._add_chunks(facts, number)
            self._tables.symbols.extend(_symbol_rows(facts.syntax.symbols, data, number))
            self._tables.imports.extend(
                [
                    (number[module], number[name], number[alias], at)
                    for module, name, alias, at, _ in facts.syntax.imports
                ]
            )
            self._references.add(facts.syntax.references, facts.chunks)
        self._add_vectors(vectors)
        self._text += data
        self._text += b"\n"
        self._paths.add(source.key)
        self.files += 1
        self.rows += len(facts.chunks)
        self.payload += len(data)
        self._end_file()

    def add_skip(self, record: SkipRecord) -> None:
        """Add the record of a file that was read and left out."""
        self._refuse_path(record.key)
        if record.skip is None:
            raise ValueError("a skip record has a reason")
        record.detail.encode()
        stat, wide = narrow_stat(record.stat)
        left_out = (None,) * 6 + (SKIPS.index(record.skip), record.detail)
        self._tables.files.append((record.key, *stat, *left_out, wide))
        self._paths.add(record.key)
        self._end_file()

    def write(self, fs: Fs, folder: str) -> None:
        """Write both files into an existing folder; they are not synced. Equal input gives equal bytes."""
        rows, sections = self._finished()
        fs.create_bytes(f"{folder}/{ROWS_FILE}", rows)
        with fs.create(f"{folder}/{DATA_FILE}") as out:
            write_container(out, sections)

    def in_memory(self) -> Segment:
        """Return the segment without writing it anywhere: it reads as a sealed one does and is gone once closed."""
        rows, sections = self._finished()
        data = BytesIO()
        write_container(data, sections)
        return Segment.of_bytes(rows, data.getbuffer())

    def _finished(self) -> tuple[bytes, list[Section]]:
        """Return the bytes of the rows, and the sections of the data."""
        with no_cycle_collection():
            names, final = self._names.finish()
            sections: list[Section] = [
                ("text", self._text),
                *((f"file.{name}", memoryview(starts)) for name, starts in self._starts.items()),
                ("chunk.at", memoryview(self._chunk_at)),
                ("chunk.line", memoryview(self._chunk_line)),
                *names,
                *self._references.finish(self._names.ids, final),
                *vector_sections(self._all_vectors()),
                *self._postings.sections(),
            ]
            meta = Meta(self._dimension, self._chunker, self.files, self.rows)
            return encode_rows(meta, _with_final_names(self._tables, final)), sections

    def _refuse_path(self, key: str) -> None:
        if key in self._paths or not is_path_key(key):
            raise ValueError("a segment holds a path once, and it is the path of a file in a repository")

    def _add_file(self, facts: FileFacts, number: dict[str, int]) -> None:
        source, syntax = facts.source, facts.syntax
        exports = array(U32, [number[name] for name in syntax.exports])
        partial = array(U32, [line for lines in syntax.partial for line in lines])
        state, interface = STATES.index(syntax.state), bytes.fromhex(syntax.interface_hash)
        found = (bytes.fromhex(source.file_hash), syntax.language, state, interface or None)
        stat, wide = narrow_stat(source.stat)
        rest = (exports, partial.tobytes() or None, None, None, wide)
        self._tables.files.append((source.key, *stat, *found, *rest))

    def _add_chunks(self, facts: FileFacts, number: dict[str, int]) -> None:
        base, data, symbols = len(self._text), facts.source.data, facts.syntax.symbols
        for chunk in facts.chunks:
            crumbs = array(U32, [number[name] for name in chunk.breadcrumb])
            self._tables.chunks.append((bytes.fromhex(chunk.chunk_hash), CHUNK_KINDS.index(chunk.kind), crumbs))
            self._chunk_at.append(base + chunk.start_byte)
            self._chunk_line.append(chunk.start_line)
            begun = [symbols[index] for index in chunk.symbols]
            names = [*[symbol.name for symbol in begun], *chunk.breadcrumb]
            comment = "\n".join([symbol.doc for symbol in begun if symbol.doc])
            self._postings.add(facts.source.key, names, comment, data[chunk.start_byte : chunk.end_byte])

    def _add_vectors(self, vectors: NDArray[np.float32]) -> None:
        self._wide.append(vectors)
        # Quantize many files together, because most have few vectors; but not all files, because floats take four times
        # the room.
        if len(self._wide) == _WIDE_FILES:
            self._quantize()

    def _quantize(self) -> None:
        if self._wide:
            self._vectors.append(quantize(np.concatenate(self._wide)))
            self._wide.clear()

    def _all_vectors(self) -> Vectors:
        self._quantize()
        vectors, scales = zip(*self._vectors, strict=True)
        return Vectors(np.concatenate(vectors), np.concatenate(scales))

    def _end_file(self) -> None:
        ends = (len(self._text), self.rows, len(self._tables.symbols), len(self._tables.imports))
        for starts, end in zip(self._starts.values(), ends, strict=True):
            starts.append(end)


def _check_chunks(facts: FileFacts, chunker: str) -> None:
    """Refuse chunks that do not tile the file, or that contradict its bytes."""
    data = facts.source.data
    data.decode()
    begins = [symbol.start_byte for symbol in facts.syntax.symbols]
    at, line, first = 0, 1, 0
    for ordinal, chunk in enumerate(facts.chunks):
        end = chunk.end_byte
        newlines = data.count(b"\n", at, end)
        following = bisect_left(begins, end, first)
        places = (ordinal, at, end, line, line + newlines - (data[end - 1 : end] == b"\n"))
        if (
            chunk[:5] != places
            or not at < end <= at + MOST_CHUNK_BYTES
            or chunk.symbols != tuple(range(first, following))
        ):
            raise ValueError(f"chunk {ordinal} is not what follows from the file")
        if chunk.kind not in CHUNK_KINDS or not _HASH.fullmatch(chunk.chunk_hash):
            raise ValueError(f"chunk {ordinal} has no kind or no hash of ours")
        if chunk.chunk_id != chunk_id(chunk.chunk_hash, chunker, chunk.kind):
            raise ValueError(f"chunk {ordinal} has an id of another chunker")
        at, line, first = end, line + newlines, following
    if at != len(data):
        raise ValueError("the chunks of a file tile it")


def _check_syntax(facts: FileFacts) -> None:
    """Refuse facts that could not be read back from the segment as they are."""
    syntax, size = facts.syntax, len(facts.source.data)
    if syntax.symbols:
        _check_symbols(syntax.symbols, size)
    uses = [reference[3] for reference in syntax.references]
    if not all(map(lt, uses, uses[1:])) or (uses and not 0 <= uses[0] <= uses[-1] < size):
        raise ValueError("references lie in the file, in order of their place, one at each")
    if any(not 0 <= each.start_byte <= size for each in syntax.imports):
        raise ValueError("imports lie in the file")
    if not set(map(itemgetter(0), syntax.references)) <= set(REFERENCE_KINDS):
        raise ValueError("the kind of a reference is one of ours")
    if syntax.state not in STATES or any(not 0 < line <= 1 << 31 for lines in syntax.partial for line in lines):
        raise ValueError("a file has one of our states, and its lines count from 1")
    if not all(map(_HASH.fullmatch, (facts.source.file_hash, syntax.interface_hash or facts.source.file_hash))):
        raise ValueError("a hash is 64 digits of hex")
    # Half of a surrogate pair cannot be written as UTF-8: `encode` raises a ValueError.
    syntax.language.encode()


def _check_symbols(symbols: Sequence[Symbol], size: int) -> None:
    kinds, _, _, signatures, docs, begins, ends, _, _, names, _, parents = zip(*symbols, strict=True)
    if list(begins) != sorted(begins) or begins[0] < 0 or max(ends) > size or not all(map(le, begins, ends)):
        raise ValueError("definitions lie in the file, in order of their start")
    if min(parents) < -1 or not all(map(lt, parents, count())) or min(names) < 0 or max(names) > size:
        raise ValueError("a definition comes after the one around it, and its name is in the file")
    if not set(kinds) <= _SYMBOL_CODES.keys():
        raise ValueError("the kind of a definition is one of ours")
    # `encode` refuses half of a surrogate pair, as in `_check_syntax`.
    "".join(signatures).encode()
    "".join(docs).encode()


def _names_of(facts: FileFacts) -> set[str]:
    syntax, symbols = facts.syntax, facts.syntax.symbols
    names = set(syntax.exports)
    names.update(map(itemgetter(1), syntax.references))
    names.update(map(itemgetter(2), syntax.references))
    names.update(map(itemgetter(1), symbols))
    names.update([each.container for each in symbols if each.container != _derived(symbols, each.parent)])
    for imported in syntax.imports:
        names.update(imported[:3])
    for chunk in facts.chunks:
        names.update(chunk.breadcrumb)
    "".join(names).encode()
    return names


def _symbol_rows(symbols: Sequence[Symbol], data: bytes, number: dict[str, int]) -> list[Row]:
    return [
        (
            number[each.name],
            _SYMBOL_CODES[each.kind],
            None if each.container == _derived(symbols, each.parent) else number[each.container],
            each.start_byte,
            each.end_byte - each.start_byte,
            each.name_byte - each.start_byte,
            each.exported,
            index - each.parent if each.parent >= 0 else 0,
            _stored_signature(each, data),
            packed_doc(data, each.start_byte, each.doc.partition("\n")[0][:MAX_STORED_DOC]),
        )
        for index, each in enumerate(symbols)
    ]


def _derived(symbols: Sequence[Symbol], parent: int) -> str:
    return qualified(symbols[parent].container, symbols[parent].name) if parent >= 0 else ""


def _stored_signature(symbol: Symbol, data: bytes) -> str | int:
    """Return the signature's length when it is the text at the definition's start; else the signature itself."""
    written = symbol.signature.encode()
    return len(written) if folded(data, symbol.start_byte, len(written)) == written else symbol.signature


def _with_final_names(tables: Tables, final: array[int]) -> Tables:
    def crumbs(numbers: object) -> bytes | None:
        assert isinstance(numbers, array)
        return array(U32, [final[number] for number in numbers]).tobytes() or None

    return Tables(
        [row if row[9] is None else (*row[:9], crumbs(row[9]), *row[10:]) for row in tables.files],
        [(content, kind, crumbs(numbers)) for content, kind, numbers in tables.chunks],
        [
            (final[name], kind, container if container is None else final[container], *rest)
            for name, kind, container, *rest in tables.symbols
        ],
        [(final[module], final[name], final[alias], start) for module, name, alias, start in tables.imports],
    )
