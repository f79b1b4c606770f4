"""The estimator beside a real tokenizer: how the figures are made, and what the kept ones say."""

from __future__ import annotations

import json

import pytest
from bench.tokens import PAGE, Passage, ratios

from cairn.search.budget import ESTIMATOR


def test_a_ratio_is_estimated_tokens_for_each_real_one() -> None:
    rows = ratios([Passage("go", "a", "one two", 2), Passage("go", "b", "one two", 1), Passage("c", "a", "x", 2)])
    assert [(row.language, row.passages, row.repositories, row.tokens) for row in rows] == [
        ("c", 1, 1, 2),
        ("go", 2, 2, 3),
        ("all", 3, 2, 5),
    ]
    assert [row.ratio for row in rows] == [0.5, pytest.approx(4 / 3, abs=0.001), 1.0]
    assert rows[1].nine_of_ten == 1.0
    assert ratios([]) == []


def test_the_kept_figures_are_within_a_tenth_in_every_language() -> None:
    kept = json.loads(PAGE.read_text("utf-8"))
    assert kept["estimator"] == ESTIMATOR
    assert len(kept["rows"]) >= 20
    assert all(abs(row["ratio"] - 1) <= 0.1 for row in kept["rows"])
