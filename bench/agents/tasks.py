"""The tasks, the trees that they are about, and how right an answer is."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

TASKS = tuple(Path(__file__).with_name(name) for name in ("tasks.toml", "fresh.toml"))
_SPAN = re.compile(r"(?P<path>.+):(?P<first>\d+)(-(?P<last>\d+))?")
# How many places an answer to a question in words may name.
_MOST_GUESSES = 3
# A longer span, such as a whole class, does not say where the answer is.
_LONGEST_GUESS = 120
RIGHT = 0.95


class Repository(NamedTuple):
    """A public repository at one commit."""

    name: str
    commit: str
    language: str


class Task(NamedTuple):
    """A question. `answer` holds places, spans of lines, files or names; what is in `also` is not wrong either."""

    repository: str
    half: str
    kind: str
    subject: str
    answer: tuple[str, ...]
    also: tuple[str, ...] = ()
    to: str = ""


class Played(NamedTuple):
    """What was said to a task, by the end and after the first call, and what it cost: `paid` are tokens by tool."""

    calls: int
    characters: int
    said: tuple[str, ...]
    said_first: tuple[str, ...]
    paid: tuple[tuple[str, int], ...] = ()


class Score(NamedTuple):
    """How much of what was said is right, and how much of what is right was said."""

    precision: float
    recall: float

    @property
    def right(self) -> bool:
        return min(self) >= RIGHT


def read(paths: Iterable[Path] = TASKS) -> tuple[dict[str, Repository], list[Task]]:
    """Return the repositories by their short names, and the tasks."""
    repositories: dict[str, Repository] = {}
    tasks: list[Task] = []
    for path in paths:
        told = tomllib.loads(path.read_text())
        repositories |= {name: Repository(**row) for name, row in told["repositories"].items()}
        tasks += [Task(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
                  for row in told["tasks"]]  # fmt: skip
    return repositories, tasks


def unpack(repository: Repository, clones: Path, into: Path) -> Path:
    """Return the tree of the commit, taken from the clone `clones/OWNER+NAME/repo`, or `clones/OWNER/NAME`."""
    flat = clones / repository.name.replace("/", "+") / "repo"
    clone = flat if flat.exists() else clones / repository.name
    tree = into / repository.name.partition("/")[2]
    tree.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "-C", str(clone), "archive", repository.commit], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "x", "-C", str(tree)], input=archive, check=True)
    return tree


def score(task: Task, said: Iterable[str]) -> Score:
    """Return how right an answer is.

    Of a body, its lines count; a question in words is answered by a place in the right lines among the first three.
    """
    if task.kind == "question":
        near = any(_overlap(one, right) for one in _guesses(said) for right in task.answer)
        return Score(float(near), float(near))
    right, fine, given = _parts(task.answer), _parts(task.also), _parts(said)
    given -= fine - right
    if not given:
        return Score(0.0, 0.0)
    hit = len(given & right)
    return Score(hit / len(given), hit / len(right))


def _guesses(said: Iterable[str]) -> list[str]:
    return [one for one in list(said)[:_MOST_GUESSES] if len(_parts([one])) <= _LONGEST_GUESS]


def _parts(answer: Iterable[str]) -> set[str]:
    """Return the single lines, files and names of an answer."""
    found: set[str] = set()
    for one in answer:
        span = _SPAN.fullmatch(one)
        if span is None or span["last"] is None:
            found.add(one)
        else:
            found |= {f"{span['path']}:{line}" for line in range(int(span["first"]), int(span["last"]) + 1)}
    return found


def _overlap(one: str, other: str) -> bool:
    return not _parts([one]).isdisjoint(_parts([other]))
