from __future__ import annotations

from cairn.store.format.layout import MANIFEST, MAPPING, generation_path
from cairn.store.format.manifest import Manifest
from cairn.store.publish.tidy import accounts_of, run_of, unaccounted
from tests.store.disks import MemoryDisk
from tests.store.little import save

FIRST = {"a": b"one\n", "b": b"two\n"}
SECOND = {"a": b"one\n", "b": b"changed\n"}
THIRD = {"a": b"one\n", "b": b"changed again\n"}


def store() -> tuple[MemoryDisk, list[Manifest]]:
    fs = MemoryDisk()
    made = [save(fs, files) for files in (FIRST, SECOND, THIRD)]
    return fs, [manifest for manifest in made if manifest is not None]


def test_of_a_snapshot_that_is_gone_stays_what_later_ones_name_and_the_hint_beside_its_segments() -> None:
    _, (first, second, third) = store()
    found = accounts_of([third])
    assert found.published == {third.snapshot_id}
    assert found.segments == {ref.name for ref in third.segments}
    assert first.segments[0].name in found.segments
    assert found.files[first.snapshot_id] == {MAPPING}
    assert found.files[third.snapshot_id] >= {MANIFEST, MAPPING}
    named = {ref.path for ref in third.tombstones}
    kept = {f"snapshots/{run}/{name}" for run, names in found.files.items() for name in names if "tomb" in name}
    assert kept == named
    assert second.snapshot_id in found.runs


def test_what_nobody_accounts_for_is_named_and_only_of_the_runs_that_were_asked_for() -> None:
    fs, (first, second, third) = store()
    for number in (1, 2):
        fs.remove(generation_path(number))
    accounts = accounts_of([third])
    runs = {first.snapshot_id, second.snapshot_id}
    found = list(unaccounted(fs, accounts, runs))
    assert f"snapshots/{first.snapshot_id}/{MANIFEST}" in found
    dead = {ref.name for ref in second.segments} - accounts.segments
    assert {path for path in found if path.startswith("segments/")} == {f"segments/{name}" for name in dead}
    assert list(unaccounted(fs, accounts, ())) == []
    assert list(unaccounted(fs, accounts_of([]), {first.snapshot_id})) == [
        f"snapshots/{first.snapshot_id}",
        f"segments/{first.segments[0].name}",
    ]


def test_a_name_that_is_not_ours_belongs_to_no_run() -> None:
    fs, (first, *_) = store()
    fs.make_folder("segments/stray")
    fs.make_folder("snapshots/stray")
    assert not [path for path in unaccounted(fs, accounts_of([]), {"stray"}) if "stray" in path]
    assert run_of(first.segments[0].name) == first.snapshot_id
