"""A graph that prefers what an indexer knows about clean files over what the syntax shows.

`InformedGraph` answers the questions of `Graph` and says for each use whether the syntax or an indexer knows it. Where
an indexer names no definition of the snapshot, the syntax decides, so that an answer never has fewer uses than without
an indexer.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from cairn.core.types import Reference
from cairn.graph.facts import CLASSES, Place
from cairn.graph.gathering import Gathering
from cairn.graph.importers import ImportSite, name_in_list
from cairn.graph.occurrences import READ
from cairn.graph.outline import has_outline
from cairn.graph.references import Graph, Site, SymbolUses
from cairn.graph.scopes import Bound, Tier
from cairn.semantic.facts import FileSyntax, SemanticFacts
from cairn.semantic.model import Occurrence, OccurrenceRole
from cairn.semantic.places import lines_of, spot
from cairn.semantic.shape import CodeShape, shape_of
from cairn.semantic.state import Now
from cairn.store import SnapshotView
from cairn.syntax.frame import body_lines, code_lines
from cairn.syntax.languages import traits_of

# The words that construct a class without its name.
_MAKERS = frozenset({b"super", b"constructor", b"__init__", b"this", b"base"})


class PinnedView:
    """A snapshot in the form that the semantic layer reads."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view

    def now(self, path: str) -> Now | None:
        file = self._view.file(path)
        return None if file is None or file.skip is not None else Now(file.file_hash, file.interface_hash)

    def paths(self) -> Iterable[str]:
        return self._view.paths()

    def lines(self, path: str) -> list[bytes]:
        return lines_of(self._view.text(path) or b"")

    def shape(self, path: str) -> CodeShape | None:
        file = self._view.file(path)
        if file is None or file.skip is not None or not has_outline(file):
            return None
        traits = traits_of(file.language)
        code = code_lines(bytes(self._view.text(path) or b""), traits.lexis)
        return shape_of(code, body_lines(code, self._view.symbols(path)) if traits.heads_say_all else ())

    def syntax(self, path: str) -> FileSyntax | None:
        file = self._view.file(path)
        if file is None or file.skip is not None or not has_outline(file):
            return None
        view = self._view
        return FileSyntax(bytes(view.text(path) or b""), view.symbols(path), view.references(path), view.imports(path))


class InformedGraph(Graph):
    """The graph of a snapshot together with the facts of its indexers, for one question."""

    is_informed = True

    def __init__(self, graph: Graph, facts: SemanticFacts) -> None:
        super().__init__(graph.view)
        # The tables of the syntactic graph are shared, so that they are built once.
        self.names, self.binder, self.importers = graph.names, graph.binder, graph.importers
        self.occurrences, self.in_use = graph.occurrences, graph.in_use
        self.semantic = facts
        self.stamp = facts.stamp
        self.behind = facts.behind
        self._line_starts = cache(self._starts_of_lines)
        self._numbers = cache(self._numbers_by_name)
        self._places = cache(self._places_of)
        self._symbols = cache(self.symbols_of)

    def bind(self, path: str, reference: Reference) -> Bound:
        """Bind one use: to the definition that the indexer knows, else to what the syntax shows.

        Of imports that stand in for each other an indexer follows one; each of them may be meant, unless the syntax
        shows the same definition alone (the others lead out of the snapshot).
        """
        known = self.known_meaning(path, reference)
        if known is None or reference.receiver or not self.in_turn(path, reference.name):
            return known or super().bind(path, reference)
        shown = super().bind(path, reference)
        if shown.tier is Tier.PROVEN and {*shown.places} == {*known.places}:
            return known
        imports = self.names.facts(path).bound[reference.name]
        led = {place for each in imports for place in self.names.leads_to(path, each).places}
        return Bound(Tier.LIKELY, tuple(sorted({*known.places, *shown.places, *led})))

    def known_meaning(self, path: str, reference: Reference) -> Bound | None:
        """Return the definitions that the indexer says a use means; None where it names none of the snapshot."""
        symbols = self.semantic.symbols_at(path, reference.line, reference.column)
        places = {self._named(place, reference.name) for symbol in symbols for place in self._places(symbol)}
        return Bound(Tier.PROVEN, tuple(sorted(places)), semantic=True) if places else None

    def _named(self, place: Place, name: str) -> Place:
        """Return the class in place of its constructor when the use has the name of the class.

        For `new Foo()` indexers name the constructor, while the text names the class.
        """
        symbols = self.names.facts(place.path).symbols
        symbol = symbols[place.number]
        is_maker = symbol.kind == "constructor" and symbol.parent >= 0 and symbols[symbol.parent].name == name
        return Place(place.path, symbol.parent) if is_maker else place

    def symbols_of(self, place: Place) -> frozenset[int]:
        """Return the indexer's symbols of a definition in a clean file; for a class with those of its constructors."""
        facts = self.names.facts(place.path)
        if place.number < 0 or self.semantic.known(place.path) is None:
            return frozenset()
        found: set[int] = set()
        written = facts.written_as[facts.qualified(place.number)]
        makers = [n for n, each in enumerate(facts.symbols) if each.kind == "constructor" and each.parent in written]
        for number in (*written, *makers):
            line, column = self.spot(place.path, facts.symbols[number].name_byte)
            for symbol in self.semantic.symbols_at(place.path, line, column):
                if Place(place.path, number) in self._places(symbol):
                    found.add(symbol)
        return frozenset(found)

    def knows(self, path: str, start_byte: int, name: str) -> bool:
        """Whether an indexer knows the definition of this name that begins at this byte."""
        symbols = self.names.facts(path).symbols
        numbers = (n for n, each in enumerate(symbols) if (each.start_byte, each.name) == (start_byte, name))
        return any(self._is_known(Place(path, number)) for number in numbers)

    def _is_known(self, place: Place) -> bool:
        at = self.names.facts(place.path).symbols[place.number].name_byte
        found = self.semantic.symbols_at(place.path, *self.spot(place.path, at))
        return any(place in self._places(symbol) for symbol in found)

    def spot(self, path: str, at: int) -> tuple[int, int]:
        """Return the line (from 1) and the column (in bytes) of a byte."""
        return spot(self.names.facts(path).text, at)

    def byte(self, path: str, line: int, column: int) -> int:
        """Return the byte at a line (from 1) and a column (in bytes)."""
        return self._line_starts(path)[line - 1] + column

    def _known_files(self, place: Place) -> frozenset[str]:
        return frozenset(one.path for one in self.semantic.occurrences(self._symbols(place)))

    def _part(
        self, place: Place, gathering: Gathering, cost: int, most: int | None, list_name_only: bool
    ) -> SymbolUses:
        found = super()._part(place, gathering, cost, most, list_name_only)
        symbols = self._symbols(place)
        if not symbols:
            return found
        met = [one for one in self.semantic.occurrences(symbols) if one.path in found.files]
        name = self.names.facts(place.path).symbols[place.number].name
        in_turn = {path for path in {one.path for one in met} if self.in_turn(path, name)}
        known = {
            (one.path, self.byte(one.path, one.start_line, one.start_column)): one
            for one in met
            if one.role is not OccurrenceRole.DEFINITION
            and one.path not in in_turn
            and not self._is_other_name(place, one)
        }
        listed = {(site.path, site.start_byte) for site in (*found.proven, *found.likely, *found.name_only)}
        imported = {self._import_line(site) for site in found.imports}
        read = [
            self._read(path, at, one.start_line, one.start_column)
            for (path, at), one in known.items()
            # A name inside an import is not listed again as a read: the import itself is listed.
            if (path, at) not in listed and (path, one.start_line) not in imported
        ]
        proven = sorted([*found.proven, *read], key=lambda site: (site.path, site.start_byte))
        return found._replace(proven=tuple(proven), semantic=frozenset(known))

    def _is_other_name(self, place: Place, one: Occurrence) -> bool:
        """Whether an occurrence of a class constructs it without its name, as `super` or `__init__` do."""
        symbol = self.names.facts(place.path).symbols[place.number]
        text = self.semantic.lines(one.path)[one.start_line - 1][one.start_column : one.end_column]
        return symbol.kind in CLASSES and text in _MAKERS

    def _import_line(self, site: ImportSite) -> tuple[str, int]:
        """Return the file and the line on which an import has the imported name."""
        text, start = self.names.facts(site.path).text, site.imported.start_byte
        return site.path, site.line + text.count(b"\n", start, name_in_list(text, start, site.imported))

    def _read(self, path: str, at: int, line: int, column: int) -> Site:
        facts = self.names.facts(path)
        scope = facts.around(at)
        inside = facts.qualified(scope) if scope >= 0 else ""
        return Site(path, line, column, READ, "", "", inside, at, scope)

    # --- definitions ------------------------------------------------------------------------------------------------

    def _places_of(self, symbol: int) -> tuple[Place, ...]:
        """Return the definitions of an indexer's symbol in clean files, as places of the syntax."""
        found = []
        for one in self.semantic.definitions(symbol):
            number = self._numbers(one.path).get(self.byte(one.path, one.start_line, one.start_column))
            if number is not None:
                found.append(Place(one.path, number))
        return tuple(found)

    def _numbers_by_name(self, path: str) -> dict[int, int]:
        """Return the number of the outermost definition for each byte at which the name of a definition begins."""
        found: dict[int, int] = {}
        for number, symbol in enumerate(self.names.facts(path).symbols):
            found.setdefault(symbol.name_byte, number)
        return found

    def _starts_of_lines(self, path: str) -> list[int]:
        starts = [0]
        for line in self.names.facts(path).text.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts
