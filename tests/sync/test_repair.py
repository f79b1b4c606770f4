"""Repairs of real indexes with real damage: afterwards the checker is content, the answers are those of a fresh index,
and nothing was deleted.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

import cairn.store.repair.salvage as salvage_module
from cairn.core.progress import Phase, Progress
from cairn.core.types import StoredFile
from cairn.errors import Incompatible, NotIndexed, StoreBusy, StoreError
from cairn.store import RepairPlan, Store
from cairn.store.format import manifest as manifests
from cairn.store.format.document import DIGESTS, MANIFEST, seal
from cairn.store.format.manifest import Manifest
from cairn.store.publish.lease import LEASE, RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.store.repair import RepairScope
from cairn.store.repair.verify import FindingLevel, check
from cairn.sync import run
from cairn.sync.repair import RepairReport, plan, repair
from cairn.sync.report import RunOptions
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here, silent, texts_of

FILES = {f"src/f{number}.py": f"def f{number}():\n    return {number}\n" for number in range(6)}


class Damaged(Desk):
    """A tree, its index in three snapshots with a segment each, and a way to have the index as it was again."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name, text in FILES.items():
            self.put(name, text)
        self.put("logo.txt", b"\0\1\2")
        self.sync_plainly()
        self.put("src/f1.py", "def f1():\n    return 'one'\n")
        self.sync_plainly()
        self.put("src/g.py", "def g():\n    return 7\n")
        (self.tree / "src/f2.py").unlink()
        self.sync_plainly()
        self.wanted = self.answers()
        subprocess.run(["cp", "-a", self.home, folder / "kept"], check=True)

    def chosen(self) -> RunOptions:
        # Without upkeep: three segments are to stay three.
        return replace(self.options(), upkeep=False)

    def sync_plainly(self) -> None:
        run.sync(self.codebase, self.chosen(), silent, clock=self.clock)

    def restore(self) -> None:
        subprocess.run(["chmod", "-R", "u+rwX", self.home], check=True)
        shutil.rmtree(self.home)
        # With its hard links: a manifest has two names.
        subprocess.run(["cp", "-a", self.home.parent / "kept", self.home], check=True)

    @functools.cached_property
    def here(self) -> Path:
        return Path(self.place.path)

    def answers(self) -> dict[str, tuple[StoredFile, bytes | None]]:
        """Every record and text that a reader gets."""
        with self.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
            texts = texts_of(view)
            return {key: (record, texts.get(key)) for key, record in view.records().items()}

    def newest(self) -> Manifest:
        numbers = sorted((self.here / "generations").iterdir(), key=lambda path: int(path.name))
        return manifests.decode_manifest(numbers[-1].read_bytes())

    def plan(self) -> RepairPlan:
        return plan(self.codebase, self.options())

    def repair(self) -> RepairReport:
        return repair(self.codebase, self.options(), silent, clock=self.clock)

    def everything(self) -> dict[bytes, int]:
        """The bytes of every file of the store that is not a side file or a lock, and how often they are there."""
        found: dict[bytes, int] = {}
        for path in self.here.rglob("*"):
            part = path.relative_to(self.here).parts[0]
            if path.is_file() and path.parent != self.here and part not in ("locks", "staging"):
                data = path.read_bytes()
                found[data] = found.get(data, 0) + 1
        return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    folder = tmp_path_factory.mktemp("repair")
    yield Damaged(folder)
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=True)


@pytest.fixture
def desk(made: Damaged, monkeypatch: pytest.MonkeyPatch) -> Damaged:
    made.restore()
    extract_here(monkeypatch, made.clock)
    return made


def hurt(path: Path) -> None:
    """Flip one bit in the middle, whatever rights the file has."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(data)


def lose(path: Path) -> None:
    path.parent.chmod(0o700)
    path.unlink()


def segment(desk: Damaged, number: int, name: str) -> Path:
    return desk.here / "segments" / desk.newest().segments[number].name / name


def tombstones(desk: Damaged, number: int) -> Path:
    return desk.here / desk.newest().tombstones[number].path


def mapping(desk: Damaged, number: int) -> Path:
    run_id = desk.newest().segments[number].name.split("_")[1]
    return desk.here / "snapshots" / run_id / "segment_file_index.jsonl"


ARTIFACTS: dict[str, Callable[[Damaged], Path]] = {
    "pointer": lambda desk: desk.here / "ACTIVE_SNAPSHOT",
    "manifest": lambda desk: desk.here / "snapshots" / desk.newest().snapshot_id / "manifest.json",
    "generation": lambda desk: desk.here / "generations" / "3",
    "old generation": lambda desk: desk.here / "generations" / "1",
    "rows": lambda desk: segment(desk, 2, "rows.sqlite"),
    "data": lambda desk: segment(desk, 0, "data.bin"),
    "middle data": lambda desk: segment(desk, 1, "data.bin"),
    "tombstones": lambda desk: tombstones(desk, 1),
    "old tombstones": lambda desk: tombstones(desk, 0),
    "state": lambda desk: desk.here / "index_state.json",
    "digests": lambda desk: desk.here / "digests.json",
    "mapping": lambda desk: mapping(desk, 0),
    "memory": lambda desk: desk.here / "tree.bin",
}
WAYS: dict[str, Callable[[Path], None]] = {"damaged": hurt, "missing": lose}


def heal(desk: Damaged) -> RepairReport:
    """Repair, and see that all is as it should be then."""
    before = desk.everything()
    report = desk.repair()
    assert report.left == ()
    assert [finding.code for finding in report.findings] == []
    with desk.place.make_disk() as disk:
        assert check(disk) == []
    assert desk.answers() == desk.wanted
    after = desk.everything()
    assert not [data[:80] for data in before if data not in after], "something was deleted"
    assert desk.plan() == RepairPlan(RepairScope.NONE, (), 0, desk.newest().snapshot_id)
    return report


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_whatever_is_damaged_or_missing_is_healed_and_nothing_is_deleted(
    desk: Damaged, artifact: str, way: str
) -> None:
    WAYS[way](ARTIFACTS[artifact](desk))
    report = heal(desk)
    needless = {("state", "missing"), ("digests", "missing"), ("memory", "missing")}
    assert (report.plan.scope is RepairScope.NONE) == ((artifact, way) in needless)


PAIRS = list(itertools.combinations(ARTIFACTS, 2))


@pytest.mark.parametrize(("one", "two"), PAIRS[::8])
def test_two_things_damaged_at_once_are_healed(desk: Damaged, one: str, two: str) -> None:
    places = [ARTIFACTS[one](desk), ARTIFACTS[two](desk)]
    for place in places:
        hurt(place)
    heal(desk)


@pytest.mark.long
@pytest.mark.parametrize(("one", "two"), PAIRS)
@pytest.mark.parametrize("ways", list(itertools.product(WAYS, repeat=2)), ids="-".join)
def test_any_two_things_in_any_two_ways_are_healed(desk: Damaged, one: str, two: str, ways: tuple[str, str]) -> None:
    places = [ARTIFACTS[one](desk), ARTIFACTS[two](desk)]
    if places[0] != places[1]:
        for place, way in zip(places, ways, strict=True):
            WAYS[way](place)
        heal(desk)


@pytest.mark.parametrize("folder", ["segments", "snapshots", "generations", "locks", "staging"])
def test_a_store_half_deleted_by_hand_is_healed(desk: Damaged, folder: str) -> None:
    subprocess.run(["chmod", "-R", "u+rwX", desk.here], check=True)
    shutil.rmtree(desk.here / folder)
    report = heal(desk)
    if folder == "generations":
        assert report.plan.scope is RepairScope.TIDY, "the manifests have their own names still"


# --- how much is read again -------------------------------------------------------------------------------------------


def read_again(desk: Damaged) -> list[str]:
    """The texts that the model was given by the last repair, by the first word after `def`."""
    return sorted(text.split(b"(")[0].split()[-1].decode() for text in desk.model.texts)


def lose_all_but_the_newest_manifest(desk: Damaged) -> None:
    """So that no older snapshot is whole: what is left can only be salvaged."""
    newest = desk.newest()
    for path in (desk.here / "generations").iterdir():
        if path.name != str(newest.generation) and path.stat().st_size:
            manifest = manifests.decode_manifest(path.read_bytes())
            path.write_bytes(b"")
            (desk.here / "snapshots" / manifest.snapshot_id / "manifest.json").unlink()


@conforms("003.REP1")
def test_with_a_whole_older_snapshot_only_what_came_later_is_read_again(desk: Damaged) -> None:
    hurt(segment(desk, 2, "data.bin"))
    planned = desk.plan()
    assert (planned.scope, planned.files) == (RepairScope.FILES, 1)
    older = manifests.decode_manifest((desk.here / "generations" / "2").read_bytes())
    assert planned.base == older.snapshot_id
    desk.model.texts.clear()
    report = heal(desk)
    assert read_again(desk) == ["g"]
    assert report.plan == planned
    assert (report.changes.added, report.changes.deleted) == (1, 1)


@conforms("003.REP1", "003.REP3")
def test_without_one_the_files_of_the_lost_segment_are_read_again_and_no_others(desk: Damaged) -> None:
    lose_all_but_the_newest_manifest(desk)
    hurt(segment(desk, 0, "data.bin"))
    planned = desk.plan()
    # Two of the six were changed or deleted later; the hint names them as well, and the binary file.
    assert (planned.scope, planned.files, planned.base) == (RepairScope.FILES, 7, desk.newest().snapshot_id)
    desk.model.texts.clear()
    heal(desk)
    assert read_again(desk) == ["f0", "f3", "f4", "f5"]
    # The new snapshot has a hint of its own: damaged once more, it is healed as narrowly.
    lose_all_but_the_newest_manifest(desk)
    hurt(segment(desk, -1, "data.bin"))
    assert (desk.plan().scope, desk.plan().files) == (RepairScope.FILES, 5)
    heal(desk)


@conforms("003.REP3")
def test_every_snapshot_has_a_hint_of_what_it_brought(desk: Damaged) -> None:
    hurt(segment(desk, 2, "data.bin"))
    heal(desk)
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing") as view:
        refs = view.manifest.segments
    for ref in refs:
        lines = (desk.here / "snapshots" / ref.name.split("_")[1] / "segment_file_index.jsonl").read_text().splitlines()
        assert sum(json.loads(line)["segment_id"] == ref.name for line in lines) >= ref.files


@conforms("003.REP2")
@pytest.mark.parametrize("way", WAYS)
def test_without_a_hint_everything_is_read_again(desk: Damaged, way: str) -> None:
    lose_all_but_the_newest_manifest(desk)
    hurt(segment(desk, 0, "data.bin"))
    WAYS[way](mapping(desk, 0))
    assert (desk.plan().scope, desk.plan().base) == (RepairScope.FULL, None)
    desk.model.texts.clear()
    heal(desk)
    assert read_again(desk) == ["f0", "f1", "f3", "f4", "f5", "g"]


@conforms("003.REP4")
def test_a_hint_that_names_too_few_files_is_not_believed(desk: Damaged) -> None:
    lose_all_but_the_newest_manifest(desk)
    hurt(segment(desk, 0, "data.bin"))
    place = mapping(desk, 0)
    place.write_text("".join(place.read_text().splitlines(keepends=True)[:4]))
    assert desk.plan().scope is RepairScope.FULL
    heal(desk)


@conforms("003.REP4")
def test_a_hint_that_names_others_costs_nothing_but_the_estimate(desk: Damaged) -> None:
    lose_all_but_the_newest_manifest(desk)
    hurt(segment(desk, 0, "data.bin"))
    place = mapping(desk, 0)
    place.write_text(place.read_text().replace("src/f", "nowhere/x"))
    assert desk.plan().scope is RepairScope.FILES
    desk.model.texts.clear()
    heal(desk)
    assert read_again(desk) == ["f0", "f3", "f4", "f5"], "the tree decides, not the hint"


@conforms("003.REP4")
def test_when_a_hinted_file_is_not_there_afterwards_everything_is_read_again(desk: Damaged, faults: Faults) -> None:
    lose_all_but_the_newest_manifest(desk)
    hurt(segment(desk, 0, "data.bin"))
    blind = iter([True])

    def file(honest: Callable[..., StoredFile | None], self: SnapshotView, key: str) -> StoredFile | None:
        return None if key == "src/f0.py" and next(blind, False) else honest(self, key)

    faults.around(SnapshotView, "file", file)
    desk.model.texts.clear()
    report = heal(desk)
    assert report.fell_back
    assert report.plan.scope is RepairScope.FULL
    assert read_again(desk) == sorted([*["f0", "f3", "f4", "f5"] * 2, "f1", "g"])


def test_damage_that_no_digest_shows_is_healed_by_reading_everything(desk: Damaged) -> None:
    """A segment that holds a file which another one holds too: each of them is whole."""
    manifest = desk.newest()
    assert manifest.completion is not None
    doubled = replace(
        manifest,
        tombstones=manifest.tombstones[1:],
        counts=replace(manifest.counts, files_indexed=7, chunks_live=7),
        completion=replace(manifest.completion, indexed_files=7, total_chunks=7),
    )
    (desk.here / "generations" / "3").write_bytes(manifests.encode_manifest(doubled))
    heal(desk)


def test_a_second_repair_finds_nothing_and_writes_nothing(desk: Damaged) -> None:
    hurt(segment(desk, 1, "data.bin"))
    heal(desk)
    before = desk.store()
    assert replace(desk.repair(), seconds=0.0) == RepairReport(desk.plan())
    assert desk.store() == before


# --- what is found on the way -----------------------------------------------------------------------------------------


def test_rot_under_a_digest_that_is_remembered_is_found(desk: Damaged) -> None:
    """Bits rot without a trace in the stat: whoever remembers the digest reads on."""
    place = segment(desk, 2, "data.bin")
    data = bytearray(place.read_bytes())
    before = sha256(data).hexdigest()
    data[-1] ^= 1
    place.chmod(0o600)
    place.write_bytes(data)
    place.chmod(0o400)
    stat = place.stat()
    known = {"device": stat.st_dev, "inode": stat.st_ino, "size": stat.st_size, "sha256": before}
    times = {"mtime_ns": stat.st_mtime_ns, "ctime_ns": stat.st_ctime_ns}
    (desk.here / "digests.json").write_bytes(seal(DIGESTS, "digests_sha256", {"files": [known | times]}))
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing") as view:
        assert view.damage == (), "a reader that remembers does not see it"
    assert "digests.json" in [action.path for action in desk.plan().actions]
    heal(desk)


def test_strangers_are_put_aside_and_links_are_left_and_told(desk: Damaged) -> None:
    (desk.here / "segments" / "notes").mkdir()
    (desk.here / "segments" / "notes" / "mine.txt").write_text("keep me")
    (desk.here / "stray.txt").write_text("and me")
    (desk.here / "generations" / "later").write_text("")
    (desk.here / "odd name").write_text("")
    (desk.here / "link").symlink_to("/etc")
    report = desk.repair()
    assert report.left == ("link", "odd name")
    assert report.quarantine is not None
    aside = Path(report.quarantine)
    assert (aside / "segments/notes/mine.txt").read_text() == "keep me"
    assert (aside / "stray.txt").read_text() == "and me"
    assert {(finding.code, finding.path) for finding in report.findings} == {
        ("stranger", "link"),
        ("stranger", "odd name"),
        ("mode_wrong", "link"),
    }
    assert desk.answers() == desk.wanted


def test_a_number_that_is_missing_between_others_is_fenced(desk: Damaged) -> None:
    """Else readers that look ahead from the pointer would never come to the snapshot behind the gap."""
    (desk.here / "generations" / "3").rename(desk.here / "generations" / "9")
    heal(desk)
    assert sorted(int(path.name) for path in (desk.here / "generations").iterdir())[:3] == [1, 2, 3]


def test_a_folder_or_a_link_in_the_place_of_a_file_is_healed(desk: Damaged) -> None:
    for place in (desk.here / "ACTIVE_SNAPSHOT", desk.here / "generations" / "2", desk.here / "index_state.json"):
        place.unlink()
        place.mkdir(mode=0o700)
    lose(data := segment(desk, 2, "data.bin"))
    data.symlink_to("/etc/passwd")
    desk.repair()
    with desk.place.make_disk() as disk:
        assert check(disk) == []
    assert desk.answers() == desk.wanted


def test_a_snapshot_of_another_store_is_put_aside(desk: Damaged) -> None:
    manifest = manifests.decode_manifest((desk.here / "generations" / "1").read_bytes())
    assert manifest.completion is not None
    foreign = replace(
        manifest, canonical_root="/other", completion=replace(manifest.completion, codebase_path="/other")
    )
    (desk.here / "generations" / "1").write_bytes(manifests.encode_manifest(foreign))
    heal(desk)


def test_a_killed_runs_work_is_not_put_aside(desk: Damaged) -> None:
    """It is the next sync that takes it over."""
    (desk.here / "ACTIVE_SNAPSHOT").unlink()
    staged = desk.here / "staging" / "01KA3M7Q2W0000000000000000"
    staged.mkdir(mode=0o700)
    assert not [action for action in desk.plan().actions if action.path.startswith("staging")]
    report = desk.repair()
    assert report.quarantine is None
    assert desk.answers() == desk.wanted


# --- when it cannot be done -------------------------------------------------------------------------------------------


def test_what_was_never_indexed_cannot_be_repaired(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for what in (lambda: plan(desk.codebase, desk.options()), lambda: repair(desk.codebase, desk.options(), silent)):
        with pytest.raises(NotIndexed):
            what()
    assert not desk.home.exists()


def test_an_index_that_was_cleared_stays_empty(desk: Damaged) -> None:
    desk.clear()
    hurt(desk.here / "ACTIVE_SNAPSHOT")
    assert desk.repair().plan.scope is RepairScope.TIDY
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing") as view:
        assert view.manifest.completion is None


def test_a_store_of_the_future_is_left_alone(desk: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    before = desk.store()
    monkeypatch.setattr(manifests, "MANIFEST", replace(MANIFEST, oldest=0, newest=0))
    with pytest.raises(Incompatible):
        desk.repair()
    assert desk.store() == before


def test_while_another_run_writes_nothing_is_touched(desk: Damaged) -> None:
    hurt(segment(desk, 2, "data.bin"))
    with (
        desk.place.make_disk() as disk,
        open_writer(disk, "here", RunKind.SYNC, clock=desk.clock),
        pytest.raises(StoreBusy),
    ):
        repair(desk.codebase, desk.options(), silent, clock=desk.clock)
    assert not (desk.here / "quarantine").exists()


def test_a_lease_that_cannot_be_read_is_watched_for_a_whole_term(desk: Damaged) -> None:
    with desk.place.make_disk() as disk:
        assert Store(disk).mending("", "", "", lambda: True).patience(desk.clock) == 0
        (desk.here / LEASE).write_bytes(b"rubbish")
        assert Store(disk).mending("", "", "", lambda: True).patience(desk.clock) > 120


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read and write everything")
def test_rights_taken_away_are_no_damage(desk: Damaged) -> None:
    hurt(segment(desk, 2, "data.bin"))
    (desk.here / "segments").chmod(0o500)
    with pytest.raises(StoreError):
        desk.repair()
    (desk.here / "segments").chmod(0o700)
    heal(desk)


def test_rights_taken_away_in_mid_run_cost_nothing(desk: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it shows to anybody: a sealed folder refuses even the superuser at our door to the disk."""
    hurt(segment(desk, 2, "data.bin"))
    honest = salvage_module.treat

    def treat(*args: object) -> None:
        (desk.here / "segments").chmod(0o500)
        honest(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(salvage_module, "treat", treat)
    with pytest.raises(StoreError) as refused:
        desk.repair()
    assert refused.value.sentence.startswith("You may not use ")
    monkeypatch.setattr(salvage_module, "treat", honest)
    (desk.here / "segments").chmod(0o700)
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing") as view:
        assert view.manifest.generation == 2, "what was whole before still answers"
    heal(desk)


def test_a_repair_that_is_stopped_leaves_what_answered_before(desk: Damaged) -> None:
    hurt(segment(desk, 2, "data.bin"))

    def stop(at: Progress) -> None:
        if at.phase is Phase.PUBLISHING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repair(desk.codebase, desk.options(), stop, clock=desk.clock)
    with desk.place.make_disk() as disk:
        assert [finding.code for finding in check(disk) if finding.severity is FindingLevel.ERROR] == [
            "artifact_damaged"
        ]
        with open_view(disk, "here") or pytest.fail("nothing") as view:
            assert view.manifest.generation == 2
    heal(desk)


def test_side_findings_are_told_and_no_reason_to_read_everything(desk: Damaged) -> None:
    (desk.here / "ACTIVE_SNAPSHOT").unlink()
    (desk.here / "index_state.json").chmod(0o644)
    report = desk.repair()
    assert [finding.code for finding in report.findings] == ["mode_wrong"]
    assert (report.plan.scope, report.fell_back) == (RepairScope.TIDY, False)
