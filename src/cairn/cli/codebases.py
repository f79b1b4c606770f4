"""`cairn list`: every codebase that you have indexed, and where it stands."""

from __future__ import annotations

import argparse
import os
from typing import Any

from cairn.answer.codebases import codebase_list, codebase_rows
from cairn.answer.envelope import plain
from cairn.cli.output import Output, counted
from cairn.config import cairn_home
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.source.root import printable
from cairn.sync.tracking import Members


def configure(parser: argparse.ArgumentParser) -> None:
    """`cairn list` has no options of its own."""


def run(options: argparse.Namespace, output: Output) -> int:
    """List them; nothing is changed, and no file of theirs is looked at."""
    home = cairn_home(output.around.environ)
    found = Members(home).look()
    if options.json:
        output.line(codebase_list(found.stores, tracked=found.tracked, budget=MAX_ENVELOPE_BYTES).to_json())
        return 0
    rows = codebase_rows(found.stores, roots={}, tracked=found.tracked)
    for row in rows:
        output.line(_line(row, output))
        if row["trouble"]:
            output.note(f"  {row['trouble']['message']}")
    output.note(f"{counted(len(rows), 'codebase')} in {printable(os.fsencode(home))}." if rows else "None is indexed.")
    return 0


def _line(row: dict[str, Any], output: Output) -> str:
    root = "a folder that is not known" if row["root"] is None else printable(os.fsencode(row["root"]))
    gone = output.styled(" (no longer there)", "yellow") if row["rootExists"] is False else ""
    files = "" if row["files"] is None else f"  {counted(row['files'], 'file')}"
    synced = f"  synced {row['lastSyncAt']}" if row["lastSyncAt"] else ""
    model = f"  {plain(row['embeddingModel'])}" if row["embeddingModel"] else ""
    return f"{output.styled(row['state'], 'cyan')}{files}{synced}{model}  {root}{gone}"
