"""Which files a query may find."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.search.filters import file_filter
from cairn.search.places import PathTable, places
from cairn.search.query import parse

FILES = [
    ("README.md", "markdown"),
    ("pyproject.toml", "toml"),
    ("src/a.go", "go"),
    ("src/a.py", "python"),
    ("src/old/b.py", "python"),
    ("tests/test_a.py", "python"),
]
PATHS, LANGUAGES = [path for path, _ in FILES], [language for _, language in FILES]


@pytest.mark.parametrize(
    ("operators", "kept"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("lang:python", [3, 4, 5]),
        ("lang:go,toml", [1, 2]),
        ("path:src", [2, 3, 4]),
        ("path:src -path:old", [2, 3]),
        ("-path:*.py", [0, 1, 2]),
        ("scope:runtime", [2, 3, 4]),
        ("scope:tests", [5]),
        ("scope:docs", [0]),
        ("scope:config", [1]),
        ("lang:py path:src path:tests -path:old scope:runtime", [3]),
        ("lang:rust", []),
    ],
)
def test_language_globs_and_scope_all_have_to_agree(operators: str, kept: list[int]) -> None:
    chosen = file_filter(parse(f"x {operators}"))
    table = PathTable(PATHS)
    assert chosen.keep(table, LANGUAGES).nonzero()[0].tolist() == kept
    assert chosen.keep(table, LANGUAGES, places(table)).nonzero()[0].tolist() == kept
    assert [number for number, file in enumerate(FILES) if chosen(*file)] == kept
    assert chosen.takes_all == (operators == "")
    assert chosen.asks_language == ("lang:" in operators)


def test_languages_need_not_be_known_when_nobody_asks() -> None:
    assert file_filter(parse("x path:src")).keep(PathTable(PATHS)).sum() == 3


@given(
    st.lists(st.text("abt_./sepcdo", min_size=1, max_size=14), max_size=8),
    st.sampled_from(["path:a*", "-path:t*/**", "scope:runtime", "scope:tests", "scope:docs path:*.c"]),
)
def test_all_at_once_gives_what_one_by_one_gives(paths: list[str], operators: str) -> None:
    chosen = file_filter(parse(f"x {operators}"))
    assert chosen.keep(PathTable(paths), [""] * len(paths)).tolist() == [chosen(path, "") for path in paths]


def test_sixty_thousand_paths_are_filtered_at_once() -> None:
    paths = sorted(f"src/mod{number % 977}/{number}_{'test' if number % 3 else 'x'}.go" for number in range(60_000))
    table = PathTable(paths)
    chosen = file_filter(parse("x path:src/** -path:*9_x.go scope:tests"))
    before = time.process_time()
    kept = chosen.keep(table)
    assert kept.sum() == sum("_test" in path for path in paths)
    # Measured: 0.05 s. This is only to catch a scan that is not one.
    assert time.process_time() - before < 2
