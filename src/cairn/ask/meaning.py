"""Join what indexers know of the code to the snapshot that a session holds; without indexers, syntax answers alone.

Without a semantic database, or with one that cannot be read, every question is answered by what the syntax shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from cairn.ask.session import Session
from cairn.graph.informed import InformedGraph, PinnedView
from cairn.graph.outline import Definition
from cairn.graph.references import Graph
from cairn.graph.scopes import SEMANTIC
from cairn.semantic.database import Connection, SemanticDatabase
from cairn.semantic.facts import SemanticFacts
from cairn.semantic.state import Picture, stamp_of
from cairn.store import SnapshotView

T = TypeVar("T")


def database_of(session: Session) -> SemanticDatabase:
    """Return the semantic database of the open codebase, whether or not its file exists."""
    return SemanticDatabase(session.home, session.root)


class _Kept:
    """The last picture of which files are fresh at a snapshot, and the stamp of the facts it was made from."""

    def __init__(self, view: SnapshotView) -> None:
        self.pinned = PinnedView(view)
        self.stamp = ""
        self.picture: Picture | None = None


def facts_of(session: Session, db: Connection) -> SemanticFacts:
    """Return the facts at the open snapshot; which files are fresh is computed once for a snapshot and a stamp."""
    kept = session.kept(_Kept)
    stamp = stamp_of(db)
    facts = SemanticFacts(db, kept.pinned, kept.picture if stamp == kept.stamp else None)
    kept.picture, kept.stamp = facts.picture, stamp
    return facts


def informed(session: Session, ask: Callable[[Graph], T]) -> T:
    """Return the answer of a graph that knows what the indexers know; of the plain graph where they know nothing."""
    graph = session.kept(Graph)

    def asked(facts: SemanticFacts) -> T | None:
        return ask(InformedGraph(graph, facts)) if facts.contexts else None

    found = database_of(session).ask(lambda db: asked(facts_of(session, db)))
    return ask(graph) if found is None else found


def layered(graph: Graph, definitions: tuple[Definition, ...]) -> tuple[Definition, ...]:
    """Return the definitions, with `semantic` as the layer of those that an indexer knows too."""
    if not isinstance(graph, InformedGraph):
        return definitions
    return tuple(
        replace(one, layer=SEMANTIC) if graph.knows(one.path, one.start_byte, one.name) else one for one in definitions
    )
