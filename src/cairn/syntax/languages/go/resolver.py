"""Resolve imports of Go: a path below a module of the snapshot is a folder, whose files are the package."""

from __future__ import annotations

import re

from cairn.core.lazy import cached_property
from cairn.core.types import Import
from cairn.syntax.resolver import EXTERNAL, UNRESOLVED, ImportTarget, Resolver, SnapshotFiles, below, inside, parent

_MODULE = re.compile(r'^[ \t]*module[ \t]+"?([^\s"]+)', re.MULTILINE)
_DECLARED_BEFORE = re.compile(r"(?:\bvar\s+[\w\s,]*|(?:^|\n|\bif|\bfor|\bswitch|[;{])\s*[\w\s,]*)$")
_DECLARED_AFTER = re.compile(r"[\w\s,]*:=|\s+[\w*\[\].]+\s*=")
# `var a, name = f()`, `const name = 1`, and a line of `var ( … )`.
_NAMES = r"(?:\w+[ \t]*,[ \t]*)*$"
_VARIABLE_BEFORE = re.compile(
    rf"\b(?:var|const)[ \t]+{_NAMES}|\b(?:var|const)[ \t]*\((?:[^()]|\([^()]*\))*\n[ \t]*{_NAMES}"
)
_RECEIVER = re.compile(r"func\s*\(\s*(\w+)\s")
_CLOSURE_BEFORE = re.compile(r"\bfunc\s*\((?:[^()]*,)?\s*$")
_CLOSURE_AFTER = re.compile(r"\s+[\w*\[.]|\s*,")


class GoModules(Resolver):
    """The packages of Go, found by their import paths."""

    def __init__(self, files: SnapshotFiles) -> None:
        super().__init__(files)
        self._beside: dict[str, frozenset[str]] = {}

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Return the files of the imported package, without its tests."""
        words = imported.module
        vendored = self._package(below("vendor", words))
        if vendored:
            return inside(vendored, imported.name)
        prefix = words
        while prefix:
            if prefix in self._modules:
                inner = words[len(prefix) + 1 :]
                return inside(self._package(below(self._modules[prefix], inner)), imported.name)
            prefix = parent(prefix)
        return UNRESOLVED if words.startswith(".") else EXTERNAL

    def beside(self, path: str) -> frozenset[str]:
        """Return the Go files of the same folder, which share their names."""
        folder = parent(path)
        if folder not in self._beside:
            inner = self._files.folders.get(folder, ())
            self._beside[folder] = frozenset(each for each in inner if each.endswith(".go"))
        return self._beside[folder]

    def _package(self, folder: str) -> tuple[str, ...]:
        inner = self._files.folders.get(folder, ())
        return tuple(path for path in inner if path.endswith(".go") and not path.endswith("_test.go"))

    @cached_property
    def _modules(self) -> dict[str, str]:
        """The folders of modules by module path; the first folder in order wins."""
        found: dict[str, str] = {}
        for path in self._files.by_name.get("go.mod", ()):
            named = _MODULE.search(self._files.settings(path) or "")
            if named:
                found.setdefault(named[1], parent(path))
        return found

    @staticmethod
    def local_name(module: str) -> str:
        """Return the last part of the path, without a version and without `go-` or `-go`."""
        parts = [part for part in module.split("/") if part]
        if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
            parts.pop()
        return re.sub(r"^go-|\.v\d+$|[-.]go$", "", parts[-1]) if parts else ""

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether the name is a parameter in the form `name Type` or `a, b Type`."""
        return before.rstrip()[-1:] in "(," and not after.startswith(("(", "."))

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is declared by `:=`, by `var`, or as a parameter of an inner function."""
        if _CLOSURE_BEFORE.search(before) and _CLOSURE_AFTER.match(after):
            return True
        if after[:1] not in ("(", ".") and _VARIABLE_BEFORE.search(before):
            return True
        return bool(_DECLARED_BEFORE.search(before) and _DECLARED_AFTER.match(after))

    @classmethod
    def is_receiver(cls, before: str, name: str) -> bool:
        """Whether a name is the receiver of a method."""
        found = _RECEIVER.match(before)
        return found is not None and found[1] == name


RESOLVER = GoModules
