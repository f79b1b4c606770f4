"""What a reader finds: the snapshot that answers, a run at work, an index of another making."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import cairn.sync.catchup as catchup_module
from cairn.errors import FilesFailed, NotIndexed, StoreError
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.sync.proof import ProofReason
from cairn.sync.status import Standing, State, stand
from cairn.sync.tracking import remembered
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, Model, extract_here


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", "x = 1\n")
    return desk


def look(desk: Desk, snapshot: str | None = None) -> Standing:
    standing = stand(desk.place, snapshot=snapshot)
    if standing.view is not None:
        standing.view.close()
    return standing


def test_where_nothing_was_made_there_is_nothing_and_nothing_is_made(desk: Desk) -> None:
    assert look(desk) == Standing(State.NOT_INDEXED)
    assert not desk.home.exists()


def test_a_view_outlives_the_look_and_every_later_publish(desk: Desk) -> None:
    desk.index()
    standing = stand(desk.place)
    assert standing.view is not None
    with standing.view as view:
        desk.put("a.py", "x = 2\n")
        desk.sync()
        assert bytes(view.text("a.py") or b"") == b"x = 1\n"
    assert standing.state is State.INDEXED


def test_a_snapshot_that_is_asked_for_is_given_while_it_is_kept(desk: Desk) -> None:
    first = desk.index().snapshot_id
    desk.put("a.py", "x = 2\n")
    desk.sync()
    older = stand(desk.place, snapshot=first)
    assert older.view is not None
    with older.view as view:
        assert bytes(view.text("a.py") or b"") == b"x = 1\n"
    assert look(desk, "01KA3M7Q2W0000000000000000").view is None


def test_a_cleared_index_has_no_view(desk: Desk) -> None:
    desk.index()
    desk.clear()
    assert look(desk) == Standing(State.CLEARED)


@pytest.mark.parametrize(("kind", "state"), [(RunKind.SYNC, State.INDEXED), (RunKind.REINDEX, State.INDEXING)])
def test_a_run_at_work_closes_the_gate_only_when_it_replaces_what_is_there(
    desk: Desk, kind: RunKind, state: State
) -> None:
    desk.index()
    with desk.place.make_disk() as disk, open_writer(disk, "here", kind, rebuild=True):
        standing = look(desk)
    assert (standing.state, standing.view is not None) == (state, True)
    assert standing.writer is not None
    assert (standing.writer.kind, standing.writer.alive) == (kind.value, True)


def test_a_first_run_at_work_is_indexing_and_one_that_stopped_left_nothing(desk: Desk) -> None:
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.CREATE):
        assert look(desk).state is State.INDEXING
    assert look(desk) == Standing(State.NOT_INDEXED)


def test_a_store_without_a_whole_snapshot_is_corrupt(desk: Desk) -> None:
    desk.index()
    for segment in Path(desk.place.path).glob("segments/*"):
        shutil.rmtree(segment)
    assert look(desk).state is State.CORRUPT


def test_an_index_of_another_model_is_named_by_the_fields_that_differ(desk: Desk) -> None:
    desk.index()
    desk.model = Model(dimension=16)
    assert replace(look(desk), tracked=None) == Standing(State.NOT_INDEXED, differs=("embeddingDimension",))
    desk.index()
    assert look(desk).state is State.INDEXED


def test_a_sibling_that_was_never_finished_does_not_count(desk: Desk) -> None:
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.CREATE):
        pass
    desk.model = Model(dimension=16)
    assert look(desk) == Standing(State.NOT_INDEXED)


def test_a_codebase_that_was_cleared_stays_so_with_whatever_settings(desk: Desk) -> None:
    desk.index()
    desk.clear()
    desk.model = Model(dimension=16)
    assert look(desk).state is State.CLEARED
    with pytest.raises(NotIndexed):
        desk.sync()
    assert look(desk).state is State.CLEARED
    desk.index()
    assert look(desk).state is State.INDEXED


def test_a_root_that_is_remembered_and_has_no_store_is_stale_and_not_new(desk: Desk) -> None:
    desk.index()
    shutil.rmtree(desk.place.path)
    standing = look(desk)
    assert (standing.state, standing.stale, standing.failed) == (State.NOT_INDEXED, True, False)
    assert standing.proof.reason is ProofReason.MISSING_MARKER_DOC


def test_a_first_run_that_gave_up_is_remembered_as_failed(desk: Desk) -> None:
    desk.model = Model(poison=b"x = 1")
    with pytest.raises(FilesFailed):
        desk.index()
    assert (look(desk).state, look(desk).failed, look(desk).stale) == (State.NOT_INDEXED, True, False)
    desk.model = Model()
    desk.index()
    assert look(desk).state is State.INDEXED


@conforms("004.MD1")
def test_a_run_that_was_killed_before_it_published_has_said_which_model_it_uses(desk: Desk, faults: Faults) -> None:
    faults.fail(catchup_module.CatchUp, "go", SystemExit())
    with pytest.raises(SystemExit):
        desk.index()
    known = remembered(desk.place)
    assert known is not None
    assert known.embedding_model == desk.model.identity.model
    desk.model.identity = replace(desk.model.identity, model="another")
    assert look(desk).differs == ("embeddingModel",)


def test_what_the_disk_refuses_is_an_error_about_the_store(desk: Desk) -> None:
    desk.home.mkdir()
    (desk.home / "data").write_bytes(b"no folder")
    with pytest.raises(StoreError):
        look(desk)
