"""Settings are read with patience, and what is none is nothing."""

from __future__ import annotations

import pytest

from cairn.syntax.settings import json_of, mapping, text, toml_of


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\ufeff{"a": [1, 2,],}', {"a": [1, 2]}),
        ('// one\n{"a": /* two */ "http://x, }"}', {"a": "http://x, }"}),
        ('{"a": "\\"//no"}', {"a": '"//no'}),
        ("", None),
        ("{", None),
        ('{"a": 1} /* open', None),
        ("[" * 100_000, None),
        ('"' + "\\" * 100_001, None),
        ("/*" * 100_000, None),
        ("," * 100_000, None),
    ],
)
def test_comments_and_commas_are_no_matter(written: str, value: object) -> None:
    assert json_of(written) == value


def test_what_is_not_of_the_kind_is_empty() -> None:
    assert (mapping([1]), mapping({"a": 1}), text(5), text("x")) == ({}, {"a": 1}, "", "x")


def test_tables_are_read() -> None:
    assert toml_of('[a]\nb = "c"\n') == {"a": {"b": "c"}}


@pytest.mark.parametrize(
    "text",
    ["= 1", "[" * 5_000, "a = " + "[" * 5_000, "a = " + "9" * 10_000, ".".join("a" * 30_000) + " = 1", "\x00"],
)
def test_what_cannot_be_read_is_empty_and_takes_no_time(text: str) -> None:
    assert toml_of(text) == {}
