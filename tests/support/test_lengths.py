"""A property draws less in the fast run, and all of its examples in the long one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lengths import DEEP, in_the_fast_run, shorten

PROJECT = Path(__file__).parent.parent.parent


def a_property(request: pytest.FixtureRequest, drawn: list[int]) -> tuple[pytest.Item, Callable[[], None]]:
    """A test that draws four hundred numbers, as pytest collects it."""

    @settings(max_examples=400)
    @given(st.integers())
    def draw(number: int) -> None:
        drawn.append(number)

    return pytest.Function.from_parent(request.node.parent, name="draw", callobj=draw), draw


def test_a_property_draws_a_quarter_in_the_fast_run(request: pytest.FixtureRequest) -> None:
    drawn: list[int] = []
    item, draw = a_property(request, drawn)
    shorten([item])
    draw()
    assert len(drawn) == 100


def test_a_test_of_the_long_run_draws_all(request: pytest.FixtureRequest) -> None:
    drawn: list[int] = []
    item, draw = a_property(request, drawn)
    item.add_marker("long")
    shorten([item])
    draw()
    assert len(drawn) == 400


def test_no_property_draws_fewer_than_twenty_unless_it_says_so() -> None:
    assert [in_the_fast_run(says) for says in (6, 20, 60, 100, 400)] == [6, 20, 20, 25, 100]


def test_the_long_run_draws_all_of_every_property() -> None:
    command = (PROJECT / "run.py").read_text("utf-8")
    assert f'"-m", "long or hypothesis", "--hypothesis-profile", "{DEEP}"' in command
