"""Answer questions about what leads where in an open codebase: one function each, for every face.

The questions read the snapshot that the session holds and change nothing. Every use says how sure it is, and what is
left out is counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from cairn.ask.meaning import informed, layered
from cairn.ask.questions import GRAPH, MAP, REFS
from cairn.ask.session import Session
from cairn.ask.structure import (
    Asked,
    file_asked_for,
    has_changed,
    named,
    not_parsed,
    one_definition,
    reply_of,
)
from cairn.ask.values import Miss, Reply
from cairn.core.limits import (
    DEFAULT_GRAPH_NODES,
    DEFAULT_MAP_TOKENS,
    DEFAULT_REFERENCES,
    GRAPH_EDGES_PER_NODE,
    MAP_QUERY_FILES,
    MAX_MAP_FOCUS,
)
from cairn.core.text import plain
from cairn.core.types import StoredFile, SymbolKind
from cairn.errors import Ambiguous, NotFound, Unsupported, UsageError
from cairn.graph.atlas import Atlas
from cairn.graph.calls import CallGraph, Direction, calls_around
from cairn.graph.callsites import CallSites
from cairn.graph.cycles import import_cycles
from cairn.graph.facts import CLASSES, Place
from cairn.graph.naming import MOST_CANDIDATES
from cairn.graph.outline import Definition, has_outline, outline
from cairn.graph.references import Graph
from cairn.graph.repo_map import RepoMap, draw_cycles, draw_map
from cairn.graph.routes import reaching_tests, way_between
from cairn.graph.scopes import Tier
from cairn.graph.uses import Binding, Locals, Uses, locals_of, uses_of
from cairn.search.continuation import decode, question_digest
from cairn.search.searcher import Searcher
from cairn.search.types import Hit, SearchRequest
from cairn.source.root import printable
from cairn.syntax.languages import has_uses, traits_of
from cairn.syntax.languages.pins import PINS
from cairn.syntax.occurrences import local_names

_MOST_NEAR = 3
_NO_FUNCTIONS = CLASSES | {SymbolKind.MODULE, SymbolKind.NAMESPACE}


def references(
    session: Session,
    asked: Asked,
    *,
    file: Asked | None = None,
    min_tier: Tier = Tier.NAME_ONLY,
    roles: Sequence[str] = (),
    exact: bool = False,
    limit: int = DEFAULT_REFERENCES,
    offset: int = 0,
    continuation: str | None = None,
) -> Reply[Uses]:
    """Return one definition with all that is written of it, who imports it and who uses it; `file` tells several apart.

    Of several definitions of a name the best is taken and the others are named; with `exact` that is a miss. `offset`
    imports and uses are passed over; with `roles` only those of these roles are listed. `continuation` asks for the
    next page instead; the session holds the snapshot that it names.
    """
    REFS.check(limit=limit, offset=offset)

    def ask(searcher: Searcher) -> Uses | Miss:
        best = best_of(session, searcher, asked, file, exact=exact)
        if isinstance(best, Miss):
            return best
        one = best.definition
        said = "refs", session.root, one.path, one.start_byte, one.qualified, min_tier.value, sorted(roles)

        def told(graph: Graph) -> Uses:
            # A refresh between two pages would shift what is on them, so the token holds the stamp of the facts.
            question = question_digest(*said, graph.stamp)
            first = offset if continuation is None else decode(continuation, session.pages_on, question)
            place = place_of(graph, one)
            found = uses_of(graph, place, min_tier=min_tier, offset=first, limit=limit, question=question, roles=roles)
            return replace(
                found, definitions=layered(graph, found.definitions), candidates=best.others, behind=graph.behind
            )

        return informed(session, told)

    return reply_of(session, asked.path, ask, lambda told: {told.definitions[0].name})


def local_names_of(session: Session, asked: Asked, *, file: Asked | None = None) -> Reply[Locals]:
    """Return the local names of one function, and where each is bound and used, by what its syntax shows."""

    def ask(searcher: Searcher) -> Locals | Miss:
        one = symbol_asked_for(session, searcher, asked, file)
        if isinstance(one, Miss):
            return one
        text = bytes(searcher.view.text(one.path) or b"")
        found = None
        if one.kind not in _NO_FUNCTIONS:
            found = local_names(text, one.language, one.start_byte, one.end_byte)
        if found is None:
            problem = f"Local names of the {one.kind} at {_shown(one.place)} ({one.language}) are not known."
            known = (name for name in PINS if traits_of(name).local_rules is not None)
            advice = f"Name a function in one of: {', '.join(known)}"
            return Miss(Unsupported(problem=problem, advice=advice))
        return locals_of(one, text, (Binding(*each) for each in found))

    return reply_of(session, asked.path, ask)


def call_graph(
    session: Session,
    asked: Asked,
    *,
    file: Asked | None = None,
    direction: Direction = Direction.BOTH,
    depth: int = 1,
    min_tier: Tier = Tier.LIKELY,
    exact: bool = False,
    limit: int = DEFAULT_GRAPH_NODES,
    to: Asked | None = None,
) -> Reply[CallGraph]:
    """Return who calls a definition and what it calls: up to `limit` definitions each way, `depth` steps far.

    With `to` the answer is the shortest way of calls to that definition, and with the direction `tests` up to `limit`
    tests that reach it; `depth` does not matter then. Of several definitions of a name the best is taken and the others
    are named; with `exact` that is a miss.
    """
    GRAPH.check(depth=depth, limit=limit)

    def ask(searcher: Searcher) -> CallGraph | Miss:
        graph = session.kept(Graph)
        sites = CallSites(graph)
        place = sites.of_id(asked.path)
        others: tuple[Definition, ...] = ()
        if place is None:
            best = best_of(session, searcher, asked, file, exact=exact, sites=sites)
            if isinstance(best, Miss):
                return best
            place, others = place_of(graph, best.definition), best.others
        start: Place = place
        if to is not None:
            goal = sites.of_id(to.path) or best_of(session, searcher, to, None, exact=exact, sites=sites)
            if isinstance(goal, Miss):
                return goal
            end = goal if isinstance(goal, Place) else place_of(graph, goal.definition)
            return informed(session, lambda graph: _way(graph, start, end, min_tier, others))
        if direction is Direction.TESTS:
            return informed(
                session,
                lambda graph: reaching_tests(graph, start, most=limit, min_tier=min_tier, candidates=others),
            )
        return informed(
            session,
            lambda graph: calls_around(
                graph,
                start,
                direction=direction,
                depth=depth,
                min_tier=min_tier,
                most_nodes=limit,
                most_edges=limit * GRAPH_EDGES_PER_NODE,
                candidates=others,
                used=session.kept(Ubiquity).of(searcher),
            ),
        )

    return reply_of(session, asked.path, ask, _names_of_root)


def _names_of_root(told: CallGraph) -> set[str]:
    return {node.definition.name for node in told.nodes if node.id == told.root and node.definition is not None}


def _way(graph: Graph, start: Place, end: Place, min_tier: Tier, others: tuple[Definition, ...]) -> CallGraph:
    """Return the shortest way of sure enough calls; where there is none, of calls that only have the right name too."""
    found = way_between(graph, start, end, min_tier=min_tier, candidates=others)
    if found.edges or found.target == found.root or min_tier is not Tier.LIKELY:
        return found
    guessed = way_between(graph, start, end, min_tier=Tier.NAME_ONLY, candidates=others)
    return guessed if guessed.edges else found


def repo_map(
    session: Session,
    *,
    query: str | None = None,
    focus: Sequence[Asked] = (),
    include: Sequence[str] = (),
    cycles: bool = False,
    max_tokens: int = DEFAULT_MAP_TOKENS,
) -> Reply[RepoMap]:
    """Return an overview of the codebase in so many tokens, drawn around what a query finds and the files in `focus`.

    `include` are globs: only files that fit one are on the map, but all files count for what is important. With
    `cycles` the cycles of imports between these files are told instead.
    """
    MAP.check(max_tokens=max_tokens)
    if len(focus) > MAX_MAP_FOCUS:
        raise UsageError(problem=f"A map is drawn around at most {MAX_MAP_FOCUS} files.")

    def ask(searcher: Searcher) -> RepoMap | Miss:
        near: dict[str, float] = {}
        for asked in focus:
            file = file_asked_for(session, searcher, asked)
            if isinstance(file, Miss):
                return file
            near[file.key] = 1.0
        hits: tuple[Hit, ...] = ()
        if query is not None:
            hits = searcher.search(SearchRequest(query, limit=MAP_QUERY_FILES, include=tuple(include))).hits
        for place, hit in enumerate(hits, 1):
            near[hit.path] = near.get(hit.path, 0.0) + 1 / place
        atlas = session.kept(Atlas).prepare(session.kept(Graph), searcher)
        if cycles:
            within = set(atlas.files(atlas.usual, atlas.within(include)))
            loops = import_cycles(session.kept(Graph), within)
            loops = tuple(one for one in loops if not near or any(step.path in near for step in one.steps))
            return draw_cycles(loops, atlas, within, max_tokens=max_tokens, written=plain)
        worth = atlas.near(near, [(hit.path, hit.symbol) for hit in hits]) if near else atlas.usual
        return draw_map(atlas, worth, max_tokens=max_tokens, within=atlas.within(include), written=plain)

    return reply_of(session, session.target.asked, ask)


# --- which definition is meant ----------------------------------------------------------------------------------------


def symbol_asked_for(
    session: Session, searcher: Searcher, asked: Asked, file: Asked | None = None
) -> Definition | Miss:
    """Return the one definition that a name or `FILE:LINE` means, the first where several are written of one thing.

    Overloads, the blocks of a type and a prototype are one thing with what they belong to. Raises an error for a file
    outside the root.
    """
    if not asked.path.strip():
        raise UsageError(problem="A name is missing.")
    if file is None and asked.lines is None:
        asked = _in_file(session, searcher, asked)
    if file is not None:
        found = _parsed(session, searcher, file)
        one = found if isinstance(found, Miss) else one_definition(searcher, asked.path, found.key)
    elif asked.lines is not None:
        one = _on_line(session, searcher, asked)
    else:
        one = named(session, searcher, asked.path)
    return _used(session.kept(Graph), one)


def _in_file(session: Session, searcher: Searcher, asked: Asked) -> Asked:
    """Return what `FILE#name` means from the caller's folder, with the file as the index names it; else as it is."""
    for mark in re.finditer("#", asked.path):
        holder, name = asked.path[: mark.start()], asked.path[mark.end() :]
        if name and os.path.lexists(os.path.join(asked.base, holder)):
            file = file_asked_for(session, searcher, Asked(holder, holder, asked.base))
            if not isinstance(file, Miss):
                key = file.key.replace("%", "%25").replace("#", "%23")
                return asked._replace(path=f"{key}#{name}")
    return asked


class Ubiquity:
    """In how many files each name of a snapshot is used, counted for the first call graph."""

    def __init__(self, _: object) -> None:
        self._used: dict[str, float] | None = None

    def of(self, searcher: Searcher) -> dict[str, float]:
        if self._used is None:
            self._used = searcher.names_used()
        return self._used


class Best(NamedTuple):
    """The definition that a question is answered for, and the others that have its name."""

    definition: Definition
    others: tuple[Definition, ...] = ()


def best_of(
    session: Session,
    searcher: Searcher,
    asked: Asked,
    file: Asked | None = None,
    *,
    exact: bool = False,
    sites: CallSites | None = None,
) -> Best | Miss:
    """Return the definition that a name means most likely: the one that `cairn symbol` lists first.

    With `exact` several definitions are a miss. With `sites` a class and its constructors are one.
    """
    graph = session.kept(Graph)
    one = symbol_asked_for(session, searcher, asked, file)
    if isinstance(one, Definition):
        return Best(one)
    if not isinstance(one.error, Ambiguous):
        return one
    known = one.candidates
    if (
        sites is not None
        and len(known) == one.total
        and len({sites.node(place_of(graph, each)) for each in known}) == 1
    ):
        return Best(known[0])
    if exact:
        return one
    listed = searcher.symbols(known[0].name, limit=MOST_CANDIDATES).symbols
    rank = {(each.path, each.symbol.start_byte): place for place, each in enumerate(listed)}
    first, *others = sorted(known, key=lambda each: rank.get((each.path, each.start_byte), len(rank)))
    return Best(first, tuple(others))


def best_definition(session: Session, searcher: Searcher, asked: Asked, file: Asked | None) -> Definition | Miss:
    """Return the definition that a question is answered for: of several of one name the one that is listed first."""
    best = best_of(session, searcher, asked, file, exact=False)
    return best if isinstance(best, Miss) else best.definition


def place_of(graph: Graph, one: Definition) -> Place:
    """Return the place of a definition in the graph."""
    wanted = (one.start_byte, one.end_byte, one.name, one.kind)
    symbols = graph.names.facts(one.path).symbols
    numbers = (n for n, each in enumerate(symbols) if (each.start_byte, each.end_byte, each.name, each.kind) == wanted)
    return Place(one.path, next(numbers))


def _parsed(session: Session, searcher: Searcher, asked: Asked) -> StoredFile | Miss:
    file = file_asked_for(session, searcher, asked)
    return file if isinstance(file, Miss) or has_outline(file) else not_parsed(file)


def _on_line(session: Session, searcher: Searcher, asked: Asked) -> Definition | Miss:
    """Return what `FILE:LINE` means, read from the caller's folder, else from the root, else as a name."""
    assert asked.lines is not None, "a place has a line"
    line, last = asked.lines
    if line != last:
        raise UsageError(problem="Say one line: FILE:LINE.")
    file = _parsed(session, searcher, asked)
    if isinstance(file, Miss):
        written = named(session, searcher, asked.path)
        return file if isinstance(written, Miss) and isinstance(written.error, NotFound) else written
    one = one_definition(searcher, f"{file.key}:{line}", None)
    if isinstance(one, Miss):
        return _no_definition(session, searcher, asked, file, line)
    return one


def _no_definition(session: Session, searcher: Searcher, asked: Asked, file: StoredFile, line: int) -> Miss:
    """Return that a file has changed, or that no definition is around a line of it, with the nearest ones."""
    if moved := has_changed(session, asked, file):
        return moved
    text = bytes(searcher.view.text(file.key) or b"")
    lines = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
    has = f", which has {lines:,} line{'' if lines == 1 else 's'} in the index" if line > lines else ""

    def far(one: Definition) -> int:
        return min(abs(one.start_line - line), abs(one.end_line - line))

    near = sorted(outline(searcher.view, file, (1, None)).definitions, key=far)[:_MOST_NEAR]
    problem = f"No definition stands on line {line} of {_shown(file.key)}{has}."
    advice = "The nearest ones are listed" if near else "`cairn outline` lists what a file defines"
    return Miss(NotFound(problem=problem, advice=advice), tuple(near))


def _used(graph: Graph, one: Definition | Miss) -> Definition | Miss:
    """Return the definition if its language has uses; of several candidates, one for each thing that has."""
    if isinstance(one, Definition):
        return one if has_uses(one.language) else _unused(one)
    if not isinstance(one.error, Ambiguous):
        return one
    used = [each for each in one.candidates if has_uses(each.language)]
    if not used:
        return _unused(one.candidates[0])
    # The name of a type means the type, not one of its `impl` blocks.
    used = [each for each in used if each.kind != SymbolKind.IMPL] or used
    things: dict[Place, Definition] = {}
    for each in used:
        place = place_of(graph, each)
        if not any(graph.importers.same(known, place) for known in things):
            things[place] = each
    shown = tuple(things.values())
    unseen = one.total - len(one.candidates)
    if len(shown) == 1 and not unseen:
        return shown[0]
    error = Ambiguous(count=len(shown) + unseen, name=_shown(shown[0].name), place=_shown(shown[0].place))
    return Miss(error, shown, len(shown) + unseen)


def _unused(one: Definition) -> Miss:
    problem = f"Cairn knows no uses of what {one.language} defines, such as the {one.kind} at {_shown(one.place)}."
    advice = "`cairn outline` shows what is defined there, and `cairn search` finds where it is written"
    return Miss(Unsupported(problem=problem, advice=advice))


def _shown(name: str) -> str:
    return printable(name.encode("utf-8", "surrogateescape"))
