"""Bytes made to hurt the splitter: it must end soon, in sound chunks, and never with an error."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable

import pytest

from cairn.core.limits import MAX_CHUNKS_PER_FILE, MAX_LINE_BYTES, MIB
from cairn.syntax.chunks import split
from tests.lengths import at_length
from tests.syntax.test_chunks import assert_sound, parse

SECONDS = 2.0

# Made when they are needed: hundreds of MiB that every worker of a run would hold, and copy with every fork.
BOMBS: dict[str, Callable[[], bytes]] = {
    "one line": lambda: b"a" * (10 * MIB),
    "one line of two-byte characters": lambda: "é".encode() * (5 * MIB),
    "one line of continuation bytes": lambda: b"\x80" * (10 * MIB),
    "one line of blanks": lambda: b" " * (10 * MIB),
    "only newlines": lambda: b"\n" * (10 * MIB),
    "one letter a line": lambda: b"a\n" * (5 * MIB),
    "deep indentation": lambda: (b" " * 1000 + b"x\n") * 10_000,
    "NULs and newlines": lambda: b"\0\n" * MIB,
    "carriage returns": lambda: b"a\r" * (5 * MIB),
    "lines at the wrap": lambda: (b"b" * MAX_LINE_BYTES + b"\n") * 600,
    "lines one above the wrap": lambda: (b"b" * (MAX_LINE_BYTES + 1) + b"\r\n") * 600,
    "all bytes": lambda: bytes(range(256)) * (40 * 1024),
}


@pytest.mark.parametrize("name", BOMBS)
def test_ten_mebibytes_of_anything_end_within_two_seconds(name: str) -> None:
    data = BOMBS[name]()
    begin = time.process_time()
    chunks = split(data, None, ())
    assert time.process_time() - begin < SECONDS
    assert b"".join(data[chunk.start_byte : chunk.end_byte] for chunk in chunks) == data
    assert max(chunk.end_byte - chunk.start_byte for chunk in chunks) <= MAX_LINE_BYTES + 1
    assert chunks[-1].end_line == data.count(b"\n") + (not data.endswith(b"\n"))


def test_ten_mebibytes_on_one_line_stay_below_the_limit_of_chunks() -> None:
    assert len(split(BOMBS["one line"](), None, ())) <= MAX_CHUNKS_PER_FILE


@pytest.mark.parametrize("name", ["only newlines", "one letter a line", "one line"])
def test_the_memory_for_a_bomb_is_bounded(name: str) -> None:
    tracemalloc.start()
    try:
        split(BOMBS[name](), None, ())
        assert tracemalloc.get_traced_memory()[1] < 128 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("between", [b"", b"\n"])
@pytest.mark.parametrize(("language", "unit"), [("json", b"["), ("javascript", b"("), ("python", b"["), ("cpp", b"{")])
def test_a_hundred_thousand_brackets_end_within_two_seconds(language: str, unit: bytes, between: bytes) -> None:
    data = (unit + between) * 100_000
    root = parse(language, data)
    begin = time.process_time()
    chunks = split(data, root, ())
    assert time.process_time() - begin < SECONDS
    assert b"".join(data[chunk.start_byte : chunk.end_byte] for chunk in chunks) == data


@pytest.mark.parametrize(
    ("begin", "child", "count", "end"),
    [(b"[", b"1,", MIB, b"1]"), (b"[\n", b"1,\n", 300_000, b"1]"), (b"[", b"[],\n", 200_000, b"")],
)
def test_a_node_with_a_million_children_ends_within_two_seconds(
    begin: bytes, child: bytes, count: int, end: bytes
) -> None:
    data = begin + child * count + end
    root = parse("json", data)
    began = time.process_time()
    chunks = split(data, root, ())
    assert time.process_time() - began < SECONDS
    assert b"".join(data[chunk.start_byte : chunk.end_byte] for chunk in chunks) == data


PIECES = [
    b"\n", b"\r\n", b"\r", b"\0", b"\xff\xfe", b"\xc3", b"\xe2\x82\xac", b"    ", b"\t", b"{", b"}", b"(", b")", b"[",
    b"]", b'"', b"'", b'"""', b"/*", b"*/", b"//", b"#", b"def f():\n", b"class C {\n", b"function f() {\n", b"if (x)",
    b"else", b"end\n", b"@a\n", b"x" * 700, b"x" * (MAX_LINE_BYTES + 3), b"\n" * 300, b"=> ", b"template <class T>\n",
]  # fmt: skip


def random_bytes(seed: int) -> bytes:
    chance = random.Random(seed)
    return b"".join(chance.choice(PIECES) * chance.randint(1, 3) for _ in range(chance.randint(1, 250)))


def check(seed: int) -> None:
    data = random_bytes(seed)
    assert_sound(data, split(data, None, ()))
    for language in ("python", "javascript", "cpp", "rust", "json"):
        assert_sound(data, split(data, parse(language, data), ()))


def test_torn_code_is_split_soundly() -> None:
    for seed in range(20):
        check(seed)


@pytest.mark.long
def test_much_more_torn_code_is_split_soundly() -> None:
    for seed in range(1_000, 1_000 + at_length(1_000)):
        check(seed)
