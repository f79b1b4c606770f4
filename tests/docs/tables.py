"""What is made from the code: `python -m tests.docs.tables --write` puts it in place.

These are the tables of the manual and the arguments of the methods that Python programs call (`keywords.py`).

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. What the code does not say, the manual cannot either,
and what the code says is in the manual: the test run fails when a page is out of date.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cairn
from cairn import errors
from cairn.ask.questions import QUESTIONS
from cairn.cli.main import command_parser
from cairn.cli.verbs import COMMANDS
from cairn.core import config, filetypes, limits
from cairn.core.options import Declined, Face, OptionOnFace
from cairn.core.types import SKIP_SENTENCES, SkipReason
from cairn.mcp.prompts import PROMPTS
from cairn.syntax.languages.pins import PINS
from cairn.tools.table import CHECK_EDIT, TOOLS
from tests.docs.keywords import LIBRARY, written

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
MANUAL, DECISIONS, README = DOCS / "manual", DOCS / "decisions", DOCS.parent / "README.md"
ATTACKS = DOCS / "conformance" / "attacks.toml"
MARKED = re.compile(r"(?<=<!-- table: )(?P<name>[a-z -]+?)(?P<open> -->\n)(?P<table>.*?)(?=<!-- end -->)", re.DOTALL)
# How many languages there are, as the first page says it.
COUNTED = re.compile(r"(?:(?<=turns )|(?<=chunks for ))[0-9]+(?= languages)")

Rows = Iterator[tuple[str, ...]]


def pages() -> list[Path]:
    """Every page that may hold a table."""
    return [*sorted(MANUAL.glob("*.md")), DECISIONS / "index.md", DOCS / "SECURITY.md", README]


def all_errors() -> list[type[errors.CairnError]]:
    """Every error, in order of exit status and then code."""
    found = [e for e in vars(errors).values() if inspect.isclass(e) and issubclass(e, errors.CairnError)]
    return sorted(found, key=lambda error: (error.exit_status, error.code))


def _errors() -> Rows:
    yield "code", "exit status", "what it says", "what to do"
    for error in all_errors():
        yield f"`{error.code}`", str(error.exit_status), *_words(error)


def _words(error: type[errors.CairnError]) -> list[str]:
    """The sentence of an error and its advice."""
    parts = inspect.cleandoc(error.__doc__ or "").partition("\n\n")
    return [re.sub(r"\{(\w+)\}", r"*\1*", " ".join(text.split())) for text in (parts[0], parts[2])]


def _public_errors() -> Rows:
    yield "name", "code", "what it says"
    for name in cairn.__all__:
        error = getattr(cairn, name)
        if inspect.isclass(error) and issubclass(error, errors.CairnError):
            yield f"`cairn.{name}`", f"`{error.code}`", _words(error)[0]


def _decisions() -> Rows:
    yield "page", "choice", "made", "state"
    for page in sorted(DECISIONS.glob("0*.md")):
        heading, _, made = page.read_text("utf-8").split("\n", 3)[:3]
        number, _, title = heading.removeprefix("# ").partition(" ")
        day, _, state = made.partition(" · ")
        yield f"[{number}]({page.name})", title, day, state


def attacks() -> list[dict[str, Any]]:
    """What was tried against the product, what holds, and which tests show it."""
    found: list[dict[str, Any]] = tomllib.loads(ATTACKS.read_text("utf-8"))["attack"]
    return found


def _attacks() -> Rows:
    yield "tried", "what holds", "tests"
    for attack in attacks():
        yield attack["tried"], attack["holds"], "<br>".join(f"`{test}`" for test in attack["tests"])


_WITHOUT_ERROR = {18: "the answer is `needs_decision`", 19: "the answer is `blocked`"}


def _exit_statuses() -> Rows:
    yield "exit status", "error codes"
    yield "0", "the command did what it was asked"
    by_status = defaultdict(list)
    for error in all_errors():
        by_status[error.exit_status].append(f"`{error.code}`")
    for status, words in _WITHOUT_ERROR.items():
        by_status[status].append(words)
    for status, codes in sorted(by_status.items()):
        yield str(status), ", ".join(codes)


def _skip_reasons() -> Rows:
    yield "reason", "what it means"
    for reason in SkipReason:
        yield f"`{reason.value}`", SKIP_SENTENCES[reason]


def _limits() -> Rows:
    yield "limit", "value"
    for name, value in vars(limits).items():
        if name.isupper() and name not in {"KIB", "MIB"}:
            yield f"`{name}`", _size(name, value)


def _size(name: str, value: int | float) -> str:
    if name.endswith("BYTES") or "_BYTES_" in name:
        for unit, size in (("MiB", limits.MIB), ("KiB", limits.KIB)):
            if isinstance(value, int) and value >= size and value % size == 0:
                return f"{value // size:,} {unit}"
        return f"{value:,} bytes"
    return f"{value:,}"


def _languages() -> Rows:
    yield "language", "files"
    for language in sorted(PINS):
        yield f"`{language}`", _files(language)


def _text_languages() -> Rows:
    yield "language", "files"
    for language in sorted(filetypes.LANGUAGES - set(PINS)):
        yield f"`{language}`", _files(language)


def _files(language: str) -> str:
    extensions = [f".{one}" for one in filetypes._EXTENSIONS.get(language, "").split()]
    return (
        " ".join(f"`{name}`" for name in [*extensions, *filetypes._NAMES.get(language, "").split()]) or "by `#!` line"
    )


def _keys(tables: config.Tables) -> Rows:
    yield "table", "key"
    for table, keys in tables.items():
        for key, check in keys.items():
            if not isinstance(check, str):
                yield f"`[{table}]`", f"`{key}`"


def _options(command: str) -> Rows:
    yield "option", "what it does"
    for action in command_parser(command)._actions:
        if action.help == argparse.SUPPRESS:
            continue
        names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
        metavar = f" `{action.metavar}`" if action.option_strings and action.metavar else ""
        yield names + metavar, str(action.help)


def _tools() -> Rows:
    yield "tool", "what it does", "arguments"
    for tool in (*TOOLS, CHECK_EDIT):
        required = tool.schema.get("required", ())
        names = [f"**`{name}`**" if name in required else f"`{name}`" for name in tool.schema["properties"]]
        yield f"`{tool.name}`", tool.description, ", ".join(names) or "none"


def _prompts() -> Rows:
    yield "prompt", "what comes of it", "what you fill in"
    for prompt in PROMPTS:
        left_out = "" if prompt.otherwise is None else f" ({prompt.otherwise})"
        yield f"`{prompt.name}`", prompt.description, f"`{prompt.argument}`: {prompt.help}{left_out}"


def _faces(question: str) -> Rows:
    """Yield how each face spells the options of a question, or why it does not have them."""
    yield "option", *(face.value for face in Face)
    table = QUESTIONS[question]
    for option in table.options:
        cells = []
        for face in Face:
            shown = option.on(face)
            if face in table.declined:
                cells.append(f"no: {table.declined[face]}")
            elif isinstance(shown, Declined):
                cells.append(f"no: {shown.why}")
            else:
                one = OptionOnFace(option, face, shown)
                cells.append(f"`{one.shown.metavar if face is Face.CLI and shown.positional else one.name}`")
        yield option.help, *cells


TABLES: dict[str, Callable[[], Rows]] = {
    "tools": _tools,
    "prompts": _prompts,
    "errors": _errors,
    "public errors": _public_errors,
    "decisions": _decisions,
    "attacks": _attacks,
    "exit statuses": _exit_statuses,
    "skip reasons": _skip_reasons,
    "limits": _limits,
    "languages": _languages,
    "text languages": _text_languages,
    "repository keys": lambda: _keys(config._REPO_KEYS),
    "user keys": lambda: _keys(config._USER_KEYS),
    **{f"faces of {name}": lambda name=name: _faces(name) for name in QUESTIONS},  # type: ignore[misc]
    **{f"options of {name}": lambda name=name: _options(name) for name in COMMANDS},  # type: ignore[misc]
}


def table(name: str) -> str:
    """One table as the manual shows it."""
    head, *rows = TABLES[name]()
    lines = [head, tuple("---" for _ in head), *rows]
    return (
        "\n"
        + "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
        + "\n"
    )


def filled(text: str) -> str:
    """A page with every table in it, and the number of languages, as the code has them now."""
    text = COUNTED.sub(str(len(PINS)), text)
    return MARKED.sub(lambda found: found["name"] + found["open"] + table(found["name"]), text)


def main(argv: list[str]) -> int:
    """Write the tables and arguments, or name the files that are out of date."""
    made = {page: filled(page.read_text("utf-8")) for page in pages()}
    made[LIBRARY] = written(LIBRARY.read_text("utf-8"))
    stale = {file: text for file, text in made.items() if text != file.read_text("utf-8")}
    for file, text in stale.items():
        print(("wrote " if "--write" in argv else "out of date: ") + file.relative_to(DOCS.parent).as_posix())
        if "--write" in argv:
            file.write_text(text, "utf-8")
    return 1 if stale and "--write" not in argv else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
