"""What somebody may get wrong about a search server: one clear sentence each, and this machine's index untouched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.engine.milvus import Server, schema_of
from cairn.engine.milvus_rows import FIELDS, PROPERTY, collection_name, description
from cairn.errors import (
    ConfigError,
    EngineError,
    EngineForeign,
    EngineFull,
    EngineRefused,
    EngineUnreachable,
)
from cairn.search.types import SearchRequest
from cairn.sync.remote.copy import engine_standing, engine_status, push
from tests.engine.servers import RealServer, free_port, needs_milvus, running
from tests.store.little import DIMENSION
from tests.sync.team import FILES, Person, person

pytestmark = [needs_milvus, pytest.mark.long]

TOKEN = "root:a-token-that-nobody-may-see"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@pytest.fixture
def me(tmp_path: Path) -> Person:
    """Somebody whose index is complete here, and who names no server yet."""
    one = person(tmp_path, "me", "")
    one.write(FILES)
    one.index()
    return one


def stored(one: Person) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in sorted(Path(one.place.path).rglob("*"))
        if path.is_file() and path.name not in ("last_used", "writer_lease.json")
    }


def refused(one: Person, kind: type[EngineError], environ: dict[str, str] | None = None) -> EngineError:
    """Whoever sends is told in one sentence; nothing here changes, and searches answer as before."""
    environ = {**one.environ, **(environ or {})}
    before, answers = stored(one), found(one)
    with pytest.raises(kind) as told:
        push(one.codebase, str(one.home), lambda _: None, environ=environ)
    sentence, advice = told.value.sentence, told.value.advice
    assert sentence.endswith(".")
    assert "\n" not in sentence + advice
    assert len(sentence) < 500
    assert TOKEN not in sentence + advice
    report = engine_status(one.codebase, str(one.home), environ=environ)
    assert report.marked is False
    standing = engine_standing(one.codebase, str(one.home), environ)
    assert standing.proof is not None
    assert not standing.proof.is_valid
    assert found(one) == answers
    assert stored(one) == before
    return told.value


def found(one: Person) -> list[tuple[str, float]]:
    with one.session() as session:
        answer = session.ask(SearchRequest(query="who steals a lease"))
        assert answer.found is not None
        return [(hit.path, hit.score) for hit in answer.found.hits]


def test_a_wrong_token(me: Person, server: RealServer) -> None:
    from tests.engine.proxy import between

    with between(server.uri, TOKEN) as proxy:
        me.names(proxy.uri, 'token_env = "A_TOKEN"\n')
        told = refused(me, EngineRefused, {"A_TOKEN": f"{TOKEN}x"})
        assert "token" in told.sentence
        with pytest.raises(ConfigError, match="A_TOKEN, which is not set"):
            push(me.codebase, str(me.home), lambda _: None, environ=me.environ)
        right = push(me.codebase, str(me.home), lambda _: None, environ={**me.environ, "A_TOKEN": TOKEN})
        assert right.marked


def test_a_wrong_address(me: Person) -> None:
    me.names(f"http://127.0.0.1:{free_port()}")
    assert "http://127.0.0.1:" in refused(me, EngineUnreachable).sentence


def test_an_address_at_which_something_else_answers(me: Person) -> None:
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port := free_port())]
    other = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        me.names(f"http://127.0.0.1:{port}")
        refused(me, EngineError)
    finally:
        other.kill()
        other.wait()


def test_a_collection_that_somebody_else_made(me: Person, server: RealServer) -> None:
    name = collection_name(me.place.store_id)
    made(server, lambda client, left: client.create_collection(name, dimension=8, timeout=left))
    me.names(server.uri)
    told = refused(me, EngineForeign)
    assert name in told.sentence
    assert "somebody else made it" in told.sentence
    assert described(server, name)["fields"][0]["name"] == "id", "it is left as it was"


def test_a_collection_of_another_version(me: Person, server: RealServer) -> None:
    name = collection_name(me.place.store_id)
    schema = schema_of(DIMENSION, "", FIELDS)
    mark = {PROPERTY: description(me.place.store_id).replace("rows 1", "rows 9")}
    made(server, lambda client, left: client.create_collection(name, schema=schema, properties=mark, timeout=left))
    me.names(server.uri)
    assert "its form is 9, and this version of Cairn writes 1" in refused(me, EngineForeign).sentence


def test_a_collection_that_was_left_half_made_is_finished_and_nothing_is_said(me: Person, server: RealServer) -> None:
    name = collection_name(me.place.store_id)
    me.names(server.uri)
    with me.rows() as rows:
        schema = schema_of(rows._dimension, "", FIELDS)
    mark = {PROPERTY: description(me.place.store_id)}
    made(server, lambda client, left: client.create_collection(name, schema=schema, properties=mark, timeout=left))
    before = stored(me)
    half = engine_status(me.codebase, str(me.home), environ=me.environ)
    assert (half.trouble, half.marked, half.there) == (None, False, 0)
    assert push(me.codebase, str(me.home), lambda _: None, environ=me.environ).marked
    assert stored(me) == before


def test_a_server_whose_disk_is_full(me: Person, tmp_path: Path) -> None:
    disk = tmp_path / "small"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only who may mount can have a disk that is full")
    try:
        with running(disk / "data") as server:
            me.names(server.uri)
            (disk / "filler").write_bytes(bytes(free(disk) - (8 << 10)))
            assert "room" in refused(me, EngineFull).sentence
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def made(server: RealServer, make: Callable[[Any, float], object]) -> None:
    door = Server(server.uri)
    door.call(make, 30.0)
    door.close()


def described(server: RealServer, name: str) -> dict[str, list[dict[str, str]]]:
    door = Server(server.uri)
    found: dict[str, list[dict[str, str]]] = door.call(lambda client, left: client.describe_collection(name))
    door.close()
    return found
