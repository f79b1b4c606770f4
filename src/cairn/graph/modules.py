"""Imports → files of the snapshot, by the resolver of each language."""

from __future__ import annotations

from cairn.core.types import Import
from cairn.store import SnapshotView
from cairn.syntax.languages import resolver_of, traits_of
from cairn.syntax.resolver import UNRESOLVED, ImportTarget, Resolver, SnapshotFiles
from cairn.syntax.traits import Traits

# A longer name of a module is no name.
_MOST_CHARS = 4_096


def files_of(view: SnapshotView) -> SnapshotFiles:
    """The files of a snapshot that have facts."""
    languages = {path: record.language for path, record in view.records().items() if record.skip is None}

    def read(path: str) -> bytes | None:
        text = view.text(path)
        return None if text is None else bytes(text)

    return SnapshotFiles(languages, read)


def are_imports_followed(language: str) -> bool:
    """Whether the imports of a language are resolved; elsewhere only spelling relates names of two files."""
    return bool(traits_of(language).family)


class Modules:
    """Resolves the imports of one snapshot. The tables of a resolver are built once, when the first import asks."""

    def __init__(self, files: SnapshotFiles) -> None:
        self.files = files
        self._resolvers: dict[type[Resolver], Resolver] = {}

    def resolve(self, path: str, imported: Import, within: tuple[str, ...] = ()) -> ImportTarget:
        """Where an import of this file leads; a language without a resolver leads nowhere that can be shown.

        `within` are the modules that are written inside the file around the import, outermost first.
        """
        return UNRESOLVED if len(imported.module) > _MOST_CHARS else self.resolver(path).resolve(path, imported, within)

    def child(self, path: str, name: str) -> tuple[str, ...]:
        """The files of the module of this name that belongs to this file's own."""
        return self.resolver(path).child(path, name)

    def beside(self, path: str) -> frozenset[str]:
        """The files that share a scope with this one without any import, itself included."""
        return self.resolver(path).beside(path)

    def traits(self, path: str) -> Traits:
        """The traits of a file's language."""
        return traits_of(self.files.languages.get(path, ""))

    def family(self, path: str) -> str:
        """The family of a file's language; empty when its imports are not resolved."""
        return self.traits(path).family

    def resolver(self, path: str) -> Resolver:
        """The resolver of a file's language; all languages of a family share theirs."""
        kind = resolver_of(self.files.languages.get(path, ""))
        if kind not in self._resolvers:
            self._resolvers[kind] = kind(self.files)
        return self._resolvers[kind]
