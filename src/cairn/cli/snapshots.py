"""`cairn snapshots`: the snapshots that are kept, the newest first."""

from __future__ import annotations

import argparse
import os

from cairn.answer.gate import state_sentence
from cairn.answer.runs import not_indexed, snapshot_list
from cairn.cli.output import Output, counted
from cairn.cli.status import git_words
from cairn.config import cairn_home
from cairn.errors import NotIndexed
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.source.root import printable
from cairn.store.standing import SnapshotInfo, State
from cairn.sync.codebase import open_codebase
from cairn.sync.later import later_warnings, reading
from cairn.sync.status import kept_snapshots


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn snapshots`."""
    parser.add_argument(
        "--read-only", action="store_true", help="read an index of a later format as far as it is known"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """List them; the one that answers is marked."""
    codebase = open_codebase(options.root, os.environ)
    root = codebase.root.path
    with reading(options.read_only) as met:
        found = kept_snapshots(codebase, cairn_home(os.environ))
    warnings = later_warnings(met)
    if not found:
        if options.json:
            output.line(not_indexed("cairn.snapshots/1", path=options.root, root=root).to_json())
        else:
            sentence, advice = state_sentence(State.NOT_INDEXED, printable(os.fsencode(root)))
            output.line(sentence)
            output.note(advice)
        return NotIndexed.exit_status
    if options.json:
        envelope = snapshot_list(
            path=options.root, root=root, snapshots=found, warnings=warnings, budget=MAX_ENVELOPE_BYTES
        )
        output.line(envelope.to_json())
        return 0
    for snapshot in found:
        output.line(_line(snapshot, output))
    for warning in warnings:
        output.note(warning)
    return 0


def _line(snapshot: SnapshotInfo, output: Output) -> str:
    mark = output.styled("*", "green") if snapshot.active else " "
    holds = f"{counted(snapshot.files, 'file')}, {counted(snapshot.chunks, 'chunk')}"
    degraded = f"; {counted(snapshot.errors, 'file')} failed" if snapshot.degraded else ""
    name = output.styled(snapshot.id, "cyan")
    return f"{mark} {snapshot.generation:>6,}  {name}  {snapshot.created_at}  {holds}; {git_words(snapshot)}{degraded}"
