"""Say what a change reaches: who calls what is changed, what takes its place, who imports it, and which tests to run.

Callers, heirs and importers are those that the graph knows; each says how sure it is. Tests are ranked: nothing shows
for certain which test would fail, so what speaks for each file is added up, and the first reason is told.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.limits import MAX_IMPACT_NAMES, MAX_TEST_STEPS
from cairn.core.text import word_set
from cairn.core.types import Reference
from cairn.graph.changed import ChangeKind
from cairn.graph.facts import Place
from cairn.graph.heirs import Heirs
from cairn.graph.outline import Definition, definition_of
from cairn.graph.references import Graph
from cairn.graph.routes import Reached, reached_from
from cairn.graph.scopes import Tier
from cairn.graph.uses import shown_line
from cairn.search.places import is_test
from cairn.syntax.languages import has_uses

_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Words by which tests are named after what they test, and folders that hold nothing but tests.
_TEST_WORDS = word_set("test tests spec specs it suite unit e2e integration bench benchmark check")
_SOURCE_FOLDERS = word_set("src lib main java kotlin pkg source packages app internal")
_NO_TESTS = word_set("__init__.py conftest.py")
_MOST_STEPS_OF_IMPORTS = 3
_TIERS = tuple(Tier)


class ReasonToRun(StrEnum):
    """Why a test should run, the most telling first."""

    CALLS = "calls"
    """Calls lead from it to what is changed."""
    NAMED = "named_after"
    """It has the name of a changed file."""
    USES = "uses_name"
    """It uses the name of something that is changed."""
    IMPORTS = "imports"
    """It imports a changed file, perhaps through others."""
    NEAR = "near"
    """It lies near a changed file."""


class RankedTest(NamedTuple):
    """A file of tests, what speaks most for it, and how much speaks for it in all."""

    path: str
    reason: ReasonToRun
    score: float


class Changed(NamedTuple):
    """What is changed: a definition and how. `old_name` is that of before where it was renamed."""

    definition: Definition
    kind: ChangeKind | None = None
    old_name: str = ""


class Affected(NamedTuple):
    """A definition (or, without one, the code of a file) that calls what is changed, `depth` steps away."""

    path: str
    definition: Definition | None
    depth: int
    tier: Tier
    line: int
    text: str


class InPlace(NamedTuple):
    """A definition that takes the place of a changed one: an override or an implementation."""

    path: str
    line: int
    name: str
    kind: str
    tier: Tier


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change reaches.

    Attributes:
        changed: The definitions that are changed or were asked about.
        files: The files that hold them, and those that changed outside of all definitions.
        callers: Who calls them, the nearest first.
        heirs: What overrides or implements them.
        importers: The files that import these files, directly.
        tests: The files of tests, those first for which most speaks.
        left: How many of each part did not fit, by the name of the part.
        looked_at: How many definitions were looked at when the search for callers was given up; 0 when it was not.
        revision: The commit that the files were compared with; empty when a definition or a file was asked about.
    """

    changed: tuple[Changed, ...]
    files: tuple[str, ...]
    callers: tuple[Affected, ...]
    heirs: tuple[InPlace, ...]
    importers: tuple[str, ...]
    tests: tuple[RankedTest, ...]
    left: Mapping[str, int]
    looked_at: int = 0
    revision: str = ""


def impact_of(
    graph: Graph,
    changed: Sequence[tuple[Changed, Place | None]],
    files: Iterable[str],
    *,
    depth: int,
    min_tier: Tier,
    limit: int,
    revision: str = "",
) -> Impact:
    """Return what changes of these definitions and files reach; at most `limit` of each part is listed.

    A definition that was removed has no place any more: what still uses its name, and means nothing else, comes first.
    """
    places = list(dict.fromkeys(place for _, place in changed if place is not None))
    own = tuple(dict.fromkeys((*(one.definition.path for one, _ in changed), *files)))
    reached = reached_from(graph, places, depth=max(depth, MAX_TEST_STEPS), min_tier=min_tier)
    near = [one for one in reached.calls if one.distance <= depth]
    heirs = _heirs(graph, places, limit)
    dependents = _dependents(graph, own)
    importers = sorted(
        (path for path, steps in dependents.items() if steps == 1), key=lambda path: (is_test(path), path)
    )
    tests = _Ranking(graph, own, _names(changed), reached.calls, dependents).ranked()
    callers: list[Reached | Affected] = [*_left_behind(graph, changed, {*own, *dependents}, min_tier), *near]
    parts = {"changed": changed, "callers": callers, "heirs": heirs, "importers": importers, "tests": tests}
    left = {name: len(part) - limit for name, part in parts.items() if len(part) > limit}
    return Impact(
        changed=tuple(one for one, _ in changed[:limit]),
        files=own,
        callers=tuple(_affected(graph, one) if isinstance(one, Reached) else one for one in callers[:limit]),
        heirs=tuple(heirs[:limit]),
        importers=tuple(importers[:limit]),
        tests=tuple(tests[:limit]),
        left=left,
        looked_at=reached.looked_at,
        revision=revision,
    )


def _names(changed: Sequence[tuple[Changed, Place | None]]) -> list[str]:
    found = (name for one, _ in changed for name in (one.definition.name, one.old_name) if name)
    return list(dict.fromkeys(found))[:MAX_IMPACT_NAMES]


def _affected(graph: Graph, one: Reached) -> Affected:
    facts = graph.names.facts(one.call.src.path)
    at = one.call.src.number
    found = definition_of(one.call.src.path, facts.language, facts.symbols[at]) if at >= 0 else None
    text = shown_line(facts.text, one.call.start_byte)[1].strip()
    return Affected(one.call.path, found, one.distance, one.call.tier, one.call.line, text)


def _left_behind(
    graph: Graph, changed: Sequence[tuple[Changed, Place | None]], near: Collection[str], min_tier: Tier
) -> list[Affected]:
    """Return the places that still use a name which is gone, as far as it is not known to mean something else there.

    They are likely in the files that changed and those that import them, elsewhere only the name speaks for it.
    """
    gone = [
        one.old_name if one.kind is ChangeKind.RENAMED else one.definition.name
        for one, place in changed
        if one.kind is ChangeKind.RENAMED or place is None
    ]
    found: dict[tuple[str, int], Affected] = {}
    for name in list(dict.fromkeys(each for each in gone if each))[:MAX_IMPACT_NAMES]:
        called = {(path, use.start_byte): use for path, use in graph.view.references_named(name)}
        for path in graph.occurrences.files(name, lambda _: True):
            tier = Tier.LIKELY if path in near else Tier.NAME_ONLY
            if _TIERS.index(tier) > _TIERS.index(min_tier):
                continue
            uses = [use for (where, _), use in called.items() if where == path]
            others = graph.occurrences.in_file(path, name, uses).places
            for use in (*uses, *(one.use for one in others if not one.is_key)):
                if _is_unknown(graph, path, use):
                    found.setdefault((path, use.line), _use_left(graph, path, use, tier))
            for one in others:
                led = graph.names.leads_to(path, one.imported) if one.imported is not None else None
                if led is not None and not led.places and not led.outside:
                    found.setdefault((path, one.use.line), _use_left(graph, path, one.use, tier))
    return [found[key] for key in sorted(found, key=lambda each: (is_test(each[0]), *each))]


def _is_unknown(graph: Graph, path: str, use: Reference) -> bool:
    bound = graph.bind(path, use)
    return not (bound.places or bound.elsewhere or bound.foreign)


def _use_left(graph: Graph, path: str, use: Reference, tier: Tier) -> Affected:
    facts = graph.names.facts(path)
    at = facts.around(use.start_byte)
    found = definition_of(path, facts.language, facts.symbols[at]) if at >= 0 else None
    return Affected(path, found, 1, tier, use.line, shown_line(facts.text, use.start_byte)[1].strip())


def _heirs(graph: Graph, places: Sequence[Place], limit: int) -> list[InPlace]:
    heirs = Heirs(graph)
    found: dict[tuple[str, int], InPlace] = {}
    for place in places:
        if len(found) > limit:
            break
        for each in heirs.of(place) if place.number >= 0 else ():
            site = each.site
            named = f"{site.inside}.{site.name}" if site.inside else site.name
            found.setdefault((site.path, site.start_byte), InPlace(site.path, site.line, named, site.kind, each.tier))
    return list(found.values())


def _dependents(graph: Graph, files: Collection[str]) -> dict[str, int]:
    """Return the files from which imports lead to one of these, with the number of imports on the way."""
    importing: dict[str, list[str]] = {}
    for path, targets in graph.importers.dependencies().items():
        for target in targets:
            importing.setdefault(target, []).append(path)
    found: dict[str, int] = {}
    frontier = list(files)
    for step in range(1, _MOST_STEPS_OF_IMPORTS + 1):
        frontier = [
            path
            for path in dict.fromkeys(one for each in frontier for one in importing.get(each, ()))
            if path not in found and path not in files
        ]
        found |= dict.fromkeys(frontier, step)
    return found


def is_runnable_test(path: str) -> bool:
    """Whether a file is one of tests and holds more than what tests share or what makes a folder a package."""
    return is_test(path) and posixpath.basename(path) not in _NO_TESTS


# --- which tests to run -----------------------------------------------------------------------------------------------


class _Ranking:
    """The files of tests of one snapshot, and what speaks for each of them."""

    def __init__(
        self,
        graph: Graph,
        files: Sequence[str],
        names: Sequence[str],
        calls: Sequence[Reached],
        dependents: Mapping[str, int],
    ) -> None:
        self._graph, self._files, self._names = graph, [path for path in files if not is_test(path)], names
        self._calls, self._dependents = calls, dependents
        records = graph.view.records()
        self._tests = [
            path
            for path, file in sorted(records.items())
            if file.skip is None and has_uses(file.language) and is_runnable_test(path)
        ]
        self._own = set(files)

    def ranked(self) -> list[RankedTest]:
        """Return the tests for which something speaks, those first for which most does."""
        calls, uses = self._by_calls(), self._by_names()
        found = []
        for path in self._tests:
            said = {
                ReasonToRun.CALLS: 2.0 * calls.get(path, 0.0),
                ReasonToRun.NAMED: max((_alike(path, each) for each in self._files), default=0.0) * 4.0,
                ReasonToRun.USES: 2.0 * uses.get(path, 0.0),
                ReasonToRun.IMPORTS: 1.0 / self._dependents[path] if path in self._dependents else 0.0,
                ReasonToRun.NEAR: max((_near(path, each) for each in self._files), default=0.0),
            }
            score = sum(said.values())
            if path in self._own:
                # Who changes a test runs it.
                score += 10.0
            if score > 0:
                found.append(RankedTest(path, max(said, key=lambda each: said[each]), round(score, 4)))
        return sorted(found, key=lambda one: (-one.score, one.path))

    def _by_calls(self) -> dict[str, float]:
        """Return for each test how near the changed definitions are that calls from it lead to."""
        found: dict[str, float] = {}
        for one in self._calls:
            if is_test(one.call.path):
                weight = 1.0 / one.distance
                found[one.call.path] = max(found.get(one.call.path, 0.0), weight)
        return found

    def _by_names(self) -> dict[str, float]:
        """Return for each test how many of the changed names it uses; a name that all of them use says little."""
        found: dict[str, float] = {}
        for name in self._names:
            users = {path for path, _ in self._graph.view.references_named(name) if is_test(path)}
            users |= {path for path in self._dependents if is_test(path) and self._imports_name(path, name)}
            if not users:
                continue
            weight = math.log(1 + len(self._tests) / len(users)) / math.log(1 + len(self._tests))
            for path in users:
                found[path] = found.get(path, 0.0) + weight
        # Ten names of one change do not say ten times as much as one.
        return {path: math.log1p(each) for path, each in found.items()}

    def _imports_name(self, path: str, name: str) -> bool:
        return any(each.name == name for each in self._graph.view.imports(path))


def _alike(test: str, source: str) -> float:
    """Return how much of the name of a source file is in that of a test, from 0 to 1."""
    wanted, has = _words_of(source), _words_of(test)
    if not wanted or not has:
        return 0.0
    common = wanted & has
    return len(common) ** 2 / (len(wanted) * len(has))


def _near(test: str, source: str) -> float:
    """Return how many of the folders around a source file are around a test, from 0 to 1."""
    if posixpath.dirname(test) == posixpath.dirname(source):
        return 1.0
    wanted, has = _folders_of(source), _folders_of(test)
    return len(wanted & has) / len(wanted | has) if wanted | has else 0.0


def _words_of(path: str) -> frozenset[str]:
    name = posixpath.basename(path).partition(".")[0]
    if name in ("index", "mod", "__init__", "main"):
        name = posixpath.basename(posixpath.dirname(path))
    return frozenset(part.lower() for part in _PART.findall(name)) - _TEST_WORDS


def _folders_of(path: str) -> frozenset[str]:
    folders = posixpath.dirname(path).lower().split("/")
    return frozenset(folders) - _TEST_WORDS - _SOURCE_FOLDERS - {"", "__tests__"}
