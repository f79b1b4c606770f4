"""Lines of a file as they were indexed: byte for byte, and counted as everywhere else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.graph.outline import FileText, passage
from tests.graph.code import code_view, file_of

SOURCE = "class Lease:\n    def steal(self):\n        return 1\n\n\nLIMIT = 3\n"


def of(text: str, first: int = 1, last: int | None = None, key: str = "a.py") -> FileText:
    with code_view({key: text}) as view:
        return passage(view, file_of(view, key), (first, last))


def test_a_whole_file_comes_without_its_last_line_end() -> None:
    found = of(SOURCE)
    assert found.text + "\n" == SOURCE
    assert (found.start_line, found.end_line, found.lines, found.language) == (1, 6, 6, "python")


def test_some_lines_come_with_the_definitions_that_they_cross() -> None:
    found = of(SOURCE, 3, 4)
    assert (found.text, found.end_line) == ("        return 1\n", 4)
    assert [one.qualified for one in found.definitions] == ["Lease", "Lease.steal"]
    assert [one.qualified for one in of(SOURCE, 4, 5).definitions] == []


def test_lines_beyond_the_end_are_not_there() -> None:
    assert (of(SOURCE, 6, 99).text, of(SOURCE, 6, 99).end_line) == ("LIMIT = 3", 6)
    beyond = of(SOURCE, 7, 9)
    assert (beyond.text, beyond.start_line > beyond.lines) == ("", True)


def test_an_empty_file_has_no_line() -> None:
    found = of("")
    assert (found.text, found.start_line, found.end_line, found.lines) == ("", 1, 0, 0)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.text("ab\r\n\t é\u2028", max_size=40), st.integers(1, 8), st.integers(0, 8))
def test_any_lines_are_those_of_the_file(text: str, first: int, more: int) -> None:
    found = of(text, first, first + more, "a.txt")
    lines = text.encode().split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    assert found.text.encode() == b"\n".join(lines[first - 1 : first + more])
    assert found.lines == len(lines)
