"""Find the uses and imports of a definition, each with its tier, and count the uses that are not listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cairn.core import limits
from cairn.core.types import NOT_BEHIND, Import, Reference, Symbol
from cairn.graph.binding import Binder
from cairn.graph.facts import CALLABLES, CLASSES, MEMBERS, Facts, Place
from cairn.graph.gathering import Gathering, Judge, NamesInUse
from cairn.graph.importers import Importers, ImportSite
from cairn.graph.names import SnapshotNames
from cairn.graph.occurrences import FoundPlace, Occurrences
from cairn.graph.scopes import UNBOUND, Bound, Tier
from cairn.graph.shadows import words
from cairn.search.places import is_test
from cairn.store import SnapshotView

# The first characters of literals, whose methods belong to the language and not to the codebase.
_LITERAL = frozenset("\"'`[{0123456789")
_MOST_NAMES = 20_000
_MOST_ANSWERS = 32
_OF_PATHS = frozenset({"module", "namespace"})
# Through so many files that only hand a name on it is looked whether several imports bind it.
_MOST_STEPS = 3
_FIRST_WORD = re.compile(r"[\w$]+")


class Site(NamedTuple):
    """A place where a definition is used.

    `inside` is the dotted name of the definition around the use, empty at the top of the file; `scope` is the number of
    that surrounding definition in the file, -1 at the top.
    """

    path: str
    line: int
    column: int
    kind: str
    name: str
    receiver: str
    inside: str
    start_byte: int
    scope: int


class WrittenDefinition(NamedTuple):
    """A symbol and the file that holds it."""

    path: str
    symbol: Symbol


class SymbolUses(NamedTuple):
    """All that is known of the uses of one definition.

    `name_only` is filled only on request. `name_only_count` uses have the name of the definition and may mean it;
    `elsewhere_count` uses have the name and mean something else. `not_looked_at` uses were over the limit: they are in
    `name_only_count` and are never listed. `mentions` are places in comments and in longer texts, which are never
    listed either. `semantic` are the uses, by file and byte, that an indexer knows. `files` were looked at, and
    `files_left` more may hold the name. `spent` is what the look at them has cost.
    """

    definitions: tuple[WrittenDefinition, ...]
    proven: tuple[Site, ...]
    likely: tuple[Site, ...]
    name_only: tuple[Site, ...]
    imports: tuple[ImportSite, ...]
    name_only_count: int
    elsewhere_count: int
    not_looked_at: int = 0
    mentions: int = 0
    semantic: frozenset[tuple[str, int]] = frozenset()
    files: frozenset[str] = frozenset()
    files_left: int = 0
    spent: float = 0.0


class _Looks(NamedTuple):
    """The parts of an answer that were looked at so far, and what goes on from there."""

    gathering: Gathering
    parts: list[SymbolUses]


class Graph:
    """The uses, imports and definitions of one snapshot; tables are built when first needed.

    Keep a graph for as long as its view is open.
    """

    is_informed = False
    stamp = ""
    behind = NOT_BEHIND
    """A text that changes whenever what indexers know about the snapshot changes; empty without an indexer."""

    def __init__(self, view: SnapshotView) -> None:
        self.view = view
        self.names = SnapshotNames(view)
        self.binder = Binder(self.names)
        self.importers = Importers(self.names)
        self.occurrences = Occurrences(self.names)
        self.in_use = NamesInUse(self.names, self.occurrences)
        self._only_file = lru_cache(_MOST_NAMES)(self._the_only_file)
        # Kept for the next page of an answer, or another question about the same definition.
        self._answers = lru_cache(_MOST_ANSWERS)(self._references)
        self._nearest = lru_cache(_MOST_ANSWERS)(self._near)
        self._looks = lru_cache(_MOST_ANSWERS)(self._begun)

    def places(self, path: str, name: str, line: int | None = None) -> tuple[Place, ...]:
        """Return the definitions of a name, or of a dotted name, in a file; with `line` only those that begin on it."""
        facts = self.names.facts(path)
        return tuple(
            Place(path, number)
            for number, symbol in enumerate(facts.symbols)
            if (symbol.name == name or facts.qualified(number) == name) and line in (None, symbol.start_line)
        )

    def bind(self, path: str, reference: Reference) -> Bound:
        """Bind one use of a name; a member's name that only one definition has is bound to it as `likely`."""
        bound = self.binder.bind(path, reference)
        if bound.places or bound.elsewhere or bound.foreign:
            return bound._replace(tier=self._decided(path, reference, bound))
        return self._by_uniqueness(path, reference) or bound

    def _decided(self, path: str, reference: Reference, bound: Bound) -> Tier:
        """Return the tier of a binding: at most `likely` where a condition decides what is compiled."""
        if bound.tier is not Tier.PROVEN:
            return bound.tier
        facts, first = self.names.facts(path), _FIRST_WORD.match(reference.receiver or reference.name)
        imports = facts.bound.get(first[0], ()) if first else ()
        spots = [(path, each.start_byte) for each in imports]
        if spots and all(self._depends(*spot, path, reference.start_byte) for spot in spots):
            return Tier.LIKELY
        held = [
            (place, self._depends(place.path, self.names.facts(place.path).symbols[place.number].name_byte, path, at))
            for place in bound.places
            if place.number >= 0
            for at in (reference.start_byte,)
        ]
        unsure = [place for place, depends in held if depends]
        if not unsure:
            return bound.tier
        # A function whose prototype stands without a condition is there, whichever of its bodies is.
        kinds = {self.names.facts(place.path).symbols[place.number].kind in CALLABLES for place, _ in held}
        return bound.tier if len(unsure) < len(held) and kinds == {True} else Tier.LIKELY

    def _depends(self, where: str, defined: int, path: str, at: int) -> bool:
        """Whether a definition is compiled under a condition that does not hold at the place of its use."""
        conditions = self.names.facts(where).conditions_at(defined)
        if not conditions:
            return False
        held = {each.text for each in self.names.facts(path).conditions_at(at)}
        return any(each.text not in held for each in conditions)

    def in_turn(self, path: str, name: str, steps: int = _MOST_STEPS) -> bool:
        """Whether imports from several modules bind a name in one scope: `try: from a import x`, `except: from b …`.

        So too where the name is imported from a file that does it.
        """
        facts = self.names.facts(path)
        imports = facts.bound.get(name, ())
        scopes: dict[int, set[str]] = {}
        for each in imports:
            scopes.setdefault(facts.around(each.start_byte), set()).add(each.module)
        if any(len(each) > 1 for each in scopes.values()):
            return True
        targets = (self.names.target(path, each) for each in imports) if steps else ()
        return any(
            file != path and self.in_turn(file, target.name, steps - 1)
            for target in targets
            if target.name
            for file in target.files[:1]
        )

    def known_meaning(self, path: str, reference: Reference) -> Bound | None:
        """Return what an indexer knows a use to mean; None where none knows."""
        del path, reference
        return None

    def references(self, place: Place, *, list_name_only: bool = False, everywhere: bool = False) -> SymbolUses:
        """Return the uses of one definition in the whole snapshot, in order of path and place.

        The index knows calls, types, bases and annotations; `everywhere` finds all other places of the name too.
        """
        return self._answers(place, list_name_only, everywhere)

    def nearest(self, place: Place, cost: int, *, list_name_only: bool = False) -> SymbolUses:
        """Return the uses that the index knows in the files near a definition, as many as may be bound at this cost."""
        return self._nearest(place, list_name_only, cost)

    def looks(self, place: Place, cost: int) -> Iterator[SymbolUses]:
        """Yield the uses and all other places of a definition's names, the nearest files first.

        Each part is what may be bound at this cost; its `not_looked_at` and `files_left` say what comes after it.
        """
        looks = self._looks(place, cost)
        number = 0
        while number < len(looks.parts) or not looks.gathering.is_done:
            if number == len(looks.parts):
                looks.parts.append(self._part(place, looks.gathering, cost, None, True))
            yield looks.parts[number]
            number += 1

    def _references(self, place: Place, list_name_only: bool, everywhere: bool) -> SymbolUses:
        """Return all uses at once, in order of the files."""
        gathering = self._gathering(place, everywhere)
        return self._part(place, gathering, limits.MAX_USES_LOOKED_AT * 100, limits.MAX_USES_LOOKED_AT, list_name_only)

    def _near(self, place: Place, list_name_only: bool, cost: int) -> SymbolUses:
        most = min(cost, limits.MAX_USES_LOOKED_AT)
        return self._part(place, self._gathering(place, False), cost, most, list_name_only)

    def _begun(self, place: Place, cost: int) -> _Looks:
        del cost
        return _Looks(self._gathering(place, True), [])

    def _gathering(self, place: Place, everywhere: bool) -> Gathering:
        judge = Judge(
            lambda path, use: self._tier(place, path, use),
            lambda found: self._tier_of_found(place, found),
        )
        first = self._known_files(place)
        return Gathering(self.in_use, place, self.importers.of(place), judge, everywhere=everywhere, first=first)

    def _known_files(self, place: Place) -> frozenset[str]:
        """Return the files in which an indexer knows uses of a definition."""
        del place
        return frozenset()

    def _part(
        self, place: Place, gathering: Gathering, cost: int, most: int | None, list_name_only: bool
    ) -> SymbolUses:
        look = gathering.look(cost, most)
        found = sorted(look.found, key=lambda each: (each.path, each.use.start_byte))
        sites: dict[Tier, list[Site]] = {tier: [] for tier in Tier}
        elsewhere, name_only = 0, look.left
        for path, reference, tier in found:
            if tier is None:
                elsewhere += 1
                continue
            name_only += tier is Tier.NAME_ONLY
            if tier is not Tier.NAME_ONLY or list_name_only:
                sites[tier].append(self._site(path, reference))
        return SymbolUses(
            definitions=self._definitions(place),
            proven=tuple(sites[Tier.PROVEN]),
            likely=tuple(sites[Tier.LIKELY]),
            name_only=tuple(sites[Tier.NAME_ONLY]),
            imports=tuple(sorted(look.imports, key=lambda site: (site.path, site.imported.start_byte, site.imported))),
            name_only_count=name_only,
            elsewhere_count=elsewhere,
            not_looked_at=look.left,
            mentions=look.mentions,
            files=look.files,
            files_left=look.files_left,
            spent=look.spent,
        )

    def dependencies(self) -> dict[str, tuple[str, ...]]:
        """Return for every file the files that its imports lead to, in order; files without any are left out."""
        return self.importers.dependencies()

    # --- how a use stands to a definition ------------------------------------------------------------------------

    def _tier(self, place: Place, path: str, reference: Reference) -> Tier | None:
        """Return the tier of a use as a use of the definition at `place`; None when the use means something else."""
        bound = self.bind(path, reference)
        if bound.elsewhere:
            return None
        if bound.places:
            return self._tier_at(place, bound, path, reference)
        return Tier.NAME_ONLY

    def _tier_at(self, place: Place, bound: Bound, path: str, use: Reference) -> Tier | None:
        """Return the tier of a use with this binding; that it means something else needs a proof, and no guess.

        A call of a method may run what a class below overrides it with, so for the override it is no proof.
        """
        if any(self.importers.same(place, each) for each in bound.places):
            return bound.tier
        if bound.tier is not Tier.PROVEN:
            return Tier.NAME_ONLY
        is_super = use.receiver in self.names.facts(path).traits.base or use.receiver.startswith("super")
        may_run = not is_super and any(self._may_run(each, place) for each in bound.places)
        return Tier.NAME_ONLY if may_run else None

    def _may_run(self, called: Place, place: Place) -> bool:
        """Whether the class of a method is below the class of the method that is called."""
        if called.number < 0 or called == place:
            return False
        above, below = self.names.facts(called.path).symbols, self.names.facts(place.path).symbols
        if above[called.number].kind != "method" or below[place.number].kind != "method":
            return False
        parents = Place(called.path, above[called.number].parent), Place(place.path, below[place.number].parent)
        return min(parents[0].number, parents[1].number) >= 0 and self.names.is_below(parents[1], parents[0])

    def _tier_of_found(self, place: Place, found: FoundPlace) -> Tier | None:
        """Return the tier of a place that the text shows; a key or a string means anything unless an indexer knows."""
        if found.imported is not None and self.in_turn(found.path, found.use.name):
            # Each of these imports means its own module, whatever an indexer makes of all of them.
            led = self.names.leads_to(found.path, found.imported).places
            if any(self.importers.same(place, each) for each in led):
                return Tier.LIKELY
            return self._tier_of_import(place, found.path, found.imported)
        if not found.is_key:
            return self._tier(place, found.path, found.use)
        bound = self.known_meaning(found.path, found.use) or UNBOUND
        if bound.places:
            return self._tier_at(place, bound, found.path, found.use)
        return Tier.NAME_ONLY if found.imported is None else self._tier_of_import(place, found.path, found.imported)

    def _tier_of_import(self, place: Place, path: str, imported: Import) -> Tier | None:
        """Return the tier of a name in an import that is not known to lead to the definition."""
        symbol = self.names.facts(place.path).symbols[place.number]
        if symbol.name not in (imported.name, imported.alias):
            # A part of the path of a module; in Java the class of a static import.
            return Tier.NAME_ONLY if symbol.kind in CLASSES or symbol.kind in _OF_PATHS else None
        led = self.names.leads_to(path, imported)
        if led.places or led.outside:
            return None
        below = self.names.below_import(path, imported)
        return Tier.LIKELY if below and all(self.importers.same(place, each) for each in below) else Tier.NAME_ONLY

    def _by_uniqueness(self, path: str, reference: Reference) -> Bound | None:
        """Bind a member of an unknown value to the only definition of its name; None when there is not exactly one."""
        family = self._family(path)
        receiver = reference.receiver
        # A bare name is bound by its scope or not at all, and a member of `super()` is never one of the own class.
        if not receiver or receiver.startswith("super") or receiver[0] in _LITERAL:
            return None
        traits = self.names.modules.traits(path)
        if reference.name in traits.common or (
            traits.common_prefix and reference.name.startswith(traits.common_prefix)
        ):
            return None
        where = self._only_file(reference.name, family)
        if where is None:
            return None
        facts = self.names.facts(where)
        symbol, *others = (each for each in facts.symbols if each.name == reference.name)
        if any(each.container != symbol.container for each in others):
            return None
        if not self._are_close(path, where, symbol.container):
            # That one definition has the name says nothing to a file that has no part in it.
            return None
        if is_test(where) and not is_test(path):
            # A definition of the tests is not what the program calls.
            return None
        # `Promise.any` names a member of a class that is not in the snapshot, not of an unknown value.
        if receiver[0].isupper() and receiver.isidentifier() and not symbol.container.endswith(receiver):
            return None
        if not self._fits_a_value(facts, symbol, reference.kind):
            return None
        numbers = facts.inner.get((symbol.container, symbol.name), ())
        return Bound(Tier.LIKELY, tuple(Place(where, number) for number in numbers)) if numbers else None

    def _are_close(self, path: str, where: str, around: str) -> bool:
        """Whether a file can know a value of a class: one package, or an import leads from the one to the other.

        Where imports are not resolved, a folder and what is in it are one package, and a file that names the class
        knows it.
        """
        here, there = path.rpartition("/")[0], where.rpartition("/")[0]
        if here == there:
            return True
        if not self.names.modules.family(path):
            inner, outer = (here, there) if len(here) > len(there) else (there, here)
            if outer and inner.startswith(f"{outer}/"):
                return True
            text = self.names.facts(path).text
            return next(words(text, around.rpartition(".")[2].encode()), None) is not None
        return self.names.has_part_in(path, where)

    def _the_only_file(self, name: str, family: str) -> str | None:
        """Return the only file of a language family that defines a name; None when there are several or none."""
        found = [path for path in self.names.files_defining(name) if self._family(path) == family]
        return found[0] if len(found) == 1 else None

    def _family(self, path: str) -> str:
        return self.in_use.family(path)

    def _fits_a_value(self, facts: Facts, symbol: Symbol, kind: str) -> bool:
        """Whether `value.name` can mean this symbol: a member of a class, and callable if the use is a call."""
        if symbol.kind not in MEMBERS or not symbol.container or kind in ("type", "base"):
            # A type is no member of a value: `*nats.Subscription` names a type of a package outside the snapshot.
            return False
        if symbol.parent >= 0 and facts.symbols[symbol.parent].kind in CALLABLES:
            # The method of an object literal inside a function: its name is too weak a hint.
            return False
        return kind != "call" or symbol.kind in CALLABLES or "=>" in symbol.signature

    # --- what is shown -------------------------------------------------------------------------------------------

    def _site(self, path: str, use: Reference) -> Site:
        facts = self.names.facts(path)
        around = facts.qualified(use.scope) if use.scope >= 0 else ""
        return Site(path, use.line, use.column, use.kind, use.name, use.receiver, around, use.start_byte, use.scope)

    def _definitions(self, place: Place) -> tuple[WrittenDefinition, ...]:
        facts = self.names.facts(place.path)
        written = facts.written_as[facts.qualified(place.number)]
        numbers = (each for each in written if not self.names.are_apart(place, Place(place.path, each)))
        return tuple(WrittenDefinition(place.path, facts.symbols[number]) for number in numbers)
