"""Merging an index: the answers are the same before and after, to the last digit."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import cairn
import cairn.sync.upkeep as upkeep_module
from cairn.core.progress import Phase, Progress
from cairn.errors import NotIndexed, StoreBusy
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import check
from cairn.store.tend import compact as compacting
from cairn.store.tend.compact import workshop
from cairn.sync import run
from cairn.sync.codebase import open_codebase
from cairn.sync.upkeep import CompactReport, Shape, compact, compact_store
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here, silent

QUERIES = ("how is the lease stolen", "class Lease", "steal", "writer", "number 3", "return take")
MODES = ("hybrid", "lexical", "semantic", "symbol", "regex", "path")


def nothing_merged(*_: object, **__: object) -> CompactReport:
    """In the place of the merge after a run."""
    none = Shape("", 0, 0, 0)
    return CompactReport(none, none)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    return desk


def lived(desk: Desk, syncs: int, seed: int = 1) -> None:
    """A tree with a past: files come, change and go, and nothing was ever merged."""
    draw = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upkeep_module, "compact_store", nothing_merged)
        for number in range(syncs):
            for name in draw.sample(range(12), 3):
                path = desk.tree / f"part_{name}.py"
                if draw.random() < 0.2 and path.exists():
                    path.unlink()
                else:
                    desk.put(path.name, f"class Lease{name}:\n    def steal(self):\n        return take({number})\n")
            desk.put("README.md", f"# A lease\n\nOne writer at a time, number {number}.\n")
            desk.sync()


def merge(desk: Desk, *, everything: bool = True) -> CompactReport:
    with desk.place.make_disk() as disk:
        return compact_store(disk, desk.place.path, silent, everything=everything, clock=desk.clock)


def everything_of(desk: Desk) -> dict[str, object]:
    """All that can be read of every file."""
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing") as view:
        return {
            key: (
                record,
                [row._replace(vector=bytes(row.vector)) for row in view.chunks(key)],  # type: ignore[arg-type]
                view.symbols(key),
                view.references(key),
                view.imports(key),
                bytes(view.text(key) or b""),
            )
            for key, record in view.records().items()
        }


def test_merging_changes_nothing_that_can_be_read(desk: Desk) -> None:
    lived(desk, 14)
    before, segments = everything_of(desk), len(desk.manifest().segments)
    report = merge(desk)
    assert (report.before.segments, report.after.segments) == (segments, 1)
    assert report.after.tombstones == 0
    assert report.published
    assert everything_of(desk) == before
    with desk.place.make_disk() as disk:
        assert check(disk) == []
    assert not merge(desk).published


def test_answers_are_the_same_bytes_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, home = tmp_path / "tree", tmp_path / "home"
    tree.mkdir()
    monkeypatch.setenv("CAIRN_HOME", str(home))
    draw = random.Random(3)

    def answers() -> list[object]:
        with cairn.open(str(tree)) as code:
            return [code.search(query, 20, mode, explain=True) for mode in MODES for query in QUERIES]

    for number in range(12):
        for name in draw.sample(range(8), 3):
            (tree / f"part_{name}.py").write_text(
                f"class Lease{name}:\n    def steal(self):\n        return take({number})\n"
            )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(upkeep_module, "compact_store", nothing_merged)
            cairn.open(str(tree)).close()
    before = answers()
    report = compact(open_codebase(str(tree), {"CAIRN_HOME": str(home)}), str(home), silent)
    assert report.published
    assert answers() == before


def test_a_sync_after_a_merge_still_knows_the_tree(desk: Desk) -> None:
    lived(desk, 3)
    merge(desk)
    report = desk.sync()
    assert not report.published
    desk.put("new.py", "x = 1\n")
    assert desk.sync().changes.added == 1


def test_small_segments_are_merged_by_the_run_that_finds_too_many(desk: Desk) -> None:
    seen = []
    for number in range(16):
        desk.put(f"{number}.py", f"a = {number}\n" * 30)
        desk.sync()
        seen.append(len(desk.manifest().segments))
        assert desk.texts().keys() == {f"{done}.py" for done in range(number + 1)}
    assert max(seen) <= 10
    assert seen[-1] < 16


def test_nobody_who_waits_for_an_answer_waits_for_a_merge(desk: Desk) -> None:
    lived(desk, 12)
    before = len(desk.manifest().segments)
    desk.put("new.py", "x = 1\n")
    options = desk.options()
    object.__setattr__(options, "upkeep", False)

    run.sync(desk.codebase, options, silent, clock=desk.clock)
    assert len(desk.manifest().segments) == before + 1


def test_where_nothing_is_indexed_there_is_nothing_to_merge(desk: Desk) -> None:
    desk.put("a.py", "a = 1\n")
    with pytest.raises(NotIndexed):
        compact(desk.codebase, str(desk.home), silent)
    with desk.place.make_disk() as disk, pytest.raises(FileNotFoundError):
        compact_store(disk, "here", silent)


def test_a_second_merge_at_the_same_time_is_left_undone(desk: Desk) -> None:
    lived(desk, 12)
    with desk.place.make_disk() as disk, workshop(disk):
        report = merge(desk)
    assert not report.published
    assert report.note == "Another process is merging segments."


def test_a_merge_waits_for_the_work_of_a_run_that_was_stopped(desk: Desk) -> None:
    lived(desk, 12)
    (Path(desk.place.path) / "staging" / desk.manifest().snapshot_id).mkdir(mode=0o700)
    report = merge(desk)
    assert not report.published
    assert report.note is not None
    assert "not published it yet" in report.note


def test_while_another_run_writes_a_merge_says_so(desk: Desk) -> None:
    lived(desk, 12)
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.SYNC), pytest.raises(StoreBusy):
        merge(desk)
    assert merge(desk).published


@conforms("003.PHY5")
def test_a_merge_that_was_overtaken_is_begun_anew_and_given_up_at_last(desk: Desk, faults: Faults) -> None:
    lived(desk, 12)
    overtaken = []

    def overtake(real: Callable[..., object], *arguments: object, **named: object) -> object:
        made = real(*arguments, **named)  # type: ignore[arg-type]
        if len(overtaken) < 1:
            overtaken.append(desk.reindex())
            # The new index is in one piece: something must be left to merge.
            lived(desk, 3, seed=9)
        return made

    faults.around(compacting, "build", overtake)
    texts = desk.texts
    assert merge(desk).published
    assert overtaken
    assert texts().keys() == {path.name for path in desk.tree.iterdir()}
    faults.answer(compacting, "fits", False)
    lived(desk, 3, seed=10)
    report = merge(desk)
    assert (report.published, report.note) == (False, "Other runs were replacing the same segments.")


def test_a_merge_tells_where_it_stands(desk: Desk) -> None:
    lived(desk, 12)
    told: list[Progress] = []
    with desk.place.make_disk() as disk:
        compact_store(disk, "here", told.append, clock=desk.clock)
    assert [progress.phase for progress in told] == [Phase.COMPACTING, Phase.PUBLISHING]
