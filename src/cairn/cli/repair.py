"""`cairn repair`: mend a damaged index, reading again no more than it takes."""

from __future__ import annotations

import argparse
import os

from cairn.answer.envelope import plain
from cairn.cli.health import print_finding
from cairn.cli.output import Output, counted
from cairn.config import cairn_home
from cairn.errors import NoValidSnapshot
from cairn.store.standing import RepairPlan, RepairScope, Severity
from cairn.sync.codebase import open_codebase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.repair import RepairReport

_MOST_SHOWN = 50


def configure(parser: argparse.ArgumentParser) -> None:
    """What a repair may do."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
    parser.add_argument(
        "--allow-degraded", action="store_true", help="publish without the files that cannot be indexed"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Plan or repair; 90 when an error is left that a repair cannot mend."""
    codebase = open_codebase(options.root, os.environ)
    # Reading rows needs numpy; `--help` does not.
    from cairn.sync.repair import plan, repair  # noqa: PLC0415
    from cairn.sync.run import RunOptions  # noqa: PLC0415

    settings = RunOptions(home=cairn_home(os.environ), allow_degraded=options.allow_degraded)
    report = None
    if options.dry_run:
        planned = plan(codebase, settings)
    else:
        progress = output.progress()
        try:
            report = repair(codebase, settings, progress.tell)
        finally:
            progress.done()
        planned = report.plan
    warnings = (*codebase.config.warnings, *(report.warnings if report else ()))
    if options.json:
        from cairn.serve.reports import repair_envelope  # noqa: PLC0415

        envelope = repair_envelope(options.root, codebase, planned, report)
        output.line(envelope.to_json())
    else:
        for line in plan_lines(planned, done=report is not None):
            output.line(line)
        if report is not None:
            _print_report(report, output)
        for warning in warnings:
            output.note(plain(warning))
    broken = report is not None and any(row.severity is Severity.ERROR for row in report.findings)
    return NoValidSnapshot.exit_status if broken else 0


def plan_lines(planned: RepairPlan, *, done: bool) -> list[str]:
    """What a repair does, step by step, and its scope in one sentence."""
    if planned.scope is RepairScope.NONE:
        return ["There is nothing to repair."]
    shown = [f"{row.kind}: {plain(row.path)}: {plain(row.why)}" for row in planned.actions[:_MOST_SHOWN]]
    if len(planned.actions) > _MOST_SHOWN:
        shown.append(f"and {len(planned.actions) - _MOST_SHOWN:,} more; --json lists them.")
    return [*shown, _scope(planned, done=done)]


def _scope(planned: RepairPlan, *, done: bool) -> str:
    if planned.scope is RepairScope.TIDY:
        return f"Scope: tidy. No file {'had' if done else 'has'} to be read again."
    if planned.scope is RepairScope.FULL:
        return f"Scope: full. Every file {'was' if done else 'is'} read again, because nothing whole could be built on."
    if done:
        # How many they were, the next line says: before, only the most they can be is known.
        expected = "what was missing was"
    elif planned.files:
        expected = f"at most {counted(planned.files, 'file')} {'is' if planned.files == 1 else 'are'} to be"
    else:
        expected = "what has changed since is to be"
    return f"Scope: files. On top of snapshot {planned.base}, {expected} read again."


def _print_report(report: RepairReport, output: Output) -> None:
    if report.plan.scope is RepairScope.NONE:
        return
    if report.fell_back:
        output.line("What the index knew of its own files was wrong, so every file was read again.")
    if report.snapshot_id is not None:
        read = report.changes.added + report.changes.modified + report.changes.renamed
        output.line(f"Published snapshot {report.snapshot_id}; {counted(read, 'file')} came into it again.")
    if report.quarantine is not None:
        output.line(f"Nothing was deleted; what was put aside is in {plain(report.quarantine)}")
    for path in report.left:
        output.line(f"Could not be moved, and is left where it is: {plain(path)}")
    for finding in report.findings:
        print_finding(finding, output)
    sound = all(finding.severity is not Severity.ERROR for finding in report.findings)
    output.line("The index is sound." if sound else "The index is still damaged.")
