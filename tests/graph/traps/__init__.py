"""Small traps, one text file for each language: what every use means, what it does, the most that may be said of it.

A line `## title` begins a trap, a line `=== path` one of its files. At the end of a line stands between `«` and `»`
what a person says of it; the index never sees these. Its parts, with `;` between them:

- `=id`: the definition of the last name of `id` is on this line. Overloads and prototypes share an id.
- `name>id ROLE TIER`: `name` on this line means that definition, does `ROLE` there (`call|value` is either), and is at
  most `TIER`, which is `proven` when it is left out; a role that is left out may be any. `name#2` is the second time
  that the word stands there. `one+two` means either of two definitions.
- `name>local`, `name>ext`: it means a variable or something else, and no definition of the trap; `name>?` may mean one,
  which nobody can prove; `name>text` stands in a comment or a text and is never listed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
LANGUAGES = tuple(sorted(path.stem for path in FOLDER.glob("*.txt")))
LOCAL, EXTERNAL, UNKNOWN, TEXT = "local", "ext", "?", "text"
NO_DEFINITION = frozenset({LOCAL, EXTERNAL, UNKNOWN, TEXT})
_TIERS = ("name_only", "likely", "proven")
_USE = re.compile(r"([^>#]+)(?:#(\d+))?>(\S+)((?: [a-z_|]+)*)")


class Place(NamedTuple):
    """A place of a name: its file, line and column, both counted from 1."""

    path: str
    line: int
    column: int


class Label(NamedTuple):
    """What a person says of a place: the definitions that it may mean, its roles, and the most that may be claimed."""

    word: str
    means: frozenset[str]
    roles: frozenset[str]
    most: str


class Trap(NamedTuple):
    """A tree, the lines of its definitions by their ids, and the labels of its places."""

    title: str
    tree: dict[str, str]
    definitions: dict[str, tuple[tuple[str, int], ...]]
    labels: dict[Place, Label]


@cache
def traps(language: str) -> tuple[Trap, ...]:
    """Return the traps of a language. A label that fits no word, or names no definition, is a mistake."""
    _, *rest = re.split(r"(?m)^## (.+)\n", (FOLDER / f"{language}.txt").read_text("utf-8"))
    return tuple(_trap(title, text) for title, text in zip(rest[::2], rest[1::2], strict=True))


def _trap(title: str, text: str) -> Trap:
    _, *rest = re.split(r"(?m)^=== (.+)\n", text)
    tree: dict[str, str] = {}
    definitions: dict[str, list[tuple[str, int]]] = {}
    labels: dict[Place, Label] = {}
    for path, body in zip(rest[::2], rest[1::2], strict=True):
        lines = []
        for number, whole in enumerate(body.rstrip("\n").split("\n"), 1):
            line, _, said = whole.partition("«")
            lines.append(line.rstrip())
            for part in filter(None, (each.strip() for each in said.rstrip("» ").split(";"))):
                if part.startswith("="):
                    definitions.setdefault(part[1:], []).append((path, number))
                else:
                    column, label = _label(lines[-1], part)
                    assert Place(path, number, column) not in labels, f"{title}: {path}:{number}: {part} twice"
                    labels[Place(path, number, column)] = label
        tree[path] = "\n".join(lines) + "\n"
    for label in labels.values():
        assert label.means <= NO_DEFINITION | definitions.keys(), f"{title}: no definition {sorted(label.means)}"
    return Trap(title, tree, {each: tuple(lines) for each, lines in definitions.items()}, labels)


def _label(line: str, part: str) -> tuple[int, Label]:
    found = _USE.fullmatch(part)
    assert found, f"no label: {part}"
    words = [each.start() for each in re.finditer(rf"(?<![\w]){re.escape(found[1])}(?![\w])", line)]
    number = int(found[2] or 1)
    assert number <= len(words), f"{found[1]} does not stand {number} times in: {line}"
    means, said = frozenset(found[3].split("+")), found[4].split()
    tier = [each for each in said if each in _TIERS]
    roles = frozenset(role for each in said if each not in _TIERS for role in each.split("|"))
    least = "likely" if means == {UNKNOWN} or len(means) > 1 else "proven"
    most = "name_only" if means & {LOCAL, EXTERNAL} else tier[0] if tier else least
    return words[number - 1] + 1, Label(found[1], means, roles, most)
