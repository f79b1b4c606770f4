"""How much the tests draw: the longest of them a share with `CAIRN_LONG_SHARE=4`, properties less in the fast run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import is_hypothesis_test, settings

T = TypeVar("T")
_SHARE = int(os.environ.get("CAIRN_LONG_SHARE", "1"))
# The profile with which a property draws as many examples as it says. Without it: a quarter, but not below the least.
DEEP = "deep"
_LEAST_EXAMPLES = 20


def at_length(count: int) -> int:
    """So many of them, or the share of this run."""
    return max(1, count // _SHARE)


def at_intervals(items: list[T]) -> list[T]:
    """All of them, or as many as the share of this run, spread over the whole."""
    return items[::_SHARE]


def in_the_fast_run(examples: int) -> int:
    """Return how many of its examples a property draws in the fast run."""
    return min(examples, max(_LEAST_EXAMPLES, examples // 4))


def shorten(items: Iterable[pytest.Item]) -> None:
    """Let each property among these tests draw what the fast run has time for; a test of the long run draws all."""
    properties = {
        item.obj: item.obj._hypothesis_internal_use_settings
        for item in items
        if isinstance(item, pytest.Function)
        and is_hypothesis_test(item.obj)
        and item.get_closest_marker("long") is None
    }
    for test, says in properties.items():
        # No public way changes what `@settings` said; `tests/support/test_lengths.py` sees when this one is gone.
        test._hypothesis_internal_use_settings = settings(says, max_examples=in_the_fast_run(says.max_examples))
