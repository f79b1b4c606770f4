"""Check and mend an index, and keep it small (`cairn health`, `audit`, `repair`, `compact`, `gc`, `upgrade-store`)."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from cairn.answer.runs import (
    audit_report,
    collect_report,
    compact_report,
    health_report,
    repair_envelope,
    standing_findings,
    stores_report,
    upgrade_report,
    worst_first,
)
from cairn.ask.whereabouts import Whereabouts, where
from cairn.cli.output import Output, counted, sized
from cairn.core.config import cairn_home
from cairn.core.limits import MAX_ENVELOPE_BYTES, STORE_UNUSED_DAYS
from cairn.core.text import plain
from cairn.errors import CairnError, IndexDrifted, NoValidSnapshot, RootIsBare, SourceError, UsageError
from cairn.semantic.database import SemanticDatabase
from cairn.source.root import printable
from cairn.store import RepairPlan, RepairScope
from cairn.sync.codebase import open_codebase, place_of
from cairn.sync.report import HealthFinding, RunOptions, Severity
from cairn.sync.status import later_warnings, look, reading
from cairn.sync.stores import StoresCollected, collect_stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.health import AuditReport
    from cairn.sync.repair import RepairReport
    from cairn.sync.upkeep import CollectReport, CompactReport, Shape


_UNHEALTHY = 90
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def configure_health(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn health`."""
    parser.add_argument(
        "--read-only", action="store_true", help="read an index of a later format as far as it is known"
    )


def run_health(options: argparse.Namespace, output: Output) -> int:
    """Check the index and return 90 when a finding is an error; changes and repairs nothing."""
    codebase = open_codebase(options.root, os.environ)
    # Checking rows needs numpy; `--help` does not.
    from cairn.sync.health import check_health  # noqa: PLC0415

    progress, home = output.progress(), cairn_home(os.environ)
    try:
        with reading(options.read_only) as met:
            findings = check_health(codebase, home, progress)
            stands = where(look(codebase, home, measured=False))
    finally:
        progress.done()
    findings += standing_findings(stands)
    warnings = later_warnings(met)
    if options.json:
        envelope = health_report(
            path=options.root,
            root=codebase.root.path,
            findings=findings,
            stands=stands,
            warnings=warnings,
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
    else:
        for finding in worst_first(findings):
            print_finding(finding, output)
        output.line(_health_verdict(findings, stands))
        for warning in warnings:
            output.note(warning)
    return _UNHEALTHY if any(finding.severity is Severity.ERROR for finding in findings) else 0


def print_finding(finding: HealthFinding, output: Output) -> None:
    """Print one finding: what it is on stdout, what to do on stderr."""
    severity = output.styled(finding.severity.value, _STYLES[finding.severity])
    name = f"{plain(finding.path)}: " if finding.path is not None else ""
    output.line(f"{severity}: {name}{plain(finding.message)}")
    if finding.advice:
        output.note(f"  {plain(finding.advice)}")


def _health_verdict(findings: list[HealthFinding], stands: Whereabouts) -> str:
    if not findings:
        return "The index is healthy."
    count = {severity: sum(found.severity is severity for found in findings) for severity in Severity}
    listed = ", ".join(counted(count[severity], severity.value) for severity in Severity if count[severity])
    if count[Severity.ERROR]:
        verdict = "The index is damaged"
    else:
        verdict = "The index is healthy" if stands.answers else "There is no index that answers"
    return f"{verdict}: {listed}."


# --- `cairn audit`: compare the index with the files it was made from.


_MOST_DIFFERENCES = 50


def configure_audit(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn audit`."""
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--sample",
        metavar="N",
        type=int,
        help="read N of the files that look unchanged (default: 1 in 100, at least 100)",
    )
    chosen.add_argument("--full", action="store_true", help="read every file")


def run_audit(options: argparse.Namespace, output: Output) -> int:
    """Audit; 0 when index and files agree, 93 when files have changed since, 90 when the index is damaged or wrong."""
    if options.sample is not None and options.sample < 0:
        raise UsageError(problem="--sample takes a number of files.")
    codebase = open_codebase(options.root, os.environ)
    # Checking rows needs numpy; `--help` does not.
    from cairn.sync.health import audit  # noqa: PLC0415

    progress = output.progress()
    try:
        report = audit(codebase, cairn_home(os.environ), progress, sample=options.sample, full=options.full)
    finally:
        progress.done()
    verdict, status = _audit_verdict(report)
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
    for finding in report.findings[:_MOST_DIFFERENCES]:
        print_finding(finding, output)
    if len(report.findings) > _MOST_DIFFERENCES:
        output.line(f"and {len(report.findings) - _MOST_DIFFERENCES:,} more; --json lists them.")
    output.line(_audit_summary(report, verdict))
    for warning in codebase.config.warnings:
        output.note(plain(warning))
    return status


def _audit_verdict(report: AuditReport) -> tuple[str, int]:
    if report.damaged:
        return "damaged", NoValidSnapshot.exit_status
    if report.drifted:
        return "drifted", IndexDrifted.exit_status
    return "clean", 0


def _audit_summary(report: AuditReport, verdict: str) -> str:
    if report.snapshot_id is None:
        return "The index is damaged, and nothing in it could be compared with the files."
    sums = f"{counted(report.indexed, 'file')} indexed, {report.skipped:,} left out, {report.walked:,} walked"
    said = {
        "clean": "The index is what the files are",
        "drifted": f"The index is sound, and {counted(report.drifted, 'file')} changed since it was made",
        "damaged": "The index is damaged",
    }
    return f"{said[verdict]}: {sums}; {counted(report.hashed, 'file')} read again."


# --- `cairn repair`: mend a damaged index, reading again no more than it takes.


_MOST_FINDINGS = 50


def configure_repair(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn repair`."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
    parser.add_argument(
        "--allow-degraded", action="store_true", help="publish without the files that cannot be indexed"
    )


def run_repair(options: argparse.Namespace, output: Output) -> int:
    """Plan or repair; returns 90 when an error is left that a repair cannot mend."""
    codebase = open_codebase(options.root, os.environ)
    # Reading rows needs numpy; `--help` does not.
    from cairn.sync.repair import plan, repair  # noqa: PLC0415

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
        envelope = repair_envelope(options.root, codebase.root.path, planned, report, warnings=codebase.config.warnings)
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
    """Return what a repair does, step by step, and its scope in one sentence."""
    if planned.scope is RepairScope.NONE:
        return ["There is nothing to repair."]
    shown = [f"{row.kind}: {plain(row.path)}: {plain(row.why)}" for row in planned.actions[:_MOST_FINDINGS]]
    if len(planned.actions) > _MOST_FINDINGS:
        shown.append(f"and {len(planned.actions) - _MOST_FINDINGS:,} more; --json lists them.")
    return [*shown, _scope(planned, done=done)]


def _scope(planned: RepairPlan, *, done: bool) -> str:
    if planned.scope is RepairScope.TIDY:
        return f"Scope: tidy. No file {'had' if done else 'has'} to be read again."
    if planned.scope is RepairScope.FULL:
        return f"Scope: full. Every file {'was' if done else 'is'} read again, because nothing whole could be built on."
    if done:
        # The next line says how many files were read; before a repair only the most they can be is known.
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


# --- `cairn compact`: merge the segments of the index into few, without dead rows.


def configure_compact(_parser: argparse.ArgumentParser) -> None:
    """Add nothing: `cairn compact` has the common options only."""


def run_compact(options: argparse.Namespace, output: Output) -> int:
    """Merge the segments and print the result; answers are the same before and after."""
    codebase = open_codebase(options.root, os.environ)
    # Merging needs numpy; `--help` does not.
    from cairn.sync.upkeep import compact  # noqa: PLC0415

    progress = output.progress()
    try:
        report = compact(codebase, cairn_home(os.environ), progress.tell)
    finally:
        progress.done()
    if options.json:
        envelope = compact_report(
            path=options.root,
            root=codebase.root.path,
            published=report.published,
            before=_fields(report.before),
            after=_fields(report.after),
            note=report.note,
            warnings=codebase.config.warnings,
        )
        output.line(envelope.to_json())
    else:
        output.line(_compact_summary(report))
        for warning in codebase.config.warnings:
            output.note(plain(warning))
    return 0


def _fields(shape: Shape) -> dict[str, str | int]:
    return {
        "snapshot": shape.snapshot_id,
        "segments": shape.segments,
        "tombstones": shape.tombstones,
        "bytes": shape.size_bytes,
    }


def _compact_summary(report: CompactReport) -> str:
    before, after = report.before, report.after
    if report.note is not None:
        return f"Nothing was merged: {report.note[:1].lower()}{report.note[1:]}"
    if not report.published:
        return f"There is nothing to merge: {counted(after.segments, 'segment')}, {sized(after.size_bytes)}."
    return (
        f"Merged {counted(before.segments, 'segment')} into {after.segments:,}:"
        f" {sized(before.size_bytes)} became {sized(after.size_bytes)}."
        " What older snapshots hold is freed by `cairn gc` when its time has come."
    )


# --- `cairn gc`: remove old snapshots and what only they used; with `--stores`, indexes that nobody uses.


def configure_gc(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn gc`."""
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only say what would go")
    add("--stores", action="store_true", help="remove whole indexes that were not used for long, of any folder")
    add("--unused-days", metavar="N", type=int, help=f"with --stores: how long that is (default: {STORE_UNUSED_DAYS})")
    add("--force", action="store_true", help="with --stores: the index of this folder as well, if it was not used")


def run_gc(options: argparse.Namespace, output: Output) -> int:
    """Collect and print what went; when nothing could go, that is printed and is no failure."""
    if not options.stores and (options.force or options.unused_days is not None):
        raise UsageError(problem="--unused-days and --force go with --stores.")
    if options.unused_days is not None and options.unused_days < 0:
        raise UsageError(problem="--unused-days takes a number of days, 0 or more.")
    return _stores(options, output) if options.stores else _snapshots(options, output)


def _snapshots(options: argparse.Namespace, output: Output) -> int:
    codebase = open_codebase(options.root, os.environ)
    # What reads an index is loaded by a run, never by `--help`.
    from cairn.sync.upkeep import gc  # noqa: PLC0415

    progress = output.progress()
    try:
        report = gc(codebase, RunOptions(cairn_home(os.environ)), progress.tell, dry_run=options.dry_run)
    finally:
        progress.done()
    if options.json:
        envelope = collect_report(
            path=options.root,
            root=codebase.root.path,
            dry_run=report.dry_run,
            snapshots=report.snapshots,
            segments=report.segments,
            staging=report.staging,
            freed_bytes=report.freed_bytes,
            kept=report.kept,
            note=report.note,
            warnings=(*codebase.config.warnings, *report.warnings),
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
        return 0
    output.line(_gc_summary(report))
    for warning in (*codebase.config.warnings, *report.warnings):
        output.note(plain(warning))
    return 0


def _gc_summary(report: CollectReport) -> str:
    if report.note is not None:
        return plain(report.note)
    went = [
        counted(count, noun)
        for count, noun in (
            (len(report.snapshots), "snapshot"),
            (report.segments, "segment"),
            (report.staging, "unfinished piece"),
        )
        if count
    ]
    kept = f"{counted(report.kept, 'snapshot')} {'stays' if report.kept == 1 else 'stay'}."
    if not went:
        return f"There is nothing to remove; {kept}"
    verb = "Would remove" if report.dry_run else "Removed"
    return f"{verb} {', '.join(went)}: {sized(report.freed_bytes)}. {kept}"


# --- whole indexes ----------------------------------------------------------------------------------------------------


def _stores(options: argparse.Namespace, output: Output) -> int:
    from cairn.sync.reconcile import prune  # noqa: PLC0415

    home = cairn_home(os.environ)
    root, current = _here(options.root, home)
    days = STORE_UNUSED_DAYS if options.unused_days is None else options.unused_days
    collected = collect_stores(home, current=current, unused_days=days, force=options.force, dry_run=options.dry_run)
    collected = _with_semantics(collected, home, dry_run=options.dry_run)
    if collected.removed and not options.dry_run:
        # The registry forgets a collected index, so that the next search in its folder may make it anew.
        prune(home)
    if options.json:
        envelope = stores_report(
            path=options.root, root=root, dry_run=options.dry_run, collected=collected, budget=MAX_ENVELOPE_BYTES
        )
        output.line(envelope.to_json())
        return 0
    _show(collected, options.dry_run, output)
    return 0


def _with_semantics(collected: StoresCollected, home: str, *, dry_run: bool) -> StoresCollected:
    """Remove what indexers know of a folder with its last index; a database that a refresh writes stays for now."""
    staying = {kept.entry.root for kept in collected.kept}
    freed, notes = collected.freed_bytes, list(collected.notes)
    for root in sorted({entry.root for entry in collected.removed if entry.root is not None} - staying):
        try:
            freed += SemanticDatabase(home, root).remove(dry_run=dry_run)
        except CairnError as problem:
            notes.append(problem.sentence)
    return replace(collected, freed_bytes=freed, notes=tuple(notes))


def _here(folder: str, home: str) -> tuple[str | None, frozenset[str]]:
    """Return the root of this folder and the id of its store, which is spared; a missing folder has none.

    Settings that cannot be read raise an error: which store to spare would not be known.
    """
    try:
        codebase = open_codebase(folder, os.environ)
    except (SourceError, RootIsBare):
        return None, frozenset()
    return codebase.root.path, frozenset({place_of(codebase, home).store_id})


def _show(collected: StoresCollected, dry_run: bool, output: Output) -> None:
    for entry in collected.removed:
        root = "a folder that is not known" if entry.root is None else printable(os.fsencode(entry.root))
        output.line(f"{sized(entry.size_bytes):>10}  {entry.store_id}  {root}")
    verb = "Would remove" if dry_run else "Removed"
    size, stays = sized(collected.freed_bytes), "stays" if len(collected.kept) == 1 else "stay"
    output.line(
        f"{verb} {_indexes(len(collected.removed))}: {size}. {_indexes(len(collected.kept)).capitalize()} {stays}."
    )
    for kept in collected.kept:
        output.note(f"Kept: {kept.entry.store_id}. {plain(kept.why)}")
    for note in collected.notes:
        output.note(plain(note))


def _indexes(number: int) -> str:
    return "1 index" if number == 1 else f"{number or 'no'} indexes"


# --- `cairn upgrade-store`: bring an index that an older version wrote to the format of this one.


def configure_upgrade(_parser: argparse.ArgumentParser) -> None:
    """Add nothing: `cairn upgrade-store` has the common options only."""


def run_upgrade(options: argparse.Namespace, output: Output) -> int:
    """Upgrade the store and print what had an older format; the index answers all the while."""
    codebase = open_codebase(options.root, os.environ)
    # Rewriting rows needs numpy; `--help` does not.
    from cairn.sync.upgrade import upgrade  # noqa: PLC0415

    progress = output.progress()
    try:
        report = upgrade(codebase, RunOptions(home=cairn_home(os.environ)), progress.tell)
    finally:
        progress.done()
    raised = [(each.artifact, each.before, each.now) for each in report.raised]
    if options.json:
        envelope = upgrade_report(
            path=options.root,
            root=codebase.root.path,
            snapshot_id=report.snapshot_id,
            generation=report.generation,
            raised=raised,
            segments=report.segments,
            files=report.files,
            chunks=report.chunks,
            seconds=report.seconds,
            warnings=report.warnings,
        )
        output.line(envelope.to_json())
        return 0
    for warning in report.warnings:
        output.note(plain(warning))
    if not raised:
        output.line("There is nothing to upgrade: the index has the format of this version.")
        return 0
    listed = ", ".join(f"{name} {before} to {now}" for name, before, now in raised)
    holds = f"{counted(report.files, 'file')} ({counted(report.chunks, 'chunk')})"
    output.line(f"Upgraded {holds} in {report.seconds:.1f} s: {listed}.")
    return 0
