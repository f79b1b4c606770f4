"""Names across files: what an import leads to in the end, what a module hands on, and what is in a class and its bases.

Every walk carries what it has seen and ends after a bounded number of steps, so cycles and towers of re-exports cost
little.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from cairn.core.types import Import, Reference
from cairn.graph.facts import CLASSES, Facts, Place
from cairn.graph.modules import Modules, files_of
from cairn.store import SnapshotView
from cairn.syntax.resolver import WHOLE, ImportTarget, Lead
from cairn.syntax.traits import Bases

# --- What walks through names have found, kept in such a way that no answer depends on what was asked before.


MOST_DEPTH = 40
_MOST_KEPT = 200_000
_NOWHERE = 1 << 30

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
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


class Kept(Generic[Key, Value]):
    """What was found for each key, by walks of one kind."""

    def __init__(self, walk: Walk, find: Callable[[Key], Value], nothing: Value) -> None:
        self._walk = walk
        self._find = find
        self._nothing = nothing
        # What was found, how deep it went, and all that was asked on rounds that came back to it.
        self._found: dict[Key, tuple[Value, int, frozenset[_Asked]]] = {}

    def __call__(self, key: Key) -> Value:
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

    def _look(self, asked: _Asked, key: Key) -> Value:
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

    def _keep(self, key: Key, found: Value, reach: int, round_trip: frozenset[_Asked]) -> None:
        if len(self._found) >= _MOST_KEPT:
            self._found.clear()
        self._found[key] = found, reach, round_trip


_MOST_STEPS = 500
_MOST_FACTS = 4_000
_MOST_NAMES = 20_000
_MOST_REACHED = 2_000
_MOST_TARGETS = 200_000

Seen = set[tuple[str, int, str]]


class DefinedAt(NamedTuple):
    """Where a name is defined; none of them and `outside`: in something that is not in the snapshot, for sure."""

    places: tuple[Place, ...] = ()
    outside: bool = False


UNKNOWN = DefinedAt()
OUTSIDE = DefinedAt(outside=True)


class SnapshotNames:
    """The names of one snapshot. Keeps the facts of the files it has looked at lately."""

    def __init__(self, view: SnapshotView) -> None:
        self.view = view
        self.modules = Modules(files_of(view))
        # Set by whoever knows how a use of a name is bound: the bases of a class are such uses.
        self.bind_base: Callable[[str, Reference], tuple[Place, ...]] = lambda _path, _reference: ()
        self._facts: OrderedDict[str, Facts] = OrderedDict()
        self._targets: dict[tuple[str, Import], ImportTarget] = {}
        self._reached: dict[str, frozenset[str]] = {}
        # The same names are asked for again and again.
        self.files_defining = lru_cache(_MOST_NAMES)(self._files_defining)
        self.walk = Walk()
        self._led: Kept[ImportTarget, DefinedAt] = Kept(
            self.walk, lambda target: self._found_at(target, set()), UNKNOWN
        )
        self._bases: Kept[tuple[str, Reference], tuple[Place, ...]] = Kept(
            self.walk, lambda key: self.bind_base(*key), ()
        )

    def facts(self, path: str) -> Facts:
        """The facts of one file."""
        found = self._facts.get(path)
        if found is None:
            language = self.modules.files.languages.get(path, "")
            found = self._facts[path] = Facts(self.view, path, language)
            if len(self._facts) > _MOST_FACTS:
                self._facts.popitem(last=False)
        else:
            self._facts.move_to_end(path)
        return found

    def target(self, path: str, imported: Import) -> ImportTarget:
        """The files that an import leads to."""
        found = self._targets.get((path, imported))
        if found is None:
            within = self._within(self.facts(path), imported)
            if len(self._targets) >= _MOST_TARGETS:
                self._targets.clear()
            found = self._targets[path, imported] = self.modules.resolve(path, imported, within)
        return found

    def leads_to(self, path: str, imported: Import) -> DefinedAt:
        """What an import names, through every file that only hands it on."""
        # Many files import the same.
        return self._led(self.target(path, imported))

    def _found_at(self, target: ImportTarget, seen: Seen) -> DefinedAt:
        if target.lead is not Lead.INSIDE:
            return OUTSIDE if target.lead is Lead.EXTERNAL else UNKNOWN
        if not target.name:
            whole = [place for each in target.files for place in self._whole(each, seen)]
            return DefinedAt(_unique(whole) or tuple(Place(each, -1) for each in target.files))
        places = self._in_files(target, seen)
        return DefinedAt(places or tuple(Place(each, -1) for each in target.module))

    def _whole(self, path: str, seen: Seen) -> tuple[Place, ...]:
        """What a file exports in place of itself."""
        facts = self.facts(path)
        return self.exported(path, WHOLE, seen) if WHOLE in facts.exported_as else ()

    def _in_files(self, target: ImportTarget, seen: Seen) -> tuple[Place, ...]:
        first, *rest = target.name.split(".")
        if first == "*":
            return ()
        files = self.defining(target.files, first) if len(target.files) > 1 else target.files
        places = _unique(place for each in files for place in self.exported(each, first, seen))
        for name in rest:
            places = _unique(inner for place in places for inner in self.member(place, name, seen))
        return places

    def defining(self, files: Iterable[str], name: str) -> tuple[str, ...]:
        """Those of the files that define a name."""
        chosen = files if isinstance(files, frozenset) else frozenset(files)
        return tuple(path for path in self.files_defining(name) if path in chosen)

    def _files_defining(self, name: str) -> tuple[str, ...]:
        """The files of the snapshot that define a name, in order."""
        return tuple(sorted(self.view.files_defining(name)))

    def exported(self, path: str, name: str, seen: Seen) -> tuple[Place, ...]:
        """What a file gives under this name to those that import it."""
        if (path, -1, name) in seen or len(seen) > _MOST_STEPS or self.walk.is_too_deep():
            return ()
        seen.add((path, -1, name))
        self.walk.depth += 1
        try:
            return self._exported(self.facts(path), name, seen)
        finally:
            self.walk.depth -= 1

    def _exported(self, facts: Facts, name: str, seen: Seen) -> tuple[Place, ...]:
        path = facts.path
        local = facts.exported_as.get(name, "" if name in ("default", WHOLE) else name)
        places = self.at_top(facts, local)
        if not places or facts.traits.rebinds:
            imports = [*facts.handed_on.get(name, ())]
            if name in facts.exported_as:
                imports += facts.bound.get(local, ())
            shown = (self.target(path, each) for each in imports if each.start_byte not in facts.scopes)
            places = _unique([*places, *(place for each in shown for place in self._found_at(each, seen).places)])
        if not places and name not in ("default", WHOLE):
            places = self._through_wildcards(facts, name, seen)
        return places

    def at_top(self, facts: Facts, name: str) -> tuple[Place, ...]:
        """The definitions at the top of a file; `mod name;` of Rust is the file that it names."""
        found = []
        for number in facts.top.get(name, ()):
            if facts.traits.modules_in_files and facts.symbols[number].kind == "module":
                files = [Place(each, -1) for each in self.modules.child(facts.path, name)]
                found += files or [Place(facts.path, number)]
            else:
                found.append(Place(facts.path, number))
        return tuple(found)

    def _through_wildcards(self, facts: Facts, name: str, seen: Seen) -> tuple[Place, ...]:
        found: list[Place] = []
        for imported in facts.wildcards_handed_on:
            if imported.start_byte not in facts.scopes:
                found += self.in_wildcard(facts.path, imported, name, seen)
        return _unique(found)

    def in_wildcard(self, path: str, imported: Import, name: str, seen: Seen) -> tuple[Place, ...]:
        """What an import of everything brings under this name."""
        target = self.target(path, imported)
        around = target.name.rpartition(".")[0]
        whole = f"{around}.{name}" if around else name
        return self._in_files(target._replace(name=whole), seen) if target.files else ()

    def member(self, place: Place, name: str, seen: Seen) -> tuple[Place, ...]:
        """What stands under this name in a module, or in a class and its bases."""
        if place.number < 0:
            found = self.exported(place.path, name, seen)
            return found or tuple(Place(each, -1) for each in self.modules.child(place.path, name))
        return self.own_member(place, name) or self.inherited(place, name, seen)

    def own_member(self, place: Place, name: str) -> tuple[Place, ...]:
        """What a definition holds itself, wherever in its package that is written."""
        facts = self.facts(place.path)
        around = facts.qualified(place.number)
        own = tuple(Place(place.path, number) for number in facts.inner.get((around, name), ()))
        if facts.traits.impls and len(own) > 1:
            # What a type has itself goes before what it has from a trait.
            return tuple(each for each in own if not facts.bases.get(facts.symbols[each.number].parent)) or own
        if own or not facts.traits.package_is_folder:
            return own
        files = self.defining(self.modules.beside(place.path), name)
        return tuple(Place(each, number) for each in files for number in self.facts(each).inner.get((around, name), ()))

    def inherited(self, place: Place, name: str, seen: Seen) -> tuple[Place, ...]:
        """What the bases of a class hold, the first that has it."""
        if (place.path, place.number, name) in seen or len(seen) > _MOST_STEPS or self.walk.is_too_deep():
            return ()
        seen.add((place.path, place.number, name))
        self.walk.depth += 1
        try:
            return self._inherited(place, name, seen)
        finally:
            self.walk.depth -= 1

    def _inherited(self, place: Place, name: str, seen: Seen) -> tuple[Place, ...]:
        facts = self.facts(place.path)
        if facts.symbols[place.number].kind not in CLASSES:
            return ()
        numbers = [place.number]
        if facts.traits.impls:
            # The traits of a type stand on its `impl` blocks.
            numbers = [*facts.written_as[facts.qualified(place.number)]]
        bases = [
            inner
            for number in numbers
            for base in facts.bases.get(number, ())
            for inner in self._bases((place.path, base))
            if inner != place
        ]
        candidates: list[tuple[Place, ...]] = []
        for inner in reversed(bases) if facts.traits.bases is Bases.LAST else bases:
            if found := self.member(inner, name, seen):
                if facts.traits.bases is not Bases.LINEAR or len(bases) == 1:
                    return found
                candidates.append(found)
        return self._first_asked(candidates)

    def _first_asked(self, candidates: list[tuple[Place, ...]]) -> tuple[Place, ...]:
        """Python asks a class before its own bases: what one base has from those goes after what another overrides."""
        holders = [self._holder(found[0]) for found in candidates]
        for found, holder in zip(candidates, holders, strict=True):
            if not any(self._is_below(other, holder, set()) for other in holders if other != holder):
                return found
        return ()

    def _holder(self, place: Place) -> Place:
        return Place(place.path, self.facts(place.path).symbols[place.number].parent if place.number >= 0 else -1)

    def _is_below(self, place: Place, above: Place, seen: set[Place]) -> bool:
        """Whether a class has another among its bases, at any distance."""
        if place in seen or place.number < 0 or len(seen) > MOST_DEPTH:
            return False
        seen.add(place)
        facts = self.facts(place.path)
        bases = {inner for base in facts.bases.get(place.number, ()) for inner in self._bases((place.path, base))}
        return above in bases or any(self._is_below(each, above, seen) for each in sorted(bases))

    def in_path(self, path: str, parts: list[str]) -> tuple[Place, ...]:
        """What these names lead to, one inside the other, from the top of a file."""
        places: tuple[Place, ...] = (Place(path, -1),)
        for name in parts:
            places = _unique(each for place in places for each in self.member(place, name, set()))
        return places

    def entity(self, place: Place) -> tuple[str, str]:
        """What is the same for all that is written of one definition: overloads, prototypes, files of a package."""
        facts = self.facts(place.path)
        if place.number < 0:
            return (place.path.rpartition("/")[0] if facts.traits.package_is_folder else place.path), ""
        # A prototype in a header and the definition elsewhere are one.
        return "" if facts.traits.includes else place.path, facts.qualified(place.number)

    def reached(self, path: str) -> frozenset[str]:
        """The files that a C file includes, and those that they include."""
        if path not in self._reached:
            found: set[str] = set()
            pending = [path]
            while pending and len(found) < _MOST_REACHED:
                at = pending.pop()
                for imported in self.facts(at).imports:
                    fresh = [each for each in self.target(at, imported).files if each not in found]
                    found.update(fresh)
                    pending += fresh
            if len(self._reached) >= _MOST_REACHED:
                # Of thousands of files that each include thousands, the oldest is looked up again if need be.
                del self._reached[next(iter(self._reached))]
            self._reached[path] = frozenset(found)
        return self._reached[path]

    def _within(self, facts: Facts, imported: Import) -> tuple[str, ...]:
        if not facts.traits.modules_in_files:
            return ()
        return self.modules_around(facts, facts.scopes.get(imported.start_byte, -1))

    def modules_around(self, facts: Facts, number: int) -> tuple[str, ...]:
        """The modules that are written in the file around a definition, outermost first."""
        found: list[str] = []
        while number >= 0:
            if facts.symbols[number].kind == "module":
                found.append(facts.symbols[number].name)
            number = facts.symbols[number].parent
        return tuple(reversed(found))


def _unique(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(set(places)))
