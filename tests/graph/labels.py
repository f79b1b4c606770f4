"""Small written codebases, one text file for each language, with what every use of a name means written beside it.

A line `=== path` begins a file. At the end of a line stands, between `«` and `»`, what a person says of it; the
resolver never sees these. Its parts, with `;` between them:

- `=id`: the definition on this line is called `id`. Overloads, prototypes and a class with its constructor share one.
- `name>id`: `name`, used on this line, means that definition. `name#2` is the second time that the word stands there.
- `name>ext`, `name>local`, `name>?`: it means something outside of the tree; a parameter or a variable of the function;
  something that cannot be told from the text.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "labelled"
# A codebase for each language, and for some a second one that is full of traps.
WRITTEN = tuple(sorted(path.stem for path in FOLDER.glob("*.txt")))
LANGUAGES = tuple(name for name in WRITTEN if not name.endswith("-traps"))
NOWHERE = frozenset({"ext", "local", "?"})
_USE = re.compile(r"([^>#]+)(?:#(\d+))?>(.+)")


class Spot(NamedTuple):
    """A place in a file: a line, and the byte of the line where a name begins."""

    path: str
    line: int
    column: int


class Labelled(NamedTuple):
    """A tree, the labels of its uses, and the lines that each label of a definition stands on."""

    header: str
    tree: dict[str, str]
    uses: dict[Spot, tuple[str, str]]
    definitions: dict[str, frozenset[tuple[str, int]]]


@cache
def labelled(name: str) -> Labelled:
    """A written codebase. A label that fits no word, or names no definition, is a mistake."""
    header, *rest = re.split(r"(?m)^=== (.+)\n", (FOLDER / f"{name}.txt").read_text("utf-8"))
    tree: dict[str, str] = {}
    uses: dict[Spot, tuple[str, str]] = {}
    definitions: dict[str, set[tuple[str, int]]] = {}
    for path, text in zip(rest[::2], rest[1::2], strict=True):
        lines = []
        for number, whole in enumerate(text.splitlines(), 1):
            line, _, labels = whole.partition("«")
            lines.append(line.rstrip())
            for label in filter(None, (each.strip() for each in labels.rstrip("» ").split(";"))):
                if label.startswith("="):
                    definitions.setdefault(label[1:], set()).add((path, number))
                else:
                    word, column, means = _use(lines[-1], label)
                    assert Spot(path, number, column) not in uses, f"{path}:{number}: two labels for {word}"
                    uses[Spot(path, number, column)] = word, means
        tree[path] = "\n".join(lines) + "\n"
    assert not NOWHERE & definitions.keys()
    for spot, (word, means) in uses.items():
        assert means in NOWHERE or means in definitions, f"{name}: {spot} {word}: no definition {means}"
    return Labelled(header, tree, uses, {label: frozenset(lines) for label, lines in definitions.items()})


def _use(line: str, label: str) -> tuple[str, int, str]:
    found = _USE.fullmatch(label)
    assert found, f"no label: {label}"
    words = [each.start() for each in re.finditer(rf"(?<![\w$]){re.escape(found[1])}(?![\w$])", line)]
    wanted = int(found[2] or 1)
    assert wanted <= len(words), f"{found[1]} does not stand {wanted} times in: {line}"
    return found[1], words[wanted - 1], found[3]
