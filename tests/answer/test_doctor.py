"""What is said about the machine."""

from __future__ import annotations

from cairn.answer.machine import IndexerRow, doctor_report, is_healthy
from cairn.sync.report import Check, Severity
from tests.answer.test_envelope import valid

FINE = Check("python", None, "Python 3.11")
MISSING = Check("mcp", Severity.NOTE, "Not installed.", "pip install it")
BROKEN = Check("home", Severity.ERROR, "It is \x1b[2J another's.", "Take \u202eanother one.")


def test_only_what_cannot_work_at_all_is_unhealthy() -> None:
    assert is_healthy([FINE, MISSING, Check("git", Severity.WARNING, "None.")])
    assert not is_healthy([FINE, BROKEN])


def test_every_check_and_every_indexer_has_its_row_and_nothing_hides_in_it() -> None:
    tool = IndexerRow("scip-x", "x", None, None, "there is none", "npm install x", tested=False)
    answer = valid(doctor_report([FINE, MISSING, BROKEN], [tool], path="."))
    assert not answer["healthy"]
    assert [row["severity"] for row in answer["results"]] == ["ok", "note", "error"]
    assert "\x1b" not in answer["results"][2]["message"]
    assert answer["indexers"] == [
        {
            "name": "scip-x",
            "family": "x",
            "program": None,
            "version": None,
            "trouble": "there is none",
            "install": "npm install x",
            "tested": False,
        }
    ]
