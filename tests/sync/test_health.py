"""What a health check finds in real trees and stores; what it finds in damaged ones is in the tests of the checker."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import cairn.store.tend.compact as tiers_module
from cairn.sync import run
from cairn.sync.codebase import open_codebase
from cairn.sync.health import check_health
from cairn.sync.report import HealthFinding, RunOptions, Severity
from tests.support.faults import Faults


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", str(tmp_path)], check=True)


def check(tree: Path, *, indexed: bool = False) -> list[HealthFinding]:
    home = str(tree.parent / "home")
    codebase = open_codebase(str(tree), {"CAIRN_HOME": home})
    if indexed:
        run.index(codebase, RunOptions(home=home), lambda _: None)
    return check_health(codebase, home, lambda *_: None)


def test_a_sound_index_has_no_findings(tree: Path) -> None:
    assert check(tree, indexed=True) == []


def test_without_an_index_nothing_is_found_and_none_is_made(tree: Path) -> None:
    """That there is none is said by the function that says where a codebase stands."""
    assert check(tree) == []
    assert not (tree.parent / "home").exists()


def test_three_names_that_are_one_elsewhere_are_one_finding(tree: Path) -> None:
    (tree.parent / "home").mkdir(mode=0o700)
    (tree.parent / "home" / "config.toml").write_text('[index]\ncollisions = "refuse"\n')
    for name in ("A.py", "é.py", "e\u0301.py", "E\u0301.py"):
        (tree / name).write_text("x = 1\n")
    found = [finding for finding in check(tree) if finding.code == "name_collision"]
    assert [(finding.path, finding.severity) for finding in found] == [
        ("A.py", Severity.WARNING),
        ("E\u0301.py", Severity.WARNING),
    ]
    assert "a.py" in found[0].message
    assert "e\u0301.py, é.py" in found[1].message
    assert "collisions" in found[0].advice


def test_who_does_not_refuse_twins_is_not_told_to_choose(tree: Path) -> None:
    (tree / "A.py").write_text("x = 1\n")
    found = check(tree, indexed=True)
    assert [(finding.code, finding.advice) for finding in found] == [("name_collision", "")]


def test_what_a_killed_run_left_behind_is_a_note(tree: Path) -> None:
    assert check(tree, indexed=True) == []
    (store,) = (tree.parent / "home" / "data").iterdir()
    (store / "staging" / "01KA3M7Q2W0000000000000000").mkdir(mode=0o700)
    (found,) = check(tree)
    assert (found.severity, found.path) == (Severity.NOTE, "staging/01KA3M7Q2W0000000000000000")
    assert "the next run clears it away" in found.advice


def test_rights_that_others_have_in_a_store_are_an_error(tree: Path) -> None:
    assert check(tree, indexed=True) == []
    (pointer,) = (tree.parent / "home" / "data").glob("*/ACTIVE_SNAPSHOT")
    pointer.chmod(0o644)
    (found,) = check(tree)
    assert (found.code, found.severity, found.path) == ("mode_wrong", Severity.ERROR, "ACTIVE_SNAPSHOT")
    assert "chmod" in found.advice


def store_of(tree: Path) -> Path:
    (store,) = (tree.parent / "home" / "data").iterdir()
    return store


def test_damage_names_the_repair(tree: Path) -> None:
    assert check(tree, indexed=True) == []
    (data,) = store_of(tree).glob("segments/*/data.bin")
    data.chmod(0o600)
    data.write_bytes(b"rot")
    (found,) = check(tree)
    assert (found.code, found.severity) == ("artifact_damaged", Severity.ERROR)
    assert "`cairn repair`" in found.advice


def test_a_store_that_was_half_deleted_is_not_taken_for_none(tree: Path) -> None:
    assert check(tree, indexed=True) == []
    subprocess.run(["rm", "-rf", store_of(tree) / "segments"], check=True)
    assert {found.code for found in check(tree)} == {"artifact_damaged"}


def test_a_stranger_is_for_a_repair_to_put_aside(tree: Path) -> None:
    assert check(tree, indexed=True) == []
    (store_of(tree) / "segments" / "stray").mkdir(mode=0o700)
    (found,) = check(tree)
    assert (found.code, found.severity) == ("stranger", Severity.NOTE)
    assert "`cairn repair`" in found.advice


@pytest.mark.parametrize(("minutes", "stale"), [(5, False), (90, True)])
def test_what_a_run_has_left_long_ago_is_told(tree: Path, minutes: int, stale: bool) -> None:
    assert check(tree, indexed=True) == []
    left = store_of(tree) / "staging" / "01KA3M7Q2W0000000000000000"
    left.mkdir(mode=0o700)
    when = left.stat().st_mtime - 60 * minutes
    os.utime(left, (when, when))
    found = {finding.code: finding for finding in check(tree)}
    assert ("staging_stale" in found) is stale
    if stale:
        assert found["staging_stale"].severity is Severity.NOTE
        assert "90 minutes ago" in found["staging_stale"].message


def test_what_a_repair_has_put_aside_is_a_note_with_its_size(tree: Path) -> None:
    assert check(tree, indexed=True) == []
    aside = store_of(tree) / "quarantine" / "01KA3M7Q2W0000000000000000"
    aside.mkdir(mode=0o700, parents=True)
    (store_of(tree) / "quarantine").chmod(0o700)
    (aside / "x").write_bytes(b"1234567")
    (found,) = check(tree)
    assert (found.code, found.severity) == ("quarantine", Severity.NOTE)
    assert "7 bytes" in found.message
    assert found.path == str(store_of(tree) / "quarantine")


def test_a_compaction_that_is_overdue_is_a_warning(tree: Path, faults: Faults) -> None:
    assert check(tree, indexed=True) == []
    faults.limit(tiers_module, COMPACTION_OVERDUE_SEGMENTS=1)
    (found,) = check(tree)
    assert (found.code, found.severity) == ("compaction_overdue", Severity.WARNING)
    assert "`cairn compact`" in found.advice
