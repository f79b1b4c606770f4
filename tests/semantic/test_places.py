"""Places of a semantic index in our tree: folders as URIs, paths that lead out, lines that are counted otherwise."""

from __future__ import annotations

import pytest

from cairn.semantic.anchors import Span
from cairn.semantic.model import Context, Family
from cairn.semantic.places import folder_of, is_counted_alike, is_empty, path_of, span_of, text_at
from cairn.semantic.scip import Document, Encoding, Range

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
