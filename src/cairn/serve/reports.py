"""What a run came to, as the one envelope that the command line and the tools give."""

from __future__ import annotations

from cairn.answer.audit import RepairRow, repair_report
from cairn.answer.envelope import Envelope
from cairn.answer.runs import FailedRow, run_report
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.store.standing import RepairPlan
from cairn.sync.codebase import Codebase
from cairn.sync.report import Changes, RunReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.repair import RepairReport


def run_envelope(asked: str, codebase: Codebase, report: RunReport, *, budget: int = MAX_ENVELOPE_BYTES) -> Envelope:
    """What a run did to an index."""
    return run_report(
        path=asked,
        root=codebase.root.path,
        kind=report.kind,
        published=report.published,
        snapshot_id=report.snapshot_id,
        generation=report.generation,
        changes=_changes(report.changes),
        files_indexed=report.files_indexed,
        total_chunks=report.chunks_live,
        skipped=report.skipped,
        failed=[FailedRow(file.path, file.code, file.message) for file in report.failed],
        adopted=report.adopted,
        store_bytes=report.store_bytes,
        source_bytes=report.source_bytes,
        seconds=report.seconds,
        warnings=[*codebase.config.warnings, *report.warnings],
        budget=budget,
    )


def repair_envelope(
    asked: str, codebase: Codebase, plan: RepairPlan, report: RepairReport | None, *, budget: int = MAX_ENVELOPE_BYTES
) -> Envelope:
    """What a repair did, or would do while there is no report."""
    return repair_report(
        path=asked,
        root=codebase.root.path,
        plan=plan,
        done=_repaired(report) if report else None,
        warnings=(*codebase.config.warnings, *(report.warnings if report else ())),
        budget=budget,
    )


def _repaired(report: RepairReport) -> RepairRow:
    return RepairRow(
        snapshot_id=report.snapshot_id,
        changes=_changes(report.changes),
        quarantine=report.quarantine,
        moved=report.moved,
        left=report.left,
        fell_back=report.fell_back,
        failed=[FailedRow(file.path, file.code, file.message) for file in report.failed],
        findings=report.findings,
        seconds=report.seconds,
    )


def _changes(changes: Changes) -> dict[str, int]:
    return {
        "added": changes.added,
        "modified": changes.modified,
        "deleted": changes.deleted,
        "renamed": changes.renamed,
    }
