"""Lines that no parser understood, taken out of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cairn.search.unparsed import _of_lines


@given(st.binary(max_size=40).map(lambda raw: raw.replace(b"a", b"\n")), st.integers(1, 9), st.integers(0, 5))
def test_lines_are_those_that_an_editor_counts(text: bytes, first: int, more: int) -> None:
    lines = text.split(b"\n")
    assert _of_lines(memoryview(text), [(first, first + more)]).split(b"\n") == (
        lines[first - 1 : first + more] or [b""]
    )
