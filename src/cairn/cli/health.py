"""`cairn health`: read the whole index again, look at the names in the tree, and say what is wrong."""

from __future__ import annotations

import argparse
import os

from cairn.answer.envelope import plain
from cairn.answer.runs import health_report, worst_first
from cairn.cli.output import Output, counted
from cairn.config import cairn_home
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.store.standing import HealthFinding, Severity
from cairn.sync.codebase import open_codebase
from cairn.sync.later import later_warnings, reading

_UNHEALTHY = 90
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn health`."""
    parser.add_argument(
        "--read-only", action="store_true", help="read an index of a later format as far as it is known"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Check, and fail when anything found is an error. Nothing is changed or repaired."""
    codebase = open_codebase(options.root, os.environ)
    # Checking rows needs numpy; `--help` does not.
    from cairn.sync.health import check_health  # noqa: PLC0415

    progress = output.progress()
    try:
        with reading(options.read_only) as met:
            findings = check_health(codebase, cairn_home(os.environ), progress)
    finally:
        progress.done()
    warnings = later_warnings(met)
    if options.json:
        envelope = health_report(
            path=options.root,
            root=codebase.root.path,
            findings=findings,
            warnings=warnings,
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
    else:
        for finding in worst_first(findings):
            print_finding(finding, output)
        output.line(_verdict(findings))
        for warning in warnings:
            output.note(warning)
    return _UNHEALTHY if any(finding.severity is Severity.ERROR for finding in findings) else 0


def print_finding(finding: HealthFinding, output: Output) -> None:
    """One finding: what it is on stdout, what to do on stderr."""
    severity = output.styled(finding.severity.value, _STYLES[finding.severity])
    name = f"{plain(finding.path)}: " if finding.path is not None else ""
    output.line(f"{severity}: {name}{plain(finding.message)}")
    if finding.advice:
        output.note(f"  {plain(finding.advice)}")


def _verdict(findings: list[HealthFinding]) -> str:
    if not findings:
        return "The index is healthy."
    count = {severity: sum(found.severity is severity for found in findings) for severity in Severity}
    listed = ", ".join(counted(count[severity], severity.value) for severity in Severity if count[severity])
    return f"{'The index is damaged' if count[Severity.ERROR] else 'The index is healthy'}: {listed}."
