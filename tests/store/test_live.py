"""What search may touch of a segment: as it was put in, and nothing of a file that a tombstone hides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

import cairn.store.format.segment_facts as facts_module
from cairn.errors import StoreCorrupt
from cairn.store.format.segment import Segment
from cairn.store.read.live import LivePart, live_parts
from cairn.store.read.snapshot import Part, SnapshotView, open_view
from tests.store.disks import MemoryDisk
from tests.store.little import save
from tests.store.segments import FILES, FOLDER, SKIPS, analyzed, as_stored, built, vectors_for
from tests.support.faults import Faults

KEYS = [FILES[0].source.key, SKIPS[0].key, *(facts.source.key for facts in FILES[1:]), SKIPS[1].key]
HIDDEN = "Box.java"
NUMBERED = [(KEYS.index(facts.source.key), facts) for facts in FILES]


@pytest.fixture(scope="module")
def segment() -> Iterator[Segment]:
    with Segment.open(built(), FOLDER) as made:
        yield made


@pytest.fixture
def whole(segment: Segment) -> LivePart:
    return LivePart(segment, frozenset())


@pytest.fixture
def part(segment: Segment) -> LivePart:
    return LivePart(segment, frozenset({KEYS.index(HIDDEN)}))


# --- which files are live ---------------------------------------------------------------------------------------------


def test_only_live_files_with_rows_are_files(whole: LivePart, part: LivePart) -> None:
    expected = [(facts.source.key, number) for number, facts in NUMBERED if facts.chunks]
    assert whole.files() == expected
    assert part.files() == [file for file in expected if file[0] != HIDDEN]
    assert "empty.py" not in dict(expected)


def test_live_files_with_text_have_their_language_and_those_without_rows_are_among_them(
    whole: LivePart, part: LivePart
) -> None:
    expected = [(facts.source.key, facts.syntax.language, number) for number, facts in NUMBERED]
    assert whole.with_text() == expected
    assert part.with_text() == [file for file in expected if file[0] != HIDDEN]
    assert "empty.py" in [path for path, _, _ in expected]


def test_a_hidden_file_defines_nothing(whole: LivePart, part: LivePart) -> None:
    assert [file for _, file, _, _ in whole.facts.definitions_named("Box")] == [KEYS.index(HIDDEN)]
    assert part.facts.definitions_named("Box") == []
    (box,) = [number for number, name in part.facts.defined_names() if name == "Box"]
    assert whole.facts.defined_as([box]) == [(box, *row) for row in whole.facts.definitions_named("Box")]
    assert part.facts.defined_as([box]) == []


def test_many_names_at_once_give_the_definitions_of_each(whole: LivePart, faults: Faults) -> None:
    faults.limit(facts_module, _NAMES_AT_ONCE=2)
    names = [number for number, _ in whole.facts.defined_names()]
    assert len(names) > 4
    assert whole.facts.defined_as(names) == [row for name in names for row in whole.facts.defined_as([name])]
    assert whole.facts.defined_as([]) == []


@pytest.mark.parametrize("name", ["nobody", "\udc80"])
def test_a_name_that_nobody_has_defines_nothing(whole: LivePart, name: str) -> None:
    assert whole.facts.definitions_named(name) == []
    assert whole.facts.defined_in(0, name) == []


def test_the_parts_of_a_view_know_what_its_tombstones_hide() -> None:
    fs = MemoryDisk()
    save(fs, {"a.py": b"def one():\n    pass\n", "b.py": b"def two():\n    pass\n"})
    save(fs, {"b.py": b"def three():\n    pass\n"})
    view = open_view(fs, "store")
    assert view is not None
    with view:
        found = live_parts(view)
        live = [(key, bytes(part.text(number))) for part in found for key, number in part.files()]
        assert live == [("b.py", b"def three():\n    pass\n")]


# --- one by one -------------------------------------------------------------------------------------------------------


def test_a_file_and_its_definitions_come_back_as_they_were_put_in(whole: LivePart) -> None:
    names = [number for number, _ in whole.facts.defined_names()]
    defined = sorted((file, number) for _, number, file, _, _ in whole.facts.defined_as(names))
    for number, facts in NUMBERED:
        assert bytes(whole.text(number)) == facts.source.data
        symbols = [whole.facts.symbol(definition) for file, definition in defined if file == number]
        assert symbols == [as_stored(symbol) for symbol in facts.syntax.symbols]


def test_the_text_of_the_segment_holds_every_file_where_it_says(whole: LivePart) -> None:
    text, starts = whole.texts()
    for number, facts in NUMBERED:
        assert bytes(text[starts[number] : starts[number + 1] - 1]) == facts.source.data


def test_the_shown_part_of_a_chunk_agrees_with_its_row(whole: LivePart) -> None:
    for number, facts in NUMBERED:
        first = int(whole.row_starts[number])
        for row, chunk in enumerate(facts.chunks, first):
            shown, stored = whole.passage(number, row), whole.chunk(row)
            assert shown.data.decode() == stored.text
            assert shown.file_hash == sha256(facts.source.data).hexdigest()
            assert shown[3:4] + shown[5:] == (stored.file_hash, stored.start_line, stored.byte_start, stored.byte_end)
            assert (shown.kind, shown.language) == (stored.kind, stored.language)
            assert shown.nested == bool(chunk.breadcrumb)


def test_a_row_of_another_file_is_not_shown(whole: LivePart) -> None:
    with pytest.raises(StoreCorrupt):
        whole.passage(0, int(whole.row_starts[1]))


def test_every_byte_lies_in_the_row_that_holds_it(whole: LivePart) -> None:
    for number, facts in NUMBERED:
        first = int(whole.row_starts[number])
        for place, chunk in enumerate(facts.chunks):
            assert whole.row_at(number, chunk.start_byte) == first + place
            assert whole.row_at(number, chunk.end_byte - 1) == first + place


def test_a_line_begins_behind_the_newline_before_it(whole: LivePart) -> None:
    for number, facts in NUMBERED:
        data = facts.source.data
        for offset in range(0, len(data) + 1, 7):
            assert whole.line_start(number, offset) == data.rfind(b"\n", 0, offset) + 1


# --- definitions ------------------------------------------------------------------------------------------------------


def test_the_definitions_that_reach_from_one_byte_to_the_other_come_in_order(whole: LivePart) -> None:
    for number, facts in NUMBERED:
        symbols, size = facts.syntax.symbols, len(facts.source.data)
        for before in range(0, size + 1, 1 + size // 40):
            until = min(size, before + size // 9)
            holding = [symbol for symbol in symbols if symbol.start_byte < before and until < max(symbol.end_byte, 1)]
            found = whole.facts.reaching(number, before, until)
            assert [(one.start, one.length) for one in found] == [
                (symbol.start_byte, symbol.end_byte - symbol.start_byte) for symbol in holding
            ]
            assert [whole.facts.outline(one.number) for one in found] == [
                (symbol.kind, symbol.container, symbol.name) for symbol in holding
            ]


def test_the_definitions_of_a_name_are_those_of_the_one_file() -> None:
    twice = analyzed("a.py", b"def f():\n    pass\n\nclass C:\n    def f(self):\n        pass\n", "python")
    once = analyzed("b.py", b"class f:\n    pass\n", "python")
    with Segment.open(built([twice, once], ()), FOLDER) as segment:
        part = LivePart(segment, frozenset())
        assert part.facts.defined_in(0, "f") == [(s.kind, s.start_byte) for s in twice.syntax.symbols if s.name == "f"]
        assert part.facts.defined_in(1, "f") == [("class", 0)]
        assert [part.facts.symbol(number).kind for number, *_ in part.facts.definitions_named("f")] == [
            "function",
            "method",
            "class",
        ]


def test_definitions_and_uses_come_with_their_files_hidden_ones_too(whole: LivePart, part: LivePart) -> None:
    names = [name.decode() for name in part.facts.names()]
    found = [(names[name], file) for name, file in zip(*map(np.ndarray.tolist, part.facts.definitions()), strict=True)]
    assert found == [(symbol.name, number) for number, facts in NUMBERED for symbol in facts.syntax.symbols]
    used = {(names[name], file) for name, file in zip(*map(np.ndarray.tolist, part.facts.uses()), strict=True)}
    assert used == {(use.name, number) for number, facts in NUMBERED for use in facts.syntax.references}
    assert len(part.facts.uses()[0]) == len(used)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_vectors_and_words_lie_there_row_by_row(whole: LivePart) -> None:
    rows = int(whole.row_starts[-1])
    vectors, scales = whole.vectors
    given = np.concatenate([vectors_for(facts) for facts in FILES])
    assert np.abs(vectors * scales[:, None] - given).max() <= scales.max() / 2 + 1e-6
    (term,) = whole.postings.find(["greeter"]).tolist()
    held, _ = whole.postings.postings("body", term)
    assert rows == whole.postings.rows == len(vectors)
    assert int(held[0]) == int(whole.row_starts[KEYS.index("src/Greeter.py")])


def test_a_view_without_segments_has_no_parts() -> None:
    nothing: Any = None
    assert live_parts(SnapshotView(nothing, (), ExitStack())) == ()


def test_a_part_of_a_view_is_given_out_with_what_it_hides(segment: Segment) -> None:
    nothing: Any = None
    view = SnapshotView(nothing, (Part(nothing, segment, frozenset({0})),), ExitStack())
    (found,) = live_parts(view)
    assert KEYS[0] not in dict(found.files())
    assert found.hidden == (0,)
    assert found.keys() == KEYS
