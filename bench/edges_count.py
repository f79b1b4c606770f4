"""How the edges of a graph stand to what an indexer says: counts for each tier, and every disagreement."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from bench.edges_truth import Kind, Meant, Spot, Truth
from cairn.core.types import Reference
from cairn.graph.facts import Place
from cairn.graph.references import Graph
from cairn.graph.scopes import Tier

SCOPES = ("calls", "references")
# Beside the tiers: every definition of the same name, and the only one of that name.
SAME_NAME, UNIQUE_NAME = "same_name", "unique_name"
RULES = (Tier.PROVEN.value, Tier.LIKELY.value, SAME_NAME, UNIQUE_NAME)


@dataclass(slots=True)
class Edges:
    """The edges of one rule. An edge leads from a site to one definition: a site with two guesses has two.

    `sites` are those where an edge is right; `unjudged` edges stand where the indexer says nothing.
    """

    edges: int = 0
    right: int = 0
    sites: int = 0
    unjudged: int = 0

    @property
    def precision(self) -> float:
        """The share of the judged edges that are right."""
        return self.right / (self.edges - self.unjudged) if self.edges > self.unjudged else 0.0


@dataclass(slots=True)
class Counts:
    """All that was counted of calls, or of all references. `inside` is what recall is measured against."""

    listed: int = 0
    judged: int = 0
    inside: int = 0
    wrongly_elsewhere: int = 0
    rules: dict[str, Edges] = field(default_factory=lambda: {rule: Edges() for rule in RULES})

    def recall(self, rule: str) -> float:
        """The share of the uses of this repository's own definitions where an edge is right."""
        return self.rules[rule].sites / self.inside if self.inside else 0.0

    def as_json(self) -> dict[str, Any]:
        """For keeping."""
        return asdict(self)


class Disagreement(NamedTuple):
    """An edge that the indexer does not have. Lines count from 1, columns are bytes from 0."""

    tier: str
    kind: str
    path: str
    line: int
    column: int
    name: str
    ours: str
    indexer: str


class Judged(NamedTuple):
    """One repository. `mentions` are all uses of its definitions that the indexer knows, of whatever kind."""

    counts: dict[str, Counts]
    disagreements: list[Disagreement]
    mentions: int


class Judge:
    """Compares the graph of a repository to its ground truth."""

    def __init__(self, graph: Graph, truth: Truth, family: str) -> None:
        self._graph = graph
        self._truth = truth
        self._family = family
        self._named: dict[str, list[Place]] = defaultdict(list)
        self._starts: dict[str, list[int]] = {}

    def judge(self) -> Judged:
        """Every use in every file that the indexer has read."""
        modules = self._graph.names.modules
        paths = sorted(path for path in self._truth.paths if modules.family(path) == self._family)
        for path in paths:
            for number, symbol in enumerate(self._graph.names.facts(path).symbols):
                self._named[symbol.name].append(Place(path, number))
        counts = {scope: Counts() for scope in SCOPES}
        disagreements: list[Disagreement] = []
        for path in paths:
            for reference in self._graph.view.references(path):
                scopes = [counts[scope] for scope in SCOPES if scope != "calls" or reference.kind == "call"]
                disagreements += self._one(path, reference, scopes)
        return Judged(counts, disagreements, self._truth.mentions)

    def _one(self, path: str, reference: Reference, scopes: list[Counts]) -> list[Disagreement]:
        column = reference.start_byte - self._line_starts(path)[reference.line - 1]
        meant = self._truth.meant(path, reference.line, column)
        known = meant is not None and meant.kind is not Kind.UNKNOWN
        bound = self._graph.bind(path, reference)
        found: list[Disagreement] = []
        for count in scopes:
            count.listed += 1
            count.judged += known
            count.inside += meant is not None and meant.kind is Kind.INSIDE
            count.wrongly_elsewhere += bound.elsewhere and meant is not None and meant.kind is Kind.INSIDE
        alike = self._named.get(reference.name, [])
        rules = {
            bound.tier.value: self._entities(bound.places),
            SAME_NAME: self._entities(alike),
            UNIQUE_NAME: self._entities(alike) if len(self._entities(alike)) == 1 else [],
        }
        for rule, entities in rules.items():
            right = [entity for entity in entities if meant is not None and self._is_right(entity, meant)]
            for count in scopes:
                edges = count.rules[rule] if rule in count.rules else Edges()
                edges.edges += len(entities)
                edges.unjudged += 0 if known else len(entities)
                edges.right += len(right) if known else 0
                edges.sites += bool(right) and meant is not None and meant.kind is Kind.INSIDE
            if rule in (Tier.PROVEN, Tier.LIKELY) and known and meant is not None:
                found += [
                    Disagreement(
                        rule,
                        reference.kind,
                        path,
                        reference.line,
                        column,
                        reference.name,
                        self._shown(entity[0]),
                        _said(meant),
                    )
                    for entity in entities
                    if entity not in right
                ]
        return found

    def _entities(self, places: Iterable[Place]) -> list[tuple[Place, ...]]:
        """Overloads and their like are one definition."""
        found: dict[tuple[str, str], list[Place]] = defaultdict(list)
        for place in places:
            found[self._graph.names.entity(place)].append(place)
        return [tuple(group) for group in found.values()]

    def _is_right(self, entity: tuple[Place, ...], meant: Meant) -> bool:
        written = {each for place in entity for each in self._written(place)}
        return any(self._spot(place) in meant.spots for place in written)

    def _written(self, place: Place) -> Iterable[Place]:
        if place.number < 0:
            return (place,)
        facts = self._graph.names.facts(place.path)
        return (Place(place.path, number) for number in facts.written_as[facts.qualified(place.number)])

    def _spot(self, place: Place) -> Spot:
        if place.number < 0:
            return Spot(place.path, 0, is_module=True)
        symbol = self._graph.names.facts(place.path).symbols[place.number]
        return Spot(place.path, bisect_right(self._line_starts(place.path), symbol.name_byte) - 1)

    def _line_starts(self, path: str) -> list[int]:
        if path not in self._starts:
            text = self._graph.names.facts(path).text
            starts = [0]
            while (at := text.find(b"\n", starts[-1])) >= 0:
                starts.append(at + 1)
            self._starts[path] = starts
        return self._starts[path]

    def _shown(self, place: Place) -> str:
        spot = self._spot(place)
        facts = self._graph.names.facts(place.path)
        return f"{place.path}:{spot.line + 1} {facts.qualified(place.number) if place.number >= 0 else '(file)'}"


def _said(meant: Meant) -> str:
    if not meant.spots:
        return f"{meant.kind} {meant.symbol}"
    spot = min(meant.spots)
    more = f" and {len(meant.spots) - 1} more" if len(meant.spots) > 1 else ""
    return f"{spot.path}:{spot.line + 1}{more} {meant.symbol}"
