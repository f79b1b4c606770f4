"""Show what the index knows of the structure of the code (`cairn outline`, `read`, `symbol`, `similar`).

Before an answer the files are compared with the index, and what has changed is taken in.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from cairn.answer.envelope import Envelope
from cairn.answer.structure import MOVED, Timings, outline_answer, read_answer, similar_answer, symbols_answer
from cairn.ask.gate import gate_error
from cairn.ask.questions import OUTLINE, SIMILAR, SYMBOL
from cairn.ask.session import Session, hold_page
from cairn.ask.structure import Asked, asked_of, file_outline, find_symbol, read_file, similar_code
from cairn.ask.values import Reply, Similar, Symbols, Told
from cairn.cli.options import configure_question
from cairn.cli.output import Output, counted
from cairn.cli.places import PrintedPlace, is_for_places, print_envelope, print_places
from cairn.cli.search import read_policy, safe, show_hit, source_notes
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.options import Face
from cairn.core.text import plain
from cairn.errors import UsageError
from cairn.graph.outline import Definition, FileOutline, FileText
from cairn.source.root import printable

# --- Printing answers about structure: an envelope for programs, `path:line` and some words for people.


_MOST_NAME = 200
_MOST_SIGNATURE = 400


def without_answer(reply: Reply[Told], output: Output) -> int:
    """Raise why there is no answer, after printing what was perhaps meant; with `--json`, return the exit status."""
    problem = reply.miss.error if reply.miss else gate_error(reply.gate, printable(os.fsencode(reply.root)))
    if output.json:
        return problem.exit_status
    for one in reply.miss.candidates if reply.miss else ():
        output.line(definition_line(reply.root, one, output))
    if reply.source is not None:
        source_notes(reply.source, output)
    raise problem


def print_answer(
    options: argparse.Namespace,
    output: Output,
    ask: Callable[[Session], Reply[Told]],
    envelope: Callable[[Reply[Told], Timings], Envelope],
    show: Callable[[Reply[Told], Told], None],
) -> int:
    """Ask and print; without an answer, say why and what was perhaps meant, with the exit status that says so."""
    began = SYSTEM_CLOCK.monotonic()
    targets = [output.around.target(options.root)]
    policy = read_policy(options, output)
    with output.around.sessions(targets, policy, output, read_only=options.read_only) as [session]:
        ready = SYSTEM_CLOCK.monotonic()
        reply = ask(session)
    ended = SYSTEM_CLOCK.monotonic()
    if options.json:
        timings = [("open", ready - began), ("ask", ended - ready), ("total", ended - began)]
        print_envelope(envelope(reply, timings), options, output)
    if reply.value is None:
        return without_answer(reply, output)
    if not options.json:
        show(reply, reply.value)
        if reply.source is not None:
            source_notes(reply.source, output)
    return 0


def _said(options: argparse.Namespace, output: Output) -> Asked:
    """Return the file that was named, relative to the working folder or to `--root`."""
    return asked_of(options.file, output.around.base(options.root))


def definition_line(root: str, one: Definition, output: Output) -> str:
    """Return `src/lease.py:12  Lease.steal (method)`."""
    where = output.styled(f"{output.clickable(root, one.path)}:{one.start_line}", "cyan")
    return f"{where}  {output.styled(plain(one.qualified, _MOST_NAME), 'bold')} ({one.kind})"


# --- outline ----------------------------------------------------------------------------------------------------------


def _outline(options: argparse.Namespace, output: Output) -> int:
    asked = _said(options, output)
    return print_answer(
        options,
        output,
        lambda session: file_outline(session, asked, **OUTLINE.values(Face.CLI, vars(options))),
        lambda reply, timings: outline_answer(reply, limit=options.limit, timings=timings),
        lambda reply, told: _show_outline(reply, told, asked, options.limit, output),
    )


def _show_outline(reply: Reply[FileOutline], told: FileOutline, asked: Asked, most: int | None, output: Output) -> None:
    name = output.clickable(reply.root, told.path)
    for one in told.definitions[:most]:
        where = output.styled(f"{name}:{one.start_line}", "cyan")
        written = plain(one.signature or one.name, _MOST_SIGNATURE)
        hidden = "" if one.exported else ", not exported"
        output.line(f"{where}  {'  ' * one.depth}{written}  {output.styled(f'({one.kind}{hidden})', 'dim')}")
        if one.doc and output.verbosity > 0:
            output.line(output.styled(f"{' ' * len(name)}    {'  ' * one.depth}{plain(one.doc)}", "dim"))
    if not told.definitions:
        output.line(f"{name} defines nothing{' on these lines' if asked.lines else ''}.")
    left = len(told.definitions) - len(told.definitions[:most])
    if left:
        output.note(f"{counted(left, 'more definition')}.")
    if told.partial:
        output.note(f"{output.styled('note: ', 'yellow', output.stderr)}Some lines could not be parsed.")


# --- read -------------------------------------------------------------------------------------------------------------


def _read(options: argparse.Namespace, output: Output) -> int:
    return print_answer(
        options,
        output,
        lambda session: read_file(session, _said(options, output)),
        lambda reply, timings: read_answer(reply, annotate=options.annotate, timings=timings),
        lambda _, told: _show_text(told, options.annotate, output),
    )


def _show_text(told: FileText, annotate: bool, output: Output) -> None:
    begins: dict[int, list[Definition]] = {}
    for one in told.definitions if annotate else ():
        begins.setdefault(max(one.start_line, told.start_line), []).append(one)
    width = len(str(told.end_line))
    lines = told.text.split("\n") if told.end_line >= told.start_line else []
    for number, line in enumerate(lines, told.start_line):
        for one in begins.get(number, ()):
            span = f"{one.start_line}-{one.end_line}"
            output.line(
                output.styled(f"{' ' * width} | {plain(one.qualified, _MOST_NAME)} ({one.kind}, {span})", "dim")
            )
        output.line(f"{output.styled(f'{number:>{width}}', 'dim')} {safe(line.removesuffix(chr(13)))}".rstrip())
    if told.disk in MOVED:
        output.note(output.styled("note: ", "yellow", output.stderr) + MOVED[told.disk])


# --- symbol -----------------------------------------------------------------------------------------------------------


def _symbol(options: argparse.Namespace, output: Output) -> int:
    def ask(session: Session) -> Reply[Symbols]:
        if options.continuation is not None:
            hold_page([session], options.continuation)
        return find_symbol(session, options.name, **SYMBOL.values(Face.CLI, vars(options)))

    return print_answer(
        options,
        output,
        ask,
        lambda reply, timings: symbols_answer(reply, timings=timings),
        lambda reply, told: _show_symbols(reply, told, options, output),
    )


def _show_symbols(reply: Reply[Symbols], told: Symbols, options: argparse.Namespace, output: Output) -> None:
    if is_for_places(options):
        places = (
            PrintedPlace(reply.root, one.path, one.start_line, 1, one.signature or one.name) for one in told.definitions
        )
        print_places(places, options, output)
    for one in told.definitions if not is_for_places(options) else ():
        output.line(definition_line(reply.root, one, output))
        output.line(f"  {plain(one.signature or one.name, _MOST_SIGNATURE)}")
    looked = counted(told.files, "file")
    source = reply.source
    whole = source is not None and source.is_whole
    if not told.definitions:
        proof = "and all of them were searched" if whole else "which need not be all that there is"
        said = f"No definition has that name in {looked}, {proof}."
        output.said(said, as_answer=not is_for_places(options))
    elif left := told.total - told.offset - len(told.definitions):
        output.note(f"{counted(left, 'more definition')}; -k shows more of them at once.")


# --- similar ----------------------------------------------------------------------------------------------------------


def _similar(options: argparse.Namespace, output: Output) -> int:
    return print_answer(
        options,
        output,
        lambda session: similar_code(session, _said(options, output), **SIMILAR.values(Face.CLI, vars(options))),
        lambda reply, timings: similar_answer(reply, timings=timings),
        lambda reply, told: _show_similar(reply, told, output),
    )


def _show_similar(reply: Reply[Similar], told: Similar, output: Output) -> None:
    for hit in told.found.hits:
        show_hit(reply.root, hit, False, output)
    if not told.found.hits:
        output.line("Nothing is like it.")


COMMANDS: dict[str, Callable[[argparse.Namespace, Output], int]] = {
    "outline": _outline,
    "read": _read,
    "symbol": _symbol,
    "similar": _similar,
}


configure_structure = configure_question


def run_structure(options: argparse.Namespace, output: Output) -> int:
    """Ask the question of the command, and print the answer."""
    if options.command == "outline" and options.limit is not None and options.limit < 1:
        raise UsageError(problem="The number of definitions must be at least 1.")

    return COMMANDS[options.command](options, output)
