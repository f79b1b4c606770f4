"""Show what a change reaches (`cairn impact`): what is changed, who calls it, and which tests to run.

Before an answer the files are compared with the index, and what has changed is taken in.
"""

from __future__ import annotations

import argparse

from cairn.answer.impact import GAVE_UP, impact_answer
from cairn.ask.impact import impact
from cairn.ask.questions import IMPACT
from cairn.ask.structure import Asked, asked_of
from cairn.ask.values import Reply
from cairn.cli.options import configure_question
from cairn.cli.output import Output, counted
from cairn.cli.search import safe
from cairn.cli.structure import definition_line, print_answer
from cairn.core.options import Face
from cairn.core.text import plain
from cairn.graph.impact import Affected, Changed, Impact, ReasonToRun
from cairn.graph.scopes import Tier

configure_impact = configure_question

_MOST_NAME = 200
_MARKS = {Tier.PROVEN: "-", Tier.LIKELY: "~", Tier.NAME_ONLY: "?"}
_WHY = {
    ReasonToRun.CALLS: "calls lead to it",
    ReasonToRun.NAMED: "named after it",
    ReasonToRun.USES: "uses its name",
    ReasonToRun.IMPORTS: "imports its file",
    ReasonToRun.NEAR: "lies near it",
}


def run_impact(options: argparse.Namespace, output: Output) -> int:
    """Ask what a change reaches, and print it."""
    base = output.around.base(options.root)
    asked = None if options.symbol is None else asked_of(options.symbol, base)
    file = None if options.file is None else Asked(options.file, options.file, base)
    return print_answer(
        options,
        output,
        lambda session: impact(session, asked, file=file, **IMPACT.values(Face.CLI, vars(options))),
        lambda reply, timings: impact_answer(reply, timings=timings),
        lambda reply, told: _show(reply, told, output),
    )


def _show(reply: Reply[Impact], told: Impact, output: Output) -> None:
    root = reply.root
    for one in told.changed:
        output.line(_changed_line(root, one, output))
    _left("changed", "more definition", told, output)
    if told.revision and not told.changed:
        output.line("No definition has changed." if told.files else "Nothing has changed.")
    _part("called by", [_caller_line(root, one, output) for one in told.callers], "callers", told, output)
    heirs = [
        f"{_where(root, one.path, one.line, output)}  {_name(one.name, output)} ({one.kind})" for one in told.heirs
    ]
    _part("in its place", heirs, "heirs", told, output)
    _part("imported by", [output.clickable(root, one) for one in told.importers], "importers", told, output)
    tests = [
        f"{output.styled(output.clickable(root, one.path), 'cyan')}  {output.styled(f'({_WHY[one.reason]})', 'dim')}"
        for one in told.tests
    ]
    _part("tests to run", tests, "tests", told, output)
    if any(one.tier is Tier.LIKELY for one in told.callers):
        output.note("~ is likely; - is proven.")
    if told.looked_at:
        output.note(f"{output.styled('note: ', 'yellow', output.stderr)}{GAVE_UP}")


def _part(title: str, lines: list[str], name: str, told: Impact, output: Output) -> None:
    if lines:
        output.line(title)
        for line in lines:
            output.line(f"  {line}")
    _left(name, "more", told, output)


def _left(name: str, noun: str, told: Impact, output: Output) -> None:
    left = told.left.get(name, 0)
    if left:
        said = counted(left, noun) if noun != "more" else f"{left:,} more {name}"
        output.note(f"{said}; -k shows more.")


def _changed_line(root: str, one: Changed, output: Output) -> str:
    line = definition_line(root, one.definition, output)
    said = [one.kind.value] if one.kind is not None else []
    if one.old_name:
        said.append(f"was {plain(one.old_name, _MOST_NAME)}")
    said.append("public" if one.definition.exported else "not public")
    return f"{line}  {output.styled(', '.join(said), 'dim')}"


def _caller_line(root: str, one: Affected, output: Output) -> str:
    name = _name(one.definition.qualified, output) if one.definition is not None else "(the file itself)"
    where = _where(root, one.path, one.line, output)
    indent = "  " * (one.depth - 1)
    return f"{indent}<{_MARKS[one.tier]} {where}  {name}  {safe(one.text)}"


def _where(root: str, path: str, line: int, output: Output) -> str:
    return output.styled(f"{output.clickable(root, path)}:{line}", "cyan")


def _name(name: str, output: Output) -> str:
    return output.styled(plain(name, _MOST_NAME), "bold")
