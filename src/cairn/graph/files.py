"""The files of a snapshot as import resolution sees them: paths, languages, folders and, for settings, their text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from cairn.core.limits import MAX_CONFIG_BYTES
from cairn.store.snapshot import SnapshotView

# What one import may lead to; a package of more files is cut, so that a hostile tree cannot multiply the work.
MOST_FILES = 1_000


class Outcome(StrEnum):
    """Where an import leads: into the snapshot, out of it, or nowhere that can be shown."""

    INSIDE = "inside"
    EXTERNAL = "external"
    UNRESOLVED = "unresolved"


class Target(NamedTuple):
    """What an import leads to. `name` is to be found in one of `files`; empty means the files themselves.

    `name` is `*` for everything, and dotted for what is inside a definition. `module` are the files that the name is
    when it is a module of its own (`from package import module`).
    """

    outcome: Outcome
    files: tuple[str, ...] = ()
    name: str = ""
    module: tuple[str, ...] = ()


EXTERNAL = Target(Outcome.EXTERNAL)
UNRESOLVED = Target(Outcome.UNRESOLVED)


def inside(files: tuple[str, ...], name: str = "", module: tuple[str, ...] = ()) -> Target:
    """A target in the snapshot; one without any file is `UNRESOLVED`."""
    return Target(Outcome.INSIDE, files[:MOST_FILES], name, module[:MOST_FILES]) if files or module else UNRESOLVED


class Files:
    """The paths of a snapshot and what can be asked of them. Nothing depends on the order in which they were given."""

    def __init__(self, languages: Mapping[str, str], read: Callable[[str], bytes | None]) -> None:
        self.languages = {path: languages[path] for path in sorted(languages)}
        self._read = read

    @classmethod
    def of(cls, view: SnapshotView) -> Files:
        """The files of a snapshot that have facts."""
        languages = {path: record.language for path, record in view.records().items() if record.skip is None}

        def read(path: str) -> bytes | None:
            text = view.text(path)
            return None if text is None else bytes(text)

        return cls(languages, read)

    def __contains__(self, path: object) -> bool:
        return path in self.languages

    @cached_property
    def folders(self) -> dict[str, tuple[str, ...]]:
        """Every folder that holds a file at any depth, with the files that stand right in it; the root is empty."""
        inner: dict[str, list[str]] = {"": []}
        for path in self.languages:
            folder = parent(path)
            inner.setdefault(folder, []).append(path)
            while folder:
                folder = parent(folder)
                if folder in inner:
                    break
                inner[folder] = []
        return {folder: tuple(files) for folder, files in inner.items()}

    @cached_property
    def by_name(self) -> dict[str, tuple[str, ...]]:
        """The files of every last name of a path."""
        found: dict[str, list[str]] = {}
        for path in self.languages:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    def settings(self, path: str) -> str | None:
        """The text of a settings file; None when there is none, or when it is too large to be one."""
        if path not in self.languages:
            return None
        data = self._read(path)
        return None if data is None or len(data) > MAX_CONFIG_BYTES else data.decode("utf-8", "replace")

    def head(self, path: str, size: int) -> str:
        """The beginning of a file."""
        return (self._read(path) or b"")[:size].decode("utf-8", "replace")


def parent(path: str) -> str:
    """The folder of a path; empty for what stands in the root."""
    return path.rpartition("/")[0]


def above(folder: str) -> list[str]:
    """A folder and those around it, the nearest first, the root last."""
    found = [folder]
    while folder:
        folder = parent(folder)
        found.append(folder)
    return found


def below(folder: str, inner: str) -> str:
    """The path of something in a folder."""
    return f"{folder}/{inner}" if folder and inner else folder or inner


def normal(folder: str, relative: str) -> str | None:
    """The path that `relative` means in a folder; None when it leads out of the root or is no path."""
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
