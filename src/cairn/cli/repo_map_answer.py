"""Asking for a map and printing it: its text as it is, or an envelope for programs."""

from __future__ import annotations

import argparse

from cairn.answer.repo_map import map_answer
from cairn.cli.output import Output
from cairn.cli.structure_answers import print_answer
from cairn.relations import repo_map
from cairn.structure import Asked


def answer(options: argparse.Namespace, output: Output) -> int:
    """Ask and print. The files in focus are named from where one stands, or from `--root`."""
    base = output.around.base(options.root)
    focus = [Asked(file, file, base) for file in options.focus]
    return print_answer(
        options,
        output,
        lambda session: repo_map(
            session, query=options.query, focus=focus, include=options.include, max_tokens=options.max_tokens
        ),
        lambda reply, timings: map_answer(reply, timings=timings),
        lambda _, told: output.line(told.text.removesuffix("\n")),
    )
