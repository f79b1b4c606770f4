"""How many tokens a text is, as estimated, and what fits."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.search.budget import UNITS, fit, token_units, tokens_in

MANY = settings(max_examples=150, derandomize=True, deadline=None)


class Result(NamedTuple):
    """A result as far as its size goes."""

    path: str
    symbol: str
    shown: str


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("word", 1),
        ("two words", 2),
        ("camelCaseName", 3),
        ("HTTPServer", 2),
        ("snake_case", 3),
        ("1234567", 5),
        ("x = f(y)\n", 6),
        ("    indented", 3),
        ("======================", 4),
    ],
)
def test_words_signs_numbers_and_lines_are_what_a_text_is_made_of(text: str, tokens: int) -> None:
    assert tokens_in(text) == tokens


def test_nothing_that_is_written_is_free_for_long() -> None:
    for sign in ("a", "A", "7", "\x00", "{", "\n", "é", "漢", "\u202e"):
        assert tokens_in(sign * 1_000) >= 100, sign


@MANY
@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=40), max_size=6))
def test_a_text_costs_what_its_lines_cost_together(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    assert token_units(text) == sum(token_units(f"{line}\n") for line in lines)
    assert UNITS * (tokens_in(text) - 1) < token_units(text) <= UNITS * tokens_in(text)


@MANY
@given(st.lists(st.integers(0, 50), max_size=8), st.integers(0, 60))
def test_whole_results_are_kept_from_the_first_while_they_fit(sizes: list[int], most: int) -> None:
    results = [Result("p", "s", " x" * size) for size in sizes]
    kept = fit(results, most)
    costs = [tokens_in("ps" + result.shown) for result in results]
    assert list(kept) == results[: len(kept)]
    assert sum(costs[: len(kept)]) <= most
    assert len(kept) == len(results) or sum(costs[: len(kept) + 1]) > most
