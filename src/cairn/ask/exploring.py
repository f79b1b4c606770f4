"""Answer what somebody asks next about a definition, at once: its text, who calls it, what it calls, and its tests.

What is asked about is a name, a place, or a question in words, of which the best definition is explored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cairn.ask.meaning import informed
from cairn.ask.relations import Best, Ubiquity, best_of, place_of
from cairn.ask.session import Session
from cairn.ask.structure import Asked, asked_of, reply_of
from cairn.ask.values import Miss, Reply
from cairn.core.limits import AGENT_PLACES, EXPLORED_CALLS, EXPLORED_TESTS, GRAPH_EDGES_PER_NODE
from cairn.errors import NotFound
from cairn.graph.calls import Edge, Node, calls_around
from cairn.graph.outline import Definition, FileText, passage
from cairn.graph.references import Graph
from cairn.graph.routes import reaching_tests
from cairn.graph.scopes import Tier
from cairn.graph.uses import Use, uses_of
from cairn.search.places import is_test
from cairn.search.searcher import Searcher
from cairn.search.types import Group, Hit, SearchRequest

_HEIRS = ("implementation", "override")
_NOTHING = Miss(
    NotFound(problem="No definition was found for this.", advice="`search_codebase` finds text outside of them too")
)


@dataclass(frozen=True, slots=True)
class Explored:
    """A definition with its lines, the calls of it and in it, what inherits from it, and the tests that reach it.

    `hits` are the best definitions of a question in words, of which the first is the one; `others` have its name.
    `callers` are no tests; `callees` are the definitions that it calls, utilities last. `left` counts what was found
    and is not listed.
    """

    definition: Definition
    text: FileText
    callers: tuple[Edge, ...] = ()
    callees: tuple[Node, ...] = ()
    heirs: tuple[Use, ...] = ()
    tests: tuple[Node, ...] = ()
    hits: tuple[Hit, ...] = ()
    others: tuple[Definition, ...] = ()
    left: int = 0


def explore(session: Session, about: str) -> Reply[Explored]:
    """Return what there is around the definition that a name, a place or a question means best."""

    def ask(searcher: Searcher) -> Explored | Miss:
        if len(about.split()) == 1:
            # One word is a name: another definition than that would be a wrong answer.
            said = asked_of(about.strip().removesuffix("()"), session.root)
            best: Best | Miss = best_of(session, searcher, said)
            hits: tuple[Hit, ...] = ()
        else:
            request = SearchRequest(about, limit=AGENT_PLACES, group=Group.SYMBOL, extracts=True)
            hits = searcher.search(request).hits
            best = next(filter(None, (_at(session, searcher, hit) for hit in hits)), _NOTHING)
        return best if isinstance(best, Miss) else _explored(session, searcher, best, hits)

    return reply_of(session, about, ask, lambda told: {told.definition.name})


def _at(session: Session, searcher: Searcher, hit: Hit) -> Best | None:
    """Return the definition of a hit; None for a hit that has none whose uses are known."""
    if hit.definition is None:
        return None
    line = hit.definition[0]
    found = best_of(session, searcher, Asked(f"{hit.path}:{line}", hit.path, session.root, (line, line)))
    return None if isinstance(found, Miss) else found


def _explored(session: Session, searcher: Searcher, best: Best, hits: tuple[Hit, ...]) -> Explored:
    one = best.definition
    file = searcher.view.file(one.path)
    assert file is not None, "a definition is in a file of its snapshot"

    def told(graph: Graph) -> Explored:
        place = place_of(graph, one)
        around = calls_around(
            graph,
            place,
            most_nodes=EXPLORED_CALLS,
            most_edges=EXPLORED_CALLS * GRAPH_EDGES_PER_NODE,
            used=session.kept(Ubiquity).of(searcher),
        )
        nodes = {node.id: node for node in around.nodes}
        own = {around.root, *around.members}
        callers = [edge for edge in around.edges if edge.dst == around.root and edge.src not in own]
        callees = dict.fromkeys(edge.dst for edge in around.edges if edge.src in own and edge.dst not in own)
        heirs = uses_of(graph, place, min_tier=Tier.LIKELY, offset=0, limit=EXPLORED_CALLS, roles=_HEIRS)
        tests = reaching_tests(graph, place, most=EXPLORED_TESTS)
        return Explored(
            one,
            passage(searcher.view, file, (one.start_line, one.end_line)),
            callers=tuple(edge for edge in callers if not is_test(edge.site.path)),
            callees=tuple(nodes[each] for each in callees if nodes[each].definition is not None),
            heirs=heirs.uses,
            tests=tuple(node for node in tests.nodes if node.is_test),
            hits=hits,
            others=best.others,
            left=around.nodes_left + tests.nodes_left,
        )

    found = informed(session, told)
    return replace(found, hits=tuple(hit for hit in hits if not _is_of(hit, one)))


def _is_of(hit: Hit, one: Definition) -> bool:
    return hit.path == one.path and hit.definition is not None and hit.definition[:2] == (one.start_line, one.end_line)
