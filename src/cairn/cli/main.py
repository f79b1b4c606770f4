"""The `cairn` command: find the verb, run it, turn every failure into one sentence and an exit status.

Verbs are imported when they are run, so that a fast one does not pay for a heavy one.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from cairn import __version__
from cairn.answer.envelope import error as error_envelope
from cairn.answer.envelope import plain
from cairn.cli.output import Output
from cairn.cli.surroundings import NotHere
from cairn.errors import (
    OUR_TROUBLE,
    AssertionsDisabled,
    CairnError,
    Interrupted,
    OutOfResources,
    SourceError,
    UsageError,
)


class Command(NamedTuple):
    """A verb: one line about it, examples for `--help`, and the module whose `configure` and `run` are it.

    A module that serves several verbs finds the name of the one that was asked for in `options.command`.
    """

    summary: str
    examples: tuple[str, ...]
    module: str
    several_roots: bool = False


COMMANDS: dict[str, Command] = {
    "search": Command(
        "find code by meaning, words, names, patterns or paths",
        (
            'cairn "how are snapshots published"',
            "cairn search open_view --mode symbol",
            "cairn search 'TODO|FIXME' src --mode regex -k 50",
            'cairn search "retry with backoff" --lang python --scope runtime --json',
        ),
        "cairn.cli.search",
    ),
    "outline": Command(
        "show the definitions of a file",
        (
            "cairn outline src/lease.py",
            "cairn outline src/lease.py --symbol Lease",
            "cairn outline README.md:1-80 --json",
        ),
        "cairn.cli.structure",
    ),
    "read": Command(
        "show a file, or some lines of it, as it was indexed",
        ("cairn read src/lease.py", "cairn read src/lease.py:10-40 --annotate", "cairn read src/lease.py:10- --json"),
        "cairn.cli.structure",
    ),
    "symbol": Command(
        "find definitions by their name",
        (
            "cairn symbol LeaseSteal",
            "cairn symbol lseStl -k 20",
            "cairn symbol Lease.steal --exact --json",
            "cairn symbol publish --kind function --lang python",
        ),
        "cairn.cli.structure",
    ),
    "refs": Command(
        "show where a definition is imported and used, and how sure that is",
        (
            "cairn refs publish",
            "cairn refs Lease.steal --json",
            "cairn refs src/lease.py:42 --min-tier name_only",
            "cairn refs Lease.steal --local",
        ),
        "cairn.cli.relations",
    ),
    "graph": Command(
        "show who calls a definition and what it calls, and how sure that is",
        (
            "cairn graph Lease.steal",
            "cairn graph publish --callers --depth 2",
            "cairn graph src/lease.py:42 --callees --json",
            "cairn graph publish --format dot | dot -Tsvg > calls.svg",
        ),
        "cairn.cli.relations",
    ),
    "similar": Command(
        "find code that is like the code on a line",
        ("cairn similar src/lease.py:42", "cairn similar src/lease.py:42 --same-file -k 20 --json"),
        "cairn.cli.structure",
    ),
    "map": Command(
        "show the codebase in so many tokens: folders, entry points, what others lean on",
        (
            "cairn map",
            "cairn map --max-tokens 4000",
            'cairn map "how are snapshots published"',
            "cairn map --focus src/lease.py --include src --json",
        ),
        "cairn.cli.repo_map",
    ),
    "semantic": Command(
        "let compilers' indexers read the code: sure references, and what may be edited",
        (
            "cairn semantic refresh",
            "cairn semantic refresh --scope src/lease.py",
            "cairn semantic jobs --json",
            "cairn semantic gate src/lease.py src/app.py",
            "cairn semantic plan-rename Lease.steal take | git apply",
        ),
        "cairn.cli.semantic",
    ),
    "index": Command(
        "index a folder for the first time",
        ("cairn index", "cairn index --root ~/src/project", "cairn index --allow-degraded --json"),
        "cairn.cli.index",
    ),
    "sync": Command(
        "bring the index up to date with the files",
        ("cairn sync", "cairn sync -q", "cairn sync --json"),
        "cairn.cli.index",
    ),
    "reindex": Command(
        "build the index again from nothing, beside the old one",
        ("cairn reindex", "cairn reindex --root ~/src/project"),
        "cairn.cli.index",
    ),
    "clear": Command(
        "empty the index; it stays empty until you index again",
        ("cairn clear", "cairn clear --json"),
        "cairn.cli.index",
    ),
    "status": Command(
        "say where the index stands",
        ("cairn status", "cairn status --json", "cairn status -q || cairn index"),
        "cairn.cli.status",
    ),
    "snapshots": Command(
        "list the snapshots that are kept",
        ("cairn snapshots", "cairn snapshots --json"),
        "cairn.cli.snapshots",
    ),
    "list": Command(
        "list every codebase that you have indexed, and where it stands",
        ("cairn list", "cairn list --json"),
        "cairn.cli.codebases",
    ),
    "stores": Command(
        "list every index that you have, or remove them all",
        ("cairn stores", "cairn stores --json", "cairn stores --purge --dry-run", "cairn stores --purge --yes"),
        "cairn.cli.stores",
    ),
    "health": Command(
        "read the whole index again and say what is wrong with it",
        ("cairn health", "cairn health --json"),
        "cairn.cli.health",
    ),
    "doctor": Command(
        "say what this machine has of what Cairn needs and can use",
        ("cairn doctor", "cairn doctor --json"),
        "cairn.cli.doctor",
    ),
    "audit": Command(
        "compare the index with the files it was made from",
        ("cairn audit", "cairn audit --full", "cairn audit --sample 1000 --json"),
        "cairn.cli.audit",
    ),
    "repair": Command(
        "mend a damaged index, reading again no more than it takes",
        ("cairn repair --dry-run", "cairn repair", "cairn repair --json"),
        "cairn.cli.repair",
    ),
    "upgrade-store": Command(
        "bring an index that an older version wrote to the format of this one",
        ("cairn upgrade-store", "cairn upgrade-store --root ~/src/project --json"),
        "cairn.cli.upgrade",
    ),
    "compact": Command(
        "write the index anew in few pieces, without what is dead in it",
        ("cairn compact", "cairn compact --json"),
        "cairn.cli.compact",
    ),
    "engine": Command(
        "send the index to a search server, bring it back, or say how that stands",
        (
            "cairn engine status",
            "cairn engine push",
            "cairn engine pull --root ~/src/project",
            "cairn engine status --json",
        ),
        "cairn.cli.engine",
    ),
    "gc": Command(
        "remove old snapshots and what only they used, or indexes that nobody uses",
        ("cairn gc --dry-run", "cairn gc", "cairn gc --stores --unused-days 90 --dry-run", "cairn gc --stores --json"),
        "cairn.cli.gc",
    ),
    "files": Command(
        "list the files that are indexed, or what is left out and why",
        ("cairn files", "cairn files --skipped", "cairn files --json --root ~/src/project"),
        "cairn.cli.files",
    ),
    "why": Command(
        "say which rule took a path in or out",
        ("cairn why build/output.js", "cairn why .env", "cairn why src/main.py --json"),
        "cairn.cli.why",
    ),
    "eval": Command(
        "measure how good the answers are",
        (
            "cairn eval --from-git",
            "cairn eval benchmark/data --repos benchmark/repos --half dev",
            "cairn eval --from-git --no-signal filename --json",
        ),
        "cairn.cli.eval",
    ),
    "mcp": Command(
        "serve coding agents: the tools of this index over MCP",
        (
            "cairn mcp",
            "cairn mcp --root ~/src/project --root ~/src/library",
            "cairn mcp --http --port 8717",
            "cairn mcp --structured",
        ),
        "cairn.cli.mcp",
        several_roots=True,
    ),
    "watch": Command(
        "keep the index of a folder up with its files until you stop it",
        ("cairn watch", "cairn watch --root ~/src/project", "cairn watch --json"),
        "cairn.cli.watch",
    ),
    "daemon": Command(
        "keep codebases open in the background, so that answers come at once",
        ("cairn daemon start", "cairn daemon status --json", "cairn daemon stop"),
        "cairn.cli.daemon",
    ),
    "install": Command(
        "register Cairn with the coding agents on this machine",
        (
            "cairn install --dry-run",
            "cairn install",
            "cairn install claude codex --yes --instructions",
            "cairn install cursor --project --yes",
            "cairn install other",
        ),
        "cairn.cli.install",
    ),
    "uninstall": Command(
        "take back what `cairn install` has written",
        ("cairn uninstall --dry-run", "cairn uninstall", "cairn uninstall codex --yes --json"),
        "cairn.cli.install",
    ),
    "completion": Command(
        "print a completion script for your shell",
        ('eval "$(cairn completion bash)"', "cairn completion fish > ~/.config/fish/completions/cairn.fish"),
        "cairn.cli.completion",
    ),
}

_TOP_HELP = """\
usage: cairn COMMAND [OPTIONS]
       cairn "what to look for" [PATH...] [OPTIONS]

The code index that tells the truth.

commands:
{commands}

Every command takes --json, --root PATH, -q, -v, --offline and --help (with examples).
`cairn --version` prints the version.
"""


class _Parser(argparse.ArgumentParser):
    """argparse, but a wrong call is an error like every other one."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(problem=f"{message[:1].upper()}{message[1:]}.")

    def print_help(self, file: object = None) -> None:
        raise _HelpWanted(self)


class _HelpWanted(Exception):
    """Somebody asks for help with a verb, or with a verb of a verb."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def command_parser(name: str) -> argparse.ArgumentParser:
    """The options of one verb, the common ones included."""
    command = COMMANDS[name]
    parser = _Parser(
        prog=f"cairn {name}",
        description=f"{command.summary[:1].upper()}{command.summary[1:]}.",
        epilog="examples:\n" + "\n".join(f"  {example}" for example in command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    common = parser.add_argument_group("common options")
    common.add_argument("--json", action="store_true", help="print one JSON envelope and nothing else")
    if command.several_roots:
        common.add_argument("--root", metavar="PATH", action="append", help="a folder; again for more (default: here)")
    else:
        common.add_argument("--root", metavar="PATH", default=".", help="the folder to look at (default: here)")
    common.add_argument("-q", "--quiet", action="store_true", help="print the answer only")
    common.add_argument("-v", "--verbose", action="store_true", help="say more")
    common.add_argument("--offline", action="store_true", help="do it in this process, although a daemon runs")
    parser.set_defaults(command=name)
    importlib.import_module(command.module).configure(parser)
    return parser


def main(argv: Sequence[str] | None = None, output: Output | None = None) -> int:
    """Run one command line; the return value is the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    output = output or Output()
    output.json = "--json" in arguments
    try:
        return _run(arguments, output)
    except BrokenPipeError:
        output.around.only_where_typed()
        # `cairn files | head`: the reader has what it wanted. Nothing more may be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except NotHere:
        raise
    except KeyboardInterrupt:
        return _report(Interrupted(), output)
    except CairnError as problem:
        return _report(problem, output)
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in OUR_TROUBLE:
            return _report(OutOfResources(why=os.strerror(problem.errno)), output)
        # Where the person sits it may go well, or they can look into it.
        output.around.only_where_typed()
        if os.environ.get("CAIRN_DEBUG"):
            raise
        output.note(f"({type(problem).__name__}; set CAIRN_DEBUG=1 to see where)")
        return _report(CairnError(), output)


def _run(arguments: list[str], output: Output) -> int:
    if sys.flags.optimize:
        raise AssertionsDisabled
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        width = max(map(len, COMMANDS))
        output.line(_TOP_HELP.format(commands="\n".join(f"  {n:<{width}}  {c.summary}" for n, c in COMMANDS.items())))
        return 0
    if arguments[0] == "--version":
        output.line(f"cairn {__version__}")
        return 0
    name = arguments[0]
    if name.startswith("-"):
        raise UsageError(problem=f"There is no option {plain(name)} before the command.")
    if name not in COMMANDS:
        # A first word that is no command is what to look for.
        name, arguments = "search", ["search", *arguments]
    try:
        options = _options(name, arguments[1:])
    except _HelpWanted as wanted:
        # It is as wide as the terminal.
        output.around.only_where_typed()
        output.stdout.write(wanted.parser.format_help())
        return 0
    output.verbosity = options.verbose - options.quiet
    return int(importlib.import_module(COMMANDS[name].module).run(options, output))


def _options(name: str, arguments: list[str]) -> argparse.Namespace:
    parser = command_parser(name)
    if name != "search":
        return parser.parse_args(arguments)
    # Options may stand between the query and its paths; what comes after `--` is none, which argparse forgets then.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_intermixed_args(arguments[:end])
    options.words = [*([] if options.query is None else [options.query]), *options.paths, *arguments[end + 1 :]]
    return options


def _report(problem: CairnError, output: Output) -> int:
    if isinstance(problem, SourceError):
        # It may name a path as it was typed.
        output.around.only_where_typed()
    if output.json:
        output.line(error_envelope(problem).to_json())
    else:
        output.stderr.write(f"{output.styled('cairn:', 'red', output.stderr)} {plain(problem.sentence)}\n")
        if problem.advice:
            output.stderr.write(f"  {plain(problem.advice)}\n")
    return problem.exit_status
