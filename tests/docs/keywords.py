"""The arguments of the methods of `cairn.Code`, made from the options of the questions that they ask.

A signature is written out, so that editors, type checkers and the manual know it, and so is what its docstring says
about each argument: `python -m tests.docs.tables --write` puts both in place.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from cairn.ask import library
from cairn.ask.questions import GRAPH, MAP, OUTLINE, READ, REFS, SEARCH, SIMILAR, SYMBOL
from cairn.core.options import Choice, Face, Flag, Number, OptionOnFace, OptionTable, TextList

LIBRARY = Path(library.__file__)
METHODS = {
    "search": SEARCH,
    "outline": OUTLINE,
    "read": READ,
    "symbol": SYMBOL,
    "similar": SIMILAR,
    "callers": GRAPH,
    "callees": GRAPH,
    "references": REFS,
    "map": MAP,
}
WIDTH = 120
_AFTER = 99


def written(source: str) -> str:
    """Return the module with the arguments of every method as the options have them now."""
    for method, table in METHODS.items():
        source, found = re.subn(
            rf"(    def {method}\().*?(\) -> \w+(?:\[\w+\])?:\n.*?\n        Args:\n).*?(?=\n\n)",
            lambda part, table=table: part[1] + _signature(table) + part[2] + _explained(table),  # type: ignore[misc]
            source,
            count=1,
            flags=re.DOTALL,
        )
        assert found, f"cairn.Code.{method} has no signature with a return type and a docstring with `Args:`"
    return source


def _signature(table: OptionTable) -> str:
    lines = ["self", *(f"{one.name}: {_type(one)}{_default(one)}" for one in _ordered(table) if one.shown.positional)]
    keywords = [f"{one.name}: {_type(one)}{_default(one)}" for one in _ordered(table) if not one.shown.positional]
    if keywords:
        lines += ["*", *keywords]
    on_one_line = ", ".join(lines)
    if not keywords and len(on_one_line) < WIDTH // 2:
        return on_one_line
    return "".join(f"\n        {line}," for line in lines) + "\n    "


def _explained(table: OptionTable) -> str:
    lines = []
    for one in _ordered(table):
        said = one.sentence
        match one.type:
            case Choice(many=many):
                words = ", ".join(f"`{word}`" for word in one.type.listed())
                said = f"{said} {'Some' if many else 'One'} of {words}."
            case Number(least, most, noun) if most is not None and noun.startswith(("number", "depth")):
                said = f"{said} From {least:,} to {most:,}."
        lines += textwrap.wrap(
            f"{one.name}: {said}", WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 16, break_on_hyphens=False
        )
    return "\n".join(lines)


def _ordered(table: OptionTable) -> Iterator[OptionOnFace]:
    """Yield the options that Python has, those that may be given by their place first."""
    yield from sorted(table.on(Face.PYTHON), key=lambda one: one.shown.positional or _AFTER)


def _type(one: OptionOnFace) -> str:
    many = isinstance(one.type, TextList) or (isinstance(one.type, Choice) and one.type.many)
    name = "bool" if isinstance(one.type, Flag) else "int" if isinstance(one.type, Number) else "str"
    if many:
        return "Sequence[str]"
    return f"{name} | None" if one.default is None and not one.required else name


def _default(one: OptionOnFace) -> str:
    if one.required:
        return ""
    return f" = {json.dumps(one.default)}" if isinstance(one.default, str) else f" = {one.default!r}"
