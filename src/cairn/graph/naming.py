"""Find the definition that a typed name means.

A name must be exact, upper and lower case included. It may follow what surrounds the definition, as in `Class.method`,
`mod::name` or `file.py#name`. `path:line` names the definition that begins on that line, or else the innermost
definition around the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cairn.core.text import unescaped
from cairn.core.types import Symbol
from cairn.graph.outline import Definition, crosses, definition_of, definitions_in
from cairn.search.symbols import is_inside, qualified_parts
from cairn.store import SnapshotView

Near = Callable[[str], Sequence[Definition]]
"""A function that returns the definitions whose names are most similar to a name."""

MOST_CANDIDATES = 100
_PLACE = re.compile(r"(?P<path>.+):(?P<line>[0-9]{1,9})")
_LEAST_LETTERS = 3


class NamingOutcome(StrEnum):
    """How the search for a name ended."""

    OK = "ok"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The definitions that a name may mean.

    `definitions` holds the one definition (`OK`), the first hundred matches by path and place (`AMBIGUOUS`), or similar
    names (`NOT_FOUND`). `total` is the number of definitions that match the name.
    """

    outcome: NamingOutcome
    definitions: tuple[Definition, ...]
    total: int


def resolve(view: SnapshotView, wanted: str, *, path: str | None = None, near: Near = lambda _: ()) -> Resolution:
    """Find the definition that a name means in a snapshot, or in the file `path`.

    `near` suggests similar names and is called only when no definition matches.
    """
    wanted = wanted.strip()
    here = _at_line(view, wanted, path)
    if here is not None:
        return Resolution(NamingOutcome.OK, (here,), 1)
    marked, in_file = "#" in wanted, _in_file(view, wanted) if path is None else None
    if in_file is not None:
        path, wanted = in_file
    found = _named(view, wanted, path)
    if marked:
        # `file.py#run` is the function of that name before a method of it, as in the id of a node.
        found = [pair for pair in found if _dotted(pair[1]) == wanted.replace("::", ".")] or found
    if not found:
        return Resolution(NamingOutcome.NOT_FOUND, tuple(near(wanted)), 0)
    languages = {key: file.language for key in {key for key, _ in found} if (file := view.file(key))}
    shown = tuple(definition_of(key, languages[key], symbol) for key, symbol in found[:MOST_CANDIDATES])
    return Resolution(NamingOutcome.OK if len(found) == 1 else NamingOutcome.AMBIGUOUS, shown, len(found))


def _in_file(view: SnapshotView, wanted: str) -> tuple[str, str] | None:
    """Return the file and the name of `FILE#name`; None where the text before no `#` is a file."""
    for mark in re.finditer("#", wanted):
        holder, name = wanted[: mark.start()], wanted[mark.end() :]
        # The ids of call graph nodes escape `#` and `%` in the path, so that an id can be typed as a name.
        for file in (holder, holder.replace("%23", "#").replace("%25", "%"), unescaped(holder)):
            if name and view.file(file):
                return file, name
    return None


def _at_line(view: SnapshotView, wanted: str, path: str | None) -> Definition | None:
    """Return the outermost definition that begins on the line of a `path:line`, else the innermost one around it.

    None when `wanted` is no `path:line` of an indexed file.
    """
    said = _PLACE.fullmatch(wanted)
    file = (view.file(said["path"]) or view.file(unescaped(said["path"]))) if said else None
    if said is None or file is None or (path is not None and file.key != path):
        return None
    line = int(said["line"])
    around = [one for one in definitions_in(view, file) if crosses(one, (line, line))]
    begins = [one for one in around if one.start_line == line]
    # Of two definitions of equal length, the later one in the list is inside the earlier one.
    return begins[0] if begins else min(reversed(around), key=lambda one: one.end_byte - one.start_byte, default=None)


def _named(view: SnapshotView, wanted: str, path: str | None) -> list[tuple[str, Symbol]]:
    # The whole text is tried as a name first: a CSS selector, a heading or a key may contain dots.
    found = _of_name(view, wanted, path)
    if not found:
        around, name = qualified_parts(wanted)
        by_file = "/" in wanted or "#" in wanted
        found = [
            (key, symbol)
            for key, symbol in _of_name(view, name, path)
            if not around or is_inside(around, key, symbol, by_file)
        ]
        # `Lease.steal` means the method `steal` of a class `Lease` before a function `steal` in a file `lease.py`.
        found = [pair for pair in found if _dotted(pair[1]) == wanted.replace("::", ".")] or found
    return sorted(found, key=lambda pair: (pair[0], pair[1].start_byte, pair[1].end_byte))


def _of_name(view: SnapshotView, name: str, path: str | None) -> list[tuple[str, Symbol]]:
    return [(key, symbol) for key, symbol in view.symbols_named(name) if path is None or key == path]


def _dotted(symbol: Symbol) -> str:
    return ".".join(filter(None, (symbol.container, symbol.name))).replace("::", ".")


def nearest(find: Near, wanted: str) -> Sequence[Definition]:
    """Find the definitions most similar to a name that no definition has.

    `find` is called with the name, then with ever fewer of its first letters, until it returns something.
    """
    name = qualified_parts(wanted)[1]
    size = len(name)
    while size >= min(_LEAST_LETTERS, len(name)) and size:
        if found := find(name[:size]):
            return found
        size = size * 2 // 3
    return ()
