"""A store is named after its root and after all that gives its rows their meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.embedding.identity import BUNDLED
from cairn.sync.codebase import place_of
from tests.conformance import conforms
from tests.sync.desk import Desk, Model


@conforms("003.SID1")
def test_two_roots_have_two_stores(tmp_path: Path) -> None:
    one, two = Desk(tmp_path / "one"), Desk(tmp_path / "two")
    two.home = one.home
    assert one.place.store_id != two.place.store_id
    assert one.place.fingerprint == two.place.fingerprint
    assert one.place == one.place


@conforms("003.SID2")
def test_another_model_or_another_limit_is_another_store(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    places = [desk.place, place_of(desk.codebase, str(desk.home), BUNDLED)]
    desk.model = Model(dimension=16)
    places.append(desk.place)
    for text in ("[limits]\nmax_file_bytes = 1000\n", '[index]\ntypes = ["csv"]\n', "[index]\nuntracked = false\n"):
        desk.put(".cairn.toml", text)
        places.append(desk.place)
    assert len({place.store_id for place in places}) == len(places)
    assert all(place.store_id.endswith(place.fingerprint.digest[:16]) for place in places)


@pytest.mark.parametrize("text", ['[index]\nexclude = ["a"]\n', "[limits]\nmax_bytes_per_batch = 1000\n"])
def test_what_does_not_change_a_row_keeps_the_store(tmp_path: Path, text: str) -> None:
    desk = Desk(tmp_path)
    before = desk.place
    desk.put(".cairn.toml", text)
    assert desk.place == before


def test_a_store_is_made_when_it_is_asked_for_and_not_before(tmp_path: Path) -> None:
    place = Desk(tmp_path).place
    assert place.disk() is None
    assert not Path(place.path).exists()
    place.make_disk().close()
    assert Path(place.path).is_dir()
    assert Path(place.path).stat().st_mode & 0o777 == 0o700
    with place.disk() or pytest.fail("it is there") as disk:
        assert disk.path == place.path


def test_a_store_of_a_group_is_made_when_that_is_asked_for(tmp_path: Path) -> None:
    place = Desk(tmp_path).place
    place.make_disk(shared=True).close()
    assert Path(place.path).stat().st_mode & 0o7777 == 0o2770
    with place.disk() or pytest.fail("it is there") as disk:
        assert disk.modes.shared
