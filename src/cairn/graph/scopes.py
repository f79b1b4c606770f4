"""Find the definition that a bare name means, from the innermost scope outwards."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from cairn.core.types import Reference, Symbol
from cairn.graph.facts import CALLABLES, CLASSES, MEMBERS, Facts, Place
from cairn.graph.names import Kept, Seen, SnapshotNames
from cairn.graph.shadows import Spot, assigns, binds, depth_at, has_parameter, is_in_reach, type_parameters, words

# The most scopes around one use that are searched: a hostile file nests them a thousand deep.
_MOST_SCOPES = 50
# How far around a use outside of all functions the parameters of a lambda are searched.
_LONGEST_LINE = 200
# Kinds that a type's name cannot mean, in languages in which a variable is never a type.
_NO_TYPES = frozenset({"function", "method", "variable", "field", "property", "constant", "enum_member"})


SYNTACTIC, SEMANTIC = "syntactic", "semantic"
"""The layers: an edge, a use or a definition is known from the syntax of a file, or from an indexer."""


class Tier(StrEnum):
    """How sure an edge is. Tiers are never mixed."""

    PROVEN = "proven"
    LIKELY = "likely"
    NAME_ONLY = "name_only"


class Bound(NamedTuple):
    """The definitions that a use may mean.

    Without places the meaning is unknown, or, if `elsewhere`, certainly not in the snapshot; if `foreign`, it is not in
    the snapshot by a guess. `semantic` says that an indexer knows the meaning.
    """

    tier: Tier
    places: tuple[Place, ...] = ()
    elsewhere: bool = False
    semantic: bool = False
    foreign: bool = False


UNBOUND = Bound(Tier.NAME_ONLY)
ELSEWHERE = Bound(Tier.NAME_ONLY, elsewhere=True)
FOREIGN = Bound(Tier.NAME_ONLY, foreign=True)


def is_literal(facts: Facts, name: str, at: int) -> bool:
    """Whether `name{` at this byte makes a value of a type, which no variable of the name can hide, as in Go."""
    return facts.traits.package_is_folder and facts.text.startswith(b"{", at + len(name.encode()))


class Scopes:
    """The lookup of bare names in the scopes of one snapshot."""

    def __init__(self, names: SnapshotNames) -> None:
        self.names = names
        self._tops: Kept[tuple[str, str], Bound] = Kept(
            names.walk, lambda key: self._look_at_top(names.facts(key[0]), key[1]), UNBOUND
        )

    def start(self, facts: Facts, reference: Reference) -> int:
        """Return the scope in which a use is looked up; for decorators and bases the scope around their definition."""
        number = reference.scope
        if number < 0:
            return number
        symbol = facts.symbols[number]
        if reference.kind in ("base", "annotation") and (
            reference.start_byte < symbol.name_byte or symbol.kind in CLASSES
        ):
            return symbol.parent
        return number

    def bare(self, facts: Facts, name: str, scope: int, kind: str, at: int) -> Bound:
        """Bind a bare name that is used in this scope at byte `at` of its file."""
        number, came = scope, -1
        kind = "type" if kind == "call" and is_literal(facts, name, at) else kind
        if self._in_lambda(facts, name, scope, at):
            return UNBOUND
        for _ in range(_MOST_SCOPES):
            if number < 0:
                return self._in_block(facts, name, at) or self.at_top(facts, name)
            symbol = facts.symbols[number]
            if name in type_parameters(symbol.signature, symbol.name):
                return ELSEWHERE
            if facts.traits.infers_types and symbol.kind == "type" and self._is_inferred(facts, symbol, name):
                return UNBOUND
            if symbol.kind in CALLABLES or symbol.kind == "property":
                # What reads or sets a property is a function too.
                found = self._beside(facts, came, name) or self._in_callable(facts, number, name, kind, at)
                found = self._outside_its_class(facts, number, name) if found is None else found
            elif symbol.kind == "module" and facts.traits.modules_in_files:
                return self._in_scope(facts, number, name, at) or UNBOUND
            elif facts.traits.bare_members and symbol.kind in CLASSES:
                found = self._as_member(Place(facts.path, number), name) or self._as_parameter(facts, symbol, name)
                if facts.traits.bare_innermost:
                    return found or self.at_top(facts, name)
            elif number == scope or symbol.kind not in CLASSES or (came == scope and self._is_variable(facts, came)):
                found = self.sure(self._nameable(facts, number, name, at))
            else:
                found = None
            if found is not None:
                return found
            came, number = number, symbol.parent
        return UNBOUND

    def _outside_its_class(self, facts: Facts, number: int, name: str) -> Bound | None:
        """Bind a name in a method that is written outside of its class to a member of that class, as in C++."""
        if not facts.traits.bare_outside or not self.is_outside_its_class(facts, number):
            return None
        around = self.class_around(facts, number)
        return self._as_member(around, name) if around is not None else None

    def _in_lambda(self, facts: Facts, name: str, scope: int, at: int) -> bool:
        """Whether a lambda outside of all functions binds a name: a lambda that begins on the line of its use."""
        is_inside = scope >= 0 and facts.symbols[scope].kind in CALLABLES
        if is_inside or facts.traits.callbacks_bind:
            # There the whole function is looked at, or all blocks and callbacks are known.
            return False
        word = name.encode("utf-8", "replace")
        begin = max(facts.text.rfind(b"\n", 0, at) + 1, at - _LONGEST_LINE)
        # The variable of a comprehension stands behind its use.
        line_end = facts.text.find(b"\n", at)
        end = min(line_end if line_end >= 0 else len(facts.text), at + _LONGEST_LINE)
        for spot in words(facts.text[begin : max(end, at + len(word))], word):
            first = begin + spot
            before = facts.text[max(0, first - _LONGEST_LINE) : first].decode("utf-8", "replace")
            after = facts.text[first + len(word) : first + _LONGEST_LINE].decode("utf-8", "replace")
            if facts.rules.is_of_lambda(before, after):
                return True
        return False

    def _is_inferred(self, facts: Facts, symbol: Symbol, name: str) -> bool:
        """Whether a type declares the name with `infer`, as in `T extends [infer Head, ...infer Tail] ? Tail : []`."""
        infers = rb"\binfer\s+%s\b" % re.escape(name.encode())
        return re.search(infers, facts.text[symbol.start_byte : symbol.end_byte]) is not None

    def is_type_parameter(self, facts: Facts, name: str, scope: int) -> bool:
        """Whether a definition around this scope has a type parameter of this name."""
        number = scope
        while number >= 0:
            symbol = facts.symbols[number]
            if name in type_parameters(symbol.signature, symbol.name):
                return True
            number = symbol.parent
        return False

    def _beside(self, facts: Facts, method: int, name: str) -> Bound | None:
        """Bind a name in a method of an anonymous class, such as `new Listener() { … }`, to a member of that class.

        At most `likely`, because a function may hold several anonymous classes and their members are not told apart.
        """
        if not facts.traits.anonymous_classes or method < 0 or facts.symbols[method].kind != "method":
            return None
        held = self.names.own_member(Place(facts.path, facts.symbols[method].parent), name)
        return self.sure(tuple(place for place in held if self.kind_of(place) in MEMBERS), certain=False)

    def _as_parameter(self, facts: Facts, symbol: Symbol, name: str) -> Bound | None:
        """Return `UNBOUND` where a class takes a parameter of this name, as `class Box(name: T)` of Scala."""
        return UNBOUND if has_parameter(symbol.signature, symbol.name, name) else None

    def _as_member(self, around: Place, name: str) -> Bound | None:
        """Bind a name to a member of a class or of its bases, except constructors, whose name means the class."""
        places = self.names.member(around, name, set())
        return self.sure(tuple(place for place in places if self.kind_of(place) != "constructor"))

    def _is_variable(self, facts: Facts, number: int) -> bool:
        """Whether a definition is a variable of a class body that runs; its value can name what the body defines."""
        return facts.traits.class_body_runs and facts.symbols[number].kind in ("variable", "constant", "field")

    def _nameable(self, facts: Facts, number: int, name: str, at: int) -> tuple[Place, ...]:
        """Return the members of a definition that its own code can name without a receiver.

        Where members need a receiver, only an enum has such members.
        """
        if facts.traits.impls and facts.symbols[number].kind in CLASSES:
            # In Rust what belongs to a type, a trait or an `impl` block is named behind `Self::` or a type.
            return ()
        places = self.names.own_member(Place(facts.path, number), name)
        if facts.traits.class_body_runs:
            # The body of a class runs from the top: a decorator `@splash` before `def splash` means another definition.
            return tuple(place for place in places if facts.symbols[place.number].name_byte < at)
        if not facts.traits.members_need_receiver or facts.symbols[number].kind == "enum":
            return places
        return tuple(place for place in places if self.kind_of(place) not in MEMBERS)

    def _in_block(self, facts: Facts, name: str, at: int) -> Bound | None:
        """Bind a name to what the innermost callback or block around byte `at` of a script binds.

        `UNBOUND` when that is a parameter or a variable that is not indexed; None when no block binds the name.
        """
        if not facts.traits.callbacks_bind:
            return None
        reached = [spot.depth for spot in facts.in_blocks(name) if is_in_reach(facts.text, spot, at)]
        deepest = max(reached, default=0)
        held: dict[int, list[Place]] = {}
        for number in facts.top.get(name, ()):
            spot = self._spot(facts, number)
            if number in facts.sunken and self._is_seen(facts, Place(facts.path, number), at):
                held.setdefault(spot.depth, []).append(Place(facts.path, number))
        if held and max(held) >= deepest:
            return self.sure(tuple(held[max(held)]))
        return UNBOUND if reached else None

    def _is_seen(self, facts: Facts, place: Place, at: int) -> bool:
        """Whether a definition inside a callback or block can be named at byte `at` of the file."""
        if not facts.traits.blocks_hide or place.path != facts.path:
            return True
        return self.kind_of(place) not in MEMBERS and is_in_reach(facts.text, self._spot(facts, place.number), at)

    def _spot(self, facts: Facts, number: int) -> Spot:
        start = facts.symbols[number].start_byte
        return Spot(start, depth_at(facts.text, start))

    def _in_callable(self, facts: Facts, number: int, name: str, kind: str, at: int) -> Bound | None:
        found = self._in_scope(facts, number, name, at)
        if found is not None:
            return found
        symbol = facts.symbols[number]
        traits = facts.traits
        if (kind in ("type", "base") and not traits.types_are_values) or (kind == "call" and traits.calls_are_methods):
            # Where a type or a call cannot mean a variable, parameters and local variables do not hide the name.
            return None
        bound = facts.bindings_known.get((number, name))
        if bound is None:
            text = facts.text[symbol.start_byte : symbol.end_byte]
            header = symbol.name_byte - symbol.start_byte + len(symbol.name.encode())
            bound = facts.bindings_known[number, name] = binds(facts.rules, traits.lexis, text, name, header)
        return UNBOUND if bound else None

    def _in_scope(self, facts: Facts, number: int, name: str, at: int) -> Bound | None:
        """Bind a name to what a function, or a module inside the file, defines or imports itself."""
        own = self.names.own_member(Place(facts.path, number), name)
        # The methods of an object literal in a function cannot be named without the object.
        shown = [place for place in own if self.kind_of(place) not in MEMBERS]
        if all(self.kind_of(place) == "impl" for place in shown):
            # `impl Trait for Type` says something of a type that is defined or imported elsewhere.
            shown = []
        seen = tuple(place for place in shown if self._is_seen(facts, place, at))
        if seen:
            return self.sure(seen, certain=not self._is_assigned(facts, number, name))
        brought = [each for each in facts.bound.get(name, ()) if facts.scopes.get(each.start_byte) == number]
        if brought:
            # After `if fast: from a import f` / `else: from b import f` the name may mean either.
            led = [self.names.leads_to(facts.path, each) for each in brought]
            places = tuple(sorted({place for each in led for place in each.places}))
            sure = not self._is_assigned(facts, number, name)
            outside = sure and all(each.outside for each in led)
            certain = sure and all(each.places for each in led)
            return self.sure(places, certain) or (ELSEWHERE if outside else UNBOUND)
        for imported in facts.wildcards:
            if facts.scopes.get(imported.start_byte) == number:
                places = self.names.in_wildcard(facts.path, imported, name, set())
                if places:
                    return self.sure(places)
        return None

    def _is_assigned(self, facts: Facts, number: int, name: str) -> bool:
        """Whether a function also assigns to a name that it defines or imports, so that the name may mean either value.

        For instance `maker = self.maker` before `if maker is None: from m import Maker as maker`.
        """
        symbol = facts.symbols[number]
        header = symbol.name_byte - symbol.start_byte + len(symbol.name.encode())
        return facts.traits.rebinds and assigns(facts.text[symbol.start_byte : symbol.end_byte], name, header)

    def at_top(self, facts: Facts, name: str) -> Bound:
        """Bind a name at the top of a file; the result is kept, because most names of a file are used often."""
        return self._tops((facts.path, name))

    def _look_at_top(self, facts: Facts, name: str) -> Bound:
        places = [place for place in self.names.at_top(facts, name) if place.number not in facts.sunken]
        if facts.traits.includes and name in facts.bound and not places:
            # `using a::b` of C++ names a definition of a file that is included.
            used = (each.module.split("::") for each in facts.bound[name] if each.name == name)
            brought = {place for path in used for place in self._under(facts, path, name)}
            return self.sure(tuple(sorted(brought))) or UNBOUND
        outside = unknown = False
        for imported in facts.bound.get(name, ()):
            if imported.start_byte not in facts.scopes:
                # `import a.b` of Python binds the name `a`.
                is_path = facts.traits.import_binds_first and not imported.name and not imported.alias
                led = self.names.leads_to(facts.path, imported._replace(module=name) if is_path else imported)
                places += led.places
                outside, unknown = outside or led.outside, unknown or not (led.places or led.outside)
        if places:
            # After `try: from fast import f` / `except ImportError: def f()` the name may mean either.
            return self.sure(tuple(sorted(set(places))), certain=not (outside or unknown)) or UNBOUND
        if outside or unknown:
            return (self._below(facts, name) or UNBOUND) if unknown else ELSEWHERE
        return self._around(facts, name) or self._by_wildcard(facts, name)

    def _below(self, facts: Facts, name: str) -> Bound | None:
        """Bind an imported name that its module does not show to the only one below the module: never a proof.

        A macro of Rust, or code that runs, may hand on what is defined there.
        """
        places = {
            each
            for imported in facts.bound.get(name, ())
            if imported.start_byte not in facts.scopes
            for each in self.names.below_import(facts.path, imported)
        }
        return self.sure(tuple(sorted(places)), certain=False) if len(places) == 1 else None

    def _around(self, facts: Facts, name: str) -> Bound | None:
        """Bind a name that needs no import: a definition of the same package, or of a file that a C file includes."""
        if facts.traits.includes:
            files = self.names.defining(self.names.reached(facts.path), name)
        elif facts.traits.packages:
            files = self.names.defining(self.names.modules.beside(facts.path), name)
            files = tuple(each for each in files if self.names.facts(each).package == facts.package)
        else:
            return None
        places = [Place(each, number) for each in files for number in self.names.facts(each).top.get(name, ())]
        return self.sure(tuple(places))

    def in_namespace(self, facts: Facts, path: list[str], name: str) -> Bound | None:
        """Bind `path::name` of C++ to a definition in the file or in a file that it includes."""
        return self.sure(self._under(facts, path, name)) if facts.traits.namespaces else None

    def _under(self, facts: Facts, path: list[str], name: str) -> tuple[Place, ...]:
        around = ".".join(path)
        files = self.names.defining(self.names.reached(facts.path) | {facts.path}, name)
        return tuple(
            Place(each, number) for each in files for number in self.names.facts(each).inner.get((around, name), ())
        )

    def _by_wildcard(self, facts: Facts, name: str) -> Bound:
        places: list[Place] = []
        certain = True
        seen: Seen = set()
        for imported in facts.wildcards:
            if imported.start_byte in facts.scopes or facts.traits.includes:
                continue
            # `seen` is shared, so that two hundred files that import everything from each other are walked once.
            found = self.names.in_wildcard(facts.path, imported, name, seen)
            places += found
            certain = certain and bool(self.names.target(facts.path, imported).files)
        return self.sure(tuple(sorted(set(places))), certain) or UNBOUND

    def class_around(self, facts: Facts, scope: int) -> Place | None:
        """Return the class whose instance `self` is in this scope; None outside of classes.

        For a method that is written outside of its class, the class is found by the name before the method's own.
        """
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
        """Whether a method is written outside of its class, as in Go, or after the class, as in C++."""
        symbol = facts.symbols[number]
        return symbol.kind in ("method", "constructor") and (
            symbol.parent < 0 or facts.symbols[symbol.parent].kind not in CLASSES
        )

    def as_type(self, bound: Bound) -> Bound:
        """Return the binding without places that are no types."""
        places = [place for place in bound.places if self.kind_of(place) not in _NO_TYPES]
        return bound._replace(places=tuple(places)) if places or not bound.places else UNBOUND

    def kind_of(self, place: Place) -> str:
        """Return the kind of a definition; a file is a module."""
        return self.names.facts(place.path).symbols[place.number].kind if place.number >= 0 else "module"

    def sure(self, places: tuple[Place, ...], certain: bool = True) -> Bound | None:
        """Return a binding to these places: `proven` when all are one definition, else `likely`; None without places.

        Overloads of a function are one definition.
        """
        if not places:
            return None
        entities = {self.names.entity(place) for place in places}
        # Which extension function of a name is called depends on the type of the receiver, which is not known.
        certain = certain and not any(self._is_extension(place) for place in places)
        return Bound(Tier.PROVEN if certain and len(entities) == 1 else Tier.LIKELY, places)

    def _is_extension(self, place: Place) -> bool:
        facts = self.names.facts(place.path)
        return facts.traits.extensions and place.number >= 0 and self.is_outside_its_class(facts, place.number)
