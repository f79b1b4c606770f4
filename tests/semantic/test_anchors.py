"""Anchors tell a place from one that an edit has moved."""

from __future__ import annotations

import pytest

from cairn.semantic.anchors import Span, anchors, lines_of, verified
from cairn.semantic.model import Occurrence, OccurrenceRole
from tests.conformance import conforms

TEXT = b"import os\r\nvalue = greet('\xc3\xa4', other)\n\n"


def occurrence_at(span: Span) -> Occurrence:
    found = anchors(lines_of(TEXT), span)
    assert found is not None
    return Occurrence("a.py", *span, OccurrenceRole.REFERENCE, "s", *found)


def test_the_text_on_both_sides_of_a_name_on_its_line() -> None:
    assert anchors(lines_of(TEXT), Span(2, 8, 2, 13)) == ("value = ", "('ä', other)")
    assert anchors(lines_of(TEXT), Span(1, 7, 1, 9)) == ("import ", "")


def test_a_character_that_is_cut_is_left_out() -> None:
    line = b"x" + b"\xc3\xa4" * 20 + b"name" + b"\xc3\xa4" * 20
    assert anchors([line + b"y"], Span(1, 41, 1, 45)) == ("ä" * 12, "ä" * 12)
    assert anchors([b"x" + line + b"y"], Span(1, 42, 1, 46)) == ("ä" * 12, "ä" * 12)
    odd = b"\xc3\xa4" * 20 + b"a" + b"name"
    assert anchors([odd], Span(1, 41, 1, 45)) == ("ä" * 11 + "a", "")


@pytest.mark.parametrize(
    "span", [Span(0, 0, 1, 1), Span(4, 1, 4, 1), Span(5, 0, 5, 0), Span(2, 0, 1, 0), Span(1, 10, 1, 11)]
)
def test_there_is_no_text_around_a_place_that_is_not_there(span: Span) -> None:
    assert anchors(lines_of(TEXT), span) is None


@conforms("002.DB4")
@pytest.mark.parametrize(
    "edited", [b"\n" + TEXT, TEXT.replace(b"value", b"values"), TEXT.replace(b", other", b""), b"", TEXT[12:]]
)
def test_an_edit_above_or_beside_a_place_is_noticed(edited: bytes) -> None:
    one = occurrence_at(Span(2, 8, 2, 13))
    assert verified(lines_of(TEXT), one)
    assert not verified(lines_of(edited), one)
