from __future__ import annotations

from itertools import pairwise

import pytest

from cairn.core.limits import MAX_LINE_BYTES
from cairn.syntax.chunks import MAX_ROWS, line_cost, measure

LONG = b"x" * (MAX_LINE_BYTES * 2 + 5)


@pytest.mark.parametrize(
    "data",
    [
        b"a",
        b"a\n",
        b"\n",
        b"   ",
        b"a b\n\tc\n",
        b"a\nb\n  ",
        b"a\r\nb\r\n",
        b"a\rb\nc\r",
        b"\n\n\nx",
        "é = 1\n".encode(),
        b"\x0b\x0c\x00\x1c\n\x85\n",
        LONG,
        b"a\n" + LONG + b"\n \n",
        b"b \n" * (MAX_ROWS + 10) + b"end",
    ],
)
def test_rows_tile_the_file_and_weigh_what_is_not_blank(data: bytes) -> None:
    starts, weights = measure(data)
    assert starts[0] == weights[0] == 0
    assert starts[-1] == len(data)
    assert starts == sorted(set(starts))
    assert len(weights) == len(starts)
    assert weights[-1] == sum(byte not in b" \t\n\r\v\f" for byte in data)
    assert all(b - a <= MAX_LINE_BYTES + 1 for a, b in pairwise(starts))
    for row in range(0, len(starts), max(1, len(starts) // 50)):
        assert weights[row] == len(b"".join(data[: starts[row]].split()))


def test_every_line_begins_a_row_and_nothing_else_does() -> None:
    data = b"one\r\ntwo\rstill two\n\n  four\nfive"
    assert measure(data).starts == [0, 5, 19, 20, 27, 31]


def test_a_long_line_is_several_rows_and_its_newline_is_never_alone() -> None:
    line = b"x" * MAX_LINE_BYTES
    assert measure(line + b"\n").starts == [0, MAX_LINE_BYTES + 1]
    assert measure(line + b"y\n").starts == [0, MAX_LINE_BYTES, MAX_LINE_BYTES + 2]


def test_a_blank_line_and_less_indentation_make_a_cut_cheaper_and_a_closing_bracket_dearer() -> None:
    data = b"a\n\nafter a blank\nafter text\n    indented\n\n    indented after a blank\n}\n   \n*/\n"
    rows = measure(data)
    costs = {row: line_cost(data, rows, row) for row in range(1, 10)}
    blank, best, text, deep, _, deep_after_blank, bracket, spaces, comment = costs.values()
    assert best < text < deep_after_blank < deep < bracket
    assert bracket == blank == spaces == comment
