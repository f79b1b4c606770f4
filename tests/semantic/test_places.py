"""Places of a semantic index in our tree: folders as URIs, paths that lead out, lines that are counted otherwise."""

from __future__ import annotations

import pytest

from cairn.semantic.model import Context, Family, Occurrence, OccurrenceRole
from cairn.semantic.places import (
    Span,
    anchors,
    folder_of,
    is_counted_alike,
    is_empty,
    lines_of,
    path_of,
    span_of,
    text_at,
    verified,
)
from cairn.semantic.scip import Document, Encoding, Range
from tests.conformance import conforms

# --- Anchors tell a place from one that an edit has moved.


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


CONTEXT = Context("python:pack", Family.PYTHON, "pack", "demo", "pyproject.toml", "settings")


@pytest.mark.parametrize(
    ("said", "folder"),
    [
        ("file:///project/other", "other"),
        ("/project", "."),
        ("file:///project/with%20blank", "with blank"),
        ("file:///elsewhere", "pack"),
        ("", "pack"),
    ],
)
def test_paths_begin_where_the_index_says_or_at_the_context(said: str, folder: str) -> None:
    assert folder_of(said, "/project", CONTEXT) == folder


@pytest.mark.parametrize(
    ("written", "path"),
    [("a.py", "pack/a.py"), ("../a.py", "a.py"), ("../../a.py", None), ("/etc/passwd", None), ("", None)],
)
def test_a_path_that_leads_out_is_none(written: str, path: str | None) -> None:
    assert path_of("pack", written) == path


def test_a_lone_return_or_a_separator_of_lines_is_counted_by_some_and_not_by_us() -> None:
    assert is_counted_alike(b"a\r\nb\n", Family.PYTHON)
    assert not is_counted_alike(b"a\rb\n", Family.PYTHON)
    separated = "a\u2028b\n".encode()
    assert is_counted_alike(separated, Family.PYTHON)
    assert not is_counted_alike(separated, Family.TYPESCRIPT)
    marked = "\ufeffa\n".encode()
    assert [is_counted_alike(marked, family) for family in (Family.PYTHON, Family.TYPESCRIPT, Family.GO)] == [
        True,
        True,
        False,
    ]


def test_columns_become_bytes_and_a_line_that_is_not_there_is_no_place() -> None:
    lines = ["ä = greet".encode()]
    document = Document("a.py", "python", Encoding.UTF16, (), ())
    span = span_of(Range(0, 4, 0, 9), document, lines, 0)
    assert span == Span(1, 5, 1, 10)
    assert text_at(lines, span) == "greet"
    assert not is_empty(span)
    assert is_empty(Span(1, 5, 1, 5))
    assert text_at(lines, Span(1, 5, 2, 0)) == ""
    assert span_of(Range(1, 0, 1, 1), document, lines, 0) is None
