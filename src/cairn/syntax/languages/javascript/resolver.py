"""Resolve imports of TypeScript and JavaScript: relative paths, paths of a tsconfig, packages of the workspace."""

from __future__ import annotations

import re
from typing import NamedTuple

from cairn.core.lazy import cached_property
from cairn.core.types import Import
from cairn.syntax.resolver import (
    EXTERNAL,
    UNRESOLVED,
    WHOLE,
    ImportTarget,
    Resolver,
    SnapshotFiles,
    above,
    below,
    inside,
    normal,
    parent,
)
from cairn.syntax.settings import json_of, mapping, text

_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".json")
# The ending of a compiled file, and the endings of its source.
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_CONFIGS = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json")
_ENTRIES = ("source", "types", "typings", "module", "main")
_OUTPUT = re.compile(r"^(?:\./)?(?:dist|lib|build|out|esm|cjs)/")
_MOST_EXTENDS = 8
_MOST_PATTERNS = 500
_MOST_TEXT = 1_000_000
_EXPORT_LIST = re.compile(rb"\bexport\s+(?:type\s+)?\{([^{}]{0,20000})\}\s*(from\b)?")
_EXPORT_DEFAULT = re.compile(
    rb"\bexport\s+default\s+(?:async\s+|abstract\s+)*(?:function\b\s*\*?|class\b)?\s*([A-Za-z_$][\w$]*)"
)
_MODULE_EXPORTS = re.compile(rb"\b(?:module\.exports|export)\s*=\s*(?:new\s+)?([A-Za-z_$][\w$]*)\s*(?:;|\n|$)")
_SPECIFIER = re.compile(r"^\s*(?:type\s+)?([\w$]+)(?:\s+as\s+([\w$]+|\"[^\"]*\"))?\s*$")
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:const|let|var)\s+|\b(?:const|let|var)\s*[{\[](?:[^}\]]*[\s,{\[:.])?|(?<!\.)\bcatch\s*\(\s*|\bfunction\s+)$"
)
# `const a = f(b), name = 2`: a declaration that goes on behind a comma.
_NEXT_BEFORE = re.compile(
    r"\b(?:const|let|var)\s(?:[^;{}()\[\]\n]|\([^()\n]*\)|\[[^\[\]\n]*\]|\{[^{}\n]*\}|,[ \t]*\n)*,\s*$"
)
_NEXT_AFTER = re.compile(r"\s*(?:[,;:]|=(?![=>])|\b(?:of|in)\b|$)")
# `{ key: name }` in a list of parameters; in `a: { key: name }` the name is a type.
_RENAMED_BEFORE = re.compile(r"[(,]\s*[{\[](?:[^()]*[\s,{\[])?[\w$\"']+\s*:\s*$")
_OF_CONSTRUCTOR = re.compile(r"[(,]\s*(?:(?:private|public|protected|readonly|override)\s+)+$")
_FUNCTION = re.compile(r"\bfunction\b[^()]*\([^)]*$")
_OPEN = re.compile(r"\([^()]*$")
_ARROW = re.compile(r"[^()]*\)\s*(?::[^=;{]*)?=>")
_INNER_PARAMETER = re.compile(r"\s*[?,:=)}]")


class TsConfig(NamedTuple):
    """The path settings of a tsconfig: the folder of `baseUrl`, and the patterns of `paths` with their places."""

    base: str | None
    patterns: tuple[tuple[str, tuple[str, ...]], ...]


class TypeScriptModules(Resolver):
    """The modules of TypeScript and JavaScript."""

    def __init__(self, files: SnapshotFiles) -> None:
        super().__init__(files)
        self._known: dict[str, TsConfig | None] = {}
        self._nearest: dict[str, TsConfig | None] = {}

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Return where an import leads; a missing relative path is unresolved, an unknown package external."""
        words = imported.module.partition("?")[0]
        folder = parent(path)
        if words.startswith(("./", "../")) or words in (".", ".."):
            place = normal(folder, words)
            return inside(self._at(place) if place is not None else (), imported.name)
        if words.startswith(("node:", "/", "#")) or "://" in words or not words:
            return UNRESOLVED if words.startswith(("/", "#")) else EXTERNAL
        known, found = self._by_config(folder, words)
        found = found or self._by_package(words)
        return inside(found, imported.name) if found else UNRESOLVED if known else EXTERNAL

    def _at(self, place: str) -> tuple[str, ...]:
        """Return the file that a path means: its source, itself, itself with an ending, or the index of a folder."""
        stem, dot, ending = place.rpartition(".")
        sources = _COMPILED.get(f".{ending}", ()) if dot else ()
        tries = [f"{stem}{source}" for source in sources] + [place] + [f"{place}{each}" for each in _ENDINGS if place]
        tries += [below(place, f"index{each}") for each in _ENDINGS]
        return next(((each,) for each in tries if each in self._files), ())

    def _by_config(self, folder: str, words: str) -> tuple[bool, tuple[str, ...]]:
        """Return whether a pattern of the tsconfig matches an import, and the file that the import leads to."""
        if folder not in self._nearest:
            configs = (self._config_in(each) for each in above(folder))
            self._nearest[folder] = next((config for config in configs if config is not None), None)
        config = self._nearest[folder]
        if config is None:
            return False, ()
        known = False
        for pattern, places in config.patterns:
            before, star, after = pattern.partition("*")
            if not (words.startswith(before) and words.endswith(after) if star else words == pattern):
                continue
            if len(words) < len(before) + len(after):
                continue
            known = known or pattern != "*"
            middle = words[len(before) : len(words) - len(after)] if star else ""
            for place in places:
                whole = normal("", place.replace("*", middle, 1))
                if whole is not None and (found := self._at(whole)):
                    return True, found
        based = normal(config.base, words) if config.base is not None else None
        return known, self._at(based) if based is not None else ()

    def _config_in(self, folder: str) -> TsConfig | None:
        if folder not in self._known:
            paths = (below(folder, name) for name in _CONFIGS)
            path = next((each for each in paths if each in self._files), None)
            self._known[folder] = self._read(path) if path else None
        return self._known[folder]

    def _read(self, path: str | None) -> TsConfig:
        """Return the path settings of a tsconfig, or of the first tsconfig it extends that has any."""
        base: str | None = None
        patterns: list[tuple[str, tuple[str, ...]]] = []
        for _ in range(_MOST_EXTENDS):
            if path is None or path not in self._files:
                break
            folder = parent(path)
            config = mapping(json_of(self._files.settings(path) or ""))
            options = mapping(config.get("compilerOptions"))
            own = normal(folder, text(options["baseUrl"])) if "baseUrl" in options else None
            base = own if base is None else base
            if not patterns:
                patterns = _patterns(options.get("paths"), folder if own is None else own)
            path = self._extended(folder, config.get("extends"))
        return TsConfig(base, tuple(patterns))

    def _extended(self, folder: str, extends: object) -> str | None:
        if isinstance(extends, list):
            extends = extends[-1] if extends else ""
        words = text(extends)
        place = normal(folder, words) if words.startswith(".") else None
        if place is None:
            return None
        return next((each for each in (place, f"{place}.json") if each in self._files), None)

    def _by_package(self, words: str) -> tuple[str, ...]:
        """Return the file of a package of the same workspace, by the name in its package.json."""
        parts = words.split("/")
        size = 2 if words.startswith("@") else 1
        folder = self._packages.get("/".join(parts[:size]))
        if folder is None:
            return ()
        inner = "/".join(parts[size:])
        package = mapping(json_of(self._files.settings(below(folder, "package.json")) or ""))
        entries = _exported(package.get("exports"), inner)
        if not inner:
            entries += [text(package.get(field)) for field in _ENTRIES]
        # A package names its built files, whose sources are in another folder: `dist/x.js` comes from `src/x.ts`.
        tries = [each for entry in entries if entry for each in (entry, _OUTPUT.sub("src/", entry))]
        tries += [inner or "index", f"src/{inner or 'index'}"]
        for each in tries:
            place = normal(folder, each)
            if place is not None and (found := self._at(place)):
                return found
        return ()

    @cached_property
    def _packages(self) -> dict[str, str]:
        """The folders of packages by name; a name that two packages have is left out."""
        found: dict[str, list[str]] = {}
        for path in self._files.by_name.get("package.json", ()):
            package = mapping(json_of(self._files.settings(path) or ""))
            found.setdefault(text(package.get("name")), []).append(parent(path))
        return {name: folders[0] for name, folders in found.items() if name and len(folders) == 1}

    @staticmethod
    def exported_as(text: bytes) -> dict[str, str]:
        """Return the local names of `export { a as b }`, `export default a` and `module.exports = a`."""
        text = text[:_MOST_TEXT]
        found: dict[str, str] = {}
        for listed in _EXPORT_LIST.finditer(text):
            if listed[2] is None:
                for each in listed[1].decode("utf-8", "replace").split(","):
                    if named := _SPECIFIER.match(each):
                        found.setdefault((named[2] or named[1]).strip('"'), named[1])
        for default in _EXPORT_DEFAULT.finditer(text):
            found.setdefault("default", default[1].decode())
        for whole in _MODULE_EXPORTS.finditer(text):
            found.setdefault("default", whole[1].decode())
            found[WHOLE] = whole[1].decode()
        return found

    @classmethod
    def is_parameter(cls, before: str, after: str) -> bool:
        """Whether the name is a parameter; also `name?`, `...name`, and the last name of `{ a, name }`."""
        if _RENAMED_BEFORE.search(before) or _OF_CONSTRUCTOR.search(before) or before.endswith("..."):
            return True
        last, follows = before.rstrip()[-1:], after.lstrip()[:1]
        # In `{ name: other }` and in the type `{ name: X }` it is a key.
        if last not in "(,*{[" or (last == "{" and follows == ":"):
            return False
        return super().is_parameter(before, after) or follows in ("?", "}")

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is declared by `const`, `let`, `var`, `catch`, or as a parameter of an inner function."""
        if _BOUND_BEFORE.search(before) or after.lstrip().startswith("=>"):
            return True
        if _NEXT_AFTER.match(after) and before.rstrip()[-1:] == "," and _NEXT_BEFORE.search(before):
            return True
        if not _INNER_PARAMETER.match(after) or (before.rstrip()[-1:] == "{" and after.lstrip()[:1] == ":"):
            return False
        if before.rstrip()[-1:] not in tuple("(,{[.") and not _RENAMED_BEFORE.search(before):
            return False
        return bool(_FUNCTION.search(before) or (_OPEN.search(before) and _ARROW.match(after)))


def _patterns(paths: object, base: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the patterns of `paths`, the most specific first."""
    found = []
    for pattern, places in list(mapping(paths).items())[:_MOST_PATTERNS]:
        listed = places[:_MOST_EXTENDS] if isinstance(places, list) else []
        inner = tuple(place for each in listed if (place := normal(base, text(each))) is not None)
        if pattern.count("*") <= 1 and inner:
            found.append((pattern, inner))
    return sorted(found, key=lambda each: (-len(each[0].partition("*")[0]), each))


def _exported(exports: object, inner: str) -> list[str]:
    """Return the files that `exports` of a package.json names for an inner path, under all conditions."""
    wanted = f"./{inner}" if inner else "."
    table = mapping(exports)
    pending = [table.get(wanted, None if inner or any(key.startswith(".") for key in table) else exports)]
    found: list[str] = []
    while pending and len(found) < _MOST_PATTERNS:
        entry = pending.pop()
        if isinstance(entry, str):
            found.append(entry)
        elif isinstance(entry, dict):
            pending.extend(reversed(list(entry.values())))
    return found


RESOLVER = TypeScriptModules
