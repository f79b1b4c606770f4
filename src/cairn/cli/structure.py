"""`cairn outline`, `read`, `symbol`, `similar`: what the index knows of the structure of the code.

They answer from the newest snapshot and never bring it up to date.
"""

from __future__ import annotations

import argparse

from cairn.cli.output import Output
from cairn.errors import UsageError
from cairn.limits import DEFAULT_RESULTS, MAX_RESULTS
from cairn.types import SymbolKind


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the one that was asked for."""
    add = parser.add_argument
    match parser.get_default("command"):
        case "outline":
            add("file", metavar="FILE[:A-B]", help="a file of the codebase, or some lines of it")
            add("--symbol", metavar="NAME", help="only this definition and what is inside of it")
            add("-k", metavar="N", type=int, help="no more than so many definitions")
        case "read":
            add("file", metavar="FILE[:A-B]", help="a file of the codebase, or some lines of it")
            add("--annotate", action="store_true", help="name the definitions that the lines cross")
        case "symbol":
            add("name", metavar="NAME", help="a name, or a part of it; `Class.method` and `mod::name` too")
            add("--exact", action="store_true", help="the one definition that is meant: by its name or as FILE:LINE")
            add("--kind", choices=[kind.value for kind in SymbolKind], action="append", default=[], help="only these")
            add("--lang", metavar="LANG", action="append", default=[], help="only files of this language")
            add("--continue", metavar="TOKEN", dest="continuation", help="the next page (`continuation` in JSON)")
            _add_count(parser)
        case "similar":
            add("file", metavar="FILE:LINE", help="a line of the code that others may be like")
            add("--same-file", action="store_true", help="look in that file too")
            _add_count(parser)
    add("--stale-ok", action="store_true", help="while the index is built anew, answer from the old one")
    add("--read-only", action="store_true", help="read an index of a later format as far as it is known")


def _add_count(parser: argparse.ArgumentParser) -> None:
    most = f"how many results (default {DEFAULT_RESULTS}, most {MAX_RESULTS})"
    parser.add_argument("-k", metavar="N", type=int, default=DEFAULT_RESULTS, help=most)


def run(options: argparse.Namespace, output: Output) -> int:
    """Ask, and print what is known."""
    if options.command == "outline" and options.k is not None and options.k < 1:
        raise UsageError(problem="The number of definitions must be at least 1.")
    from cairn.cli import structure_answers  # noqa: PLC0415 - numpy takes a tenth of a second

    return structure_answers.COMMANDS[options.command](options, output)
