"""File states against a slow reference on random graphs, and the rules one by one."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.semantic.model import Certainty, FileState, Freshness
from cairn.semantic.state import Known, Now, Standing, standings, state_of
from tests.conformance import conforms

CLEAN, DIRTY, STALE, PENDING, UNINDEXED = (
    Freshness.CLEAN,
    Freshness.DIRTY,
    Freshness.STALE,
    Freshness.PENDING_CHECK,
    Freshness.UNINDEXED,
)
Graph = Mapping[int, Known[int]]
Tree = Mapping[int, Now]


def slow(known: Graph, tree: Tree) -> dict[int, Freshness]:
    """The rules as they are written, applied again and again until nothing changes any more."""
    every = {*known, *(each for one in known.values() for each in one.depends)}
    found = dict.fromkeys(every, CLEAN)
    while True:
        before = dict(found)
        for key in every:
            found[key] = _slow_one(key, known, tree, before)
        if found == before:
            return found


def _slow_one(key: int, known: Graph, tree: Tree, found: Mapping[int, Freshness]) -> Freshness:
    if key not in known:
        return UNINDEXED
    if key not in tree or tree[key].content_hash != known[key].content_hash:
        return DIRTY
    depends = known[key].depends
    if any(each not in tree or tree[each].interface_hash != then for each, then in depends.items()):
        return STALE
    if any(found[each] is STALE for each in depends):
        return STALE
    return PENDING if any(found[each] in (DIRTY, PENDING, UNINDEXED) for each in depends) else CLEAN


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, Tree]:
    count = draw(st.integers(1, 9))
    names = st.integers(0, count - 1)
    mostly = st.sampled_from("aaaab")
    tree = {key: Now(draw(mostly), draw(mostly)) for key in draw(st.sets(names, min_size=count // 2))}
    known = {
        key: Known(draw(mostly), draw(st.dictionaries(names, mostly, max_size=4)))
        for key in draw(st.sets(names, min_size=count // 2))
    }
    return known, tree


def freshness_of(known: Graph, tree: Tree) -> dict[int, Freshness]:
    return {key: one.freshness for key, one in standings(known, tree.get).items()}


@conforms("002.FS3", "002.FS4", "002.FS5")
@settings(derandomize=True, max_examples=150, deadline=None)
@given(graphs())
def test_states_are_the_fixpoint_of_the_rules_on_every_graph(graph: tuple[Graph, Tree]) -> None:
    assert freshness_of(*graph) == slow(*graph)


@conforms("002.AX1", "002.FS4")
def test_every_state_is_reached_on_graphs_of_three_files() -> None:
    tree = {1: Now("a", "i"), 2: Now("a", "i"), 3: Now("a", "i")}
    leads = Known("a", {2: "i"})
    dirty = freshness_of({1: leads, 2: Known("old", {})}, tree)
    stale = freshness_of({1: Known("a", {2: "other"}), 2: Known("a", {})}, tree)
    unknown = freshness_of({1: leads}, tree)
    assert (dirty[1], dirty[2]) == (PENDING, DIRTY)
    assert (stale[1], stale[2]) == (STALE, CLEAN)
    assert (unknown[1], unknown[2]) == (PENDING, UNINDEXED)


@conforms("002.FS3")
def test_what_is_pending_travels_through_any_depth() -> None:
    known = {key: Known("a", {key + 1: "i"}) for key in range(5_000)} | {5_000: Known("old", {})}
    found = freshness_of(known, dict.fromkeys(range(5_001), Now("a", "i")))
    assert {found[key] for key in range(5_000)} == {PENDING}


@conforms("002.FS5")
def test_two_files_that_need_each_other_have_a_state() -> None:
    both = {1: Known("a", {2: "i"}), 2: Known("a", {1: "i"})}
    assert set(freshness_of(both, dict.fromkeys((1, 2), Now("a", "i"))).values()) == {CLEAN}
    assert freshness_of(both, {1: Now("a", "i"), 2: Now("b", "i")}) == {1: PENDING, 2: DIRTY}


@conforms("002.FS3")
def test_a_refresh_that_finds_an_equal_interface_clears_those_who_wait() -> None:
    tree = {1: Now("a", "i"), 2: Now("new", "i")}
    waiting = {1: Known("a", {2: "i"}), 2: Known("old", {})}
    assert freshness_of(waiting, tree)[1] is PENDING
    # Only the dependency is indexed anew; nobody touches the one that waits.
    assert freshness_of(waiting | {2: Known("new", {})}, tree)[1] is CLEAN


@conforms("002.FS4")
def test_a_dependency_that_is_gone_makes_stale() -> None:
    assert freshness_of({1: Known("a", {2: "i"}), 2: Known("a", {})}, {1: Now("a", "i")}) == {1: STALE, 2: DIRTY}


@conforms("002.FS6")
def test_each_file_is_looked_at_once() -> None:
    known = {key: Known("a", dict.fromkeys(range(20), "i")) for key in range(20)}
    asked: list[int] = []

    def now(key: int) -> Now:
        asked.append(key)
        return Now("a", "i")

    standings(known, now)
    assert sorted(asked) == list(range(20))


@conforms("002.FS5")
@pytest.mark.long
def test_ten_thousand_files_with_cycles_take_less_than_a_tenth_of_a_second() -> None:
    draw = random.Random(8)
    known = {
        key: Known("a" if draw.random() > 0.01 else "old", {draw.randrange(10_000): "i" for _ in range(10)})
        for key in range(10_000)
    }
    tree = dict.fromkeys(range(10_000), Now("a", "i"))
    began = time.process_time()
    found = standings(known, tree.get)
    took = time.process_time() - began
    assert {one.freshness for one in found.values()} == {DIRTY, PENDING}
    assert took < 0.1, took


@conforms("002.AX1", "002.AX2", "002.FS1", "002.FS2")
@pytest.mark.parametrize(
    ("standing", "flags", "expected"),
    [
        (None, (), (UNINDEXED, Certainty.UNKNOWN)),
        (Standing(UNINDEXED), ("x",), (UNINDEXED, Certainty.UNKNOWN)),
        (Standing(DIRTY), ("x",), (DIRTY, Certainty.UNKNOWN)),
        (Standing(CLEAN), (), (CLEAN, Certainty.CERTAIN)),
        (Standing(CLEAN), ("x",), (CLEAN, Certainty.AMBIGUOUS)),
        (Standing(STALE, 7), (), (STALE, Certainty.CERTAIN)),
        (Standing(STALE, 7), ("x",), (STALE, Certainty.AMBIGUOUS)),
        (Standing(PENDING, 7), (), (PENDING, Certainty.CERTAIN)),
        (Standing(PENDING, 7), ("x",), (PENDING, Certainty.AMBIGUOUS)),
    ],
)
def test_both_axes_of_a_file(
    standing: Standing[int] | None, flags: tuple[str, ...], expected: tuple[Freshness, Certainty]
) -> None:
    state = state_of(standing, flags, lambda key: f"{key}.py")
    assert isinstance(state, FileState)
    assert (state.freshness, state.certainty) == expected
    assert any("7.py" in reason for reason in state.reasons) is (standing is not None and standing.cause == 7)
