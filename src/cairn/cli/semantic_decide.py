"""`cairn semantic decide SIGNATURE CHOICE…`: keep what somebody has decided about something ambiguous."""

from __future__ import annotations

import argparse

from cairn.cli.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn semantic decide`."""
    add = parser.add_argument
    add("signature", metavar="SIGNATURE", help="the ambiguity, as the gate names it; its first 8 characters will do")
    add("choices", metavar="CHOICE", nargs="+", help="FILE:LINE of what is meant, or `accept`: nothing else is meant")
    about = parser.add_mutually_exclusive_group(required=True)
    about.add_argument("--file", metavar="FILE", help="the file in which it is ambiguous")
    about.add_argument("--rename", metavar=("SYMBOL", "NEW"), nargs=2, help="the rename that it stands against")
    add("--note", metavar="TEXT", default="", help="why, kept with the decision")


def run(options: argparse.Namespace, output: Output) -> int:
    """Keep it; it holds for this commit and these bytes, and for nothing else."""
    from cairn.cli import semantic_edits  # noqa: PLC0415 - numpy takes a tenth of a second

    return semantic_edits.decided(options, output)
