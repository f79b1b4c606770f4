"""What the semantic database says about a pinned snapshot; it says nothing about a file that is not clean there.

One `SemanticFacts` answers one request and reads nothing twice. Symbols are named by the number of their identity in
the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, Protocol

from cairn.core.lazy import cached_property
from cairn.core.types import Behind, Import, Reference, Symbol
from cairn.semantic.database import Connection
from cairn.semantic.model import FactFreshness, Occurrence, OccurrenceRole
from cairn.semantic.places import verified
from cairn.semantic.shape import CodeShape
from cairn.semantic.state import FileStanding, Key, Now, Picture, StoredContext, picture_of, stamp_of

# How the descriptor of a class, an interface or another type ends.
_TYPE = "#"

_AT = """SELECT start_line, start_col, end_line, end_col, role, anchor_before, anchor_after, identity_id
    FROM occurrences WHERE context_id = ? AND file_id = ? AND start_line = ? AND start_col = ?"""
_OF_IDENTITY = """SELECT context_id, file_id, start_line, start_col, end_line, end_col, role, anchor_before,
    anchor_after FROM occurrences WHERE identity_id = ?"""
_IN_FILE = """SELECT start_line, start_col, end_line, end_col, role, anchor_before, anchor_after, identity_id, symbol
    FROM occurrences JOIN identities ON identities.id = identity_id
    WHERE context_id = ? AND file_id = ? ORDER BY start_line, start_col, occurrences.id"""
_RELATED = """SELECT target_id FROM relationships WHERE identity_id = ?1 AND kind IN ('implementation', 'reference')
    UNION SELECT identity_id FROM relationships WHERE target_id = ?1 AND kind IN ('implementation', 'reference')"""


_BASES = "SELECT target_id FROM relationships WHERE identity_id = ? AND kind = 'implementation'"
_HEIRS = "SELECT identity_id FROM relationships WHERE target_id = ? AND kind = 'implementation'"
_NAMED = "SELECT id FROM identities WHERE symbol IN (?, ?, ?, ?)"
_TYPED = "SELECT id FROM identities WHERE symbol = ?"
_ENDING = "SELECT id FROM identities WHERE substr(symbol, -length(?1)) = ?1"
# A member of a type. `__name` belongs to its class alone in Python, whatever its bases and heirs have.
_MEMBER = re.compile(r"(?P<owner>.*#)(?:(?P<name>(?!__)[\w$]+|__\w+__)|`<[gs]et>(?P<accessor>[\w$]+)`)(?:\(\))?\.")
# How a member is written behind its type: a value, a method, and what reads and writes a property.
_FORMS = ("{}.", "{}().", "`<get>{}`().", "`<set>{}`().")


class FileSyntax(NamedTuple):
    """What the syntax of a file shows."""

    text: bytes
    symbols: Sequence[Symbol]
    references: Sequence[Reference]
    imports: Sequence[Import]


class FactSnapshot(Protocol):
    """The snapshot against which facts are believed."""

    def now(self, path: str) -> Now | None:
        """Return a file as it is in the snapshot; None when the snapshot does not hold it."""

    def paths(self) -> Iterable[str]:
        """Return the paths of all files of the snapshot."""

    def lines(self, path: str) -> list[bytes]:
        """Return the lines of a file, as places count them."""

    def shape(self, path: str) -> CodeShape | None:
        """Return which lines of a file are code; None for a file that was not parsed."""

    def syntax(self, path: str) -> FileSyntax | None:
        """Return what the syntax of a file shows; None for a file that was not parsed."""


class SemanticFacts:
    """The facts of one codebase, for as long as the connection is open. `picture` is one that still holds."""

    def __init__(self, db: Connection, pinned: FactSnapshot, picture: Picture | None = None) -> None:
        self._db, self._pinned, self._given = db, pinned, picture
        self.clean = cache(self._clean)
        self.known = cache(self._known)
        self.symbols_at = cache(self._symbols_at)
        self.lines = cache(pinned.lines)
        self.syntax = cache(pinned.syntax)
        self.paths_now = cache(lambda: tuple(pinned.paths()))

    @property
    def stamp(self) -> str:
        """A text that changes after every import and whenever contexts change."""
        return stamp_of(self._db)

    # --- files --------------------------------------------------------------------------------------------------------

    @cached_property
    def picture(self) -> Picture:
        """How fresh every file is. It stays valid while the snapshot and the stamp do not change."""
        return self._given or picture_of(self._db, self._pinned)

    @property
    def contexts(self) -> dict[int, StoredContext]:
        """The contexts in use, by number."""
        return self.picture.contexts

    @property
    def paths(self) -> dict[int, str]:
        """The known files, by number."""
        return self.picture.paths

    @property
    def standings(self) -> dict[Key, FileStanding[Key]]:
        """How fresh each file is in each context that has facts about it."""
        return self.picture.standings

    @property
    def behind(self) -> Behind:
        """How many files of the snapshot have facts of which some do not hold any more."""
        return self.picture.behind

    def standing(self, path: str) -> tuple[int | None, FileStanding[Key] | None]:
        """Return the context that knows a file and how fresh the file is there; prefers a context where it is clean."""
        found = [(key[0], self.standings[key]) for key in self.picture.keys.get(path, ())]
        clean = [each for each in found if each[1].freshness is FactFreshness.CLEAN]
        return next(iter(clean or found), (None, None))

    def flags(self, path: str) -> tuple[str, ...]:
        """Return what the importer marked as ambiguous in a file."""
        return tuple(flag for key in self.picture.keys.get(path, ()) for flag in self.picture.flags.get(key, ()))

    def is_silent(self, path: str) -> bool:
        """Whether an indexer read the project and said nothing about this file as it is now."""
        is_now = self._pinned.now(path)
        hashes = self._db.execute("SELECT content_hash FROM silent_files WHERE path = ?", (path,))
        return is_now is not None and (is_now.content_hash,) in hashes.fetchall()

    def _clean(self, path: str) -> Key | None:
        """Return the context and the number under which facts about a file are stored; None when it is not clean."""
        context, standing = self.standing(path)
        if context is None or standing is None or standing.freshness is not FactFreshness.CLEAN:
            return None
        return next(key for key in self.picture.keys[path] if key[0] == context)

    def _known(self, path: str) -> Key | None:
        """Return the context and the number under which facts are stored that hold: all of them or some.

        All facts of a clean file hold. Of a dirty one those hold that are outside of the bodies that have changed, as
        long as nothing else is in doubt.
        """
        key = self.clean(path)
        if key is None:
            keys = self.picture.keys.get(path, ())
            key = next((one for one in keys if one in self.picture.moves and self._is_dirty(one)), None)
        return key

    def _is_dirty(self, key: Key) -> bool:
        return self.standings[key].freshness is FactFreshness.DIRTY

    # --- symbols ------------------------------------------------------------------------------------------------------

    def symbol(self, identity: int) -> str:
        """Return the normalised text of a symbol."""
        row = self._db.execute("SELECT symbol FROM identities WHERE id = ?", (identity,)).fetchone()
        return str(row[0]) if row else ""

    def is_ours(self, identity: int) -> bool:
        """Whether an indexer has seen the definition of this symbol in a file of the codebase, clean or not."""
        return self._db.execute("SELECT 1 FROM symbols WHERE identity_id = ?", (identity,)).fetchone() is not None

    def _symbols_at(self, path: str, line: int, column: int) -> frozenset[int]:
        """Return the symbols for which the name at a place stands; empty when that is not known any more."""
        key = self.known(path)
        if key is None:
            return frozenset()
        moved = self.picture.moves.get(key)
        then = line if moved is None else moved.then.get(line, 0)
        rows = self._db.execute(_AT, (*key, then, column))
        return frozenset(row[-1] for row in rows if self._placed(key, _occurrence(path, row, "")))

    def definitions(self, identity: int) -> list[Occurrence]:
        """Return the places where a symbol is defined, in order, as far as that still holds."""
        return [one for one in self.occurrences([identity]) if one.role is OccurrenceRole.DEFINITION]

    def occurrences(self, identities: Iterable[int]) -> list[Occurrence]:
        """Return every place of these symbols, each once, in order of path and place, as far as that still holds."""
        found: dict[tuple[str, int, int, str], Occurrence] = {}
        for identity in sorted(identities):
            symbol = self.symbol(identity)
            for context, file, *row in self._db.execute(_OF_IDENTITY, (identity,)):
                path = self.paths[file]
                if self.known(path) == (context, file):
                    one = self._placed((context, file), _occurrence(path, tuple(row), symbol))
                    if one is not None:
                        found.setdefault((path, one.start_line, one.start_column, one.role), one)
        return [found[key] for key in sorted(found)]

    def related(self, identity: int) -> frozenset[int]:
        """Return the symbols that must keep the same name as this one: what it overrides, and what overrides it.

        A class has bases and shares a name with none of them: `class Host(lib.Host)` is another class.
        """
        found = {identity}
        following = [] if self.symbol(identity).endswith(_TYPE) else [identity]
        for each in following:
            rows = self._db.execute(_RELATED, (each,))
            fresh = {*(other for (other,) in rows), *self.namesakes(each)} - found
            found.update(fresh)
            following += sorted(fresh)
        return frozenset(found)

    def namesakes(self, member: int, name: str | None = None) -> set[int]:
        """Return members named `name` in the bases and heirs of the class of a symbol, and in their other bases.

        Indexers record which methods a method overrides; not all of them record it for attributes.
        """
        match = _MEMBER.fullmatch(self.symbol(member))
        if match is None:
            return set()
        owners = {each for (each,) in self._db.execute(_TYPED, (match["owner"],))}
        wanted = name or match["name"] or match["accessor"]
        while True:
            members: dict[int, set[int]] = {}
            for kin in self._closure(self._closure(owners, _HEIRS), _BASES):
                forms = [self.symbol(kin) + form.format(wanted) for form in _FORMS]
                same = {each for (each,) in self._db.execute(_NAMED, forms)}
                if same:
                    members[kin] = same
            if members.keys() <= owners:
                return {each for same in members.values() for each in same}
            owners |= members.keys()

    def _closure(self, classes: Iterable[int], statement: str) -> set[int]:
        """Return these classes and all that a statement leads to from them, step by step."""
        found = set(classes)
        following = list(found)
        for each in following:
            fresh = {other for (other,) in self._db.execute(statement, (each,))} - found
            found |= fresh
            following += fresh
        return found

    def members_named(self, name: str) -> frozenset[int]:
        """Return the members of all types that have this name, those of other projects included."""
        forms = (*_FORMS, "`{}`.", "`{}`().")
        endings = (mark + form.format(name) for mark in "#:" for form in forms)
        return frozenset(each for ending in endings for (each,) in self._db.execute(_ENDING, (ending,)))

    def is_defined(self, name: str) -> bool:
        """Whether an indexer has seen the definition of anything of this name in the codebase."""
        return self._db.execute("SELECT 1 FROM symbols WHERE name = ?", (name,)).fetchone() is not None

    def types_of(self, members: Iterable[int], *, heirs: bool = False) -> set[int]:
        """Return the types that these symbols are members of, and their bases; with `heirs`, of their heirs too."""
        matches = (_MEMBER.fullmatch(self.symbol(member)) for member in members)
        named = [self._db.execute(_TYPED, (match["owner"],)).fetchone() for match in matches if match]
        owners = {int(found[0]) for found in named if found}
        return self._closure(self._closure(owners, _HEIRS) if heirs else owners, _BASES)

    def in_file(self, path: str) -> Iterator[tuple[int, Occurrence]]:
        """Return every occurrence in a file that still holds, in order, with the number of its symbol."""
        key = self.known(path)
        if key is None:
            return
        for row in self._db.execute(_IN_FILE, key):
            one = self._placed(key, _occurrence(path, row[:-2], row[-1]))
            if one is not None:
                yield row[-2], one

    def _placed(self, key: Key, one: Occurrence) -> Occurrence | None:
        """Return an occurrence where it stands now; None when its line has changed or is not the one recorded."""
        if min(one.start_column, one.end_column) < 0:
            return None
        moved = self.picture.moves.get(key)
        if moved is None:
            return one if verified(self.lines(one.path), one) else None
        first, last = moved.now.get(one.start_line), moved.now.get(one.end_line)
        if first is None or last is None or last - first != one.end_line - one.start_line:
            return None
        # The code of its line is the same, which says more than the text around it: a comment may stand there.
        return one._replace(start_line=first, end_line=last)


def _occurrence(path: str, row: tuple[int, int, int, int, str, str, str], symbol: str) -> Occurrence:
    first, column, last, end, role, before, after = row[:7]
    return Occurrence(path, first, column, last, end, OccurrenceRole(role), symbol, before, after)
