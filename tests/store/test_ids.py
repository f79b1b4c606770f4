"""Ids sort by their time, fit into paths, and the pointer file holds exactly one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.errors import StoreCorrupt
from cairn.store.format.layout import (
    RANDOM_BYTES,
    decode_pointer,
    encode_pointer,
    is_segment_name,
    is_snapshot_id,
    segment_name,
    snapshot_id,
)
from tests.conformance import conforms

RANDOM = st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES)
WALLS = st.integers(0, (1 << 48) * 1_000_000 - 1)
ID = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"


def test_an_id_has_the_published_form() -> None:
    # 2016-07-30T22:36:16.385Z and the ten bytes, worked out by hand from the definition.
    assert snapshot_id(1_469_918_176_385 * 1_000_000, bytes(10)) == "01ARYZ6S41" + "0" * 16
    assert snapshot_id(0, bytes(9) + b"\x21") == "0" * 24 + "11"
    assert snapshot_id(0, b"\xff" * 10) == "0" * 10 + "Z" * 16


@given(WALLS, RANDOM)
def test_an_id_is_26_characters_of_its_alphabet_and_its_inputs_decide_it(wall_ns: int, randomness: bytes) -> None:
    made = snapshot_id(wall_ns, randomness)
    assert len(made) == 26
    assert set(made) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    assert is_snapshot_id(made)
    number = int("".join(format("0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(char), "05b") for char in made), 2)
    assert number.to_bytes(17, "big")[1:] == (wall_ns // 1_000_000).to_bytes(6, "big") + randomness


@given(WALLS, WALLS, RANDOM, RANDOM)
def test_ids_sort_by_the_millisecond_they_were_made_in(one: int, two: int, left: bytes, right: bytes) -> None:
    if one // 1_000_000 < two // 1_000_000:
        assert snapshot_id(one, left) < snapshot_id(two, right)
    elif one // 1_000_000 == two // 1_000_000:
        assert (snapshot_id(one, left) < snapshot_id(two, right)) == (left < right)


@pytest.mark.parametrize("wall_ns", [-1, -(10**30), 10**30, (1 << 48) * 1_000_000])
def test_a_clock_that_is_far_off_still_gives_an_id(wall_ns: int) -> None:
    assert is_snapshot_id(snapshot_id(wall_ns, bytes(10)))
    assert snapshot_id(wall_ns, bytes(10)) != snapshot_id(wall_ns, bytes(9) + b"\1")


@pytest.mark.parametrize("size", [0, 9, 11])
def test_an_id_from_too_few_or_too_many_random_bytes_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="10 random bytes"):
        snapshot_id(0, bytes(size))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ID[:-1],
        ID + "0",
        ID + "\n",
        "8" + ID[1:],
        ID.lower(),
        *(ID[:-1] + char for char in "ILOU/.\0 -_é"),
        "../" + ID[3:],
        "\N{ARABIC-INDIC DIGIT ZERO}" + ID[1:],
    ],
)
def test_what_is_no_id_is_not_taken_for_one(text: str) -> None:
    assert not is_snapshot_id(text)
    with pytest.raises(ValueError, match="snapshot id"):
        encode_pointer(text)
    with pytest.raises(ValueError, match="snapshot id"):
        segment_name(text, 0)


@conforms("003.PHY7")
@given(WALLS, RANDOM, st.integers(0, 999_999))
def test_a_segment_is_named_after_its_snapshot_and_its_number(wall_ns: int, randomness: bytes, number: int) -> None:
    snapshot = snapshot_id(wall_ns, randomness)
    name = segment_name(snapshot, number)
    assert name == f"seg_{snapshot}_{number}"
    assert is_segment_name(name)


@pytest.mark.parametrize("number", [-1, 1_000_000])
def test_a_segment_number_outside_its_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="number"):
        segment_name(ID, number)


@pytest.mark.parametrize(
    "text",
    ["", f"seg_{ID}", f"seg_{ID}_", f"seg_{ID}_01", f"seg_{ID}_1\n", f"seg_{ID}_1/..", f"SEG_{ID}_1", f"seg_{ID}_٣"],
)
def test_what_is_no_segment_name_is_not_taken_for_one(text: str) -> None:
    assert not is_segment_name(text)


def test_the_pointer_is_the_id_and_a_newline() -> None:
    assert encode_pointer(ID) == ID.encode() + b"\n"
    assert decode_pointer(ID.encode() + b"\n") == ID


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        ID.encode(),
        ID.encode() + b"\r\n",
        ID.encode() + b"\n\n",
        b"\n" + ID.encode(),
        b" " + ID.encode() + b"\n",
        ID.encode() + b" \n",
        ID.encode() + b"\n" + ID.encode() + b"\n",
        ID[:-1].encode() + b"\n",
        bytes(27),
        b"\xef\xbb\xbf" + ID.encode() + b"\n",
        b"../../../../../../etc/pwd\n",
        (ID + "\n").encode("utf-16"),
    ],
)
def test_a_torn_or_foreign_pointer_is_refused(data: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="The pointer of the index is damaged"):
        decode_pointer(data)
