"""Equal facts give equal bytes, and facts that could not come back as they are do not get in."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from cairn.core.tokens import terms_of
from cairn.core.types import Chunk, FileFacts, Import, Reference, SkipReason, Symbol
from cairn.store.format.build import MOST_CHUNK_BYTES, SegmentBuilder
from cairn.store.format.columns import read_container
from cairn.store.format.postings import Postings
from cairn.store.format.segment_facts import SegmentFacts
from cairn.syntax.identity import CHUNKER_VERSION, chunk_hash, chunk_id
from tests.conformance import conforms
from tests.store.disks import MemoryDisk
from tests.store.segments import (
    DIMENSION,
    FILES,
    FOLDER,
    PYTHON,
    SKIPS,
    analyzed,
    built,
    opened,
    parts,
    skipped,
    vectors_for,
)

GREETER = FILES[0]


def builder(**options: Any) -> SegmentBuilder:
    return SegmentBuilder(DIMENSION, CHUNKER_VERSION, **options)


def written(made: SegmentBuilder) -> tuple[bytes, bytes]:
    fs = MemoryDisk()
    fs.make_folder(FOLDER)
    made.write(fs, FOLDER)
    return parts(fs)


def digest() -> str:
    return sha256(b"".join(parts(built()))).hexdigest()


def test_equal_input_gives_equal_bytes_in_every_process() -> None:
    code = "from tests.store.test_build import digest; print(digest())"
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == digest()


def test_a_builder_counts_what_it_holds() -> None:
    made = builder()
    assert (made.files, made.rows, made.payload) == (0, 0, 0)
    made.add(GREETER, vectors_for(GREETER))
    made.add_skip(SKIPS[0])
    assert (made.files, made.rows, made.payload) == (1, len(GREETER.chunks), len(PYTHON))


def test_a_segment_of_nothing_can_be_written_and_read() -> None:
    with opened(*written(builder())) as segment:
        assert (segment.files, segment.rows, segment.keys(), segment.records()) == (0, 0, [], [])
        assert bytes(segment.whole_text()) == b""
        assert SegmentFacts(segment).symbols_named("x") == SegmentFacts(segment).references_named("x") == []


def test_the_terms_of_a_chunk_come_from_its_path_its_names_their_docs_and_its_text() -> None:
    _, data = parts(built())
    postings = Postings(read_container(memoryview(data)))

    def rows(field: str, term: str) -> list[int]:
        (number,) = postings.find([*terms_of(term)][:1]).tolist()
        return [] if number < 0 else postings.postings(field, number)[0].tolist()

    assert rows("path", "greeter") == [0]
    assert rows("symbol", "greet") == [0], "a definition that begins here"
    assert 0 in rows("comment", "hello")
    assert rows("comment", "more") == [0], "the whole doc, not its first line"
    assert rows("body", "voice") == [0]
    assert rows("symbol", "voice") == []


def test_a_chunk_inside_a_definition_carries_the_names_around_it() -> None:
    body = b"".join(b"    value_%d = compute(%d)\n" % (n, n) for n in range(200))
    facts = analyzed("a.py", b"class Enclosing:\n  def inner(self):\n" + body, "python")
    assert len(facts.chunks) > 1
    made = builder()
    made.add(facts, vectors_for(facts))
    postings = Postings(read_container(memoryview(written(made)[1])))
    (number,) = postings.find([*terms_of("enclosing")][:1]).tolist()
    assert postings.postings("symbol", number)[0].tolist() == list(range(len(facts.chunks)))


# --- refusals ---------------------------------------------------------------------------------------------------------


def refused(facts: FileFacts, match: str, vectors: Any = None) -> None:
    """Refused, and the builder goes on as if it had never been asked."""
    made, untouched = builder(), builder()
    for each in (made, untouched):
        each.add(FILES[2], vectors_for(FILES[2]))
    with pytest.raises(ValueError, match=match):
        made.add(facts, vectors_for(facts) if vectors is None else vectors)
    assert written(made) == written(untouched)
    assert (made.files, made.rows) == (1, len(FILES[2].chunks))


def with_syntax(**changes: Any) -> FileFacts:
    return replace(GREETER, syntax=replace(GREETER.syntax, **changes))


def with_symbol(place: int, **changes: Any) -> FileFacts:
    symbols = list(GREETER.syntax.symbols)
    symbols[place] = symbols[place]._replace(**changes)
    return with_syntax(symbols=tuple(symbols))


def with_chunk(place: int, facts: FileFacts = GREETER, **changes: Any) -> FileFacts:
    chunks = list(facts.chunks)
    chunks[place] = chunks[place]._replace(**changes)
    return replace(facts, chunks=tuple(chunks))


@conforms("003.ROW3")
def test_a_path_is_taken_once_as_a_file_or_as_a_skip_record() -> None:
    made = builder()
    made.add(GREETER, vectors_for(GREETER))
    made.add_skip(SKIPS[0])
    for key in (GREETER.source.key, SKIPS[0].key):
        with pytest.raises(ValueError, match="a path once"):
            made.add_skip(skipped(key))
        facts = replace(GREETER, source=replace(GREETER.source, key=key))
        with pytest.raises(ValueError, match="a path once"):
            made.add(facts, vectors_for(facts))


@pytest.mark.parametrize("key", ["", "/a", "../a", "a//b", "a\0b", "\ud800"])
def test_a_path_that_is_none_is_refused(key: str) -> None:
    refused(replace(GREETER, source=replace(GREETER.source, key=key)), "path of a file")
    with pytest.raises(ValueError, match="path of a file"):
        builder().add_skip(skipped(key))


def test_a_skip_record_has_a_reason_and_a_detail_that_is_text() -> None:
    with pytest.raises(ValueError, match="has a reason"):
        builder().add_skip(skipped("a")._replace(skip=None))
    with pytest.raises(ValueError, match="surrogates"):
        builder().add_skip(skipped("a", SkipReason.BINARY, "\ud800"))


@conforms("003.ROW2")
@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((len(GREETER.chunks), DIMENSION + 1), np.float32),
        np.zeros((len(GREETER.chunks) + 1, DIMENSION), np.float32),
        np.zeros(DIMENSION, np.float32),
        np.full((len(GREETER.chunks), DIMENSION), np.nan, np.float32),
        np.full((len(GREETER.chunks), DIMENSION), -np.inf, np.float32),
    ],
)
def test_vectors_of_another_shape_or_without_end_are_refused(vectors: Any) -> None:
    refused(GREETER, "one vector of the model's dimension", vectors)


def test_more_text_than_places_can_say_is_refused() -> None:
    made = builder(most_text=len(PYTHON) + 1)
    made.add(GREETER, vectors_for(GREETER))
    with pytest.raises(ValueError, match="4 GiB"):
        made.add(FILES[1], vectors_for(FILES[1]))
    with pytest.raises(ValueError, match="4 GiB"):
        builder(most_text=len(PYTHON)).add(GREETER, vectors_for(GREETER))


LONG = FILES[4]


@pytest.mark.parametrize(
    "facts",
    [
        replace(LONG, chunks=LONG.chunks[1:]),
        replace(LONG, chunks=LONG.chunks[:-1]),
        replace(LONG, chunks=()),
        replace(LONG, chunks=(*LONG.chunks, LONG.chunks[-1])),
        replace(LONG, chunks=LONG.chunks[::-1]),
        with_chunk(0, LONG, end_byte=LONG.chunks[0].end_byte - 1),
        with_chunk(0, LONG, end_byte=0),
        with_chunk(-1, LONG, end_byte=len(LONG.source.data) + 1),
        with_chunk(1, LONG, ordinal=7),
        with_chunk(1, LONG, start_line=1),
        with_chunk(1, LONG, end_line=1),
        with_chunk(1, LONG, symbols=()),
        with_chunk(1, LONG, kind="image"),
        with_chunk(1, LONG, chunk_hash="0" * 64),
        with_chunk(1, LONG, chunk_id="0" * 64),
    ],
)
def test_chunks_that_do_not_follow_from_the_file_are_refused(facts: FileFacts) -> None:
    refused(facts, "chunk")


@pytest.mark.parametrize(
    ("facts", "match"),
    [
        (with_symbol(-1, start_byte=len(PYTHON), end_byte=len(PYTHON)), "chunk"),
        (with_symbol(0, end_byte=len(PYTHON) + 1), "lie in the file"),
        (with_symbol(-1, end_byte=0), "lie in the file"),
        (with_symbol(0, parent=0), "after the one around it"),
        (with_symbol(0, parent=-2), "after the one around it"),
        (with_symbol(0, name_byte=-1), "its name is in the file"),
        (with_symbol(0, name_byte=len(PYTHON) + 1), "its name is in the file"),
        (with_symbol(0, kind="thing"), "one of ours"),
        (with_symbol(0, name="\ud800"), "surrogates"),
        (with_symbol(0, container="\ud800"), "surrogates"),
        (with_symbol(0, signature="\ud800"), "surrogates"),
        (with_symbol(0, doc="\ud800"), "surrogates"),
        (with_syntax(language="\ud800"), "surrogates"),
        (with_syntax(exports=("\ud800",)), "surrogates"),
        (with_syntax(references=GREETER.syntax.references[::-1]), "in order of their place"),
        (with_syntax(references=GREETER.syntax.references[:1] * 2), "in order of their place"),
        (with_syntax(references=(Reference("call", "a", "", len(PYTHON), 1, 0, -1),)), "in order of their place"),
        (with_syntax(references=(Reference("call", "a", "", -1, 1, 0, -1),)), "in order of their place"),
        (with_syntax(references=(Reference("jump", "a", "", 0, 1, 0, -1),)), "one of ours"),
        (with_syntax(references=(Reference("call", "a", "\ud800", 0, 1, 0, -1),)), "surrogates"),
        (with_syntax(imports=(Import("a", "", "", len(PYTHON) + 1, 1),)), "imports lie"),
        (with_syntax(imports=(Import("a", "", "", -1, 1),)), "imports lie"),
        (with_syntax(imports=(Import("\ud800", "", "", 1, 1),)), "surrogates"),
        (with_syntax(partial=((0, 1),)), "count from 1"),
        (with_syntax(interface_hash="xyz"), "hash"),
        (with_syntax(state="strange"), "state"),
        (with_chunk(0, breadcrumb=("\ud800",)), "surrogates"),
        (replace(GREETER, source=replace(GREETER.source, file_hash="00")), "hash"),
    ],
)
def test_facts_that_would_not_come_back_are_refused(facts: FileFacts, match: str) -> None:
    refused(facts, match)


def test_definitions_out_of_order_are_refused() -> None:
    # Both in the first chunk and none of them its first: only the order says that something is wrong.
    one = Symbol("variable", "a", "", "", "", 5, 6, 1, 1, 5, True, -1)
    facts = analyzed("a.txt", b"0123456789\n", "text")
    chunk = facts.chunks[0]._replace(symbols=(0, 1))
    swapped = replace(facts, chunks=(chunk,), syntax=replace(facts.syntax, symbols=(one, one._replace(start_byte=3))))
    refused(swapped, "in order of their start")


@pytest.mark.parametrize(("size", "taken"), [(MOST_CHUNK_BYTES, True), (MOST_CHUNK_BYTES + 1, False)])
def test_a_chunk_is_no_larger_than_a_place_in_it_can_say(size: int, taken: bool) -> None:
    data = b"x" * size
    facts = analyzed("a.txt", data, "text")
    content = chunk_hash(data)
    identity = chunk_id(content, CHUNKER_VERSION, "text")
    whole = Chunk(0, 0, size, 1, 1, "text", (), (), content, identity)
    syntax = replace(facts.syntax, references=(Reference("call", "x", "", size - 1, 1, size - 1, -1),))
    facts = replace(facts, chunks=(whole,), syntax=syntax)
    if not taken:
        refused(facts, "chunk 0")
        return
    made = builder()
    made.add(facts, vectors_for(facts))
    with opened(*written(made)) as segment:
        assert SegmentFacts(segment).references(0) == list(syntax.references)


def test_text_that_is_not_utf8_is_refused() -> None:
    refused(analyzed("a.txt", b"\xff\n", "text"), "utf-8")


@pytest.mark.parametrize(
    "data", [b"\xed\xa0\x80 = 1\n", b"def \xed\xa0\x80():\n  \xff.x()\n", b"import \xed\xb0\x80\n"]
)
@pytest.mark.parametrize("language", ["python", "c", "java", "ruby", "go", "markdown"])
def test_names_cut_from_broken_text_never_hold_half_a_surrogate_pair(data: bytes, language: str) -> None:
    syntax = analyzed("a", data, language).syntax
    found = (*syntax.symbols, *syntax.references, *syntax.imports, syntax.exports)
    "".join(field for value in found for field in value if isinstance(field, str)).encode()
