"""Resolve imports of Python: relative imports, and packages below roots that are found by the outermost package."""

from __future__ import annotations

import re
import sys

from cairn.core.lazy import cached_property
from cairn.core.types import Import
from cairn.syntax.resolver import (
    EXTERNAL,
    UNRESOLVED,
    ImportTarget,
    Resolver,
    SnapshotFiles,
    above,
    below,
    inside,
    parent,
)

_INIT = ("__init__.py", "__init__.pyi")
_MOST_ROOTS = 64
_BOUND_BEFORE = re.compile(
    r"(?:\bfor\s+(?:(?!\bin\b)[\w\s,()*])*|\bas\s+\(?(?:[\w\s,*()]*,\s*)?|\blambda\b[^:\n]*[\s,*]|\bglobals?\(\)\[.)$"
)
_TARGETS = re.compile(r"^[\s\w,()*\[\].]*(?:\s=\s[\s\w,()*\[\].]*)*$")
# `case {"key": name}`; a name with a member or an argument is read there.
_CASE_BEFORE = re.compile(r"^\s*case\s(?:.*[\s(,\[:=*|])?$")
_COMPREHENSION = re.compile(r"\bfor\s+(?:(?!\bin\b)[\w\s,()*])*$|\blambda\b[^:\n]*[\s,*]$")
_ASSIGN = re.compile(r"[\w,()*\[\]. \t]*(?:\s[-+*/%&|^@]?=(?!=)|:[^=\n]*=(?!=))")
_TIGHT = re.compile(r"=(?!=)[^\n]*[^,(\s)]\s*(?:#[^\n]*)?(?:\n|$)")


class PythonModules(Resolver):
    """The modules of Python, found by their dotted names."""

    def __init__(self, files: SnapshotFiles) -> None:
        super().__init__(files)
        self._searches: dict[str, list[str]] = {}
        self._known_roots: dict[tuple[str, str], str | None] = {}

    def resolve(self, path: str, imported: Import, within: tuple[str, ...]) -> ImportTarget:
        """Return where an import leads; the name may be a module of the package or a definition in `__init__.py`."""
        found = self._module(path, imported.module, imported.name)
        if isinstance(found, ImportTarget):
            return found
        own, folder = found
        if not imported.name:
            return inside(own)
        module = () if imported.name == "*" else self._at(below(folder, imported.name)) if folder is not None else ()
        if not own and not module:
            return UNRESOLVED
        return inside(own, imported.name, module)

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """Return the module of this name in the package whose `__init__` this file is."""
        return self._at(below(parent(path), name)) if path.endswith(_INIT) else ()

    def _module(self, path: str, module: str, name: str) -> ImportTarget | tuple[tuple[str, ...], str | None]:
        """Return the file of a module and its folder if it is a package; or the final target of the import."""
        rest = module.lstrip(".")
        dots = len(module) - len(rest)
        names = rest.replace(".", "/")
        if dots:
            around = above(parent(path))
            if dots > len(around):
                return UNRESOLVED
            place = below(around[dots - 1], names)
            return self._found(place) or UNRESOLVED
        top, _, _ = names.partition("/")
        search = self._search(path)
        if top in sys.stdlib_module_names:
            # Only a module in the root of the importing file goes before the standard library.
            search = search[:1]
        root = self._root(parent(path), top, search)
        others = [] if top in sys.stdlib_module_names else self._roots.get(top, [])
        if root is None and len(others) == 1:
            root = others[0]
        if root is not None:
            return self._found(below(root, names)) or UNRESOLVED
        # A folder without `__init__.py` is a package only if it contains the whole name: `tests/redis` is not `redis`.
        for root in search:
            found = self._found(below(root, names)) if below(root, top) in self._files.folders else None
            if found and (found[0] or (name and self._at(below(found[1] or "", name)))):
                return found
        # With two packages of one name in different places, the installation decides which one is imported.
        return UNRESOLVED if others else EXTERNAL

    def _root(self, folder: str, top: str, search: list[str]) -> str | None:
        """Return the first of these folders that contains the outermost module; kept for all files of a folder."""
        if (folder, top) not in self._known_roots:
            self._known_roots[folder, top] = next((each for each in search if self._at(below(each, top))), None)
        return self._known_roots[folder, top]

    def _search(self, path: str) -> list[str]:
        """Return the folders in which absolute imports of a file are searched.

        That is the folder that contains the file's outermost package, then the folders around it, each with its `src`.
        """
        start = parent(path)
        if start not in self._searches:
            around = above(start)
            own = next(
                each for each in around if not each or not any(below(each, name) in self._files for name in _INIT)
            )
            places = [place for each in around[around.index(own) :] for place in (each, below(each, "src"))]
            self._searches[start] = list(dict.fromkeys([*places[:_MOST_ROOTS], "", "src"]))
        return self._searches[start]

    @cached_property
    def _roots(self) -> dict[str, list[str]]:
        """For every outermost package, the folders that contain it."""
        found: dict[str, list[str]] = {}
        for path in self._files.languages:
            if path.endswith("/__init__.py"):
                folder, _, top = parent(path).rpartition("/")
                if not any(below(folder, name) in self._files for name in _INIT):
                    found.setdefault(top, []).append(folder)
        return found

    def _found(self, place: str) -> tuple[tuple[str, ...], str | None] | None:
        own = self._at(place)
        is_package = place in self._files.folders
        return (own, place if is_package else None) if own or is_package else None

    def _at(self, place: str) -> tuple[str, ...]:
        """Return the file of a module: a package before a file of the same name, sources before stubs."""
        names = [below(place, name) for name in _INIT]
        if place:
            names += [f"{place}.py", f"{place}.pyi"]
        return tuple(name for name in names if name in self._files)[:1]

    @staticmethod
    def local_name(module: str) -> str:
        """Return the name that an import binds: `a` for `import a.b`."""
        return module.partition(".")[0]

    @classmethod
    def declares(cls, before: str, after: str) -> bool:
        """Whether the name is the target of an assignment, of `for`, `as`, `lambda` or `case`."""
        line = before.rpartition("\n")[2]
        if line.lstrip().startswith("#"):
            # A comment such as `# the same as time` binds nothing.
            return False
        if after.lstrip(" \t").startswith(":=") or _BOUND_BEFORE.search(before):
            return True
        if after[:1] not in ("(", ".") and _CASE_BEFORE.match(line):
            return True
        # `table[name(x)] = y` uses the name and does not bind it.
        if not _TARGETS.match(line) or after[:1] in ("(", "[", "."):
            return False
        return bool(_ASSIGN.match(after) or (not line.strip() and _TIGHT.match(after)))

    @classmethod
    def is_of_lambda(cls, before: str, after: str) -> bool:
        """Whether a name is a parameter of a lambda or a variable of a comprehension."""
        return after[:1] not in ("(", ".") and bool(_COMPREHENSION.search(before))


RESOLVER = PythonModules
