"""Follow calls with an aim: the shortest way from one definition to another, and the tests from which one is reached.

Both walk step by step and stop at a limit, and say how many definitions were looked at when they stopped there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from cairn.core.limits import MAX_ROUTE_COST, MAX_ROUTE_LOOKED_AT, MAX_TEST_STEPS
from cairn.graph.calls import TIERS, CallGraph, Direction, edge_of, node_of
from cairn.graph.callsites import Call, CallSites, EdgeKind
from cairn.graph.facts import Place
from cairn.graph.outline import Definition
from cairn.graph.references import Graph
from cairn.graph.scopes import Tier
from cairn.search.places import is_test

# What it costs to look at a definition, beside the calls in it.
_EACH = 3
_TEST_NAME = re.compile(r"(?:^|[._])(?:test|spec|bench)|Test|[a-z0-9](?:Spec|Suite|IT)(?:\.|$)", re.ASCII)


class _Side(NamedTuple):
    """Where a walk has come from its start: for each definition the call by which it was reached first."""

    reached: dict[Place, Call | None]
    frontier: list[Place]


class _Aimed:
    """A walk along sure enough calls, which looks at a limited number of definitions."""

    def __init__(self, graph: Graph, min_tier: Tier) -> None:
        self.sites = CallSites(graph, by_name=min_tier is Tier.NAME_ONLY, counts_unknown=False)
        self._tiers = TIERS[: TIERS.index(min_tier) + 1]
        self.looked_at = 0
        self._left: float = MAX_ROUTE_COST
        # Whether uses of something on the way stand too far away to be looked at.
        self.is_partial = False

    @property
    def gave_up(self) -> bool:
        return self.looked_at >= MAX_ROUTE_LOOKED_AT or self._left <= 0

    def calls(self, place: Place, *, callers: bool) -> list[Call]:
        """Return the calls of a definition or in it, the surest first, each other end once."""
        self.looked_at += 1
        found: Sequence[Call]
        if callers:
            found, _, not_looked_at, spent = self.sites.callers(place)
            self._left -= spent
            self.is_partial = self.is_partial or not_looked_at > 0
        else:
            found, unknown, _ = self.sites.callees(place)
            self._left -= _EACH + len(found) + len(unknown)
        sure = [use for use in found if use.tier in self._tiers and use.kind is not EdgeKind.IMPORT]
        sure.sort(key=lambda use: (TIERS.index(use.tier), use.path, use.start_byte))
        ends: dict[Place, Call] = {}
        for use in sure:
            ends.setdefault(use.src if callers else use.dst, use)
        return list(ends.values())

    def step(self, side: _Side, *, callers: bool) -> _Side:
        """Go one step on from every definition of the frontier."""
        following = []
        for place in side.frontier:
            if self.gave_up:
                break
            for use in self.calls(place, callers=callers):
                other = use.src if callers else use.dst
                if other not in side.reached:
                    side.reached[other] = use
                    following.append(other)
        return _Side(side.reached, following)


def way_between(
    graph: Graph, start: Place, goal: Place, *, min_tier: Tier = Tier.LIKELY, candidates: tuple[Definition, ...] = ()
) -> CallGraph:
    """Return the shortest way of calls from one definition to another, as a graph without branches.

    The calls in definitions inside the first one are its own. Without a way there are two nodes and no edge.
    """
    walk = _Aimed(graph, min_tier)
    first, last = walk.sites.node(start), walk.sites.node(goal)
    inside = walk.sites.inside(first)
    down = _Side(dict.fromkeys([first, *inside]), [first, *inside])
    up = _Side({last: None}, [last])
    met = {first} & {last}
    while not met and down.frontier and up.frontier and not walk.gave_up:
        if len(down.frontier) <= len(up.frontier):
            down = walk.step(down, callers=False)
        else:
            up = walk.step(up, callers=True)
        met = down.reached.keys() & up.reached.keys()
    calls = min((_joined(each, down, up) for each in met), key=lambda found: (len(found), found), default=[])
    members = [calls[0].src] if calls and calls[0].src != first else []
    places = dict.fromkeys([first, *members, *(use.dst for use in calls), *([] if calls else [last])])
    distances = {place: number for number, place in enumerate([first, *(use.dst for use in calls)])}
    nodes = tuple(node_of(walk.sites, place, distances.get(place, 0)) for place in places)
    return CallGraph(
        root=walk.sites.id(first),
        members=tuple(map(walk.sites.id, members)),
        direction=Direction.CALLEES,
        depth=max(1, len(calls)),
        nodes=nodes,
        edges=tuple(edge_of(walk.sites, [use]) for use in calls),
        notes=(),
        nodes_left=0,
        edges_left=0,
        candidates=candidates,
        behind=graph.behind,
        target=walk.sites.id(last),
        looked_at=walk.looked_at if walk.gave_up or walk.is_partial else 0,
    )


def _joined(at: Place, down: _Side, up: _Side) -> list[Call]:
    """Return the calls from the start of one walk to that of the other, through a definition that both have reached."""
    before: list[Call] = []
    place = at
    while (use := down.reached[place]) is not None:
        before.append(use)
        place = use.src
    after: list[Call] = []
    place = at
    while (use := up.reached[place]) is not None:
        after.append(use)
        place = use.dst
    return [*reversed(before), *after]


def reaching_tests(
    graph: Graph,
    place: Place,
    *,
    most: int,
    min_tier: Tier = Tier.LIKELY,
    candidates: tuple[Definition, ...] = (),
) -> CallGraph:
    """Return the tests from which calls lead to a definition, the nearest first, with the shortest way from each.

    What tests use and is no test itself, such as a helper, is a step on the way.
    """
    walk = _Aimed(graph, min_tier)
    root = walk.sites.node(place)
    steps = _Side({root: None}, [root])
    tests: list[Place] = []
    distance = {root: 0}
    for number in range(1, MAX_TEST_STEPS + 1):
        steps = walk.step(steps, callers=True)
        distance |= dict.fromkeys(steps.frontier, number)
        found = [each for each in steps.frontier if _is_test(walk.sites, each)]
        tests += found
        steps = steps._replace(frontier=[each for each in steps.frontier if each not in set(found)])
        if not steps.frontier or walk.gave_up:
            break
    shown = tests[:most]
    calls = dict.fromkeys(use for test in shown for use in _way(test, steps.reached))
    places = dict.fromkeys([root, *(end for use in calls for end in (use.dst, use.src))])
    return CallGraph(
        root=walk.sites.id(root),
        members=(),
        direction=Direction.TESTS,
        depth=max(distance[each] for each in places) or 1,
        nodes=tuple(replace(node_of(walk.sites, each, distance[each]), is_test=each in shown) for each in places),
        edges=tuple(edge_of(walk.sites, [use]) for use in sorted(calls, key=lambda use: distance[use.src])),
        notes=(),
        nodes_left=len(tests) - len(shown),
        edges_left=0,
        candidates=candidates,
        behind=graph.behind,
        looked_at=walk.looked_at if walk.gave_up or walk.is_partial else 0,
    )


class Reached(NamedTuple):
    """A call by which a definition is reached from others, so many steps away."""

    call: Call
    distance: int


class ReachedFrom(NamedTuple):
    """Who calls some definitions, the nearest first; `looked_at` is set when the search was given up."""

    calls: tuple[Reached, ...]
    looked_at: int


def reached_from(graph: Graph, places: Iterable[Place], *, depth: int, min_tier: Tier = Tier.LIKELY) -> ReachedFrom:
    """Return who calls one of these definitions, each caller once, at most `depth` steps far."""
    walk = _Aimed(graph, min_tier)
    starts = [walk.sites.node(place) for place in places]
    steps = _Side(dict.fromkeys(starts), list(dict.fromkeys(starts)))
    found: list[Reached] = []
    for distance in range(1, depth + 1):
        steps = walk.step(steps, callers=True)
        calls = (use for place in steps.frontier if (use := steps.reached[place]) is not None)
        found += (Reached(use, distance) for use in calls)
        if not steps.frontier or walk.gave_up:
            break
    return ReachedFrom(tuple(found), MAX_ROUTE_LOOKED_AT if walk.gave_up else 0)


def _way(place: Place, reached: dict[Place, Call | None]) -> Iterable[Call]:
    while (use := reached[place]) is not None:
        yield use
        place = use.dst


def _is_test(sites: CallSites, place: Place) -> bool:
    """Whether a definition is a test that somebody runs, and no helper of tests."""
    if not is_test(place.path):
        return False
    return place.number < 0 or _TEST_NAME.search(sites.facts(place).qualified(place.number)) is not None
