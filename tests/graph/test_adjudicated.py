"""Disagreements with an indexer that were read one by one: the files have their form, and no source text."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "adjudicated"
FILES = sorted(FOLDER.glob("*.jsonl"))
KEYS = {
    *("repository", "commit", "tier", "kind", "path", "line", "column", "name", "ours", "indexer"),
    *("verdict", "reason"),
}
VERDICTS = {"ours", "indexer", "both", "neither"}
LEAST = 100


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_there_are_adjudicated_disagreements_of_python() -> None:
    assert "python" in {file.stem for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_at_least_a_hundred_were_read_each_once(file: Path) -> None:
    found = Counter(
        (row["repository"], row["path"], row["line"], row["column"], row["ours"], row["tier"]) for row in rows(file)
    )
    assert len(found) >= LEAST
    assert set(found.values()) == {1}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_row_says_where_what_and_why(file: Path) -> None:
    for row in rows(file):
        assert set(row) == KEYS
        assert row["verdict"] in VERDICTS
        assert row["tier"] in ("proven", "likely")
        assert re.fullmatch("[0-9a-f]{12}", row["commit"])
        assert row["line"] >= 1
        assert row["column"] >= 0
        assert 0 < len(row["reason"]) <= 120


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rows_hold_positions_and_names_and_no_source_text(file: Path) -> None:
    for row in rows(file):
        assert re.fullmatch(r"\S+", row["path"])
        assert re.fullmatch(r"[^\s(){};=\"']+", row["name"]), row["name"]
        # A path, a line and a dotted name.
        assert re.fullmatch(r"\S+:\d+ \S+", row["ours"]), row["ours"]
        assert len(row["indexer"]) < 400


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_verdict_is_given_always(file: Path) -> None:
    # Whoever always finds himself right has not read.
    assert len({row["verdict"] for row in rows(file)}) > 1
