"""Readers, writers, one who merges and one who collects, each a process of its own, at one index on a real disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import check
from tests.conformance import conforms
from tests.conformance_report import PROJECT
from tests.races.crowd import RETAINED, WANTED, Member, contents, number_of, prepare, snapshots, state
from tests.support.waiting import PATIENCE

# Seconds of the longest run. Ten minutes are for a release; all long suites together are to end well within an hour.
SOAK_SECONDS = float(os.environ.get("CAIRN_SOAK_SECONDS", "60"))


def run_crowd(folder: Path, seconds: float, readers: int) -> dict[str, dict[str, Any]]:
    """What each of them said, none of them wrong, and an index that is sound."""
    if not (folder / "tree").exists():
        prepare(folder)
    argv = [sys.executable, "-m", "tests.races.crowd", str(folder), str(seconds), str(readers)]
    subprocess.run(argv, cwd=PROJECT, check=True, timeout=seconds + 3 * PATIENCE)
    said = {path.name: json.loads(path.read_text()) for path in (folder / "said").iterdir()}
    print({name: {key: each[key] for key in each if key not in ("name", "wrong")} for name, each in said.items()})
    assert {name: each["wrong"] for name, each in said.items() if each["wrong"]} == {}
    assert len(said) == readers + 4
    _inspect(folder)
    return said


def _inspect(folder: Path) -> None:
    member = Member(folder, 0)
    # The last state may have found the store busy.
    member.sync()
    with member.disk() as disk:
        assert check(disk) == []
        assert len(snapshots(disk)) >= RETAINED
        with open_view(disk, "here") or pytest.fail("nothing is there") as view:
            found = contents(view)
    assert found == state(number_of(found)) == {path.name: path.read_bytes() for path in member.tree.iterdir()}


def happened(said: dict[str, dict[str, Any]]) -> Iterator[str]:
    """What did not come about, so that nothing was proven."""
    for name, each in said.items():
        key, least = WANTED[name.rstrip("0123456789")]
        if each.get(key, 0) < least:
            yield f"{name}: {key}"


@conforms("003.ISO1", "003.ISO2", "003.RDR4", "003.GC2", "003.GC4")
def test_readers_get_whole_answers_while_others_sync_merge_and_collect(tmp_path: Path) -> None:
    # An eighth of the readers, and only until each has done its part: the long run has them all, for longer.
    assert list(happened(run_crowd(tmp_path, 0.0, 4))) == []


@pytest.mark.long
def test_thirty_two_readers_get_whole_answers_while_others_sync_merge_and_collect(tmp_path: Path) -> None:
    said = run_crowd(tmp_path, 30.0, 32)
    assert list(happened(said)) == []


@pytest.mark.long
def test_a_crowd_that_goes_on_for_long_wears_nothing_out(tmp_path: Path) -> None:
    said = run_crowd(tmp_path, SOAK_SECONDS, 32)
    assert list(happened(said)) == []
    with Member(tmp_path, 0).disk() as disk:
        # Nothing piles up: at the end there are a few segments and not many times the files of the tree.
        newest = max(snapshots(disk).items())[1]
        assert len(newest.segments) < 20
