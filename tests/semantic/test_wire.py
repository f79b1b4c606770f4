"""The wire format: numbers, lengths and field numbers that are whole, or a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.semantic.wire import BYTES, FIXED32, FIXED64, VARINT, Malformed, fields, int32, numbers, text, varint
from tests.semantic.indices import field, number, packed


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
