"""The base class of resolvers, which find the files of imports and tell what binds a name in a language.

A language's `resolver.py` holds one subclass of `Resolver`, called `RESOLVER`. It sees the files of a snapshot as
`SnapshotFiles`: paths, languages, folders and, for settings, their text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

from cairn.core.lazy import cached_property
from cairn.core.limits import MAX_CONFIG_BYTES
from cairn.core.types import Import

# The most files that one import leads to, so that a package of a hostile tree cannot multiply the work.
MOST_FILES = 1_000


class Lead(StrEnum):
    """Where an import leads: into the snapshot, out of it, or unknown."""

    INSIDE = "inside"
    EXTERNAL = "external"
    UNRESOLVED = "unresolved"


class ImportTarget(NamedTuple):
    """What an import leads to: the definition `name` in one of `files`, or the files themselves when `name` is empty.

    `name` is `*` for a wildcard, and dotted for a member of a definition. `module` are the files of the name when it is
    a module itself, as in `from package import module`.
    """

    lead: Lead
    files: tuple[str, ...] = ()
    name: str = ""
    module: tuple[str, ...] = ()


EXTERNAL = ImportTarget(Lead.EXTERNAL)
UNRESOLVED = ImportTarget(Lead.UNRESOLVED)


def inside(files: tuple[str, ...], name: str = "", module: tuple[str, ...] = ()) -> ImportTarget:
    """Return a target in the snapshot; `UNRESOLVED` without any file."""
    return ImportTarget(Lead.INSIDE, files[:MOST_FILES], name, module[:MOST_FILES]) if files or module else UNRESOLVED


class SnapshotFiles:
    """The files of a snapshot by path, folder and name; the order in which they are given does not matter."""

    def __init__(self, languages: Mapping[str, str], read: Callable[[str], bytes | None]) -> None:
        self.languages = {path: languages[path] for path in sorted(languages)}
        self._read = read

    def __contains__(self, path: object) -> bool:
        return path in self.languages

    @cached_property
    def of_languages(self) -> Mapping[str, int]:
        """The number of files of each language."""
        return Counter(self.languages.values())

    @cached_property
    def folders(self) -> dict[str, tuple[str, ...]]:
        """Every folder that contains a file at any depth, with the files directly in it; the root is the empty path."""
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
        """The files by the last part of their path."""
        found: dict[str, list[str]] = {}
        for path in self.languages:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    def settings(self, path: str) -> str | None:
        """Return the text of a settings file; None when there is no such file or it is too large."""
        if path not in self.languages:
            return None
        data = self._read(path)
        return None if data is None or len(data) > MAX_CONFIG_BYTES else data.decode("utf-8", "replace")

    def head(self, path: str, size: int) -> str:
        """Return the first `size` bytes of a file as text."""
        return (self._read(path) or b"")[:size].decode("utf-8", "replace")


def parent(path: str) -> str:
    """Return the folder of a path; empty for a file in the root."""
    return path.rpartition("/")[0]


def above(folder: str) -> list[str]:
    """Return a folder and the folders around it, the nearest first, the root last."""
    found = [folder]
    while folder:
        folder = parent(folder)
        found.append(folder)
    return found


def below(folder: str, inner: str) -> str:
    """Return the path of `inner` in a folder."""
    return f"{folder}/{inner}" if folder and inner else folder or inner


def normal(folder: str, relative: str) -> str | None:
    """Return the path that `relative` means in a folder; None when it leads out of the root."""
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


# Text before a name that `let`, `val` or a similar word declares, in any language.
_DECLARED = re.compile(r"(?:\b(?:let|mut|val|var|const|ref|final|local)\s+|\bauto\b[\s&*]+)$")
# A name inside of a pattern, as in `let (a, name)`, `auto [a, name]` and `let A { key: name }`.
_LET = r"\b(?:let|val|var|auto|local)\b"
_PATTERN_BEFORE = re.compile(rf"{_LET}[^;=\n]*[(\[{{,:&]\s*(?:(?:mut|ref)\s+)*$")
_LET_THERE = re.compile(r"(?:let|val|var|auto|local)\b")
_PATTERN_AFTER = re.compile(r"\s*(?:[,)\]}]|=(?![=>])|:(?!:))")
# A declaration that goes on behind a comma, as in `let a = f(b), name = 2`.
_NEXT_BEFORE = re.compile(rf"{_LET}\s(?:[^;{{}}()\[\]\n]|\([^()\n]*\)|\[[^\[\]\n]*\])*,\s*$")
_NEXT_AFTER = re.compile(r"\s*(?:,|=(?![=>])|:(?!:)|;|\n|$)")
_CAUGHT_BEFORE = re.compile(r"\bcatch\s*\((?:[\w\s&:.<>*|]*[\s&*])?$")
_CAUGHT_AFTER = re.compile(r"\s*[:)]")
# `vararg name: Type` of Kotlin, and `label name: Type` of Swift.
_LABELLED_BEFORE = re.compile(r"[(,]\s*(?:@\w+\s+)?(?:[\w`]+\s+)+$")
_LABELLED_AFTER = re.compile(r"\s*:(?!:)")
_FUNCTION_BEFORE = re.compile(r"\bfunction\s*\w*\s*\((?:[^()]*,)?\s*$")
_FUNCTION_AFTER = re.compile(r"\s*[,)=]")
# Text before a parameter of a closure, as in `|a, b: u8|`; after `||` and after the second bar names are used.
_CLOSURE_BEFORE = re.compile(r"(?<!\|)\|[^|()\n]*$")
_CLOSURE_AFTER = re.compile(r"\s*[,:|](?!\|)")
_PARAMETER = re.compile(r"\s*[,:=)]")
# `name => …`; a name that stands first on its line may be an arm of a `switch`, which reads it.
_LAMBDA_BEFORE = re.compile(r"(?:[(=,{]|\breturn)[ \t]*$")
# `(a, name: B) => …`, `(a, name) in` and `{ a, name in` of Swift.
_LIST_BEFORE = re.compile(r"\((?:[^(){}\n]*[,\s*&])?$")
_BRACE_BEFORE = re.compile(r"\{[ \t]*(?:\[[^\]\n]*\][ \t]*)?\(?(?:[\w ,:.<>?]*,)?[ \t]*$")
_REST = r"(?:\s*[,:][^(){}\n]*)?"
_LIST_AFTER = {arrow: re.compile(rf"{_REST}\)\s*(?:{arrow}|in\s)") for arrow in ("=>", "->")}
_BRACE_AFTER = re.compile(rf"{_REST}(?:\)\s*(?:->\s*[\w.<>?\[\]]+)?)?\s+in\s")
_LOOP_BEFORE = re.compile(r"\bfor\s*\(?\s*(?:(?:let|var|val|const)\s+)?(?:\w+\s*,\s*)*$")
_LOOP_AFTER = re.compile(r"(?:\s*,[\w\s,]*)?\s+in\b|\s*=(?!=)")


class Resolver:
    """The default resolver: imports are unresolved, and names are bound as in most languages.

    A resolver serves one snapshot.
    """

    def __init__(self, files: SnapshotFiles) -> None:
        self._files = files

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Return where an import of this file leads.

        `within` are the modules inside the file around the import, outermost first.
        """
        return UNRESOLVED

    def find(self, path: str, parts: list[str], within: tuple[str, ...]) -> ImportTarget:
        """Return where a path of names leads that begins with one of the language's `path_roots`."""
        return UNRESOLVED

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """Return the files of the submodule `name` of the module that this file is."""
        return ()

    def beside(self, path: str) -> frozenset[str]:
        """Return the files that share a scope with this file without an import, this file included."""
        return frozenset({path})

    @staticmethod
    def local_name(module: str) -> str:
        """Return the name that an import of a whole module binds when it has no alias; empty for none."""
        return ""

    @staticmethod
    def exported_as(text: bytes) -> dict[str, str]:
        """Return the local name for each exported name of a file that differs; `WHOLE` stands for the file itself."""
        return {}

    @classmethod
    def binds_here(cls, before: str, after: str, in_header: bool) -> bool:
        """Whether a function binds a name at a place, by the text before and after the name."""
        return (in_header and cls.is_parameter(before, after)) or cls.declares(before, after)

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether a name in the header of a function is one of its parameters."""
        if _LABELLED_AFTER.match(after) and _LABELLED_BEFORE.search(before):
            return True
        return before.rstrip()[-1:] in "(,*{[&" and bool(_PARAMETER.match(after))

    @classmethod
    def is_receiver(cls, before: str, name: str) -> bool:
        """Whether a name is bound before the function's own name, as in `func (name T) do()` of Go."""
        return False

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether a name in the body of a function is declared there."""
        return bool(
            _DECLARED.search(before)
            # What follows is looked at first: that is decided at once, and seldom true.
            or (_CLOSURE_AFTER.match(after) and _CLOSURE_BEFORE.search(before))
            or (_LOOP_AFTER.match(after) and _LOOP_BEFORE.search(before))
            or (_PATTERN_AFTER.match(after) and _LET_THERE.search(before) and _PATTERN_BEFORE.search(before))
            or (_NEXT_AFTER.match(after) and before.rstrip()[-1:] == "," and _NEXT_BEFORE.search(before))
            or ("catch" in before and _CAUGHT_AFTER.match(after) and _CAUGHT_BEFORE.search(before))
            or cls.is_of_lambda(before, after)
        )

    @classmethod
    def is_of_lambda(cls, before: str, after: str) -> bool:
        """Whether a name is a parameter of a lambda."""
        if "function" in before and _FUNCTION_AFTER.match(after) and _FUNCTION_BEFORE.search(before):
            return True
        return is_before_arrow(before, after, "=>") or bool(_BRACE_AFTER.match(after) and _BRACE_BEFORE.search(before))


def is_before_arrow(before: str, after: str, arrow: str) -> bool:
    """Whether a name is a parameter of a lambda with this arrow, as in `name => …` and `(a, name) => …`."""
    if after.lstrip().startswith(arrow) and _LAMBDA_BEFORE.search(before):
        return True
    return bool(_LIST_AFTER[arrow].match(after) and _LIST_BEFORE.search(before))


WHOLE = "="
"""The exported name that stands for a whole file, as in `module.exports = a`."""


def follows_a_type(before: str, after: str) -> bool:
    """Whether a name in the header of a function is a parameter in the form `Type name` of C and Java."""
    last = before.rstrip()[-1:]
    return (last.isalnum() or last in "*&>]") and after.lstrip()[:1] in (",", ")", "[")


_QUALIFIER = (
    r"(?:const|static|struct|union|enum|class|unsigned|signed|long|short|volatile|register|extern|constexpr|inline"
    r"|thread_local|typename|mutable|readonly|using|await)"
)
_STATEMENT = r"(?:^|[;{}\n])"
_TYPE = rf"(?:{_QUALIFIER}\s+)*(?!return\b|else\b|throw\b|new\b|goto\b|case\b|delete\b)[\w:.]+(?:<[^;{{}}]*>)?[?\]\[]*"
_LOCAL_BEFORE = re.compile(rf"(?:{_STATEMENT}|\()\s*{_TYPE}[\s*&?]+$")
_LOCAL_AFTER = re.compile(r"\s*(?:=(?!=)|;)")
# `Type a = 1, *name;`, `Type name[3]` and `Type name{1}` begin a statement: an argument may multiply, as `a * name`.
_ALONE_BEFORE = re.compile(
    rf"{_STATEMENT}\s*{_TYPE}[\s*&?]+(?:\w+\s*(?:\[[^\]\n]*\]\s*)?(?:=[^;,(){{}}\n]+)?,[\s*&]*)*$"
)
_ALONE_AFTER = re.compile(r"\s*(?:=(?!=)|[;,\[{])")
_POINTER_BEFORE = re.compile(rf"(?:{_STATEMENT}|[(,])\s*{_TYPE}[\s*]+\(\s*\*\s*$")
_POINTER_AFTER = re.compile(r"\s*(?:\[[^\]]*\])?\)\s*\(")
# `[&](Type name) { … }` of C++; `x is Type name` and `case Type name:` of C#; `(int a, Type name) = pair`.
_LAMBDA_HEAD = re.compile(rf"\]\s*\((?:[^()]*,)?\s*{_TYPE}[\s*&]+$")
_MATCHED_BEFORE = re.compile(r"\b(?:is|case|instanceof)\s+(?!(?:not|and|or|null)\b)[\w.<>\[\]?]+\s+$")
_MATCHED_AFTER = re.compile(r"\s*(?:[:);&|?]|when\b|=>|->)")
_PAIR_BEFORE = re.compile(r"\((?:[^()=;]*,)?\s*[\w<>\[\]?.]+\s+$")
_PAIR_AFTER = re.compile(r"[^=;{}()\n]*\)\s*=(?![=>])")


def is_declared_by_type(before: str, after: str) -> bool:
    """Whether a name in the body of a function is declared as in C and C#: `Type name = …` or `Type name;`."""
    return bool(
        (_LOCAL_AFTER.match(after) and _LOCAL_BEFORE.search(before))
        or (_ALONE_AFTER.match(after) and _ALONE_BEFORE.search(before))
        or (_POINTER_AFTER.match(after) and _POINTER_BEFORE.search(before))
        or (_FUNCTION_AFTER.match(after) and _LAMBDA_HEAD.search(before))
        or (_MATCHED_AFTER.match(after) and _MATCHED_BEFORE.search(before))
        or (_PAIR_AFTER.match(after) and _PAIR_BEFORE.search(before))
    )
