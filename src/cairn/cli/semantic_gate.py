"""`cairn semantic gate FILE…`: whether files may be edited together by what the indexers know."""

from __future__ import annotations

import argparse

from cairn.cli.output import Output
from cairn.cli.semantic_state import configure

__all__ = ["configure", "run"]


def run(options: argparse.Namespace, output: Output) -> int:
    """Show the states; the exit status says what may be done: 0, 18 (needs a decision) or 19 (blocked)."""
    from cairn.cli import semantic_edits  # noqa: PLC0415 - numpy takes a tenth of a second

    return semantic_edits.check(options, output, judged=True)
