"""Follow names across files: through imports and re-exports, and into the members of classes and their bases.

Every walk remembers what it has seen and ends after a bounded number of steps, so that cycles and long chains of
re-exports cost little.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from cairn.core.types import Import, Reference
from cairn.graph.facts import CALLABLES, CLASSES, FIELDS, MOST_ALIKE, Facts, Place
from cairn.graph.modules import Modules, files_of
from cairn.store import SnapshotView
from cairn.syntax.resolver import WHOLE, ImportTarget, Lead
from cairn.syntax.traits import Bases

# --- A memory of what walks have found, in which no answer depends on what was asked before.
#
# Walks run in cycles: a module re-exports from a module that re-exports from it. A question that is asked again while
# it is open gets an empty answer, and whatever is found with that empty answer holds for this cycle only: it is
# *provisional* until the question at which the cycle began is answered.


MOST_DEPTH = 40
_MOST_KEPT = 200_000
_NOWHERE = 1 << 30

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_Asked = tuple[int, Hashable]
# Parts of a definition that are none themselves, and files that stand for their folder.
_PARTS = frozenset({"impl", "module", "namespace"})
_OF_FOLDERS = frozenset({"mod", "lib", "main", "__init__", "index"})


class _Passing(NamedTuple):
    """A provisional answer.

    `depth` is how deep the walk was when the question was asked, `reach` how much deeper the walk went for the answer,
    and `back_to` the number of the earliest open question on which the answer depends.
    """

    found: object
    reach: int
    depth: int
    back_to: int


class Walk:
    """The state of the current walk: its depth, its greatest depth, and the open questions with their numbers."""

    def __init__(self) -> None:
        self.depth = self.deepest = 0
        self.open: dict[_Asked, int] = {}
        self.asked = 0
        # The earliest open question that was asked again.
        self.back_to = _NOWHERE
        # The provisional answers in the order of their finding, so that those of one cycle are the last when it ends.
        self.passing: dict[_Asked, _Passing] = {}

    def is_too_deep(self) -> bool:
        """Whether the walk must end here; notes the depth."""
        self.deepest = max(self.deepest, self.depth)
        return self.depth > MOST_DEPTH


class Kept(Generic[Key, Value]):
    """A memory of the answers of one kind of question; `nothing` is the empty answer."""

    def __init__(self, walk: Walk, find: Callable[[Key], Value], nothing: Value) -> None:
        self._walk = walk
        self._find = find
        self._nothing = nothing
        # For each key the answer, its reach, and all questions that were asked in cycles through this one.
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
                # From the very start no other walk could go deeper, so the answer is kept even if it was cut short.
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
        """Remember a provisional answer until its cycle ends.

        An answer that was found before, from deeper, stays dependent on the questions of the earlier answer.
        """
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
# A value may come over so many imports, and so many files are looked at for it.
_NEAR = 3
_MOST_NEAR = 300
_MOST_TARGETS = 200_000

Seen = set[tuple[str, int, str]]


class DefinedAt(NamedTuple):
    """The definitions of a name. `outside` says that the name is certainly defined outside of the snapshot."""

    places: tuple[Place, ...] = ()
    outside: bool = False


UNKNOWN = DefinedAt()
OUTSIDE = DefinedAt(outside=True)


class SnapshotNames:
    """The names of one snapshot. Keeps the facts of the files that were used most recently."""

    def __init__(self, view: SnapshotView) -> None:
        self.view = view
        self.modules = Modules(files_of(view))
        # Set by the `Binder`: the base of a class is a use of a name, and binding a use needs this object in turn.
        self.bind_base: Callable[[str, Reference], tuple[Place, ...]] = lambda _path, _reference: ()
        self._facts: OrderedDict[str, Facts] = OrderedDict()
        self._targets: dict[tuple[str, Import], ImportTarget] = {}
        self._reached: dict[str, frozenset[str]] = {}
        self._near: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        # A few names are asked for very often.
        self.files_defining = lru_cache(_MOST_NAMES)(self._files_defining)
        self.walk = Walk()
        self._led: Kept[ImportTarget, DefinedAt] = Kept(
            self.walk, lambda target: self._found_at(target, set()), UNKNOWN
        )
        self._bases: Kept[tuple[str, Reference], tuple[Place, ...]] = Kept(
            self.walk, lambda key: self.bind_base(*key), ()
        )

    def facts(self, path: str) -> Facts:
        """Return the facts of one file."""
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
        """Return the files that an import leads to."""
        found = self._targets.get((path, imported))
        if found is None:
            within = self._within(self.facts(path), imported)
            if len(self._targets) >= _MOST_TARGETS:
                self._targets.clear()
            found = self._targets[path, imported] = self.modules.resolve(path, imported, within)
        return found

    def leads_to(self, path: str, imported: Import) -> DefinedAt:
        """Return the definitions that an import names, through every file that only re-exports them."""
        # Kept by target: many files import the same name.
        return self._led(self.target(path, imported))

    def below_import(self, path: str, imported: Import) -> tuple[Place, ...]:
        """Return what has the name of an import at the top of a file below the module that the import leads to."""
        target = self.target(path, imported)
        if target.lead is not Lead.INSIDE or not target.name.isidentifier():
            return ()
        folders = {_folder_of(each) for each in target.files}
        files = [each for each in self.files_defining(target.name) if any(map(each.startswith, folders))]
        family = self.modules.family(path)
        return tuple(
            Place(each, number)
            for each in files[:MOST_ALIKE]
            if self.modules.family(each) == family
            for number in self.facts(each).top.get(target.name, ())
            if self.facts(each).symbols[number].kind not in _PARTS
        )

    def _found_at(self, target: ImportTarget, seen: Seen) -> DefinedAt:
        if target.lead is not Lead.INSIDE:
            return OUTSIDE if target.lead is Lead.EXTERNAL else UNKNOWN
        if not target.name:
            whole = [place for each in target.files for place in self._whole(each, seen)]
            return DefinedAt(_unique(whole) or tuple(Place(each, -1) for each in target.files))
        places = self._in_files(target, seen)
        return DefinedAt(places or tuple(Place(each, -1) for each in target.module))

    def _whole(self, path: str, seen: Seen) -> tuple[Place, ...]:
        """Return what a file exports in place of itself, as with `module.exports = a`."""
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
        """Return the files among `files` that define a name."""
        chosen = files if isinstance(files, frozenset) else frozenset(files)
        return tuple(path for path in self.files_defining(name) if path in chosen)

    def _files_defining(self, name: str) -> tuple[str, ...]:
        """Return the files of the snapshot that define a name, in order."""
        return tuple(sorted(self.view.files_defining(name)))

    def exported(self, path: str, name: str, seen: Seen) -> tuple[Place, ...]:
        """Return the definitions that an import of this name from a file leads to."""
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
        only_modules = facts.traits.modules_are_no_values and all(self.is_module(each) for each in places)
        if not places or facts.traits.rebinds or only_modules:
            imports = [*facts.handed_on.get(name, ())]
            if name in facts.exported_as:
                imports += facts.bound.get(local, ())
            shown = (self.target(path, each) for each in imports if each.start_byte not in facts.scopes)
            places = _unique([*places, *(place for each in shown for place in self._found_at(each, seen).places)])
        if not places and name not in ("default", WHOLE):
            places = self._through_wildcards(facts, name, seen)
        return places

    def at_top(self, facts: Facts, name: str) -> tuple[Place, ...]:
        """Return the definitions of a name at the top of a file; `mod name;` of Rust is the file that it names."""
        found = []
        for number in facts.top.get(name, ()):
            if facts.traits.modules_in_files and facts.symbols[number].kind == "module":
                files = [Place(each, -1) for each in self.modules.child(facts.path, name)]
                found += files or [Place(facts.path, number)]
            else:
                found.append(Place(facts.path, number))
        return tuple(found)

    def is_module(self, place: Place) -> bool:
        """Whether a place is a module: a file, or a module inside a file."""
        return place.number < 0 or self.facts(place.path).symbols[place.number].kind == "module"

    def _through_wildcards(self, facts: Facts, name: str, seen: Seen) -> tuple[Place, ...]:
        found: list[Place] = []
        for imported in facts.wildcards_handed_on:
            if imported.start_byte not in facts.scopes:
                found += self.in_wildcard(facts.path, imported, name, seen)
        return _unique(found)

    def in_wildcard(self, path: str, imported: Import, name: str, seen: Seen) -> tuple[Place, ...]:
        """Return the definitions that a wildcard import brings under this name."""
        target = self.target(path, imported)
        around = target.name.rpartition(".")[0]
        whole = f"{around}.{name}" if around else name
        return self._in_files(target._replace(name=whole), seen) if target.files else ()

    def member(self, place: Place, name: str, seen: Seen) -> tuple[Place, ...]:
        """Return the definitions of a name in a module, or in a class and its bases."""
        if place.number < 0:
            found = self.exported(place.path, name, seen)
            return found or tuple(Place(each, -1) for each in self.modules.child(place.path, name))
        return self.own_member(place, name) or self.inherited(place, name, seen)

    def own_member(self, place: Place, name: str) -> tuple[Place, ...]:
        """Return the members of a definition itself; where a package is a folder, from all files of the package."""
        facts = self.facts(place.path)
        around = facts.qualified(place.number)
        own = tuple(Place(place.path, number) for number in facts.inner.get((around, name), ()))
        if facts.traits.impls and len(own) > 1:
            # A method of a Rust type itself goes before a method of an `impl Trait for Type` block.
            return tuple(each for each in own if not facts.bases.get(facts.symbols[each.number].parent)) or own
        if own or not facts.traits.package_is_folder:
            return own
        files = self.defining(self.modules.beside(place.path), name)
        return tuple(Place(each, number) for each in files for number in self.facts(each).inner.get((around, name), ()))

    def inherited(self, place: Place, name: str, seen: Seen) -> tuple[Place, ...]:
        """Return the member that a class inherits, from the first base that has it."""
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
            # The traits of a Rust type are named by its `impl` blocks.
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
        """Return the member that Python finds first: a class is asked before its own bases.

        So a member that one base inherits from a class comes after the member of another base that overrides it.
        """
        holders = [self._holder(found[0]) for found in candidates]
        for found, holder in zip(candidates, holders, strict=True):
            if not any(self._is_below(other, holder, set()) for other in holders if other != holder):
                return found
        return ()

    def _holder(self, place: Place) -> Place:
        return Place(place.path, self.facts(place.path).symbols[place.number].parent if place.number >= 0 else -1)

    def is_below(self, place: Place, above: Place) -> bool:
        """Whether a class has the class `above` among its bases, at any distance."""
        return place != above and self._is_below(place, above, set())

    def _is_below(self, place: Place, above: Place, seen: set[Place]) -> bool:
        """Whether a class has the class `above` among its bases, at any distance."""
        if place in seen or place.number < 0 or len(seen) > MOST_DEPTH:
            return False
        seen.add(place)
        facts = self.facts(place.path)
        bases = {inner for base in facts.bases.get(place.number, ()) for inner in self._bases((place.path, base))}
        return above in bases or any(self._is_below(each, above, seen) for each in sorted(bases))

    def in_path(self, path: str, parts: list[str]) -> tuple[Place, ...]:
        """Return the definitions that a path of names, each inside the one before, leads to from the top of a file."""
        places: tuple[Place, ...] = (Place(path, -1),)
        for name in parts:
            places = _unique(each for place in places for each in self.member(place, name, set()))
        return places

    def entity(self, place: Place) -> tuple[str, str]:
        """Return a key that all declarations of one definition share: overloads, prototypes, files of a package."""
        facts = self.facts(place.path)
        if place.number < 0:
            return (place.path.rpartition("/")[0] if facts.traits.package_is_folder else place.path), ""
        # A prototype in a header and the definition in another file are one.
        return "" if facts.traits.includes else place.path, facts.qualified(place.number)

    def are_apart(self, one: Place, other: Place) -> bool:
        """Whether one place is a field and the other a method of its name, where a class can have both."""
        facts = self.facts(one.path)
        kinds = {place.number >= 0 and self.facts(place.path).symbols[place.number].kind for place in (one, other)}
        return not facts.traits.rebinds and bool(kinds & FIELDS) and bool(kinds & CALLABLES)

    def reached(self, path: str) -> frozenset[str]:
        """Return the files that a C file includes, directly or through others."""
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
                # Thousands of files may each include thousands, so only some results are kept; the oldest goes first.
                del self._reached[next(iter(self._reached))]
            self._reached[path] = frozenset(found)
        return self._reached[path]

    def has_part_in(self, path: str, other: str) -> bool:
        """Whether a few imports lead from a file to another, or to the package of the other where files declare one."""
        found = self._near.get(path)
        if found is None:
            if len(self._near) >= _MOST_REACHED:
                del self._near[next(iter(self._near))]
            found = self._near[path] = self._files_near(path)
        files, packages = found
        return other in files or other.rpartition("/")[0] in packages

    def _files_near(self, path: str) -> tuple[frozenset[str], frozenset[str]]:
        found, edge = {path}, [path]
        for _ in range(_NEAR):
            fresh: dict[str, None] = {}
            for at in edge:
                for imported in self.facts(at).imports:
                    target = self.target(at, imported)
                    fresh.update(dict.fromkeys(each for each in (*target.files, *target.module) if each not in found))
            edge = list(fresh)[: max(0, _MOST_NEAR - len(found))]
            found.update(edge)
        packages = self.facts(path).traits.packages
        return frozenset(found), frozenset(each.rpartition("/")[0] for each in found if packages)

    def _within(self, facts: Facts, imported: Import) -> tuple[str, ...]:
        if not facts.traits.modules_in_files:
            return ()
        return self.modules_around(facts, facts.scopes.get(imported.start_byte, -1))

    def modules_around(self, facts: Facts, number: int) -> tuple[str, ...]:
        """Return the modules inside the file around a definition, outermost first."""
        found: list[str] = []
        while number >= 0:
            if facts.symbols[number].kind == "module":
                found.append(facts.symbols[number].name)
            number = facts.symbols[number].parent
        return tuple(reversed(found))


def _folder_of(module: str) -> str:
    """Return the folder of what belongs to a module, as `src/sync/` for `src/sync/mod.rs` and for `src/sync.rs`."""
    folder, _, name = module.rpartition("/")
    stem = name.partition(".")[0]
    whole = folder if stem in _OF_FOLDERS else f"{folder}/{stem}" if folder else stem
    return f"{whole}/" if whole else ""


def _unique(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(set(places)))
