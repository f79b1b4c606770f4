"""The codebase that `cairn.open` gives to programs; the package itself exports what is promised to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from os import PathLike
from typing import Any

from cairn.ask.forks import FORKS, one_question
from cairn.ask.gate import gate_error
from cairn.ask.prepare import Policy, prepare
from cairn.ask.questions import GRAPH, MAP, OUTLINE, READ, REFS, SEARCH, SIMILAR, SYMBOL
from cairn.ask.relations import call_graph, references, repo_map
from cairn.ask.session import Session, whole
from cairn.ask.structure import Asked, asked_of, checked_lines, file_outline, find_symbol, read_file, similar_code
from cairn.ask.values import Reply, Told
from cairn.ask.whereabouts import where
from cairn.core.limits import OPEN_WAIT_SECONDS
from cairn.core.options import Face, called, is_writable
from cairn.core.progress import Phase, Progress
from cairn.errors import UsageError
from cairn.graph.calls import CallGraph, Direction
from cairn.graph.outline import Definition, FileOutline, FileText
from cairn.graph.repo_map import RepoMap
from cairn.graph.uses import Uses
from cairn.search.types import Hit, SearchRequest
from cairn.source.root import printable
from cairn.store import RunKind
from cairn.sync.codebase import open_codebase
from cairn.sync.status import look

CLOSED = "This codebase was closed; `cairn.open` opens it again."
# Before each question: an index that somebody has cleared meanwhile is not made again.
_EACH = Policy(create=False)
_LOOK_AGAIN_SECONDS = 0.1


class Code(AbstractContextManager["Code"]):
    """An open codebase: search it and ask about its structure. Use it as a context manager.

    Before each answer the files are compared with the index, and what has changed is taken in. Paths are relative to
    the root. A method raises a `CairnError` that says what is wrong and what to do.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._closed = False
        self._process = os.getpid()

    @property
    def root(self) -> str:
        """The absolute path of the folder that is indexed."""
        return self._session.root

    @property
    def snapshot(self) -> str | None:
        """The id of the snapshot that answers; None after `close`."""
        return self._session.snapshot

    @property
    def state(self) -> str:
        """Where the codebase stands: `sync_completed` or `indexed` when its index answers, else what is in the way."""
        session = self._session
        return where(look(session.target.codebase, session.home, clock=session.clock, measured=False)).state.value

    @property
    def requires_reindex(self) -> tuple[str, ...]:
        """The settings in which `.cairn.toml` asks for another index than the one that answers; most often none.

        The one from before answers until somebody runs `cairn reindex`.
        """
        found = open_codebase(self.root, self._session.environ).proposal
        return () if found is None else found.differs

    @one_question
    def last_indexed(self) -> dict[str, datetime]:
        """Return every indexed file with the time from which on the index holds what the file held then, in UTC.

        A file that was modified later than that is read again by the next run.
        """
        found = self._prepared().opened()
        if found is None:
            raise gate_error(self._session.gate, printable(os.fsencode(self.root)))
        searcher, _ = found
        return searcher.view.indexed_at()

    # The arguments of a question and their descriptions come from `ask/questions.py`; `python -m tests.docs.tables
    # --write` writes them here. `locals()` in the first line of a body holds all of them.

    @one_question
    def search(
        self,
        query: str,
        k: int = 10,
        mode: str = "hybrid",
        *,
        scope: str | None = None,
        group: str = "file",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        languages: Sequence[str] = (),
        context: int = 0,
        max_tokens: int | None = None,
        without: Sequence[str] = (),
        offset: int = 0,
        explain: bool = False,
    ) -> list[Hit]:
        """Return the best `k` results for a query, the best first.

        The next page has the same arguments and as `offset` the number of all hits before. With `max_tokens` a page may
        hold fewer than `k`; of a first hit that is too long the first lines are given.

        Args:
            query: What to look for: a question, words, a name, or a pattern for mode `regex`.
            k: How many results. From 1 to 100.
            mode: How to search: `symbol`, `regex` and `path` look at everything, the others rank. One of `hybrid`,
                `semantic`, `lexical`, `symbol`, `regex`, `path`.
            scope: Only the code that runs, or only tests, docs or config. One of `runtime`, `tests`, `docs`, `config`,
                `all`.
            group: Show of each file its best place, each definition once, or every place. One of `file`, `symbol`,
                `none`.
            include: Only files whose path fits one of these globs.
            exclude: No files whose path fits one of these globs.
            languages: Only files of these languages.
            context: Lines around each result. From 0 to 200.
            max_tokens: Leave out results beyond about so many tokens of a language model.
            without: Rank without these signals.
            offset: How many results to pass over: those of the pages before.
            explain: Give each hit its `reasons`: what its score is made of.

        Raises `InvalidQuery` or `InvalidPattern` when the query cannot be used, and `QueryTimeout` when it takes too
        long.
        """
        asked = SEARCH.values(Face.PYTHON, locals())
        answer = self._prepared().ask(SearchRequest(**asked))
        if answer.found is None:
            raise gate_error(self._session.gate, printable(os.fsencode(self.root)))
        return list(answer.found.hits)

    @one_question
    def outline(
        self,
        path: str,
        symbol: str | None = None,
        start: int = 1,
        end: int | None = None,
    ) -> FileOutline:
        """Return the definitions of a file, or with `symbol` one definition and those inside it.

        Args:
            path: The file, relative to the root.
            symbol: Only this definition and what is inside of it.
            start: The first line.
            end: The last line.

        Raises `NotFound` when the file is not indexed (and says why), `Unsupported` when it could not be parsed, and
        `Ambiguous` when several definitions have the name.
        """
        asked = OUTLINE.values(Face.PYTHON, locals())
        return self._value(file_outline(self._prepared(), self._lines_of(path, start, end), **asked))

    @one_question
    def read(self, path: str, start: int = 1, end: int | None = None) -> FileText:
        """Return lines of a file as they were indexed; without numbers the whole file.

        `FileText.disk` says whether the file has changed since.

        Args:
            path: The file, relative to the root.
            start: The first line.
            end: The last line.

        Raises `NotFound` when the file is not indexed.
        """
        READ.values(Face.PYTHON, locals())
        return self._value(read_file(self._prepared(), self._lines_of(path, start, end)))

    @one_question
    def symbol(
        self,
        name: str,
        k: int = 10,
        *,
        kinds: Sequence[str] = (),
        exact: bool = False,
        languages: Sequence[str] = (),
        offset: int = 0,
    ) -> list[Definition]:
        """Return the best `k` definitions whose name fits, the best first; the whole snapshot is looked at.

        Args:
            name: A name, or a part of it; `Class.method` and `mod::name` too.
            k: How many results. From 1 to 100.
            kinds: Only these kinds of definitions. Some of `module`, `namespace`, `class`, `interface`, `struct`,
                `enum`, `union`, `trait`, `object`, `impl`, `type`, `function`, `method`, `constructor`, `property`,
                `field`, `constant`, `variable`, `enum_member`, `macro`, `heading`, `key`, `rule`, `table`, `element`.
            exact: The one definition that is meant: by its name or as FILE:LINE.
            languages: Only files of these languages.
            offset: How many results to pass over: those of the pages before.

        With `exact`, raises `Ambiguous` when several definitions are meant and `NotFound` when there is none.
        """
        asked = SYMBOL.values(Face.PYTHON, locals())
        return list(self._value(find_symbol(self._prepared(), name, **asked)).definitions)

    @one_question
    def similar(
        self,
        path: str,
        line: int,
        k: int = 10,
        *,
        same_file: bool = False,
    ) -> list[Hit]:
        """Return the `k` chunks that are most similar to the chunk on a line of a file, the most similar first.

        Args:
            path: The file, relative to the root.
            line: A line of the code that others may be like.
            k: How many results. From 1 to 100.
            same_file: Look in that file too.

        Raises `NotFound` when the file is not indexed or has no such line.
        """
        asked = SIMILAR.values(Face.PYTHON, locals())
        place = Asked(path, path, self.root, checked_lines(line, line))
        return list(self._value(similar_code(self._prepared(), place, **asked)).found.hits)

    @one_question
    def callers(
        self,
        name: str,
        k: int = 50,
        *,
        tests: bool = False,
        to: str | None = None,
        depth: int = 1,
        min_tier: str = "likely",
        path: str | None = None,
        exact: bool = False,
    ) -> CallGraph:
        """Return who calls a definition, up to `depth` steps away: at most `k` definitions.

        Args:
            name: A definition: its name, `Class.method` or `FILE:LINE`.
            k: How many definitions. From 1 to 500.
            tests: Only the tests that reach it, with the way from each.
            to: The shortest way of calls to this definition instead.
            depth: How many steps far. From 1 to 3.
            min_tier: How sure a use must be to be listed. One of `proven`, `likely`, `name_only`.
            path: The file that defines it, where several do.
            exact: Refuse a name that several definitions have, instead of answering for the best.

        Raises the errors of `references`.
        """
        asked = GRAPH.values(Face.PYTHON, locals())
        return self._calls(name, path, asked, Direction.TESTS if tests else Direction.CALLERS, to)

    @one_question
    def callees(
        self,
        name: str,
        k: int = 50,
        *,
        tests: bool = False,
        to: str | None = None,
        depth: int = 1,
        min_tier: str = "likely",
        path: str | None = None,
        exact: bool = False,
    ) -> CallGraph:
        """Return what a definition and the definitions inside it call, up to `depth` steps away.

        Args:
            name: A definition: its name, `Class.method` or `FILE:LINE`.
            k: How many definitions. From 1 to 500.
            tests: Only the tests that reach it, with the way from each.
            to: The shortest way of calls to this definition instead.
            depth: How many steps far. From 1 to 3.
            min_tier: How sure a use must be to be listed. One of `proven`, `likely`, `name_only`.
            path: The file that defines it, where several do.
            exact: Refuse a name that several definitions have, instead of answering for the best.

        Raises the errors of `references`.
        """
        asked = GRAPH.values(Face.PYTHON, locals())
        return self._calls(name, path, asked, Direction.TESTS if tests else Direction.CALLEES, to)

    def _calls(
        self, name: str, path: str | None, asked: dict[str, Any], direction: Direction, to: str | None
    ) -> CallGraph:
        file = None if path is None else Asked(path, path, self.root)
        symbol, goal = asked_of(name, self.root), None if to is None else asked_of(to, self.root)
        return self._value(call_graph(self._prepared(), symbol, file=file, direction=direction, to=goal, **asked))

    @one_question
    def references(
        self,
        name: str,
        k: int = 100,
        *,
        path: str | None = None,
        min_tier: str = "name_only",
        roles: Sequence[str] = (),
        exact: bool = False,
        offset: int = 0,
    ) -> Uses:
        """Return the first `k` imports and uses of a definition, each with how sure it is, and the counts of all.

        Uses less sure than `min_tier` are counted and not listed.

        Args:
            name: A definition: its name, `Class.method` or `FILE:LINE`.
            k: How many imports and uses. From 1 to 10,000.
            path: The file that defines it, where several do.
            min_tier: How sure a use must be to be listed. One of `proven`, `likely`, `name_only`.
            roles: Only uses of these roles; `override` and `implementation` are found only when asked for. Some of
                `call`, `annotation`, `decorator`, `value`, `read`, `write`, `type`, `base`, `override`,
                `implementation`, `import`, `string`.
            exact: Refuse a name that several definitions have, instead of answering for the best.
            offset: How many results to pass over: those of the pages before.

        Raises `Ambiguous` when several definitions have the name, `NotFound` when none has it, and `Unsupported` when
        the uses of such a definition are not known.
        """
        asked = REFS.values(Face.PYTHON, locals())
        file = None if path is None else Asked(path, path, self.root)
        return self._value(references(self._prepared(), asked_of(name, self.root), file=file, **asked))

    @one_question
    def map(
        self,
        query: str | None = None,
        *,
        focus: Sequence[str] = (),
        include: Sequence[str] = (),
        cycles: bool = False,
        max_tokens: int = 1000,
    ) -> RepoMap:
        """Return an overview of the codebase that fits in `max_tokens`: its folders, entry points and main definitions.

        Args:
            query: Draw the map around what a search for this finds.
            focus: Draw it around these files, relative to the root.
            include: Only files whose path fits one of these globs.
            cycles: The cycles of imports between files instead of the map.
            max_tokens: About how many tokens of a language model. From 128 to 10,000.

        Raises `NotFound` when a file in `focus` is not indexed.
        """
        asked = MAP.values(Face.PYTHON, locals())
        files = [Asked(path, path, self.root) for path in focus]
        return self._value(repo_map(self._prepared(), focus=files, **asked))

    def _prepared(self) -> Session:
        """Compare the files with the index, take in what has changed, and return the session that answers."""
        if self._closed:
            raise UsageError(problem=CLOSED)
        if self._process != os.getpid():
            # A fork has come between two steps of another thread: what that left is not trusted.
            left = self._session
            self._session, self._process = Session(left.target, left.environ, left.clock), os.getpid()
        prepare(self._session, _EACH)
        return self._session

    def _lines_of(self, path: str, start: int, end: int | None) -> Asked:
        lines = None if (start, end) == (1, None) else checked_lines(start, end)
        return Asked(path, path, self.root, lines)

    def _value(self, reply: Reply[Told]) -> Told:
        if reply.value is not None:
            return reply.value
        raise reply.miss.error if reply.miss else gate_error(reply.gate, printable(os.fsencode(self.root)))

    def __exit__(self, *_: object) -> None:
        self.close()

    @one_question
    def close(self) -> None:
        """Release the snapshot; a second call does nothing."""
        self._closed = True
        self._session.close()


@one_question
def open_session(path: str | PathLike[str], progress: Callable[[Progress], None] | None) -> Session:
    """Index the folder or catch up with it, and open it; raises the error of its gate when it cannot answer.

    Where another process indexes the folder for the first time, that is waited for.
    """
    session = Session(whole(name_of(path, "path"), os.environ), os.environ)
    tell = _told(progress)
    until = session.now() + OPEN_WAIT_SECONDS
    try:
        while True:
            # The caller has named this folder, so its size needs no consent.
            prepare(session, Policy(consent=lambda _: True, tell=tell))
            if session.gate.is_open:
                return session
            if not _is_being_made(session) or session.now() > until:
                raise gate_error(session.gate, printable(os.fsencode(session.root)))
            tell(Progress(Phase.WALKING))
            session.clock.sleep(_LOOK_AGAIN_SECONDS)
    except BaseException:
        session.close()
        raise


def _is_being_made(session: Session) -> bool:
    """Whether another process makes the first index of this folder, or made it a moment ago."""
    facts = session.gate.facts
    if facts.differs:
        return False
    if facts.is_indexing:
        return facts.writer is not None and facts.writer.kind == RunKind.CREATE
    return facts.last_good is None and session.was_busy


def name_of(path: object, argument: str) -> str:
    """Return the name that a program gave as this argument; raises `UsageError` when it can be none of the disk."""
    found = path.__fspath__() if isinstance(path, PathLike) else path
    if not isinstance(found, str):
        raise UsageError(problem=f"`{argument}` takes the name of a file or folder, not {called(found)}.")
    if not found or not is_writable(found):
        raise UsageError(problem=f"`{argument}` takes the name of a file or folder, and none has this one.")
    return found


def _told(progress: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    if progress is not None and not callable(progress):
        raise UsageError(problem=f"`progress` takes a function, not {called(progress)}.")

    def tell(at: Progress) -> None:
        FORKS.let_pass()
        if progress is not None:
            progress(at)

    return tell
