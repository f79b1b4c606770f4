"""Find the uses and imports of a definition, each with its tier, and count the uses that are not listed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from cairn.core import limits
from cairn.core.types import Import, Reference, Symbol
from cairn.graph.binding import Binder
from cairn.graph.facts import CALLABLES, CLASSES, MEMBERS, Facts, Place
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
    listed either. `semantic` are the uses, by file and byte, that an indexer knows.
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


class Graph:
    """The uses, imports and definitions of one snapshot; tables are built when first needed.

    Keep a graph for as long as its view is open.
    """

    is_informed = False
    stamp = ""
    # How many files have changed since an indexer read them, or depend on one that has.
    behind = 0
    """A text that changes whenever what indexers know about the snapshot changes; empty without an indexer."""

    def __init__(self, view: SnapshotView) -> None:
        self.view = view
        self.names = SnapshotNames(view)
        self.binder = Binder(self.names)
        self.importers = Importers(self.names)
        self.occurrences = Occurrences(self.names)
        self._only_file = lru_cache(_MOST_NAMES)(self._the_only_file)
        # Kept for the next page of an answer, or another question about the same definition.
        self._answers = lru_cache(_MOST_ANSWERS)(self._references)

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

    def known_meaning(self, path: str, reference: Reference) -> Bound | None:
        """Return what an indexer knows a use to mean; None where none knows."""
        del path, reference
        return None

    def references(self, place: Place, *, list_name_only: bool = False, everywhere: bool = False) -> SymbolUses:
        """Return the uses of one definition in the whole snapshot, in order of path and place.

        The index knows calls, types, bases and annotations; `everywhere` finds all other places of the name too.
        """
        return self._answers(place, list_name_only, everywhere)

    def _references(self, place: Place, list_name_only: bool, everywhere: bool) -> SymbolUses:
        wanted = self.names.facts(place.path).symbols[place.number]
        imports, aliases = self.importers.of(place)
        named = list(self.view.references_named(wanted.name))
        used = list(named)
        for path, alias in sorted(aliases):
            used += [(path, each) for each in self.names.facts(path).references if each.name == alias]
        near = {place.path, *(site.path for site in imports)}
        looked_at = _nearest(used, near, limits.MAX_USES_LOOKED_AT)
        left, mentions = len(used) - len(looked_at), 0
        found: list[tuple[str, Reference, Tier | None]] = []
        if everywhere:
            others, mentions, unseen = self._everywhere(place, aliases, near, limits.MAX_USES_LOOKED_AT, named)
            left += unseen
            # A name in an import that leads to the definition is listed as that import.
            known = {(site.path, site.imported.start_byte, site.imported.name) for site in imports}
            found += [
                (each.path, each.use, self._tier_of_found(place, each))
                for each in others
                if each.imported is None or (each.path, each.imported.start_byte, each.imported.name) not in known
            ]
        found += [(path, use, self._tier(place, path, use)) for path, use in looked_at]
        found.sort(key=lambda each: (each[0], each[1].start_byte))
        sites: dict[Tier, list[Site]] = {tier: [] for tier in Tier}
        elsewhere, name_only = 0, left
        for path, reference, tier in found:
            if tier is None:
                elsewhere += 1
                continue
            name_only += tier is Tier.NAME_ONLY
            if tier is not Tier.NAME_ONLY or list_name_only:
                sites[tier].append(self._site(path, reference))
        proven, likely, listed = (tuple(sites[tier]) for tier in (Tier.PROVEN, Tier.LIKELY, Tier.NAME_ONLY))
        written = self._definitions(place)
        return SymbolUses(written, proven, likely, listed, imports, name_only, elsewhere, left, mentions)

    def _everywhere(
        self,
        place: Place,
        aliases: set[tuple[str, str]],
        near: set[str],
        most: int,
        named: list[tuple[str, Reference]],
    ) -> tuple[list[FoundPlace], int, int]:
        """Return the places of a definition's names that the index does not hold, the mentions, and those left out."""
        name, family = self.names.facts(place.path).symbols[place.number].name, self._family(place.path)
        places, mentions, left = self.occurrences.of(name, lambda path: self._family(path) == family, near, most, named)
        for path, alias in sorted(aliases):
            more = self.occurrences.of(alias, {path}.__contains__, near, most - len(places))
            places, left = places + [each for each in more.places if not each.is_key], left + more.not_looked_at
        return places, mentions, left

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
            return self._tier_at(place, bound)
        return Tier.NAME_ONLY

    def _tier_at(self, place: Place, bound: Bound) -> Tier | None:
        """Return the tier of a use with this binding; that it means something else needs a proof, and no guess."""
        if any(self.importers.same(place, each) for each in bound.places):
            return bound.tier
        return None if bound.tier is Tier.PROVEN else Tier.NAME_ONLY

    def _tier_of_found(self, place: Place, found: FoundPlace) -> Tier | None:
        """Return the tier of a place that the text shows; a key or a string means anything unless an indexer knows."""
        if not found.is_key:
            return self._tier(place, found.path, found.use)
        bound = self.known_meaning(found.path, found.use) or UNBOUND
        if bound.places:
            return self._tier_at(place, bound)
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
        """Return the language family of a file; a language whose imports are not resolved is its own family."""
        return self.names.modules.family(path) or self.names.modules.files.languages.get(path, "")

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


def _nearest(used: list[tuple[str, Reference]], near: set[str], most: int) -> list[tuple[str, Reference]]:
    """Return at most `most` uses in order of path and place; uses in the files of `near` are kept first."""

    def order(use: tuple[str, Reference]) -> tuple[str, int]:
        return use[0], use[1].start_byte

    if len(used) > most:
        used = sorted(used, key=lambda use: (use[0] not in near, *order(use)))[:most]
    return sorted(used, key=order)
