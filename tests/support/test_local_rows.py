"""The rows of this machine, in the words of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cairn.engine.contract import RowSearch
from cairn.store.format.manifest import Completion
from cairn.store.publish.generations import published, read_claims
from cairn.store.read.snapshot import SnapshotView
from tests.engine.conformance import Keeper, KeeperConformance, SearchConformance, view
from tests.support.local_rows import LocalRows
from tests.sync.team import FILES, Person, person

__all__ = ["view"]


@pytest.fixture(scope="module")
def place(view: SnapshotView) -> RowSearch:
    return LocalRows(view)


class TestLocalRows(SearchConformance):
    pass


@dataclass
class LocalKeeper:
    """The folder of a store."""

    person: Person

    def segments(self) -> Mapping[str, Mapping[str, bytes]]:
        folder = Path(self.person.place.path) / "segments"
        return {one.name: {file.name: file.read_bytes() for file in one.iterdir()} for one in folder.iterdir()}

    def markers(self) -> Mapping[str, Completion]:
        with self.person.disk() as disk:
            kept = list(published(disk, read_claims(disk), []))
        return {manifest.snapshot_id: manifest.completion for manifest in kept if manifest.completion is not None}


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    one = person(tmp_path, "me", "")
    one.write(FILES)
    return LocalKeeper(one)


class TestLocalKeeper(KeeperConformance):
    pass
