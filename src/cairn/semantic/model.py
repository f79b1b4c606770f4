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

# --- scopes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RefreshScope:
    """What a refresh has to cover: files, everything below packages (folders), and every file changed after `since`.

    The parts form a union. Paths are path keys; a package is a folder, `""` the top one. `full` covers everything, so
    the other parts are then empty.
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

    def join(self, other: RefreshScope) -> RefreshScope:
        """Return the least scope that covers this scope and another."""
        if self.full or other.full:
            return FULL
        times = [since for since in (self.since, other.since) if since is not None]
        files, packages = self.files | other.files, self.packages | other.packages
        return RefreshScope(files=files, packages=packages, since=min(times) if times else None).plain()

    def plain(self) -> RefreshScope:
        """Return this scope without parts that other parts cover, so that equal scopes are equal values."""
        packages = frozenset(one for one in self.packages if not _below(one, self.packages - {one}))
        files = frozenset(one for one in self.files if not _below(one, packages))
        return RefreshScope(self.full, files, packages, self.since)

    def covers(self, other: RefreshScope) -> bool:
        """Whether a refresh of this scope does all that a refresh of another would do."""
        return self.join(other) == self.plain()

    @property
    def empty(self) -> bool:
        """Whether this scope covers nothing."""
        return self == NOTHING

    def names(self, path: str) -> bool:
        """Whether the file is in this scope by its name; `since` is not looked at."""
        return self.full or path in self.files or _below(path, self.packages)

    def to_json(self) -> str:
        """Return the scope as text; equal scopes give equal texts."""
        plain = self.plain()
        said: dict[str, Any] = {"full": True} if plain.full else {}
        if plain.files:
            said["files"] = sorted(plain.files)
        if plain.packages:
            said["packages"] = sorted(plain.packages)
        if plain.since is not None:
            said["since"] = plain.since
        return json.dumps(said, separators=(",", ":"), sort_keys=True)


NOTHING = RefreshScope()
FULL = RefreshScope(full=True)


def from_json(text: str) -> RefreshScope:
    """Return the scope that `to_json` wrote; raises ValueError for any other text."""
    said = json.loads(text)
    if not isinstance(said, dict) or said.keys() - {"full", "files", "packages", "since"}:
        raise ValueError("this is no scope")
    full, since = said.get("full", False), said.get("since")
    if not isinstance(full, bool) or not (since is None or type(since) in (int, float)):
        raise ValueError("this is no scope")
    named = [said.get(part, []) for part in ("files", "packages")]
    if not all(isinstance(part, list) and all(isinstance(one, str) for one in part) for part in named):
        raise ValueError("this is no scope")
    return RefreshScope(full, frozenset(named[0]), frozenset(named[1]), None if since is None else float(since)).plain()


def of_files(paths: Iterable[str]) -> RefreshScope:
    """Return the scope of exactly these files; no files give the empty scope, never the full one."""
    return RefreshScope(files=frozenset(paths))


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

    `root` is the folder (`""` is the top), `fence` the project file that makes it a context, `why` explains that in
    words. `include` are the packages that the workspace takes in, and `punched` the roots of contexts nested in this
    one.
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
    """The status of a refresh job; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Job:
    """One refresh of one context (by its id). `head` is the commit of the request, empty without one.

    Times are seconds since 1970. `pid` and `started_at` belong to the process that claimed the job.
    """

    id: int
    context: str
    status: JobStatus
    scope: RefreshScope
    reason: str
    priority: int
    head: str
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    error: str | None = None
    superseded_reason: str | None = None
    pid: int | None = None


class FactFreshness(StrEnum):
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
    """The freshness and the certainty of a file, and the reasons in sentences."""

    freshness: FactFreshness
    certainty: Certainty
    reasons: tuple[str, ...] = ()


class OccurrenceRole(StrEnum):
    """What an occurrence does with its symbol."""

    DEFINITION = "definition"
    REFERENCE = "reference"
    IMPORT = "import"


class Occurrence(NamedTuple):
    """One place of a (normalised) symbol in a file.

    The anchors are the text of the line just before and behind the place, as `places.anchors` makes them: they are
    compared before a position is used.
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


# --- families ---------------------------------------------------------------------------------------------------------


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
    """Return the family of the file with this path key; None when no indexer reads it."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return _FAMILIES.get(suffix.lower()) if stem and dot else None
