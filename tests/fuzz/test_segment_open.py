"""Whatever the bytes of its two files are, a segment is read or refused with a typed error: no crash, no hang."""

from __future__ import annotations

import struct
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.format.columns import read_container
from cairn.store.format.conform import segment_problems
from cairn.store.format.segment import Segment
from cairn.store.format.segment_facts import SegmentFacts
from tests.lengths import at_length
from tests.store.segments import opened
from tests.store.test_segment import DATA, ROWS

SECONDS = 20.0
SECTIONS = {name: view.nbytes for name, view in read_container(memoryview(DATA)).items() if view.nbytes}
# Where each section begins: what is in them has no check sum of its own, the digest of the segment covers it.
PLACES = {name: DATA.index(bytes(view)) for name, view in read_container(memoryview(DATA)).items() if view.nbytes > 8}
TABLE_BYTES = 32 + 40 * struct.unpack_from("<I", DATA, 12)[0]
NUMBERS = st.sampled_from([0, 1, 2, 3, 255, 65_535, 2**31 - 1, 2**31, 2**32 - 1]) | st.integers(0, 2**32 - 1)
EDITS = st.lists(st.tuples(st.integers(0, 2**31), st.binary(min_size=1, max_size=6)), min_size=1, max_size=6)


def read_all(segment: Segment) -> None:
    """Ask for everything there is, each on its own: one refusal must not hide another's crash."""
    facts = SegmentFacts(segment)
    asked = [segment.keys, segment.records, segment.whole_text, segment.text_starts, segment.row_starts]
    for file_id in range(12):
        of_file = (segment.file, segment.text, segment.chunks, facts.symbols, facts.references, facts.imports)
        asked += [lambda ask=ask, file_id=file_id: ask(file_id) for ask in (*of_file, segment.exports, segment.partial)]
    for name in ("greet", "Box", "helper", "f", ""):
        asked += [lambda name=name: facts.symbols_named(name), lambda name=name: facts.references_named(name)]
    asked += [lambda row=row: segment.chunk(row) for row in (0, 1, 5)]
    for ask in asked:
        try:
            ask()
        except StoreCorrupt as error:
            fit_to_show(error)


def fit_to_show(error: StoreCorrupt | Incompatible) -> None:
    assert error.sentence.isprintable()
    assert len(error.sentence) < 300


def check(rows: bytes, data: bytes) -> None:
    try:
        segment = opened(rows, data)
    except (StoreCorrupt, Incompatible) as error:
        fit_to_show(error)
        return
    with segment:
        read_all(segment)
        list(segment_problems(segment))


def edited(data: bytes, edits: list[tuple[int, bytes]], first: int = 0) -> bytes:
    changed = bytearray(data)
    for at, new in edits:
        place = first + at % (len(data) - first)
        changed[place : place + len(new)] = new[: len(data) - place]
    return bytes(changed)


def resummed(data: bytes) -> bytes:
    return data[:24] + struct.pack("<I", zlib.crc32(data[32:TABLE_BYTES], zlib.crc32(data[:24]))) + data[28:]


@given(st.binary(max_size=300), st.binary(max_size=300))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_arbitrary_bytes_are_refused(rows: bytes, data: bytes) -> None:
    for pair in ((rows, data), (ROWS, data), (rows, DATA)):
        with pytest.raises((StoreCorrupt, Incompatible)):
            opened(*pair).close()


@given(EDITS)
@settings(max_examples=41, derandomize=True, deadline=None)
def test_changed_tables_are_read_or_refused(edits: list[tuple[int, bytes]]) -> None:
    check(edited(ROWS, edits), DATA)


@given(EDITS)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_a_changed_table_of_sections_with_the_right_check_sum_is_read_or_refused(
    edits: list[tuple[int, bytes]],
) -> None:
    head = edited(DATA[:TABLE_BYTES], edits)
    check(ROWS, resummed(head + DATA[TABLE_BYTES:]))


@given(st.lists(st.tuples(st.sampled_from(sorted(PLACES)), st.integers(0, 2**31), NUMBERS), min_size=1, max_size=4))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_changed_numbers_in_the_sections_are_read_or_refused(changes: list[tuple[str, int, int]]) -> None:
    data = bytearray(DATA)
    for name, at, value in changes:
        place = PLACES[name] + at % (SECTIONS[name] // 4) * 4
        struct.pack_into("<I", data, place, value)
    check(ROWS, bytes(data))


@given(st.integers(0, len(ROWS)), st.integers(0, len(DATA)))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_files_cut_short_are_refused(rows: int, data: int) -> None:
    check(ROWS[:rows], DATA)
    check(ROWS, DATA[:data])


def test_numbers_made_to_hurt_cost_little_time() -> None:
    started = time.process_time()
    for name in PLACES:
        for value in (b"\xff", b"\x7f", b"\0"):
            data = bytearray(DATA)
            data[PLACES[name] : PLACES[name] + SECTIONS[name]] = value * SECTIONS[name]
            check(ROWS, bytes(data))
    assert time.process_time() - started < SECONDS


@pytest.mark.long
@given(EDITS, EDITS)
@settings(max_examples=at_length(20_000), derandomize=True, deadline=None)
def test_changed_files_are_read_or_refused(rows: list[tuple[int, bytes]], data: list[tuple[int, bytes]]) -> None:
    check(edited(ROWS, rows), edited(DATA, data, TABLE_BYTES))
