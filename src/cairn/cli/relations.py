"""Show what leads where in the code, and how sure each step is (`cairn refs`, `graph`, `map`).

Before an answer the files are compared with the index, and what has changed is taken in.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable

from cairn.answer.structure import (
    call_graph_answer,
    graph_cautions,
    local_answer,
    map_answer,
    references_answer,
    shown_notes,
    use_cautions,
)
from cairn.ask.questions import GRAPH, MAP, REFS
from cairn.ask.relations import call_graph, local_names_of, references, repo_map
from cairn.ask.session import Session, hold_page
from cairn.ask.structure import Asked, asked_of
from cairn.ask.values import Reply
from cairn.cli.options import configure_question
from cairn.cli.output import Output, counted
from cairn.cli.places import PrintedPlace, is_for_places, print_places
from cairn.cli.search import safe
from cairn.cli.structure import definition_line, print_answer
from cairn.core.options import Face
from cairn.core.text import plain
from cairn.errors import UsageError
from cairn.graph.calls import CallGraph, Direction, Edge, Node
from cairn.graph.callsites import EdgeKind
from cairn.graph.outline import Definition
from cairn.graph.pictures import dot, mermaid
from cairn.graph.scopes import SEMANTIC, Tier
from cairn.graph.uses import Locals, Use, UseRole, Uses

# --- `cairn graph`: who calls a definition and what it calls, as a tree, an envelope, or a picture to draw.


_MOST_NAME = 200
_PICTURES = {"dot": dot, "mermaid": mermaid}
_LINES = {Tier.PROVEN: "-", Tier.LIKELY: "~", Tier.NAME_ONLY: "?"}
_NOTES = {
    "unresolved_edge": ("call", "by a name that several things may have"),
    "dynamic_edge": ("call", "that only the running program knows"),
    "missing_symbol_metadata": ("file", "with code that is not parsed or in no definition"),
    "suppressed_edge": ("definition", "with more edges than are shown"),
}


def graph(options: argparse.Namespace, output: Output, base: str) -> int:
    """Ask for a call graph and print it; names of files are relative to `base`."""
    if options.callers + options.callees + options.tests + (options.to is not None) > 1:
        raise UsageError(problem="Take --callers, --callees, --tests or --to; without any both ways are shown.")
    GRAPH.check(notes=options.notes)
    if options.format == "json":
        options.json = output.json = True
    one_way = {"callers": Direction.CALLERS, "callees": Direction.CALLEES, "tests": Direction.TESTS}

    def ask(session: Session) -> Reply[CallGraph]:
        return call_graph(
            session,
            asked_of(options.symbol, base),
            file=None if options.file is None else Asked(options.file, options.file, base),
            direction=next((way for said, way in one_way.items() if getattr(options, said)), Direction.BOTH),
            to=None if options.to is None else asked_of(options.to, base),
            **GRAPH.values(Face.CLI, vars(options)),
        )

    return print_answer(
        options,
        output,
        ask,
        lambda reply, timings: call_graph_answer(reply, note_limit=options.notes, timings=timings),
        lambda reply, told: _show(reply, told, options, output),
    )


def _show(reply: Reply[CallGraph], told: CallGraph, options: argparse.Namespace, output: Output) -> None:
    if draw := _PICTURES.get(options.format):
        for line in draw(told).splitlines():
            output.line(safe(line))
    else:
        _Tree(reply.root, told, output).show()
    _name_others(reply.root, told.candidates, output)
    _say_the_rest(reply.root, told, options.notes, output)


class _Tree:
    """The graph as text, each definition once: below it what calls it, or what it calls."""

    def __init__(self, root: str, told: CallGraph, output: Output) -> None:
        self._root, self._told, self._output = root, told, output
        self._nodes = {node.id: node for node in told.nodes}

    def show(self) -> None:
        told = self._told
        self._output.line(self._where(self._nodes[told.root]))
        if told.target:
            for edge in told.edges:
                self._output.line(f"  {self._edge_line(edge, self._nodes[edge.dst], callers=False)}")
            return
        if told.direction is not Direction.CALLEES:
            self._side("reached by" if told.direction is Direction.TESTS else "called by", callers=True)
        if told.direction in (Direction.CALLEES, Direction.BOTH):
            self._side("calls", callers=False)

    def _side(self, title: str, *, callers: bool) -> None:
        told = self._told
        below: dict[str, list[Edge]] = {}
        for edge in told.edges:
            below.setdefault(edge.dst if callers else edge.src, []).append(edge)
        starts = [told.root] if callers else [told.root, *told.members]
        if not any(start in below for start in starts):
            self._output.line(f"{title} nothing that is known")
            return
        self._output.line(title)
        # Breadth first, as the graph was walked, so that a near definition is not hidden below a far one.
        parents = self._parents(starts, below, callers=callers)
        for start in starts:
            inner = start != told.root
            if inner:
                self._output.line(f"  in {self._where(self._nodes[start])}")
            self._below(start, below, parents, 2 if inner else 1, callers=callers)

    def _parents(self, starts: list[str], below: dict[str, list[Edge]], *, callers: bool) -> dict[str, str]:
        parents = dict.fromkeys(starts, "")
        frontier = starts
        while frontier:
            following = []
            for each in frontier:
                for edge in below.get(each, ()):
                    other = edge.src if callers else edge.dst
                    if other not in parents:
                        parents[other] = each
                        following.append(other)
            frontier = following
        return parents

    def _below(
        self, at: str, below: dict[str, list[Edge]], parents: dict[str, str], depth: int, *, callers: bool
    ) -> None:
        for edge in below.get(at, ()):
            other = edge.src if callers else edge.dst
            own = parents[other] == at
            again = " (itself)" if other == at else "" if own or other not in below else " (shown elsewhere)"
            line = self._edge_line(edge, self._nodes[other], again, callers=callers)
            self._output.line("  " * depth + line)
            if own and other != at:
                self._below(other, below, parents, depth + 1, callers=callers)

    def _edge_line(self, edge: Edge, node: Node, again: str = "", *, callers: bool) -> str:
        """Return `<~ src/lease.py:12  Lease.renew (method, 2 calls)  lease.steal()`: a caller stands at its call.

        A callee stands at its own place. The line of the call comes last.
        """
        mark = _LINES[edge.tier]
        arrow = f"<{mark}" if callers else f"{mark}>"
        said = [node.definition.kind if node.definition else "file"]
        if edge.kind is EdgeKind.IMPORT:
            said.append("import")
        elif edge.count > 1:
            said.append(f"{edge.count:,} calls")
        if node.used_in:
            said.append(f"used in {node.used_in:,} files")
        if node.is_test:
            said.append("test")
        line = edge.site.line if callers else node.line
        text = f"  {safe(edge.site.text)}" if edge.site.text else ""
        return f"{arrow} {self._where(node, line, ', '.join(said))}{again}{text}"

    def _where(self, node: Node, line: int | None = None, said: str = "") -> str:
        where = self._output.styled(f"{self._output.clickable(self._root, node.path)}:{line or node.line}", "cyan")
        if node.definition is None:
            return f"{where}  {self._output.styled(f'({said})', 'dim')}"
        name = self._output.styled(plain(node.definition.qualified, _MOST_NAME), "bold")
        return f"{where}  {name} {self._output.styled(f'({said or node.definition.kind})', 'dim')}"


def _say_the_rest(root: str, told: CallGraph, limit: int, output: Output) -> None:
    """Print how to read the lines, what did not fit, and the notes on what is not in the graph."""
    tiers = {edge.tier for edge in told.edges}
    meaning = [
        *(["~ is likely"] if Tier.LIKELY in tiers else []),
        *(["? is no more than a name"] if Tier.NAME_ONLY in tiers else []),
    ]
    if meaning:
        output.note(f"{', '.join(meaning)}; - is proven.")
    if told.edges_left:
        output.note(f"{counted(told.edges_left, 'more edge')} did not fit; -k shows more.")
    notes = shown_notes(told, told.nodes, told.edges, limit)
    if output.verbosity > 0:
        for note in notes.notes:
            line = "" if note.start_line is None else f":{note.start_line}"
            text = f"  {plain(note.text, _MOST_NAME)}" if note.text else ""
            where = f"{output.clickable(root, note.file)}{line}"
            output.note(f"{where}{text}  ({note.type.value}) {note.detail or ''}".rstrip())
        if notes.truncated:
            output.note(f"{counted(notes.total - len(notes.notes), 'more note')}; --notes shows more.")
    elif notes.total:
        kinds = Counter(note.type.value for note in shown_notes(told, told.nodes, told.edges, notes.total).notes)
        said = [f"{counted(kinds[kind], noun)} {words}" for kind, (noun, words) in _NOTES.items() if kinds[kind]]
        output.note(f"Not shown: {', '.join(said)}; -v lists them.")
    for caution in graph_cautions(told):
        output.note(output.styled("note: ", "yellow", output.stderr) + caution)


# --- Printing uses: an envelope for programs, `path:line` and the line for people.


_MOST_DEFINITIONS = 20
_MOST_OTHERS = 5


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
            **REFS.values(Face.CLI, vars(options)),
        )

    return print_answer(
        options,
        output,
        ask,
        lambda reply, timings: references_answer(reply, timings=timings),
        lambda reply, told: _show_uses(reply, told, options, output),
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


def _show_uses(reply: Reply[Uses], told: Uses, options: argparse.Namespace, output: Output) -> None:
    if is_for_places(options):
        places = (PrintedPlace(reply.root, use.path, use.line, use.column, use.text.strip()) for use in told.uses)
        print_places(places, options, output)
    else:
        _show_definitions_and_uses(reply, told, output)
    output.note(_counts(told, Tier(options.min_tier)))
    _name_others(reply.root, told.candidates, output)
    for caution in use_cautions(told):
        output.note(output.styled("note: ", "yellow", output.stderr) + caution)


def _show_definitions_and_uses(reply: Reply[Uses], told: Uses, output: Output) -> None:
    for one in told.definitions[:_MOST_DEFINITIONS]:
        output.line(definition_line(reply.root, one, output))
    for use in told.uses:
        output.line(_use_line(reply.root, use, output))
    if not (told.total or told.name_only or told.offset):
        output.line(f"No other place in the parsed code has this name{_mentioned(told)}.")
        output.note(_CODE_ONLY)


def _use_line(root: str, use: Use, output: Output) -> str:
    """Return `src/lease.py:12:9  self.steal(victim)  (call in Lease.renew, likely)`."""
    where = output.styled(f"{output.clickable(root, use.path)}:{use.line}:{use.column}", "cyan")
    around = f" in {plain(use.inside, _MOST_NAME)}" if use.inside else ""
    sure = f"{use.tier}, {SEMANTIC}" if use.layer == SEMANTIC else use.tier
    return f"{where}  {safe(use.text.strip())}  {output.styled(f'({use.kind}{around}, {sure})', 'dim')}"


def _counts(told: Uses, min_tier: Tier) -> str:
    """Return how many uses there are, how many are not listed, and how to see them."""
    uses = counted(told.proven + told.likely, "use")
    said = [f"{uses} ({told.proven:,} proven, {told.likely:,} likely), {counted(told.imports, 'import')}."]
    # Imports are counted before, and are no uses.
    roles = [(role, count) for role, count in told.roles if role != UseRole.IMPORT]
    if len(roles) > 1:
        said.append(f"By role: {', '.join(f'{count:,} {role}' for role, count in roles)}.")
    if told.name_only:
        how = "" if min_tier is Tier.NAME_ONLY else " (--min-tier name_only lists them)"
        said.append(f"{counted(told.name_only, 'more place')} with this name may mean it or not{how}.")
    if left := told.total - told.offset - len(told.uses):
        said.append(f"{left:,} of them {'is' if left == 1 else 'are'} not shown; -k shows more at once.")
    if told.elsewhere:
        means = "means" if told.elsewhere == 1 else "mean"
        said.append(f"{counted(told.elsewhere, 'place')} with this name {means} something else.")
    return " ".join(said)


def _name_others(root: str, candidates: tuple[Definition, ...], output: Output) -> None:
    """Name the other definitions of a name, which the question could have meant."""
    for one in candidates[:_MOST_OTHERS]:
        output.note(f"also: {definition_line(root, one, output)}")
    if (left := len(candidates) - _MOST_OTHERS) > 0:
        output.note(f"also: {left:,} more; `cairn symbol` lists them.")


# What a glob would not take as it stands.
_GLOB_SIGN = re.compile(r"[*?\[]")
_CODE_ONLY = "Documents, data and settings were not looked at: `cairn search NAME --mode regex` looks at all text."


def _mentioned(told: Uses) -> str:
    return f", only {counted(told.mentions, 'mention')} in comments or texts" if told.mentions else ""


COMMANDS: dict[str, Callable[[argparse.Namespace, Output], int]] = {
    "refs": _refs,
    "graph": lambda options, output: graph(options, output, output.around.base(options.root)),
}


# --- `cairn map`: the codebase in so many tokens.


configure_repo_map = configure_question


def run_repo_map(options: argparse.Namespace, output: Output) -> int:
    """Ask for the map, and print it."""
    return answer(options, output)


# --- Printing a map: its text as it is, or an envelope for programs.


def answer(options: argparse.Namespace, output: Output) -> int:
    """Ask for a map and print it; the files in focus are relative to the working folder, or to `--root`."""
    narrow_to_path(options, output)
    base = output.around.base(options.root)
    focus = [Asked(file, file, base) for file in options.focus]
    return print_answer(
        options,
        output,
        lambda session: repo_map(session, focus=focus, **MAP.values(Face.CLI, vars(options))),
        lambda reply, timings: map_answer(reply, timings=timings),
        lambda _, told: output.line(told.text.removesuffix("\n")),
    )


def narrow_to_path(options: argparse.Namespace, output: Output) -> None:
    """Take a question that is the name of a folder or file for that: its codebase, and of that only this part.

    With `--root` a question is always a question.
    """
    if options.query is None or options.root_given or not os.path.exists(output.around.path(options.query)):
        return
    path, options.query = options.query, None
    if not os.path.isdir(output.around.path(path)):
        options.focus = [*options.focus, path]
        return
    [target] = output.around.targets([path])
    options.root = path
    options.include = [*options.include, *("/" + _GLOB_SIGN.sub(r"[\g<0>]", one) for one in target.below)]


configure_relations = configure_question


def run_relations(options: argparse.Namespace, output: Output) -> int:
    """Ask the question of the command, and print the answer."""
    return COMMANDS[options.command](options, output)
