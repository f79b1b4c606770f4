"""`cairn files`: the eligible set, and what is left out and why."""

from __future__ import annotations

import argparse
import os
from collections import Counter

from cairn.answer.envelope import FileRow, SkipRow, file_list, plain
from cairn.cli.output import Output, counted
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.source.root import printable
from cairn.sync.codebase import open_codebase
from cairn.sync.survey import Survey, survey
from cairn.types import SKIP_SENTENCES, Skip


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn files`."""
    parser.add_argument("--skipped", action="store_true", help="list what is left out instead, with the reason")
    parser.add_argument("--after", metavar="PATH", help="with --json: go on after this path (`continuation` names it)")


def run(options: argparse.Namespace, output: Output) -> int:
    """List, then say on stderr what the list leaves out."""
    codebase = open_codebase(options.root, os.environ)
    progress = output.progress()
    try:
        found = survey(codebase, progress)
    finally:
        progress.done()
    if options.json:
        envelope = file_list(
            path=options.root,
            root=codebase.root.path,
            eligible=[FileRow(file.key, file.size, file.language) for file in found.eligible],
            skipped=[SkipRow(printable(s.raw), s.reason, s.detail, s.folder) for s in found.skips],
            show_skipped=options.skipped,
            collisions=[[printable(raw) for raw in group] for group in found.walked.collisions],
            warnings=_warnings(found, codebase.config.warnings),
            after=options.after,
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
        return 0
    if options.skipped:
        for skip in found.skips:
            output.line(_skip_line(skip, output))
    else:
        for file in found.eligible:
            output.line(printable(file.key.encode()))
    _summary(found, output, options.skipped)
    for warning in _warnings(found, codebase.config.warnings):
        output.note(output.styled("note: ", "yellow", output.stderr) + plain(warning))
    return 0


def _skip_line(skip: Skip, output: Output) -> str:
    name = printable(skip.raw) + ("/" if skip.folder else "")
    detail = f"  {output.styled(plain(skip.detail), 'dim')}" if skip.detail else ""
    return f"{output.styled(skip.reason.value, 'cyan')}  {name}{detail}"


def _summary(found: Survey, output: Output, listed_skips: bool) -> None:
    folders = len(found.walked.folders)
    output.note(
        f"{counted(len(found.eligible), 'file')} in {counted(folders, 'folder')}; {len(found.skips):,} left out."
    )
    counts = Counter(skip.reason for skip in found.skips)
    for reason, count in counts.most_common():
        output.note(f"  {reason.value:<20} {count:>7,}  {SKIP_SENTENCES[reason]}")
    if counts and not listed_skips:
        output.note("`cairn files --skipped` lists them; `cairn why PATH` explains one.")


def _warnings(found: Survey, config_warnings: tuple[str, ...]) -> list[str]:
    warnings = [*config_warnings, *found.walked.warnings]
    for group in found.walked.collisions:
        names = ", ".join(printable(raw) for raw in group)
        warnings.append(f"These names differ only in case or in how they are composed: {names}.")
    for label, count in found.hidden:
        warnings.append(
            f"{label} would hide {counted(count, 'file')} listed here. Cairn does not honour it, so that everyone who"
            " works on this repository gets the same index; use .gitignore or .cairnignore instead."
        )
    warnings += [
        f"{printable(file.raw)} changed each of the {file.attempts} times it was read." for file in found.unstable
    ]
    return warnings
