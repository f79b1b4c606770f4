"""`cairn semantic discover`: the parts of a codebase that an indexer understands, and why these."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from cairn.answer.contexts import ContextRow, DetachedRow, context_list
from cairn.answer.envelope import plain
from cairn.cli.output import Output, counted
from cairn.config import cairn_home
from cairn.errors import IndexerMissing
from cairn.limits import MAX_ENVELOPE_BYTES, MAX_PROJECT_FILE_BYTES
from cairn.semantic.contexts import Discovery, discover
from cairn.semantic.indexers import BY_FAMILY
from cairn.semantic.model import Context
from cairn.semantic.tools import find_tool, install_command
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.walk import walk
from cairn.sync.codebase import Codebase, open_codebase

_MOST_SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """There are no options of its own."""


def run(options: argparse.Namespace, output: Output) -> int:
    """Look at the names and the project files of the tree; nothing is indexed, and nothing is run."""
    environ = output.around.environ
    codebase = open_codebase(options.root, environ)
    found = _discovered(codebase)
    rows = [_row(one, found, codebase, environ) for one in found.contexts]
    warnings = [f"{counted(found.left_out, 'context')} more are left out."] if found.left_out else []
    if options.json:
        detached = [DetachedRow(one.family.value, one.root, one.fence, one.why) for one in found.detached]
        envelope = context_list(
            rows, detached, path=options.root, root=codebase.root.path, warnings=warnings, budget=MAX_ENVELOPE_BYTES
        )
        output.line(envelope.to_json())
        return 0
    _show(rows, found, output)
    for warning in warnings:
        output.note(warning)
    return 0


def _discovered(codebase: Codebase) -> Discovery:
    with Tree(codebase.root) as tree:
        walked = walk(tree, codebase.config, tracked=codebase.tracked)
        raw = {candidate.key: candidate.raw for candidate in walked.candidates}
        return discover(raw, lambda key: tree.read_small(raw[key], MAX_PROJECT_FILE_BYTES))


def _row(context: Context, found: Discovery, codebase: Codebase, environ: Mapping[str, str]) -> ContextRow:
    indexer, home = BY_FAMILY[context.family], cairn_home(environ)
    program, trouble = None, ""
    try:
        tool = find_tool(
            indexer, root=codebase.root.path, home=home, environ=environ, settings=codebase.config.semantic
        )
        program = tool.program
    except IndexerMissing as problem:
        trouble = str(problem.fields["why"])
    return ContextRow(
        id=context.id,
        family=context.family.value,
        root=context.root,
        name=context.name,
        fence=context.fence,
        why=context.why,
        files=found.counts[context.id],
        config_hash=context.config_hash,
        punched=context.punched,
        indexer=indexer.name,
        program=program,
        trouble=trouble,
        install=install_command(indexer, home),
        tested=indexer.tested,
    )


def _show(rows: list[ContextRow], found: Discovery, output: Output) -> None:
    if not rows:
        output.line("No file here is of a language that an indexer reads.")
    for row in rows:
        name = f"  {plain(row.name)}" if row.name not in row.id else ""
        output.line(f"{output.styled(_shown(row.id), 'cyan')}{name}  {counted(row.files, 'file')}")
        output.line(f"    {plain(row.why)}")
        if row.punched:
            output.line(f"    Without {_some(row.punched)}.")
        state = "is there" if row.program else f"is missing: {plain(row.trouble)}"
        output.line(f"    {row.indexer} {state}{'' if row.tested else ' (untested)'}.")
    for one in found.detached:
        output.line(f"{output.styled('detached', 'yellow')}  {one.family.value}:{_shown(one.root)}")
        output.line(f"    {plain(one.why)}")
    for command in sorted({row.install for row in rows if row.program is None}):
        output.note(f"To install: {command}")


def _some(roots: tuple[str, ...]) -> str:
    more = f" and {len(roots) - _MOST_SHOWN:,} more" if len(roots) > _MOST_SHOWN else ""
    return ", ".join(map(_shown, roots[:_MOST_SHOWN])) + more


def _shown(key: str) -> str:
    return printable(key.encode())
