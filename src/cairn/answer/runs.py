"""Build reports about an index itself: what a run did, where the index stands, its snapshots, its health.

The builders follow the rules of `envelope.py`. A closed gate (nothing indexed, or not yet) is an ordinary answer, with
`reason`, `message` and, in `hints`, the call that says more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cairn.answer.envelope import Envelope, asked, cut, fit, ok, tail
from cairn.answer.gate import PROBE_FAILED, hints_of, indexing_fields, proposal_hint
from cairn.ask.gate import NonOkReason, Status
from cairn.ask.whereabouts import Whereabouts, state_sentence, where
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, EMBED_CACHE_BYTES, MAX_ENVELOPE_BYTES
from cairn.core.text import plain
from cairn.core.types import SkipReason
from cairn.store import RepairPlan, RepairScope, WriterInfo
from cairn.sync.inventory import DiskUse
from cairn.sync.report import FailedFile, HealthFinding, RunReport, Severity
from cairn.sync.status import SnapshotInfo, State, StoreStatus
from cairn.sync.stores import StoresCollected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.repair import RepairReport


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


# --- gates ------------------------------------------------------------------------------------------------------------

_GATES = {
    State.INDEXED: (Status.OK, None),
    State.INDEXING: (Status.NOT_READY, NonOkReason.INDEXING),
    State.CLEARED: (Status.NOT_INDEXED, NonOkReason.NOT_INDEXED),
    State.NOT_INDEXED: (Status.NOT_INDEXED, NonOkReason.NOT_INDEXED),
    State.CORRUPT: (Status.NOT_INDEXED, NonOkReason.NOT_INDEXED),
}


def gate(state: State) -> Status:
    """Return the status with which an index in this state answers a question about the code."""
    return _GATES[state][0]


def not_indexed(schema: str, *, path: str, root: str, state: State = State.NOT_INDEXED) -> Envelope:
    """Return the answer of a tool that needs an index where there is none that could answer."""
    body = [*_closed(state, root), ("limitsHit", []), ("warnings", []), ("hints", _hints(state, root))]
    return Envelope(schema, gate(state), asked(path), asked(root), tuple(body))


def _closed(state: State, root: str) -> list[tuple[str, Any]]:
    reason = _GATES[state][1]
    return [] if reason is None else [("reason", reason.value), ("message", state_sentence(state, root)[0])]


def _hints(state: State, root: str) -> dict[str, Any]:
    if gate(state) is Status.OK:
        return {}
    hints: dict[str, Any] = {"status": {"tool": "manage_index", "args": {"action": "status", "path": asked(root)}}}
    if state is State.CORRUPT:
        hints["staleLocal"] = {"completionProof": "invalid_payload"}
    return hints | {"next": state_sentence(state, root)[1]}


# --- builders ---------------------------------------------------------------------------------------------------------


def run_envelope(
    path: str, root: str, report: RunReport, *, warnings: Sequence[str] = (), budget: int = MAX_ENVELOPE_BYTES
) -> Envelope:
    """Return what a run did to an index; `snapshot` is null when there was nothing to clear."""
    rows = _failed(report.failed)
    shown = fit(rows, min(budget, MAX_ENVELOPE_BYTES) // 2)
    snapshot = {"id": report.snapshot_id, "generation": report.generation} if report.snapshot_id else None
    coverage = {"indexed": report.files_indexed, "chunks": report.chunks_live, "skipped": _counts(report.skipped)}
    return ok(
        "cairn.run/1",
        path=path,
        root=root,
        body=[
            ("kind", report.kind),
            ("published", report.published),
            ("snapshot", snapshot),
            ("changes", asdict(report.changes)),
            ("coverage", coverage),
            ("degraded", bool(report.failed)),
            ("failed", shown),
            ("adopted", report.adopted),
            ("storeBytes", report.store_bytes),
            ("sourceBytes", report.source_bytes),
            ("timingsMs", {"total": round(1_000 * report.seconds)}),
            *tail([*warnings, *report.warnings], cut("failed", len(shown), len(rows))),
            ("hints", {}),
        ],
    )


def _failed(files: Sequence[FailedFile]) -> list[dict[str, str]]:
    return [{"path": file.path, "code": file.code, "message": plain(file.message)} for file in files]


def store_status(
    status: StoreStatus, *, path: str, warnings: Sequence[str] = (), engine: Mapping[str, object] | None = None
) -> Envelope:
    """Return where an index stands. `is_indexing` says that any run is at work, `state` whether it closes the gate.

    `engine` is the state of the engine, None when the caller has not asked for it.
    """
    snapshot, writer = status.snapshot, status.writer
    run = indexing_fields(writer)
    stands = where(status)
    verdict = stands.gate
    closed: list[tuple[str, Any]] = []
    if verdict.reason is not None:
        closed = [("reason", verdict.reason.value), ("message", stands.sentence)]
    if verdict.status is Status.NOT_READY:
        closed.append(("indexing", run))
    body: list[tuple[str, Any]] = [
        ("state", status.state.value),
        ("lifecycle", stands.state.value),
        *closed,
        ("files_indexed", snapshot.files if snapshot else 0),
        ("total_chunks", snapshot.chunks if snapshot else 0),
        ("embedding_model", status.embedding_model),
        ("last_updated", snapshot.created_at if snapshot else None),
        ("is_indexing", writer is not None and writer.alive),
        ("indexing_type", run["indexingType"]),
        ("current_file", run["currentFile"]),
        ("progress", run["progress"]),
        ("files_to_process", run["filesToProcess"]),
        ("snapshot", _snapshot(snapshot) if snapshot else None),
        ("fingerprints", {"index": status.index_fingerprint, "ignore": status.ignore_fingerprint}),
        ("coverage", {"indexed": snapshot.files if snapshot else 0, "skipped": _counts(status.skipped)}),
        ("store", _store(status)),
        ("disk", _disk(status.disk)),
        # A run without a lease has no id yet.
        ("writer", _writer(writer) if writer and writer.run_id else None),
        ("lastSyncAt", status.last_sync_at),
        *([("engine", dict(engine))] if engine is not None else []),
        *tail(warnings),
        ("hints", _status_hints(status, stands)),
    ]
    return Envelope("cairn.status/1", verdict.status, asked(path), asked(status.root), tuple(body))


def _status_hints(status: StoreStatus, stands: Whereabouts) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    if not stands.answers:
        hints = hints_of(stands.gate)
        hints["next"] = stands.advice
    elif status.proposed is not None:
        hints["requiresReindex"] = proposal_hint(status.proposed)
    if stands.failed is not None:
        hints = {"lastRun": failed_run(stands)} | hints
    # The last known status stays valid while the store cannot be read.
    return {"debugProofCheck": PROBE_FAILED} | hints if status.probe_failed else hints


def failed_run(stands: Whereabouts) -> dict[str, Any] | None:
    """Return the last run over a codebase, when it failed."""
    if stands.failed is None:
        return None
    return {"kind": stands.failed.kind, "outcome": "failed", "at": stands.failed.at, "code": stands.failed.code}


def snapshot_list(
    *,
    path: str,
    root: str,
    snapshots: Sequence[SnapshotInfo],
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return the snapshots that are kept, the newest first."""
    rows = [_snapshot(row) for row in sorted(snapshots, key=lambda row: row.generation, reverse=True)]
    shown = fit(rows, min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [("results", shown), *tail(warnings, cut("results", len(shown), len(rows))), ("hints", {})]
    return ok("cairn.snapshots/1", path=path, root=root, body=body)


def health_report(
    *,
    path: str,
    root: str,
    findings: Sequence[HealthFinding],
    stands: Whereabouts | None = None,
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return what a check found, the worst first; `counts` counts every finding.

    `healthy` means that no finding is an error and that the index answers. `stands` is where the codebase stands.
    """
    rows = [finding_row(row) for row in worst_first(findings)]
    shown = fit(rows, min(budget, MAX_ENVELOPE_BYTES) // 2)
    counts = {severity.value: sum(row.severity is severity for row in findings) for severity in Severity}
    body = [
        ("healthy", counts["error"] == 0 and (stands is None or stands.answers)),
        ("lifecycle", None if stands is None else stands.state.value),
        ("lastRun", None if stands is None else failed_run(stands)),
        ("counts", counts),
        ("results", shown),
        *tail(warnings, cut("results", len(shown), len(rows))),
        ("hints", {}),
    ]
    return ok("cairn.health/1", path=path, root=root, body=body)


def standing_findings(stands: Whereabouts) -> list[HealthFinding]:
    """Return what a check has to say of where the codebase stands: that nothing answers, and that a run has failed."""
    found = []
    if stands.gate.reason is not None:
        severity = Severity.NOTE if stands.gate.reason is NonOkReason.NOT_INDEXED else Severity.WARNING
        found.append(HealthFinding(stands.gate.reason.value, severity, stands.sentence, stands.advice))
    if stands.failed is not None:
        found.append(HealthFinding("run_failed", Severity.WARNING, stands.failed.sentence, stands.failed.advice))
    return found


def worst_first(findings: Iterable[HealthFinding]) -> list[HealthFinding]:
    """Return findings in the one order in which they are shown."""
    return sorted(findings, key=lambda row: (_RANK[row.severity], row.code, row.path or "", row.message))


# --- parts ------------------------------------------------------------------------------------------------------------


def _counts(skipped: Iterable[tuple[SkipReason, int]]) -> dict[str, int]:
    return {reason.value: count for reason, count in sorted(skipped) if count}


def _snapshot(row: SnapshotInfo) -> dict[str, Any]:
    return {
        "id": row.id,
        "generation": row.generation,
        "publishedAt": row.created_at,
        "head": row.head,
        "dirty": row.dirty,
        "degraded": row.degraded,
        "errors": row.errors,
        "files": row.files,
        "chunks": row.chunks,
        "chunksPhysical": row.chunks_physical,
        "segments": row.segments,
        "tombstones": row.tombstones,
        "active": row.active,
    }


def _store(status: StoreStatus) -> dict[str, Any]:
    return {
        "id": status.store_id,
        "path": status.path,
        "bytes": status.store_bytes,
        "siblings": status.siblings,
    }


def _disk(use: DiskUse) -> dict[str, Any]:
    return {
        "liveBytes": use.live,
        "olderBytes": use.older,
        "stagingBytes": use.staging,
        "quarantineBytes": use.quarantine,
        "otherBytes": use.other,
        "embeddingCacheBytes": use.embedding_cache,
        "embeddingCacheMostBytes": EMBED_CACHE_BYTES,
        "freeBytes": use.free,
    }


def _writer(row: WriterInfo) -> dict[str, Any]:
    return {
        "pid": row.pid,
        "kind": row.kind,
        "startedAt": row.started_at,
        "runId": row.run_id,
        "alive": row.alive,
        "silentSeconds": int(row.silent_seconds) if row.is_silent else None,
    }


def finding_row(row: HealthFinding) -> dict[str, Any]:
    """Return one finding as every report shows it."""
    return {
        "code": row.code,
        "severity": row.severity.value,
        "message": plain(row.message),
        "advice": plain(row.advice),
        "path": row.path,
    }


# --- The audit of an index, and its repair.


_NEXT = {
    "clean": "",
    "drifted": "Run `cairn sync` to catch up.",
    "damaged": "Run `cairn repair --dry-run` to see what can be mended.",
}


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
    """Return what an audit found, the worst first; `verdict` is `clean`, `drifted` or `damaged`."""
    rows = [finding_row(row) for row in worst_first(findings)]
    shown = fit(rows, min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [
        ("verdict", verdict),
        ("snapshot", snapshot_id),
        ("coverage", dict(coverage)),
        ("hashed", hashed),
        ("counts", _severities(findings)),
        ("results", shown),
        *tail(warnings, cut("results", len(shown), len(rows))),
        ("hints", {"next": _NEXT[verdict]} if _NEXT[verdict] else {}),
    ]
    return ok("cairn.audit/1", path=path, root=root, body=body)


def repair_envelope(
    path: str,
    root: str,
    plan: RepairPlan,
    report: RepairReport | None,
    *,
    warnings: Sequence[str] = (),
    budget: int = MAX_ENVELOPE_BYTES,
) -> Envelope:
    """Return what a repair would do (`report` is None), or what it did and what the checker says afterwards."""
    budget = min(budget, MAX_ENVELOPE_BYTES)
    actions = [{"kind": row.kind, "path": row.path, "why": plain(row.why)} for row in plan.actions]
    shown = fit(actions, budget // 4)
    advice = {"next": "Run `cairn repair` to do it."} if report is None and plan.scope != RepairScope.NONE else {}
    body: list[tuple[str, Any]] = [
        ("dryRun", report is None),
        ("scope", plan.scope.value),
        ("files", plan.files),
        ("base", plan.base),
        ("actions", shown),
        ("done", _done(report, budget) if report is not None else None),
        *tail([*warnings, *(report.warnings if report else ())], cut("actions", len(shown), len(actions))),
        ("hints", advice),
    ]
    return ok("cairn.repair/1", path=path, root=root, body=body)


def _done(done: RepairReport, budget: int) -> dict[str, Any]:
    return {
        "snapshot": done.snapshot_id,
        "changes": asdict(done.changes),
        "quarantine": done.quarantine,
        "moved": done.moved,
        "left": fit(done.left, budget // 16),
        "fellBack": done.fell_back,
        "failed": fit(_failed(done.failed), budget // 8),
        "sound": all(row.severity is not Severity.ERROR for row in done.findings),
        "counts": _severities(done.findings),
        "results": fit([finding_row(row) for row in worst_first(done.findings)], budget // 8),
        "timingsMs": {"total": round(1_000 * done.seconds)},
    }


def _severities(findings: Sequence[HealthFinding]) -> dict[str, int]:
    return {severity.value: sum(row.severity is severity for row in findings) for severity in Severity}


# --- The compaction of an index.


def compact_report(
    *,
    path: str,
    root: str,
    published: bool,
    before: Mapping[str, str | int],
    after: Mapping[str, str | int],
    note: str | None,
    warnings: Sequence[str] = (),
) -> Envelope:
    """Return how the snapshot lay on the disk before, and how it lies now."""
    body = [
        ("published", published),
        ("before", dict(before)),
        ("after", dict(after)),
        ("note", note if note is None else plain(note)),
        *tail(warnings),
        ("hints", {}),
    ]
    return ok("cairn.compact/1", path=path, root=root, body=body)


# --- The collection of old snapshots of one index, or of unused stores.


_SCHEMA = "cairn.gc/1"


def collect_report(
    *,
    path: str,
    root: str,
    dry_run: bool,
    snapshots: Sequence[str],
    segments: int,
    staging: int,
    freed_bytes: int,
    kept: int,
    note: str | None,
    warnings: Sequence[str] = (),
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return what was removed from one index, or would be; `note` says why nothing could be."""
    shown = fit(snapshots, min(budget, MAX_ENVELOPE_BYTES) // 2)
    body = [
        ("dryRun", dry_run),
        ("freedBytes", freed_bytes),
        ("index", {"snapshots": shown, "segments": segments, "staging": staging, "kept": kept}),
        ("stores", None),
        ("note", None if note is None else plain(note)),
        *tail(warnings, cut("snapshots", len(shown), len(snapshots))),
        ("hints", {}),
    ]
    return ok(_SCHEMA, path=path, root=root, body=body)


def stores_report(
    *, path: str, root: str | None, dry_run: bool, collected: StoresCollected, budget: int = DEFAULT_ENVELOPE_BYTES
) -> Envelope:
    """Return which stores were removed, or would be, and why the others stay."""
    room = min(budget, MAX_ENVELOPE_BYTES) // 4
    removed = [
        {"id": entry.store_id, "root": entry.root, "lastUsedAt": entry.last_used_at, "bytes": entry.size_bytes}
        for entry in collected.removed
    ]
    kept = [{"id": row.entry.store_id, "because": row.because.value, "why": plain(row.why)} for row in collected.kept]
    shown, stayed = fit(removed, room), fit(kept, room)
    body = [
        ("dryRun", dry_run),
        ("freedBytes", collected.freed_bytes),
        ("index", None),
        ("stores", {"removed": shown, "kept": stayed}),
        ("note", None),
        *tail(collected.notes, cut("removed", len(shown), len(removed)), cut("kept", len(stayed), len(kept))),
        ("hints", {}),
    ]
    return ok(_SCHEMA, path=path, root=root, body=body)


# --- The upgrade of a store.


def upgrade_report(
    *,
    path: str,
    root: str,
    snapshot_id: str,
    generation: int,
    raised: Sequence[tuple[str, int, int]],
    segments: int,
    files: int,
    chunks: int,
    seconds: float,
    warnings: Sequence[str] = (),
) -> Envelope:
    """Return which artifacts had an older version, and their version now; none when there was nothing to do."""
    return ok(
        "cairn.upgrade/1",
        path=path,
        root=root,
        body=[
            ("published", bool(raised)),
            ("snapshot", {"id": snapshot_id, "generation": generation}),
            ("raised", [{"artifact": plain(name), "from": before, "to": now} for name, before, now in raised]),
            ("segments", segments),
            ("coverage", {"indexed": files, "chunks": chunks}),
            ("timingsMs", {"total": round(1_000 * seconds)}),
            *tail(warnings),
            ("hints", {}),
        ],
    )
