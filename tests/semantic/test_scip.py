"""A semantic index read back says what was written, in either form of ranges, or is refused with one clear sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import SemanticUnreadable
from cairn.semantic import scip
from cairn.semantic.scip import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    Document,
    Encoding,
    Malformed,
    Metadata,
    Range,
    Relationship,
    ScipIndex,
    byte_column,
    fields,
    int32,
    is_local,
    numbers,
    text,
    varint,
)
from tests.semantic.indices import document, field, index, number, occurrence, packed
from tests.support.faults import Faults

# --- The wire format: numbers, lengths and field numbers that are whole, or a refusal.


@given(st.integers(0, 2**64 - 1))
@settings(derandomize=True, deadline=None)
def test_a_number_of_up_to_64_bits_comes_back(value: int) -> None:
    data = number(value)
    assert varint(data, 0, len(data)) == (value, len(data))


def test_a_number_of_more_than_64_bits_is_refused() -> None:
    data = number(2**64)
    with pytest.raises(Malformed, match="64 bits"):
        varint(data, 0, len(data))


def test_a_number_that_never_ends_is_refused_after_ten_bytes() -> None:
    with pytest.raises(Malformed, match="10 bytes"):
        varint(b"\x80" * 1000, 0, 1000)


def test_a_number_may_not_reach_into_what_follows_its_message() -> None:
    with pytest.raises(Malformed, match="cut off"):
        varint(b"\x80\x01", 0, 1)


def test_every_wire_type_is_told_apart() -> None:
    data = field(1, 300) + field(2, b"abc") + b"\x19" + bytes(8) + b"\x25" + bytes(4) + field(2000, 1)
    assert list(fields(data, 0, len(data))) == [
        (1, VARINT, 300, 0),
        (2, BYTES, 5, 8),
        (3, FIXED64, 9, 17),
        (4, FIXED32, 18, 22),
        (2000, VARINT, 1, 0),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x00\x01", "valid number"),
        (number(1 << 32 | 0), "valid number"),
        (b"\x0b", "wire type 3"),
        (b"\x0c", "wire type 4"),
        (b"\x0e", "wire type 6"),
        (b"\x0a\x05abc", "cut off"),
        (b"\x09\x00\x00", "cut off"),
        (b"\x0d\x00", "cut off"),
        (b"\x0a" + number(2**63), "cut off"),
        (b"\x08", "cut off"),
    ],
)
def test_a_message_that_is_not_whole_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        list(fields(data, 0, len(data)))


def test_a_text_that_is_not_utf8_is_refused() -> None:
    assert text("añ".encode(), 0, 3) == "añ"
    with pytest.raises(Malformed, match="UTF-8"):
        text("añ".encode(), 0, 2)


def test_a_list_of_numbers_longer_than_allowed_is_refused() -> None:
    data = packed([1, 300, 3])
    assert numbers(data, 0, len(data), 3) == [1, 300, 3]
    with pytest.raises(Malformed, match="too long"):
        numbers(data, 0, len(data), 2)


def test_a_negative_number_comes_as_a_huge_one() -> None:
    assert int32(2**64 - 1) == -1
    assert int32(2**31) == -(2**31)
    assert int32(7) == 7


SYMBOL = "scip-test pkg 1 `a.b`/C#f()."


def only(data: bytes) -> Document:
    (found,) = ScipIndex(data, "test.scip").documents()
    return found


def read_all(data: bytes) -> None:
    whole = ScipIndex(data, "test.scip")
    assert whole.metadata
    list(whole.documents())
    list(whole.external_symbols())


def refusal(data: bytes) -> str:
    with pytest.raises(SemanticUnreadable) as caught:
        read_all(data)
    return str(caught.value)


def test_an_index_says_who_wrote_it_and_of_what() -> None:
    assert ScipIndex(index(tool="scip-x"), "").metadata == Metadata("scip-x", "1.0", "file:///project")
    assert ScipIndex(b"", "").metadata == Metadata("", "", "")


def test_an_occurrence_on_one_line_has_three_numbers_and_any_other_four() -> None:
    found = only(
        index(
            document("a/b.py", [occurrence([3, 4, 9], SYMBOL, 1, [3, 0, 7, 1]), occurrence([5, 1, 6, 2], "local 7", 8)])
        )
    )
    assert found.path == "a/b.py"
    first, second = found.occurrences
    assert (first.range, first.symbol, first.is_definition) == (Range(3, 4, 3, 9), SYMBOL, True)
    assert first.around == Range(3, 0, 7, 1)
    assert (second.range, second.is_definition, second.around) == (Range(5, 1, 6, 2), False, None)
    assert second.roles is scip.Role.READ
    assert is_local(second.symbol)
    assert not is_local(first.symbol)


def test_the_ranges_of_newer_indices_mean_the_same() -> None:
    single = field(8, field(1, 3) + field(2, 4) + field(3, 9)) + field(2, SYMBOL)
    several = field(9, field(1, 5) + field(2, 1) + field(3, 6) + field(4, 2)) + field(2, SYMBOL)
    around = single + field(10, field(1, 3) + field(3, 20))
    wide = single + field(11, field(1, 3) + field(3, 7) + field(4, 1))
    found = only(index(document("a", [single, several, around, wide]))).occurrences
    assert [each.range for each in found[:2]] == [Range(3, 4, 3, 9), Range(5, 1, 6, 2)]
    assert [each.around for each in found[2:]] == [Range(3, 0, 3, 20), Range(3, 0, 7, 1)]


def test_a_range_may_come_number_by_number() -> None:
    loose = field(1, 3) + field(1, 4) + field(1, 9) + field(2, SYMBOL)
    assert only(index(document("a", [loose]))).occurrences[0].range == Range(3, 4, 3, 9)


def test_what_is_said_of_symbols_comes_with_their_relationships() -> None:
    related = field(1, "base") + field(3, 1)
    facts = field(1, SYMBOL) + field(3, "Doc.") + field(4, related) + field(5, 17) + field(6, "f") + field(8, "C")
    found = only(index(document("a", symbols=[facts])))
    assert found.symbols == (
        scip.SymbolFacts(SYMBOL, 17, "f", "C", ("Doc.",), (Relationship("base", False, True, False, False),)),
    )
    (external,) = ScipIndex(index(externals=[facts]), "").external_symbols()
    assert external == found.symbols[0]


def test_a_document_may_say_its_language() -> None:
    assert only(index(document("a.go") + field(4, "go"))).language == "go"


def test_fields_that_nobody_knows_yet_are_passed_over() -> None:
    odd = field(99, "new") + field(98, 5) + b"\x99\x06" + bytes(8) + b"\x9d\x06" + bytes(4)
    found = only(index(document("a", [occurrence([0, 0, 1], SYMBOL) + odd]) + odd) + odd)
    assert found.occurrences[0].symbol == SYMBOL


@pytest.mark.parametrize(
    ("tool", "said", "meant"),
    [
        ("scip-python", 0, Encoding.UTF16),
        ("scip-go", 0, Encoding.UTF8),
        ("scip-go", 3, Encoding.UTF32),
        ("scip-python", 1, Encoding.UTF8),
        ("scip-python", 900, Encoding.UTF16),
    ],
)
def test_what_columns_count_is_said_by_the_document_or_known_of_the_indexer(
    tool: str, said: int, meant: Encoding
) -> None:
    assert only(index(document("a", encoding=said), tool=tool)).encoding is meant


@given(st.text(alphabet="aé漢😀\udc80", max_size=12), st.integers(0, 12))
@settings(derandomize=True, deadline=None)
def test_a_column_in_any_unit_leads_to_the_same_byte(words: str, at: int) -> None:
    line = words.encode("utf-8", "surrogateescape")
    words = line.decode("utf-8", "surrogateescape")
    before = words[:at]
    byte = len(before.encode("utf-8", "surrogateescape"))
    columns = {
        Encoding.UTF8: byte,
        Encoding.UTF16: sum(2 if ord(each) > 0xFFFF else 1 for each in before),
        Encoding.UTF32: len(before),
    }
    for encoding, column in columns.items():
        assert byte_column(line, column, encoding) == byte
    assert byte_column(line, 10_000, Encoding.UTF16) == len(line)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (occurrence([], SYMBOL), "no range"),
        (occurrence([1, 2], SYMBOL), "neither 3 nor 4"),
        (occurrence([1, 2, 3, 4, 5], SYMBOL), "too long"),
        (field(1, 1) * 5, "more than 4"),
        (occurrence([1, 9, 3], SYMBOL), "before it begins"),
        (occurrence([2, 0, 1, 5], SYMBOL), "before it begins"),
        (occurrence([2**64 - 1, 0, 5], SYMBOL), "before it begins"),
        (occurrence([1, 2, 3], SYMBOL, 2**64 - 1), "negative role"),
        (field(1, packed([1, 2, 3])) + field(2, 7), "wrong type"),
        (field(1, packed([1, 2, 3])) + field(3, "x"), "wrong type"),
        (field(8, 7), "wrong type"),
        (field(8, field(1, "x")), "wrong type"),
        (field(1, packed([1, 2, 3])) + field(2, b"\xff"), "UTF-8"),
    ],
)
def test_an_occurrence_that_cannot_be_is_refused(broken: bytes, why: str) -> None:
    assert why in refusal(index(document("a", [broken])))


@pytest.mark.parametrize(
    "data",
    [field(2, 5), field(1, 5), field(3, 5), b"\x12\x50", field(2, field(1, 5)), field(2, field(3, field(5, "x")))],
)
def test_an_index_of_the_wrong_shape_is_refused_by_name(data: bytes) -> None:
    assert "test.scip" in refusal(data)


def test_every_cap_refuses_what_is_above_it() -> None:
    two = [occurrence([0, 0, 1], SYMBOL)] * 2
    chatty = field(1, SYMBOL) + field(3, "a") + field(3, "b")
    for name, cap, data in (
        ("MAX_SCIP_BYTES", 10, index(document("a"))),
        ("MAX_SCIP_DOCUMENTS", 1, index(document("a"), document("b"))),
        ("MAX_SCIP_OCCURRENCES", 1, index(document("a", two))),
        ("MAX_SCIP_RELATIONSHIPS", 1, index(document("a", symbols=[chatty]))),
        ("MAX_SCIP_TEXT_BYTES", 20, index(document("a", two))),
    ):
        list(ScipIndex(data, "").documents())
        with Faults.meanwhile() as faults:
            faults.limit(scip, **{name: cap})
            assert f"more than {cap}" in refusal(data)
