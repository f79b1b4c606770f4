"""The reach of a file is another one exactly when something that it rests on is."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.semantic.reach import reaches

NAMES = st.integers(0, 7)
LEANS = st.dictionaries(NAMES, st.frozensets(NAMES, max_size=4), max_size=8)


def beneath(start: int, leans: dict[int, frozenset[int]]) -> set[int]:
    """All that it rests on, itself included."""
    found, following = {start}, [start]
    for each in following:
        fresh = leans.get(each, frozenset()) - found
        found |= fresh
        following += fresh
    return found


@settings(derandomize=True, max_examples=150, deadline=None)
@given(leans=LEANS, changed=NAMES)
def test_a_change_reaches_those_who_rest_on_it_and_nobody_else(leans: dict[int, frozenset[int]], changed: int) -> None:
    own = {name: f"shows {name}" for name in range(8)}
    before, after = reaches(own, leans), reaches(own | {changed: "shows something else"}, leans)
    for name in own:
        assert (before[name] != after[name]) is (changed in beneath(name, leans))


def test_what_nothing_is_known_of_is_not_rested_on_and_a_long_chain_is_no_trouble() -> None:
    assert reaches({1: "a"}, {1: frozenset({2})}) == reaches({1: "a"}, {})
    own = {name: str(name) for name in range(5_000)}
    chain = {name: frozenset({name + 1}) for name in range(4_999)}
    assert len(set(reaches(own, chain).values())) == 5_000
