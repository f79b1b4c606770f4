"""Who imports what: the files that imports lead to, and the imports that lead to a definition."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import NamedTuple

from cairn.core.types import Import
from cairn.graph.facts import Place
from cairn.graph.names import SnapshotNames
from cairn.syntax.resolver import WHOLE, Lead

_NAMELESS = frozenset({"", "*", "default", WHOLE})
_LIST = re.compile(rb"[^\n{(]*([{(])")
_MOST_IMPORT = 20_000


class ImportSite(NamedTuple):
    """An import that names a symbol, directly or through files that hand it on."""

    path: str
    line: int
    imported: Import


class Importers:
    """The imports of one snapshot, all of them read when the first question needs it."""

    def __init__(self, names: SnapshotNames) -> None:
        self._names = names
        self._view = names.view

    def dependencies(self) -> dict[str, tuple[str, ...]]:
        """For every file the files that its imports lead to, in order; files without any are left out."""
        found: dict[str, tuple[str, ...]] = {}
        for path, imports in self._imports.items():
            files = {each for imported in imports for each in self._imported_files(path, imported)} - {path}
            if files:
                found[path] = tuple(sorted(files))
        return found

    def files_naming(self) -> dict[str, int]:
        """For every name that is imported, in how many files."""
        each = Counter[str]()
        for imports in self._imports.values():
            each.update({imported.name for imported in imports} - {"", "*"})
        return each

    @cached_property
    def _imports(self) -> dict[str, list[Import]]:
        modules = self._names.modules
        return {path: self._view.imports(path) for path in modules.files.languages if modules.family(path)}

    @cached_property
    def _imports_named(self) -> dict[str, list[tuple[str, Import]]]:
        found: dict[str, list[tuple[str, Import]]] = {}
        for path, imports in self._imports.items():
            for imported in imports:
                name = imported.name or (WHOLE if imported.alias else "")
                if name:
                    found.setdefault(name, []).append((path, imported))
        return found

    def of(self, place: Place) -> tuple[tuple[ImportSite, ...], set[tuple[str, str]]]:
        """The imports that lead to a definition, and the other names that they give it: (file, name)."""
        facts = self._names.facts(place.path)
        wanted = facts.symbols[place.number].name
        pending = [wanted, *(name for name, local in facts.exported_as.items() if local == wanted)]
        called = set(pending)
        sites: list[ImportSite] = []
        aliases: set[tuple[str, str]] = set()
        while pending:
            for path, imported in self._imports_named.get(pending.pop(), ()):
                if not any(self.same(place, each) for each in self._names.leads_to(path, imported).places):
                    continue
                sites.append(ImportSite(path, imported.line, imported))
                local = imported.alias or imported.name
                if local != wanted:
                    aliases.add((path, local))
                # Whoever imports it from there may call it by one of these.
                fresh = self._handed_on_as(path, local) - called
                called |= fresh
                pending += sorted(fresh)
        return tuple(sorted(sites, key=lambda site: (site.path, site.imported.start_byte, site.imported))), aliases

    def _handed_on_as(self, path: str, local: str) -> set[str]:
        facts = self._names.facts(path)
        return {local, *(name for name, inner in facts.exported_as.items() if inner == local)}

    def _imported_files(self, path: str, imported: Import) -> tuple[str, ...]:
        target = self._names.target(path, imported)
        if target.lead is not Lead.INSIDE:
            return ()
        first = target.name.partition(".")[0]
        if target.module and not (target.files and first in self._names.facts(target.files[0]).top):
            # `from package import module` needs the module; the package's own file is only on the way.
            return target.module
        if len(target.files) > 1 and first not in ("", "*"):
            return self._names.defining(target.files, first)
        return target.files

    def same(self, one: Place, other: Place) -> bool:
        """Whether two places are one definition: overloads, or a prototype and what it stands for."""
        if one.path == other.path and one.number == other.number:
            return True
        if one.number < 0 or other.number < 0 or self._names.entity(one) != self._names.entity(other):
            return False
        # Two programs of one repository may each have a function of that name: one file must include the other.
        reached = self._names.reached
        return one.path == other.path or other.path in reached(one.path) or one.path in reached(other.path)


def name_in_list(data: bytes, start: int, imported: Import) -> int:
    """Where an import has the name, when that stands in a list with brackets, often on lines of its own."""
    name = imported.alias if imported.name in _NAMELESS else imported.name
    data = data[start : start + _MOST_IMPORT]
    # A list begins on the line of its import; a bracket that is closed before the name belongs to something else.
    opens = _LIST.match(data)
    if not name or opens is None:
        return start
    closes = data.find(b"}" if opens[1] == b"{" else b")", opens.end())
    word = re.compile(rb"(?<![\w$])" + re.escape(name.encode("utf-8", "replace")) + rb"(?![\w$])")
    found = word.search(data, opens.end(), closes if closes >= 0 else len(data))
    return start + found.start() if found else start
