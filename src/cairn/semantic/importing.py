"""Import an index: turn its documents into rows, in one transaction, each stamped with the hash of its file.

Only a document whose file did not change is imported: after the indexer ran, the file has the stat and the bytes that
it had before, and those of the snapshot. For every other file the rows of an earlier import stay, and their hash says
that they are old.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, Protocol, TypeVar

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.types import Candidate, FileStat, Root, SourceFile, StoredFile
from cairn.core.types import Import as Written
from cairn.core.types import Symbol as Defined
from cairn.errors import SemanticUnreadable
from cairn.semantic.contexts import project_files, settings_of
from cairn.semantic.database import Connection
from cairn.semantic.model import Context, Family, OccurrenceRole, RefreshScope, family_of
from cairn.semantic.places import (
    MARK,
    Span,
    anchors,
    folder_of,
    is_counted_alike,
    is_empty,
    lines_of,
    path_of,
    span_of,
    text_at,
)
from cairn.semantic.scip import Document, Range, ScipIndex
from cairn.semantic.shape import CodeShape
from cairn.semantic.symbols import LOCAL, Normaliser, NormalSymbol, imported_keys, offered_keys
from cairn.source.beneath import Tree
from cairn.source.stable_read import read_stable

# --- the reach of a file ----------------------------------------------------------------------------------------------


K = TypeVar("K", bound=Hashable)
Key = tuple[int, int]

_OWN = "SELECT context_id, file_id, semantic_interface_hash FROM file_semantic_facts"
_EDGES = "SELECT context_id, source_file, target_file FROM edges"
_KEEP = "UPDATE file_semantic_facts SET reach_hash = ? WHERE context_id = ? AND file_id = ? AND reach_hash != ?"
_KNOWN_AS = "UPDATE edges SET semantic_hash_at_index = ? WHERE context_id = ? AND source_file = ? AND target_file = ?"


def keep_reaches(db: Connection, read: Set[Key]) -> None:
    """Store the reach hash of every file and, for the files just read, the reach hash of each file they depend on."""
    own: dict[Key, str] = {(context, file): said for context, file, said in db.execute(_OWN)}
    # A file that another context understands has the reach that it has in that context.
    owners = {key[1]: key for key in sorted(own, reverse=True)}
    edges: list[tuple[Key, int, Key]] = []
    for context, source, target in db.execute(_EDGES):
        at = (context, target) if (context, target) in own else owners.get(target)
        if at is not None:
            edges.append(((context, source), target, at))
    leans: dict[Key, set[Key]] = {}
    for key, _, at in edges:
        leans.setdefault(key, set()).add(at)
    found = reaches(own, leans)
    db.executemany(_KEEP, [(reach, *key, reach) for key, reach in found.items()])
    db.executemany(_KNOWN_AS, [(found[at], *key, target) for key, target, at in edges if key in read])


def reaches(own: Mapping[K, str], leans: Mapping[K, Set[K]]) -> dict[K, str]:
    """Return the reach of each file: a hash of what it shows and of all it depends on; files in a cycle share one."""
    found: dict[K, str] = {}
    for together in _components(own, leans):
        beneath = {found[to] for key in together for to in leans.get(key, ()) if to in found}
        shown = sorted(own[key] for key in together)
        reach = sha256("\n".join([*shown, "", *sorted(beneath)]).encode("utf-8", "surrogateescape")).hexdigest()
        found.update(dict.fromkeys(together, reach))
    return found


def _components(own: Mapping[K, str], leans: Mapping[K, Set[K]]) -> Iterator[list[K]]:
    """Yield the strongly connected components of a graph; a component comes after those that it leads to."""
    order: dict[K, int] = {}
    low: dict[K, int] = {}
    waiting: list[K] = []
    done: set[K] = set()
    for start in own:
        walk = [(start, iter(leans.get(start, ())))] if start not in order else []
        while walk:
            key, following = walk[-1]
            if key not in order:
                order[key] = low[key] = len(order)
                waiting.append(key)
            step = next((to for to in following if to in own and to not in done), None)
            if step is not None and step not in order:
                walk.append((step, iter(leans.get(step, ()))))
            elif step is not None:
                low[key] = min(low[key], order[step])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[key])
                if low[key] == order[key]:
                    together = [waiting.pop()]
                    while together[-1] != key:
                        together.append(waiting.pop())
                    done.update(together)
                    yield together


# --- files of the tree ------------------------------------------------------------------------------------------------


_ROWS_PER_CHECK = 1_024
_UNSEEN = FileStat(0, 0, 0, 0)


class SeenFile(NamedTuple):
    """A file at one moment. Two equal values say that nobody touched the file in between, not even to put it back."""

    stat: FileStat
    file_hash: str


def look(root: Root, paths: Iterable[str], *, clock: Clock = SYSTEM_CLOCK) -> Mapping[str, SeenFile]:
    """Return these files as they are now; leaves out files that are gone, unreadable or change while they are read."""
    found = {}
    with Tree(root) as tree:
        for path in paths:
            read = read_stable(tree, Candidate(path, path.encode(), _UNSEEN), clock=clock)
            if isinstance(read, SourceFile):
                found[path] = SeenFile(read.stat, read.file_hash)
    return found


_FILE = (
    "INSERT INTO files (path, language, content_hash, syntactic_interface_hash, indexed_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (path) DO UPDATE SET language = excluded.language, content_hash = excluded.content_hash,"
    " syntactic_interface_hash = excluded.syntactic_interface_hash, indexed_at = excluded.indexed_at RETURNING id"
)
_FACTS = "INSERT INTO file_semantic_facts VALUES (?, ?, ?, ?, '[]', ?, '')"
_SYMBOL = (
    "INSERT INTO symbols (file_id, context_id, identity_id, name, qualified_name, kind, line, column, body_start_line,"
    " body_end_line, signature, layer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'semantic')"
)
_OCCURRENCE = (
    "INSERT INTO occurrences (file_id, context_id, identity_id, start_line, start_col, end_line, end_col, role, layer,"
    " anchor_before, anchor_after) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'semantic', ?, ?)"
)
_SHAPE = "INSERT INTO shapes VALUES (?, ?, ?)"
_SILENT = "INSERT OR REPLACE INTO silent_files VALUES (?, ?, ?)"
_DEFINITION = OccurrenceRole.DEFINITION
_OF_FILE = ("file_semantic_facts", "symbols", "exports", "occurrences", "relationships", "imported_keys", "shapes")
_REMOVE = (
    *(f"DELETE FROM {table} WHERE file_id = ? AND context_id = ?" for table in _OF_FILE),  # noqa: S608 - our own names
    "DELETE FROM edges WHERE source_file = ? AND context_id = ?",
)
_TARGETS = (
    "SELECT DISTINCT s.file_id, f.path FROM occurrences o JOIN symbols s ON s.identity_id = o.identity_id"
    " JOIN files f ON f.id = s.file_id WHERE o.file_id = ?1 AND o.context_id = ?2 AND s.file_id != ?1"
)
_EDGE = (
    "INSERT OR IGNORE INTO edges (source_file, target_file, dependency_type, context_id, layer,"
    " interface_hash_at_index) VALUES (?, ?, 'uses', ?, 'semantic', ?)"
)
_IS_KNOWN = "SELECT 1 FROM file_semantic_facts WHERE file_id = ? AND context_id = ?"
_UNUSED_FILES = (
    "DELETE FROM files WHERE NOT EXISTS (SELECT 1 FROM file_semantic_facts WHERE file_id = files.id)"
    " AND NOT EXISTS (SELECT 1 FROM edges WHERE target_file = files.id)"
)
_UNUSED_IDENTITIES = (
    "DELETE FROM identities WHERE id NOT IN (SELECT identity_id FROM occurrences UNION SELECT identity_id FROM symbols"
    " UNION SELECT identity_id FROM relationships UNION SELECT target_id FROM relationships"
    " UNION SELECT identity_id FROM exports)"
)


class ImportSnapshot(Protocol):
    """The part of a snapshot that an import needs."""

    def file(self, path_key: str) -> StoredFile | None: ...

    def text(self, path_key: str) -> memoryview | None: ...

    def symbols(self, path_key: str) -> list[Defined]: ...

    def imports(self, path_key: str) -> list[Written]: ...

    def paths(self) -> Iterable[str]: ...


@dataclass(frozen=True, slots=True)
class Indexed:
    """The output of an indexer: the bytes of its index, the name of the index in errors, and the indexer's version."""

    data: bytes
    source: str
    tool_version: str


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What is needed to import an index. The index should mention every file that the scope names.

    `shape` tells which lines of a file of the snapshot are code. `check` is called again and again, and raises what is
    to end the import.
    """

    context: Context
    root: str
    pinned: ImportSnapshot
    before: Mapping[str, SeenFile]
    after: Mapping[str, SeenFile]
    now: float
    scope: RefreshScope
    shape: Callable[[str], CodeShape | None] = lambda _: None
    check: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Imported:
    """What was imported. `changed` files were touched meanwhile, `foreign` documents belong to no file of the context.

    `dropped` occurrences name places that their file does not have.
    """

    files: tuple[str, ...]
    changed: tuple[str, ...]
    foreign: int
    occurrences: int
    dropped: int


def import_index(db: Connection, indexed: Indexed, about: ImportRequest) -> Imported:
    """Import the index; raises `SemanticUnreadable` when it is damaged or says nothing about the context."""
    index = ScipIndex(indexed.data, indexed.source)
    (context_id,) = db.execute("SELECT id FROM contexts WHERE key = ?", (about.context.id,)).fetchone()
    writer = _ContextWriter(db, int(context_id), about)
    place = folder_of(index.metadata.project_root, about.root, about.context)
    changed, foreign, otherwise = [], 0, 0
    for document in index.documents():
        about.check()
        path = path_of(place, document.path)
        if path is None or not owns(about.context, path) or not _is_indexed(about.pinned, path):
            foreign += 1
        elif not held_still(path, about):
            changed.append(path)
        elif not is_counted_alike(about.pinned.text(path) or b"", about.context.family):
            otherwise += 1
        else:
            writer.take(path, document)
    if not writer.files and not changed and not otherwise:
        raise SemanticUnreadable(path=indexed.source, why="it says nothing of any file of this context")
    writer.connect()
    writer.tidy(spoken_of={*writer.files, *changed})
    writer.note_silence(spoken_of={*writer.files, *changed})
    writer.note_settings()
    keep_reaches(db, {(int(context_id), file) for file in writer.files.values()})
    described = "UPDATE contexts SET tool_version = ?, refreshed_at = ? WHERE id = ?"
    db.execute(described, (indexed.tool_version, about.now, context_id))
    return Imported(tuple(writer.files), tuple(changed), foreign, writer.occurrences, writer.dropped)


def owns(context: Context, path: str) -> bool:
    """Whether the file is of the context's languages and lies in the context, but in no context nested in it."""
    if family_of(path) is not context.family or not _is_below(path, context.root):
        return False
    return not any(_is_below(path, hole) for hole in context.punched)


def held_still(path: str, about: ImportRequest) -> bool:
    """Whether the file is as it was before the indexer ran, and as it is in the snapshot."""
    seen, pinned = about.after.get(path), about.pinned.file(path)
    if seen is None or pinned is None:
        return False
    return seen == about.before.get(path) and seen.file_hash == pinned.file_hash


def _is_indexed(pinned: ImportSnapshot, path: str) -> bool:
    found = pinned.file(path)
    return found is not None and found.skip is None


def _is_below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


# --- rows -------------------------------------------------------------------------------------------------------------


class _OccurrenceRow(NamedTuple):
    """An occurrence with its symbol and its place; `body` is the range of the whole definition."""

    role: OccurrenceRole
    body: Range | None
    symbol: NormalSymbol
    identity: int
    span: Span
    around: tuple[str, str]


class _ContextWriter:
    """Writes the rows of one context, file by file."""

    def __init__(self, db: Connection, context: int, about: ImportRequest) -> None:
        self._db, self._context, self._about = db, context, about
        self._normaliser = Normaliser(about.context, lambda path: about.pinned.file(path) is not None)
        self._identities: dict[str, int] = {}
        self.files: dict[str, int] = {}
        self._new: list[str] = []
        self._named: dict[int, set[str]] = {}
        self._relative: list[str | None] = []
        self.occurrences = self.dropped = 0

    def take(self, path: str, document: Document) -> None:
        """Replace the rows about a file by what its document says."""
        record = self._about.pinned.file(path)
        assert record is not None, "only what is in the snapshot is taken in"
        stamp = path, record.language, record.file_hash, record.interface_hash, self._about.now
        (file_id,) = self._db.execute(_FILE, stamp).fetchone()
        here = file_id, self._context
        if self._db.execute(_IS_KNOWN, here).fetchone() is None:
            self._new.append(path)
        for statement in _REMOVE:
            self._db.execute(statement, here)
        self.files[path] = file_id
        keys = imported_keys(path, self._about.pinned.imports(path))
        self._db.executemany("INSERT INTO imported_keys VALUES (?, ?, ?)", [(key, *here[::-1]) for key in keys])
        lines = lines_of(self._about.pinned.text(path) or b"")
        self._relative = []
        rows = _known_by_name(self._rows(path, document, lines))
        homes = {self._normaliser.home(row.symbol) for row in rows if row.role is not _DEFINITION}
        self._named[file_id] = {home for home in (*homes, *self._relative) if home is not None}
        # A module is said to be defined by nothing at the very beginning, where a name of its own may stand.
        places = [self._occurrence(file_id, row) for row in rows if not is_empty(row.span)]
        self._db.executemany(_OCCURRENCE, places)
        self.occurrences += len(places)
        interface = self._define(path, file_id, rows, lines, self._said(path, document))
        self._db.execute(_FACTS, (file_id, self._context, interface, record.file_hash, self._about.now))
        self._relate(path, file_id, document)
        if (shape := self._about.shape(path)) is not None:
            self._db.execute(_SHAPE, (self._context, file_id, shape.to_json()))

    def _rows(self, path: str, document: Document, lines: list[bytes]) -> Iterator[_OccurrenceRow]:
        seen = set()
        unseen = len(MARK) if self._about.context.family is Family.TYPESCRIPT and lines[0].startswith(MARK) else 0
        for number, written in enumerate(document.occurrences):
            if number % _ROWS_PER_CHECK == 0:
                self._about.check()
            if not written.symbol:
                continue
            span = span_of(written.range, document, lines, unseen)
            around = span and anchors(lines, span)
            if span is None or around is None:
                self.dropped += 1
                continue
            symbol = self._normaliser.symbol(written.symbol, path)
            if symbol.kind == "module" and text_at(lines, span).startswith("."):
                # `from .app import`: scip-python takes it for the module `app` at the top, which is another one.
                self._relative.append(self._normaliser.beside(path, text_at(lines, span)))
                self.dropped += 1
                continue
            role = _role(int(written.roles))
            if role is not _DEFINITION and _is_mistaken(symbol, text_at(lines, span)):
                # `from app import *`: scip-python takes every name that comes from there for the module itself.
                self._relative.append(self._normaliser.home(symbol))
                self.dropped += 1
                continue
            if (key := (span, symbol.identity, role)) in seen:
                continue
            seen.add(key)
            yield _OccurrenceRow(role, written.around, symbol, self._identity(symbol.identity), span, around)

    def _occurrence(self, file_id: int, row: _OccurrenceRow) -> tuple[object, ...]:
        return (file_id, self._context, row.identity, *row.span, row.role, *row.around)

    def _said(self, path: str, document: Document) -> dict[str, str]:
        """Return what the indexer shows of each symbol as code, including the types that it inferred."""
        found = {}
        for facts in document.symbols:
            code = next((text for text in facts.documentation if text.startswith("```")), "")
            if facts.symbol and code:
                found[self._normaliser.symbol(facts.symbol, path).identity] = code
        return found

    def _define(
        self, path: str, file_id: int, rows: Iterable[_OccurrenceRow], lines: list[bytes], said: Mapping[str, str]
    ) -> str:
        """Store the definitions of the file; return a hash of all that may decide what a name elsewhere means."""
        named = _by_place(self._about.pinned.symbols(path), self._about.pinned.text(path) or b"")
        shown = []
        for row in rows:
            if row.role is not _DEFINITION:
                continue
            place = row.span.start_line, row.span.start_column
            known = None if is_empty(row.span) else named.get(place)
            name = row.symbol.name or text_at(lines, row.span)
            signature = known.signature if known else ""
            at = (row.body.start_line + 1, row.body.end_line + 1) if row.body else (None, None)
            symbol = row.identity, name, row.symbol.qualified_name or name, row.symbol.kind
            values = file_id, self._context, *symbol, *place, *at, signature
            symbol_id = self._db.execute(_SYMBOL, values).lastrowid
            if row.symbol.kind == LOCAL:
                continue
            shape = signature, said.get(row.symbol.identity, "")
            interface = _digest(row.symbol.kind, row.symbol.qualified_name, *shape)
            shown.append(interface)
            self._db.execute("INSERT INTO symbol_interface_hashes VALUES (?, ?)", (symbol_id, interface))
            if known is not None and known.exported:
                export = file_id, self._context, row.identity, name
                self._db.execute("INSERT OR IGNORE INTO exports VALUES (?, ?, ?, ?)", export)
        return _digest(*sorted(shown))

    def _relate(self, path: str, file_id: int, document: Document) -> None:
        for facts in document.symbols:
            for to in facts.relationships:
                if not facts.symbol or not to.symbol:
                    continue
                ends = [self._normaliser.symbol(one, path).identity for one in (facts.symbol, to.symbol)]
                kinds = {
                    "reference": to.is_reference,
                    "implementation": to.is_implementation,
                    "type_definition": to.is_type_definition,
                    "definition": to.is_definition,
                }
                row = file_id, self._context, *map(self._identity, ends)
                put = "INSERT OR IGNORE INTO relationships VALUES (?, ?, ?, ?, ?)"
                self._db.executemany(put, [(*row, kind) for kind, holds in kinds.items() if holds])

    def connect(self) -> None:
        """Store what each file depends on, with the interface by which it was understood."""
        for file_id in self.files.values():
            targets = dict(self._db.execute(_TARGETS, (file_id, self._context)).fetchall())
            # A file without facts, because it was not in the scope, is a dependency all the same.
            targets |= {self._row_of(path): path for path in self._named[file_id]}
            for target, path in targets.items():
                if target != file_id:
                    self._db.execute(_EDGE, (file_id, target, self._context, self._interface(path)))
        for path in self._new:
            self._doubt(path, set(self.files.values()))

    def _doubt(self, path: str, read: set[int]) -> None:
        """Let files that this run has not read depend on this new file if they may import it."""
        users = "SELECT file_id FROM imported_keys WHERE key = ? AND context_id = ?"
        for key in offered_keys(path):
            for (user,) in self._db.execute(users, (key, self._context)).fetchall():
                if user not in read:
                    self._db.execute(_EDGE, (user, self.files[path], self._context, ""))

    def _row_of(self, path: str) -> int:
        """Return the number of a file; gives the file a number when it has none."""
        found = self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        if found is None:
            record = self._about.pinned.file(path)
            assert record is not None, "a symbol is named after a file of the snapshot only"
            stamp = path, record.language, record.file_hash, record.interface_hash, self._about.now
            found = self._db.execute(_FILE, stamp).fetchone()
        return int(found[0])

    def _interface(self, path: str) -> str:
        """Return the interface hash of a file; empty when the file was touched while the indexer ran."""
        record = self._about.pinned.file(path)
        return record.interface_hash if record is not None and held_still(path, self._about) else ""

    def tidy(self, spoken_of: set[str]) -> None:
        """Remove the facts of files that are gone, and of files that the index should mention and does not."""
        known = "SELECT f.id, f.path FROM files f JOIN file_semantic_facts s ON s.file_id = f.id WHERE s.context_id = ?"
        for file_id, path in self._db.execute(known, (self._context,)).fetchall():
            if self._about.pinned.file(path) is None or (self._about.scope.names(path) and path not in spoken_of):
                for statement in _REMOVE:
                    self._db.execute(statement, (file_id, self._context))
        self._db.execute(_UNUSED_FILES)
        if self._about.scope.full:
            self._db.execute(_UNUSED_IDENTITIES)

    def note_silence(self, spoken_of: set[str]) -> None:
        """Store which files the index should have mentioned and did not, so that no refresh is made for them."""
        if self._about.scope.full:
            self._db.execute("DELETE FROM silent_files WHERE context_id = ?", (self._context,))
        for path in self._about.after:
            silent = self._about.scope.names(path) and path not in spoken_of and owns(self._about.context, path)
            if silent and held_still(path, self._about):
                self._db.execute(_SILENT, (self._context, path, self._about.after[path].file_hash))

    def note_settings(self) -> None:
        """Store by which project files the context was understood."""
        self._db.execute("DELETE FROM settings_files WHERE context_id = ?", (self._context,))
        context, pinned = self._about.context, self._about.pinned
        for path in settings_of(context.family, context.root, project_files(pinned.paths())):
            if (record := pinned.file(path)) is not None and record.skip is None:
                put = "INSERT INTO settings_files VALUES (?, ?, ?)"
                self._db.execute(put, (self._context, path, record.file_hash))

    # --- help ---------------------------------------------------------------------------------------------------------

    def _identity(self, symbol: str) -> int:
        found = self._identities.get(symbol)
        if found is None:
            row = self._db.execute("SELECT id FROM identities WHERE symbol = ?", (symbol,)).fetchone()
            if row is None:
                put = "INSERT INTO identities (symbol) VALUES (?) RETURNING id"
                row = self._db.execute(put, (symbol,)).fetchone()
            found = self._identities[symbol] = int(row[0])
        return found


def _by_place(symbols: Iterable[Defined], text: bytes | memoryview) -> dict[tuple[int, int], Defined]:
    """Return the definitions in the syntax of a file by the line and the column of the name."""
    starts = [0]
    for each in bytes(text).split(b"\n"):
        starts.append(starts[-1] + len(each) + 1)
    found = {}
    for symbol in symbols:
        line = bisect_right(starts, symbol.name_byte)
        found[line, symbol.name_byte - starts[line - 1]] = symbol
    return found


def _known_by_name(rows: Iterable[_OccurrenceRow]) -> list[_OccurrenceRow]:
    """Drop local symbols without a definition in the file: so scip-python and others write what they do not know."""
    every = list(rows)
    defined = {row.identity for row in every if row.role is _DEFINITION}
    return [row for row in every if row.symbol.kind != LOCAL or row.identity in defined]


def _is_mistaken(symbol: NormalSymbol, text: str) -> bool:
    """Whether a Python module is said to stand where neither its name nor a part of its name stands."""
    return symbol.names[1:] == ("__init__",) and f".{text}." not in f".{symbol.names[0]}."


def _role(roles: int) -> OccurrenceRole:
    # Plain numbers: millions of them are asked, and a flag takes ten times as long.
    if roles & 1:
        return _DEFINITION
    return OccurrenceRole.IMPORT if roles & 2 else OccurrenceRole.REFERENCE


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
