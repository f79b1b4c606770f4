"""Read a sealed segment: files, chunk rows, definitions, uses and imports, as they were put in.

Only the store uses this module: everybody else asks a view, which knows which rows are live.
"""

from __future__ import annotations

import errno
import functools
import os
import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import groupby, pairwise
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

from cairn.core.collector import no_cycle_collection
from cairn.core.types import Import, Reference, StoredFile, Symbol
from cairn.errors import StoreCorrupt
from cairn.store.format.columns import (
    U32,
    Names,
    References,
    UseRow,
    container_version,
    lines_of,
    numbers,
    read_container,
    scopes,
    section,
)
from cairn.store.format.document import CHUNK_ROWS, check_version
from cairn.store.format.rows import (
    APPLICATION_ID,
    CHUNK_KINDS,
    DATA_FILE,
    ROWS_FILE,
    SELECT_FILES,
    SYMBOL_KINDS,
    ChunkRow,
    Meta,
    Outline,
    Passage,
    Reach,
    chunk_id,
    folded,
    path_key_ci,
    qualified,
    row_id,
    stored_file,
    unpacked_doc,
)
from cairn.store.fs import Fs, database_of

P = ParamSpec("P")
T = TypeVar("T")

# The one row of `segment`, with the number of rows in each other table: ids count from 0 without a gap.
_META = """
SELECT dimension, chunker, files, rows,
  (SELECT ifnull(max(id) + 1, 0) FROM files), (SELECT ifnull(max(id) + 1, 0) FROM chunks),
  (SELECT ifnull(max(id) + 1, 0) FROM symbols), (SELECT ifnull(max(id) + 1, 0) FROM imports)
FROM segment
"""
_CHUNKS = "SELECT id, hash, kind, breadcrumb FROM chunks WHERE id >= ? AND id < ? ORDER BY id"
# The columns are named, because a later version may have more of them.
_COLUMNS = "id, name, kind, container, start, length, name_at, exported, up, signature, doc"
_SYMBOLS = f"SELECT {_COLUMNS} FROM symbols WHERE id >= ? AND id < ? ORDER BY id"  # noqa: S608 - names of our own
_NAMED = f"SELECT {_COLUMNS} FROM symbols WHERE name = ? ORDER BY id"  # noqa: S608 - names of our own
_SPANS = "SELECT start, start + length, start + name_at FROM symbols WHERE id >= ? AND id < ? ORDER BY id"
_AROUND = "SELECT name, container, up FROM symbols WHERE id = ?"
_PASSAGE = """
SELECT chunks.kind, chunks.breadcrumb, files.language, files.hash FROM chunks, files
WHERE chunks.id = ? AND files.id = ?
"""
_REACHING = """
SELECT id, start, length FROM symbols
WHERE id >= ? AND id < ? AND start < ? AND start + length - (length > 0) >= ? ORDER BY id
"""
_OUTLINE = "SELECT name, kind, container, up FROM symbols WHERE id = ?"
_OWN = "SELECT kind, start FROM symbols WHERE name = ? AND id >= ? AND id < ?"
_IMPORTS = "SELECT module, name, alias, start FROM imports WHERE id >= ? AND id < ? ORDER BY id"

_DEFINED, _NAMES_AT_ONCE = "SELECT name, id, kind, exported FROM symbols WHERE name IN ({})", 500

# The errors to which damaged bytes can lead, whatever damaged them.
DAMAGE = (sqlite3.DatabaseError, LookupError, TypeError, ValueError, OverflowError, AttributeError)


def _reading(method: Callable[Concatenate[Segment, P], T]) -> Callable[Concatenate[Segment, P], T]:
    """Turn every error to which damaged bytes lead into `StoreCorrupt`."""

    @functools.wraps(method)
    def read(self: Segment, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self.closed:
            raise ValueError("the segment is closed")
        try:
            return method(self, *args, **kwargs)
        except DAMAGE as error:
            damaged(error)

    return read


def damaged(error: Exception) -> NoReturn:
    """Raise what an error during reading means: `OSError` for an unreadable disk, `StoreCorrupt` for wrong bytes."""
    # An unreadable disk says nothing about the bytes on it.
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR:
        raise OSError(errno.EIO, os.strerror(errno.EIO), ROWS_FILE) from error
    raise StoreCorrupt(artifact="segment", why="its tables and its data do not fit together") from error


class Segment(AbstractContextManager["Segment"]):
    """One open segment. `files` counts files with text; the numbers of files also count skip records."""

    def __init__(self, db: sqlite3.Connection, sections: dict[str, memoryview], resources: ExitStack) -> None:
        self.closed = False
        self.sections = sections
        self._db = db
        self._resources = resources
        self._keys: list[str] = []
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            _refuse("it is another kind of file")
        check_version(CHUNK_ROWS, version)
        self.rows_version, self.data_version = version, 0
        ((*meta, files, rows, symbols, imports),) = db.execute(_META).fetchall()
        self.meta = Meta(*meta)
        self.dimension, self.files, self.rows = self.meta.dimension, self.meta.files, self.meta.rows
        self._text = section(sections, "text")
        self._text_at, self._row_at = numbers(sections, "file.text"), numbers(sections, "file.rows")
        self._symbol_at, self._import_at = numbers(sections, "file.symbols"), numbers(sections, "file.imports")
        self._chunk_at, self._chunk_line = numbers(sections, "chunk.at"), numbers(sections, "chunk.line")
        self.names = Names(sections)
        self.uses = References(sections, self.rows)
        vectors, scales = section(sections, "vectors"), section(sections, "scales")
        self._vectors, self._scales = vectors.cast("b"), scales.cast("f")
        starts = (self._text_at, self._row_at, self._symbol_at, self._import_at)
        ends = (len(self._text), rows, symbols, imports)
        if any(len(each) != files + 1 or each[-1] != end for each, end in zip(starts, ends, strict=True)):
            _refuse("its tables and its data do not fit together")
        sizes = (rows, len(self._chunk_at), len(self._chunk_line), len(self._scales))
        if any(size != self.rows for size in sizes) or len(vectors) != self.rows * self.dimension or self.files > files:
            _refuse("it does not hold as many rows as it says")

    @classmethod
    def open(cls, fs: Fs, folder: str) -> Segment:
        """Open the segment in this folder; both files stay readable even if they lose their names later."""
        with ExitStack() as stack:
            data = stack.enter_context(fs.open_map(f"{folder}/{DATA_FILE}"))
            try:
                db = fs.open_database(f"{folder}/{ROWS_FILE}")
                stack.callback(db.close)
                segment = cls(db, read_container(data.view), stack)
                segment.data_version = container_version(data.view)
            except DAMAGE as error:
                damaged(error)
            segment._resources = stack.pop_all()
            return segment

    @classmethod
    def of_bytes(cls, rows: bytes, data: memoryview) -> Segment:
        """Return the segment in these bytes, which are in memory only."""
        with ExitStack() as stack:
            db = database_of(rows)
            stack.callback(db.close)
            segment = cls(db, read_container(data), stack)
            segment._resources = stack.pop_all()
            return segment

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close both files; a second call does nothing. Views of the text that are still held stay valid."""
        if not self.closed:
            self.closed = True
            self.sections.clear()
            # The map can be unmapped only when no view refers to it any more.
            for name in [
                name for name, value in vars(self).items() if isinstance(value, memoryview | Names | References)
            ]:
                delattr(self, name)
            self._resources.close()

    @_reading
    def query(self, sql: str) -> list[Any]:
        """Return the rows of a query, for code that checks or merges whole tables."""
        return self._db.execute(sql).fetchall()

    # --- files --------------------------------------------------------------------------------------------------------

    @property
    def recorded(self) -> int:
        """The number of files with a record, skip records included. No table is read for it."""
        return len(self._row_at) - 1

    @_reading
    def keys(self) -> list[str]:
        """Return the path of every file by its number, skip records included."""
        return [path for (path,) in self._db.execute("SELECT path FROM files ORDER BY id")]

    @_reading
    def find(self, path_key: str) -> int | None:
        """Return the number of a file, or None."""
        try:
            row = self._db.execute("SELECT id FROM files WHERE path = ?", (path_key,)).fetchone()
        except UnicodeEncodeError:
            # Half of a surrogate pair cannot be in a stored path.
            return None
        return row and int(row[0])

    @_reading
    def key(self, file_id: int) -> str:
        """Return the path of a file. All paths are read once, because callers ask for thousands."""
        self._keys = self._keys or self.keys()
        return self._keys[file_id]

    @_reading
    def file(self, file_id: int) -> StoredFile:
        rows = self._range(self._row_at, file_id)
        (row,) = self._db.execute(SELECT_FILES, (file_id, file_id + 1)).fetchall()
        return stored_file(row, len(self.text(file_id)), len(rows))

    @_reading
    def records(self) -> list[StoredFile]:
        """Return every file by its number, skip records included."""
        with no_cycle_collection():
            rows = self._db.execute(SELECT_FILES, (0, len(self._row_at))).fetchall()
            sizes = [end - start - 1 for start, end in pairwise(self._text_at)]
            chunks = [end - start for start, end in pairwise(self._row_at)]
            return list(map(stored_file, rows, sizes, chunks))

    @_reading
    def text(self, file_id: int) -> memoryview:
        """Return the bytes of a file; none for a skip record."""
        span = self._range(self._text_at, file_id)
        return self._text[span.start : max(span.start, span.stop - 1)]

    @_reading
    def whole_text(self) -> memoryview:
        """Return the bytes of all files in order of their numbers, each with one newline after it."""
        return self._text

    @_reading
    def text_starts(self) -> list[int]:
        """Return where each file begins in the whole text, and where the text ends."""
        return self._text_at.tolist()

    @_reading
    def row_starts(self) -> Sequence[int]:
        """Return the first chunk row of each file, and the number of rows."""
        return self._row_at

    @_reading
    def exports(self, file_id: int) -> tuple[str, ...]:
        """Return the names that a file says it exports."""
        return tuple(map(self.names.__getitem__, self._stored("SELECT exports FROM files WHERE id = ?", file_id)))

    @_reading
    def partial(self, file_id: int) -> tuple[tuple[int, int], ...]:
        """Return the line ranges of a file that could not be parsed."""
        lines = self._stored("SELECT partial FROM files WHERE id = ?", file_id)
        return tuple(zip(lines[::2], lines[1::2], strict=True))

    # --- chunks -------------------------------------------------------------------------------------------------------

    @_reading
    def chunks(self, file_id: int) -> list[ChunkRow]:
        """Return the chunk rows of a file, in order."""
        return self._chunk_rows(file_id, self._range(self._row_at, file_id))

    @_reading
    def chunk(self, row: int) -> ChunkRow:
        """Return one chunk row by its number."""
        return self._chunk_rows(bisect_right(self._row_at, row) - 1, range(row, row + 1))[0]

    @_reading
    def passage(self, file_id: int, row: int) -> Passage:
        """Return what is shown of one chunk row of a file; much cheaper than `chunk`."""
        if row not in self._range(self._row_at, file_id):
            raise IndexError(row)
        ((kind, crumbs, language, content),) = self._db.execute(_PASSAGE, (row, file_id)).fetchall()
        start, end = self._chunk_bytes(file_id, row)
        data = bytes(self.text(file_id)[start:end])
        nested = bool(array(U32, crumbs or b""))
        return Passage(CHUNK_KINDS[kind], nested, language, content.hex(), data, self._chunk_line[row], start, end)

    def _chunk_bytes(self, file_id: int, row: int) -> tuple[int, int]:
        """Return where a chunk row begins and ends in its file."""
        base = self._text_at[file_id]
        is_last = row + 1 == self._row_at[file_id + 1]
        return self._chunk_at[row] - base, len(self.text(file_id)) if is_last else self._chunk_at[row + 1] - base

    def _chunk_rows(self, file_id: int, rows: range) -> list[ChunkRow]:
        file, text = self.file(file_id), self.text(file_id)
        first, begins = self._row_at[file_id], self._begins(file_id)
        found = []
        for row, content, code, crumbs in self._db.execute(_CHUNKS, (rows.start, rows.stop)):
            start, end = self._chunk_bytes(file_id, row)
            payload, line, kind = bytes(text[start:end]), self._chunk_line[row], CHUNK_KINDS[code]
            identity = chunk_id(content.hex(), self.meta.chunker, kind)
            fields = ChunkRow(
                row_id=row_id(file.key, identity, row - first),
                chunk_id=identity,
                path_key=file.key,
                path_key_ci=path_key_ci(file.key),
                ordinal=row - first,
                file_hash=file.file_hash,
                chunk_hash=content.hex(),
                chunker_version=self.meta.chunker,
                kind=kind,
                text=payload.decode(),
                vector=self._vectors[row * self.dimension : (row + 1) * self.dimension],
                scale=self._scales[row],
                start_line=line,
                end_line=line + payload.count(b"\n") - payload.endswith(b"\n"),
                byte_start=start,
                byte_end=end,
                language=file.language,
                symbols=tuple(range(bisect_left(begins, start), bisect_left(begins, end))),
                breadcrumb=tuple(map(self.names.__getitem__, array(U32, crumbs or b""))),
            )
            found.append(fields)
        if len(found) != len(rows):
            _refuse("a chunk row is missing")
        return found

    # --- definitions, uses, imports -----------------------------------------------------------------------------------

    @_reading
    def symbols(self, file_id: int) -> list[Symbol]:
        """Return the definitions of a file as they were put in, but with only the first line of `doc`."""
        span = self._range(self._symbol_at, file_id)
        return self._symbols(file_id, self._db.execute(_SYMBOLS, _ends(span)).fetchall())

    @_reading
    def symbols_named(self, name: str) -> list[tuple[int, Symbol]]:
        """Return every definition with exactly this name, and the number of its file."""
        number = self.names.find(name)
        rows = self._db.execute(_NAMED, (number,)).fetchall()
        by_file = groupby(rows, lambda row: bisect_right(self._symbol_at, row[0]) - 1)
        return [(file_id, symbol) for file_id, own in by_file for symbol in self._symbols(file_id, list(own))]

    @_reading
    def files_defining(self, name: str) -> list[int]:
        """Return the numbers of the files that define exactly this name."""
        rows = self._db.execute("SELECT id FROM symbols WHERE name = ?", (self.names.find(name),))
        return sorted({bisect_right(self._symbol_at, number) - 1 for (number,) in rows})

    @_reading
    def defined(self) -> list[int]:
        """Return the number of every name that has a definition."""
        return [number for (number,) in self._db.execute("SELECT DISTINCT name FROM symbols ORDER BY name")]

    @_reading
    def definitions_of(self, names: Sequence[int]) -> list[tuple[int, int, int, str, bool]]:
        """Return name, number, file, kind and visibility of each definition of these names (given by number)."""
        found: list[tuple[int, int, int, int]] = []
        for first in range(0, len(names), _NAMES_AT_ONCE):
            some = names[first : first + _NAMES_AT_ONCE]
            found += self._db.execute(_DEFINED.format(",".join("?" * len(some))), some)
        return [
            (name, number, bisect_right(self._symbol_at, number) - 1, SYMBOL_KINDS[kind], bool(exported))
            for name, number, kind, exported in sorted(found)
        ]

    @_reading
    def symbol(self, number: int) -> Symbol:
        """Return one definition by its number."""
        rows = self._db.execute(_SYMBOLS, (number, number + 1)).fetchall()
        return self._symbols(bisect_right(self._symbol_at, number) - 1, rows)[0]

    @_reading
    def reaching(self, file_id: int, before: int, until: int) -> list[Reach]:
        """Return the definitions of a file that begin before the byte `before` and reach the byte `until`, in order."""
        span = self._range(self._symbol_at, file_id)
        return list(map(Reach._make, self._db.execute(_REACHING, (*_ends(span), before, until))))

    @_reading
    def outline(self, number: int) -> Outline:
        """Return the outline of one definition, by its number."""
        ((named, kind, container, up),) = self._db.execute(_OUTLINE, (number,)).fetchall()
        around = self.names[container] if container is not None else self._inside(number - up, {}) if up else ""
        return Outline(SYMBOL_KINDS[kind], around, self.names[named])

    @_reading
    def defined_in(self, file_id: int, name: str) -> list[tuple[str, int]]:
        """Return kind and first byte of each definition in a file with exactly this name."""
        number, span = self.names.find(name), self._range(self._symbol_at, file_id)
        return [(SYMBOL_KINDS[kind], start) for kind, start in self._db.execute(_OWN, (number, *_ends(span)))]

    @_reading
    def references(self, file_id: int, kind: str | None = None) -> list[Reference]:
        """Return the uses of names in a file, all of them or those of one kind, in order of their place."""
        return self._references(file_id, self.uses.between(*_ends(self._range(self._row_at, file_id)), kind))

    @_reading
    def references_named(self, name: str) -> list[tuple[int, Reference]]:
        """Return every use of exactly this name, and the number of its file."""
        number = self.names.find(name)
        by_file = groupby(
            self.uses.named(number) if number is not None else (),
            lambda use: bisect_right(self._row_at, use.row) - 1,
        )
        return [(file_id, use) for file_id, own in by_file for use in self._references(file_id, list(own))]

    @_reading
    def imports(self, file_id: int) -> list[Import]:
        """Return the imports of a file, in the order they were put in."""
        rows = self._db.execute(_IMPORTS, _ends(self._range(self._import_at, file_id))).fetchall()
        lines = self._lines(file_id, {start for *_, start in rows})
        name = self.names.__getitem__
        return [Import(name(a), name(b), name(c), start, lines[start][0]) for a, b, c, start in rows]

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _symbols(self, file_id: int, rows: list[Any]) -> list[Symbol]:
        text, first, name = self.text(file_id), self._symbol_at[file_id], self.names.__getitem__
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
            ((named, container, up),) = self._db.execute(_AROUND, (place,)).fetchall()
            pending.append((place, self.names[named]))
            if container is not None or not up:
                around = self.names[container or 0]
                break
            place -= up
        else:
            around = known[place]
        for place, name in reversed(pending):
            around = known[place] = qualified(around, name)
        return around

    def _references(self, file_id: int, uses: list[UseRow]) -> list[Reference]:
        base, name = self._text_at[file_id], self.names.__getitem__
        starts = [self._chunk_at[use.row] + use.offset - base for use in uses]
        lines = self._lines(file_id, set(starts))
        spans = self._db.execute(_SPANS, _ends(self._range(self._symbol_at, file_id))).fetchall()
        around = scopes(spans, starts)
        return [
            Reference(use.kind, name(use.name), name(use.receiver), start, *lines[start], scope)
            for use, start, scope in zip(uses, starts, around, strict=True)
        ]

    def _lines(self, file_id: int, offsets: set[int]) -> dict[int, tuple[int, int]]:
        """Return line and column of each of these offsets in a file."""
        ordered = sorted(offsets)
        rows, base = self._range(self._row_at, file_id), self._text_at[file_id]
        known, line = 0, 1
        if ordered and rows:
            # Begin at the chunk that holds the first offset: the text before it need not be read.
            row = max(rows.start, bisect_right(self._chunk_at, base + ordered[0], rows.start, rows.stop) - 1)
            known, line = self._chunk_at[row] - base, self._chunk_line[row]
        return dict(zip(ordered, lines_of(self.text(file_id), known, line, ordered), strict=True))

    def _begins(self, file_id: int) -> list[int]:
        rows = self._db.execute(_SPANS, _ends(self._range(self._symbol_at, file_id)))
        return [start for start, _, _ in rows]

    def _stored(self, query: str, file_id: int) -> array[int]:
        ((stored,),) = self._db.execute(query, (file_id,)).fetchall()
        return array(U32, stored or b"")

    def _range(self, starts: memoryview, file_id: int) -> range:
        if not 0 <= file_id < len(starts) - 1:
            raise IndexError(file_id)
        return range(starts[file_id], starts[file_id + 1])


def _ends(span: range) -> tuple[int, int]:
    return span.start, span.stop


def _refuse(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="segment", why=why)
