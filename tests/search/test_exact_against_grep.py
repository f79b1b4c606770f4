"""Thousands of random patterns over real source: the same matches as `grep -P`, difference zero.

Both sides get the pattern in their own writing: grep runs on bytes, so "any character" is spelled out for it.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cairn.engine.scan import Texts
from cairn.search.pattern import Case, compiled
from tests.lengths import at_length
from tests.search.trees import layered, viewed

_CHARACTER = r"[\xc2-\xf4][\x80-\xbf]++"
# Ours, and grep's. `\s` of PCRE knows one character more.
_ANY = (
    (".", rf"(?:[^\n\x80-\xff]|{_CHARACTER})"),
    (r"\w", r"\w"),
    (r"\d", r"\d"),
    (r"\s", r"[\t\f\r ]"),
    (r"\W", rf"(?:[^\w\n\x80-\xff]|{_CHARACTER})"),
    (r"\S", rf"(?:[^\t\n\f\r \x80-\xff]|{_CHARACTER})"),
    ("[^a-m]", rf"(?:[^a-m\n\x80-\xff]|{_CHARACTER})"),
    ("[a-f_]", "[a-f_]"),
    ("[[:upper:]]", "[[:upper:]]"),
    (r"[^\s(]", rf"(?:[^\t\n\f\r (\x80-\xff]|{_CHARACTER})"),
)
_COUNTS = ("", "", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,3}")
_EDGES = ("", "", "", "", r"\b", r"\B", "^", "$")


@dataclass(frozen=True)
class Pair:
    """One pattern in both writings."""

    ours: str
    grep: str

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.ours + other.ours, self.grep + other.grep)


def both(text: str) -> Pair:
    return Pair(text, text)


def made(dice: random.Random, words: list[str]) -> Pair:
    """A random pattern of which each part that repeats takes at least one character."""
    branches = [_branch(dice, words) for _ in range(dice.choice((1, 1, 1, 2, 3)))]
    whole = branches[0]
    for branch in branches[1:]:
        whole = whole + both("|") + branch
    return whole


def _branch(dice: random.Random, words: list[str]) -> Pair:
    whole = both(dice.choice(_EDGES))
    for _ in range(dice.randint(1, 4)):
        whole = whole + _atom(dice, words) + both(dice.choice(_EDGES) if dice.random() < 0.2 else "")
    return whole


def _atom(dice: random.Random, words: list[str]) -> Pair:
    kind = dice.random()
    if kind < 0.45:
        word = dice.choice(words)
        start = dice.randrange(len(word))
        return both(re.escape(word[start : start + dice.randint(1, 8)]).replace(r"\ ", " "))
    if kind < 0.85:
        return Pair(*dice.choice(_ANY)) + both(dice.choice(_COUNTS))
    inner = _atom(dice, words)
    if kind < 0.95:
        inner = inner + both("|") + _atom(dice, words)
    # An inner part that may be empty is not repeated: engines go different ways there.
    count = dice.choice(_COUNTS) if not re.search(r"[*?]", inner.ours.replace("(?:", "")) else ""
    return both("(?:") + inner + both(f"){count}")


def real_tree(folders: list[Path], most: int) -> dict[str, bytes]:
    """Text files of these folders, up to so many bytes of them."""
    tree: dict[str, bytes] = {}
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        data = path.read_bytes()
        most -= len(data)
        if most < 0:
            break
        # As the walk does: what is no UTF-8 is not indexed.
        if b"\0" not in data and data.decode("utf-8", "ignore").encode() == data:
            tree[f"{path.parent.name}/{path.name}"] = data
    return tree


class GaveUp(Exception):
    """grep's engine goes back and forth, and stops when that takes too long; ours does not."""


def grepped(root: Path, pattern: str, *options: str) -> bytes:
    command = ["grep", "-raPZ", *options, "-e", pattern, "."]
    ran = subprocess.run(
        command, cwd=root, capture_output=True, env={**os.environ, "LC_ALL": "C"}, timeout=60, check=False
    )
    if b"backtracking limit" in ran.stderr:
        raise GaveUp
    assert ran.returncode in (0, 1), (pattern, ran.stderr)
    return ran.stdout


def difference(texts: Texts, root: Path, pair: Pair, any_case: bool) -> list[object]:
    """What only one of the two finds: places that are not empty, and numbers of lines by file."""
    wanted = compiled(pair.ours, regex=True, case=Case.INSENSITIVE if any_case else Case.SENSITIVE)
    tally = texts.tally(wanted, np.ones(len(texts), np.bool_), lambda done: None)
    ours: set[object] = set()
    for place in np.flatnonzero(tally.matches).tolist():
        path, text = texts.paths[place].encode(), texts.text(place)
        ours.add((path, int(tally.lines[place])))
        for line in texts.lines(wanted, place):
            ours |= {(path, line.number, start, bytes(text[start:end])) for start, end in line.spans if end > start}
    option = ["-i"] if any_case else []
    theirs: set[object] = set()
    for found in grepped(root, pair.grep, "-c", *option).splitlines():
        path, _, count = found.removeprefix(b"./").partition(b"\0")
        if int(count):
            theirs.add((path, int(count)))
    for found in grepped(root, pair.grep, "-onb", *option).split(b"\n")[:-1]:
        path, _, rest = found.removeprefix(b"./").partition(b"\0")
        number, offset, match = rest.split(b":", 2)
        theirs.add((path, int(number), int(offset), match))
    return sorted(map(repr, ours ^ theirs))


def disagreements(root: Path, folders: list[Path], most: int, layers: int, count: int, seed: int) -> Iterator[object]:
    tree = real_tree(folders, most)
    for path, data in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    dice = random.Random(seed)
    words = sorted({word for data in tree.values() for word in data.decode().splitlines() if 2 < len(word) < 80})
    with viewed(layered(tree, layers, b"def ghost(self): return None\n")) as view:
        texts = Texts(view)
        compared = 0
        while compared < count:
            pair = made(dice, words)
            with contextlib.suppress(GaveUp):
                found = difference(texts, root, pair, dice.random() < 0.2)
                compared += 1
                if found:
                    yield pair, found[:3]


HERE = Path(__file__).parents[2] / "src" / "cairn"
pytestmark = pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep here to compare with")


def test_a_dozen_random_patterns_match_what_grep_matches(tmp_path: Path) -> None:
    assert list(disagreements(tmp_path, [HERE / "store", HERE / "syntax"], 200_000, 3, 12, 1)) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_random_patterns_match_what_grep_matches(tmp_path: Path, seed: int) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    folders = [HERE, *(library / name for name in ("email", "idlelib", "unittest"))][seed:]
    assert list(disagreements(tmp_path, folders, 600_000, 1 + 2 * seed, at_length(260), seed)) == []
