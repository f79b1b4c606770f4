"""TOML in settings that others wrote."""

from __future__ import annotations

import pytest

from cairn.graph.tomls import loads


def test_tables_are_read() -> None:
    assert loads('[a]\nb = "c"\n') == {"a": {"b": "c"}}


@pytest.mark.parametrize(
    "text",
    ["= 1", "[" * 5_000, "a = " + "[" * 5_000, "a = " + "9" * 10_000, ".".join("a" * 30_000) + " = 1", "\x00"],
)
def test_what_cannot_be_read_is_empty_and_takes_no_time(text: str) -> None:
    assert loads(text) == {}
