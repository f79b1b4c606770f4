"""`cairn upgrade-store`: bring an index that an older version wrote to the format of this one."""

from __future__ import annotations

import argparse
import os

from cairn.answer.envelope import plain
from cairn.answer.upgrade import upgrade_report
from cairn.cli.output import Output, counted
from cairn.config import cairn_home
from cairn.sync.codebase import open_codebase


def configure(_parser: argparse.ArgumentParser) -> None:
    """`cairn upgrade-store` has the common options only."""


def run(options: argparse.Namespace, output: Output) -> int:
    """Upgrade, and say what was of an older format. The index answers all the while."""
    codebase = open_codebase(options.root, os.environ)
    # Rewriting rows needs numpy; `--help` does not.
    from cairn.sync.run import RunOptions  # noqa: PLC0415
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
