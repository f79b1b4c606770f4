"""Names as people say them, without the marks that a language writes around them."""

from __future__ import annotations

import pytest

from cairn.syntax.names import name_of


@pytest.mark.parametrize(
    ("node_type", "text", "name"),
    [
        ("simple_symbol", ":size", "size"),
        ("atom", ":size", "size"),
        ("keyword", "size: ", "size"),
        ("string", '"offset"', "offset"),
        ("inline", "Closed ##", "Closed"),
        ("inline", "Issue #1", "Issue #1"),
        ("inline", "two\n  lines", "two lines"),
        ("operator", "<=>", "<=>"),
        ("operator", "<>", "<>"),
        ("identifier", "größe", "größe"),
    ],
)
def test_a_name_loses_its_marks_and_nothing_else(node_type: str, text: str, name: str) -> None:
    assert name_of(node_type, text) == name


def test_a_name_is_bounded_and_stands_on_one_line() -> None:
    name = name_of("selectors", ".a,\n" * 10_000)
    assert len(name) <= 200
    assert "\n" not in name
