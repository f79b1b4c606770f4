"""Define the tables of a segment (`rows.sqlite`), fill them and read them.

Whatever can be derived is not stored: ids follow from hashes, lines from the text, the file of a chunk or a definition
from its number. Chunks, definitions and imports are numbered through the whole segment in order of the files; the data
file says where each file begins, and holds the names, which are numbers in the tables.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from contextlib import closing
from hashlib import sha256
from typing import Any, NamedTuple

from cairn.core.types import FileStat, SkipReason, StoredFile
from cairn.store.format.document import CHUNK_ROWS

ROWS_FILE, DATA_FILE = "rows.sqlite", "data.bin"
ROW_SCHEMA = CHUNK_ROWS.written
# "crow": tells a database of a segment from any other.
APPLICATION_ID = 0x63726F77
PAGE_BYTES = 1024
MAX_STORED_DOC = 160
# How far from the start of a definition its doc line is searched for, and the bits that hold the bytes of 160
# characters.
_NEAR, _LENGTH_BITS = 4_096, 10
# In definitions nested thousands deep, every name would carry all the names around it, so only a container's end is
# kept.
_LONG_CONTAINER = 1_000

# A kind, a state or a reason is stored as its position in these lists: add new ones at the end, and remove none.
_SYMBOL_KINDS = (
    "module namespace class interface struct enum union trait object impl type function method constructor property"
    " field constant variable enum_member macro heading key rule table element"
)
REFERENCE_KINDS: tuple[str, ...] = ("call", "type", "base", "annotation")
CHUNK_KINDS: tuple[str, ...] = ("text", "anchor")
STATES: tuple[str, ...] = ("parsed", "partial", "lines")
_SKIPS = (
    "ignored excluded untracked sensitive_name vcs_internal nested_repository outside_root symlink_loop broken_link"
    " alias link_target_skipped not_regular unreadable name_not_utf8 path_too_long too_large binary not_utf8 data_file"
    " lock_file minified too_many_chunks cairnignored"
)
SYMBOL_KINDS, SKIPS = tuple(_SYMBOL_KINDS.split()), tuple(_SKIPS.split())

SCHEMA = f"""
CREATE TABLE segment (
  dimension INTEGER NOT NULL CHECK (dimension > 0),
  chunker TEXT NOT NULL,
  files INTEGER NOT NULL,
  rows INTEGER NOT NULL
) STRICT;
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  mtime INTEGER NOT NULL,
  ctime INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  hash BLOB CHECK (length(hash) = 32),
  language TEXT,
  state INTEGER CHECK (state BETWEEN 0 AND {len(STATES) - 1}),
  interface BLOB CHECK (length(interface) = 32),
  exports BLOB,
  partial BLOB,
  skip INTEGER CHECK (skip >= 0),
  detail TEXT,
  wide TEXT,
  CHECK ((skip IS NULL) = (hash IS NOT NULL)),
  CHECK ((skip IS NULL) = (state IS NOT NULL)),
  CHECK ((skip IS NULL) = (language IS NOT NULL))
) STRICT;
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND {len(CHUNK_KINDS) - 1}),
  breadcrumb BLOB
) STRICT;
CREATE TABLE symbols (
  id INTEGER PRIMARY KEY,
  name INTEGER NOT NULL,
  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND {len(SYMBOL_KINDS) - 1}),
  container INTEGER,
  start INTEGER NOT NULL CHECK (start >= 0),
  length INTEGER NOT NULL CHECK (length >= 0),
  name_at INTEGER NOT NULL,
  exported INTEGER NOT NULL CHECK (exported IN (0, 1)),
  up INTEGER NOT NULL CHECK (up >= 0),
  signature ANY NOT NULL CHECK (typeof(signature) IN ('text', 'integer')),
  doc ANY CHECK (typeof(doc) IN ('text', 'integer', 'null'))
) STRICT;
CREATE TABLE imports (
  id INTEGER PRIMARY KEY,
  module INTEGER NOT NULL,
  name INTEGER NOT NULL,
  alias INTEGER NOT NULL,
  start INTEGER NOT NULL CHECK (start >= 0)
) STRICT;
"""
INDEX = "CREATE INDEX symbols_by_name ON symbols (name)"
_INSERTS = (
    "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "INSERT INTO chunks VALUES (?, ?, ?, ?)",
    "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "INSERT INTO imports VALUES (?, ?, ?, ?, ?)",
)

Row = tuple[Any, ...]


class ChunkRow(NamedTuple):
    """One chunk with every column of the row schema; `scale` turns the whole numbers of `vector` into components.

    `symbols` are the positions, in their file, of the definitions that begin in the chunk.
    """

    row_id: str
    chunk_id: str
    path_key: str
    path_key_ci: str
    ordinal: int
    file_hash: str
    chunk_hash: str
    chunker_version: str
    kind: str
    text: str
    vector: memoryview
    scale: float
    start_line: int
    end_line: int
    byte_start: int
    byte_end: int
    language: str
    symbols: tuple[int, ...]
    breadcrumb: tuple[str, ...]

    @property
    def embedding(self) -> list[float]:
        """The dense vector, as nearly as it was stored."""
        return [number * self.scale for number in self.vector]


class Passage(NamedTuple):
    """The part of a chunk row that is shown. `nested` says whether the chunk begins inside a definition."""

    kind: str
    nested: bool
    language: str
    file_hash: str
    data: bytes
    start_line: int
    byte_start: int
    byte_end: int


class Outline(NamedTuple):
    """The kind of a definition, the names of the definitions around it, and its own name."""

    kind: str
    container: str
    name: str


class Reach(NamedTuple):
    """The number of a definition, where it begins in its file, and its length in bytes."""

    number: int
    start: int
    length: int


class Meta(NamedTuple):
    """The one row of the table `segment`: `files` counts no skip records, `rows` counts chunk rows."""

    dimension: int
    chunker: str
    files: int
    rows: int


class Tables(NamedTuple):
    """The rows of every other table in the order of the schema's columns, without the id, which is the position."""

    files: list[Row]
    chunks: list[Row]
    symbols: list[Row]
    imports: list[Row]


def path_key_ci(key: str) -> str:
    """Return the key as a file system that ignores case compares it."""
    if key.isascii():
        return key.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", key).casefold())


def chunk_id(chunk_hash: str, chunker: str, kind: str) -> str:
    """Return the identity of a chunk's content, wherever the chunk stands."""
    return sha256(f"{chunk_hash}\0{chunker}\0{kind}".encode()).hexdigest()


def row_id(path_key: str, chunk: str, ordinal: int) -> str:
    """Return the identity of one chunk in one file, given its `chunk_id`."""
    return sha256(f"{path_key}\0{chunk}\0{ordinal}".encode()).hexdigest()


def folded(text: bytes | memoryview, start: int, length: int) -> bytes:
    """Return the first `length` bytes of the text from `start` on, with one blank for each run of white space."""
    # Twice the length has room for the white space of nearly all signatures; one that needs more is stored as text.
    return b" ".join(bytes(text[start : start + 2 * length + 64]).split())[:length]


def narrow_stat(stat: FileStat) -> tuple[tuple[int, ...], str | None]:
    """Return the four numbers of a stat as SQLite can hold them, and all four as text when one is too large for that.

    A file may say that it was written in the year 2300, and some systems give inodes above 63 bits.
    """
    narrow = tuple(min(max(value, -1 << 63), (1 << 63) - 1) for value in stat)
    return narrow, None if narrow == stat else " ".join(map(str, stat))


def packed_doc(text: bytes, start: int, line: str) -> str | int | None:
    """Return what is stored of a doc line: its place when it is near the definition's start, else the line itself."""
    wanted = line.encode()
    place = text.rfind(wanted, max(0, start - _NEAR), start)
    if place < 0:
        place = text.find(wanted, start, start + _NEAR)
    return (place - start + _NEAR) << _LENGTH_BITS | len(wanted) if line and place >= 0 else line or None


def unpacked_doc(text: memoryview, start: int, packed: int) -> str:
    """Return the doc line at the place that `packed_doc` stored."""
    place = start - _NEAR + (packed >> _LENGTH_BITS)
    return bytes(text[place : place + (packed & (1 << _LENGTH_BITS) - 1)]).decode()


def qualified(container: str, name: str) -> str:
    """Return the container of definitions that are directly inside this one."""
    return f"{container}.{name}"[-_LONG_CONTAINER:] if container else name


def encode_rows(meta: Meta, tables: Tables) -> bytes:
    """Return the bytes of `rows.sqlite`; equal rows give equal bytes."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {ROW_SCHEMA}")
        # The database is in memory and nothing is rolled back, so a journal has no use.
        db.execute("PRAGMA journal_mode = OFF")
        db.executescript(f"BEGIN; {SCHEMA}")
        db.execute("INSERT INTO segment VALUES (?, ?, ?, ?)", meta)
        for insert, rows in zip(_INSERTS, tables, strict=True):
            db.executemany(insert, ((place, *row) for place, row in enumerate(rows)))
        # Building the index after the rows takes half the time.
        db.execute(INDEX)
        db.execute("COMMIT")
        return db.serialize()


_new = tuple.__new__
_REASONS = [SkipReason(word) for word in SKIPS]
SELECT_FILES = """
SELECT path, size, mtime, ctime, inode, hash, language, state, skip, detail, interface, wide FROM files
WHERE id >= ? AND id < ? ORDER BY id
"""


def stored_file(row: tuple[Any, ...], text_bytes: int, chunks: int) -> StoredFile:
    """Return a file from its row of `SELECT_FILES`, the size of its text and the number of its chunks."""
    path, size, mtime, ctime, inode, content, language, state, skip, detail, interface, wide = row
    stat = _new(FileStat, (size, mtime, ctime, inode))
    if wide is not None:
        stat = FileStat(*map(int, wide.split()))
    if skip is None:
        visible = interface.hex() if interface else ""
        # Do what the constructors of the NamedTuples do with one call less each: a view makes one record for every
        # file.
        fields = (path, stat, content.hex(), language, STATES[state], None, "", text_bytes, chunks, visible)
    else:
        fields = (path, stat, "", "", "", _REASONS[skip], detail, stat[0], 0, "")
    return _new(StoredFile, fields)
