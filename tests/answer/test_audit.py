"""What is said about audits and repairs: against the shipped schemas, the bounds and the golden files.

`CAIRN_UPDATE_GOLDEN=1 pytest tests/answer/test_audit.py` writes tests/golden/audit/*.json anew; read the diff.
"""

from __future__ import annotations

import pytest

from cairn.answer import runs
from cairn.answer.envelope import load_schema
from cairn.store import RepairPlan
from cairn.store.repair import RepairAction, RepairScope
from cairn.store.repair.salvage import FENCE, MEND, MOVE, POINT, RENEW
from cairn.sync.repair import RepairReport
from cairn.sync.report import Changes, FailedFile, HealthFinding, Severity
from tests.answer.test_envelope import valid
from tests.conformance import conforms
from tests.golden_files import GOLDEN, is_golden

FOLDER = GOLDEN / "audit"
RUN_ID = "01KA3M7Q2W0000000000000000"
COVERAGE = {"walked": 12, "indexed": 9, "skipped": 2, "missing": 1}
DRIFT = HealthFinding("file_changed", Severity.WARNING, "It has changed.", "Run `cairn sync` to catch up.", "é\x1b.py")
DAMAGE = HealthFinding(
    "generation_damaged",
    Severity.ERROR,
    "The manifest of the index is damaged: chunks_indexed is not the sum of the rows.",
    "Run `cairn repair`, which reads again what is damaged; `--dry-run` says how much that is.",
    "generations/3",
)
PLAN = RepairPlan(
    RepairScope.FILES,
    (
        RepairAction(MOVE, "segments/stray", "No snapshot accounts for it."),
        RepairAction(POINT, "ACTIVE_SNAPSHOT", "It will name the snapshot that the repair publishes."),
        RepairAction(FENCE, "generations/3", "The manifest of the index is damaged: it cannot be parsed."),
    ),
    files=41,
    base=RUN_ID,
)
DONE = RepairReport(
    PLAN,
    snapshot_id=RUN_ID,
    changes=Changes(added=41, deleted=1),
    quarantine="/home/me/.cairn/data/x/quarantine/" + RUN_ID,
    moved=2,
    left=("link",),
    fell_back=False,
    failed=(FailedFile("a.py", "unstable", "It changed 5 times.\n"),),
    findings=(),
    seconds=0.25,
)
EXAMPLES = {
    "audit_clean": lambda: runs.audit_report(
        path=".", root="/r", verdict="clean", snapshot_id=RUN_ID, coverage=COVERAGE, hashed=9, findings=[]
    ),
    "audit_drifted": lambda: runs.audit_report(
        path=".", root="/r", verdict="drifted", snapshot_id=RUN_ID, coverage=COVERAGE, hashed=9, findings=[DRIFT]
    ),
    "audit_damaged": lambda: runs.audit_report(
        path=".", root="/r", verdict="damaged", snapshot_id=None, coverage=COVERAGE, hashed=0, findings=[DRIFT, DAMAGE]
    ),
    "repair_plan": lambda: runs.repair_envelope(".", "/r", PLAN, None, warnings=["One\u202e."]),
    "repair_nothing": lambda: runs.repair_envelope(".", "/r", RepairPlan(RepairScope.NONE), None),
    "repair_done": lambda: runs.repair_envelope(".", "/r", PLAN, DONE),
}


@conforms("003.AUD2", "003.REP1")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_envelope_is_what_it_was(name: str) -> None:
    text = EXAMPLES[name]().to_json()
    valid(EXAMPLES[name]())
    assert is_golden(f"audit/{name}.json", text + "\n")


def test_there_is_no_golden_file_without_its_example() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(EXAMPLES)


def test_the_schema_knows_every_scope_and_every_kind_of_step() -> None:
    fields = load_schema("cairn.repair/1")["properties"]
    assert fields["scope"]["enum"] == [scope.value for scope in RepairScope]
    assert set(fields["actions"]["items"]["properties"]["kind"]["enum"]) == {
        *(MEND, FENCE, MOVE, POINT, RENEW),
        "take_over",
    }


def test_however_much_is_found_an_envelope_is_bounded_and_counts_all_of_it() -> None:
    many = [HealthFinding("file_gone", Severity.WARNING, "It is gone." * 9, "Run it.", f"f{n}") for n in range(40_000)]
    value = valid(
        runs.audit_report(
            path=".", root="/r", verdict="drifted", snapshot_id=RUN_ID, coverage=COVERAGE, hashed=1, findings=many
        )
    )
    assert value["counts"]["warning"] == 40_000
    (hit,) = value["limitsHit"]
    assert hit["shown"] + hit["left"] == 40_000
    actions = tuple(RepairAction(MOVE, f"segments/{n}", "Nobody." * 20) for n in range(40_000))
    plan = RepairPlan(RepairScope.TIDY, actions)
    left = tuple(f"x{n}" * 20 for n in range(40_000))
    done = RepairReport(plan, changes=DONE.changes, left=left, fell_back=True, findings=tuple(many), seconds=1.0)
    found = runs.repair_envelope(".", "/r", plan, done)
    assert valid(found)["done"]["counts"]["warning"] == 40_000
