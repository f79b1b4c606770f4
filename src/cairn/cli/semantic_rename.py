"""`cairn semantic plan-rename SYMBOL NEW`: a rename as a patch, when nothing stands against it."""

from __future__ import annotations

import argparse

from cairn.cli.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn semantic plan-rename`."""
    add = parser.add_argument
    add("symbol", metavar="SYMBOL", help="a definition: its name, `Class.method`, `mod::name` or FILE:LINE")
    add("new", metavar="NEW", help="its new name")
    add("--file", metavar="FILE", help="the file that defines it, where several do")


def run(options: argparse.Namespace, output: Output) -> int:
    """Print the patch, or what stands against it; no file is changed."""
    from cairn.cli import semantic_edits  # noqa: PLC0415 - numpy takes a tenth of a second

    return semantic_edits.planned(options, output)
