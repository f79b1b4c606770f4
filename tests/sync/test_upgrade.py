"""An index of an older format is brought to the format of today in its own store, or stays as it is."""

from __future__ import annotations

import contextlib
import copy
import errno
import itertools
import os
from pathlib import Path

import pytest

import cairn.sync.upkeep as upkeep_module
from cairn.core.progress import Phase, Progress
from cairn.errors import (
    CairnError,
    Incompatible,
    NotIndexed,
    NotUpgraded,
    NoValidSnapshot,
    RequiresReindex,
    StoreBusy,
)
from cairn.search.searcher import Searcher
from cairn.search.types import Mode as SearchMode
from cairn.search.types import SearchRequest
from cairn.store.format.document import CHUNK_ROWS, MANIFEST, SEGMENT_DATA, Artifact
from cairn.store.format.layout import COMPACT_LOCK, create_store
from cairn.store.fs import Fs
from cairn.store.publish.lease import RunKind, read_lease
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import FindingLevel, check
from cairn.store.tend.upgrade import formats_of
from cairn.sync.upgrade import Raised, UpgradeReport, upgrade, upgrade_store
from tests.conformance import conforms
from tests.faults.operations import NEW, OLD, DyingDisk, PowerCut, Who, catch_up, steady
from tests.faults.sweep import MUTE
from tests.store.disks import Call, MemoryDisk, Mode, TracingDisk
from tests.store.little import FewProcesses, load
from tests.store.raising import SNAPSHOT, raised
from tests.support.clock import ManualClock
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here, silent, texts_of


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults) -> Desk:
    """Three segments and two files of tombstones, as version 1 wrote them."""
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    # Nothing is merged by the way: dead rows and their tombstones are what an upgrade has to deal with.
    faults.answer(upkeep_module, "look_after", None)
    desk.put("src/lease.py", "class Lease:\n    def steal(self):\n        return take(self)\n")
    desk.put("src/main.rs", "pub fn main() {\n    take();\n}\n")
    desk.put("gone.py", "def gone():\n    pass\n")
    desk.put("picture.txt", b"\0\1\2")
    desk.index()
    desk.put("src/lease.py", "class Lease:\n    def borrow(self):\n        return take(self)\n")
    desk.sync()
    (desk.tree / "gone.py").unlink()
    desk.put("notes.md", "# Leases\n\nOne writer at a time.\n")
    desk.sync()
    return desk


def run(desk: Desk, tell: object = silent) -> UpgradeReport:
    return upgrade(desk.codebase, desk.options(), tell, clock=desk.clock)  # type: ignore[arg-type]


def facts(desk: Desk, snapshot: str | None = None) -> dict[str, object]:
    """All that can be read of a snapshot, and what a few questions find in it."""
    with desk.place.make_disk() as disk, open_view(disk, "here", snapshot=snapshot) or pytest.fail("gone") as view:
        found: dict[str, object] = {"texts": texts_of(view)}
        for key, record in view.records().items():
            rows = [row._replace(vector=bytes(row.vector)) for row in view.chunks(key)]  # type: ignore[arg-type]
            found[key] = (record, rows, view.symbols(key), view.references(key), view.imports(key))
        searcher = Searcher(view, desk.model)
        for mode in SearchMode:
            found[f"? {mode}"] = searcher.search(SearchRequest("Lease", mode=mode)).hits
        return found


def versions(desk: Desk) -> dict[str, set[int]]:
    """The versions of all that the newest snapshot names."""
    found: dict[str, set[int]] = {}
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("gone") as view:
        for artifact, version, _ in formats_of(disk, view):
            found.setdefault(artifact.name, set()).add(version)
    return found


# --- what it does -----------------------------------------------------------------------------------------------------


@conforms("003.UPG3", "003.UPG4")
@pytest.mark.parametrize("artifacts", [SNAPSHOT, *((one,) for one in SNAPSHOT)], ids=lambda found: found[-1].name)
def test_an_older_index_is_written_anew_and_says_the_same(desk: Desk, artifacts: tuple[Artifact, ...]) -> None:
    before, known = desk.manifest(), facts(desk)
    assert (len(before.segments), len(before.tombstones)) == (3, 2)
    with raised(*artifacts):
        report = run(desk)
        assert report.raised == tuple(Raised(one.name, 1, 2) for one in artifacts)
        after = desk.manifest()
        assert (after.snapshot_id, after.generation) == (report.snapshot_id, before.generation + 1)
        assert versions(desk) == {one.name: {2 if one in artifacts else 1} for one in SNAPSHOT}
        assert facts(desk) == known
        assert after.created_at == before.created_at, "the tree was not looked at, and nobody says it was"
        # No tombstone file of that time is named any more, and none is needed: nothing that is dead was copied.
        assert after.tombstones == ()
        assert after.counts.chunks_indexed == after.counts.chunks_live == before.counts.chunks_live
        assert facts(desk, before.snapshot_id) == known, "the older snapshot still opens"
        assert desk.sync().published is False, "nothing is indexed again"
        assert run(desk).raised == ()


def test_an_index_with_segments_of_both_versions_has_only_the_older_ones_written_anew(desk: Desk) -> None:
    with raised(SEGMENT_DATA):
        desk.put("new.py", "def new():\n    pass\n")
        desk.sync()
        newest = desk.manifest().segments[-1]
        assert versions(desk)[SEGMENT_DATA.name] == {1, 2}
        report = run(desk)
        assert (report.raised, report.segments) == ((Raised(SEGMENT_DATA.name, 1, 2),), 3)
        assert desk.manifest().segments[-1] == newest
        assert versions(desk)[SEGMENT_DATA.name] == {2}


def test_an_index_of_today_is_left_as_it_is(desk: Desk) -> None:
    before = desk.manifest()
    report = run(desk)
    assert (report.published, report.raised, report.segments) == (False, (), 0)
    assert (report.snapshot_id, report.files) == (before.snapshot_id, 3)
    assert desk.manifest() == before


def test_an_index_that_was_cleared_has_only_its_manifest_written_anew(desk: Desk) -> None:
    desk.clear()
    with raised(MANIFEST):
        assert run(desk).raised == (Raised(MANIFEST.name, 1, 2),)
        assert desk.manifest().completion is None, "it is as empty as it was"
        assert versions(desk)[MANIFEST.name] == {2}


@conforms("003.UPG1")
def test_the_lease_is_held_while_everything_is_checked_and_written(desk: Desk) -> None:
    held: dict[Phase, RunKind | None] = {}

    def look(told: Progress) -> None:
        with desk.place.make_disk() as disk:
            lease = read_lease(disk)
            held[told.phase] = lease.run_kind if lease and not lease.released else None

    with raised(*SNAPSHOT):
        assert run(desk, look).published
    assert held == dict.fromkeys((Phase.COMPARING, Phase.COMPACTING, Phase.PUBLISHING), RunKind.UPGRADE)


@conforms("003.UPG1")
def test_another_writer_is_not_disturbed(desk: Desk) -> None:
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.SYNC):
        before = desk.store()
        with raised(*SNAPSHOT), pytest.raises(StoreBusy):
            run(desk)
        assert desk.store() == before


def test_whoever_is_merging_segments_is_not_disturbed(desk: Desk) -> None:
    before = desk.manifest()
    with (
        desk.place.make_disk() as disk,
        disk.lock(COMPACT_LOCK, exclusive=True, timeout=0),
        raised(*SNAPSHOT),
        pytest.raises(StoreBusy),
    ):
        run(desk)
    assert desk.manifest() == before


# --- what it refuses --------------------------------------------------------------------------------------------------


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)
    path.chmod(0o400)


@conforms("003.UPG2")
@pytest.mark.parametrize(("which", "error"), [(0, NoValidSnapshot), (-1, NotUpgraded)])
def test_a_damaged_index_is_not_upgraded(desk: Desk, which: int, error: type[CairnError]) -> None:
    """Not even when an older snapshot is whole: it would become the newest, and what is damaged be lost for good."""
    segment = desk.manifest().segments[which]
    damage(Path(desk.place.path) / "segments" / segment.name / "data.bin")
    generations = sorted((Path(desk.place.path) / "generations").iterdir())
    with raised(*SNAPSHOT), pytest.raises(error) as refused:
        run(desk)
    assert 90 <= refused.value.exit_status <= 99
    assert sorted((Path(desk.place.path) / "generations").iterdir()) == generations


@conforms("003.UPG2")
def test_what_is_wrong_is_named_with_what_to_do(desk: Desk) -> None:
    newest = desk.manifest()
    damage(Path(desk.place.path) / "segments" / newest.segments[-1].name / "rows.sqlite")
    with pytest.raises(NotUpgraded, match=f"snapshots/{newest.snapshot_id}/manifest.json") as refused:
        run(desk)
    assert "its bytes are not the ones that were sealed" in refused.value.sentence
    assert "cairn repair" in refused.value.advice


@conforms("003.UPG3")
def test_what_no_reader_is_left_for_has_to_be_indexed_again(desk: Desk) -> None:
    # Only the data file: it is not part of the store's name, so the store is found.
    before = desk.store()
    with raised(SEGMENT_DATA, oldest=2), pytest.raises(RequiresReindex, match="data file of a segment 1") as refused:
        run(desk)
    assert refused.value.exit_status == 12
    changed = {path for path, stat in desk.store().items() if before.get(path) != stat}
    assert {Path(path).relative_to(desk.place.path).parts[0] for path in changed} <= {"locks"}


@conforms("003.UPG3")
def test_rows_that_mean_something_else_are_another_store_and_have_to_be_indexed_again(desk: Desk) -> None:
    with raised(CHUNK_ROWS, oldest=2):
        with pytest.raises(RequiresReindex, match="schemaVersion"):
            run(desk)
        assert not Path(desk.place.path).exists()


def test_a_store_of_the_future_is_refused_before_anything_is_written(desk: Desk) -> None:
    with raised(*SNAPSHOT, written=3):
        run(desk)
    before = desk.store()
    with pytest.raises(Incompatible, match="version 3"):
        run(desk)
    assert desk.store() == before


def test_where_nothing_is_indexed_there_is_nothing_to_upgrade(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(NotIndexed):
        run(desk)
    assert not Path(desk.place.path).exists()
    with desk.place.make_disk() as disk:
        create_store(disk)
    with pytest.raises(NotIndexed):
        run(desk)


# --- what is left of it when it fails ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def old_store() -> MemoryDisk:
    disk = MemoryDisk()
    with steady():
        catch_up(disk, Who(), OLD)
        catch_up(disk, Who(seconds=100), NEW)
    return disk


def upgraded(fs: Fs, pid: int = 3) -> None:
    with steady(100 * pid):
        upgrade_store(fs, "store", silent, clock=ManualClock(), processes=FewProcesses(pid, {pid}))


MODES: tuple[Mode, ...] = ("kill", "lose", "tear")


def mutations(old_store: MemoryDisk) -> list[int]:
    """The places, from 1, of the calls of an upgrade that change the disk."""
    tracing = TracingDisk(copy.deepcopy(old_store))
    upgraded(tracing)
    return [place for place, call in enumerate(tracing.calls, 1) if call.what not in MUTE]


def cut_power(old_store: MemoryDisk, last: int, mode: Mode) -> bool:
    """Cut it before this call: the last good snapshot answers, or the new one; the next run ends the work."""
    disk = copy.deepcopy(old_store)
    with pytest.raises(PowerCut):
        upgraded(DyingDisk(disk, last))
    found = disk.crash(mode, last)
    assert load(found) == NEW, f"before call {last}, {mode}"
    assert [one for one in check(found) if one.severity is FindingLevel.ERROR] == []
    was_published = newest(found) > newest(old_store)
    upgraded(found, pid=4)
    assert load(found) == NEW
    assert [one for one in check(found) if one.severity is FindingLevel.ERROR] == []
    return was_published


def newest(disk: MemoryDisk) -> int:
    return max(int(name) for name in disk.list_folder("generations"))


def refuse_call(old_store: MemoryDisk, place: int, number: int) -> None:
    """The disk refuses this call: the last good snapshot still answers."""
    disk, seen = copy.deepcopy(old_store), itertools.count(1)

    def refuse(_: Call) -> None:
        if next(seen) == place:
            raise OSError(number, os.strerror(number))

    with contextlib.suppress(OSError, CairnError):
        upgraded(TracingDisk(disk, refuse))
    assert load(disk) == NEW, f"call {place} fails with {number}"
    assert [one for one in check(disk) if one.severity is FindingLevel.ERROR] == []


@conforms("003.UPG5")
def test_a_cut_leaves_the_last_good_snapshot_or_the_new_one(old_store: MemoryDisk) -> None:
    with raised(*SNAPSHOT):
        places = mutations(old_store)[::3]
        published = [cut_power(old_store, last, MODES[step % len(MODES)]) for step, last in enumerate(places)]
    assert not published[0]
    assert published[-1]


@conforms("003.UPG5")
def test_a_disk_that_refuses_a_call_keeps_the_last_good_snapshot(old_store: MemoryDisk) -> None:
    with raised(*SNAPSHOT):
        for step, place in enumerate(mutations(old_store)[::5]):
            refuse_call(old_store, place, (errno.ENOSPC, errno.EIO)[step % 2])


@pytest.mark.long
def test_a_cut_or_a_refusal_at_every_call_keeps_the_last_good_snapshot(old_store: MemoryDisk) -> None:
    with raised(*SNAPSHOT):
        for place in mutations(old_store):
            for mode in MODES:
                cut_power(old_store, place, mode)
            for number in (errno.ENOSPC, errno.EIO):
                refuse_call(old_store, place, number)
