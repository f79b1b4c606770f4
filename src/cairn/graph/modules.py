"""Imports → files of the snapshot, one resolver per family of languages."""

from __future__ import annotations

from functools import cached_property

from cairn.core.types import Import
from cairn.graph.files import UNRESOLVED, Files, Target
from cairn.graph.resolve_c import CModules
from cairn.graph.resolve_go import GoModules
from cairn.graph.resolve_jvm import JvmModules
from cairn.graph.resolve_python import PythonModules
from cairn.graph.resolve_rust import RustModules
from cairn.graph.resolve_typescript import TypeScriptModules

ECMASCRIPT = frozenset({"typescript", "tsx", "javascript"})
FAMILY = {
    "python": "python",
    **dict.fromkeys(ECMASCRIPT, "ecmascript"),
    "go": "go",
    "rust": "rust",
    **dict.fromkeys(("java", "kotlin", "scala"), "jvm"),
    **dict.fromkeys(("c", "cpp"), "c"),
}

# A longer name of a module is no name.
_MOST_CHARS = 4_096

AnyModules = PythonModules | TypeScriptModules | GoModules | RustModules | JvmModules | CModules


class Modules:
    """Resolves the imports of one snapshot. Its tables are built once, when the first import of a family asks."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def resolve(self, path: str, imported: Import, within: tuple[str, ...] = ()) -> Target:
        """Where an import of this file leads; a language without a resolver leads nowhere that can be shown.

        `within` are the modules that are written inside the file around the import, outermost first.
        """
        resolver = self.resolver(path)
        if resolver is None or len(imported.module) > _MOST_CHARS:
            return UNRESOLVED
        return resolver.resolve(path, imported, within)

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """The files of the module of this name that belongs to this file's own."""
        resolver = self.resolver(path)
        return () if resolver is None else resolver.child(path, name)

    def beside(self, path: str) -> frozenset[str]:
        """The files that share a scope with this one without any import, itself included."""
        resolver = self.resolver(path)
        return resolver.beside(path) if isinstance(resolver, GoModules | JvmModules) else frozenset({path})

    def family(self, path: str) -> str:
        """The family of a file's language; empty when its imports are not resolved."""
        return FAMILY.get(self.files.languages.get(path, ""), "")

    def resolver(self, path: str) -> AnyModules | None:
        """The resolver of a file's language."""
        return self._resolvers.get(self.family(path))

    @cached_property
    def _resolvers(self) -> dict[str, AnyModules]:
        files = self.files
        return {
            "python": PythonModules(files),
            "ecmascript": TypeScriptModules(files),
            "go": GoModules(files),
            "rust": RustModules(files),
            "jvm": JvmModules(files),
            "c": CModules(files),
        }
