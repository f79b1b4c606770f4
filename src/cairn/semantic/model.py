"""The values of the semantic layer that more than one of its modules handles.

Files are named by path key. Hashes of files are those of the snapshot (`StoredFile.file_hash`): a fact is believed only
where the hash it was computed from is the one of the pinned snapshot. Lines are 1-based; columns are 0-based and count
bytes; an end column is the first one behind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

# --- What a refresh has to cover: the union of files, packages and what changed since a time, or everything.


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


class Family(StrEnum):
    """Languages that one indexer understands together."""

    PYTHON = "python"
    TYPESCRIPT = "typescript"
    GO = "go"
    RUST = "rust"
    JVM = "jvm"
    CLANG = "clang"
    DOTNET = "dotnet"
    RUBY = "ruby"


@dataclass(frozen=True, slots=True)
class Context:
    """Files that one run of an indexer understands together: a package or a workspace.

    `root` is the folder (`""` is the top), `fence` the file that makes it one, `why` says so in words. `include` are
    the packages that its workspace takes in, and `punched` the roots of contexts nested in it.
    """

    id: str
    family: Family
    root: str
    name: str
    fence: str
    config_hash: str
    include: tuple[str, ...] = ()
    punched: tuple[str, ...] = ()
    why: str = ""


class JobStatus(StrEnum):
    """Where a refresh stands; the last three are its end."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Job:
    """One refresh of one context (by its id). `head` is the commit it was asked at, empty without one.

    Times are seconds since 1970. `pid` and `started_at` are of the process that has claimed it.
    """

    id: int
    context: str
    status: JobStatus
    scope: Scope
    reason: str
    priority: int
    head: str
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    error: str | None = None
    superseded_reason: str | None = None
    pid: int | None = None


class Freshness(StrEnum):
    """Whether what the semantic layer knows of a file still holds."""

    CLEAN = "clean"
    DIRTY = "dirty"
    STALE = "stale"
    PENDING_CHECK = "pending_check"
    UNINDEXED = "unindexed"


class Certainty(StrEnum):
    """Whether names in a file mean one thing."""

    CERTAIN = "certain"
    AMBIGUOUS = "ambiguous"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FileState:
    """Both axes, and why, in sentences."""

    freshness: Freshness
    certainty: Certainty
    reasons: tuple[str, ...] = ()


class OccurrenceRole(StrEnum):
    """What an occurrence does with its symbol."""

    DEFINITION = "definition"
    REFERENCE = "reference"
    IMPORT = "import"


class Occurrence(NamedTuple):
    """A symbol (normalised) in a place.

    The anchors are the text of the line just before and behind it, as `anchors.anchors` makes them: they are compared
    before a position is used.
    """

    path: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int
    role: OccurrenceRole
    symbol: str
    anchor_before: str
    anchor_after: str


# --- Which family of languages a file belongs to: by its name alone.


_SUFFIXES = {
    Family.PYTHON: "py pyi pyw",
    Family.TYPESCRIPT: "ts mts cts tsx js mjs cjs jsx",
    Family.GO: "go",
    Family.RUST: "rs",
    Family.JVM: "java kt kts scala sc",
    Family.CLANG: "c h cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp cu cuh",
    Family.DOTNET: "cs vb",
    Family.RUBY: "rb rake gemspec rbi",
}
_FAMILIES = {suffix: family for family, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def family_of(path: str) -> Family | None:
    """The family of the file with this path key; None when no indexer reads it."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _FAMILIES.get(suffix.lower()) if stem and dot else None
