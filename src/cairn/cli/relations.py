"""`cairn refs` and `cairn graph`: what leads where in the code, with how sure each step is.

They answer from the newest snapshot and never bring it up to date.
"""

from __future__ import annotations

import argparse

from cairn.cli.output import Output
from cairn.limits import (
    DEFAULT_GRAPH_NODES,
    DEFAULT_GRAPH_NOTES,
    DEFAULT_REFERENCES,
    MAX_GRAPH_DEPTH,
    MAX_GRAPH_NODES,
    MAX_REFERENCES,
)

FORMATS = ("text", "json", "dot", "mermaid")
TIERS = ("proven", "likely", "name_only")
"""The tiers of `cairn.graph.scopes`, which is too heavy to be imported for an option."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of the one that was asked for."""
    add = parser.add_argument
    add("symbol", metavar="SYMBOL", help="a definition: its name, `Class.method`, `mod::name` or FILE:LINE")
    add("--file", metavar="FILE", help="the file that defines it, where several do")
    tier = "how sure a use must be to be listed (default likely)"
    add("--min-tier", choices=TIERS, default="likely", help=tier)
    match parser.get_default("command"):
        case "refs":
            add("--local", action="store_true", help="the local names of a function, and where each is bound and used")
            add("--continue", metavar="TOKEN", dest="continuation", help="the next page (`continuation` in JSON)")
            most = f"how many imports and uses (default {DEFAULT_REFERENCES}, most {MAX_REFERENCES:,})"
            add("-k", metavar="N", type=int, default=DEFAULT_REFERENCES, help=most)
        case "graph":
            _add_graph(parser)
    add("--stale-ok", action="store_true", help="while the index is built anew, answer from the old one")
    add("--read-only", action="store_true", help="read an index of a later format as far as it is known")


def _add_graph(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--callers", action="store_true", help="only who calls it (default: both ways)")
    add("--callees", action="store_true", help="only what it calls")
    add("--depth", metavar="N", type=int, default=1, help=f"how many steps far (default 1, most {MAX_GRAPH_DEPTH})")
    add("--format", choices=FORMATS, default="text", help="a tree, JSON, or a picture for Graphviz or Mermaid to draw")
    most = f"how many definitions each way (default {DEFAULT_GRAPH_NODES}, most {MAX_GRAPH_NODES})"
    add("-k", metavar="N", type=int, default=DEFAULT_GRAPH_NODES, help=most)
    notes = f"how many notes on what is not in the graph (default {DEFAULT_GRAPH_NOTES}; -v prints them)"
    add("--notes", metavar="N", type=int, default=DEFAULT_GRAPH_NOTES, help=notes)


def run(options: argparse.Namespace, output: Output) -> int:
    """Ask, and print what is known."""
    from cairn.cli import relations_answers  # noqa: PLC0415 - numpy takes a tenth of a second

    return relations_answers.COMMANDS[options.command](options, output)
