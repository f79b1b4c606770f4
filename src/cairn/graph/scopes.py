"""A name that stands alone → the definition it means, looked for from the innermost scope outwards."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from cairn.graph.facts import CALLABLES, CLASSES, MEMBERS, Facts, Place
from cairn.graph.names import Names
from cairn.graph.shadows import binds, type_parameters
from cairn.types import Reference

# Where the members of a class can be named without `this`.
_BARE_MEMBERS = frozenset({"java", "kotlin", "scala", "cpp"})
# Scopes around one use that are looked into: a hostile file nests them a thousand deep.
_MOST_SCOPES = 50
_MOST_KEPT = 200_000
# What is no type where a type is never a variable.
_NO_TYPES = frozenset({"function", "method", "variable", "field", "property", "constant", "enum_member"})


class Tier(StrEnum):
    """How sure an edge is. Tiers are never mixed."""

    PROVEN = "proven"
    LIKELY = "likely"
    NAME_ONLY = "name_only"


class Bound(NamedTuple):
    """What a use means. Without places: nothing that is known, or, if `elsewhere`, nothing that is in the snapshot."""

    tier: Tier
    places: tuple[Place, ...] = ()
    elsewhere: bool = False


UNBOUND = Bound(Tier.NAME_ONLY)
ELSEWHERE = Bound(Tier.NAME_ONLY, elsewhere=True)


class Scopes:
    """The scopes of one snapshot."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._tops: dict[tuple[str, str], Bound] = {}

    def start(self, facts: Facts, reference: Reference) -> int:
        """The scope that a use is looked up in: decorators and bases stand outside of what they belong to."""
        number = reference.scope
        if number < 0:
            return number
        symbol = facts.symbols[number]
        if reference.kind in ("base", "annotation") and (
            reference.start_byte < symbol.name_byte or symbol.kind in CLASSES
        ):
            return symbol.parent
        return number

    def bare(self, facts: Facts, name: str, scope: int, kind: str) -> Bound:
        """A name in a scope, looked for from the inside out."""
        number = scope
        for _ in range(_MOST_SCOPES):
            if number < 0:
                return self.at_top(facts, name)
            symbol = facts.symbols[number]
            if name in type_parameters(symbol.signature, symbol.name):
                return ELSEWHERE
            if symbol.kind in CALLABLES:
                found = self._in_callable(facts, number, name, kind)
                if found is None and facts.language == "cpp" and self.is_outside_its_class(facts, number):
                    around = self.class_around(facts, number)
                    found = self.sure(self.names.member(around, name, set())) if around is not None else None
            elif symbol.kind == "module" and facts.family == "rust":
                return self._in_scope(facts, number, name) or UNBOUND
            elif facts.language in _BARE_MEMBERS and symbol.kind in CLASSES:
                found = self.sure(self.names.member(Place(facts.path, number), name, set()))
            elif number == scope or symbol.kind not in CLASSES:
                found = self.sure(self.names.own_member(Place(facts.path, number), name))
            else:
                found = None
            if found is not None:
                return found
            number = symbol.parent
        return UNBOUND

    def _in_callable(self, facts: Facts, number: int, name: str, kind: str) -> Bound | None:
        found = self._in_scope(facts, number, name)
        if found is not None:
            return found
        symbol = facts.symbols[number]
        if kind in ("type", "base") and facts.family != "python":
            return None
        text = facts.text[symbol.start_byte : symbol.end_byte]
        header = symbol.name_byte - symbol.start_byte + len(symbol.name.encode())
        return UNBOUND if binds(facts.family, text, name, header) else None

    def _in_scope(self, facts: Facts, number: int, name: str) -> Bound | None:
        """What a function or a module inside the file defines or imports itself."""
        own = self.names.own_member(Place(facts.path, number), name)
        # The methods of an object that a function makes are no names of the function.
        found = self.sure(tuple(place for place in own if self.kind_of(place) not in MEMBERS))
        if found is not None:
            return found
        for imported in facts.bound.get(name, ()):
            if facts.scopes.get(imported.start_byte) == number:
                led = self.names.leads_to(facts.path, imported)
                found = self.sure(led.places) or (ELSEWHERE if led.outside else UNBOUND)
        if found is not None:
            return found
        for imported in facts.wildcards:
            if facts.scopes.get(imported.start_byte) == number:
                places = self.names.in_wildcard(facts.path, imported, name, set())
                if places:
                    return self.sure(places)
        return None

    def at_top(self, facts: Facts, name: str) -> Bound:
        """What a name means at the top of a file; most names of a file are asked for again and again."""
        if self.names.depth:
            return self._look_at_top(facts, name)
        known = self._tops.get((facts.path, name))
        if known is None:
            known = self._look_at_top(facts, name)
            if len(self._tops) >= _MOST_KEPT:
                self._tops.clear()
            self._tops[facts.path, name] = known
        return known

    def _look_at_top(self, facts: Facts, name: str) -> Bound:
        places = list(self.names.at_top(facts, name))
        outside = unknown = False
        for imported in facts.bound.get(name, ()):
            if imported.start_byte not in facts.scopes:
                # `import a.b` gives a name to `a`.
                is_path = facts.family == "python" and not imported.name and not imported.alias
                led = self.names.leads_to(facts.path, imported._replace(module=name) if is_path else imported)
                places += led.places
                outside, unknown = outside or led.outside, unknown or not (led.places or led.outside)
        if places:
            # `try: from fast import f` / `except ImportError: def f()` means both.
            return self.sure(tuple(sorted(set(places))), certain=not (outside or unknown)) or UNBOUND
        if outside or unknown:
            return UNBOUND if unknown else ELSEWHERE
        return self._around(facts, name) or self._by_wildcard(facts, name)

    def _around(self, facts: Facts, name: str) -> Bound | None:
        """Names that files share without an import: those of a package, or what a C file includes."""
        if facts.family == "c":
            files = self.names.defining(self.names.reached(facts.path), name)
        elif facts.family in ("go", "jvm"):
            files = self.names.defining(self.names.modules.beside(facts.path), name)
            files = tuple(each for each in files if self.names.facts(each).package == facts.package)
        else:
            return None
        places = [Place(each, number) for each in files for number in self.names.facts(each).top.get(name, ())]
        return self.sure(tuple(places))

    def _by_wildcard(self, facts: Facts, name: str) -> Bound:
        places: list[Place] = []
        certain = True
        for imported in facts.wildcards:
            if imported.start_byte in facts.scopes or facts.family == "c":
                continue
            found = self.names.in_wildcard(facts.path, imported, name, set())
            places += found
            certain = certain and bool(self.names.target(facts.path, imported).files)
        return self.sure(tuple(sorted(set(places))), certain) or UNBOUND

    def class_around(self, facts: Facts, scope: int) -> Place | None:
        """The class that `self` is one of; for a method that is written outside of it, by the name before its own."""
        number = scope
        while number >= 0:
            symbol = facts.symbols[number]
            if symbol.kind in CLASSES and symbol.kind != "impl":
                return Place(facts.path, number)
            if symbol.kind == "impl" or self.is_outside_its_class(facts, number):
                named = symbol.name if symbol.kind == "impl" else symbol.container.rpartition(".")[2]
                places = self.at_top(facts, named).places
                return places[0] if places and places[0].number >= 0 else Place(facts.path, number)
            number = symbol.parent
        return None

    def is_outside_its_class(self, facts: Facts, number: int) -> bool:
        """A method of Go, or one of C++ that is written after its class."""
        symbol = facts.symbols[number]
        return symbol.kind in ("method", "constructor") and (
            symbol.parent < 0 or facts.symbols[symbol.parent].kind not in CLASSES
        )

    def as_type(self, bound: Bound) -> Bound:
        """Where a type is named only types are meant, whatever else has that name."""
        places = [place for place in bound.places if self.kind_of(place) not in _NO_TYPES]
        return bound._replace(places=tuple(places)) if places or not bound.places else UNBOUND

    def kind_of(self, place: Place) -> str:
        """The kind of a definition; a file is a module."""
        return self.names.facts(place.path).symbols[place.number].kind if place.number >= 0 else "module"

    def sure(self, places: tuple[Place, ...], certain: bool = True) -> Bound | None:
        """Proven when all places are one definition (overloads are), else likely; None without any."""
        if not places:
            return None
        entities = {self.names.entity(place) for place in places}
        # Which of all extension functions of a name is meant depends on the type of what it is called on.
        certain = certain and not any(self._is_extension(place) for place in places)
        return Bound(Tier.PROVEN if certain and len(entities) == 1 else Tier.LIKELY, places)

    def _is_extension(self, place: Place) -> bool:
        facts = self.names.facts(place.path)
        return facts.language == "kotlin" and place.number >= 0 and self.is_outside_its_class(facts, place.number)
