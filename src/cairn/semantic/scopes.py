"""What a refresh has to cover: the union of files, packages and what changed since a time, or everything.

Scopes form a lattice. `NOTHING` is its bottom and `FULL`, a value of its own, its top; `join` only ever widens.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Scope:
    """A union: the files, everything below the packages (folders), and every file that changed after `since`.

    Paths are path keys; a package is a folder, `""` the top one. `full` stands above all others, so the rest is empty.
    """

    full: bool = False
    files: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    since: float | None = None

    def __post_init__(self) -> None:
        if self.full and (self.files or self.packages or self.since is not None):
            raise ValueError("a full scope has no parts")
        if self.since is not None and not math.isfinite(self.since):
            raise ValueError("a scope begins at a time")

    def join(self, other: Scope) -> Scope:
        """The least scope that covers both."""
        if self.full or other.full:
            return FULL
        times = [since for since in (self.since, other.since) if since is not None]
        files, packages = self.files | other.files, self.packages | other.packages
        return Scope(files=files, packages=packages, since=min(times) if times else None).plain()

    def plain(self) -> Scope:
        """The same, without what is covered twice: equal scopes are then equal values."""
        packages = frozenset(one for one in self.packages if not _below(one, self.packages - {one}))
        files = frozenset(one for one in self.files if not _below(one, packages))
        return Scope(self.full, files, packages, self.since)

    def covers(self, other: Scope) -> bool:
        """Whether a refresh of this scope does all that one of the other would do."""
        return self.join(other) == self.plain()

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return self == NOTHING

    def names(self, path: str) -> bool:
        """Whether the file is in it by its name; what changed since a time is not asked here."""
        return self.full or path in self.files or _below(path, self.packages)

    def to_json(self) -> str:
        """One text for one scope."""
        plain = self.plain()
        said: dict[str, Any] = {"full": True} if plain.full else {}
        if plain.files:
            said["files"] = sorted(plain.files)
        if plain.packages:
            said["packages"] = sorted(plain.packages)
        if plain.since is not None:
            said["since"] = plain.since
        return json.dumps(said, separators=(",", ":"), sort_keys=True)


NOTHING = Scope()
FULL = Scope(full=True)


def from_json(text: str) -> Scope:
    """The scope that `to_json` wrote down; ValueError for anything else."""
    said = json.loads(text)
    if not isinstance(said, dict) or said.keys() - {"full", "files", "packages", "since"}:
        raise ValueError("this is no scope")
    full, since = said.get("full", False), said.get("since")
    if not isinstance(full, bool) or not (since is None or type(since) in (int, float)):
        raise ValueError("this is no scope")
    named = [said.get(part, []) for part in ("files", "packages")]
    if not all(isinstance(part, list) and all(isinstance(one, str) for one in part) for part in named):
        raise ValueError("this is no scope")
    return Scope(full, frozenset(named[0]), frozenset(named[1]), None if since is None else float(since)).plain()


def of_files(paths: Iterable[str]) -> Scope:
    """Exactly these files; none of them is nothing, never everything."""
    return Scope(files=frozenset(paths))


def _below(path: str, folders: frozenset[str]) -> bool:
    """Whether the path lies in one of the folders, at any depth."""
    if not folders:
        return False
    if "" in folders:
        return True
    at = path.find("/")
    while at >= 0:
        if path[:at] in folders:
            return True
        at = path.find("/", at + 1)
    return False
