"""The text of a result that is no chunk is that of its lines, however its file ends them."""

from __future__ import annotations

import pytest

from cairn.search.snippets import Excerpts
from cairn.search.types import LineMatch
from tests.search.trees import texts_of

FILES = {
    "ended": b"one\ntwo\n\nfour\n",
    "open": b"one\r\ntwo\nthree",
    "blank": b"\n\n\n",
    "single": b"one",
}


@pytest.mark.parametrize("context", [0, 1, 9])
def test_lines_are_shown_with_those_around_them_and_none_behind_the_last(context: int) -> None:
    with texts_of(FILES, 2, b"hidden\n") as texts:
        excerpts = Excerpts(texts.view)
        for path, data in FILES.items():
            lines = [line.removesuffix("\r") for line in data.decode().removesuffix("\n").split("\n")]
            for number, line in enumerate(lines, 1):
                hit = excerpts.of_lines(path, [LineMatch(path, number, 0, number, 0, line, (), 1)], context)
                first = max(1, number - context)
                assert hit.text.split("\n") == lines[first - 1 : number + context]
                assert (hit.start_line, hit.end_line) == (first, min(len(lines), number + context))
