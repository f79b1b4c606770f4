"""What precedes a read is measured, and the page tells it beside the lives that the oracle has noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import freshness, oracle


def test_what_precedes_a_read_is_measured_in_a_small_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert freshness.main(["--files", "30", "--rounds", "2", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("30 | ")
    [measured] = freshness.load(tmp_path)["costs"]
    costs = freshness.Costs(*measured["costs"])
    assert (costs.files, costs.rounds) == (30, 2)
    assert min(costs.bare[0], costs.unwatched[0], costs.store_alone[0], costs.watched[0]) > 0
    assert "| 30 | " in (tmp_path / "freshness.md").read_text()


def test_a_life_is_noted_once_for_its_command(tmp_path: Path) -> None:
    for told in ("1 steps\n  3 faults", "2 steps\n  0 faults"):
        oracle.record(tmp_path, "python -m bench.oracle --steps 2", told)
    page = (tmp_path / "freshness.md").read_text()
    assert "`python -m bench.oracle --steps 2`, commit " in page
    assert "2 steps\n  0 faults" in page
    assert "3 faults" not in page
