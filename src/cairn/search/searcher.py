"""Answer search requests of every mode on one snapshot.

A searcher is made once for a view and used for many requests; the tables of a mode are built for its first request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.fingerprint import Canonical
from cairn.core.lazy import cached_property
from cairn.core.limits import DEFAULT_RESULTS, MAX_MATCH_LINES, SNIPPET_LINES
from cairn.core.tokens import terms
from cairn.embedding.model import Embedder
from cairn.engine.local import CandidateEngine, LocalEngine
from cairn.engine.scan import Texts
from cairn.errors import EmbeddingFailed, EngineError, InvalidQuery
from cairn.search.budget import fit, tokens_in
from cairn.search.continuation import question_digest
from cairn.search.exact import Within, chosen_files, deadline, exact
from cairn.search.extracts import Extracts, of_definition, of_matches, shortened
from cairn.search.filters import FileFilter, file_filter
from cairn.search.grep import GrepFile, GrepRequest, grep
from cairn.search.lexical import bm25, idf
from cairn.search.paths import PathFinder
from cairn.search.pattern import Case, compiled
from cairn.search.places import PathTable
from cairn.search.query import Query, parse
from cairn.search.rank import GROUPS, PENALTIES, Parts, Ranked, Ranking, rank
from cairn.search.snippets import Excerpts, Snippet, Snippets, shortened_to
from cairn.search.symbols import NameFit, SymbolFinder
from cairn.search.types import ChunkSpan, FileMatches, Found, Group, Hit, Mode, SearchRequest, SymbolsFound
from cairn.search.unparsed import Unparsed
from cairn.search.weights import WEIGHTS
from cairn.store import SnapshotView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.contract import RowSearch


# --- Rows similar to a row: half by the nearness of their vectors, half by the words that they share.


# The most words of a row that are compared: the rarest say most.
_MOST_TERMS = 64
_FIELDS = {"symbol": 1.0, "comment": 1.0, "body": 1.0}


class Alike(NamedTuple):
    """The most similar rows with their scores, best first, how many are similar at all, and the words compared."""

    rows: tuple[tuple[int, float], ...]
    total: int
    terms: tuple[str, ...]


def alike(engine: LocalEngine, row: int, *, same_file: bool, limit: int) -> Alike:
    """Return the rows most similar to a row, without the row itself; rows of its own file only with `same_file`."""
    place = int(engine.file_of_row[row])
    words = _telling(engine, engine.at(place).passage(row).data.decode())
    scores = bm25(engine, engine.matches(words), _FIELDS)
    near = engine.similarity(engine.vector(row))
    both = (_shares(scores, row) + _shares(near, row)) / 2
    first, after = (row, row + 1) if same_file else engine.first_row[place : place + 2].tolist()
    both[first:after] = 0
    found = np.flatnonzero(both > 0)
    best = found[np.argsort(-both[found], kind="stable")][:limit]
    return Alike(tuple(zip(best.tolist(), both[best].tolist(), strict=True)), len(found), words)


def _telling(engine: LocalEngine, text: str) -> tuple[str, ...]:
    """Return the rarest words of a text, each once: those that the fewest rows contain."""
    every = sorted(set(terms(text)))
    matches = engine.matches(every)
    held = [max((len(match.rows) for match in fields.values()), default=0) for fields in matches]
    known = sorted((-float(idf(engine.rows, count)), term) for count, term in zip(held, every, strict=True) if count)
    return tuple(term for _, term in known[:_MOST_TERMS])


def _shares(values: NDArray[np.float32], row: int) -> NDArray[np.float64]:
    """Return each value as a share of the row's own value, from 0 to 1."""
    own = float(values[row])
    if own <= 0:
        return np.zeros(len(values))
    return np.asarray(np.clip(values.astype(np.float64) / own, 0, 1))


Flags = NDArray[np.bool_]

SIGNALS = frozenset({*WEIGHTS, *GROUPS, PENALTIES})
# Filters by kind, and groups other than files, are applied to so many of the best files.
_KIND_CANDIDATES = 200
_ROWS_PER_FILE = 5
# The most parsed queries that are kept: a query is parsed for its check, for its answer and for each further page.
_QUERIES_KEPT = 16
_PATH_SCORE = 1 << 20


class Searcher:
    """The search over one view, with the model that made its vectors; `remote` searches the rows on a server."""

    def __init__(self, view: SnapshotView, embedder: Embedder, remote: RowSearch | None = None) -> None:
        self.view = view
        self._embedder = embedder
        self.remote = remote

    def search(self, request: SearchRequest) -> Found:
        """Return one page of results. Raises `InvalidQuery`, `InvalidPattern` or `QueryTimeout`."""
        _known(request.without)
        ways = {Mode.REGEX: self._regex, Mode.SYMBOL: self._symbols, Mode.PATH: self._paths}
        return _budgeted(ways.get(request.mode, self._ranked)(request), request.max_tokens)

    def symbols(
        self, name: str, *, kinds: Collection[str] = (), within: Within | None = None, limit: int = DEFAULT_RESULTS
    ) -> SymbolsFound:
        """Return the definitions whose name matches; nothing in the given name is read as an operator."""
        return self._symbol_finder.find(name, kinds=kinds, within=within, limit=limit)

    def similar(self, path: str, line_byte: int, *, same_file: bool, limit: int) -> tuple[ChunkSpan, Found] | None:
        """Return the chunk around a byte of a file, and the chunks most similar to it; None when the file has none."""
        engine = self._engine
        place = engine.find(path)
        if place is None:
            return None
        row = engine.at(place).row_at(line_byte)
        chunk = engine.chunk(row)
        found = alike(engine, row, same_file=same_file, limit=limit)
        hits = []
        for other, score in found.rows:
            made = self._snippets.make(int(engine.file_of_row[other]), other, found.terms)
            hits.append(_hit_of(made, score, ()))
        answer = Found(tuple(hits), found.total, 0, len(engine.paths), exhaustive=False)
        return ChunkSpan(path, chunk.start_line, chunk.end_line), answer

    def files_used(self) -> dict[str, float]:
        """Return for every file with text how many other files use a name that it defines.

        A name that several files define counts for each of them by its share.
        """
        return dict(zip(self._engine.paths, self._engine.in_degree.tolist(), strict=True))

    def names_used(self) -> dict[str, float]:
        """Return for every defined name how many files use it, divided by the number of files that define it."""
        return {name.decode("utf-8", "replace"): uses for name, uses in self._engine.uses_of_names().items()}

    # --- what is built once -------------------------------------------------------------------------------------------

    @cached_property
    def _engine(self) -> LocalEngine:
        if self.remote is None:
            return LocalEngine(self.view)
        # Imported only where a search server is configured, which is rare.
        return CandidateEngine(self.view, self.remote)

    @property
    def engine_trouble(self) -> EngineError | None:
        """Why the search server could not be used for the last request; None when nothing went wrong."""
        engine = self.__dict__.get("_engine")
        return engine.trouble if engine is not None else None

    @cached_property
    def _texts(self) -> Texts:
        return Texts(self.view)

    @cached_property
    def _snippets(self) -> Snippets:
        return Snippets(self._engine)

    @cached_property
    def _excerpts(self) -> Excerpts:
        return Excerpts(self.view)

    @cached_property
    def _path_finder(self) -> PathFinder:
        return PathFinder(self._texts)

    @cached_property
    def unparsed(self) -> Unparsed:
        """The code of the snapshot that no parser has understood."""
        return Unparsed(self._texts)

    @cached_property
    def _symbol_finder(self) -> SymbolFinder:
        return SymbolFinder(self._texts)

    @cached_property
    def _table(self) -> PathTable:
        return PathTable(self._engine.paths)

    @cached_property
    def _languages(self) -> list[str]:
        known = dict(zip(self._texts.paths, self._texts.languages, strict=True))
        return [known[path] for path in self._engine.paths]

    # --- ranked modes -------------------------------------------------------------------------------------------------

    def _ranked(self, request: SearchRequest) -> Found:
        query = _parsed(request)
        allowed = self._allowed(request, query)
        everything = bool(query.kinds) or request.group is not Group.FILE

        def ranked(mode: Mode) -> Ranking:
            return rank(
                self._engine,
                query,
                None if mode is Mode.LEXICAL else self._embedder,
                mode=mode.value,
                without=request.without,
                allowed=allowed,
                limit=max(_KIND_CANDIDATES, request.offset + request.limit) if everything else request.limit,
                offset=0 if everything else request.offset,
                rows=0 if request.group is Group.FILE else 2 * _ROWS_PER_FILE,
            )

        by_words_alone = False
        try:
            ranking = ranked(request.mode)
        except EmbeddingFailed:
            # Without the model a hybrid search still answers by words; a search by meaning alone must fail.
            if request.mode is not Mode.HYBRID:
                raise
            ranking, by_words_alone = ranked(Mode.LEXICAL), True
        shown, total = ranking.ranked, ranking.candidates
        extracts = None
        if request.extracts:
            extracts = Extracts(self._engine, self._snippets, self._excerpts, query.terms)
        if request.group is not Group.FILE:
            shown = self._spread(shown, query, request, extracts)
        if query.kinds:
            shown = [one for one in shown if self._snippet(one, query, 0).kind in query.kinds]
        if everything:
            total = len(shown)
            shown = shown[request.offset : request.offset + request.limit]
        hits = tuple(self._hit(one, query, request) for one in shown)
        if extracts is not None:
            hits = tuple(extracts.hit(one, hit, at) for at, (one, hit) in enumerate(zip(shown, hits, strict=True)))
        files = len(self._engine.paths) if allowed is None else int(allowed.sum())
        total = max(total, request.offset + len(hits))
        return Found(hits, total, request.offset, files, exhaustive=False, by_words_alone=by_words_alone)

    def _snippet(self, one: Ranked, query: Query, context: int) -> Snippet:
        return self._snippets.make(one.place, one.row, query.terms, context=context)

    def _hit(self, one: Ranked, query: Query, request: SearchRequest) -> Hit:
        made = self._snippet(one, query, request.context)
        return _hit_of(made, one.score, one.parts if request.explain else ())

    def _spread(
        self, ranked: Sequence[Ranked], query: Query, request: SearchRequest, extracts: Extracts | None
    ) -> list[Ranked]:
        """Return the rows of the files that were found, best first, each scored by itself and by its file.

        Grouped by symbol, each definition has only its best row; rows outside of definitions count as one definition.
        """
        rows = [_row_of(one, *row) for one in ranked for row in one.rows]
        rows.sort(key=lambda one: -one.score)
        if request.group is Group.NONE:
            return rows
        found: dict[tuple[int, object], Ranked] = {}
        # Whose definition a row is must be looked up, so not all rows are, but many more than are shown.
        for one in rows[: max(_KIND_CANDIDATES, 2 * (request.offset + request.limit))]:
            definition = extracts.told(one).around if extracts else self._snippet(one, query, 0).symbol
            found.setdefault((one.place, definition), one)
        return list(found.values())

    def _allowed(self, request: SearchRequest, query: Query) -> Flags | None:
        """Return which files may be found; None when all may."""
        files = file_filter(query)
        if files.takes_all and not (request.below or query.must or query.excluded):
            return None
        allowed = files.keep(self._table, self._languages if files.asks_language else ())
        if request.below:
            allowed &= np.fromiter((is_below(path, request.below) for path in self._engine.paths), np.bool_)
        tick = deadline(len(self._texts))
        for words, wanted in ((query.must, True), (query.excluded, False)):
            for word in words:
                allowed &= self._holding(word, tick) == wanted
        return allowed

    def _holding(self, word: str, tick: Callable[[int], None]) -> Flags:
        """Return which files of the engine contain this text, in upper or lower case."""
        texts = self._texts
        tally = texts.tally(compiled(word, case=Case.INSENSITIVE), np.ones(len(texts), np.bool_), tick)
        holding = {texts.paths[place] for place in np.flatnonzero(tally.matches).tolist()}
        return np.fromiter((path in holding for path in self._engine.paths), np.bool_, len(self._engine.paths))

    def grep(self, request: GrepRequest) -> tuple[int, tuple[str, ...], Iterator[GrepFile]]:
        """Return how many files are looked at, the paths of the request that no file is below, and what is found."""
        texts = self._texts
        within = _within(request.below, request.files)
        unknown = tuple(one for one in request.below if not any(is_below(path, (one,)) for path in texts.paths))
        return int(chosen_files(texts, within).sum()), unknown, grep(texts, request, within)

    # --- exhaustive modes ---------------------------------------------------------------------------------------------

    def _regex(self, request: SearchRequest) -> Found:
        wanted = compiled(request.query, regex=True)
        # A pattern contains no operators, so the filters come from the options alone.
        within = _within(request.below, file_filter(_parsed(replace(request, query="x"))))
        one_by_one = request.group is not Group.FILE
        per_file = None if one_by_one else MAX_MATCH_LINES
        found = exact(
            self._texts, wanted, within=within, limit=request.limit, offset=request.offset, lines_per_file=per_file
        )
        total = found.matching_lines if one_by_one else found.matching_files
        hits = [hit for file in found.files for hit in self._matching(file, request, one_by_one)]
        return Found(tuple(hits), total, request.offset, found.coverage.files, exhaustive=True)

    def _matching(self, file: FileMatches, request: SearchRequest, one_by_one: bool) -> list[Hit]:
        """Return one hit for each matching line of a file, or one hit with the lines that fit into a snippet."""
        if one_by_one:
            return [self._excerpts.of_lines(file.path, [line], request.context) for line in file.lines]
        shown = [line for line in file.lines if line.line < file.lines[0].line + SNIPPET_LINES]
        hit = self._excerpts.of_lines(file.path, shown, request.context)
        lines = tuple(line.line for line in file.lines)
        hit = replace(hit, match_lines=lines, lines_left=file.matching_lines - len(lines))
        return [of_matches(hit, file) if request.extracts else hit]

    def _symbols(self, request: SearchRequest) -> Found:
        query = _parsed(request)
        within = _within(request.below, file_filter(query))
        found = self._symbol_finder.find(
            query.text, kinds=query.kinds, within=within, limit=request.offset + request.limit
        )
        hits = []
        for match in found.symbols[request.offset :]:
            score = 1.0 - NameFit[match.way.upper()] / len(NameFit)
            hit = self._excerpts.of_symbol(match.path, match.symbol, score, request.context)
            hits.append(of_definition(hit, match.symbol) if request.extracts else hit)
        return Found(tuple(hits), found.total, request.offset, found.coverage.files, exhaustive=True)

    def _paths(self, request: SearchRequest) -> Found:
        query = _parsed(request)
        within = _within(request.below, file_filter(query))
        found = self._path_finder.find(query.text, within=within, limit=request.offset + request.limit)
        hits = [
            self._excerpts.of_file(match.path, match.score / _PATH_SCORE) for match in found.paths[request.offset :]
        ]
        return Found(tuple(hits), found.total, request.offset, found.coverage.files, exhaustive=True)


# --- parts ------------------------------------------------------------------------------------------------------------


def _row_of(one: Ranked, row: int, score: float) -> Ranked:
    """Return a row of a file that was found; the parts of its score are those of its file, in proportion."""
    share = score / one.score if one.score else 1.0
    parts = tuple((name, share * part) for name, part in one.parts)
    return one._replace(score=score, row=row, parts=parts, rows=())


def _hit_of(made: Snippet, score: float, parts: Parts) -> Hit:
    return Hit(
        path=made.path,
        start_line=made.start_line,
        end_line=made.end_line,
        language=made.language,
        kind=made.kind,
        symbol=made.symbol,
        score=float(score),
        text=made.text,
        match_lines=made.match_lines,
        file_hash=made.file_hash,
        reasons=tuple((name, float(part)) for name, part in parts),
        marks=made.marks,
    )


def question_of(request: SearchRequest) -> str:
    """Return a digest of all fields of a request that decide the results and their order, without page and form."""
    parts: list[Canonical] = [request.query, request.mode.value, request.scope, request.group.value]
    lists = (request.languages, request.include, request.exclude, request.below, sorted(request.without))
    return question_digest(*parts, *(list(one) for one in lists))


def narrowing_scope(request: SearchRequest) -> bool:
    """Whether the scope of a request leaves files out; one that is named in the query wins over it."""
    if request.mode is Mode.REGEX:
        request = replace(request, query="x")
    return _parsed(request).scope is not _parsed(replace(request, scope=None)).scope


def check(request: SearchRequest) -> None:
    """Check a request without an index; raises `InvalidQuery` or `InvalidPattern`."""
    _known(request.without)
    if request.mode is Mode.REGEX:
        compiled(request.query, regex=True)
        request = replace(request, query="x")
    _parsed(request)


def _known(signals: frozenset[str]) -> None:
    for name in sorted(signals - SIGNALS):
        known = ", ".join(sorted(SIGNALS))
        raise InvalidQuery(problem=f"There is no signal called `{name[:40]}`; there are {known}.")


def _parsed(request: SearchRequest) -> Query:
    return _parsed_once(request.query, request.languages, request.include, request.exclude, request.scope)


@lru_cache(_QUERIES_KEPT)
def _parsed_once(
    query: str, languages: tuple[str, ...], include: tuple[str, ...], exclude: tuple[str, ...], scope: str | None
) -> Query:
    return parse(query, languages=languages, include=include, exclude=exclude, scope=scope)


def is_below(path: str, below: Sequence[str]) -> bool:
    """Whether a file is one of these files, or lies in one of these folders."""
    return any(path == one or path.startswith(f"{one}/") for one in below)


def _within(below: Sequence[str], files: FileFilter) -> Within | None:
    if files.takes_all and not below:
        return None
    return lambda path, language: (not below or is_below(path, below)) and files(path, language)


def _budgeted(found: Found, most: int | None) -> Found:
    """Return the page with the results that fit into `most` tokens; a first result that is too long is shortened."""
    if most is None:
        return found
    kept = tuple(fit(found.hits, most))
    is_cut = not kept and bool(found.hits)
    if is_cut:
        first = found.hits[0]
        room = most - tokens_in(first.path + first.symbol)
        cut = shortened if first.extracts else shortened_to
        kept = (cut(first, lambda hit: tokens_in(hit.shown) <= room),) if room > 0 else ()
    return replace(found, hits=kept, shortened=is_cut)
