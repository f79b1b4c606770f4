"""What a walk has found is given again only where the same walk would find the same."""

from __future__ import annotations

import random
from itertools import permutations

from cairn.graph.names import MOST_DEPTH, Kept, Walk


class Tower:
    """Names that lead to one another: number n leads to n - 1, and 0 is found."""

    def __init__(self) -> None:
        self.walk = Walk()
        self.kept: Kept[int, str] = Kept(self.walk, self._find, "nothing")
        self.asked: list[int] = []

    def _find(self, number: int) -> str:
        self.asked.append(number)
        if self.walk.is_too_deep():
            return "cut"
        self.walk.depth += 1
        try:
            return "found" if number == 0 else self.kept(number - 1)
        finally:
            self.walk.depth -= 1

    def inside(self, depth: int, number: int) -> str:
        """What is found when the walk begins so deep in another."""
        self.walk.depth = depth
        try:
            return self.kept(number)
        finally:
            self.walk.depth = 0


def test_what_was_found_is_not_looked_for_again() -> None:
    tower = Tower()
    assert tower.kept(5) == "found"
    tower.asked.clear()
    assert (tower.kept(5), tower.kept(3), tower.inside(7, 5)) == ("found", "found", "found")
    assert tower.asked == []


def test_a_walk_that_would_be_cut_short_is_cut_short_whatever_was_asked_before() -> None:
    fresh, warm = Tower(), Tower()
    assert warm.kept(5) == "found"
    for depth in range(MOST_DEPTH + 2):
        assert warm.inside(depth, 5) == fresh.inside(depth, 5) == ("found" if depth + 5 <= MOST_DEPTH else "cut")


def test_what_was_cut_short_inside_another_walk_is_not_kept() -> None:
    tower = Tower()
    assert tower.inside(MOST_DEPTH, 3) == "cut"
    assert tower.kept(3) == "found"


def test_what_is_cut_short_from_the_start_is_kept_for_those_that_start_there() -> None:
    tower = Tower()
    assert tower.kept(MOST_DEPTH + 1) == "cut"
    tower.asked.clear()
    assert tower.kept(MOST_DEPTH + 1) == "cut"
    assert tower.asked == []
    assert tower.inside(1, MOST_DEPTH + 1) == "cut"
    assert tower.asked != []


class Maze:
    """Names that lead to several others, round and round: what is found is every name that can be reached."""

    def __init__(self, leads_to: dict[int, tuple[int, ...]], is_deep: bool = False) -> None:
        self.walk = Walk()
        self.kept: Kept[int, frozenset[int]] = Kept(self.walk, self._find, frozenset())
        self.steps = 0
        self._leads_to, self._is_deep = leads_to, is_deep

    def _find(self, number: int) -> frozenset[int]:
        self.steps += 1
        if self.walk.is_too_deep():
            return frozenset()
        self.walk.depth += self._is_deep
        try:
            return frozenset({number}).union(*(self.kept(each) for each in self._leads_to[number]))
        finally:
            self.walk.depth -= self._is_deep


def some_maze(seed: int, size: int) -> dict[int, tuple[int, ...]]:
    chance = random.Random(seed)
    return {number: tuple(chance.choices(range(size), k=chance.randrange(4))) for number in range(size)}


def test_a_walk_that_comes_back_to_where_it_began_finds_all_the_same() -> None:
    maze = Maze({0: (1,), 1: (2, 0), 2: (0, 3), 3: ()})
    assert maze.kept(0) == {0, 1, 2, 3}
    assert maze.kept(3) == {3}
    assert maze.kept(1) == {0, 1, 2, 3}


def test_no_answer_depends_on_what_was_asked_before() -> None:
    for seed in range(20):
        leads_to = some_maze(seed, 5)
        alone = {number: Maze(leads_to).kept(number) for number in leads_to}
        for order in permutations(leads_to):
            maze = Maze(leads_to)
            assert {number: maze.kept(number) for number in order} == alone


def test_no_answer_of_a_walk_that_is_cut_short_depends_on_what_was_asked_before() -> None:
    for seed in range(8):
        leads_to = {number: (*each, (number + 1) % 60) for number, each in some_maze(seed, 60).items()}
        alone = {number: Maze(leads_to, is_deep=True).kept(number) for number in leads_to}
        for _ in range(3):
            order = random.Random(seed).sample(sorted(leads_to), len(leads_to))
            maze = Maze(leads_to, is_deep=True)
            assert {number: maze.kept(number) for number in order} == alone


def test_the_rounds_of_many_that_lead_to_one_another_do_not_multiply() -> None:
    size = 100
    everywhere = {number: tuple(range(size)) for number in range(size)}
    for is_deep in (False, True):
        maze = Maze(everywhere, is_deep)
        assert 0 in maze.kept(0)
        assert maze.steps <= (MOST_DEPTH + 2) * size


def test_nothing_is_left_of_a_walk_that_is_over() -> None:
    maze = Maze({0: (1, 2), 1: (0, 2), 2: (1,)})
    maze.kept(0)
    assert not maze.walk.open
    assert not maze.walk.passing
