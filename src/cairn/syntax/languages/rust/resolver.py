"""Resolve imports of Rust: modules by their files, `crate`, `self` and `super`, and other crates of the workspace."""

from __future__ import annotations

import re
from typing import NamedTuple

from cairn.core.lazy import cached_property
from cairn.core.types import Import
from cairn.syntax.resolver import EXTERNAL, UNRESOLVED, ImportTarget, Resolver, above, below, inside, parent
from cairn.syntax.settings import mapping, toml_of

_ROOTS = ("lib.rs", "main.rs", "mod.rs")
_LANGUAGE = frozenset({"std", "core", "alloc", "proc_macro", "test"})
_MOST_PARTS = 64
# The text around a name that a pattern binds: `let (a, Some(b)) = …`, or `Some(a) => …` in a `match`.
_LET_BEFORE = re.compile(r"\blet\s(?:[^=;:]|::)*$")
_LET_AFTER = re.compile(r"\s*(?:[,)\]}=@|]|:(?!:))")
_ARM_AFTER = re.compile(r"[\w\s,.]*[)\]}]*\s*(?:if\b[^;{}\n]*?)?=>|\s*@")
# `|(a, name)|` of a closure, and `A { key: name }` in the header of a function.
_INNER_BEFORE = re.compile(r"(?:[(,={]|\bmove)\s*\|(?!\|)[^|\n]*[(,&\s]$")
_INNER_AFTER = re.compile(r"\s*[,)][^|;{}\n]*\|")
_KEY_BEFORE = re.compile(r"\b[A-Z]\w*\s*\{[^{}]*:\s*$")


class Module(NamedTuple):
    """A module: its file, the folder of its submodules, and the path of modules inside the file that leads to it."""

    file: str
    folder: str
    inner: tuple[str, ...] = ()


class RustModules(Resolver):
    """The modules of Rust, found by their paths."""

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Return where a `use` leads: the file of the longest module path, and the rest as a name in the file."""
        parts = [part.strip() for part in imported.module.split("::") if part.strip()]
        if imported.name:
            parts.append(imported.name)
        return self.find(path, parts[:_MOST_PARTS], within)

    def find(self, path: str, parts: list[str], within: tuple[str, ...]) -> ImportTarget:
        """Return where a path of names leads from a file."""
        start, rest, sure = self._start(path, parts, within)
        if start is None:
            return UNRESOLVED if sure else EXTERNAL
        at = start
        while rest and rest[0] != "*":
            following = self._below(at, rest[0])
            if following is None:
                break
            at, rest = following, rest[1:]
        if not rest:
            return inside((at.file,), ".".join(at.inner))
        if not sure and at == start:
            # In `use name::…` a name that is neither a module nor a crate of the workspace is an external crate.
            return EXTERNAL
        return inside((at.file,), ".".join([*at.inner, *rest]))

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """Return the file of `mod name;` in this file."""
        found = self._below(self._own(path), name)
        return (found.file,) if found is not None else ()

    def _start(self, path: str, parts: list[str], within: tuple[str, ...]) -> tuple[Module | None, list[str], bool]:
        """Return the module in which a path begins, the rest of the path, and whether its first word is certain."""
        here = self._own(path)._replace(inner=within)
        first = parts[0] if parts else ""
        if first == "crate":
            return self._crate(path), parts[1:], True
        if first in ("self", "super"):
            at: Module | None = here
            while parts and parts[0] in ("self", "super") and at is not None:
                at = self._outer(at) if parts[0] == "super" else at
                parts = parts[1:]
            return at, parts, True
        if first in _LANGUAGE:
            return None, parts, False
        if first and self._below(here, first) is not None:
            return here, parts, True
        lib = self._crates.get(first)
        return (Module(lib, parent(lib)), parts[1:], True) if lib else (here, parts, False)

    def _own(self, path: str) -> Module:
        """Return the module that a file is."""
        folder, _, name = path.rpartition("/")
        is_root = name in _ROOTS or self._is_root(path)
        return Module(path, folder if is_root else below(folder, name.removesuffix(".rs")))

    def _is_root(self, path: str) -> bool:
        """Whether a file is the root of its own crate: a binary, a test, an example, a bench or `build.rs`."""
        folder, _, name = path.rpartition("/")
        around, _, last = folder.rpartition("/")
        if last in ("tests", "examples", "benches") and "src" in around.split("/"):
            # `src/sync/tests/` is a module of the crate, unless a crate begins beside it.
            return below(around, "Cargo.toml") in self._files
        return name == "build.rs" or last in ("bin", "tests", "examples", "benches")

    def _outer(self, module: Module) -> Module | None:
        if module.inner:
            return module._replace(inner=module.inner[:-1])
        folder = parent(module.file) if not module.file.endswith("/mod.rs") else parent(parent(module.file))
        if self._is_root(module.file) or module.file.endswith(("/lib.rs", "/main.rs")):
            return None
        names = [below(folder, name) for name in _ROOTS] + [f"{folder}.rs"]
        found = next((name for name in names if name in self._files and name != module.file), None)
        return self._own(found) if found is not None else None

    def _crate(self, path: str) -> Module | None:
        if self._is_root(path):
            return self._own(path)
        for folder in above(parent(path))[:_MOST_PARTS]:
            for name in ("lib.rs", "main.rs"):
                if below(folder, name) in self._files:
                    return self._own(below(folder, name))
        return None

    def _below(self, module: Module, name: str) -> Module | None:
        if module.inner:
            return None
        for place in (below(module.folder, f"{name}.rs"), below(module.folder, f"{name}/mod.rs")):
            if place in self._files and place != module.file:
                return Module(place, below(module.folder, name))
        return None

    @cached_property
    def _crates(self) -> dict[str, str]:
        """The library files of the workspace by the name that code uses for the crate."""
        found: dict[str, str] = {}
        for path in self._files.by_name.get("Cargo.toml", ()):
            cargo = toml_of(self._files.settings(path) or "")
            package, lib = mapping(cargo.get("package")), mapping(cargo.get("lib"))
            name = lib.get("name") or package.get("name")
            place = lib.get("path") or "src/lib.rs"
            if isinstance(name, str) and isinstance(place, str) and below(parent(path), place) in self._files:
                found.setdefault(name.replace("-", "_"), below(parent(path), place))
        return found

    @staticmethod
    def local_name(module: str) -> str:
        """Return the last part of the path."""
        return module.rpartition("::")[2]

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether the name is a parameter, also one in a pattern such as `A { key: name }`."""
        return _KEY_BEFORE.search(before) is not None or super().is_parameter(before, after)

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is declared; also by a pattern of `let` or of a `match` arm."""
        if (_LET_AFTER.match(after) and _LET_BEFORE.search(before)) or _ARM_AFTER.match(after):
            return True
        if _INNER_AFTER.match(after) and _INNER_BEFORE.search(before):
            return True
        return super().declares(before, after)


RESOLVER = RustModules
