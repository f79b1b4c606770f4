"""Open a sealed segment, and read its files and chunk rows as they were put in; `segment_facts.py` reads the rest.

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
from itertools import pairwise
from typing import Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

from cairn.core.collector import no_cycle_collection
from cairn.core.types import StoredFile
from cairn.errors import StoreCorrupt
from cairn.store.format.columns import (
    U32,
    Names,
    References,
    container_version,
    numbers,
    read_container,
    section,
)
from cairn.store.format.document import CHUNK_ROWS, check_version
from cairn.store.format.rows import (
    APPLICATION_ID,
    CHUNK_KINDS,
    DATA_FILE,
    ROWS_FILE,
    SELECT_FILES,
    ChunkRow,
    Meta,
    Passage,
    chunk_id,
    path_key_ci,
    row_id,
    stored_file,
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
SPANS = "SELECT start, start + length, start + name_at FROM symbols WHERE id >= ? AND id < ? ORDER BY id"
_PASSAGE = """
SELECT chunks.kind, chunks.breadcrumb, files.language, files.hash FROM chunks, files
WHERE chunks.id = ? AND files.id = ?
"""

# The errors to which damaged bytes can lead, whatever damaged them.
DAMAGE = (sqlite3.DatabaseError, LookupError, TypeError, ValueError, OverflowError, AttributeError)


class Closable(Protocol):
    """What can be read until it is closed."""

    @property
    def closed(self) -> bool: ...


C = TypeVar("C", bound=Closable)


def reading(method: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[C, P], T]:
    """Turn every error to which damaged bytes lead into `StoreCorrupt`."""

    @functools.wraps(method)
    def read(self: C, /, *args: P.args, **kwargs: P.kwargs) -> T:
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
    """One open segment. `files` counts files with text; the numbers of files also count skip records.

    The attributes whose names end in `_at` say where each file, or chunk, begins in a table. `SegmentFacts` reads them
    too.
    """

    def __init__(self, db: sqlite3.Connection, sections: dict[str, memoryview], resources: ExitStack) -> None:
        self.closed = False
        self.sections = sections
        self.db = db
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
        self.text_at, self.row_at = numbers(sections, "file.text"), numbers(sections, "file.rows")
        self.symbol_at, self.import_at = numbers(sections, "file.symbols"), numbers(sections, "file.imports")
        self.chunk_at, self.chunk_line = numbers(sections, "chunk.at"), numbers(sections, "chunk.line")
        self.names = Names(sections)
        self.uses = References(sections, self.rows)
        vectors, scales = section(sections, "vectors"), section(sections, "scales")
        self._vectors, self._scales = vectors.cast("b"), scales.cast("f")
        starts = (self.text_at, self.row_at, self.symbol_at, self.import_at)
        ends = (len(self._text), rows, symbols, imports)
        if any(len(each) != files + 1 or each[-1] != end for each, end in zip(starts, ends, strict=True)):
            _refuse("its tables and its data do not fit together")
        sizes = (rows, len(self.chunk_at), len(self.chunk_line), len(self._scales))
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

    @reading
    def query(self, sql: str) -> list[Any]:
        """Return the rows of a query, for code that checks or merges whole tables."""
        return self.db.execute(sql).fetchall()

    # --- files --------------------------------------------------------------------------------------------------------

    @property
    def recorded(self) -> int:
        """The number of files with a record, skip records included. No table is read for it."""
        return len(self.row_at) - 1

    @reading
    def keys(self) -> list[str]:
        """Return the path of every file by its number, skip records included."""
        return [path for (path,) in self.db.execute("SELECT path FROM files ORDER BY id")]

    @reading
    def find(self, path_key: str) -> int | None:
        """Return the number of a file, or None."""
        try:
            row = self.db.execute("SELECT id FROM files WHERE path = ?", (path_key,)).fetchone()
        except UnicodeEncodeError:
            # Half of a surrogate pair cannot be in a stored path.
            return None
        return row and int(row[0])

    @reading
    def key(self, file_id: int) -> str:
        """Return the path of a file. All paths are read once, because callers ask for thousands."""
        self._keys = self._keys or self.keys()
        return self._keys[file_id]

    @reading
    def file(self, file_id: int) -> StoredFile:
        rows = span_of(self.row_at, file_id)
        (row,) = self.db.execute(SELECT_FILES, (file_id, file_id + 1)).fetchall()
        return stored_file(row, len(self.text(file_id)), len(rows))

    @reading
    def records(self) -> list[StoredFile]:
        """Return every file by its number, skip records included."""
        with no_cycle_collection():
            rows = self.db.execute(SELECT_FILES, (0, len(self.row_at))).fetchall()
            sizes = [end - start - 1 for start, end in pairwise(self.text_at)]
            chunks = [end - start for start, end in pairwise(self.row_at)]
            return list(map(stored_file, rows, sizes, chunks))

    @reading
    def text(self, file_id: int) -> memoryview:
        """Return the bytes of a file; none for a skip record."""
        span = span_of(self.text_at, file_id)
        return self._text[span.start : max(span.start, span.stop - 1)]

    @reading
    def whole_text(self) -> memoryview:
        """Return the bytes of all files in order of their numbers, each with one newline after it."""
        return self._text

    @reading
    def text_starts(self) -> list[int]:
        """Return where each file begins in the whole text, and where the text ends."""
        return self.text_at.tolist()

    @reading
    def row_starts(self) -> Sequence[int]:
        """Return the first chunk row of each file, and the number of rows."""
        return self.row_at

    @reading
    def exports(self, file_id: int) -> tuple[str, ...]:
        """Return the names that a file says it exports."""
        return tuple(map(self.names.__getitem__, self._stored("SELECT exports FROM files WHERE id = ?", file_id)))

    @reading
    def partial(self, file_id: int) -> tuple[tuple[int, int], ...]:
        """Return the line ranges of a file that could not be parsed."""
        lines = self._stored("SELECT partial FROM files WHERE id = ?", file_id)
        return tuple(zip(lines[::2], lines[1::2], strict=True))

    # --- chunks -------------------------------------------------------------------------------------------------------

    @reading
    def chunks(self, file_id: int) -> list[ChunkRow]:
        """Return the chunk rows of a file, in order."""
        return self._chunk_rows(file_id, span_of(self.row_at, file_id))

    @reading
    def chunk(self, row: int) -> ChunkRow:
        """Return one chunk row by its number."""
        return self._chunk_rows(bisect_right(self.row_at, row) - 1, range(row, row + 1))[0]

    @reading
    def passage(self, file_id: int, row: int) -> Passage:
        """Return what is shown of one chunk row of a file; much cheaper than `chunk`."""
        if row not in span_of(self.row_at, file_id):
            raise IndexError(row)
        ((kind, crumbs, language, content),) = self.db.execute(_PASSAGE, (row, file_id)).fetchall()
        start, end = self._chunk_bytes(file_id, row)
        data = bytes(self.text(file_id)[start:end])
        nested = bool(array(U32, crumbs or b""))
        return Passage(CHUNK_KINDS[kind], nested, language, content.hex(), data, self.chunk_line[row], start, end)

    def _chunk_bytes(self, file_id: int, row: int) -> tuple[int, int]:
        """Return where a chunk row begins and ends in its file."""
        base = self.text_at[file_id]
        is_last = row + 1 == self.row_at[file_id + 1]
        return self.chunk_at[row] - base, len(self.text(file_id)) if is_last else self.chunk_at[row + 1] - base

    def _chunk_rows(self, file_id: int, rows: range) -> list[ChunkRow]:
        file, text = self.file(file_id), self.text(file_id)
        first, begins = self.row_at[file_id], self._begins(file_id)
        found = []
        for row, content, code, crumbs in self.db.execute(_CHUNKS, (rows.start, rows.stop)):
            start, end = self._chunk_bytes(file_id, row)
            payload, line, kind = bytes(text[start:end]), self.chunk_line[row], CHUNK_KINDS[code]
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

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _begins(self, file_id: int) -> list[int]:
        rows = self.db.execute(SPANS, ends_of(span_of(self.symbol_at, file_id)))
        return [start for start, _, _ in rows]

    def _stored(self, query: str, file_id: int) -> array[int]:
        ((stored,),) = self.db.execute(query, (file_id,)).fetchall()
        return array(U32, stored or b"")


def span_of(starts: memoryview, file_id: int) -> range:
    """Return the numbers of what a file has in a table, by where each file begins in it."""
    if not 0 <= file_id < len(starts) - 1:
        raise IndexError(file_id)
    return range(starts[file_id], starts[file_id + 1])


def ends_of(span: range) -> tuple[int, int]:
    """Return the first number of a span and the one after its last, as queries ask for them."""
    return span.start, span.stop


def _refuse(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="segment", why=why)
