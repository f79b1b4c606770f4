"""`cairn semantic VERB`: what compilers know of a codebase, asked for, shown and put to use.

Each verb is a module of its own; it is imported when its options are asked for, so it imports what is heavy when it is
run.
"""

from __future__ import annotations

import argparse
import importlib
from typing import NamedTuple

from cairn.cli.output import Output
from cairn.errors import UsageError


class Verb(NamedTuple):
    """One line about it, the module whose `configure` and `run` are it, and examples for `--help`."""

    summary: str
    module: str
    examples: tuple[str, ...]


VERBS: dict[str, Verb] = {
    "discover": Verb(
        "show the parts of the code that an indexer understands",
        "cairn.cli.semantic_discover",
        ("cairn semantic discover", "cairn semantic discover --root ~/src/project --json"),
    ),
    "refresh": Verb(
        "run the indexers over what has changed",
        "cairn.cli.semantic_refresh",
        (
            "cairn semantic refresh",
            "cairn semantic refresh --scope src/lease.py",
            "cairn semantic refresh --scope full --context python --json",
        ),
    ),
    "jobs": Verb(
        "list what the indexers did, do and will do",
        "cairn.cli.semantic_jobs",
        ("cairn semantic jobs", "cairn semantic jobs --json", "cairn semantic jobs --cancel 12"),
    ),
    "state": Verb(
        "say how fresh and how sure what is known of files is",
        "cairn.cli.semantic_state",
        ("cairn semantic state src/lease.py", "cairn semantic state src/lease.py src/store.py --json"),
    ),
    "gate": Verb(
        "say whether files may be edited by what is known",
        "cairn.cli.semantic_gate",
        ("cairn semantic gate src/lease.py", "cairn semantic gate src/lease.py --json"),
    ),
    "decide": Verb(
        "keep a decision about something ambiguous",
        "cairn.cli.semantic_decide",
        (
            "cairn semantic decide 3f9a1c0e src/lease.py:12 --file src/app.py",
            "cairn semantic decide 3f9a1c0e accept --rename Lease.steal take",
        ),
    ),
    "plan-rename": Verb(
        "show a rename as a patch, when nothing stands against it",
        "cairn.cli.semantic_rename",
        (
            "cairn semantic plan-rename Lease.steal take",
            "cairn semantic plan-rename steal take --file src/lease.py | git apply",
        ),
    ),
}


_COMMON = "\nIt takes the common options of `cairn semantic`, too: --json, --root PATH, -q, -v, --offline."


def configure(parser: argparse.ArgumentParser) -> None:
    """The verbs, each with its own options and the common ones."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", help="what to do")
    for name, verb in VERBS.items():
        one = verbs.add_parser(
            name,
            help=verb.summary,
            description=f"{verb.summary[:1].upper()}{verb.summary[1:]}.",
            epilog="\n".join(["examples:", *(f"  {example}" for example in verb.examples), _COMMON]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        # Common options may stand before the verb and behind it; here they have no default, or it would win.
        for words in (["--json"], ["-q", "--quiet"], ["-v", "--verbose"], ["--offline"]):
            one.add_argument(*words, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        one.add_argument("--root", metavar="PATH", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        importlib.import_module(verb.module).configure(one)


def run(options: argparse.Namespace, output: Output) -> int:
    """Run the verb."""
    if options.verb is None:
        raise UsageError(problem=f"Say what: {', '.join(VERBS)}.")
    return int(importlib.import_module(VERBS[options.verb].module).run(options, output))
