"""The signals of the ranking: each scores every file by one kind of evidence for the query.

A signal is a pure function from `FileEvidence` to one number for each file: 0 without such evidence, about 1 at best.
What several signals need is in the evidence and is computed once for a query, when first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from cairn.core.lazy import cached_property
from cairn.core.tokens import stem, terms, terms_of, words
from cairn.core.types import SymbolKind
from cairn.embedding.model import Embedder
from cairn.engine.local import LocalEngine, Match
from cairn.search.lexical import Scores, best_of_files, best_rows, bm25, each_once, idf
from cairn.search.nearness import Nearby, Nearness
from cairn.search.places import FileRole, PathPattern, PathTable, Places, SearchScope, places
from cairn.search.query import Query
from cairn.search.weights import FALLING, PENALTIES, TEXT_FIELDS, VAGUE_SHARE, VAGUE_WORDS

# --- The names of files and folders: which files have a word in their name, and how many words each name has.


FileNumbers = NDArray[np.int64]

# The most terms that are remembered; in a long session with ever new words the memory starts anew.
_MOST_REMEMBERED = 1 << 12


class Named(NamedTuple):
    """The files named by a word: as a part of their name, as their whole name, either of these, or by a folder."""

    part: FileNumbers
    whole: FileNumbers
    either: FileNumbers
    folder: FileNumbers


_NOBODY = Named(*(np.zeros(0, np.int64) for _ in Named._fields))


class FileNames:
    """The names of the files of an engine, made once for an engine."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self._known: dict[str, Named] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._sizes = np.zeros(len(engine.paths), np.int64)

    def named(self, term: str, match: Match | None) -> Named:
        """Return the files that a term names; `match` are the rows with the term in their path, None without any."""
        if match is None:
            return _NOBODY
        found = self._known.get(term)
        if found is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            found = self._known[term] = self._look(term, match)
        return found

    def sizes(self, files: FileNumbers) -> FileNumbers:
        """Return how many words the names of these files have; only for files that `named` has returned."""
        return self._sizes[files]

    def _look(self, term: str, match: Match) -> Named:
        part, whole, folder = [], [], []
        for place in np.unique(self._engine.file_of_row[match.rows]).tolist():
            above, _, name = self._engine.paths[place].rpartition("/")
            complete, inner = _name_terms(name)
            self._sizes[place] = len(inner)
            if term in inner:
                part.append(place)
            if term == complete:
                whole.append(place)
            if above and term in self._folder_terms(above):
                folder.append(place)
        either = sorted({*part, *whole})
        return Named(*(np.array(places, np.int64) for places in (part, whole, either, folder)))

    def _folder_terms(self, folder: str) -> frozenset[str]:
        found = self._folders.get(folder)
        if found is None:
            found = self._folders[folder] = frozenset(part for word in words(folder) for part in parts_of(word))
        return found


def stem_of(name: str) -> str:
    """Return the name of a file without its last ending: `a.test.js` is `a.test`, `.bashrc` stays."""
    return name.rpartition(".")[0] or name


def parts_of(word: str) -> tuple[str, ...]:
    """Return the terms of a word's parts, without the whole word unless it has only one part."""
    found = terms_of(word)
    return found[1:] if len(found) > 2 else found


def _name_terms(name: str) -> tuple[str | None, frozenset[str]]:
    """Return the term of a file's whole name (None if it has several words), and the terms of its parts."""
    found = words(stem_of(name))
    whole = terms_of(found[0])[:1] if len(found) == 1 else ()
    return (whole[0] if whole else None), frozenset(part for word in found for part in parts_of(word))


Signal = NDArray[np.float64]

TYPES = frozenset(
    {
        SymbolKind.CLASS, SymbolKind.INTERFACE, SymbolKind.STRUCT, SymbolKind.TRAIT, SymbolKind.ENUM, SymbolKind.TYPE,
        SymbolKind.OBJECT, SymbolKind.UNION, SymbolKind.MODULE, SymbolKind.NAMESPACE,
    }
)  # fmt: skip
_OF_A_MEMBER, _OF_A_GUESS, _ELSEWHERE = 0.7, 0.6, 0.5
# Old code that is kept, by the name of the file or of a folder.
_OLD = PathPattern(r"[^\x00]*(?i:compat|legacy|deprecated)[^\x00]*")
_PAST = re.compile("compat|legacy|deprecat", re.IGNORECASE)
_FOREIGN = re.compile("vendor|third.?party|generated", re.IGNORECASE)
_SETTINGS = re.compile(r"config|\bsettings?\b", re.IGNORECASE)
_LINE = re.compile(r":\d+(?::\d+)?$")
# For a name with more definitions, containers are told apart by the names of files and folders alone.
_MOST_INSIDE = 64
# The most files that are read for a phrase, those with the best text first.
_MOST_READ = 400


class FileTable:
    """What is known of the files whatever the query is: their names, their roles and how much they are used."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self.names = FileNames(engine)
        self._factors: dict[tuple[str, ...], Signal] = {}

    @cached_property
    def _table(self) -> PathTable:
        return PathTable(self._engine.paths)

    @cached_property
    def places(self) -> Places:
        return places(self._table)

    @cached_property
    def old(self) -> NDArray[np.bool_]:
        return self._table.matching(_OLD)

    def factors(self, rarely_meant: tuple[str, ...]) -> Signal:
        """Return the product of these penalties for each file; equal calls return the same array."""
        found = self._factors.get(rarely_meant)
        if found is None:
            own = self.places
            tests = own & FileRole.TEST != 0
            kinds = {
                "tests": tests,
                "docs": (own & (FileRole.EXAMPLE | FileRole.DOC) != 0) & ~tests,
                "vendored": own & (FileRole.VENDORED | FileRole.GENERATED) != 0,
                "config": own & FileRole.CONFIG != 0,
                "old": self.old,
            }
            found = self._factors[rarely_meant] = np.ones(len(own))
            for name in rarely_meant:
                found[kinds[name]] *= PENALTIES[name]
        return found

    @cached_property
    def tested(self) -> Signal:
        """The share of each file's chunks that define something with `test` or `spec` in its name.

        Tells tests apart where the names of files may not count.
        """
        rows = np.zeros(self._engine.rows)
        for match in self._engine.matches(("test", "spec")):
            if "symbol" in match:
                rows[match["symbol"].rows] = 1
        first = self._engine.first_row
        return np.add.reduceat(rows, first[:-1]) / np.diff(first) if len(rows) else rows

    @cached_property
    def used(self) -> Signal:
        """The logarithm of how many files use each file, divided by four standard deviations, at most 1."""
        degree = np.log1p(self._engine.in_degree)
        spread = 4 * float(degree.std()) if len(degree) else 0.0
        return np.minimum(degree / spread, 1) if spread else np.zeros(len(degree))


_FILES: WeakKeyDictionary[LocalEngine, FileTable] = WeakKeyDictionary()


def files_of(engine: LocalEngine) -> FileTable:
    """Return the table of an engine's files, made once for each engine."""
    found = _FILES.get(engine)
    if found is None:
        # A proxy, because the table is kept for the engine and must not keep the engine in memory.
        found = _FILES[engine] = FileTable(proxy(engine))
    return found


class FileEvidence:
    """A query and the evidence for it in the index. `by_name` is False when no word of a path may count."""

    def __init__(self, engine: LocalEngine, query: Query, embedder: Embedder | None, *, by_name: bool = True) -> None:
        self.engine = engine
        self.query = query
        self.embedder = embedder
        self.by_name = by_name
        self.files = files_of(engine)

    # --- words --------------------------------------------------------------------------------------------------------

    @cached_property
    def matches(self) -> list[dict[str, Match]]:
        """The rows of each term by field; without the path field when paths may not count."""
        found = self.engine.matches(self.query.terms)
        if not self.by_name:
            for match in found:
                match.pop("path", None)
        return found

    @cached_property
    def shares(self) -> list[float]:
        """How much each term counts: words that say what is done rather than what the code is about count less."""
        return [VAGUE_SHARE if term in _VAGUE else 1.0 for term in self.query.terms]

    @cached_property
    def worth(self) -> list[float]:
        """The weight of each term: its share, times how rare its rows are."""
        return [
            share * float(idf(self.engine.rows, self._rows_with(match)))
            for share, match in zip(self.shares, self.matches, strict=True)
        ]

    def _rows_with(self, match: Mapping[str, Match]) -> int:
        if len(match) < 2:
            return sum(len(found.rows) for found in match.values())
        holding = np.zeros(self.engine.rows, np.bool_)
        for rows, _ in match.values():
            holding[rows] = True
        return int(np.count_nonzero(holding))

    @cached_property
    def holding(self) -> list[NDArray[np.bool_]]:
        """For each term the files that contain it in their text, paths aside."""
        found = []
        for match in self.matches:
            files = np.zeros(len(self.engine.paths), np.bool_)
            for field, (rows, _) in match.items():
                if field != "path":
                    files[self.engine.file_of_row[rows]] = True
            found.append(files)
        return found

    @cached_property
    def text_rows(self) -> Scores:
        return bm25(self.engine, self.matches, TEXT_FIELDS, self.shares)

    @cached_property
    def symbol_rows(self) -> Scores:
        return bm25(self.engine, self.matches, {"symbol": 1.0}, self.shares)

    @cached_property
    def text(self) -> Signal:
        return _of_best(best_of_files(self.engine, self.text_rows, FALLING))

    # --- meaning ------------------------------------------------------------------------------------------------------

    @cached_property
    def nearness(self) -> Nearness | None:
        """How near each row is to the query; None without a model or without rows."""
        if self.embedder is None or not self.engine.rows:
            return None
        vector = self.embedder.embed_query(self.query.text)
        found = self.engine.nearest(vector)
        if found is None:
            return Nearness(self.engine, vector, FALLING)
        # Only where a server searches, which most do without.
        return Nearby(found, vector, FALLING)

    # --- names --------------------------------------------------------------------------------------------------------

    @cached_property
    def named(self) -> list[Named]:
        """For each term the files that have it in their name or in the name of a folder."""
        pairs = zip(self.query.terms, self.matches, strict=True)
        return [self.files.names.named(term, match.get("path")) for term, match in pairs]

    @cached_property
    def name_said(self) -> Signal:
        """The share of each file's name that the query contains."""
        if not any(len(one.either) for one in self.named):
            return self.nothing
        found = self.zeros()
        for one in self.named:
            found[one.part] += 1 / self.files.names.sizes(one.part)
        for one in self.named:
            found[one.whole] = 1
        return np.minimum(found, 1)

    @cached_property
    def name_held(self) -> Signal:
        """The share of the query that each file's name contains, by the weights of the terms."""
        return _share(self, [one.either for one in self.named])

    @cached_property
    def nothing(self) -> Signal:
        """The result of a signal without any evidence: always the same array, so that `is` tells it apart."""
        return self.zeros()

    def zeros(self) -> Signal:
        return np.zeros(len(self.engine.paths))


# --- the signals ------------------------------------------------------------------------------------------------------


def text(seen: FileEvidence) -> Signal:
    """Return how well the words match the text: the best chunks by BM25."""
    return seen.text


def meaning(seen: FileEvidence) -> Signal:
    """Return how near the text is in meaning: the best chunks by the model."""
    return seen.zeros() if seen.nearness is None else seen.nearness.of(np.arange(len(seen.engine.paths)))


def coverage(seen: FileEvidence) -> Signal:
    """Return the greatest share of the query that one chunk of each file contains, by the weights of the terms."""
    together = np.zeros(seen.engine.rows)
    for match, worth in zip(seen.matches, seen.worth, strict=True):
        fields = [rows for field, (rows, _) in match.items() if field != "path"]
        if fields:
            rows = fields[0] if len(fields) == 1 else each_once(fields, seen.engine.rows)
            together[rows] += worth
    found = best_rows(seen.engine, together)
    whole = sum(seen.worth)
    return found / whole if whole else found


def symbols(seen: FileEvidence) -> Signal:
    """Return how well the words match the names of the definitions."""
    if not any("symbol" in match for match in seen.matches):
        return seen.nothing
    return _of_best(best_of_files(seen.engine, seen.symbol_rows, FALLING))


def joined(seen: FileEvidence) -> Signal:
    """Return how well neighbouring words of the query, joined to one, match the text: `event loop` as `EventLoop`."""
    pairs = [one + other for one, other in pairwise(_plain_words(seen.query.text)) if one and other]
    matches = seen.engine.matches(tuple(dict.fromkeys(map(stem, pairs))))
    return _of_best(best_of_files(seen.engine, bm25(seen.engine, matches, {"body": 1.0}), FALLING))


def name_said(seen: FileEvidence) -> Signal:
    """Return the share of each file's name that the query contains."""
    return seen.name_said


def name_matched(seen: FileEvidence) -> Signal:
    """Return the share of the file's name in the query, times the share of the query in the name.

    One common word of a long question names no file.
    """
    if seen.name_held is seen.nothing:
        return seen.nothing
    return seen.name_said * seen.name_held


def name_in_text(seen: FileEvidence) -> Signal:
    """Return the share of the query in the file's name, times how well the words match the text.

    A name alone may mean something else.
    """
    if seen.name_held is seen.nothing:
        return seen.nothing
    return seen.name_held * seen.text


def folder(seen: FileEvidence) -> Signal:
    """Return the share of the query that the names of the folders contain."""
    return _share(seen, [one.folder for one in seen.named])


def named_so(seen: FileEvidence) -> Signal:
    """Return 1 for files whose whole name is an identifier of the query; less for an identifier that is not sure."""
    found = seen.zeros() if seen.query.identifiers else seen.nothing
    for identifier in seen.query.identifiers:
        for term in terms_of(identifier.name)[:1]:
            whole = seen.named[seen.query.terms.index(term)].whole
            found[whole] = np.maximum(found[whole], 1 if identifier.sure else _OF_A_GUESS)
    return found


def definition(seen: FileEvidence) -> Signal:
    """Return a score for files that define an identifier of the query.

    Types count more than members, and definitions in the named container more than others.
    """
    found = seen.zeros() if seen.query.identifiers else seen.nothing
    for identifier in seen.query.identifiers:
        around = identifier.container.rpartition(".")[2].lower()
        for place, kind, container in seen.engine.definitions(identifier.name, inside=_MOST_INSIDE if around else 0):
            value = 1.0 if kind in TYPES else _OF_A_MEMBER
            if not identifier.sure:
                value *= _OF_A_GUESS
            if around and around != container.rpartition(".")[2].lower() and around not in _around(seen, place):
                value *= _ELSEWHERE
            found[place] = max(found[place], value)
    return found


def used(seen: FileEvidence) -> Signal:
    """Return how much other files use what each file defines."""
    return seen.files.used


def phrase(seen: FileEvidence) -> Signal:
    """Return the share of the quoted phrases that each file contains, word by word."""
    found = seen.zeros() if seen.query.phrases else seen.nothing
    for one in seen.query.phrases:
        plain = re.findall(r"\w+", one)
        wanted = re.compile(r"\W+".join(map(re.escape, plain)) or re.escape(one), re.IGNORECASE)
        held = np.ones(len(found), np.bool_)
        for term in (term for word in plain for term in terms_of(word) if term in seen.query.terms):
            held &= seen.holding[seen.query.terms.index(term)]
        likely = np.flatnonzero(held)
        for place in likely[np.argsort(-seen.text[likely], kind="stable")][:_MOST_READ].tolist():
            if wanted.search(str(seen.engine.at(place).text(), "utf-8", "replace")):
                found[place] += 1 / len(seen.query.phrases)
    return found


def path(seen: FileEvidence) -> Signal:
    """Return 1 for files whose path ends with a path of the query, less for files that have it elsewhere."""
    found = seen.zeros() if seen.query.path_words else seen.nothing
    for word in seen.query.path_words:
        wanted = "/" + _LINE.sub("", word).removeprefix("./").strip("/").lower()
        likely = np.ones(len(found), np.bool_)
        for term in terms(wanted):
            # Only terms of the query have rows here; a language's name at the end of a word may be cut differently.
            if term in seen.query.terms and (match := seen.matches[seen.query.terms.index(term)].get("path")):
                holding = np.zeros(len(found), np.bool_)
                holding[seen.engine.file_of_row[match.rows]] = True
                likely &= holding
        for place in np.flatnonzero(likely).tolist():
            whole = f"/{seen.engine.paths[place].lower()}"
            if wanted in whole:
                found[place] = max(found[place], 1.0 if whole.endswith(wanted) else _ELSEWHERE)
    return found


SIGNALS: Mapping[str, Callable[[FileEvidence], Signal]] = {
    one.__name__: one
    for one in (
        text, meaning, name_said, name_matched, name_in_text, folder, named_so, symbols, definition, used, coverage,
        joined, phrase, path,
    )
}  # fmt: skip


def factors(seen: FileEvidence) -> Signal:
    """Return the factor of each file's score: below 1 for tests, examples, docs, settings, and foreign or old code.

    A query that asks for such files, by its words or its scope, has no penalty for them. Where names of files may not
    count, tests are known by what they define, and nothing else has a penalty.
    """
    query = seen.query
    if not seen.by_name:
        return np.ones(len(seen.engine.paths)) if query.wants_tests else PENALTIES["tests"] ** seen.files.tested
    asked_for = {
        "tests": query.wants_tests,
        "docs": query.wants_examples or query.wants_docs,
        "vendored": _FOREIGN.search(query.text),
        "config": query.scope is SearchScope.CONFIG or _SETTINGS.search(query.text),
        "old": _PAST.search(query.text),
    }
    return seen.files.factors(tuple(name for name, is_asked_for in asked_for.items() if not is_asked_for))


# --- small parts ------------------------------------------------------------------------------------------------------

_VAGUE = frozenset(term for word in VAGUE_WORDS.split() for term in terms_of(word))


def _of_best(scores: Scores) -> Signal:
    """Return the scores divided by the best one."""
    best = float(scores.max(initial=0))
    return scores.astype(np.float64) / (best if best > 0 else 1.0)


def _plain_words(text: str) -> list[str]:
    """Return the words without `-` and `_`, so `a-b c_d` are `ab` and `cd`; empty for a word without terms."""
    return [re.sub("[-_]", "", word).lower() if terms_of(word) else "" for word in words(text)]


def _share(seen: FileEvidence, files: Iterable[NDArray[Any]]) -> Signal:
    """Return the share of the query for each file; `files` are the files of each term, in order."""
    said = [(own, worth) for own, worth in zip(files, seen.worth, strict=True) if len(own)]
    if not said:
        return seen.nothing
    found = seen.zeros()
    for own, worth in said:
        found[own] += worth
    whole = sum(seen.worth)
    return found / whole if whole else found


def _around(seen: FileEvidence, place: int) -> tuple[str, ...]:
    """Return the names by which a file can be a container: its own and its folder's; none when names may not count."""
    if not seen.by_name:
        return ()
    *folders, name = seen.engine.paths[place].lower().split("/")
    return (name.partition(".")[0], *folders[-1:])
