"""Names, uses and places, read from plain columns as they were put in."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.types import Chunk, Reference, ReferenceKind
from cairn.errors import StoreCorrupt
from cairn.store.format.columns import (
    Names,
    NamesBuilder,
    References,
    ReferencesBuilder,
    Section,
    UseRow,
    last_newline,
    lines_of,
    numbers,
    scopes,
    section,
)

NAMES = st.lists(st.text("abé\0\U0010ffff", max_size=4), max_size=12)


def views(sections: list[Section]) -> dict[str, memoryview]:
    return {name: memoryview(data).cast("B") for name, data in sections}


def cut(sections: Mapping[str, memoryview], name: str, by: int) -> dict[str, memoryview]:
    return {**sections, name: sections[name][:-by]}


def test_a_missing_or_cut_section_is_damage() -> None:
    sections = {"a": memoryview(bytes(6))}
    assert len(section(sections, "a")) == 6
    assert numbers(sections, "a", "H").tolist() == [0, 0, 0]
    with pytest.raises(StoreCorrupt, match="no section b"):
        section(sections, "b")
    with pytest.raises(StoreCorrupt, match="section a is cut"):
        numbers(sections, "a")


# --- names ------------------------------------------------------------------------------------------------------------


@given(NAMES, NAMES)
@settings(max_examples=200, derandomize=True)
def test_a_name_is_found_by_its_number_and_a_number_by_its_name(one: list[str], two: list[str]) -> None:
    builder = NamesBuilder()
    builder.add(one)
    numbered = dict(builder.add(two))
    sections, final = builder.finish()
    names = Names(views(sections))
    expected = sorted({"", *one, *two}, key=str.encode)
    assert list(names) == expected
    assert len(names) == len(expected)
    assert [names.find(name) for name in expected] == list(range(len(expected)))
    assert {name: names[final[number]] for name, number in numbered.items()} == {name: name for name in numbered}
    assert names.find("no such") is None
    assert names.find("\U0010ffff" * 5) is None
    assert names.find("\ud800") is None


def test_half_of_a_surrogate_pair_is_not_taken_for_a_question_mark() -> None:
    builder = NamesBuilder()
    builder.add(["?"])
    names = Names(views(builder.finish()[0]))
    assert (names.find("?"), names.find("\ud800")) == (1, None)


def test_names_depend_on_what_they_are_and_not_on_the_order_they_came_in() -> None:
    one, two = NamesBuilder(), NamesBuilder()
    one.add(["b", "a"])
    two.add(["a"])
    two.add(["b"])
    assert one.finish()[0] == two.finish()[0]


def test_half_of_a_surrogate_pair_is_no_name() -> None:
    builder = NamesBuilder()
    builder.add(["\ud800"])
    with pytest.raises(ValueError, match="surrogates"):
        builder.finish()


def test_names_that_do_not_fit_are_damage() -> None:
    good = views([("names.text", b"abc"), ("names.at", memoryview(array("I", [0, 1, 3])))])
    assert list(Names(good)) == ["a", "bc"]
    for bad in (cut(good, "names.text", 1), cut(good, "names.at", 4), cut(good, "names.at", 12)):
        with pytest.raises(StoreCorrupt, match="names do not fit"):
            Names(bad)
    for number in (2, 10**9, -1):
        with pytest.raises(IndexError):
            Names(good)[number]
    with pytest.raises(UnicodeDecodeError):
        Names({**good, "names.text": memoryview(b"\xff\xff\xff")})[0]


# --- uses -------------------------------------------------------------------------------------------------------------

WORDS = ["", "a", "b", "c"]
NUMBER = {word: place for place, word in enumerate(WORDS)}
KINDS = ["call", "type", "base", "annotation"]
USES = st.lists(
    st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=8), max_size=4
)


def chunk(ordinal: int, start: int, end: int) -> Chunk:
    return Chunk(ordinal, start, end, 1, 1, "text", (), (), "", "")


def added(files: list[list[tuple[str, str, str]]]) -> tuple[References, list[UseRow]]:
    """Uses five bytes apart, in files of three chunks of ten bytes each."""
    builder, expected = ReferencesBuilder(), []
    final = array("I", [0, 3, 2, 1])
    for number, uses in enumerate(files):
        references = [Reference(*use, 5 * place, 0, 0, -1) for place, use in enumerate(uses)]
        builder.add(references, [chunk(0, 0, 10), chunk(1, 10, 20), chunk(2, 20, 50)])
        for kind, name, receiver, start, *_ in references:
            row = 0 if start < 10 else 1 if start < 20 else 2
            called = (final[NUMBER[name]], final[NUMBER[receiver]], kind)
            expected.append(UseRow(3 * number + row, start - [0, 10, 20][row], *called))
    return References(views(builder.finish(NUMBER, final)), 3 * len(files)), expected


@given(USES)
@settings(max_examples=150, derandomize=True)
def test_uses_are_found_by_row_and_by_name_in_order_of_their_place(files: list[list[tuple[str, str, str]]]) -> None:
    references, expected = added(files)
    assert references.between(0, 3 * len(files)) == expected
    for row in range(3 * len(files)):
        assert references.between(row, row + 1) == [use for use in expected if use.row == row]
    for kind in ReferenceKind:
        assert references.between(0, 3 * len(files), kind) == [use for use in expected if use.kind == kind]
    for name in range(5):
        assert references.named(name) == [use for use in expected if use.name == name]


def test_many_rows_and_many_ways_take_wider_numbers() -> None:
    wide = 70_000
    number = {str(place): place for place in range(wide)}
    builder = ReferencesBuilder()
    references = [Reference("call", str(place), "0", 2 * place, 0, 0, -1) for place in range(wide)]
    builder.add(references, [chunk(i, 2 * i, 2 * i + 2) for i in range(wide)])
    sections = views(builder.finish(number, array("I", range(wide))))
    assert len(sections["ways.row"]) == len(sections["refs.way"]) == 4 * wide
    found = References(sections, wide)
    assert found.named(69_999) == found.between(69_999, 70_000) == [UseRow(69_999, 0, 69_999, 0, "call")]


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("ways.name", 4),
        ("ways.receiver", 4),
        ("ways.kind", 1),
        ("ways.at", 4),
        ("ways.row", 2),
        ("refs.at", 4),
        ("refs.way", 2),
        ("refs.offset", 2),
    ],
)
def test_uses_that_do_not_fit_are_damage(name: str, by: int) -> None:
    builder = ReferencesBuilder()
    builder.add([Reference("call", "a", "", 0, 0, 0, -1), Reference("type", "b", "", 3, 0, 0, -1)], [chunk(0, 0, 9)])
    sections = views(builder.finish(NUMBER, array("I", range(4))))
    assert len(References(sections, 1).between(0, 1)) == 2
    with pytest.raises(StoreCorrupt, match="references do not fit"):
        References(cut(sections, name, by), 1)
    with pytest.raises(StoreCorrupt, match="references do not fit"):
        References(sections, 2)


# --- places -----------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=40).map(lambda data: data.replace(b"a", b"\n")), st.data())
@settings(max_examples=200, derandomize=True)
def test_lines_and_columns_are_those_that_counting_gives(text: bytes, data: st.DataObject) -> None:
    offsets = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    known = data.draw(st.integers(0, offsets[0] if offsets else 0))
    line = text.count(b"\n", 0, known) + 1
    expected = [(text.count(b"\n", 0, at) + 1, at - (text.rfind(b"\n", 0, at) + 1)) for at in offsets]
    assert list(lines_of(memoryview(text), known, line, offsets)) == expected


@pytest.mark.parametrize("distance", [0, 1, 255, 256, 257, 5_000, 300_000])
def test_the_last_newline_is_found_however_far_back_it_is(distance: int) -> None:
    text = memoryview(b"x\n" + b"y" * distance)
    assert last_newline(text, len(text)) == 1
    assert last_newline(text[2:], distance) == -1


def test_a_use_belongs_to_the_innermost_definition_around_it() -> None:
    spans = [(0, 100, 4), (10, 50, 12), (20, 30, 21), (60, 90, 61)]
    offsets = [0, 5, 10, 20, 29, 30, 49, 50, 60, 89, 90, 99]
    assert list(scopes(spans, offsets)) == [0, 0, 1, 2, 2, 1, 1, 0, 3, 3, 0, 0]
    assert list(scopes(spans, [100, 200])) == [-1, -1]
    assert list(scopes([], [1])) == [-1]


def test_of_names_that_share_a_span_a_use_belongs_to_the_last_before_it() -> None:
    spans = [(0, 40, 4), (0, 40, 14), (0, 40, 24)]
    assert list(scopes(spans, [1, 6, 16, 30])) == [0, 0, 1, 2]
