"""Find the files that imports lead to, with the resolver of each language."""

from __future__ import annotations

from cairn.core.types import Import
from cairn.store import SnapshotView
from cairn.syntax.languages import resolver_of, traits_of
from cairn.syntax.resolver import UNRESOLVED, ImportTarget, Resolver, SnapshotFiles
from cairn.syntax.traits import Traits

# The longest module name that is resolved; a longer one is hostile or broken.
_MOST_CHARS = 4_096


def files_of(view: SnapshotView) -> SnapshotFiles:
    """Return the files of a snapshot that have facts."""
    languages = {path: record.language for path, record in view.records().items() if record.skip is None}

    def read(path: str) -> bytes | None:
        text = view.text(path)
        return None if text is None else bytes(text)

    return SnapshotFiles(languages, read)


def are_imports_followed(language: str) -> bool:
    """Whether the imports of a language are resolved; if not, only equal names relate two of its files."""
    return bool(traits_of(language).family)


class Modules:
    """The resolvers of one snapshot. The tables of each resolver are built once, for the first import."""

    def __init__(self, files: SnapshotFiles) -> None:
        self.files = files
        self._resolvers: dict[type[Resolver], Resolver] = {}

    def resolve(self, path: str, imported: Import, within: tuple[str, ...] = ()) -> ImportTarget:
        """Return where an import of this file leads; unresolved when the language has no resolver.

        `within` are the modules inside the file around the import, outermost first.
        """
        return UNRESOLVED if len(imported.module) > _MOST_CHARS else self.resolver(path).resolve(path, imported, within)

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """Return the files of the submodule `name` of the module that this file is."""
        return self.resolver(path).child(path, name)

    def beside(self, path: str) -> frozenset[str]:
        """Return the files that share a scope with this file without an import, this file included."""
        return self.resolver(path).beside(path)

    def traits(self, path: str) -> Traits:
        """Return the traits of a file's language."""
        return traits_of(self.files.languages.get(path, ""))

    def family(self, path: str) -> str:
        """Return the family of a file's language; empty when the imports of the language are not resolved."""
        return self.traits(path).family

    def resolver(self, path: str) -> Resolver:
        """Return the resolver of a file's language; all languages of a family share one."""
        kind = resolver_of(self.files.languages.get(path, ""))
        if kind not in self._resolvers:
            self._resolvers[kind] = kind(self.files)
        return self._resolvers[kind]
