"""What a snapshot and its side files say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.store import Store
from cairn.sync.codebase import model_of
from tests.sync.desk import Desk, extract_here


def test_the_time_of_a_sync_that_found_nothing_counts_until_its_file_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", "x = 1\n")
    desk.index()
    manifest = desk.manifest()
    state = Path(desk.place.path) / "index_state.json"
    with desk.place.make_disk() as disk:
        assert Store(disk).notes.last_sync(manifest) >= manifest.created_at
        state.write_bytes(b"damaged")
        assert Store(disk).notes.last_sync(manifest) == manifest.created_at
        state.unlink()
        assert Store(disk).notes.last_sync(manifest) == manifest.created_at
    assert model_of(manifest.config_fields) == desk.model.identity.model


def test_fields_without_a_model_name_none() -> None:
    assert model_of(()) is None
    assert model_of((("embeddingModel", "null"),)) is None
    assert model_of((("embeddingModel", '"m"'),)) == "m"
