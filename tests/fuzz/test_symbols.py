"""Every sample of every language, cut, doubled and scrambled: facts may go missing, but those given must hold."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cairn.core.types import Syntax
from cairn.syntax.analyze import analyze
from tests.syntax.fixtures import samples

FRAGMENTS = [b"(", b")", b"{", b"}", b"[", b"]", b'"', b"'", b"`", b"\n", b"\n\n    ", b"\t", b"/*", b"//", b"#", b"\\"]
FRAGMENTS += [
    b"class ",
    b"def ",
    b"import ",
    b"=",
    b":",
    b";",
    b",",
    b"<",
    b">",
    b"\xc3\xa9",
    b"\xff",
    b"\0",
    b"\r\n",
    b"@",
]


def broken(data: bytes, rng: random.Random) -> bytes:
    """One to six random edits of a program."""
    for _ in range(rng.randint(1, 6)):
        at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        to = min(to, at + 200)
        data = rng.choice(
            [
                data[:at] + data[to:],
                data[:at] + data[at:to] * 2 + data[to:],
                data[:at] + rng.choice(FRAGMENTS) * rng.choice([1, 1, 2, 30]) + data[at:],
                data[:at] + bytes(rng.sample(data[at:to], to - at)) + data[to:],
                data[:at],
                data[at:],
            ]
        )
    return data


def assert_sound(data: bytes, syntax: Syntax) -> None:
    """Whatever was found is where it says it is, inside what it says it is in."""
    lines = data.count(b"\n") + 1
    last_start = 0
    for index, symbol in enumerate(syntax.symbols):
        assert symbol.name
        assert 0 <= symbol.start_byte < symbol.end_byte <= len(data)
        assert symbol.start_byte <= symbol.name_byte < symbol.end_byte
        assert 1 <= symbol.start_line <= symbol.end_line <= lines
        assert symbol.start_line == data.count(b"\n", 0, symbol.start_byte) + 1
        assert last_start <= symbol.start_byte
        last_start = symbol.start_byte
        assert -1 <= symbol.parent < index
        if symbol.parent >= 0:
            parent = syntax.symbols[symbol.parent]
            assert parent.start_byte <= symbol.start_byte
            assert symbol.end_byte <= parent.end_byte
    for reference in syntax.references:
        assert reference.name
        line_start = data.rfind(b"\n", 0, reference.start_byte) + 1
        assert reference.line == data.count(b"\n", 0, reference.start_byte) + 1
        assert reference.column == reference.start_byte - line_start
        if reference.scope >= 0:
            scope = syntax.symbols[reference.scope]
            assert scope.start_byte <= reference.start_byte < scope.end_byte
    for first, last in syntax.partial:
        assert 1 <= first <= last <= lines


def check(sample: Path, seeds: range) -> None:
    whole = sample.read_bytes()
    for seed in seeds:
        data = broken(whole, random.Random(seed))
        syntax, chunks = analyze(data, sample.parent.name)
        where = f"{sample.parent.name}, seed {seed}"
        try:
            assert_sound(data, syntax)
        except AssertionError as problem:
            raise AssertionError(where) from problem
        assert b"".join(data[chunk.start_byte : chunk.end_byte] for chunk in chunks) == data, where
        assert (syntax, chunks) == analyze(data, sample.parent.name), where


@pytest.mark.parametrize("sample", samples(), ids=lambda path: path.parent.name)
def test_broken_programs_give_facts_that_hold(sample: Path) -> None:
    check(sample, range(4))


@pytest.mark.long
@pytest.mark.parametrize("sample", samples(), ids=lambda path: path.parent.name)
def test_thousands_of_broken_programs_give_facts_that_hold(sample: Path) -> None:
    check(sample, range(1_000, 1_300))
