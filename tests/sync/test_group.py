"""One index for a group: no second one beside it, and its members are told what they should know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.core.config import StoreConfig
from cairn.errors import SharedMismatch, SharedUnfit
from cairn.store.fs import PRIVATE, SHARED
from cairn.sync import run
from cairn.sync.proof import DIRTY, UNTRACKED, refuse_second, told_to_group
from tests.conformance import conforms
from tests.store.disks import MemoryDisk
from tests.sync.desk import Desk, Model, silent


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.put("a.py", "def a():\n    return 1\n")
    desk.home.mkdir()
    desk.home.chmod(0o2770)
    return desk


def index(desk: Desk, shared: bool | None = True) -> None:
    run.index(desk.codebase, replace(desk.options(), shared=shared), silent, clock=desk.clock)


@conforms("003.SID4")
def test_another_model_or_setting_is_refused_by_its_fields(desk: Desk) -> None:
    index(desk)
    index(desk)
    before = desk.store()
    desk.model = Model(dimension=16)
    desk.put(".cairn.toml", '[index]\ntypes = ["csv"]\n')
    with pytest.raises(SharedMismatch) as no:
        index(desk)
    assert no.value.fields["path"] == str(desk.tree)
    assert no.value.fields["fields"] == "embeddingDimension, index.types"
    with pytest.raises(SharedMismatch):
        desk.sync()
    assert len(list((desk.home / "data").iterdir())) == 1
    desk.model = Model()
    (desk.tree / ".cairn.toml").unlink()
    assert desk.store() == before
    desk.sync()


def test_a_home_of_one_user_holds_as_many_indexes_as_there_are_settings(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    index(desk, None)
    desk.model = Model(dimension=16)
    refuse_second(desk.place, str(desk.tree))
    index(desk, None)
    assert len(list((desk.home / "data").iterdir())) == 2


def test_vectors_that_cost_something_are_remembered_for_the_whole_group(desk: Desk) -> None:
    desk.model = Model(cheap=False)
    index(desk)
    cache = desk.home / "cache" / "embeddings"
    assert {path.stat().st_mode & 0o7777 for path in (cache.parent, cache)} == {0o2770}
    assert {path.stat().st_mode & 0o7777 for path in cache.iterdir() if path.is_file()} <= {0o660, 0o440}


def test_the_users_setting_is_the_wish_where_no_other_was_uttered(desk: Desk) -> None:
    codebase = desk.codebase
    asked = codebase._replace(config=replace(codebase.config, store=StoreConfig(shared=True)))
    run.sync(asked, desk.options(), silent, clock=desk.clock)
    assert (Path(desk.place.path) / "sharing.json").exists()
    desk.home = desk.home.parent / "own"
    desk.home.mkdir(mode=0o700)
    with pytest.raises(SharedUnfit):
        run.sync(asked, desk.options(), silent, clock=desk.clock)


@conforms("003.GIT4")
def test_what_is_told_depends_on_the_flags_and_on_whose_store_it_is(desk: Desk) -> None:
    index(desk)
    manifest = desk.manifest()
    group, own = MemoryDisk(SHARED), MemoryDisk(PRIVATE)
    for dirty in (True, False):
        for untracked in (True, False):
            git = replace(manifest.git, dirty=dirty, untracked_included=untracked)
            snapshot = replace(manifest, git=git)
            told = ((DIRTY,) if dirty else ()) + ((UNTRACKED,) if untracked else ())
            assert told_to_group(group, snapshot) == told
            assert told_to_group(own, snapshot) == ()
            assert told_to_group(group, replace(snapshot, completion=None)) == ()
    assert told_to_group(group, None) == ()
