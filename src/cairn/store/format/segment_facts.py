"""Read the facts of a sealed segment: definitions, uses of names and imports, as they were put in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from cairn.core.types import Import, Reference, Symbol
from cairn.store.format.columns import UseRow, lines_of, scopes
from cairn.store.format.rows import SYMBOL_KINDS, Outline, Reach, folded, qualified, unpacked_doc
from cairn.store.format.segment import SPANS, Segment, ends_of, reading, span_of

# The columns are named, because a later version may have more of them.
_COLUMNS = "id, name, kind, container, start, length, name_at, exported, up, signature, doc"
_SYMBOLS = f"SELECT {_COLUMNS} FROM symbols WHERE id >= ? AND id < ? ORDER BY id"  # noqa: S608 - names of our own
_NAMED = f"SELECT {_COLUMNS} FROM symbols WHERE name = ? ORDER BY id"  # noqa: S608 - names of our own
_AROUND = "SELECT name, container, up FROM symbols WHERE id = ?"
_REACHING = """
SELECT id, start, length FROM symbols
WHERE id >= ? AND id < ? AND start < ? AND start + length - (length > 0) >= ? ORDER BY id
"""
_OUTLINE = "SELECT name, kind, container, up FROM symbols WHERE id = ?"
_OWN = "SELECT kind, start FROM symbols WHERE name = ? AND id >= ? AND id < ?"
_IMPORTS = "SELECT module, name, alias, start FROM imports WHERE id >= ? AND id < ? ORDER BY id"

_DEFINED, _NAMES_AT_ONCE = "SELECT name, id, kind, exported FROM symbols WHERE name IN ({})", 500


class SegmentFacts:
    """The definitions, uses and imports of one open segment; they can be read until the segment is closed."""

    __slots__ = ("_of",)

    def __init__(self, segment: Segment) -> None:
        self._of = segment

    @property
    def closed(self) -> bool:
        return self._of.closed

    @reading
    def symbols(self, file_id: int) -> list[Symbol]:
        """Return the definitions of a file as they were put in, but with only the first line of `doc`."""
        span = span_of(self._of.symbol_at, file_id)
        return self._symbols(file_id, self._of.db.execute(_SYMBOLS, ends_of(span)).fetchall())

    @reading
    def symbols_named(self, name: str) -> list[tuple[int, Symbol]]:
        """Return every definition with exactly this name, and the number of its file."""
        number = self._of.names.find(name)
        rows = self._of.db.execute(_NAMED, (number,)).fetchall()
        by_file = groupby(rows, lambda row: bisect_right(self._of.symbol_at, row[0]) - 1)
        return [(file_id, symbol) for file_id, own in by_file for symbol in self._symbols(file_id, list(own))]

    @reading
    def files_defining(self, name: str) -> list[int]:
        """Return the numbers of the files that define exactly this name."""
        rows = self._of.db.execute("SELECT id FROM symbols WHERE name = ?", (self._of.names.find(name),))
        return sorted({bisect_right(self._of.symbol_at, number) - 1 for (number,) in rows})

    @reading
    def defined(self) -> list[int]:
        """Return the number of every name that has a definition."""
        return [number for (number,) in self._of.db.execute("SELECT DISTINCT name FROM symbols ORDER BY name")]

    @reading
    def definitions_of(self, names: Sequence[int]) -> list[tuple[int, int, int, str, bool]]:
        """Return name, number, file, kind and visibility of each definition of these names (given by number)."""
        found: list[tuple[int, int, int, int]] = []
        for first in range(0, len(names), _NAMES_AT_ONCE):
            some = names[first : first + _NAMES_AT_ONCE]
            found += self._of.db.execute(_DEFINED.format(",".join("?" * len(some))), some)
        return [
            (name, number, bisect_right(self._of.symbol_at, number) - 1, SYMBOL_KINDS[kind], bool(exported))
            for name, number, kind, exported in sorted(found)
        ]

    @reading
    def symbol(self, number: int) -> Symbol:
        """Return one definition by its number."""
        rows = self._of.db.execute(_SYMBOLS, (number, number + 1)).fetchall()
        return self._symbols(bisect_right(self._of.symbol_at, number) - 1, rows)[0]

    @reading
    def reaching(self, file_id: int, before: int, until: int) -> list[Reach]:
        """Return the definitions of a file that begin before the byte `before` and reach the byte `until`, in order."""
        span = span_of(self._of.symbol_at, file_id)
        return list(map(Reach._make, self._of.db.execute(_REACHING, (*ends_of(span), before, until))))

    @reading
    def outline(self, number: int) -> Outline:
        """Return the outline of one definition, by its number."""
        ((named, kind, container, up),) = self._of.db.execute(_OUTLINE, (number,)).fetchall()
        around = self._of.names[container] if container is not None else self._inside(number - up, {}) if up else ""
        return Outline(SYMBOL_KINDS[kind], around, self._of.names[named])

    @reading
    def defined_in(self, file_id: int, name: str) -> list[tuple[str, int]]:
        """Return kind and first byte of each definition in a file with exactly this name."""
        number, span = self._of.names.find(name), span_of(self._of.symbol_at, file_id)
        return [(SYMBOL_KINDS[kind], start) for kind, start in self._of.db.execute(_OWN, (number, *ends_of(span)))]

    @reading
    def references(self, file_id: int, kind: str | None = None) -> list[Reference]:
        """Return the uses of names in a file, all of them or those of one kind, in order of their place."""
        return self._references(file_id, self._of.uses.between(*ends_of(span_of(self._of.row_at, file_id)), kind))

    @reading
    def references_named(self, name: str) -> list[tuple[int, Reference]]:
        """Return every use of exactly this name, and the number of its file."""
        number = self._of.names.find(name)
        by_file = groupby(
            self._of.uses.named(number) if number is not None else (),
            lambda use: bisect_right(self._of.row_at, use.row) - 1,
        )
        return [(file_id, use) for file_id, own in by_file for use in self._references(file_id, list(own))]

    @reading
    def references_at(self, file_id: int, places: Sequence[tuple[int, int]]) -> list[Reference]:
        """Return the uses of names in a file at these places, each a chunk row and a number in the column of uses."""
        return self._references(file_id, sorted(self._of.uses.use(row, index) for row, index in places))

    @reading
    def imports(self, file_id: int) -> list[Import]:
        """Return the imports of a file, in the order they were put in."""
        rows = self._of.db.execute(_IMPORTS, ends_of(span_of(self._of.import_at, file_id))).fetchall()
        lines = self._lines(file_id, {start for *_, start in rows})
        name = self._of.names.__getitem__
        return [Import(name(a), name(b), name(c), start, lines[start][0]) for a, b, c, start in rows]

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _symbols(self, file_id: int, rows: list[Any]) -> list[Symbol]:
        text, first, name = self._of.text(file_id), self._of.symbol_at[file_id], self._of.names.__getitem__
        lasts = [start + length - (length > 0) for _, _, _, _, start, length, *_ in rows]
        lines = self._lines(file_id, {*lasts, *(row[4] for row in rows)})
        found = []
        inside: dict[int, str] = {}
        for row, last in zip(rows, lasts, strict=True):
            place, named, kind, container, start, length, name_at, exported, up, signature, doc = row
            if not 0 <= up <= place - first:
                raise LookupError("it lies in a definition of another file")
            called = name(named)
            around = name(container) if container is not None else self._inside(place - up, inside) if up else ""
            inside[place] = qualified(around, called)
            written = signature if isinstance(signature, str) else folded(text, start, signature).decode()
            said = unpacked_doc(text, start, doc) if isinstance(doc, int) else doc or ""
            spans = (start, start + length, lines[start][0], lines[last][0], start + name_at)
            parent = place - first - up if up else -1
            found.append(Symbol(SYMBOL_KINDS[kind], called, around, written, said, *spans, bool(exported), parent))
        return found

    def _inside(self, place: int, known: dict[int, str]) -> str:
        """Return the container of definitions directly inside this one; adds containers found on the way to `known`."""
        pending: list[tuple[int, str]] = []
        # A loop, not a recursion: a hostile file nests definitions thousands deep.
        while place not in known:
            ((named, container, up),) = self._of.db.execute(_AROUND, (place,)).fetchall()
            pending.append((place, self._of.names[named]))
            if container is not None or not up:
                around = self._of.names[container or 0]
                break
            place -= up
        else:
            around = known[place]
        for place, name in reversed(pending):
            around = known[place] = qualified(around, name)
        return around

    def _references(self, file_id: int, uses: list[UseRow]) -> list[Reference]:
        base, name = self._of.text_at[file_id], self._of.names.__getitem__
        starts = [self._of.chunk_at[use.row] + use.offset - base for use in uses]
        lines = self._lines(file_id, set(starts))
        spans = self._of.db.execute(SPANS, ends_of(span_of(self._of.symbol_at, file_id))).fetchall()
        around = scopes(spans, starts)
        return [
            Reference(use.kind, name(use.name), name(use.receiver), start, *lines[start], scope)
            for use, start, scope in zip(uses, starts, around, strict=True)
        ]

    def _lines(self, file_id: int, offsets: set[int]) -> dict[int, tuple[int, int]]:
        """Return line and column of each of these offsets in a file."""
        ordered = sorted(offsets)
        rows, base = span_of(self._of.row_at, file_id), self._of.text_at[file_id]
        known, line = 0, 1
        if ordered and rows:
            # Begin at the chunk that holds the first offset: the text before it need not be read.
            row = max(rows.start, bisect_right(self._of.chunk_at, base + ordered[0], rows.start, rows.stop) - 1)
            known, line = self._of.chunk_at[row] - base, self._of.chunk_line[row]
        return dict(zip(ordered, lines_of(self._of.text(file_id), known, line, ordered), strict=True))
