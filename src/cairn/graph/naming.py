"""From a name to the one definition that is meant; or those that could be, or those that are called almost so.

A name fits letter by letter. In front of it may stand what is around it, as in `Class.method`, `mod::name` or
`file.py#name`; `path:line` names whatever begins there, or the innermost definition around that line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cairn.core.types import Symbol
from cairn.graph.outline import Definition, crosses, definition_of, definitions_in
from cairn.search.symbols import is_inside, qualified_parts
from cairn.store import SnapshotView

Near = Callable[[str], Sequence[Definition]]
"""The definitions whose names come nearest to a name."""

MOST_CANDIDATES = 100
_PLACE = re.compile(r"(?P<path>.+):(?P<line>[0-9]{1,9})")
_LEAST_LETTERS = 3


class NamingOutcome(StrEnum):
    """What became of a name."""

    OK = "ok"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The one definition; or of all that fit, by path and line, the first hundred; or the nearest. `total` fit."""

    outcome: NamingOutcome
    definitions: tuple[Definition, ...]
    total: int


def resolve(view: SnapshotView, wanted: str, *, path: str | None = None, near: Near = lambda _: ()) -> Resolution:
    """Which definition of the snapshot is meant, or of one file of it. `near` is asked only when none fits."""
    wanted = wanted.strip()
    here = _at_line(view, wanted, path)
    if here is not None:
        return Resolution(NamingOutcome.OK, (here,), 1)
    holder, mark, name = wanted.partition("#")
    # As the ids of a call graph write the name of a file.
    holder = holder.replace("%23", "#").replace("%25", "%")
    if path is None and mark and name and view.file(holder):
        wanted, path = name, holder
    found = _named(view, wanted, path)
    if not found:
        return Resolution(NamingOutcome.NOT_FOUND, tuple(near(wanted)), 0)
    languages = {key: file.language for key in {key for key, _ in found} if (file := view.file(key))}
    shown = tuple(definition_of(key, languages[key], symbol) for key, symbol in found[:MOST_CANDIDATES])
    return Resolution(NamingOutcome.OK if len(found) == 1 else NamingOutcome.AMBIGUOUS, shown, len(found))


def _at_line(view: SnapshotView, wanted: str, path: str | None) -> Definition | None:
    """What begins on a line, the outermost of several; else the innermost around it. None when this is no place."""
    said = _PLACE.fullmatch(wanted)
    file = view.file(said["path"]) if said else None
    if said is None or file is None or (path is not None and file.key != path):
        return None
    line = int(said["line"])
    around = [one for one in definitions_in(view, file) if crosses(one, (line, line))]
    begins = [one for one in around if one.start_line == line]
    # The later of two that are as long is inside the other.
    return begins[0] if begins else min(reversed(around), key=lambda one: one.end_byte - one.start_byte, default=None)


def _named(view: SnapshotView, wanted: str, path: str | None) -> list[tuple[str, Symbol]]:
    # Some names have dots in them: a selector, a heading, a key.
    found = _of_name(view, wanted, path)
    if not found:
        around, name = qualified_parts(wanted)
        by_file = "/" in wanted or "#" in wanted
        found = [
            (key, symbol)
            for key, symbol in _of_name(view, name, path)
            if not around or is_inside(around, key, symbol, by_file)
        ]
        # `Lease.steal` is the method rather than a function `steal` of a file called lease.
        found = [pair for pair in found if _dotted(pair[1]) == wanted.replace("::", ".")] or found
    return sorted(found, key=lambda pair: (pair[0], pair[1].start_byte, pair[1].end_byte))


def _of_name(view: SnapshotView, name: str, path: str | None) -> list[tuple[str, Symbol]]:
    return [(key, symbol) for key, symbol in view.symbols_named(name) if path is None or key == path]


def _dotted(symbol: Symbol) -> str:
    return ".".join(filter(None, (symbol.container, symbol.name))).replace("::", ".")


def nearest(find: Near, wanted: str) -> Sequence[Definition]:
    """What comes nearest to a name that nothing is called by: the name, then ever fewer of its first letters."""
    name = qualified_parts(wanted)[1]
    size = len(name)
    while size >= min(_LEAST_LETTERS, len(name)) and size:
        if found := find(name[:size]):
            return found
        size = size * 2 // 3
    return ()
