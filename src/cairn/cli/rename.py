"""Rename a definition everywhere, and take the last edit back (`cairn rename`, `cairn undo`).

These commands write to files of the codebase, and so does whatever command comes after one of them was cut off: it
finishes that first. No other command does.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from functools import partial

from cairn.answer.semantic import rename_answer, undo_answer
from cairn.answer.structure import Timings
from cairn.ask.checking import checked
from cairn.ask.edits import rename, wanted_files
from cairn.cli.output import Output, counted
from cairn.cli.search import first_use, safe, source_notes
from cairn.cli.semantic_edits import EXIT, renaming_of, show_plan
from cairn.cli.structure import without_answer
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import cairn_home
from cairn.core.limits import MAX_ENVELOPE_BYTES
from cairn.core.text import plain
from cairn.edit.applying import CutOutcome, apply, forget, mend, undo
from cairn.edit.journal import TreeEdit
from cairn.errors import CairnError
from cairn.semantic.editing import Verdict
from cairn.sync.codebase import open_codebase

_COLOURS = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}
_MOST_SHOWN = 20


# --- cairn rename ---------------------------------------------------------------------------------------------------


def configure_rename(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn rename`."""
    add = parser.add_argument
    add("symbol", metavar="SYMBOL", help="a definition: its name, `Class.method`, `mod::name` or FILE:LINE")
    add("new", metavar="NEW", help="its new name")
    add("--file", metavar="FILE", help="the file that defines it, where several do")
    add("--apply", action="store_true", help="write the changes, if nothing stands against them; else show them only")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--check", action="store_true", help="let a compiler judge the changes, however long that takes")
    asked.add_argument("--no-check", action="store_true", help="do not let a compiler judge them")


def run_rename(options: argparse.Namespace, output: Output) -> int:
    """Show what a rename changes, or do it; the exit status is that of the gate."""
    output.around.only_where_typed()
    renaming = renaming_of(options.symbol, options.new, options.file, output.around.base(options.root))
    began = SYSTEM_CLOCK.monotonic()
    with output.around.sessions([output.around.target(options.root)], first_use(output), output) as [session]:
        reply = rename(session, renaming)
        if reply.value is not None and not options.no_check:
            environ = output.around.environ
            reply = replace(reply, value=checked(session, reply.value, environ, asked=options.check))
        plan = reply.value
        may = options.apply and plan is not None and plan.verdict is Verdict.AUTOMATIC
        files = wanted_files(session, plan) if may and plan is not None else []
        root, home = session.target.codebase.root, session.home
    edit = None
    if files and plan is not None:
        edit = apply(home, root, f"rename {plain(plan.old)} to {plain(plan.new)}", files)
    if options.json:
        timings: Timings = [("total", SYSTEM_CLOCK.monotonic() - began)]
        told = partial(rename_answer, edit=edit.number if edit else None, budget=MAX_ENVELOPE_BYTES)
        output.line(told(reply, timings=timings).to_json())
    if plan is None:
        return without_answer(reply, output)
    if not options.json:
        show_plan(plan, output, patch=show_patch, edit=edit)
        if options.apply and edit is None:
            output.note("Nothing was changed.")
        if reply.source is not None:
            source_notes(reply.source, output)
    return EXIT[plan.verdict]


def show_patch(patch: bytes, output: Output) -> None:
    """Print a patch: in colours for a person, byte for byte for a program such as `git apply`."""
    if not output.stdout.isatty() or not hasattr(output.stdout, "buffer"):
        output.data(patch)
        return
    for line in patch.decode("utf-8", "replace").splitlines():
        style = "bold" if line.startswith(("--- ", "+++ ")) else _COLOURS.get(line[:1])
        output.line(output.styled(safe(line), style) if style else safe(line))


# --- cairn undo -----------------------------------------------------------------------------------------------------


def configure_undo(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn undo`."""
    parser.add_argument(
        "--forget", action="store_true", help="leave all files as they are, and forget the edit, also one that was cut"
    )


def run_undo(options: argparse.Namespace, output: Output) -> int:
    """Give the files of the last edit below this root their old bytes again."""
    output.around.only_where_typed()
    codebase = open_codebase(output.around.path(options.root), output.around.environ)
    home = cairn_home(output.around.environ)
    if options.forget:
        forget(home, codebase.root)
        edit = None
    else:
        edit = undo(home, codebase.root)
    if options.json:
        output.line(undo_answer(edit, path=options.root, root=codebase.root.path).to_json())
    elif edit is None:
        output.line("The edit is forgotten, and all files are as they were.")
    else:
        output.line(f"Taken back: {edit.about}, {counted(len(edit.files), 'file')}.")
        _list(edit, output)
    return 0


def _list(edit: TreeEdit, output: Output) -> None:
    for path in edit.paths[:_MOST_SHOWN]:
        output.line(f"  {path}")
    if len(edit.paths) > _MOST_SHOWN:
        output.line(f"  and {counted(len(edit.paths) - _MOST_SHOWN, 'more file')}")


# --- before another command -----------------------------------------------------------------------------------------


def finish_cut_edits(output: Output) -> None:
    """Finish every edit that was cut off, or take it back, and say so; what cannot be is said and stops nothing."""
    try:
        found = mend(cairn_home(output.around.environ))
    except CairnError as problem:
        if not problem.retryable:
            output.note(f"{output.styled('note: ', 'yellow', output.stderr)}{plain(problem.sentence)}")
        return
    for one in found:
        where = plain(os.path.basename(one.root))
        said = f"An edit of {counted(one.files, 'file')} in {where} was cut off; it is {one.outcome.value} now."
        if one.outcome is CutOutcome.STUCK:
            said = plain(one.why)
        output.note(f"{output.styled('note: ', 'yellow', output.stderr)}{said}")
