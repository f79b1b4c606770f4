"""Sections come back as they were written, and a file that is not exactly what a writer makes is refused."""

from __future__ import annotations

import struct
import zlib
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.format.columns import (
    ALIGNMENT,
    CONTAINER_FORMAT,
    MAGIC,
    MOST_SECTIONS,
    Section,
    container_version,
    read_container,
    write_container,
)
from cairn.store.format.document import SEGMENT_DATA, reading_newer
from tests.store.disks import MemoryDisk
from tests.store.raising import raised

SECTIONS: list[Section] = [("text", b"hello\n"), ("none", b""), ("refs.at", b"12345678" * 9), ("z", b"\0")]


def container(sections: list[Section]) -> bytes:
    fs = MemoryDisk()
    with fs.create("file") as out:
        written = write_container(out, sections)
    data = fs.read("file", 1 << 30)
    assert len(data) == written
    return data


def read(data: bytes) -> dict[str, bytes]:
    return {name: bytes(view) for name, view in read_container(memoryview(data)).items()}


def resummed(data: bytearray) -> bytes:
    """With the check sum that a writer who meant it would have made."""
    (count,) = struct.unpack_from("<I", data, 12)
    table = bytes(data[32 : 32 + 40 * count])
    struct.pack_into("<I", data, 24, zlib.crc32(bytes(data[:24]) + table))
    return bytes(data)


GOOD = container(SECTIONS)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z.]{0,23}", fullmatch=True), st.binary(max_size=200), max_size=6))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_sections_come_back_as_they_were(sections: dict[str, bytes]) -> None:
    assert read(container(list(sections.items()))) == sections


def test_sections_are_aligned_in_the_order_they_were_given_and_are_views_of_the_file() -> None:
    data = memoryview(GOOD)
    found = read_container(data)
    assert list(found) == [name for name, _ in SECTIONS]
    for name, view in found.items():
        assert view.obj is GOOD, name
        assert view.readonly
    for name, content in SECTIONS:
        if content:
            assert any(GOOD[at:].startswith(bytes(content)) for at in range(0, len(GOOD), ALIGNMENT)), name


def test_numbers_are_written_as_their_bytes() -> None:
    assert read(container([("n", memoryview(array("I", [1, 2])))])) == {"n": struct.pack("<II", 1, 2)}


def test_a_container_may_hold_nothing() -> None:
    assert read(container([])) == {}


def test_sections_that_nobody_knows_are_there_and_do_no_harm() -> None:
    assert read(container([*SECTIONS, ("from.the.future", b"x")]))["text"] == b"hello\n"


@pytest.mark.parametrize("name", ["", "A", "a b", "a_b", ".a", "é", "a" * 25, "a\0"])
def test_a_bad_name_is_refused_by_the_writer(name: str) -> None:
    with pytest.raises(ValueError, match="different names"):
        container([(name, b"")])


def test_a_name_is_used_once_and_there_are_not_too_many() -> None:
    with pytest.raises(ValueError, match="different names"):
        container([("a", b""), ("a", b"x")])
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [x + y + z for x in letters for y in letters for z in letters][: MOST_SECTIONS + 1]
    with pytest.raises(ValueError, match="different names"):
        container([(name, b"") for name in names])
    assert len(read(container([(name, b"") for name in names[:-1]]))) == MOST_SECTIONS


@pytest.mark.parametrize("length", range(len(GOOD)))
def test_a_file_cut_anywhere_is_refused(length: int) -> None:
    with pytest.raises(StoreCorrupt):
        read_container(memoryview(GOOD)[:length])


def test_a_file_that_is_too_long_is_refused() -> None:
    with pytest.raises(StoreCorrupt, match="length"):
        read(GOOD + b"\0")


@pytest.mark.parametrize("at", range(32 + 40 * len(SECTIONS)))
def test_a_flipped_bit_in_header_or_table_is_damage_and_never_another_version(at: int) -> None:
    for bit in range(8):
        data = bytearray(GOOD)
        data[at] ^= 1 << bit
        with pytest.raises(StoreCorrupt):
            read(bytes(data))


def broken(at: int, kind: str, value: object) -> bytes:
    data = bytearray(GOOD)
    struct.pack_into(f"<{kind}", data, at, value)
    return resummed(data)


@pytest.mark.parametrize("version", [0, CONTAINER_FORMAT + 1, 2**32 - 1])
def test_a_format_of_another_time_is_named(version: int) -> None:
    with pytest.raises(Incompatible, match=f"version {version};"):
        read(broken(8, "I", version))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "too short"),
        (bytes(100), "another kind"),
        (MAGIC.upper() + GOOD[8:], "another kind"),
        (broken(12, "I", len(SECTIONS) - 1), "not where they must be"),
        (GOOD[:12] + struct.pack("<I", 2**32 - 1) + GOOD[16:], "does not fit"),
        (GOOD[:12] + struct.pack("<I", 5) + GOOD[16:], "another check sum"),
        (broken(28, "I", 1), "another check sum"),
        (broken(32 + 24, "Q", 0), "not where they must be"),
        (broken(32 + 24, "Q", 2**64 - 1), "not where they must be"),
        (broken(32 + 32, "Q", 5), "between its sections"),
        (broken(32 + 32, "Q", 2**64 - 1), "not where they must be"),
        (broken(32, "24s", b"TEXT"), "bad names"),
        (broken(32, "24s", b""), "bad names"),
        (broken(32, "24s", b"te\0t"), "bad names"),
        (broken(32, "24s", b"z"), "bad names"),
        (broken(GOOD.index(b"hello\n") + 6, "B", 1), "between its sections"),
    ],
)
def test_whatever_a_writer_would_not_make_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(StoreCorrupt, match=why):
        read(data)


def test_the_size_is_compared_before_anything_behind_the_header_is_looked_at() -> None:
    # The reader of a map dies when it touches a page that a shortened file has lost: a wrong table must not matter yet.
    cut = bytearray(container([("text", bytes(1 << 16))])[:4096])
    cut[32:] = bytes(len(cut) - 32)
    with pytest.raises(StoreCorrupt, match="length"):
        read(bytes(cut))


def test_a_container_of_a_later_version_is_read_where_somebody_asked_for_it() -> None:
    with raised(SEGMENT_DATA, written=CONTAINER_FORMAT + 1):
        data = memoryview(container([("a", b"known"), ("later", b"unknown")]))
    with reading_newer() as met:
        assert bytes(read_container(data)["a"]) == b"known"
    assert container_version(data) == CONTAINER_FORMAT + 1
    assert met == {SEGMENT_DATA.name: CONTAINER_FORMAT + 1}
    with pytest.raises(Incompatible):
        read_container(data)
