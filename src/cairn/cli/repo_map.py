"""`cairn map`: the codebase in so many tokens. It answers from the newest snapshot and never brings it up to date."""

from __future__ import annotations

import argparse

from cairn.cli.output import Output
from cairn.limits import DEFAULT_MAP_TOKENS, MAX_MAP_TOKENS, MIN_MAP_TOKENS


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn map`."""
    add = parser.add_argument
    add("query", metavar="QUERY", nargs="?", help="draw the map around what a search for this finds")
    size = f"about how many tokens of a language model (default {DEFAULT_MAP_TOKENS:,}, from {MIN_MAP_TOKENS} to"
    add("--max-tokens", metavar="N", type=int, default=DEFAULT_MAP_TOKENS, help=f"{size} {MAX_MAP_TOKENS:,})")
    add("--focus", metavar="FILE", action="append", default=[], help="draw it around this file; may be repeated")
    add("--include", metavar="GLOB", action="append", default=[], help="only files that fit; may be repeated")
    add("--format", choices=("text", "json"), default="text", help="`json` is the same as --json")
    add("--stale-ok", action="store_true", help="while the index is built anew, answer from the old one")
    add("--read-only", action="store_true", help="read an index of a later format as far as it is known")


def run(options: argparse.Namespace, output: Output) -> int:
    """Ask, and print the map."""
    options.json = output.json = options.json or options.format == "json"
    from cairn.cli.repo_map_answer import answer  # noqa: PLC0415 - numpy takes a tenth of a second

    return answer(options, output)
