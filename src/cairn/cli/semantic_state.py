"""`cairn semantic state FILE…`: how fresh and how sure what the indexers know of files is."""

from __future__ import annotations

import argparse

from cairn.cli.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `state` and `gate`."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="files of the codebase")


def run(options: argparse.Namespace, output: Output) -> int:
    """Show the states; the exit status is 0 whatever they are."""
    from cairn.cli import semantic_edits  # noqa: PLC0415 - numpy takes a tenth of a second

    return semantic_edits.check(options, output, judged=False)
