"""What is said about an index: against the shipped schemas, the bounds and the golden files.

`CAIRN_UPDATE_GOLDEN=1 pytest tests/answer/test_runs.py` writes tests/golden/runs/*.json anew; read the diff.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import ValidationError

from cairn.answer import runs
from cairn.answer.envelope import Envelope, load_schema
from cairn.ask.gate import Status
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.core.types import SkipReason
from cairn.store import WriterInfo
from cairn.sync.report import Changes, FailedFile, HealthFinding, RunReport, Severity
from cairn.sync.status import SnapshotInfo, State, StoreStatus
from tests.answer.test_envelope import MANY, VALIDATORS, WILD, valid
from tests.golden_files import GOLDEN, is_golden

FOLDER = GOLDEN / "runs"
RUN_ID = "01KA3M7Q2W0000000000000000"
SNAPSHOT = SnapshotInfo(
    id=RUN_ID,
    generation=3,
    created_at="2026-11-15T12:00:00Z",
    files=1_298,
    chunks=18_234,
    chunks_physical=18_300,
    segments=2,
    tombstones=4,
    degraded=False,
    errors=0,
    head="ab" * 20,
    dirty=True,
    active=True,
)
INDEXED = StoreStatus(
    state=State.INDEXED,
    root="/r",
    store_id="r__0123456789abcdef__fedcba9876543210",
    path="/home/me/.cairn/data/r__0123456789abcdef__fedcba9876543210",
    snapshot=SNAPSHOT,
    index_fingerprint="f" * 64,
    ignore_fingerprint="0" * 64,
    skipped=((SkipReason.IGNORED, 30), (SkipReason.BINARY, 7)),
    store_bytes=9_100_000,
    embedding_model="hash-256",
    last_sync_at="2026-11-15T12:05:00Z",
    siblings=1,
)
WRITER = WriterInfo(pid=4711, kind="reindex", started_at="2026-11-15T12:06:00Z", run_id=RUN_ID, alive=True)
FINDINGS = [
    HealthFinding("symlink_loop", Severity.NOTE, "It is a link that leads back to itself.", "Remove it.", "a/b\u202e"),
    HealthFinding("store_corrupt", Severity.ERROR, "The manifest is damaged.", "Run `cairn reindex`."),
    HealthFinding("name_collision", Severity.WARNING, "Two names are one elsewhere.", "Rename one.", "A.py"),
]


def run(*, root: str = "/r", budget: int = DEFAULT_ENVELOPE_BYTES, **changed: Any) -> Envelope:
    fields: dict[str, Any] = {
        "kind": "sync",
        "published": True,
        "snapshot_id": RUN_ID,
        "generation": 3,
        "changes": Changes(12, 3, 1, 0),
        "files_indexed": 1_298,
        "chunks_live": 18_234,
        "skipped": [(SkipReason.IGNORED, 30), (SkipReason.BINARY, 7), (SkipReason.ALIAS, 0)],
        "failed": [],
        "adopted": 0,
        "store_bytes": 9_100_000,
        "source_bytes": 6_500_000,
        "seconds": 4.2037,
    }
    return runs.run_envelope(".", root, RunReport(**fields | changed), budget=budget)


EXAMPLES = {
    "run": run,
    "run_degraded": lambda: run(
        failed=[FailedFile("src/é\x1b.py", "unstable", "It changed 5 times.\n")], warnings=["One\u202e."]
    ),
    "run_cleared_nothing": lambda: run(kind="clear", published=False, snapshot_id="", generation=0),
    "status": lambda: runs.store_status(INDEXED, path="src", warnings=["A setting does nothing."]),
    "status_syncing": lambda: runs.store_status(replace(INDEXED, writer=replace(WRITER, kind="sync")), path="."),
    "status_indexing": lambda: runs.store_status(
        replace(INDEXED, state=State.INDEXING, writer=WRITER, snapshot=None), path="."
    ),
    "status_not_indexed": lambda: runs.store_status(
        StoreStatus(State.NOT_INDEXED, "/r", INDEXED.store_id, INDEXED.path), path="."
    ),
    "status_corrupt": lambda: runs.store_status(replace(INDEXED, state=State.CORRUPT, snapshot=None), path="."),
    "snapshots": lambda: runs.snapshot_list(
        path=".",
        root="/r",
        snapshots=[replace(SNAPSHOT, generation=2, active=False, degraded=True, errors=1, head=None), SNAPSHOT],
    ),
    "snapshots_not_indexed": lambda: runs.not_indexed("cairn.snapshots/1", path="src", root="/r"),
    "health": lambda: runs.health_report(path=".", root="/r", findings=FINDINGS),
    "health_good": lambda: runs.health_report(path=".", root="/r", findings=[]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_envelope_is_what_it_was(name: str) -> None:
    text = EXAMPLES[name]().to_json()
    valid(EXAMPLES[name]())
    assert is_golden(f"runs/{name}.json", text + "\n")


def test_there_is_no_golden_file_without_its_example() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(EXAMPLES)


def test_the_schemas_know_every_skip_reason_and_state() -> None:
    for name in ("cairn.run/1", "cairn.status/1"):
        assert load_schema(name)["$defs"]["reason"]["enum"] == [reason.value for reason in SkipReason]
    assert load_schema("cairn.status/1")["properties"]["state"]["enum"] == [state.value for state in State]
    finding = load_schema("cairn.health/1")["properties"]["results"]["items"]["properties"]
    assert finding["severity"]["enum"] == [severity.value for severity in Severity]


# --- gates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", State)
def test_a_closed_gate_says_why_and_whom_to_ask_and_an_open_one_borrows_no_reason(state: State) -> None:
    value = valid(runs.store_status(replace(INDEXED, state=state, root="/r/s\x1b"), path="src"))
    pairs = {("ok", None), ("not_ready", "indexing"), ("not_indexed", "not_indexed")}
    assert (value["status"], value.get("reason")) in pairs
    if value["status"] == "ok":
        assert "message" not in value
        assert value["hints"] == {}
    else:
        assert value["message"]
        assert value["hints"]["status"] == {"tool": "manage_index", "args": {"action": "status", "path": "/r/s\x1b"}}
        assert "\x1b" not in value["message"]
    assert ("indexing" in value) == (value["status"] == "not_ready")


def test_a_damaged_store_is_no_fourth_reason_and_its_message_says_so_first() -> None:
    value = valid(runs.store_status(replace(INDEXED, state=State.CORRUPT), path="."))
    assert value["reason"] == "not_indexed"
    assert value["message"].startswith("Store corrupt")
    create = {"tool": "manage_index", "args": {"action": "create", "path": "/r"}}
    assert value["hints"]["staleLocal"] == {"completionProof": "invalid_payload", "recommendedAction": create}


@pytest.mark.parametrize(
    "broken",
    [
        {"reason": "not_indexed"},
        {"status": "not_indexed"},
        {"status": "not_ready", "reason": "not_indexed", "message": "x"},
        {"status": "not_ready", "reason": "indexing", "message": "x"},
        {"status": "error"},
    ],
)
def test_the_schema_refuses_a_gate_without_its_reason(broken: dict[str, str]) -> None:
    value = json.loads(EXAMPLES["status"]().to_json())
    with pytest.raises(ValidationError):
        VALIDATORS["cairn.status/1"].validate(value | broken)


# --- what a status says -----------------------------------------------------------------------------------------------

SPEC_FIELDS = [
    "files_indexed",
    "total_chunks",
    "embedding_model",
    "last_updated",
    "is_indexing",
    "indexing_type",
    "current_file",
    "progress",
    "files_to_process",
]


def test_a_status_has_the_fields_that_clients_know_at_its_top() -> None:
    value = valid(runs.store_status(INDEXED, path="."))
    assert [value[name] for name in SPEC_FIELDS] == [
        1_298,
        18_234,
        "hash-256",
        "2026-11-15T12:00:00Z",
        False,
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("kind", "expected"), [("create", "full"), ("reindex", "full"), ("sync", "catchup"), ("clear", "catchup")]
)
def test_a_run_at_work_is_a_full_one_or_a_catch_up(kind: str, expected: str) -> None:
    value = valid(runs.store_status(replace(INDEXED, writer=replace(WRITER, kind=kind)), path="."))
    assert (value["is_indexing"], value["indexing_type"]) == (True, expected)


def test_a_writer_that_is_gone_is_shown_and_counts_as_nobody_at_work() -> None:
    value = valid(runs.store_status(replace(INDEXED, writer=replace(WRITER, alive=False)), path="."))
    assert (value["is_indexing"], value["indexing_type"], value["writer"]["alive"]) == (False, None, False)


# --- lists and their bounds -------------------------------------------------------------------------------------------


def test_snapshots_are_listed_from_the_newest() -> None:
    rows = [replace(SNAPSHOT, generation=n, active=n == 9) for n in (4, 9, 7)]
    value = valid(runs.snapshot_list(path=".", root="/r", snapshots=rows))
    assert [row["generation"] for row in value["results"]] == [9, 7, 4]


def test_findings_come_worst_first_with_the_name_they_are_about() -> None:
    value = valid(runs.health_report(path=".", root="/r", findings=FINDINGS))
    assert [row["code"] for row in value["results"]] == ["store_corrupt", "name_collision", "symlink_loop"]
    assert value["results"][2]["path"] == "a/b\u202e"
    assert value["healthy"] is False
    assert valid(runs.health_report(path=".", root="/r", findings=FINDINGS[2:]))["healthy"] is True


@pytest.mark.parametrize("budget", [DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES, 100 * MAX_ENVELOPE_BYTES])
def test_a_list_that_is_too_long_is_cut_and_counted(budget: int) -> None:
    failed = [FailedFile("\x01" * 4_000 + str(n), "unreadable", "\x01" * 9_000) for n in range(500)]
    found = valid(run(failed=failed, warnings=["w"] * 50, budget=budget), most=budget)
    findings = [HealthFinding("x", Severity.NOTE, "m" * 9_000, "a", "\x01" * 4_000)] * 500
    health = valid(runs.health_report(path=".", root="/r", findings=findings, budget=budget), most=budget)
    assert health["counts"]["note"] == 500
    listed = [SNAPSHOT] * 9_000
    snapshots = valid(runs.snapshot_list(path=".", root="/r", snapshots=listed, budget=budget), most=budget)
    for value, name, total in ((found, "failed", 500), (health, "results", 500), (snapshots, "results", 9_000)):
        left = {hit["field"]: hit["left"] for hit in value["limitsHit"]}
        assert len(value[name]) + left[name] == total
    assert {hit["field"] for hit in found["limitsHit"]} == {"failed", "warnings"}


@given(WILD, WILD, st.sampled_from(State), st.booleans(), st.lists(WILD, max_size=3))
@MANY
def test_any_root_and_warning_give_a_valid_status(root: str, path: str, state: State, alive: bool, warnings: list[str]):
    status = replace(INDEXED, state=state, root=root, path=root, writer=replace(WRITER, alive=alive))
    value = valid(runs.store_status(status, path=path, warnings=warnings))
    assert value["status"] == runs.gate(state).value
    assert (value["status"] == Status.OK) == (state is State.INDEXED)


@given(st.lists(st.builds(FailedFile, WILD, st.just("unreadable"), WILD), max_size=4), WILD, st.floats(0, 1e6))
@MANY
def test_any_failure_gives_a_valid_report(failed: list[FailedFile], root: str, seconds: float) -> None:
    value = valid(run(failed=failed, root=root, seconds=seconds))
    assert len(value["failed"]) == len(failed)
    assert value["degraded"] == bool(failed)
