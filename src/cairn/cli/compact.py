"""`cairn compact`: write the segments of the index anew as few, without what is dead in them."""

from __future__ import annotations

import argparse
import os

from cairn.answer.compacting import compact_report
from cairn.answer.envelope import plain
from cairn.cli.output import Output, counted, sized
from cairn.config import cairn_home
from cairn.sync.codebase import open_codebase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.compact import CompactReport, Shape


def configure(_parser: argparse.ArgumentParser) -> None:
    """`cairn compact` has the common options only."""


def run(options: argparse.Namespace, output: Output) -> int:
    """Merge, and say what came of it. Answers are the same before and after."""
    codebase = open_codebase(options.root, os.environ)
    # Merging needs numpy; `--help` does not.
    from cairn.sync.compact import compact  # noqa: PLC0415

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
        output.line(_summary(report))
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


def _summary(report: CompactReport) -> str:
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
