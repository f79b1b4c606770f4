"""Registry and stores, brought together: what is proven is added, what is gone is forgotten only when asked."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

import cairn
import cairn.sync.reconcile as reconcile_module
import cairn.sync.tracking as tracking_module
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.registry import REGISTRY
from cairn.sync.reconcile import prune, reconcile_non_destructive
from cairn.sync.tracking import remembered
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, Model, extract_here


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    monkeypatch.setattr(reconcile_module, "place_of", lambda *_: desk.place)
    # A registry that knows nothing: what the stores know is not filled in by the way.
    faults.answer(tracking_module, "from_stores", [])
    desk.put("a.py", "x = 1\n")
    return desk


def reconciled(desk: Desk) -> list[str]:
    return reconcile_non_destructive({"CAIRN_HOME": str(desk.home)})


@conforms("001.REC1", "001.INV2", "000.SM2")
def test_only_what_is_proven_is_added(desk: Desk) -> None:
    desk.index()
    (desk.home / REGISTRY).unlink()
    first = desk.model
    desk.model = Model(dimension=16)
    assert reconciled(desk) == []
    desk.model = first
    assert reconciled(desk) == [str(desk.tree)]
    entry = remembered(desk.place)
    assert entry is not None
    assert (entry.store_id, entry.embedding_model) == (desk.place.store_id, desk.model.identity.model)
    assert reconciled(desk) == []


@conforms("001.REC1", "001.REC2")
def test_what_is_cleared_damaged_or_without_its_folder_is_not_added_and_nothing_is_removed(desk: Desk) -> None:
    desk.index()
    desk.clear()
    (desk.home / REGISTRY).unlink()
    assert reconciled(desk) == []
    desk.index()
    shutil.rmtree(desk.place.path)
    assert reconciled(desk) == []
    assert remembered(desk.place) is not None


@conforms("001.REC2", "000.SM3")
def test_a_root_that_is_being_indexed_is_left_alone(desk: Desk) -> None:
    desk.index()
    (desk.home / REGISTRY).unlink()
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.REINDEX, rebuild=True):
        assert reconciled(desk) == []
    assert not (desk.home / REGISTRY).exists()


def test_a_prune_forgets_what_has_no_store_and_nothing_else(desk: Desk) -> None:
    desk.index()
    assert prune(str(desk.home)) == []
    place = Path(desk.place.path)
    for path in place.glob("generations/*"):
        path.chmod(0o600)
        path.write_bytes(b"damaged")
    assert prune(str(desk.home)) == []
    shutil.rmtree(place)
    assert prune(str(desk.home)) == [str(desk.tree)]
    assert remembered(desk.place) is None


@conforms("001.REC3", "001.FG1", "001.AC3")
def test_nothing_that_answers_can_reach_reconcile_or_prune() -> None:
    package = Path(cairn.__file__).parent
    users = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "reconcile" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "cairn.sync.reconcile"
    }
    assert users <= {"cli/upkeep.py"}
