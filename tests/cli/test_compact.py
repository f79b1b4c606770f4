"""`cairn compact` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cairn.cli.upkeep import _compact_summary
from cairn.sync.upkeep import CompactReport, Shape
from tests.schemas import check
from tests.support.commands import Person

BEFORE, AFTER = (
    Shape("01KA3M7Q2W0000000000000000", 12, 40, 9_100_000),
    Shape("01KA3M7Q2W0000000000000001", 1, 0, 8_000_000),
)


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (
            CompactReport(BEFORE, AFTER),
            "Merged 12 segments into 1: 9.1 MB became 8.0 MB."
            " What older snapshots hold is freed by `cairn gc` when its time has come.",
        ),
        (CompactReport(AFTER, AFTER), "There is nothing to merge: 1 segment, 8.0 MB."),
        (
            CompactReport(BEFORE, BEFORE, "Another process is merging segments."),
            "Nothing was merged: another process is merging segments.",
        ),
    ],
)
def test_one_line_says_what_came_of_it(report: CompactReport, line: str) -> None:
    assert _compact_summary(report) == line


def test_a_person_merges_an_index_and_finds_the_same(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.cairn("index")
    (person.tree / "src" / "lease.py").write_text("class Lease:\n    def steal(self):\n        return None\n")
    person.cairn("sync")
    found = person.cairn("search", "steal the lease", "--no-sync", "--json")
    done = person.cairn("compact", "--json")
    assert done.status == 0
    envelope = json.loads(done.stdout)
    check(envelope, "cairn.compact/1")
    assert envelope["published"]
    assert (envelope["before"]["segments"], envelope["after"]["segments"]) == (2, 1)
    again = person.cairn("search", "steal the lease", "--no-sync", "--json")
    assert json.loads(again.stdout)["results"] == json.loads(found.stdout)["results"]
    assert person.cairn("compact").stdout.startswith("There is nothing to merge: 1 segment")
    assert person.cairn("sync").stdout.startswith("Nothing has changed")


def test_without_an_index_there_is_one_sentence(tmp_path: Path) -> None:
    done = Person(tmp_path).cairn("compact")
    assert done.status == 10
    assert len(done.stderr.splitlines()) == 2
