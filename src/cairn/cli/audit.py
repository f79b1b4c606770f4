"""`cairn audit`: compare the index with the files it was made from."""

from __future__ import annotations

import argparse
import os

from cairn.answer.audit import audit_report
from cairn.answer.envelope import plain
from cairn.cli.health import print_finding
from cairn.cli.output import Output, counted
from cairn.config import cairn_home
from cairn.errors import IndexDrifted, NoValidSnapshot, UsageError
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.sync.codebase import open_codebase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.audit import AuditReport

_MOST_SHOWN = 50


def configure(parser: argparse.ArgumentParser) -> None:
    """How many of the files that look unchanged are read again."""
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--sample",
        metavar="N",
        type=int,
        help="read N of the files that look unchanged (default: 1 in 100, at least 100)",
    )
    chosen.add_argument("--full", action="store_true", help="read every file")


def run(options: argparse.Namespace, output: Output) -> int:
    """Audit; 0 when index and files agree, 93 when the files have moved on, 90 when the index is damaged or lies."""
    if options.sample is not None and options.sample < 0:
        raise UsageError(problem="--sample takes a number of files.")
    codebase = open_codebase(options.root, os.environ)
    # Checking rows needs numpy; `--help` does not.
    from cairn.sync.audit import audit  # noqa: PLC0415

    progress = output.progress()
    try:
        report = audit(codebase, cairn_home(os.environ), progress, sample=options.sample, full=options.full)
    finally:
        progress.done()
    verdict, status = _verdict(report)
    if options.json:
        envelope = audit_report(
            path=options.root,
            root=codebase.root.path,
            verdict=verdict,
            snapshot_id=report.snapshot_id,
            coverage={
                "walked": report.walked,
                "indexed": report.indexed,
                "skipped": report.skipped,
                "missing": report.missing,
            },
            hashed=report.hashed,
            findings=report.findings,
            warnings=codebase.config.warnings,
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
        return status
    for finding in report.findings[:_MOST_SHOWN]:
        print_finding(finding, output)
    if len(report.findings) > _MOST_SHOWN:
        output.line(f"and {len(report.findings) - _MOST_SHOWN:,} more; --json lists them.")
    output.line(_summary(report, verdict))
    for warning in codebase.config.warnings:
        output.note(plain(warning))
    return status


def _verdict(report: AuditReport) -> tuple[str, int]:
    if report.damaged:
        return "damaged", NoValidSnapshot.exit_status
    if report.drifted:
        return "drifted", IndexDrifted.exit_status
    return "clean", 0


def _summary(report: AuditReport, verdict: str) -> str:
    if report.snapshot_id is None:
        return "The index is damaged, and nothing in it could be compared with the files."
    sums = f"{counted(report.indexed, 'file')} indexed, {report.skipped:,} left out, {report.walked:,} walked"
    said = {
        "clean": "The index is what the files are",
        "drifted": f"The index is sound, and {counted(report.drifted, 'file')} changed since it was made",
        "damaged": "The index is damaged",
    }
    return f"{said[verdict]}: {sums}; {counted(report.hashed, 'file')} read again."
