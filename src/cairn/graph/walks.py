"""What walks through names have found, kept in such a way that no answer depends on what was asked before.

A walk ends when it is too deep, and one that begins inside another ends sooner. So what was found is kept with how deep
it went, and is given again only where the same walk would not be cut short.

A walk that comes back to what it is looking for finds nothing there: two files of Scala may each import everything of
an object whose bases are names of the other. What was found on such a round holds as long as the walk that began it,
or else the rounds of many files that import each other would multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

MOST_DEPTH = 40
_MOST_KEPT = 200_000
_NOWHERE = 1 << 30

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")
_Asked = tuple[int, Hashable]


class _Passing(NamedTuple):
    """Found on a round: what, how deep the walk went and was when it began, and the first question it depends on."""

    found: object
    reach: int
    depth: int
    back_to: int


class Walk:
    """How deep the walk is now, and how deep it has been; which questions are open, by the number of each."""

    def __init__(self) -> None:
        self.depth = self.deepest = 0
        self.open: dict[_Asked, int] = {}
        self.asked = 0
        # The first of the open questions that the walk came back to.
        self.back_to = _NOWHERE
        # In the order in which they were found, so that those of one round are the last when it ends.
        self.passing: dict[_Asked, _Passing] = {}

    def is_too_deep(self) -> bool:
        """Whether it ends here."""
        self.deepest = max(self.deepest, self.depth)
        return self.depth > MOST_DEPTH


class Kept(Generic[Key, Found]):
    """What was found for each key, by walks of one kind."""

    def __init__(self, walk: Walk, find: Callable[[Key], Found], nothing: Found) -> None:
        self._walk = walk
        self._find = find
        self._nothing = nothing
        # Found, how deep it went, and all that was asked on rounds that came back to it.
        self._found: dict[Key, tuple[Found, int, frozenset[_Asked]]] = {}

    def __call__(self, key: Key) -> Found:
        walk = self._walk
        depth = walk.depth
        known = self._found.get(key)
        if known is not None and (not depth or depth + known[1] <= MOST_DEPTH) and known[2].isdisjoint(walk.open):
            walk.deepest = max(walk.deepest, depth + known[1])
            return known[0]
        asked = id(self), key
        if asked in walk.open:
            walk.back_to = min(walk.back_to, walk.open[asked])
            return self._nothing
        passing = walk.passing.get(asked)
        if passing is not None and (depth >= passing.depth or depth + passing.reach <= MOST_DEPTH):
            walk.deepest = max(walk.deepest, depth + passing.reach)
            walk.back_to = min(walk.back_to, passing.back_to)
            return passing.found  # type: ignore[return-value]
        return self._look(asked, key)

    def _look(self, asked: _Asked, key: Key) -> Found:
        walk, depth, is_start, mark = self._walk, self._walk.depth, not self._walk.open, len(self._walk.passing)
        before, walk.deepest = walk.deepest, depth
        back_to, walk.back_to = walk.back_to, _NOWHERE
        walk.asked += 1
        number = walk.open[asked] = walk.asked
        try:
            found = self._find(key)
            is_cut = walk.deepest > MOST_DEPTH
            if not is_start and (is_cut or walk.back_to < number):
                self._remember(asked, _Passing(found, walk.deepest - depth, depth, 0 if is_cut else walk.back_to))
            elif not depth or not is_cut:
                # At the very start it is as good as it gets, cut short or not.
                self._keep(key, found, walk.deepest - depth, frozenset([*walk.passing][mark:]))
            return found
        finally:
            del walk.open[asked]
            if is_start or walk.back_to >= number:
                while len(walk.passing) > mark:
                    walk.passing.popitem()
                walk.back_to = _NOWHERE
            walk.deepest = max(before, walk.deepest)
            walk.back_to = min(back_to, walk.back_to)

    def _remember(self, asked: _Asked, passing: _Passing) -> None:
        """For as long as the round lasts; what is found again, from less deep, belongs to the round of before too."""
        walk = self._walk
        earlier = walk.passing.get(asked)
        walk.back_to = min(passing.back_to, earlier.back_to) if earlier else passing.back_to
        walk.passing[asked] = passing._replace(back_to=walk.back_to)

    def _keep(self, key: Key, found: Found, reach: int, round_trip: frozenset[_Asked]) -> None:
        if len(self._found) >= _MOST_KEPT:
            self._found.clear()
        self._found[key] = found, reach, round_trip
