"""What a run came to, as an envelope: the tools and the command line give the same one."""

from __future__ import annotations

import json
from pathlib import Path

from cairn.answer.runs import repair_envelope, run_envelope
from cairn.core.types import SkipReason
from cairn.store import RepairPlan
from cairn.store.repair import RepairScope
from cairn.sync.codebase import open_codebase
from cairn.sync.repair import RepairReport
from cairn.sync.report import Changes, FailedFile, RunReport
from tests.schemas import check

SNAPSHOT = "0" * 26


def test_a_report_says_what_changed_what_failed_and_what_was_left_out(tmp_path: Path) -> None:
    codebase = open_codebase(str(tmp_path), {"CAIRN_HOME": str(tmp_path / "home")})
    report = RunReport(
        kind="sync",
        published=True,
        snapshot_id=SNAPSHOT,
        generation=3,
        changes=Changes(1, 2, 3, 4),
        files_indexed=5,
        chunks_live=6,
        skipped=((SkipReason.BINARY, 7),),
        failed=(FailedFile("a.py", "unreadable", "You may not read it."),),
        adopted=8,
        store_bytes=9,
        source_bytes=10,
        seconds=0.5,
        warnings=("careful",),
    )
    answer = json.loads(run_envelope("here", codebase.root.path, report).to_json())
    check(answer, "cairn.run/1")
    assert answer["changes"] == {"added": 1, "modified": 2, "deleted": 3, "renamed": 4}
    assert answer["coverage"] == {"indexed": 5, "chunks": 6, "skipped": {"binary": 7}}
    assert (answer["failed"][0]["path"], answer["degraded"], answer["warnings"]) == ("a.py", True, ["careful"])


def test_a_repair_is_told_as_a_plan_or_as_what_was_done(tmp_path: Path) -> None:
    codebase = open_codebase(str(tmp_path), {"CAIRN_HOME": str(tmp_path / "home")})
    plan = RepairPlan(RepairScope.FILES, files=2, base=SNAPSHOT)
    planned = json.loads(repair_envelope("here", codebase.root.path, plan, None).to_json())
    done = json.loads(
        repair_envelope("here", codebase.root.path, plan, RepairReport(plan, changes=Changes(added=2))).to_json()
    )
    for answer in (planned, done):
        check(answer, "cairn.repair/1")
    assert (planned["dryRun"], planned["done"]) == (True, None)
    assert (done["dryRun"], done["done"]["changes"]["added"]) == (False, 2)
