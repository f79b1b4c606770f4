"""Small segments to look at: facts of real code, facts made up by the rules, and both files written to a disk."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from cairn.core.types import (
    Chunk,
    FileFacts,
    FileStat,
    Import,
    ParseState,
    Reference,
    SkipReason,
    SkipRecord,
    SourceFile,
    StoredFile,
    Symbol,
    Syntax,
)
from cairn.store.format.build import SegmentBuilder
from cairn.store.format.rows import REFERENCE_KINDS, STATES, SYMBOL_KINDS
from cairn.store.format.segment import Segment
from cairn.syntax.analyze import analyze
from cairn.syntax.identity import CHUNKER_VERSION, chunk_hash, chunk_id
from tests.store.disks import MemoryDisk

DIMENSION = 4
FOLDER = "segment"

PYTHON = b'''"""A greeter."""

import os
from sys import path as where, argv


class Greeter(Base):
    """Says hello.

    And no more.
    """

    def greet(self, name):
        # what to say
        return self.voice.say(f"hello {name}")


def main():
    greeter = Greeter()
    greeter.greet("you")
    os.exit(print(argv, where))
'''
JAVA = (
    b"package a.b;\n\nimport java.util.List;\nimport static x.Y.*;\n\n/** Holds things. */\npublic class Box<T> {\n"
    b"  private int a = f(), b = g();\n  /** One. */ public void put(T it) { list.add(it); new Box<T>().put(it); }\n}\n"
)
UNICODE = "# Ä heading\n\ndéf = 'ß'\nclass Grüße:\n    def größe(self): return self.ñame(1)\r\n".encode()
LONG = b"".join(b"def function_%d(a, b):\n    return helper(a, b, %d)\n\n" % (n, n) for n in range(200))


def facts_of(key: str, data: bytes, syntax: Syntax, chunks: tuple[Chunk, ...]) -> FileFacts:
    stat = FileStat(len(data), 1_700_000_000_000_000_001, 1_700_000_000_000_000_002, 2**63 - 1)
    return FileFacts(SourceFile(key, key.encode(), data, sha256(data).hexdigest(), stat), syntax, chunks)


def analyzed(key: str, data: bytes, language: str) -> FileFacts:
    """The facts of a file as the syntax layer gives them."""
    return facts_of(key, data, *analyze(data, language))


def skipped(key: str, reason: SkipReason = SkipReason.BINARY, detail: str = "") -> SkipRecord:
    return StoredFile(key, FileStat(9, 8, 7, 6), "", "", "", reason, detail, 9, 0, "")


def vectors_for(facts: FileFacts, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """A vector for each chunk that depends on its content alone."""
    rows = [[int(chunk.chunk_hash[i : i + 2], 16) / 255 for i in range(dimension)] for chunk in facts.chunks]
    return np.array(rows, np.float32).reshape(len(rows), dimension)


FILES = (
    analyzed("src/Greeter.py", PYTHON, "python"),
    analyzed("empty.py", b"", "python"),
    analyzed("Box.java", JAVA, "java"),
    analyzed("docs/größe.py", UNICODE, "python"),
    analyzed("long.py", LONG, "python"),
    analyzed("broken.py", b"def f(:\n  x = (((\n", "python"),
    analyzed("notes.txt", b"no newline at the end", "text"),
)
SKIPS = (skipped("data.bin", detail="NUL at byte 3"), skipped("big.txt", SkipReason.TOO_LARGE))


def built(files: Iterable[FileFacts] = FILES, skips: Iterable[SkipRecord] = SKIPS) -> MemoryDisk:
    """A disk with one segment of these files; the skip records come second and last."""
    builder = SegmentBuilder(DIMENSION, CHUNKER_VERSION)
    records = list(skips)
    for place, facts in enumerate(files):
        builder.add(facts, vectors_for(facts))
        if not place and records:
            builder.add_skip(records.pop(0))
    for record in records:
        builder.add_skip(record)
    fs = MemoryDisk()
    fs.make_folder(FOLDER)
    builder.write(fs, FOLDER)
    return fs


def parts(fs: MemoryDisk) -> tuple[bytes, bytes]:
    return fs.read(f"{FOLDER}/rows.sqlite", 1 << 30), fs.read(f"{FOLDER}/data.bin", 1 << 30)


def opened(rows: bytes, data: bytes) -> Segment:
    """The segment that these two files make."""
    fs = MemoryDisk()
    fs.make_folder(FOLDER)
    fs.create_bytes(f"{FOLDER}/rows.sqlite", rows)
    fs.create_bytes(f"{FOLDER}/data.bin", data)
    return Segment.open(fs, FOLDER)


def as_stored(symbol: Symbol) -> Symbol:
    return symbol._replace(doc=symbol.doc.partition("\n")[0][:160])


# --- facts made up by the rules ---------------------------------------------------------------------------------------

_TEXTS = st.text("ab \n\té\u2028\0😀.", max_size=60)
_NAMES = st.text("abé.\0 ", max_size=4)


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _column(data: bytes, at: int) -> int:
    return at - (data.rfind(b"\n", 0, at) + 1)


def _scope(symbols: tuple[Symbol, ...], at: int) -> int:
    around = [i for i, symbol in enumerate(symbols) if symbol.start_byte <= at < symbol.end_byte]
    owner = around[-1] if around else -1
    while owner > 0 and symbols[owner].name_byte > at and symbols[owner - 1][5:7] == symbols[owner][5:7]:
        owner -= 1
    return owner


@st.composite
def file_facts(draw: st.DrawFn, key: str) -> FileFacts:
    """Any facts that a file may have; what follows from the bytes is worked out the slow way."""
    text = draw(_TEXTS)
    data = text.encode()
    size = len(data)
    borders = sorted(len(text[:at].encode()) for at in draw(st.sets(st.integers(1, max(1, len(text))), max_size=4)))
    borders = sorted({0, size, *(at for at in borders if at < size)})
    symbols: list[Symbol] = []
    spans = draw(st.lists(st.tuples(st.integers(0, size), st.integers(0, size)).map(sorted), max_size=6))
    for index, (start, end) in enumerate(sorted(spans)):
        last = max(start, end - 1)
        parent = draw(st.integers(-1, index - 1))
        above = symbols[parent] if parent >= 0 else None
        usual = "" if above is None else f"{above.container}.{above.name}" if above.container else above.name
        symbols.append(
            Symbol(
                draw(st.sampled_from(SYMBOL_KINDS)),
                draw(_NAMES),
                draw(st.just(usual) | _NAMES),
                draw(st.just(" ".join(data[start:end].decode("utf-8", "replace").split())) | _NAMES),
                draw(st.just(data[:start].decode("utf-8", "replace").strip()) | _TEXTS),
                start,
                end,
                _line(data, start),
                _line(data, last),
                draw(st.integers(0, size)),
                draw(st.booleans()),
                parent,
            )
        )
    uses = sorted(draw(st.sets(st.integers(0, size - 1), max_size=8))) if size else []
    found = tuple(symbols)
    references = [
        Reference(
            draw(st.sampled_from(REFERENCE_KINDS)),
            draw(_NAMES),
            draw(_NAMES),
            at,
            _line(data, at),
            _column(data, at),
            _scope(found, at),
        )
        for at in uses
    ]
    imports = [
        Import(draw(_NAMES), draw(_NAMES), draw(_NAMES), at, _line(data, at))
        for at in draw(st.lists(st.integers(0, size), max_size=3))
    ]
    syntax = Syntax(
        draw(st.sampled_from(["python", "", "c"])),
        ParseState(draw(st.sampled_from(STATES))),
        found,
        tuple(references),
        tuple(imports),
        tuple(draw(st.lists(_NAMES, max_size=3))),
        tuple(draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=2))),
        draw(st.just("") | st.binary(min_size=32, max_size=32).map(bytes.hex)),
    )
    chunks = []
    for ordinal, (start, end) in enumerate(pairwise(borders)):
        content = chunk_hash(data[start:end])
        kind = draw(st.sampled_from(["text", "anchor"]))
        begun = tuple(i for i, symbol in enumerate(symbols) if start <= symbol.start_byte < end)
        crumbs = tuple(draw(st.lists(_NAMES, max_size=2)))
        identity = chunk_id(content, CHUNKER_VERSION, kind)
        lines = (_line(data, start), _line(data, end - 1))
        chunks.append(Chunk(ordinal, start, end, *lines, kind, begun, crumbs, content, identity))
    return facts_of(key, data, syntax, tuple(chunks))
