"""The local names of one function as answers show them: each place with its line, its column and what is done there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cairn.graph.outline import Definition
from cairn.graph.uses import shown_line


class Binding(NamedTuple):
    """A local name by bytes: where its scope begins, and its places with their roles."""

    name: str
    scope: int
    places: Iterable[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class LocalUse:
    """A place that names something local; `column` counts characters from 1."""

    line: int
    column: int
    start_byte: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class LocalVariable:
    """A local name, the line on which its scope begins, and where it stands."""

    name: str
    scope_line: int
    places: tuple[LocalUse, ...]


@dataclass(frozen=True, slots=True)
class Locals:
    """A function and its local names, in the order in which they first stand."""

    definition: Definition
    names: tuple[LocalVariable, ...]


def locals_of(definition: Definition, text: bytes, found: Iterable[Binding]) -> Locals:
    """The local names of a function of this text."""
    names = []
    for name, scope, places in found:
        shown = tuple(_use(text, at, role) for at, role in places)
        names.append(LocalVariable(name, text.count(b"\n", 0, scope) + 1, shown))
    return Locals(definition, tuple(names))


def _use(text: bytes, at: int, role: str) -> LocalUse:
    column, line = shown_line(text, at)
    return LocalUse(text.count(b"\n", 0, at) + 1, column, at, role, line)
