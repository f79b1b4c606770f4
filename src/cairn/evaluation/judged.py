"""Judged questions from a folder: which repositories there are, what is asked about each, and which files answer.

`repos.json` lists the repositories (`name`, `language`, and `benchmark_root` where only one folder of a repository is
searched). `annotations/NAME.json` holds the questions about one repository (`query`, `category`, and the answers as
`relevant` and `secondary`, each a path or an object with `path`, `start_line` and `end_line`). `split.json` says which
names each part (`dev`, …) holds.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from cairn.core.limits import MIB
from cairn.errors import BadPathKey, UsageError
from cairn.evaluation.scoring import JudgedQuestion, Lines
from cairn.source.root import path_key, printable

_MOST_BYTES = 16 * MIB


class Repository(NamedTuple):
    """A folder and the questions about it."""

    name: str
    folder: str
    questions: tuple[JudgedQuestion, ...]


class Judged(NamedTuple):
    """The repositories that were found, and the names of those that have questions but no folder."""

    repositories: tuple[Repository, ...]
    missing: tuple[str, ...]


def load(data: str, repos: str, half: str | None = None) -> Judged:
    """Return the questions in the folder `data` about the folders in `repos`; with `half` only those of that part.

    A `UsageError` names the file that is invalid, or says that there is nothing to ask.
    """
    wanted = _names_of(data, half) if half is not None else None
    repositories, missing = [], []
    for given in _list(_read(data, "repos.json"), "repos.json"):
        name, language = _text(given, "name", "repos.json"), _text(given, "language", "repos.json", "unknown")
        folder = _folder(repos, name, _text(given, "benchmark_root", "repos.json", ""))
        if wanted is not None and name not in wanted:
            continue
        if not os.path.isdir(folder):
            missing.append(name)
            continue
        file = f"annotations/{name}.json"
        # A repository that nobody has asked anything about yet is nothing wrong.
        found = _list(_read(data, file), file) if os.path.exists(os.path.join(data, file)) else []
        questions = tuple(_question(one, name, language, file) for one in found)
        if questions:
            repositories.append(Repository(name, folder, questions))
    if not repositories:
        there = f"; of {len(missing)} there is no folder in {_shown(repos)}" if missing else ""
        raise UsageError(problem=f"There is no question to ask in {_shown(data)}{there}.")
    return Judged(tuple(repositories), tuple(missing))


def _names_of(data: str, half: str) -> frozenset[str]:
    split = _read(data, "split.json")
    if not isinstance(split, dict) or half not in split:
        known = ", ".join(sorted(split)) if isinstance(split, dict) else ""
        raise UsageError(problem=f"There is no half called {half[:40]!r}; {known or 'split.json names none'}.")
    return frozenset(map(str, _list(split[half], "split.json")))


def _folder(repos: str, name: str, inside: str) -> str:
    """Return the folder of a repository. The names come from an untrusted file; one that leads elsewhere is refused."""
    try:
        parts = [path_key(os.fsencode(part)) for part in (name, inside.strip("/")) if part]
    except BadPathKey as problem:
        raise _bad("repos.json", str(problem.fields["why"])) from None
    if not parts or "/" in name:
        raise _bad("repos.json", "the name of a repository is one word without slashes")
    return os.path.join(repos, *parts)


def _question(given: Any, name: str, language: str, file: str) -> JudgedQuestion:
    text, category = _text(given, "query", file), _text(given, "category", file, "unknown")
    places = [*_list(given.get("relevant", []), file), *_list(given.get("secondary", []), file)]
    return JudgedQuestion(name, language, category, text, tuple(_target(one, file) for one in places))


def _target(given: Any, file: str) -> Lines:
    if isinstance(given, str):
        return Lines(given)
    lines = [given.get(name) if isinstance(given, dict) else None for name in ("start_line", "end_line")]
    if not all(line is None or isinstance(line, int) for line in lines):
        raise _bad(file, "a line is no number")
    return Lines(_text(given, "path", file), *lines)


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(data: str, file: str) -> Any:
    try:
        with open(os.path.join(data, file), "rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise _bad(file, os.strerror(problem.errno or 0), data) from None
    if len(content) > _MOST_BYTES:
        raise _bad(file, f"it has more than {_MOST_BYTES:,} bytes", data)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise _bad(file, "it is not JSON", data) from None


def _list(value: Any, file: str) -> list[Any]:
    if not isinstance(value, list):
        raise _bad(file, "a list is expected where there is none")
    return value


def _text(given: Any, name: str, file: str, without: str | None = None) -> str:
    value = given.get(name) if isinstance(given, dict) else None
    if value is None and without is not None and isinstance(given, dict):
        return without
    if not isinstance(value, str):
        raise _bad(file, f"an entry has no `{name}`")
    return value


def _bad(file: str, why: str, data: str | None = None) -> UsageError:
    where = f" in {_shown(data)}" if data is not None else ""
    return UsageError(problem=f"The questions cannot be read: {file}{where}: {why}.")


def _shown(path: str) -> str:
    return printable(os.fsencode(path))
