"""The snapshot that a search server holds, brought back byte by byte."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.errors import EngineDamaged, EngineUnreachable, NotFound
from cairn.search.types import SearchRequest
from cairn.sync.remote.copy import engine_status, push
from cairn.sync.remote.pull import pull
from tests.engine.servers import RealServer, needs_milvus, running
from tests.sync.team import FILES, Person, person

pytestmark = needs_milvus


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@pytest.fixture
def sent(tmp_path: Path, server: RealServer) -> Person:
    """Somebody whose store of several segments, with tombstones, is on the server."""
    one = person(tmp_path, "sender", "")
    one.write(FILES)
    one.index()
    for number in range(2):
        one.write({"src/lease.py": f"class Lease:\n    number = {number}\n", f"src/n{number}.py": f"n = {number}\n"})
        one.sync()
    one.names(server.uri)
    push(one.codebase, str(one.home), lambda _: None, environ=one.environ)
    return one


def same_store(one: Person, other: Person) -> bool:
    """Whether both have the same segments, the same manifest and the same tombstones."""
    mine, theirs = (Path(each.place.path) for each in (one, other))
    both = filecmp.dircmp(theirs / "segments", mine / "segments")
    wanted = {path.name for path in (theirs / "segments").iterdir()}
    assert wanted
    assert not both.left_only
    for name in wanted:
        for file in (theirs / "segments" / name).iterdir():
            if file.read_bytes() != (mine / "segments" / name / file.name).read_bytes():
                return False
    for generation in (theirs / "generations").iterdir():
        if generation.read_bytes() != (mine / "generations" / generation.name).read_bytes():
            return False
    return True


def ask(one: Person) -> list[tuple[str, float]]:
    with one.session() as session:
        answer = session.ask(SearchRequest(query="lease number"))
        assert answer.found is not None
        return [(hit.path, hit.score) for hit in answer.found.hits]


def test_what_was_sent_comes_back_byte_by_byte_and_answers_the_same(sent: Person, server: RealServer) -> None:
    other = person(sent.home.parent, "other", server.uri)
    report = pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
    assert report.sent == report.segments > 1
    assert same_store(sent, other)
    assert ask(other) == ask(sent)
    assert pull(other.codebase, str(other.home), lambda _: None, environ=other.environ).sent == 0
    # It is a store like any other: a sync goes on from there.
    other.write({"src/after.py": "after = 1\n"})
    assert other.sync().published


@pytest.mark.long
def test_a_pull_that_was_cut_goes_on_where_it_stood(sent: Person, server: RealServer) -> None:
    from tests.engine.proxy import between

    other = person(sent.home.parent, "other", server.uri)
    with between(server.uri) as proxy:
        other.names(proxy.uri)
        queries = 0

        def cut(name: str) -> str | None:
            nonlocal queries
            queries += name == "Query"
            return "drop" if queries > 7 else None

        proxy.fault = cut
        with pytest.raises(EngineUnreachable):
            pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
        with other.session() as session:
            assert not session.gate.is_open
        proxy.heal()
        report = pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
    assert 0 < report.sent < report.segments
    assert same_store(sent, other)
    assert not (Path(other.place.path) / "staging" / "pull_work").exists()


@pytest.mark.long
def test_what_is_not_what_was_sent_is_refused_and_nothing_is_published(sent: Person, server: RealServer) -> None:
    other = person(sent.home.parent, "other", server.uri)
    with sent.rows() as rows:
        name = sorted(rows.receipts())[0]
        [first, *_] = rows._pages(f'kind == 2 and segment == "{name}"', ["payload"])
        from cairn.engine.milvus_rows import pieces, reserved

        [(_, payload)] = pieces(first["payload"].split(" ")[0], b"other bytes")
        rows._write([reserved(2, first["id"], name, payload, 256)], 1)
    with pytest.raises(EngineDamaged):
        pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
    with other.session() as session:
        assert not session.gate.is_open


@pytest.mark.long
def test_a_server_that_holds_nothing_for_this_root_says_so(tmp_path: Path, server: RealServer) -> None:
    one = person(tmp_path, "nobody", server.uri, tmp_path / "another")
    with pytest.raises(NotFound, match="holds no complete snapshot"):
        pull(one.codebase, str(one.home), lambda _: None, environ=one.environ)


@pytest.mark.long
def test_a_piece_that_was_lost_is_sent_again_by_a_push_and_then_pulled(sent: Person, server: RealServer) -> None:
    other = person(sent.home.parent, "other", server.uri)
    with sent.rows() as rows:
        name = sorted(rows.receipts())[0]
        [first, *_] = rows._pages(f'kind == 2 and segment == "{name}"', [])
        rows._delete(f'id == "{first["id"]}"')
    report = engine_status(sent.codebase, str(sent.home), environ=sent.environ)
    assert report.there == report.segments - 1
    with pytest.raises(EngineDamaged):
        pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
    assert push(sent.codebase, str(sent.home), lambda _: None, environ=sent.environ).sent == 1
    pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
    assert same_store(sent, other)


@pytest.mark.long
def test_one_damaged_snapshot_does_not_stand_before_the_others(sent: Person, server: RealServer) -> None:
    other = person(sent.home.parent, "other", server.uri)
    with sent.rows() as rows:
        [whole] = rows.runs()
        rows._put(3, "01JC000000000000000000000A", "no marker")
        marker = rows.get_marker(whole)
        assert marker is not None
        rows.put_marker(replace(marker, run_id="01JC000000000000000000000B"), b"no manifest", {})
    report = pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
    assert report.snapshot_id == whole
    assert same_store(sent, other)
    with sent.rows() as rows:
        rows.clear_marker(whole)
    with pytest.raises(EngineDamaged):
        pull(other.codebase, str(other.home), lambda _: None, environ=other.environ)
