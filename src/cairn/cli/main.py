"""Run the `cairn` command: find the verb, run it, turn every failure into one sentence and an exit status.

Verbs are imported when they are run, so that a fast one does not pay for a heavy one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn, TextIO

from cairn import __version__
from cairn.answer.envelope import error as error_envelope
from cairn.cli.nearby import did_you_mean, nearest
from cairn.cli.output import COLOR_CHOICES, NotHere, Output, ReaderGone
from cairn.cli.verbs import COMMANDS, COMMANDS_OF_SERVERS, GROUPS, code_of
from cairn.core.config import OPEN_EDITS, cairn_home
from cairn.core.text import plain
from cairn.errors import (
    OUR_TROUBLE,
    AnswerUnwritable,
    AssertionsDisabled,
    CairnError,
    Interrupted,
    NotIndexed,
    OutOfMemory,
    OutOfResources,
    SourceError,
    UsageError,
    memory_trouble,
)

_FOR_PROGRAMS = ("json", "jsonl")
_TOP_HELP = """\
usage: cairn COMMAND [OPTIONS]
       cairn "what to look for" [PATH...] [OPTIONS]

The code index that tells the truth.

{commands}
Every command takes --json, --root PATH, -q, --verbose, --offline and --help (with examples).
`cairn help COMMAND` explains a command; `cairn version` prints the version.
"""


class _Parser(argparse.ArgumentParser):
    """An argparse parser that raises `UsageError` for a wrong call."""

    def error(self, message: str) -> NoReturn:
        told = f"{message[:1].upper()}{message[1:]}."
        head, _, typed = message.partition(": ")
        if head == "unrecognized arguments" and typed.startswith("-"):
            meant = nearest(typed.split()[0].partition("=")[0], self._option_string_actions)
            told += f" Did you mean `{meant}`?" if meant else ""
        raise UsageError(problem=told)

    def print_help(self, file: object = None) -> None:
        raise _HelpWanted(self)


class _Once(argparse.Action):
    """Keeps the one folder that `--root` names, and that it was named."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, _option: object = None
    ) -> None:
        if namespace.root_given:
            raise UsageError(problem=f"`--root` is given twice, and `{parser.prog}` is about one folder.")
        namespace.root, namespace.root_given = values, True


class _HelpWanted(Exception):
    """The user asks for help with a verb, or with a verb of a verb."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def command_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of one verb, with the common options."""
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
        common.add_argument(
            "--root", metavar="PATH", default=".", action=_Once, help="the folder to look at (default: here)"
        )
    quiet = "print nothing, and end at the first line that is found" if command.like_grep else "print the answer only"
    common.add_argument("-q", "--quiet", action="store_true", help=quiet)
    verbose = ["--verbose"] if command.like_grep else ["-v", "--verbose"]
    common.add_argument(*verbose, action="store_true", help="say more")
    common.add_argument(
        "--color", choices=COLOR_CHOICES, default="auto", help="colours: on a terminal, always or never (default: auto)"
    )
    common.add_argument("--offline", action="store_true", help="do it in this process, although a daemon runs")
    parser.set_defaults(command=name, root_given=False, meant=None)
    if command.folder:
        parser.add_argument("folder", metavar="PATH", nargs="?", help="the same as --root PATH")
    code_of(command.place, "configure")(parser)
    return parser


def main(argv: Sequence[str] | None = None, output: Output | None = None) -> int:
    """Run one command line; return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    output = output or Output()
    output.json = "--json" in arguments or _is_for_programs(arguments[:1], _value_of("--format", arguments))
    color = _value_of("--color", arguments)
    output.color = color if color in COLOR_CHOICES else "auto"
    try:
        status = _main(arguments, output)
        # At exit it would be too late to say that it did not get through.
        output.stdout.flush()
        return status
    except ReaderGone:
        output.around.only_where_typed()
        _to_nobody(sys.stdout)
        return 0
    except AnswerUnwritable as problem:
        output.json = False
        status = _report(problem, output)
        _to_nobody(sys.stdout)
        return status


def _main(arguments: list[str], output: Output) -> int:
    try:
        return _run(arguments, output)
    except (NotHere, ReaderGone, AnswerUnwritable):
        raise
    except KeyboardInterrupt:
        return _report(Interrupted(), output)
    except CairnError as problem:
        return _report(problem, output)
    except Exception as problem:
        why = memory_trouble(problem)
        if why is not None:
            return _report(OutOfMemory(why=why), output)
        if isinstance(problem, OSError) and problem.errno in OUR_TROUBLE:
            return _report(OutOfResources(why=os.strerror(problem.errno)), output)
        # In a daemon this raises `NotHere`: the command may succeed where it was typed, or the person can look into it.
        output.around.only_where_typed()
        if os.environ.get("CAIRN_DEBUG"):
            raise
        output.note(f"({type(problem).__name__}; set CAIRN_DEBUG=1 to see where)")
        return _report(CairnError(), output)


def _is_for_programs(verb: list[str], form: str | None) -> bool:
    """Whether this form of what a verb prints is one for programs; of a server it is the form of its answers."""
    return form in _FOR_PROGRAMS and COMMANDS_OF_SERVERS.isdisjoint(verb)


def _value_of(option: str, arguments: list[str]) -> str:
    """Return the value of an option before the command line is read: what is wrong with that is told in its form."""
    given = [one.partition("=")[2] for one in arguments if one.startswith(f"{option}=")]
    return [*given, *(after for one, after in pairwise(arguments) if one == option), ""][0]


def _to_nobody(stream: TextIO) -> None:
    """Let what is still held back go nowhere. Nothing more may be written, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: list[str], output: Output) -> int:
    if sys.flags.optimize:
        raise AssertionsDisabled
    if arguments[:1] == ["help"] and arguments[1:2] and arguments[1] in COMMANDS:
        arguments = [arguments[1], "--help"]
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        output.line(_TOP_HELP.format(commands=_listed()))
        return 0
    if arguments[0] in {"--version", "version"}:
        output.line(f"cairn {__version__}")
        return 0
    name = arguments[0]
    if name.startswith("-"):
        raise UsageError(problem=f"There is no option {plain(name)} before the command.")
    if name in COMMANDS:
        return _run_verb(name, arguments[1:], output)
    # A first word that is no command is a query.
    meant = nearest(name, COMMANDS)
    try:
        return _run_verb("search", arguments, output, meant)
    except (UsageError, NotIndexed):
        if meant is None:
            raise
        raise UsageError(problem=f"There is no command `{plain(name)}`. {did_you_mean(meant)}") from None


def _listed() -> str:
    """Return the commands by what they are for, each with its line."""
    width = max(map(len, COMMANDS))
    lines = []
    for group, names in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:<{width}}  {COMMANDS[name].summary}" for name in names), ""]
    return "\n".join(lines)


def _run_verb(name: str, arguments: list[str], output: Output, meant: str | None = None) -> int:
    """Run a verb; `meant` is the one that was perhaps mistyped where a search is run instead."""
    try:
        options = _options(name, arguments)
    except _HelpWanted as wanted:
        # Help is as wide as the terminal, which only the process at the terminal knows.
        output.around.only_where_typed()
        output.stdout.write(wanted.parser.format_help())
        return 0
    options.meant = meant
    options.json = output.json = options.json or _is_for_programs([name], getattr(options, "format", None))
    output.verbosity = options.verbose - options.quiet
    _finish_cut_edits(name, options, output)
    return int(code_of(COMMANDS[name].place, "run")(options, output))


def _finish_cut_edits(name: str, options: argparse.Namespace, output: Output) -> None:
    """Finish what a killed `cairn rename --apply` has left half done in a tree, before anything is read or said of it.

    Servers never do, and neither does a command that was told to write nothing: their answers say that it was cut.
    """
    if name in COMMANDS_OF_SERVERS or getattr(options, "read_only", False):
        return
    if os.path.isdir(os.path.join(cairn_home(output.around.environ), *OPEN_EDITS)):
        # Not in the daemon, which writes to no tree.
        output.around.only_where_typed()
        code_of("cairn.cli.rename:cut_edits", "finish")(output)


def _options(name: str, arguments: list[str]) -> argparse.Namespace:
    parser = command_parser(name)
    if not COMMANDS[name].words:
        options = parser.parse_args(arguments)
        if COMMANDS[name].folder and options.folder is not None:
            if options.root_given:
                raise UsageError(problem=f"Both {plain(options.folder)} and `--root` name a folder; one is enough.")
            options.root = options.folder
        return options
    # Options may stand between the first word and the paths. Words after `--` are no options, which argparse would
    # forget here.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_intermixed_args(arguments[:end])
    first = getattr(options, COMMANDS[name].words)
    options.words = [*([] if first is None else [first]), *options.paths, *arguments[end + 1 :]]
    return options


def _report(problem: CairnError, output: Output) -> int:
    if isinstance(problem, SourceError):
        # The error may name a path as it was typed, and only the process it was typed in knows that form.
        output.around.only_where_typed()
    if output.json:
        output.line(error_envelope(problem).to_json())
    else:
        output.stderr.write(f"{output.styled('cairn:', 'red', output.stderr)} {plain(problem.sentence)}\n")
        if problem.advice:
            output.stderr.write(f"  {plain(problem.advice)}\n")
    return problem.exit_status
