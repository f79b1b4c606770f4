"""The rows of a store on a real Milvus: the contract, what lasts, and what a server may do to us."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest

import cairn.engine.milvus_rows as milvus_rows_module
import cairn.engine.milvus_rows as milvus_shape_module
from cairn.core.limits import ENGINE_PIECE_BYTES
from cairn.engine.contract import RowScope, RowSearch, SealedFile
from cairn.engine.milvus import Server
from cairn.engine.milvus_rows import RECEIPT, MilvusRows, collection_name
from cairn.engine.rows import SegmentRows, scope_of, segments_of
from cairn.errors import EngineDamaged, EngineError, EngineForeign, EngineFull, EngineUnreachable
from cairn.store.format.manifest import Completion
from cairn.store.read.live import live_parts
from cairn.store.read.snapshot import SnapshotView
from tests.conformance import conforms
from tests.engine.conformance import Keeper, KeeperConformance, SearchConformance, vector_of, view
from tests.engine.servers import RealServer, free_port, needs_milvus, running
from tests.store.little import DIMENSION, STORE_ID
from tests.support.faults import Faults
from tests.sync.team import FILES, Person, person

__all__ = ["view"]
pytestmark = [needs_milvus, pytest.mark.long]

MARKER = Completion("/home/me/project", "a" * 64, 3, 12, "2026-11-16T01:00:00Z", "01JC000000000000000000000A")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@pytest.fixture
def rows(server: RealServer, request: pytest.FixtureRequest) -> Iterator[MilvusRows]:
    own = f"{abs(hash(request.node.name)) % 10**8}__{STORE_ID}"
    made = MilvusRows(Server(server.uri), own, DIMENSION)
    yield made
    made.close()


def sealed(view: SnapshotView, number: int, files: tuple[SealedFile, ...] = ()) -> SegmentRows:
    ref = view.manifest.segments[number]
    return SegmentRows(ref.name, ref.sha256, live_parts(view)[number], files)


def only(view: SnapshotView, number: int) -> RowScope:
    """What a view reads of one of its segments."""
    name = view.manifest.segments[number].name
    return RowScope((name,), {name: scope_of(view).hidden.get(name, ())})


@pytest.fixture(scope="module")
def place(view: SnapshotView, server: RealServer) -> Iterator[RowSearch]:
    made = MilvusRows(Server(server.uri), STORE_ID, DIMENSION)
    for segment in segments_of(view):
        receipt = made.put_segment(segment)
        assert (receipt.rows, receipt.rows_sha256) == (segment.rows, segment.rows_sha256)
    yield made
    made.close()


class TestMilvusRows(SearchConformance):
    pass


@dataclass
class MilvusKeeper:
    """The collection of a store."""

    person: Person

    def segments(self) -> Mapping[str, Mapping[str, bytes]]:
        with self.person.rows() as rows:
            found: dict[str, dict[str, bytes]] = {name: {} for name in rows.receipts(counted=True)}
            for name, files in found.items():
                for file, place, data in rows.sealed_files(name):
                    assert len(files.get(file, b"")) == place
                    files[file] = files.get(file, b"") + data
        return found

    def markers(self) -> Mapping[str, Completion]:
        with self.person.rows() as rows:
            return {run: marker for run in rows.runs() if (marker := rows.get_marker(run)) is not None}


@pytest.fixture
def keeper(tmp_path: Path, server: RealServer) -> Keeper:
    one = person(tmp_path, "me", server.uri)
    one.write(FILES)
    return MilvusKeeper(one)


class TestMilvusKeeper(KeeperConformance):
    pass


def test_what_was_put_is_there_once_however_often_it_is_put(view: SnapshotView, rows: MilvusRows) -> None:
    files = (SealedFile("data.bin", memoryview(bytes(range(256)) * 1_000)), SealedFile("rows.sqlite", memoryview(b"")))
    for _ in range(2):
        rows.put_segment(sealed(view, 0, files))
    name = view.manifest.segments[0].name
    assert {one: receipt.rows for one, receipt in rows.receipts().items()} == {name: view.manifest.segments[0].rows}
    assert len(rows.search_dense(vector_of("x"), only(view, 0), 1_000)) <= view.manifest.segments[0].rows
    got: dict[str, bytes] = {}
    for file, place, data in rows.sealed_files(name):
        assert len(got.get(file, b"")) == place
        got[file] = got.get(file, b"") + data
    assert got == {file.name: bytes(file.data) for file in files}


def test_everything_is_found_however_many_pages_it_takes_and_in_whatever_order_they_come(
    view: SnapshotView, rows: MilvusRows, faults: Faults
) -> None:
    # A server gives the first so many that it comes upon, and ids are in order as texts: 96256 comes after 144384.
    faults.limit(milvus_rows_module, _PAGE=4)
    data = random.Random(1).randbytes(20 * ENGINE_PIECE_BYTES)
    rows.put_segment(sealed(view, 0, (SealedFile("data.bin", memoryview(data)), SealedFile("z", memoryview(b"z")))))
    name = view.manifest.segments[0].name
    assert b"".join(part for file, _, part in rows.sealed_files(name) if file == "data.bin") == data
    runs = [f"01JC00000000000000000000{number:02}" for number in range(9)]
    for run in reversed(runs):
        rows._put(3, run, "a marker")
    assert rows.runs() == runs


def test_pages_that_hold_what_was_not_asked_for_are_no_answer(
    rows: MilvusRows, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    faults.limit(milvus_rows_module, _PAGE=2)
    monkeypatch.setattr(rows, "_query", lambda *_: [{"id": "3:a", "segment": "a"}, {"id": "3:b", "segment": "b"}])
    with pytest.raises(EngineDamaged, match="not asked for"):
        rows.runs()


def test_a_segment_that_was_dropped_is_gone_and_the_others_stay(view: SnapshotView, rows: MilvusRows) -> None:
    for number in (0, 1):
        rows.put_segment(sealed(view, number, (SealedFile("data.bin", memoryview(b"abc")),)))
    gone, stays = (ref.name for ref in view.manifest.segments[:2])
    rows.drop_segment(gone)
    assert set(rows.receipts()) == {stays}
    assert rows.orphans() == set()
    assert {near.segment for near in rows.search_dense(vector_of("x"), only(view, 1), 1_000)} == {stays}
    with pytest.raises(EngineDamaged, match=gone):
        rows.search_dense(vector_of("x"), RowScope((gone, stays), {}), 3)
    assert list(rows.sealed_files(gone)) == []


def test_a_put_that_was_cut_short_leaves_an_orphan_that_is_found(
    view: SnapshotView, rows: MilvusRows, faults: Faults
) -> None:

    def cut(put: Callable[..., object], kind: int, owner: str, payload: str) -> None:
        if kind == RECEIPT:
            raise EngineUnreachable(uri="x", why="cut")
        put(kind, owner, payload)

    faults.around(rows, "_put", cut)
    with pytest.raises(EngineUnreachable):
        rows.put_segment(sealed(view, 0))
    name = view.manifest.segments[0].name
    assert rows.receipts() == {}
    assert rows.orphans() == {name}
    rows.drop_segment(name)
    assert rows.orphans() == set()


@conforms("000.PRF2", "000.PRF3", "000.PRF4", "000.PRF5", "000.PRF6")
def test_a_marker_is_kept_to_the_letter_and_never_found_as_a_row(view: SnapshotView, rows: MilvusRows) -> None:
    assert rows.get_marker(MARKER.run_id) is None
    rows.put_segment(sealed(view, 0))
    manifest = b"{}" * 60_000
    rows.put_marker(MARKER, manifest, {"tombstones.jsonl": b"x\n"})
    assert rows.get_marker(MARKER.run_id) == MARKER
    assert rows.snapshot(MARKER.run_id) == (manifest, {"tombstones.jsonl": b"x\n"})
    later = replace(MARKER, run_id="01JC000000000000000000000B")
    rows.put_marker(later, manifest, {})
    assert rows.runs() == [MARKER.run_id, later.run_id]
    rows.clear_marker(MARKER.run_id)
    assert rows.runs() == [later.run_id]
    assert rows.get_marker(MARKER.run_id) is None
    assert rows.get_marker(later.run_id) == later
    everything = rows.search_dense(vector_of("x"), only(view, 0), 10_000)
    assert len(everything) <= view.manifest.segments[0].rows


def test_a_marker_that_is_wrong_is_not_a_marker_that_is_missing(rows: MilvusRows) -> None:
    rows.put_marker(MARKER, b"{}", {})
    for payload in ("{}", "[", '{"kind": "cairn_index_completion_v9"}'):
        rows._put(3, MARKER.run_id, payload)
        with pytest.raises(EngineDamaged):
            rows.get_marker(MARKER.run_id)


def test_documents_that_somebody_else_wrote_are_passed_over(view: SnapshotView, rows: MilvusRows) -> None:
    rows.put_segment(sealed(view, 0))
    name = view.manifest.segments[0].name
    for payload in (
        "[" * 50_000,
        "{}",
        '{"segment": 1}',
        '{"segment": "x", "rows": 0, "rows_sha256": "", "sealed_sha256": ""}',
    ):
        rows._put(1, f"seg_odd_{len(payload)}", payload)
    for kind in (1, 3, 5):
        rows._put(kind, 'a" or kind == 0 or segment == "', "{}")
    assert set(rows.receipts()) == set(rows.receipts(counted=True)) == {name}
    assert rows.runs() == []
    assert rows.orphans() == set()


def test_what_was_flushed_is_there_after_the_server_was_killed(
    view: SnapshotView, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with running(tmp_path_factory.mktemp("killed")) as server:
        made = MilvusRows(Server(server.uri), STORE_ID, DIMENSION)
        made.put_segment(sealed(view, 0, (SealedFile("data.bin", memoryview(b"abc" * 50_000)),)))
        made.put_marker(MARKER, b"{}", {})
        server.kill()
        with pytest.raises(EngineUnreachable):
            made.get_marker(MARKER.run_id)
        server.start()
        assert made.get_marker(MARKER.run_id) == MARKER
        assert set(made.receipts()) == {view.manifest.segments[0].name}
        pieces = b"".join(data for _, _, data in made.sealed_files(view.manifest.segments[0].name))
        assert sha256(pieces).digest() == sha256(b"abc" * 50_000).digest()
        found = made.search_dense(vector_of("x"), only(view, 0), 5)
        assert len(found) == 5
        made.close()


# --- bad input --------------------------------------------------------------------------------------------------------


def test_an_address_where_nobody_answers_is_one_clear_sentence() -> None:
    nobody = MilvusRows(Server(f"http://127.0.0.1:{free_port()}"), STORE_ID, DIMENSION)
    with pytest.raises(EngineUnreachable) as told:
        nobody.ping()
    assert told.value.sentence.startswith("The search server at http://127.0.0.1:")
    assert "\n" not in told.value.sentence
    assert told.value.retryable


def test_a_collection_that_somebody_else_made_is_left_alone(server: RealServer) -> None:
    own = f"foreign__{STORE_ID}"
    door = Server(server.uri)
    door.call(lambda client, left: client.create_collection(collection_name(own), dimension=8, timeout=left), 30)
    made = MilvusRows(door, own, DIMENSION)
    for ask in (made.runs, made.receipts, lambda: made.put_marker(MARKER, b"{}", {})):
        with pytest.raises(EngineForeign, match="somebody else made it"):
            ask()
    assert door.call(lambda client, left: client.has_collection(collection_name(own), timeout=left))
    made.close()


def test_a_collection_of_another_form_or_another_model_is_refused(server: RealServer, faults: Faults) -> None:
    own = f"version__{STORE_ID}"
    made = MilvusRows(Server(server.uri), own, DIMENSION)
    made.put_marker(MARKER, b"{}", {})
    made.close()
    other = MilvusRows(Server(server.uri), own, 2 * DIMENSION)
    with pytest.raises(EngineForeign, match="components"):
        other.runs()
    other.close()
    faults.limit(milvus_shape_module, SCHEMA_VERSION=2)
    later = MilvusRows(Server(server.uri), own, DIMENSION)
    with pytest.raises(EngineForeign, match="its form is 1"):
        later.runs()
    later.close()


def test_a_collection_that_was_left_half_made_is_finished(server: RealServer, view: SnapshotView) -> None:
    from cairn.engine.milvus import schema_of
    from cairn.engine.milvus_rows import FIELDS, PROPERTY, description

    own = f"half__{STORE_ID}"
    door = Server(server.uri)
    schema = schema_of(DIMENSION, description(own), FIELDS)
    mark = {PROPERTY: description(own)}
    name = collection_name(own)
    door.call(lambda client, left: client.create_collection(name, schema=schema, properties=mark, timeout=left), 30)
    made = MilvusRows(door, own, DIMENSION)
    assert made.runs() == []
    made.put_segment(sealed(view, 0))
    assert made.search_dense(vector_of("x"), only(view, 0), 3)
    made.close()


def test_what_the_server_says_is_shown_without_the_token() -> None:
    door = Server("http://127.0.0.1:1", "s3cret-token")
    told = door._told(RuntimeError("bad s3cret-token\x1b[31m here\nand there " + "x" * 500))
    assert isinstance(told, EngineError)
    assert "s3cret" not in told.sentence
    assert "\x1b" not in told.sentence
    assert "\n" not in told.sentence
    assert len(told.sentence) < 400


def test_a_server_whose_disk_is_full_is_one_clear_sentence_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "small"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only who may mount can have a disk that is full")
    try:
        with running(disk / "data") as server:
            made = MilvusRows(Server(server.uri), STORE_ID, DIMENSION)
            made.put_marker(MARKER, b"{}", {})
            later = replace(MARKER, run_id="01JC000000000000000000000B")
            with pytest.raises(EngineError) as told:
                made.put_marker(later, os.urandom(8 << 20), {})
            assert "\n" not in told.value.sentence
            assert isinstance(told.value, EngineFull), told.value.sentence
            assert made.get_marker(later.run_id) is None
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            server.kill()
            server.start()
            made.put_marker(later, b"{}", {})
            assert made.runs() == [MARKER.run_id, later.run_id]
            made.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
