"""Whatever the bytes are, the outcome is the tombstones that were written or one typed error."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_TOMBSTONE_BYTES, MAX_TOMBSTONES_PER_SNAPSHOT, MIB
from cairn.errors import CairnError, StoreCorrupt
from cairn.store.format.tombstones import TombstoneReason, decode_tombstones, encode_tombstones, is_path_key
from tests.lengths import at_length

SECONDS = 10.0
PIECES = st.sampled_from(
    [
        '{"path_key":"',
        '","reason":"',
        '"}\n',
        '"}',
        "\n",
        "delete",
        "replace",
        "rename_from",
        "a",
        "b/c",
        "..",
        "/",
        ".",
        "é",
        "e\u0301",
        "\\n",
        "\\u0061",
        "\\",
        '\\"',
        "\u2028",
        "\0",
        '{"path_key":"a","reason":"delete"}\n',
        '{"path_key":"b","reason":"replace"}\n',
        '{"path_key":"\\u0001","reason":"rename_from"}\n',
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join).map(str.encode)
LINES = st.lists(
    st.tuples(st.lists(PIECES, max_size=3).map("".join), st.sampled_from(["delete", "replace", "rename_from", "x"])),
    max_size=4,
).map(lambda pairs: "".join(f'{{"path_key":"{key}","reason":"{why}"}}\n' for key, why in sorted(pairs)).encode())


def fit_to_show(error: CairnError) -> bool:
    assert error.sentence.isprintable()
    assert len(error.sentence) < 300
    return True


def check(data: bytes) -> bool:
    """Whether it was read; then it is written again byte for byte."""
    try:
        found = decode_tombstones(data)
    except StoreCorrupt as error:
        return not fit_to_show(error)
    assert encode_tombstones(found) == data
    assert len(found) == len({key for key, _ in found}) == data.count(b"\n")
    for key, reason in found:
        assert is_path_key(key)
        assert reason in set(TombstoneReason)
    return True


@given(st.binary(min_size=1, max_size=200))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_arbitrary_bytes_end_in_one_error(data: bytes) -> None:
    assert not check(data)


@given(TEXTS | LINES)
@settings(max_examples=133, derandomize=True, deadline=None)
def test_pieces_of_lines_are_read_whole_or_refused(data: bytes) -> None:
    check(data)


def test_every_flipped_bit_is_refused_or_gives_another_file_that_is_sound_in_itself() -> None:
    # The digest in the manifest catches these; here it is enough that nothing half right comes out.
    data = b'{"path_key":"a\\"b.py","reason":"replace"}\n{"path_key":"src/m.py","reason":"delete"}\n'
    assert check(data)
    read = 0
    for position in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        read += check(bytes(flipped))
    assert 0 < read < len(data) * 2, "letters of a path may change, the frame may not"


# Made when they are needed: hundreds of MiB that every worker of a run would hold, and copy with every fork.
BOMBS: dict[str, Callable[[], bytes]] = {
    "newlines": lambda: b"\n" * MAX_TOMBSTONE_BYTES,
    "brackets": lambda: b"[" * MAX_TOMBSTONE_BYTES,
    "brackets in a line": lambda: b"[" * 70_000 + b"\n",
    "one line": lambda: b'{"path_key":"' + b"a" * (MAX_TOMBSTONE_BYTES - 40) + b'","reason":"delete"}\n',
    "one line of quotes": lambda: (
        b'{"path_key":"' + b'\\"' * (MAX_TOMBSTONE_BYTES // 2 - 40) + b'","reason":"delete"}\n'
    ),
    "empty objects": lambda: b"{}," * 10_000_000,
    "wide letters": lambda: "\U0001d160".encode() + b"a" * (MAX_TOMBSTONE_BYTES - 8),
    "not UTF-8": lambda: b"\xff" * MAX_TOMBSTONE_BYTES,
    "a path of dots": lambda: b'{"path_key":"' + b"./" * 6_000 + b'a","reason":"delete"}\n',
}


@pytest.mark.parametrize("name", BOMBS)
def test_bytes_made_to_hurt_cost_little_time_and_memory(name: str) -> None:
    data = BOMBS[name]()
    tracemalloc.start()
    try:
        started = time.process_time()
        assert not check(data)
        assert time.process_time() - started < SECONDS
        assert tracemalloc.get_traced_memory()[1] < 256 * MIB
    finally:
        tracemalloc.stop()


def test_long_paths_with_a_wide_letter_each_stay_within_memory() -> None:
    # One letter beyond the first 65,536 makes its whole text four times as large.
    lines = (f'{{"path_key":"{i:05}{"a" * 12_000}\U0001d54f","reason":"delete"}}\n' for i in range(4_100))
    data = "".join(lines).encode()
    assert MAX_TOMBSTONE_BYTES - MIB < len(data) < MAX_TOMBSTONE_BYTES
    tracemalloc.start()
    try:
        assert len(decode_tombstones(data)) == 4_100
        assert tracemalloc.get_traced_memory()[1] < 256 * MIB
    finally:
        tracemalloc.stop()


def test_as_many_as_a_snapshot_may_hold_are_read_in_good_time() -> None:
    lines = (f'{{"path_key":"src/{i:06}.py","reason":"delete"}}\n' for i in range(MAX_TOMBSTONES_PER_SNAPSHOT))
    data = "".join(lines).encode()
    started = time.process_time()
    assert len(decode_tombstones(data)) == MAX_TOMBSTONES_PER_SNAPSHOT
    assert time.process_time() - started < SECONDS


@pytest.mark.long
@given(TEXTS | LINES | st.binary(max_size=400))
@settings(max_examples=at_length(50_000), derandomize=True, deadline=None)
def test_many_more_files(data: bytes) -> None:
    check(data)
