"""What the semantic database says of a pinned snapshot: nothing of a file that is not clean there.

One `SemanticFacts` answers one question: what it has read it does not read again. Symbols go by the number of their
identity in the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import NamedTuple, Protocol

from cairn.core.types import Import, Reference, Symbol
from cairn.semantic.database import Connection
from cairn.semantic.model import Freshness, Occurrence, OccurrenceRole
from cairn.semantic.places import verified
from cairn.semantic.state import ContextRow, Key, Now, Picture, Standing, picture_of, stamp_of

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
_NAMED = "SELECT id FROM identities WHERE symbol IN (?, ?)"
# A member of a type. `__name` belongs to its class alone in Python, whatever its bases and heirs have.
_MEMBER = re.compile(r"(?P<owner>.*#)(?P<name>(?!__)[\w$]+|__\w+__)(?:\(\))?\.")


class FileSyntax(NamedTuple):
    """What the syntax of a file shows."""

    text: bytes
    symbols: Sequence[Symbol]
    references: Sequence[Reference]
    imports: Sequence[Import]


class Pinned(Protocol):
    """The snapshot that facts are believed against."""

    def now(self, path: str) -> Now | None:
        """A file as it is there."""

    def paths(self) -> Iterable[str]:
        """All files."""

    def lines(self, path: str) -> list[bytes]:
        """Its lines, as places count them."""

    def syntax(self, path: str) -> FileSyntax | None:
        """What its syntax shows; None for a file that was not parsed."""


class SemanticFacts:
    """The facts of one codebase, for as long as the connection is open. `picture` is one that still holds."""

    def __init__(self, db: Connection, pinned: Pinned, picture: Picture | None = None) -> None:
        self._db, self._pinned, self._given = db, pinned, picture
        self.clean = cache(self._clean)
        self.symbols_at = cache(self._symbols_at)
        self.lines = cache(pinned.lines)
        self.syntax = cache(pinned.syntax)

    @property
    def stamp(self) -> str:
        """Another one after every import."""
        return stamp_of(self._db)

    # --- files --------------------------------------------------------------------------------------------------------

    @cached_property
    def picture(self) -> Picture:
        """How fresh every file is; it may be kept for as long as the snapshot and the stamp stay the same."""
        return self._given or picture_of(self._db, self._pinned)

    @property
    def contexts(self) -> dict[int, ContextRow]:
        """The contexts that are in use, by their number."""
        return self.picture.contexts

    @property
    def paths(self) -> dict[int, str]:
        """The files that are known, by their number."""
        return self.picture.paths

    @property
    def standings(self) -> dict[Key, Standing[Key]]:
        """How fresh each file is in each context that has facts of it."""
        return self.picture.standings

    def standing(self, path: str) -> tuple[int | None, Standing[Key] | None]:
        """The context that knows a file, and how fresh it is there; a context in which it is clean goes first."""
        found = [(key[0], self.standings[key]) for key in self.picture.keys.get(path, ())]
        clean = [each for each in found if each[1].freshness is Freshness.CLEAN]
        return next(iter(clean or found), (None, None))

    def flags(self, path: str) -> tuple[str, ...]:
        """What the importer marked as ambiguous in a file."""
        return tuple(flag for key in self.picture.keys.get(path, ()) for flag in self.picture.flags.get(key, ()))

    def is_silent(self, path: str) -> bool:
        """Whether an indexer that should have spoken of a file, as it is, did not."""
        is_now = self._pinned.now(path)
        hashes = self._db.execute("SELECT content_hash FROM silent_files WHERE path = ?", (path,))
        return is_now is not None and (is_now.content_hash,) in hashes.fetchall()

    def _clean(self, path: str) -> Key | None:
        """Where to look for what is known of a file; None when it is not clean."""
        context, standing = self.standing(path)
        if context is None or standing is None or standing.freshness is not Freshness.CLEAN:
            return None
        return next(key for key in self.picture.keys[path] if key[0] == context)

    # --- symbols ------------------------------------------------------------------------------------------------------

    def symbol(self, identity: int) -> str:
        """A symbol as it was normalised."""
        row = self._db.execute("SELECT symbol FROM identities WHERE id = ?", (identity,)).fetchone()
        return str(row[0]) if row else ""

    def is_ours(self, identity: int) -> bool:
        """Whether an indexer has seen its definition in a file of the codebase, clean or not."""
        return self._db.execute("SELECT 1 FROM symbols WHERE identity_id = ?", (identity,)).fetchone() is not None

    def _symbols_at(self, path: str, line: int, column: int) -> frozenset[int]:
        """The symbols that the name at a place of a clean file stands for; none where the indexer knows none."""
        key = self.clean(path)
        if key is None:
            return frozenset()
        rows = self._db.execute(_AT, (*key, line, column))
        return frozenset(row[-1] for row in rows if self._holds(_occurrence(path, row, "")))

    def definitions(self, identity: int) -> list[Occurrence]:
        """Where a symbol is defined in files that are clean, in order."""
        return [one for one in self.occurrences([identity]) if one.role is OccurrenceRole.DEFINITION]

    def occurrences(self, identities: Iterable[int]) -> list[Occurrence]:
        """Every place of these symbols in files that are clean, each once, in order of path and place."""
        found: dict[tuple[str, int, int, str], Occurrence] = {}
        for identity in sorted(identities):
            symbol = self.symbol(identity)
            for context, file, *row in self._db.execute(_OF_IDENTITY, (identity,)):
                path = self.paths[file]
                if self.clean(path) == (context, file):
                    one = _occurrence(path, tuple(row), symbol)
                    if self._holds(one):
                        found.setdefault((path, one.start_line, one.start_column, one.role), one)
        return [found[key] for key in sorted(found)]

    def related(self, identity: int) -> frozenset[int]:
        """The symbols that must keep the same name: what it implements or overrides, and what does so with it.

        A class has bases, and shares a name with none of them: `class Host(lib.Host)` is another class.
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
        """The members of its name, or this one, in the bases and heirs of its class, and in the other bases of those.

        Indexers say of methods what they override, and not all of them say it of attributes.
        """
        match = _MEMBER.fullmatch(self.symbol(member))
        if match is None:
            return set()
        owners = {each for (each,) in self._db.execute(_NAMED, (match["owner"], ""))}
        while True:
            members: dict[int, set[int]] = {}
            for kin in self._closure(self._closure(owners, _HEIRS), _BASES):
                place = self.symbol(kin) + (name or match["name"])
                same = {each for (each,) in self._db.execute(_NAMED, (f"{place}.", f"{place}()."))}
                if same:
                    members[kin] = same
            if members.keys() <= owners:
                return {each for same in members.values() for each in same}
            owners |= members.keys()

    def _closure(self, classes: Iterable[int], statement: str) -> set[int]:
        """These, and all that one step after the other leads to."""
        found = set(classes)
        following = list(found)
        for each in following:
            fresh = {other for (other,) in self._db.execute(statement, (each,))} - found
            found |= fresh
            following += fresh
        return found

    def in_file(self, path: str) -> Iterator[tuple[int, Occurrence]]:
        """Every occurrence in a clean file, in order, with the number of its symbol."""
        key = self.clean(path)
        if key is None:
            return
        for row in self._db.execute(_IN_FILE, key):
            one = _occurrence(path, row[:-2], row[-1])
            if self._holds(one):
                yield row[-2], one

    def _holds(self, one: Occurrence) -> bool:
        """Whether the text around a place is the one that was there when it was recorded."""
        return min(one.start_column, one.end_column) >= 0 and verified(self.lines(one.path), one)


def _occurrence(path: str, row: tuple[int, int, int, int, str, str, str], symbol: str) -> Occurrence:
    first, column, last, end, role, before, after = row[:7]
    return Occurrence(path, first, column, last, end, OccurrenceRole(role), symbol, before, after)
