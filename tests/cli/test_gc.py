"""`cairn gc` as a person meets it, on real indexes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cairn.cli.upkeep import _gc_summary
from cairn.sync.upkeep import CollectReport
from tests.schemas import check
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def answer(me: Person, *arguments: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(me.cairn("gc", "--json", *arguments).stdout)
    check(value, "cairn.gc/1")
    return value


def store_of(me: Person) -> Path:
    [store] = (me.home / "data").iterdir()
    return store


def forget(me: Person, days: int) -> None:
    """Let the index look as if nobody had used it for so long."""
    used = store_of(me) / "last_used"
    used.write_text("2001-01-01T00:00:00Z\n" if days else used.read_text())


def test_without_an_index_it_says_so_and_makes_none(me: Person) -> None:
    found = me.cairn("gc")
    assert found.status == 10
    assert "there is nothing to collect" in found.stderr
    assert not (me.home / "data").exists() or not list((me.home / "data").iterdir())


def test_a_young_index_has_nothing_to_remove(me: Person) -> None:
    me.cairn("index")
    found = me.cairn("gc")
    assert (found.status, found.stdout) == (0, "There is nothing to remove; 1 snapshot stays.\n")
    value = answer(me)
    assert value["index"] == {"snapshots": [], "segments": 0, "staging": 0, "kept": 1}
    assert (value["stores"], value["note"], value["freedBytes"]) == (None, None, 0)


def test_what_a_killed_merge_left_goes(me: Person) -> None:
    me.cairn("index")
    workshop = store_of(me) / "staging" / "compact_work"
    (workshop / "0").mkdir(mode=0o700, parents=True)
    workshop.chmod(0o700)
    (workshop / "0" / "data.bin").write_bytes(b"half")
    (workshop / "0" / "data.bin").chmod(0o600)
    assert me.cairn("gc").status == 0
    assert not workshop.exists()


def test_what_went_is_told_in_one_line() -> None:
    report = CollectReport(False, ("a", "b"), 1, 0, 2_000, 5, None, 0.1)
    assert _gc_summary(report) == "Removed 2 snapshots, 1 segment: 2.0 kB. 5 snapshots stay."
    assert "1 segment, 1 unfinished piece: 2.0 kB." in _gc_summary(replace(report, staging=1))
    assert _gc_summary(replace(report, dry_run=True)).startswith("Would remove 2 snapshots")
    assert _gc_summary(replace(report, note="Somebody reads.")) == "Somebody reads."


def test_what_goes_with_stores_is_refused_without_it(me: Person) -> None:
    for wrong in (["--force"], ["--unused-days", "3"], ["--stores", "--unused-days", "-1"]):
        found = me.cairn("gc", *wrong)
        assert found.status == 2
        assert "--unused-days" in found.stderr


def test_an_index_that_nobody_used_goes_and_that_of_this_folder_only_by_force(me: Person) -> None:
    me.cairn("index")
    kept = me.cairn("gc", "--stores")
    assert kept.stdout == "Removed no indexes: 0 bytes. 1 index stays.\n"
    assert "It was last used at" in kept.stderr
    forget(me, 31)
    assert answer(me, "--stores")["stores"]["kept"][0]["because"] == "current"
    ahead = me.cairn("gc", "--stores", "--force", "--dry-run")
    assert "Would remove 1 index: " in ahead.stdout
    assert str(me.tree) in ahead.stdout
    assert store_of(me).exists()
    value = answer(me, "--stores", "--force")
    assert [row["root"] for row in value["stores"]["removed"]] == [str(me.tree)]
    assert value["freedBytes"] > 0
    assert list((me.home / "data").iterdir()) == []


def test_stores_are_collected_from_a_folder_that_is_no_codebase(me: Person) -> None:
    me.cairn("index")
    forget(me, 31)
    value = answer(me, "--stores", "--root", str(me.tree / "nowhere"))
    assert value["codebaseRoot"] is None
    assert len(value["stores"]["removed"]) == 1


def test_settings_that_cannot_be_read_do_not_cost_the_store_of_this_folder(me: Person) -> None:
    me.cairn("index")
    forget(me, 31)
    (me.tree / ".cairn.toml").write_text("[index\n")
    done = me.cairn("gc", "--stores")
    assert done.status in range(30, 40)
    (me.tree / ".cairn.toml").unlink()
    assert me.cairn("status").status == 0
