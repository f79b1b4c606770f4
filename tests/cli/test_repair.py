"""`cairn repair` as a person meets it: it says what it will do, does it, and says what it did."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cairn.cli.upkeep import plan_lines
from cairn.store import RepairPlan
from cairn.store.repair import RepairAction, RepairScope
from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Person

DRY_RUN = """\
point: ACTIVE_SNAPSHOT: It will name the snapshot that the repair publishes.
quarantine: snapshots/RUN: No snapshot accounts for it.
quarantine: segments/seg_RUN_0: No snapshot accounts for it.
fence: generations/1: The segment seg_RUN_0 of the index is damaged: its bytes are not the ones that were sealed.
Scope: full. Every file is read again, because nothing whole could be built on.
"""


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def nameless(text: str) -> str:
    return re.sub(r"(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}", "RUN", text)


def answer(me: Person, *options: str) -> dict[str, object]:
    found = json.loads(me.cairn("repair", "--json", *options).stdout)
    check(found, "cairn.repair/1")
    assert isinstance(found, dict)
    return found


def test_a_sound_index_needs_no_repair(me: Person) -> None:
    me.cairn("index")
    for options in ((), ("--dry-run",)):
        found = me.cairn("repair", *options)
        assert (found.status, found.stdout, found.stderr) == (0, "There is nothing to repair.\n", "")
    assert answer(me)["scope"] == "none"
    assert not list(me.home.glob("data/*/quarantine"))


@conforms("003.REP1")
def test_the_scope_is_declared_before_anything_is_changed(me: Person) -> None:
    me.cairn("index")
    me.damage()
    dry = me.cairn("repair", "--dry-run")
    assert (dry.status, nameless(dry.stdout)) == (0, DRY_RUN)
    planned = answer(me, "--dry-run")
    assert (planned["dryRun"], planned["scope"], planned["done"]) == (True, "full", None)
    assert me.cairn("status").status != 0, "nothing was repaired"


def test_a_damaged_index_is_repaired_and_says_where_things_went(me: Person) -> None:
    me.cairn("index")
    me.damage()
    found = me.cairn("repair")
    assert found.status == 0
    assert "Scope: full. Every file was read again" in found.stdout
    assert found.stdout.endswith("The index is sound.\n")
    place = Path(found.stdout.split("put aside is in ")[1].splitlines()[0])
    assert list(place.glob("segments/*/data.bin"))
    assert me.cairn("audit").status == 0
    assert me.cairn("search", "Lease", "--no-sync").status == 0
    health = me.cairn("health")
    assert health.status == 0
    assert "A repair has put " in health.stdout


def test_a_small_damage_is_mended_without_reading_a_file(me: Person) -> None:
    me.cairn("index")
    (pointer,) = me.home.glob("data/*/ACTIVE_SNAPSHOT")
    pointer.write_text("rubbish")
    done = answer(me)
    assert (done["scope"], done["dryRun"]) == ("tidy", False)
    assert isinstance(done["done"], dict)
    assert (done["done"]["sound"], done["done"]["snapshot"], done["done"]["moved"]) == (True, None, 1)


def test_what_cannot_be_mended_is_told_and_fails(me: Person) -> None:
    me.cairn("index")
    (pointer,) = me.home.glob("data/*/ACTIVE_SNAPSHOT")
    (pointer.parent / "link").symlink_to("/etc")
    found = me.cairn("repair")
    assert found.status == 90
    assert "Could not be moved, and is left where it is: link" in found.stdout
    assert found.stdout.endswith("The index is still damaged.\n")


def test_without_an_index_there_is_nothing_to_repair(me: Person) -> None:
    assert me.cairn("repair").status == 10
    assert me.cairn("repair", "--dry-run").status == 10


def test_a_long_plan_is_cut_and_each_scope_has_its_sentence() -> None:
    action = RepairAction("quarantine", "x", "y")
    assert plan_lines(RepairPlan(RepairScope.TIDY, (action,) * 60), done=False)[-2:] == [
        "and 10 more; --json lists them.",
        "Scope: tidy. No file has to be read again.",
    ]
    some = RepairPlan(RepairScope.FILES, (action,), 3, "ID")
    assert plan_lines(some, done=False)[-1].endswith("On top of snapshot ID, at most 3 files are to be read again.")
    since = RepairPlan(RepairScope.FILES, (action,), 0, "ID")
    assert plan_lines(since, done=True)[-1].endswith("On top of snapshot ID, what was missing was read again.")
