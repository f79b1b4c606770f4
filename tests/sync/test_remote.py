"""The copy of a store on a real search server: what a run sends, what a reader may believe, what is collected."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import cairn.engine.local as candidates_module
from cairn.errors import EngineDamaged, EngineUnreachable, NotIndexed
from cairn.search.types import SearchRequest
from cairn.store.format.manifest import Manifest
from cairn.store.publish.generations import published, read_claims
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.sync.proof import PROVEN
from cairn.sync.remote.copy import RemoteCopy, engine_status, push, validate_remote_proof
from cairn.sync.repair import repair
from cairn.sync.report import RunOptions
from cairn.sync.run import NOT_COMPARED, sync
from cairn.sync.upgrade import upgrade
from cairn.sync.upkeep import gc
from tests.engine.servers import RealServer, needs_milvus, running
from tests.support.faults import Faults
from tests.sync.team import FILES, Person, person

pytestmark = [needs_milvus, pytest.mark.long]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@pytest.fixture
def me(tmp_path: Path, server: RealServer) -> Person:
    one = person(tmp_path, "me", server.uri)
    one.write(FILES)
    return one


def newest(one: Person) -> Manifest:
    with one.disk() as disk:
        return next(published(disk, read_claims(disk), []))


def found(one: Person, question: str) -> list[tuple[str, float]]:
    with one.session() as session:
        answer = session.ask(SearchRequest(query=question))
        assert answer.found is not None
        return [(hit.path, hit.score) for hit in answer.found.hits]


def test_a_run_sends_its_rows_and_marks_them_and_searches_say_the_same_as_without(me: Person) -> None:
    me.index()
    report = engine_status(me.codebase, str(me.home), environ=me.environ)
    assert (report.kind, report.segments, report.there, report.marked, report.orphans) == ("milvus", 1, 1, True, 0)
    me.write({"src/new.py": "def collect(orphans):\n    '''Take away what no snapshot names.'''\n    return orphans\n"})
    me.sync()
    report = engine_status(me.codebase, str(me.home), environ=me.environ)
    assert report.there == report.segments >= 1
    assert report.marked
    with me.session() as session:
        assert session._plain is not None
        searcher = session._plain.searcher
        assert searcher.remote is not None
        answer = session.ask(SearchRequest(query="take away orphans"))
        assert answer.source is not None
        assert answer.source.later == ()
        assert searcher.engine_trouble is None
    there = [found(me, question) for question in ("take away orphans", "steal lease", "snapshot")]
    me.names("")
    assert [found(me, question) for question in ("take away orphans", "steal lease", "snapshot")] == there


def test_a_run_that_cannot_send_publishes_nothing_and_the_next_one_does(tmp_path: Path, me: Person) -> None:
    me.index()
    before = newest(me)
    me.write({"src/new.py": "def later(): pass\n"})
    uri = me.codebase.config.engine.uri
    me.names("http://127.0.0.1:1")
    with pytest.raises(EngineUnreachable):
        me.sync()
    assert newest(me) == before
    assert found(me, "steal lease")[0][0] == "src/lease.py"
    me.names(uri)
    me.sync()
    assert newest(me).generation > before.generation
    assert engine_status(me.codebase, str(me.home), environ=me.environ).marked


def test_a_server_that_takes_calls_and_never_answers_costs_the_time_of_a_question(me: Person) -> None:
    me.index()
    me.write({"src/new.py": "def more():\n    return 2\n"})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        me.names(f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(EngineUnreachable):
            me.sync()
        done = gc(me.codebase, RunOptions(str(me.home)), lambda _: None)
        assert "(engine_unreachable)" in done.warnings[0]
        # Each may take two seconds; a write may take thirty.
        assert time.monotonic() - began < 20


def test_a_push_that_was_cut_goes_on_where_it_stood(me: Person, server: RealServer) -> None:
    from tests.engine.proxy import between

    me.names("")
    me.index()
    for number in range(3):
        me.write({f"src/more_{number}.py": f"def more_{number}():\n    return {number}\n"})
        me.sync()
    segments = len(newest(me).segments)
    assert segments >= 3
    with between(server.uri) as proxy:
        me.names(proxy.uri)
        flushes = 0

        def cut(name: str) -> str | None:
            nonlocal flushes
            flushes += name == "Flush"
            return "drop" if flushes >= 2 else None

        proxy.fault = cut
        with pytest.raises(EngineUnreachable):
            push(me.codebase, str(me.home), lambda _: None, environ=me.environ)
        proxy.heal()
        half = engine_status(me.codebase, str(me.home), environ=me.environ)
        assert not half.marked
        assert 0 < half.there < segments
        report = push(me.codebase, str(me.home), lambda _: None, environ=me.environ)
        assert report.sent == segments - half.there
        assert report.marked
        assert push(me.codebase, str(me.home), lambda _: None, environ=me.environ).sent == 0


def unmarked(one: Person) -> None:
    """As a run leaves it that was killed between its claim and its marker."""
    with one.rows() as rows:
        rows.clear_marker(newest(one).snapshot_id)
    assert not engine_status(one.codebase, str(one.home), environ=one.environ).marked


def test_a_run_that_finds_nothing_to_do_gives_a_copy_its_marker(me: Person, server: RealServer) -> None:
    me.index()
    before = newest(me)
    for run, said in ((me.sync, ()), (me.index, (NOT_COMPARED,))):
        unmarked(me)
        report = run()
        assert (report.published, report.warnings) == (False, said)
        assert engine_status(me.codebase, str(me.home), environ=me.environ).marked
    unmarked(me)
    [ref] = before.segments
    with me.rows() as rows:
        rows.drop_segment(ref.name)
    me.sync()
    status = engine_status(me.codebase, str(me.home), environ=me.environ)
    assert (status.there, status.marked) == (1, True)
    assert newest(me) == before
    me.names("http://127.0.0.1:1")
    away = me.sync()
    assert not away.published
    assert [one for one in away.warnings if "engine_unreachable" in one and me.place.store_id in one]


def test_a_sync_before_a_search_leaves_the_server_alone(me: Person, server: RealServer) -> None:
    from tests.engine.proxy import between

    me.index()
    with between(server.uri) as proxy:
        me.names(proxy.uri)
        options = RunOptions(str(me.home), workers=1, upkeep=False)
        assert not sync(me.codebase, options, lambda _: None).published
        assert not proxy.calls


def test_a_repair_mends_the_index_and_then_sends_it_and_needs_no_server_for_that(me: Person) -> None:
    uri = me.codebase.config.engine.uri
    options = RunOptions(str(me.home), workers=1)
    me.index()
    spoil(me)
    me.names("http://127.0.0.1:1")
    alone = repair(me.codebase, options, lambda _: None)
    assert alone.snapshot_id == newest(me).snapshot_id
    assert [one for one in alone.warnings if "engine_unreachable" in one]
    assert found(me, "steal lease")[0][0] == "src/lease.py"
    me.names(uri)
    assert not engine_status(me.codebase, str(me.home), environ=me.environ).marked
    assert repair(me.codebase, options, lambda _: None).warnings == ()
    assert engine_status(me.codebase, str(me.home), environ=me.environ).marked
    spoil(me)
    assert repair(me.codebase, options, lambda _: None).snapshot_id == newest(me).snapshot_id
    assert engine_status(me.codebase, str(me.home), environ=me.environ).marked


def spoil(one: Person) -> None:
    """Damage a file of the newest segment."""
    folder = Path(one.place.path) / "segments" / newest(one).segments[-1].name
    victim = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    victim.chmod(0o600)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0xFF
    victim.write_bytes(data)


def test_an_upgrade_sends_what_it_leaves(me: Person) -> None:
    me.index()
    unmarked(me)
    assert upgrade(me.codebase, RunOptions(str(me.home)), lambda _: None).warnings == ()
    assert engine_status(me.codebase, str(me.home), environ=me.environ).marked


def test_there_is_nothing_to_push_without_an_index(me: Person) -> None:
    with pytest.raises(NotIndexed):
        push(me.codebase, str(me.home), lambda _: None, environ=me.environ)


def test_only_what_a_kept_snapshot_names_stays_on_the_server(me: Person) -> None:
    me.index()
    manifest = newest(me)
    assert manifest.completion is not None
    with me.rows() as rows, me.disk() as disk:
        rows._put(5, "seg_01JC000000000000000000000A_0", "")
        rows.put_marker(replace(manifest.completion, run_id="01JC000000000000000000000A"), b"{}", {})
        # And a manifest whose marker never came, or went first.
        rows.put_marker(replace(manifest.completion, run_id="01JC000000000000000000000B"), b"{}", {})
        rows._delete('id == "3:01JC000000000000000000000B"')
        assert rows.orphans() == {"seg_01JC000000000000000000000A_0"}
        with open_writer(disk, "here", RunKind.GC):
            assert RemoteCopy(disk, rows).sweep() == (1, 2)
        assert rows.orphans() == set()
        assert rows.runs(marked=False) == [manifest.snapshot_id]
        assert set(rows.receipts()) == {ref.name for ref in manifest.segments}
        assert validate_remote_proof(rows, manifest, me.place) == PROVEN


def test_a_snapshot_that_is_collected_while_it_is_read_still_answers_in_full(me: Person, faults: Faults) -> None:
    # So few that the rows which are left would do for a list of the nearest.
    faults.limit(candidates_module, ENGINE_CANDIDATES=1)
    me.index()
    me.write({"src/new.py": "def collect(orphans):\n    '''Take away what no snapshot names.'''\n    return orphans\n"})
    me.sync()
    first = newest(me)
    assert len(first.segments) == 2
    with me.session() as session, me.rows() as rows:
        wanted = session.ask(SearchRequest(query="take away orphans"))
        assert wanted.source is not None
        assert wanted.source.later == ()
        # Another machine has another index of the same folder, and collects what that one does not name.
        rows.drop_segment(first.segments[1].name)
        answer = session.ask(SearchRequest(query="take away orphans"))
        assert answer.found is not None
        assert wanted.found is not None
        assert answer.found.hits == wanted.found.hits
        assert answer.source is not None
        assert "engine_damaged" in answer.source.later[0]
    report = engine_status(me.codebase, str(me.home), environ=me.environ)
    assert (report.there, report.segments, report.marked) == (1, 2, True)


def test_rows_that_were_lost_there_are_sent_again(me: Person) -> None:
    me.index()
    [ref] = newest(me).segments
    with me.rows() as rows:
        rows._delete(f'kind == 0 and segment == "{ref.name}" and row == 0')
        assert rows.receipts(counted=True) == {}
    assert push(me.codebase, str(me.home), lambda _: None, environ=me.environ).sent == 1
    with me.rows() as rows:
        assert set(rows.receipts()) == {ref.name}
        rows._put(1, ref.name, "no receipt")
        assert rows.receipts() == {}
        with pytest.raises(EngineDamaged):
            list(_spoiled(rows, ref.name))


def _spoiled(rows: object, name: str) -> Iterator[object]:
    rows._put(2, name, "no piece")  # type: ignore[attr-defined]
    yield from rows.sealed_files(name)  # type: ignore[attr-defined]


def test_several_codebases_share_one_deadline_and_the_answer_names_whom_the_server_did_not_help(
    tmp_path: Path, server: RealServer
) -> None:
    from contextlib import ExitStack

    from cairn.answer.search import search_answer
    from cairn.ask.session import ask_all
    from cairn.core.limits import ENGINE_SEARCH_SECONDS
    from tests.engine.proxy import between

    with between(server.uri) as proxy, ExitStack() as stack:
        people = [person(tmp_path, name, proxy.uri, tmp_path / f"tree_{name}") for name in ("one", "two", "three")]
        sessions = []
        for one in people:
            one.write(FILES)
            one.index()
            sessions.append(stack.enter_context(one.session()))
        request = SearchRequest(query="steal a lease")
        answers, page = ask_all(sessions, request)
        assert json.loads(search_answer(answers, page).to_json())["warnings"] == []
        proxy.fault = lambda name: "delay" if name == "Search" else None
        began = time.monotonic()
        again, late = ask_all(sessions, request)
        assert time.monotonic() - began < 2.5 * ENGINE_SEARCH_SECONDS
        told = json.loads(search_answer(again, late).to_json())
        assert [hit for _, hit in late.hits] == [hit for _, hit in page.hits]
        for one in people:
            assert sum(one.place.store_id in warning for warning in told["warnings"]) == 1
        proxy.heal()


def test_an_answer_from_several_codebases_names_the_one_whose_server_did_not_help(
    tmp_path: Path, server: RealServer
) -> None:
    from contextlib import ExitStack

    from cairn.answer.search import search_answer
    from cairn.ask.session import ask_all
    from tests.engine.proxy import between

    with between(server.uri) as good, between(server.uri) as bad, ExitStack() as stack:
        people = [
            person(tmp_path, name, uri, tmp_path / f"tree_{name}")
            for name, uri in (("one", good.uri), ("two", bad.uri), ("three", good.uri))
        ]
        for one in people:
            one.write(FILES)
            one.index()
        sessions = [stack.enter_context(one.session()) for one in people]
        request = SearchRequest(query="steal a lease")
        _, whole = ask_all(sessions, request)
        bad.fault = lambda name: "refuse" if name == "Search" else None
        answers, page = ask_all(sessions, request)
        told = json.loads(search_answer(answers, page).to_json())
        [warning] = told["warnings"]
        assert people[1].place.store_id in warning
        assert "engine_unreachable" in warning
        assert [row["status"] for row in told["codebases"]] == ["ok"] * 3
        assert [hit for _, hit in page.hits] == [hit for _, hit in whole.hits]
        assert told["coverage"]["partial"] is False, "this machine had all of it"
