"""What indexers know joins the answers, and its absence or its damage never stands in the way of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.ask.meaning import database_of, informed, layered
from cairn.ask.relations import call_graph, references
from cairn.ask.session import Session
from cairn.ask.structure import Asked, asked_of, file_outline
from cairn.core.clock import SYSTEM_CLOCK
from cairn.graph.informed import PinnedView
from cairn.graph.references import Graph
from cairn.semantic.state import Now
from tests.semantic.worlds import World
from tests.support.faults import Faults
from tests.sync.desk import extract_here


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    return World(tmp_path.resolve())


def layers(world: World) -> tuple[set[str], set[str], set[str]]:
    """Of the uses of a function, of the edges around it, and of the definitions beside it."""
    with world.session() as session:
        greet = asked_of("greet", session.root)
        uses, graph = references(session, greet).value, call_graph(session, greet).value
        outline = file_outline(session, Asked("lib.py", "lib.py", session.root)).value
        assert uses is not None
        assert graph is not None
        assert outline is not None
        return (
            {one.layer for one in uses.uses},
            {one.layer for one in graph.edges},
            {one.layer for one in outline.definitions},
        )


def test_answers_take_what_indexers_know_where_it_holds(world: World) -> None:
    assert layers(world) == ({"syntactic"}, {"syntactic"}, {"syntactic"})
    world.refresh()
    assert layers(world) == ({"semantic"}, {"semantic"}, {"semantic"})
    world.replace("app.py", "main", "other")
    assert layers(world) == ({"semantic", "syntactic"}, {"semantic", "syntactic"}, {"semantic"})
    world.replace("lib.py", "return who", "return None")
    assert layers(world) == ({"syntactic"}, {"syntactic"}, {"syntactic"})


def test_a_database_that_cannot_be_read_is_as_none(world: World) -> None:
    world.refresh()
    file = Path(world.database.path)
    data = file.read_bytes()
    for damaged in (b"", b"x" * 100, data[: len(data) // 2] + b"\xff" * (len(data) // 2)):
        file.write_bytes(damaged)
        assert layers(world)[0] == {"syntactic"}


def test_a_session_that_stays_open_sees_a_refresh_at_once_and_looks_at_files_once(world: World, faults: Faults) -> None:
    looked: list[str] = []

    def now(real: Callable[..., Now | None], self: PinnedView, path: str) -> Now | None:
        looked.append(path)
        return real(self, path)

    faults.around(PinnedView, "now", now)

    def shown(session: Session) -> set[str]:
        uses = references(session, asked_of("greet", session.root)).value
        assert uses is not None
        return {one.layer for one in uses.uses}

    with world.session() as session:
        assert shown(session) == {"syntactic"}
        world.refresh()
        looked.clear()
        assert [shown(session) for _ in range(3)] == [{"semantic"}] * 3
        assert sorted(looked) == sorted(set(looked)) != []
        with world.database.writing() as db:
            db.execute("UPDATE contexts SET enabled = 0")
        assert shown(session) == {"syntactic"}


def test_who_asks_gets_the_plain_graph_where_nothing_is_known(world: World) -> None:
    with world.session() as session:
        assert database_of(session).path == world.database.path
        assert informed(session, type) is Graph
        outline = file_outline(session, Asked("lib.py", "lib.py", session.root)).value
        assert outline is not None
        assert layered(session.kept(Graph), outline.definitions) == outline.definitions
