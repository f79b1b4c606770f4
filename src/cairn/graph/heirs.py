"""Find the definitions that take the place of another one: classes that derive from it, and methods that override it.

A class is derived where it names its base; so the chain of bases is followed downwards. Where nothing names an
interface, as in Go, a type with all of its methods is a `likely` implementation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cairn.core.types import Reference
from cairn.graph.facts import CALLABLES, CLASSES, Place
from cairn.graph.references import Graph, Site
from cairn.graph.scopes import Tier

OVERRIDE, IMPLEMENTATION = "override", "implementation"
"""Kinds of uses: a method in place of another one, and a class that derives from another one or implements it."""

_MOST_HEIRS = 2_000
_MOST_BASES_LOOKED_AT = 20_000
_TIERS = tuple(Tier)


class Heir(NamedTuple):
    """A definition in place of another one, as the place of its name, and how sure that is."""

    tier: Tier
    site: Site


class _Derived(NamedTuple):
    """A class below another one, and the least sure step between them."""

    place: Place
    tier: Tier


class Heirs:
    """What derives from the definitions of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._names = graph.names
        self._left = _MOST_BASES_LOOKED_AT

    def of(self, place: Place) -> list[Heir]:
        """Return all that derives from a class, or all that overrides a member of one; nothing else has any."""
        facts = self._names.facts(place.path)
        symbol = facts.symbols[place.number]
        if symbol.kind in CLASSES:
            return [Heir(each.tier, self._site(each.place, IMPLEMENTATION)) for each in self._below(place)]
        around = self._class_of(place)
        if around is None:
            return []
        return [
            Heir(each.tier, self._site(Place(each.place.path, number), OVERRIDE))
            for each in self._below(around)
            for number in self._members(each.place, symbol.name)
        ]

    def _class_of(self, place: Place) -> Place | None:
        """Return the class that a member belongs to; None when it is no member."""
        facts = self._names.facts(place.path)
        symbol = facts.symbols[place.number]
        if symbol.parent >= 0 and facts.symbols[symbol.parent].kind in CLASSES:
            return Place(place.path, symbol.parent)
        numbers = facts.written_as.get(symbol.container, ())
        return next((Place(place.path, each) for each in numbers if facts.symbols[each].kind in CLASSES), None)

    def _members(self, place: Place, name: str) -> list[int]:
        """Return the members of this name that a class itself has."""
        facts = self._names.facts(place.path)
        own = [n for n, each in enumerate(facts.symbols) if each.parent == place.number and each.name == name]
        if own or facts.symbols[place.number].kind == "impl":
            return own
        return list(facts.inner.get((facts.qualified(place.number), name), ()))

    def _below(self, place: Place) -> list[_Derived]:
        """Return the classes below a class, the nearest first, each once."""
        found: dict[Place, _Derived] = {place: _Derived(place, Tier.PROVEN)}
        frontier = [found[place]]
        while frontier and len(found) < _MOST_HEIRS:
            following = []
            for above in frontier:
                for below in (*self._deriving(above), *self._fitting(above)):
                    if below.place not in found and len(found) < _MOST_HEIRS:
                        found[below.place] = below
                        following.append(below)
            frontier = following
        return list(found.values())[1:]

    def _deriving(self, above: _Derived) -> Iterator[_Derived]:
        """Yield the classes that name a class among their bases."""
        facts = self._names.facts(above.place.path)
        symbol = facts.symbols[above.place.number]
        if symbol.kind == "impl":
            # A block of a type adds a trait to it; nothing derives from a block.
            return
        named = [(path, use) for path, use in self._graph.view.references_named(symbol.name) if use.kind == "base"]
        for path, alias in sorted(self._graph.importers.of(above.place)[1]):
            own = self._names.facts(path).references
            named += [(path, use) for use in own if use.kind == "base" and use.name == alias]
        for path, use in named[: self._left]:
            tier = self._tier(above.place, path, use)
            if tier is not None and use.scope >= 0:
                yield _Derived(Place(path, use.scope), max(tier, above.tier, key=_TIERS.index))
        self._left = max(0, self._left - len(named))

    def _tier(self, place: Place, path: str, use: Reference) -> Tier | None:
        bound = self._graph.bind(path, use)
        if any(self._graph.importers.same(place, each) for each in bound.places):
            return bound.tier
        return None

    def _fitting(self, above: _Derived) -> Iterator[_Derived]:
        """Yield the types that have every method of an interface, where a language asks for no more than that."""
        facts = self._names.facts(above.place.path)
        symbol = facts.symbols[above.place.number]
        if not facts.traits.interfaces_fit or symbol.kind != "interface":
            return
        inside = [each for each in facts.symbols if each.parent == above.place.number]
        wanted = sorted({each.name for each in inside if each.kind in CALLABLES})
        having: set[tuple[str, str]] | None = None
        for name in wanted:
            holders = {
                (path.rpartition("/")[0], each.container)
                for path, each in self._graph.view.symbols_named(name)
                if each.kind in CALLABLES and each.container and self._names.facts(path).language == facts.language
            }
            having = holders if having is None else having & holders
        for folder, name in sorted(having or ()):
            for path, each in self._graph.view.symbols_named(name):
                if path.rpartition("/")[0] == folder and each.kind in CLASSES and each.kind != "interface":
                    numbers = self._names.facts(path).written_as.get(name, ())
                    yield from (_Derived(Place(path, n), Tier.LIKELY) for n in numbers[:1])

    def _site(self, place: Place, kind: str) -> Site:
        facts = self._names.facts(place.path)
        symbol = facts.symbols[place.number]
        at = symbol.name_byte
        line = symbol.start_line + facts.text.count(b"\n", symbol.start_byte, at)
        column = at - facts.text.rfind(b"\n", 0, at) - 1
        inside = facts.qualified(symbol.parent) if symbol.parent >= 0 else symbol.container
        return Site(place.path, line, column, kind, symbol.name, "", inside, at, symbol.parent)
