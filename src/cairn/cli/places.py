"""Print places for programs and editors: a line for each, `path:line:text` or with a column, or the names of files."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import NamedTuple

from cairn.answer.envelope import Envelope
from cairn.cli.output import Output
from cairn.core.options import PrintedAs
from cairn.core.text import plain

_MOST_TEXT = 2_000


class PrintedPlace(NamedTuple):
    """A line of a file; the column counts from 1, and the root is that of the codebase."""

    root: str
    path: str
    line: int
    column: int
    text: str


def print_envelope(envelope: Envelope, options: argparse.Namespace, output: Output) -> None:
    """Print an answer for programs: as one line, or with `--format jsonl` each result as a line of its own."""
    if getattr(options, "format", None) == PrintedAs.JSONL:
        for line in envelope.to_lines():
            output.line(line)
    else:
        output.line(envelope.to_json())


def is_for_places(options: argparse.Namespace) -> bool:
    """Whether a line for each place, or the names of their files, is asked for in place of an answer for people."""
    return bool(options.files_with_matches) or options.format in {PrintedAs.PLAIN, PrintedAs.VIMGREP}


def print_places(places: Iterable[PrintedPlace], options: argparse.Namespace, output: Output) -> None:
    """Print the places in the form that is asked for."""
    if options.files_with_matches:
        names = dict.fromkeys(output.clickable(one.root, one.path) for one in places)
        output.stdout.write("".join(name + ("\0" if options.null else "\n") for name in names))
        return
    for one in places:
        column = f"{one.column}:" if options.format == PrintedAs.VIMGREP else ""
        name = output.clickable(one.root, one.path) + ("\0" if options.null else ":")
        output.line(f"{name}{one.line}:{column}{plain(one.text, _MOST_TEXT)}")
