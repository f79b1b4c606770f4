"""Where imports lead and what binds a name: what only code can say of a language, the same for all until one differs.

A language's `resolver.py` holds one subclass of `Resolver`, called `RESOLVER`. It sees the files of a snapshot as
`SnapshotFiles`: paths, languages, folders and, for settings, their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from cairn.core.limits import MAX_CONFIG_BYTES
from cairn.core.types import Import

# What one import may lead to; a package of more files is cut, so that a hostile tree cannot multiply the work.
MOST_FILES = 1_000


class Lead(StrEnum):
    """Where an import leads: into the snapshot, out of it, or nowhere that can be shown."""

    INSIDE = "inside"
    EXTERNAL = "external"
    UNRESOLVED = "unresolved"


class ImportTarget(NamedTuple):
    """What an import leads to. `name` is to be found in one of `files`; empty means the files themselves.

    `name` is `*` for everything, and dotted for what is inside a definition. `module` are the files that the name is
    when it is a module of its own (`from package import module`).
    """

    lead: Lead
    files: tuple[str, ...] = ()
    name: str = ""
    module: tuple[str, ...] = ()


EXTERNAL = ImportTarget(Lead.EXTERNAL)
UNRESOLVED = ImportTarget(Lead.UNRESOLVED)


def inside(files: tuple[str, ...], name: str = "", module: tuple[str, ...] = ()) -> ImportTarget:
    """A target in the snapshot; one without any file is `UNRESOLVED`."""
    return ImportTarget(Lead.INSIDE, files[:MOST_FILES], name, module[:MOST_FILES]) if files or module else UNRESOLVED


class SnapshotFiles:
    """The paths of a snapshot and what can be asked of them. Nothing depends on the order in which they were given."""

    def __init__(self, languages: Mapping[str, str], read: Callable[[str], bytes | None]) -> None:
        self.languages = {path: languages[path] for path in sorted(languages)}
        self._read = read

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


# Names that `let`, `val` and their like declare, in whatever language.
_DECLARED = re.compile(r"(?:\b(?:let|mut|val|var|auto|const|ref|final)\s+)$")
# Between the bars of a closure, `|a, b: u8|`; after `||` and after the second bar names are used.
_CLOSURE_BEFORE = re.compile(r"(?<!\|)\|[^|()\n]*$")
_CLOSURE_AFTER = re.compile(r"\s*[,:|](?!\|)")
_PARAMETER = re.compile(r"\s*[,:=)]")


class Resolver:
    """The default: imports lead nowhere, and names are bound as in most languages. One object serves one snapshot."""

    def __init__(self, files: SnapshotFiles) -> None:
        self._files = files

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Where an import of this file leads.

        `within` are the modules that are written inside the file around the import, outermost first.
        """
        return UNRESOLVED

    def find(self, path: str, parts: list[str], within: tuple[str, ...]) -> ImportTarget:
        """Where a path of names leads that begins with one of the language's `path_roots`."""
        return UNRESOLVED

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """The files of the module of this name that belongs to this file's own."""
        return ()

    def beside(self, path: str) -> frozenset[str]:
        """The files that share a scope with this one without any import, itself included."""
        return frozenset({path})

    @staticmethod
    def local_name(module: str) -> str:
        """The name that an import of a whole module gives it, when no other is written; empty for none."""
        return ""

    @staticmethod
    def exported_as(text: bytes) -> dict[str, str]:
        """What other files call the names of a file, where they have other names there; `WHOLE` for the file itself."""
        return {}

    @classmethod
    def binds_here(cls, before: str, after: str, in_header: bool) -> bool:
        """Whether a function makes a name its own at a place, by what stands before it and after it."""
        return (in_header and cls.is_parameter(before, after)) or cls.declares(before, after)

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether a name in the header of a function is one of its parameters."""
        return before.rstrip()[-1:] in "(,*{[" and bool(_PARAMETER.match(after))

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether a name in the body of a function is declared there."""
        return bool(_DECLARED.search(before) or (_CLOSURE_BEFORE.search(before) and _CLOSURE_AFTER.match(after)))


WHOLE = "="
"""What a file that says `module.exports = a` exports in place of itself."""


def follows_a_type(before: str, after: str) -> bool:
    """Whether a name in a header is a parameter as C and Java write it: `Type name`."""
    last = before.rstrip()[-1:]
    return (last.isalnum() or last in "*&>]") and after.lstrip()[:1] in (",", ")", "[")


_LOCAL_BEFORE = re.compile(r"(?:^|[;{}(\n])\s*(?!return\b|else\b|throw\b|new\b|goto\b)[\w:.]+(?:<[^;{}]*>)?[\s*&?]+$")
_LOCAL_AFTER = re.compile(r"\s*(?:=(?!=)|;)")


def is_declared_by_type(before: str, after: str) -> bool:
    """Whether a name in a body is declared as C and C# do it: `Type name = …` or `Type name;`."""
    return bool(_LOCAL_BEFORE.search(before) and _LOCAL_AFTER.match(after))
