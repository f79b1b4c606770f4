"""`cairn index`, `sync`, `reindex` and `clear`: the runs that write the index."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from cairn.answer.envelope import plain
from cairn.cli.output import Output, counted, left_out, sized
from cairn.config import cairn_home
from cairn.source.root import printable
from cairn.sync.codebase import open_codebase
from cairn.sync.report import FailedFile, RunReport

_MOST_FAILURES_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the four runs; an empty index cannot be a degraded one."""
    if parser.get_default("command") != "clear":
        parser.add_argument(
            "--allow-degraded", action="store_true", help="publish without the files that cannot be indexed"
        )
    if parser.get_default("command") == "index":
        parser.add_argument("--shared", action="store_true", help="make the index for your group, not for you alone")


def run(options: argparse.Namespace, output: Output) -> int:
    """Do the run that was asked for, and say in one line what came of it."""
    # numpy and the grammars are loaded by a run, never by `--help`, and a wrong root is told before they are.
    shared = getattr(options, "shared", False)
    codebase = open_codebase(options.root, os.environ, shared=shared)
    from cairn.sync import run as engine  # noqa: PLC0415

    runs: dict[str, Callable[..., RunReport]] = {
        "index": engine.index,
        "sync": engine.sync,
        "reindex": engine.reindex,
        "clear": engine.clear,
    }
    settings = engine.RunOptions(
        home=cairn_home(os.environ),
        allow_degraded=getattr(options, "allow_degraded", False),
        shared=shared or None,
    )
    progress = output.progress()
    try:
        report = runs[options.command](codebase, settings, progress.tell)
    finally:
        progress.done()
    if options.json:
        from cairn.serve.reports import run_envelope  # noqa: PLC0415

        output.line(run_envelope(options.root, codebase, report).to_json())
        return 0
    output.line(summary(report, options.command))
    notes(report, codebase.config.warnings, output)
    return 0


def summary(report: RunReport, command: str) -> str:
    """One line: what is indexed now, what changed, what is left out, and what it takes on disk."""
    if command == "clear":
        done = "Cleared" if report.published else "There was nothing to clear"
        return f"{done}; `cairn index` fills the index again."
    parts = [_done(report, command)]
    if report.skipped:
        parts.append(f"Left out {left_out(report.skipped)}.")
    ratio = f" ({report.store_bytes / report.source_bytes:.1f} times the source)" if report.source_bytes else ""
    parts.append(f"The index takes {sized(report.store_bytes)} on disk{ratio}.")
    return " ".join(parts)


def _done(report: RunReport, command: str) -> str:
    holds = f"{counted(report.files_indexed, 'file')} ({counted(report.chunks_live, 'chunk')})"
    if not report.published:
        verb = "Already indexed" if command == "index" else "Nothing has changed"
        return f"{verb}: {holds}."
    changes = report.changes
    words = [
        f"{count:,} {word}"
        for count, word in (
            (changes.added, "added"),
            (changes.modified, "changed"),
            (changes.renamed, "renamed"),
            (changes.deleted, "removed"),
        )
        if count
    ]
    return f"Indexed {holds} in {report.seconds:.1f} s{': ' if words else ''}{', '.join(words)}."


def notes(report: RunReport, config_warnings: Sequence[str], output: Output) -> None:
    """What else there is to know: files that failed, work that was taken over, warnings."""
    mark = output.styled("note: ", "yellow", output.stderr)
    if report.adopted:
        output.note(f"{counted(report.adopted, 'file')} had been prepared by a run that was stopped.")
    if report.failed:
        output.note(f"{mark}{counted(len(report.failed), 'file')} could not be indexed:")
    for failed in report.failed[:_MOST_FAILURES_SHOWN]:
        output.note(f"  {_name(failed)}: {plain(failed.message)}")
    if len(report.failed) > _MOST_FAILURES_SHOWN:
        output.note(f"  and {len(report.failed) - _MOST_FAILURES_SHOWN:,} more; --json lists them.")
    for warning in (*config_warnings, *report.warnings):
        output.note(mark + plain(warning))


def _name(failed: FailedFile) -> str:
    return printable(os.fsencode(failed.path))
