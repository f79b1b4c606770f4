"""Resolve imports of Java, Kotlin and Scala by the packages that files declare, wherever the files are."""

from __future__ import annotations

import re

from cairn.core.lazy import cached_property
from cairn.core.types import Import
from cairn.syntax.resolver import (
    EXTERNAL,
    UNRESOLVED,
    ImportTarget,
    Resolver,
    SnapshotFiles,
    follows_a_type,
    inside,
    is_before_arrow,
)

LANGUAGES = frozenset({"java", "kotlin", "scala"})
_HEAD_BYTES = 16_384
_PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.`]+)[ \t]*;?", re.MULTILINE)
_MOST_PARTS = 64
# So many parts tell the project of a package: `com.google.gson` does, `com.google` does not.
_OWNER_PARTS = 3


_BRACE_BEFORE = re.compile(r"\{[ \t]*(?:[\w ,:.<>?]*,)?[ \t]*$")
_BRACE_AFTER = re.compile(r"(?:\s*[,:][^(){}\n]*)?\s*->")
_FOR_AFTER = re.compile(r"(?:\s*,[\w\s,]*\)|\s*\))?\s*<-")
_CASE_BEFORE = re.compile(r"\bcase\b[^\n=]*[\s(,]$")
_CASE_AFTER = re.compile(r"\s*@|\s*:(?!:)[^=\n]*=>|[,)\w\s@:]*(?:\bif\b[^\n=]*)?=>")


class JvmModules(Resolver):
    """The packages of the JVM languages, found by name."""

    def __init__(self, files: SnapshotFiles) -> None:
        super().__init__(files)
        self._beside: dict[str, frozenset[str]] = {}

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Return the files of the longest package that the import begins with; the rest is a name in one of them."""
        words = imported.module.replace("`", "")
        whole = f"{words}.{imported.name}" if imported.name and words else imported.name or words
        found = self._longest(whole)
        if found is None and self._files.languages[path] == "scala":
            # Scala also resolves an import relative to its own package and the packages around it.
            around = self._package_of.get(path, "")
            while around and found is None:
                found = self._longest(f"{around}.{whole}", beyond=around.count(".") + 1)
                around = around.rpartition(".")[0]
        if found is None:
            return UNRESOLVED if ".".join(words.split(".")[:_OWNER_PARTS]) in self._tops else EXTERNAL
        return found

    def beside(self, path: str) -> frozenset[str]:
        """Return the files of the same package, which see each other's names."""
        package = self._package_of.get(path, "")
        if package not in self._beside:
            self._beside[package] = frozenset(self._packages.get(package, ()))
        return self._beside[package]

    def _longest(self, whole: str, beyond: int = 0) -> ImportTarget | None:
        """Return the longest package that a dotted name begins with; None when there is none.

        A package of at most `beyond` parts counts only when one of its files has the name of the next part.
        """
        parts = whole.split(".")[:_MOST_PARTS]
        for size in range(len(parts) - 1, 0, -1):
            files = self._packages.get(".".join(parts[:size]))
            named = self._classes.get((".".join(parts[:size]), parts[size]), ()) if files else ()
            if files and (named or size > beyond):
                return inside(named or files, ".".join(parts[size:]))
        return None

    @cached_property
    def _package_of(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path, language in self._files.languages.items():
            if language in LANGUAGES:
                named = (match[1] for match in _PACKAGE.finditer(self._files.head(path, _HEAD_BYTES)))
                # Scala may declare a package in steps: `package a` and `package b` are `a.b`.
                whole = (".".join(named) if language == "scala" else next(named, "")).replace("`", "")
                found[path] = ".".join(whole.split(".")[:_MOST_PARTS])
        return found

    @cached_property
    def _packages(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for path, package in self._package_of.items():
            found.setdefault(package, []).append(path)
        return {package: tuple(paths) for package, paths in found.items()}

    @cached_property
    def _classes(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The files by package and by their name without ending, which is mostly the name of a class."""
        found: dict[tuple[str, str], list[str]] = {}
        for path, package in self._package_of.items():
            found.setdefault((package, path.rpartition("/")[2].partition(".")[0]), []).append(path)
        return {key: tuple(paths) for key, paths in found.items()}

    @cached_property
    def _tops(self) -> frozenset[str]:
        return frozenset(".".join(package.split(".")[:_OWNER_PARTS]) for package in self._packages)

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether the name is a parameter: `name: Type` of Kotlin and Scala, `Type name` of Java."""
        if before.rstrip()[-1:] in "(,*{[" or after.lstrip().startswith(":"):
            return super().is_parameter(before, after)
        return follows_a_type(before, after)

    @classmethod
    def is_of_lambda(cls, before: str, after: str) -> bool:
        """Whether the name is a parameter of a lambda: `name -> …`, `(a, name) -> …`, `{ name -> … }`, `name => …`."""
        if _BRACE_AFTER.match(after) and _BRACE_BEFORE.search(before):
            return True
        return is_before_arrow(before, after, "->") or super().is_of_lambda(before, after)

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is declared; also by `name <- …` and by a pattern such as `case (a, name) =>` of Scala."""
        if _FOR_AFTER.match(after) or (_CASE_AFTER.match(after) and _CASE_BEFORE.search(before)):
            return True
        return super().declares(before, after)


RESOLVER = JvmModules
