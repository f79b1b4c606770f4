"""Answers to agents name the definition that says most, and show the lines of it that answer and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.search.searcher import Searcher
from cairn.search.types import Group, Hit, Mode
from tests.search.test_searcher import ask, searching
from tests.sync.desk import Desk, extract_here

_BODY = "".join(f"    value_{n} = step({n})\n" for n in range(30))
CODE = (
    "def alpha(account):\n    return account\n\n\n"
    "# Refuse a lender whose shelf is empty.\n\n"
    f"def guard(shelf):\n{_BODY}    lender = shelf.lender\n{_BODY}    return lender\n\n\n"
    "def omega(account):\n    return account\n"
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.put("src/lend.py", "def lend(book):\n    return book\n")
    desk.index()
    return desk


def told(searcher: Searcher, query: str, mode: Mode = Mode.HYBRID, group: Group = Group.SYMBOL) -> list[Hit]:
    return list(searcher.search(replace(ask(query, mode, group=group, limit=20), extracts=True)).hits)


def test_the_definition_is_shown_from_its_signature_with_the_lines_that_matched_elided_in_between(desk: Desk) -> None:
    desk.put("src/shelf.py", CODE)
    desk.sync()
    with searching(desk) as searcher:
        hit = told(searcher, "refuse lender empty shelf")[0]
    assert (hit.path, hit.symbol, hit.kind) == ("src/shelf.py", "guard", "function")
    first = CODE.split("\n").index("def guard(shelf):") + 1
    assert hit.definition == (first, first + 62, "def guard(shelf)")
    assert [(one.start_line, one.text.strip()) for one in hit.extracts] == [(first + 31, "lender = shelf.lender")]
    # The lines of the result itself are of the same definition.
    assert first <= hit.start_line <= hit.end_line <= first + 62


def test_a_short_definition_is_shown_whole_and_a_definition_far_down_the_list_by_its_signature(desk: Desk) -> None:
    for number in range(6):
        desk.put(f"src/late_{number}.py", f"def pay_{number}(fine):\n    settled = fine\n    return settled\n")
    desk.sync()
    with searching(desk) as searcher:
        hits = [hit for hit in told(searcher, "pay fine settled") if hit.symbol.startswith("pay_")]
    assert hits[0].extracts[0].text == f"def {hits[0].symbol}(fine):\n    settled = fine\n    return settled"
    assert hits[-1].extracts == ()
    assert hits[-1].definition == (1, 3, f"def {hits[-1].symbol}(fine)")


def test_definitions_are_scored_by_themselves_and_not_by_their_file(desk: Desk) -> None:
    long = "".join(f"    zebra({n}, {'x' * 400!r})\n" for n in range(12))
    desk.put(
        "src/yard.py", f"def zebra_first():\n{long}\n\ndef quagga():\n{long.replace('zebra', 'horse')}    zebra()\n"
    )
    desk.put("src/paint.py", f"def paint_zebra():\n{long}")
    desk.sync()
    with searching(desk) as searcher:
        names = [hit.symbol for hit in told(searcher, "zebra")]
        scores = [hit.score for hit in told(searcher, "zebra")]
    assert names.index("zebra_first") < names.index("paint_zebra") < names.index("quagga")
    assert scores == sorted(scores, reverse=True)


def test_a_pattern_shows_every_line_that_matches_in_each_file(desk: Desk) -> None:
    desk.put("src/far.py", "mark = 1\n" + "pass\n" * 40 + "mark = 2\n" + "pass\n" * 40 + "mark = 3\n")
    desk.sync()
    with searching(desk) as searcher:
        [hit] = told(searcher, "^mark", Mode.REGEX, Group.FILE)
        assert [(one.start_line, one.text) for one in hit.extracts] == [
            (1, "mark = 1"),
            (42, "mark = 2"),
            (83, "mark = 3"),
        ]
        # As many as fit, and at least what fits of the first file.
        request = replace(ask("^mark", Mode.REGEX, max_tokens=13), extracts=True)
        found = searcher.search(request)
    assert found.shortened
    assert len(found.hits[0].extracts) == 2
    assert found.hits[0].match_lines == (1, 42, 83)
