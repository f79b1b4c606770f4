"""Whatever the bytes of the pointer are, the outcome is one id that is safe in a path, or one typed error."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MIB
from cairn.errors import StoreCorrupt
from cairn.store.format.layout import decode_pointer, encode_pointer
from tests.lengths import at_length

ID = b"01HZZ5X9T2K3R7G9FQ2A5V0J1M"
SAFE = re.compile("[0-9A-Z]{26}", re.ASCII)
NEAR = st.lists(st.tuples(st.integers(0, 27), st.binary(max_size=2), st.integers(0, 2)), max_size=3)


def check(data: bytes) -> None:
    try:
        found = decode_pointer(data)
    except StoreCorrupt:
        return
    assert SAFE.fullmatch(found)
    assert encode_pointer(found) == data


def near(changes: list[tuple[int, bytes, int]]) -> bytes:
    data = ID + b"\n"
    for position, new, gone in changes:
        data = data[:position] + new + data[position + gone :]
    return data


@given(st.binary(max_size=40) | NEAR.map(near))
@settings(max_examples=333, derandomize=True, deadline=None)
def test_any_bytes_are_one_id_or_refused(data: bytes) -> None:
    check(data)


def test_every_byte_in_every_place_is_an_id_or_refused() -> None:
    good = ID + b"\n"
    for position in range(27):
        for byte in range(256):
            check(good[:position] + bytes([byte]) + good[position + 1 :])


def test_a_large_file_in_the_place_of_the_pointer_is_refused() -> None:
    for data in (ID * (8 * MIB), (ID + b"\n") * MIB, bytes(64 * MIB)):
        with pytest.raises(StoreCorrupt):
            decode_pointer(data)


@pytest.mark.long
@given(st.binary(max_size=80) | NEAR.map(near))
@settings(max_examples=at_length(50_000), derandomize=True, deadline=None)
def test_many_more_pointers(data: bytes) -> None:
    check(data)
