"""Asking what leads where, and how the answers look: an envelope for programs, `path:line` and the line for people."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from cairn.answer.envelope import plain
from cairn.answer.local import local_answer
from cairn.answer.references import cautions, references_answer
from cairn.answer.structure import Reply
from cairn.cli.answers import safe
from cairn.cli.graph_answers import graph
from cairn.cli.output import Output, counted
from cairn.cli.structure_answers import definition_line, print_answer
from cairn.graph.local_uses import Locals
from cairn.graph.scopes import SEMANTIC, Tier
from cairn.graph.uses import Use, Uses
from cairn.relations import local_names_of, references
from cairn.session import Session, hold_page
from cairn.structure import Asked, asked_of

_MOST_NAME = 200
_MOST_DEFINITIONS = 20


# --- refs -------------------------------------------------------------------------------------------------------------


def _refs(options: argparse.Namespace, output: Output) -> int:
    if options.local:
        return _local(options, output)
    base = output.around.base(options.root)
    asked = asked_of(options.symbol, base)

    def ask(session: Session) -> Reply[Uses]:
        if options.continuation is not None:
            hold_page([session], options.continuation)
        return references(
            session,
            asked,
            file=None if options.file is None else Asked(options.file, options.file, base),
            min_tier=Tier(options.min_tier),
            limit=options.k,
            continuation=options.continuation,
        )

    return print_answer(
        options,
        output,
        ask,
        lambda reply, timings: references_answer(reply, timings=timings),
        lambda reply, told: _show_uses(reply, told, Tier(options.min_tier), output),
    )


def _local(options: argparse.Namespace, output: Output) -> int:
    base = output.around.base(options.root)
    asked = asked_of(options.symbol, base)
    file = None if options.file is None else Asked(options.file, options.file, base)
    return print_answer(
        options,
        output,
        lambda session: local_names_of(session, asked, file=file),
        lambda reply, timings: local_answer(reply, timings=timings),
        lambda reply, told: _show_locals(reply, told, output),
    )


def _show_locals(reply: Reply[Locals], told: Locals, output: Output) -> None:
    output.line(definition_line(reply.root, told.definition, output))
    for one in told.names:
        output.line(output.styled(plain(one.name, _MOST_NAME), "bold"))
        for place in one.places:
            where = output.styled(f"{output.clickable(reply.root, told.definition.path)}:{place.line}", "cyan")
            output.line(f"  {where}  {safe(place.text.strip())}  {output.styled(f'({place.role})', 'dim')}")
    if not told.names:
        output.line("It binds no names of its own.")


def _show_uses(reply: Reply[Uses], told: Uses, min_tier: Tier, output: Output) -> None:
    for one in told.definitions[:_MOST_DEFINITIONS]:
        output.line(definition_line(reply.root, one, output))
    for use in told.uses:
        output.line(_use_line(reply.root, use, output))
    if not told.total:
        output.line("Nothing is known to use it.")
    output.note(_counts(told, min_tier))
    for caution in cautions(told):
        output.note(output.styled("note: ", "yellow", output.stderr) + caution)


def _use_line(root: str, use: Use, output: Output) -> str:
    """`src/lease.py:12  self.steal(victim)  (call in Lease.renew, likely)`."""
    where = output.styled(f"{output.clickable(root, use.path)}:{use.line}", "cyan")
    around = f" in {plain(use.inside, _MOST_NAME)}" if use.inside else ""
    sure = f"{use.tier}, {SEMANTIC}" if use.layer == SEMANTIC else use.tier
    return f"{where}  {safe(use.text.strip())}  {output.styled(f'({use.kind}{around}, {sure})', 'dim')}"


def _counts(told: Uses, min_tier: Tier) -> str:
    """What there is in all, what is not listed, and how to see it."""
    uses = counted(told.proven + told.likely, "use")
    said = [f"{uses} ({told.proven:,} proven, {told.likely:,} likely), {counted(told.imports, 'import')}."]
    if left := told.total - told.offset - len(told.uses):
        said.append(f"{left:,} of them {'is' if left == 1 else 'are'} not shown; -k shows more at once.")
    if told.name_only:
        how = "" if min_tier is Tier.NAME_ONLY else " (--min-tier name_only lists them)"
        said.append(f"{counted(told.name_only, 'more place')} with this name may mean it or not{how}.")
    if told.elsewhere:
        means = "means" if told.elsewhere == 1 else "mean"
        said.append(f"{counted(told.elsewhere, 'place')} with this name {means} something else.")
    return " ".join(said)


COMMANDS: dict[str, Callable[[argparse.Namespace, Output], int]] = {
    "refs": _refs,
    "graph": lambda options, output: graph(options, output, output.around.base(options.root)),
}
