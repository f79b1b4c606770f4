"""Follow calls from a definition, some steps far: a bounded graph, and notes on what is missing from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from cairn.core.limits import EDGE_TEXT_CHARS, UTILITY_FILES, UTILITY_SHARE
from cairn.core.types import NOT_BEHIND, Behind, ParseState, Reference
from cairn.graph.callsites import Call, CallSites, EdgeKind, Note, NoteType, note_of_call
from cairn.graph.facts import Facts, Place
from cairn.graph.outline import Definition, definition_of
from cairn.graph.references import Graph
from cairn.graph.scopes import SEMANTIC, SYNTACTIC, Tier
from cairn.graph.uses import shown_line
from cairn.syntax.languages import traits_of

TIERS = tuple(Tier)
_ONE_DEFINITION = 3


class Direction(StrEnum):
    """The direction in which calls are followed; `TESTS` are the callers that are tests, however far."""

    CALLERS = "callers"
    CALLEES = "callees"
    BOTH = "both"
    TESTS = "tests"


@dataclass(frozen=True, slots=True)
class Node:
    """A definition of a call graph, or (without `definition`) the code of a file outside of all definitions.

    `distance` counts the steps to the definition that was asked about. `id` is `path#name`; a name that is not one word
    is written as its place, `path#@byte`. `used_in` is the number of files that use a utility, such as an assertion or
    an allocator, which is listed last; 0 for all others. `is_test` says of the tests that were asked for that they are.
    """

    id: str
    path: str
    language: str
    definition: Definition | None
    distance: int
    used_in: int = 0
    is_test: bool = False

    @property
    def line(self) -> int:
        return self.definition.start_line if self.definition else 1


class CallSite(NamedTuple):
    """The place of a call with its line; `column` counts characters from 1."""

    path: str
    line: int
    column: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """One definition leads to another at `count` places; `site` is the first of the surest places.

    `layer` says who knows what the call at `site` leads to: the syntax of the file, or an indexer.
    """

    src: str
    dst: str
    kind: EdgeKind
    tier: Tier
    site: CallSite
    count: int
    layer: str = SYNTACTIC


@dataclass(frozen=True, slots=True)
class CallGraph:
    """The calls around one definition, nearest first.

    Attributes:
        root: The id of the definition that was asked about.
        members: The ids of definitions inside it, whose calls are shown as its own.
        direction: Which way calls were followed: `callers`, `callees`, `both`, or `tests` for the callers among tests.
        depth: How many steps were followed.
        nodes: The definitions that were reached, each with its distance.
        edges: The calls between them, by the ids of the nodes.
        notes: What is known to be missing or unsure, in no order.
        nodes_left: How many definitions were found and did not fit.
        edges_left: How many edges were found and did not fit.
        not_looked_at: How many uses with the same names were not looked at because there are too many.
        candidates: The other definitions of the name that was asked about.
        behind: How many files are not as an indexer read them, and how many depend on these.
        target: The id of the definition to which a way was asked for; empty otherwise.
        looked_at: How many definitions were looked at before the search for a way or for tests was given up; 0 when it
            came to its end.
    """

    root: str
    members: tuple[str, ...]
    direction: Direction
    depth: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    notes: tuple[Note, ...]
    nodes_left: int
    edges_left: int
    not_looked_at: int = 0
    candidates: tuple[Definition, ...] = ()
    behind: Behind = NOT_BEHIND
    target: str = ""
    looked_at: int = 0


def calls_around(
    graph: Graph,
    place: Place,
    *,
    direction: Direction = Direction.BOTH,
    depth: int = 1,
    min_tier: Tier = Tier.LIKELY,
    most_nodes: int,
    most_edges: int,
    candidates: tuple[Definition, ...] = (),
    used: Mapping[str, float] | None = None,
) -> CallGraph:
    """Return the call graph around a definition; `candidates` are the others that have its name.

    The limits hold for each direction; the nearest and surest edges are taken first. `used` says in how many files a
    name is used: calls of what is used nearly everywhere come last.
    """
    walk = _CallWalk(graph, min_tier, most_nodes, most_edges, used or {})
    root = walk.sites.node(place)
    walk.nodes[root] = 0
    members: list[Place] = []
    if direction is not Direction.CALLEES:
        walk.follow([root], depth, callers=True)
    if direction is not Direction.CALLERS:
        members = walk.members(root)
        walk.follow([root, *members], depth, callers=False)
    edges = list(walk.edges())
    nodes = dict.fromkeys([root, *(end for pair, _ in edges for end in pair)])
    return CallGraph(
        root=walk.sites.id(root),
        members=tuple(walk.sites.id(member) for member in members if member in nodes),
        direction=direction,
        depth=depth,
        nodes=tuple(walk.node(place) for place in nodes),
        edges=tuple(edge for _, edge in edges),
        notes=tuple(walk.notes()),
        nodes_left=len(walk.left_nodes - nodes.keys()),
        edges_left=len(walk.left_pairs - walk.pairs.keys()),
        not_looked_at=walk.not_looked_at,
        candidates=candidates,
        behind=graph.behind,
    )


def node_of(sites: CallSites, place: Place, distance: int) -> Node:
    """Return the node at a place."""
    facts = sites.facts(place)
    found = definition_of(place.path, facts.language, facts.symbols[place.number]) if place.number >= 0 else None
    return Node(sites.id(place), place.path, facts.language, found, distance)


def edge_of(sites: CallSites, uses: Sequence[Call]) -> Edge:
    """Return the edge that calls between two definitions make; the first of them is shown."""
    best = uses[0]
    facts = sites.facts(best.src)
    column, line = shown_line(facts.text, best.start_byte, EDGE_TEXT_CHARS)
    site = CallSite(best.path, best.line, column, line.strip())
    layer = SEMANTIC if best.semantic else SYNTACTIC
    return Edge(sites.id(best.src), sites.id(best.dst), best.kind, best.tier, site, len(uses), layer)


_Pair = tuple[Place, Place]


class _CallWalk:
    """One walk along calls, breadth first, in an order that depends on the snapshot alone."""

    def __init__(
        self, graph: Graph, min_tier: Tier, most_nodes: int, most_edges: int, used: Mapping[str, float]
    ) -> None:
        self._used, self._names = used, graph.names
        self._called: set[Place] = set()
        self.sites = CallSites(graph, by_name=min_tier is Tier.NAME_ONLY)
        self._view = graph.view
        self._tiers = TIERS[: TIERS.index(min_tier) + 1]
        self._most_nodes, self._most_edges = most_nodes, most_edges
        self.nodes: dict[Place, int] = {}
        self.pairs: dict[_Pair, dict[tuple[str, int], Call]] = {}
        self._turns: dict[_Pair, tuple[int, bool, int]] = {}
        self.left_nodes: set[Place] = set()
        self.left_pairs: set[_Pair] = set()
        self._notes: list[Note] = []
        self.not_looked_at = 0

    def follow(self, start: list[Place], depth: int, *, callers: bool) -> None:
        """Add all nodes and edges at most `depth` steps from the start, as far as there is room."""
        node_room, edge_room = self._most_nodes, self._most_edges
        reached, frontier = set(start), start
        for distance in range(1, depth + 1):
            following: list[Place] = []
            for place in frontier:
                left = 0
                for use in self._expanded(place, callers=callers):
                    other, pair = use.src if callers else use.dst, (use.src, use.dst)
                    if not callers:
                        self._called.add(other)
                    fresh = [end for end in dict.fromkeys(pair) if end not in self.nodes]
                    if len(fresh) > node_room or (pair not in self.pairs and not edge_room):
                        left += 1
                        self.left_pairs.add(pair)
                        self.left_nodes.update(fresh)
                        continue
                    # A definition inside the root is added with its first call, at distance 0.
                    self.nodes |= {end: distance if end not in start else 0 for end in fresh}
                    node_room -= len(fresh)
                    # A node that the other direction has found may be nearer in this one.
                    self.nodes[other] = min(self.nodes[other], distance)
                    if other not in reached:
                        reached.add(other)
                        following.append(other)
                    turn = distance, not callers and self.used_in(other) > 0, self._most_edges - edge_room
                    self._turns[pair] = min(self._turns.get(pair, turn), turn)
                    edge_room -= pair not in self.pairs
                    self.pairs.setdefault(pair, {}).setdefault((use.path, use.start_byte), use)
                if left:
                    self._suppressed(place, f"{left} calls did not fit." if left > 1 else "1 call did not fit.")
            frontier = following

    def members(self, root: Place) -> list[Place]:
        """Return the definitions inside the root that contain calls that are sure enough, up to the limit of nodes."""
        found: list[Place] = []
        inside = self.sites.inside(root)
        for looked_at, inner in enumerate(inside):
            if len(found) == self._most_nodes:
                self._suppressed(root, f"Calls in {len(inside) - looked_at} definitions inside of it did not fit.")
                break
            if self.surer(self.sites.callees(inner).uses):
                found.append(inner)
        return found

    def surer(self, uses: Iterable[Call]) -> list[Call]:
        """Return the calls that are sure enough, the surest first, imports after all calls."""

        def order(use: Call) -> tuple[bool, int, bool, str, int, Place, Place]:
            sure = use.kind is EdgeKind.IMPORT, TIERS.index(use.tier), not use.semantic
            return *sure, use.path, use.start_byte, use.src, use.dst

        return sorted((use for use in uses if use.tier in self._tiers), key=order)

    def _expanded(self, place: Place, *, callers: bool) -> list[Call]:
        if callers:
            uses, name_only, not_looked_at, _ = self.sites.callers(place)
            self.not_looked_at += not_looked_at
            if name_only:
                many = "1 use has" if name_only == 1 else f"{name_only} uses have"
                self._suppressed(place, f"{many} this name, and nothing shows whether it is meant.")
            if not_looked_at:
                many = "1 use has" if not_looked_at == 1 else f"{not_looked_at} uses have"
                self._suppressed(place, f"{many} this name and stand too far away to be looked at.")
        else:
            uses, unknown, not_looked_at = self.sites.callees(place)
            facts = self.sites.facts(place)
            if Tier.NAME_ONLY not in self._tiers:
                self._notes += self._unknown(facts, self.sites.id(place), unknown)
            if not_looked_at:
                self._suppressed(place, f"Of its calls {not_looked_at} were not looked at: there are too many.")
        kept = self.surer(uses)
        if below := len(uses) - len(kept):
            many = "1 call is" if below == 1 else f"{below} calls are"
            self._suppressed(place, f"{many} less sure than asked for.")
        return kept if callers else sorted(kept, key=lambda use: self.used_in(use.dst) > 0)

    def used_in(self, place: Place) -> int:
        """Return how many files use a definition when these are so many that it is a utility; else 0."""
        if place.number < 0 or not self._used:
            return 0
        facts = self.sites.facts(place)
        name = facts.symbols[place.number].name
        # The files are shared out among those that define the name; a prototype and its body are one definition.
        defining = len(self._names.files_defining(name))
        files = round(self._used.get(name, 0) * (defining if defining <= _ONE_DEFINITION else 1))
        least = max(UTILITY_FILES, UTILITY_SHARE * self._files_of(facts.language))
        return files if files >= least else 0

    def _files_of(self, language: str) -> int:
        """Return how many files of the snapshot have a language of this family."""
        family, files = traits_of(language).family, self._names.modules.files.of_languages
        alike = (each for each in files if each == language or (family and traits_of(each).family == family))
        return sum(map(files.__getitem__, alike))

    def _unknown(self, facts: Facts, symbol_id: str, calls: list[tuple[Reference, int]]) -> Iterator[Note]:
        """Yield a note for each call without a known target; equal calls in one scope are examined once."""
        alike: dict[tuple[int, str, str], Note | None] = {}
        for call, candidates in calls:
            key = call.scope, call.receiver, call.name
            if key not in alike:
                alike[key] = note_of_call(facts, call, symbol_id, candidates)
            if (note := alike[key]) is not None:
                yield replace(note, start_line=call.line)

    # --- what is shown ----------------------------------------------------------------------------------------------

    def node(self, place: Place) -> Node:
        """Return the node at a place."""
        node = node_of(self.sites, place, self.nodes[place])
        return replace(node, used_in=self.used_in(place)) if place in self._called else node

    def edges(self) -> Iterator[tuple[_Pair, Edge]]:
        """Yield one edge for each pair of nodes and each tier of the calls between them, the nearest first.

        The two directions alternate, so that an answer that is cut keeps edges of both.
        """
        for pair in sorted(self.pairs, key=self._turns.__getitem__):
            for _, uses in groupby(self.surer(self.pairs[pair].values()), lambda use: (use.kind, use.tier)):
                yield pair, edge_of(self.sites, list(uses))

    def notes(self) -> Iterator[Note]:
        """Yield all notes: those of the walk, and those on calls outside of definitions and on partly parsed files."""
        yield from self._notes
        at_top: dict[str, list[Call]] = {}
        for uses in self.pairs.values():
            for use in uses.values():
                if use.src.number < 0 and use.kind is not EdgeKind.IMPORT:
                    at_top.setdefault(use.path, []).append(use)
        for path, found in at_top.items():
            many = "1 call stands" if len(found) == 1 else f"{len(found)} calls stand"
            line = min(use.line for use in found)
            yield Note(NoteType.MISSING, path, None, line, f"{many} outside of every definition.")
        # Any file of a node may hold further calls in the lines that could not be parsed.
        for path in sorted({place.path for place in self.nodes}):
            file = self._view.file(path)
            if file is not None and file.state == ParseState.PARTIAL.value:
                detail = "Some lines could not be parsed, so calls may be missing."
                yield Note(NoteType.MISSING, path, None, None, detail)

    def _suppressed(self, place: Place, detail: str) -> None:
        line = self.sites.facts(place).symbols[place.number].start_line if place.number >= 0 else None
        self._notes.append(Note(NoteType.SUPPRESSED, place.path, self.sites.id(place), line, detail))
