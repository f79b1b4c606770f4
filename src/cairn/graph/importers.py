"""Find which files import which, and the imports that lead to a definition."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from cairn.core.lazy import cached_property
from cairn.core.types import Import
from cairn.graph.facts import Place
from cairn.graph.names import SnapshotNames
from cairn.graph.outline import Definition, definition_of
from cairn.syntax.resolver import WHOLE, Lead

_NAMELESS = frozenset({"", "*", "default", WHOLE})
_LIST = re.compile(rb"[^\n{(]*([{(])")
_MOST_IMPORT = 20_000
_STEP = re.compile(r"\.|::")
_MOST_STEPS = 8


class ImportSite(NamedTuple):
    """An import that names a definition, directly or through files that re-export it."""

    path: str
    line: int
    imported: Import


class Importers:
    """All imports of one snapshot, read when the first question needs them."""

    def __init__(self, names: SnapshotNames) -> None:
        self._names = names
        self._view = names.view

    def dependencies(self) -> dict[str, tuple[str, ...]]:
        """Return for every file the files that its imports lead to, in order; files without any are left out."""
        return self._dependencies

    @cached_property
    def _dependencies(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for path, imports in self._imports.items():
            files = {each for imported in imports for each in self._imported_files(path, imported)} - {path}
            if files:
                found[path] = tuple(sorted(files))
        return found

    def between(self, path: str, other: str) -> Import | None:
        """Return the first import of a file that leads to another file; None where there is none."""
        imports = self._imports.get(path, ())
        return next((each for each in imports if other in self._imported_files(path, each)), None)

    def files_naming(self) -> dict[str, int]:
        """Return for every imported name the number of files that import it."""
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
        """Return the imports that lead to a definition, and the other names that they bind to it, as (file, name)."""
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
                # A file that imports the definition from here may do so by any of these names.
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
            # `from package import module` depends on the module; the package's own file is only on the way.
            return target.module
        if len(target.files) > 1 and first not in ("", "*"):
            return self._names.defining(target.files, first)
        return target.files

    def same(self, one: Place, other: Place) -> bool:
        """Whether two places are one definition: overloads, or a prototype and its definition."""
        if one.path == other.path and one.number == other.number:
            return True
        if one.number < 0 or other.number < 0 or self._names.entity(one) != self._names.entity(other):
            return False
        if self._names.are_apart(one, other):
            return False
        # Two C programs of one repository may have functions of one name, so one file must include the other.
        reached = self._names.reached
        return one.path == other.path or other.path in reached(one.path) or one.path in reached(other.path)


def imported_as(names: SnapshotNames, wanted: str) -> Definition | None:
    """Return the definition that an import path names, such as `package.module.name`; None when it leads nowhere.

    `package.module.Class.member` is one too. Nothing needs to import it so.
    """
    steps = list(_STEP.finditer(wanted.strip()))[-_MOST_STEPS:]
    if not steps or not wanted.strip():
        return None
    importing: dict[str, str] = {}
    for path in names.modules.files.languages:
        importing.setdefault(names.modules.family(path), path)
    for family, path in sorted(importing.items()):
        for step in reversed(steps) if family else ():
            module, name = wanted.strip()[: step.start()], wanted.strip()[step.end() :].replace("::", ".")
            for spelled in dict.fromkeys((module, module.replace("::", "."))) if module and name else ():
                for place in names.leads_to(path, Import(spelled, name, "", 0, 1)).places:
                    if place.number >= 0:
                        facts = names.facts(place.path)
                        return definition_of(place.path, facts.language, facts.symbols[place.number])
    return None


def import_end(data: bytes, start: int) -> int:
    """Return where an import ends: behind the bracket that closes its list, or at the end of its statement or line."""
    here = data[start : start + _MOST_IMPORT]
    opens = _LIST.match(here)
    at = here.find(b"}" if opens[1] == b"{" else b")", opens.end()) + 1 if opens else 0
    ends = [found for found in (here.find(b"\n", at), here.find(b";", at)) if found >= 0]
    return start + min(ends, default=len(here))


def name_in_list(data: bytes, start: int, imported: Import) -> int:
    """Return the byte of the imported name when it stands in a bracketed list, else `start`, the import's own byte.

    The lists of long imports have their names on lines of their own.
    """
    name = imported.alias if imported.name in _NAMELESS else imported.name
    data = data[start : start + _MOST_IMPORT]
    # The list must open on the first line of the import, and the name must stand before the bracket that closes it.
    opens = _LIST.match(data)
    if not name or opens is None:
        return start
    closes = data.find(b"}" if opens[1] == b"{" else b")", opens.end())
    word = re.compile(rb"(?<![\w$])" + re.escape(name.encode("utf-8", "replace")) + rb"(?![\w$])")
    found = word.search(data, opens.end(), closes if closes >= 0 else len(data))
    return start + found.start() if found else start
