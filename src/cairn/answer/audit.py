"""What is said about an audit of an index, and about its repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cairn.answer.envelope import Envelope, cut, fit, ok, plain, tail
from cairn.answer.runs import FailedRow, finding_row, worst_first
from cairn.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.store.standing import HealthFinding, RepairPlan, RepairScope, Severity

_NEXT = {
    "clean": "",
    "drifted": "Run `cairn sync` to catch up.",
    "damaged": "Run `cairn repair --dry-run` to see what can be mended.",
}


@dataclass(frozen=True, slots=True)
class RepairRow:
    """What a repair did; without a snapshot nothing had to be read again."""

    snapshot_id: str | None
    changes: Mapping[str, int]
    quarantine: str | None
    moved: int
    left: Sequence[str]
    fell_back: bool
    failed: Sequence[FailedRow]
    findings: Sequence[HealthFinding]
    seconds: float


def audit_report(
    *,
    path: str,
    root: str,
    verdict: str,
    snapshot_id: str | None,
    coverage: Mapping[str, int],
    hashed: int,
    findings: Sequence[HealthFinding],
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """What an audit found, the worst first; `verdict` is `clean`, `drifted` or `damaged`."""
    rows = [finding_row(row) for row in worst_first(findings)]
    shown = fit(rows, min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [
        ("verdict", verdict),
        ("snapshot", snapshot_id),
        ("coverage", dict(coverage)),
        ("hashed", hashed),
        ("counts", _counts(findings)),
        ("results", shown),
        *tail(warnings, cut("results", len(shown), len(rows))),
        ("hints", {"next": _NEXT[verdict]} if _NEXT[verdict] else {}),
    ]
    return ok("cairn.audit/1", path=path, root=root, body=body)


def repair_report(
    *,
    path: str,
    root: str,
    plan: RepairPlan,
    done: RepairRow | None,
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """What a repair would do (`done` is None), or what it did and what the checker says afterwards."""
    budget = min(budget, MAX_ENVELOPE_BYTES)
    actions = [{"kind": row.kind, "path": row.path, "why": plain(row.why)} for row in plan.actions]
    shown = fit(actions, budget // 4)
    body: list[tuple[str, Any]] = [
        ("dryRun", done is None),
        ("scope", plan.scope.value),
        ("files", plan.files),
        ("base", plan.base),
        ("actions", shown),
        ("done", _done(done, budget) if done is not None else None),
        *tail(warnings, cut("actions", len(shown), len(actions))),
        ("hints", {"next": "Run `cairn repair` to do it."} if done is None and plan.scope != RepairScope.NONE else {}),
    ]
    return ok("cairn.repair/1", path=path, root=root, body=body)


def _done(done: RepairRow, budget: int) -> dict[str, Any]:
    failed = [{"path": row.path, "code": row.code, "message": plain(row.message)} for row in done.failed]
    return {
        "snapshot": done.snapshot_id,
        "changes": dict(done.changes),
        "quarantine": done.quarantine,
        "moved": done.moved,
        "left": fit(done.left, budget // 16),
        "fellBack": done.fell_back,
        "failed": fit(failed, budget // 8),
        "sound": all(row.severity is not Severity.ERROR for row in done.findings),
        "counts": _counts(done.findings),
        "results": fit([finding_row(row) for row in worst_first(done.findings)], budget // 8),
        "timingsMs": {"total": round(1_000 * done.seconds)},
    }


def _counts(findings: Sequence[HealthFinding]) -> dict[str, int]:
    return {severity.value: sum(row.severity is severity for row in findings) for severity in Severity}
