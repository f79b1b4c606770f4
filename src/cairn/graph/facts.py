"""The facts of one file, arranged for looking up names: its top, its members and its imports."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from cairn.core.lazy import cached_property
from cairn.core.types import Import, Reference, Symbol
from cairn.graph.shadows import Spot, bound_in_blocks, depth_at
from cairn.store import SnapshotView
from cairn.syntax.conditions import Condition
from cairn.syntax.languages import resolver_of, traits_of

CALLABLES = frozenset({"function", "method", "constructor"})
CLASSES = frozenset({"class", "interface", "struct", "enum", "union", "trait", "object", "impl", "type"})
FIELDS = frozenset({"property", "field"})
MEMBERS = frozenset({"method", "property", "field", "constructor", "enum_member"})
# The most imports of one file that bind the same name, or are wildcards: a hostile file has one on every line.
MOST_ALIKE = 200


class Place(NamedTuple):
    """A definition as its file and its number among the file's symbols; number -1 is the file itself, as a module."""

    path: str
    number: int


class Facts:
    """The facts of one file, each read from the view when first needed and then kept."""

    def __init__(self, view: SnapshotView, path: str, language: str) -> None:
        self._view = view
        self.path = path
        self.language = language
        self.traits = traits_of(language)
        self.family = self.traits.family
        self.rules = resolver_of(language)
        # What the text of a definition says of a name, by the definition's number, because names are asked for often.
        self.types_known: dict[tuple[int, str], set[str]] = {}
        self.bindings_known: dict[tuple[int, str], bool] = {}
        self._in_blocks: dict[str, tuple[Spot, ...]] = {}

    @cached_property
    def symbols(self) -> list[Symbol]:
        return self._view.symbols(self.path)

    @cached_property
    def imports(self) -> list[Import]:
        return self._view.imports(self.path)

    @cached_property
    def references(self) -> list[Reference]:
        return self._view.references(self.path)

    @cached_property
    def text(self) -> bytes:
        return bytes(self._view.text(self.path) or b"")

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        """The parts of the file that are compiled only under a condition."""
        return self.traits.conditions(self.text, self.path) if self.traits.conditions else ()

    def conditions_at(self, at: int) -> list[Condition]:
        """Return the conditions under which a byte is compiled."""
        return [each for each in self._conditions if each.start <= at < each.end]

    def qualified(self, number: int) -> str:
        """Return the dotted name of a definition in its file."""
        symbol = self.symbols[number]
        return f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name

    @cached_property
    def package(self) -> str:
        """The package that the file declares; empty in languages without such declarations."""
        first = self.symbols[0] if self.symbols else None
        return first.name if first is not None and first.kind == "module" and self.traits.packages else ""

    @cached_property
    def top(self) -> dict[str, tuple[int, ...]]:
        """The numbers of the definitions that other files can name without naming anything around them, by name."""
        found: dict[str, list[int]] = {}
        see_through: set[int] = {-1}
        for number, symbol in enumerate(self.symbols):
            if symbol.parent not in see_through:
                continue
            around = self.qualified(symbol.parent) if symbol.parent >= 0 else ""
            if symbol.container != around and not self.traits.extensions:
                # A method written outside of its class is no name of the file, unless it is an extension function.
                continue
            if symbol.kind in self.traits.seen_through or self._shows_members(symbol):
                see_through.add(number)
            if symbol.kind in self.traits.seen_through:
                continue
            if symbol.kind not in self.traits.no_names:
                found.setdefault(symbol.name, []).append(number)
        return {name: tuple(numbers) for name, numbers in found.items()}

    def _shows_members(self, symbol: Symbol) -> bool:
        """Whether the members of a definition are names of the file too: those of a plain `enum` of C are."""
        if symbol.kind != "enum" or not self.traits.includes:
            return False
        return not symbol.signature.startswith(("enum class", "enum struct"))

    @cached_property
    def sunken(self) -> frozenset[int]:
        """The definitions of a script that are inside no definition but in a callback, a block or an object literal."""
        if not self.traits.callbacks_bind:
            return frozenset()
        numbers = (number for same in self.top.values() for number in same)
        return frozenset(
            number
            for number in numbers
            if self.symbols[number].kind in MEMBERS or depth_at(self.text, self.symbols[number].start_byte)
        )

    def in_blocks(self, name: str) -> tuple[Spot, ...]:
        """Return where callbacks and blocks of a script bind this name."""
        known = self._in_blocks.get(name)
        if known is None:
            known = self._in_blocks[name] = bound_in_blocks(self.text, name)
        return known

    @cached_property
    def inner(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """The numbers of the definitions by (container, name)."""
        found: dict[tuple[str, str], list[int]] = {}
        for number, symbol in enumerate(self.symbols):
            if symbol.container:
                found.setdefault((symbol.container, symbol.name), []).append(number)
        return {key: tuple(numbers) for key, numbers in found.items()}

    @cached_property
    def written_as(self) -> dict[str, tuple[int, ...]]:
        """The numbers of the definitions by dotted name: overloads share one, and so do the `impl` blocks of a type."""
        found: dict[str, list[int]] = {}
        for number in range(len(self.symbols)):
            found.setdefault(self.qualified(number), []).append(number)
        return {name: tuple(numbers) for name, numbers in found.items()}

    @cached_property
    def bases(self) -> dict[int, tuple[Reference, ...]]:
        """The bases that each class names, by the number of the class, in the order written."""
        found: dict[int, list[Reference]] = {}
        for reference in self._view.references(self.path, "base"):
            found.setdefault(reference.scope, []).append(reference)
        return {scope: tuple(references) for scope, references in found.items()}

    @cached_property
    def scopes(self) -> dict[int, int]:
        """For every import inside a definition, by the import's first byte, the innermost definition around it."""
        found = {imported.start_byte: self.around(imported.start_byte) for imported in self.imports}
        return {at: around for at, around in found.items() if around >= 0}

    def around(self, at: int) -> int:
        """Return the number of the innermost definition around a byte; -1 at the top of the file."""
        around = bisect_right(self._starts, at) - 1
        while around >= 0 and not self._holds(around, at):
            around = self.symbols[around].parent
        return around

    @cached_property
    def _starts(self) -> list[int]:
        return [symbol.start_byte for symbol in self.symbols]

    def _holds(self, number: int, at: int) -> bool:
        symbol = self.symbols[number]
        return at < symbol.end_byte and (symbol.kind != "module" or self.traits.modules_in_files)

    @cached_property
    def bound(self) -> dict[str, tuple[Import, ...]]:
        """The imports that bind a name in this file, by that name; pure re-exports bind none."""
        found: dict[str, list[Import]] = {}
        for imported in self.imports:
            name = self._local_name(imported)
            if name and imported.name != "*" and not self._hands_on(imported):
                found.setdefault(name, []).append(imported)
        return {name: tuple(imports[:MOST_ALIKE]) for name, imports in found.items()}

    @cached_property
    def handed_on(self) -> dict[str, tuple[Import, ...]]:
        """The imports that other files can import from here, by name.

        Where the language has a statement such as `export … from`, only its imports; else all imports.
        """
        if not self.traits.exports_by:
            return self.bound
        found: dict[str, list[Import]] = {}
        for imported in self.imports:
            if self._hands_on(imported) and imported.name != "*":
                found.setdefault(imported.alias or imported.name, []).append(imported)
        return {name: tuple(imports[:MOST_ALIKE]) for name, imports in found.items()}

    @cached_property
    def wildcards(self) -> tuple[Import, ...]:
        """The wildcard imports that bring names into this file."""
        return tuple(each for each in self.imports if each.name == "*" and not self._hands_on(each))[:MOST_ALIKE]

    @cached_property
    def wildcards_handed_on(self) -> tuple[Import, ...]:
        """The wildcard imports whose names other files can import from here."""
        return tuple(each for each in self.imports if each.name == "*")[:MOST_ALIKE]

    @cached_property
    def exported_as(self) -> dict[str, str]:
        """The local name for each exported name: `export { a as b }`, `export default a`, `module.exports = a`."""
        return self.rules.exported_as(self.text) if self.traits.exports_by else {}

    def _hands_on(self, imported: Import) -> bool:
        exports = self.traits.exports_by
        return bool(exports) and self.text.startswith(exports, imported.start_byte)

    def _local_name(self, imported: Import) -> str:
        if imported.alias or imported.name:
            return imported.alias or imported.name
        return self.rules.local_name(imported.module)
