"""`cairn.open`: a codebase for programs. What is promised to them is exported by the package itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TypeVar

from cairn.ask.gate import gate_error
from cairn.ask.prepare import Policy, prepare
from cairn.ask.relations import call_graph, references, repo_map
from cairn.ask.session import Session, whole
from cairn.ask.structure import Asked, asked_of, checked_lines, file_outline, find_symbol, read_file, similar_code
from cairn.ask.values import Reply, Told
from cairn.core.limits import DEFAULT_GRAPH_NODES, DEFAULT_MAP_TOKENS, DEFAULT_REFERENCES
from cairn.errors import UsageError
from cairn.graph.calls import CallGraph, Direction
from cairn.graph.outline import Definition, FileOutline
from cairn.graph.passage import FileText
from cairn.graph.repo_map import RepoMap
from cairn.graph.scopes import Tier
from cairn.graph.uses import Uses
from cairn.search.types import Group, Hit, Mode, SearchRequest
from cairn.source.root import printable
from cairn.sync.report import Progress

E = TypeVar("E", bound=StrEnum)


class Code(AbstractContextManager["Code"]):
    """An open codebase: search it and ask about its structure. Use it as a context manager.

    Every answer comes from the one snapshot that was newest when the codebase was opened. Paths are relative to the
    root. A method raises a `CairnError` that says what is wrong and what to do.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def root(self) -> str:
        """The absolute path of the folder that is indexed."""
        return self._session.root

    @property
    def snapshot(self) -> str | None:
        """The id of the snapshot that answers; None after `close`."""
        return self._session.snapshot

    def search(
        self,
        query: str,
        k: int = 10,
        mode: str = "hybrid",
        *,
        languages: Sequence[str] = (),
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        scope: str | None = None,
        context: int = 0,
        group: str = "file",
        explain: bool = False,
    ) -> list[Hit]:
        """Return the best `k` results for a query, the best first.

        `mode` is `hybrid` (words and meaning), `lexical`, `semantic`, `symbol`, `regex` or `path`; the last three are
        exhaustive. `languages`, `include` and `exclude` (globs) choose the files, and `scope` is `runtime`, `tests`,
        `docs`, `config` or `all`. `context` adds lines around each result. `group` shows of each file its best place
        (`file`), each definition once (`symbol`) or every place (`none`). With `explain`, each hit has its `reasons`.

        Raises `InvalidQuery` or `InvalidPattern` when the query cannot be used, and `QueryTimeout` when it takes too
        long.
        """
        request = SearchRequest(
            query=query,
            mode=_one_of(Mode, "mode", mode),
            limit=k,
            languages=tuple(languages),
            include=tuple(include),
            exclude=tuple(exclude),
            scope=scope,
            context=context,
            group=_one_of(Group, "group", group),
            explain=explain,
        )
        answer = self._session.ask(request)
        if answer.found is None:
            raise gate_error(self._session.gate, printable(os.fsencode(self.root)))
        return list(answer.found.hits)

    def outline(self, path: str, symbol: str | None = None) -> FileOutline:
        """Return the definitions of a file, or with `symbol` one definition and those inside it.

        Raises `NotFound` when the file is not indexed (and says why), `Unsupported` when it could not be parsed, and
        `Ambiguous` when several definitions have the name.
        """
        return self._value(file_outline(self._session, Asked(path, path, self.root), symbol=symbol))

    def read(self, path: str, start: int = 1, end: int | None = None) -> FileText:
        """Return lines of a file as they were indexed, from `start` to `end`; without numbers the whole file.

        `FileText.disk` says whether the file has changed since. Raises `NotFound` when the file is not indexed.
        """
        lines = None if (start, end) == (1, None) else checked_lines(start, end)
        return self._value(read_file(self._session, Asked(path, path, self.root, lines)))

    def symbol(
        self,
        name: str,
        k: int = 10,
        *,
        kinds: Sequence[str] = (),
        languages: Sequence[str] = (),
        exact: bool = False,
    ) -> list[Definition]:
        """Return the best `k` definitions whose name fits, the best first; the whole snapshot is looked at.

        With `exact`, return the one definition that is meant: raises `Ambiguous` when there are several and `NotFound`
        when there is none.
        """
        reply = find_symbol(self._session, name, kinds=kinds, languages=languages, exact=exact, limit=k)
        return list(self._value(reply).definitions)

    def similar(self, path: str, line: int, k: int = 10, *, same_file: bool = False) -> list[Hit]:
        """Return the `k` chunks that are most similar to the chunk on a line of a file, the most similar first."""
        asked = Asked(path, path, self.root, checked_lines(line, line))
        return list(self._value(similar_code(self._session, asked, same_file=same_file, limit=k)).found.hits)

    def callers(
        self,
        name: str,
        k: int = DEFAULT_GRAPH_NODES,
        *,
        path: str | None = None,
        depth: int = 1,
        min_tier: str = "likely",
    ) -> CallGraph:
        """Return who calls a definition, up to `depth` steps away (at most three): at most `k` definitions.

        `name` and `path` name the definition, and errors are raised, as for `references`. Edges less sure than
        `min_tier` (`proven`, `likely` or `name_only`) are left out.
        """
        return self._calls(name, k, path, depth, min_tier, Direction.CALLERS)

    def callees(
        self,
        name: str,
        k: int = DEFAULT_GRAPH_NODES,
        *,
        path: str | None = None,
        depth: int = 1,
        min_tier: str = "likely",
    ) -> CallGraph:
        """Return what a definition and the definitions inside it call, up to `depth` steps away (at most three).

        `name` and `path` name the definition, and errors are raised, as for `references`. Edges less sure than
        `min_tier` (`proven`, `likely` or `name_only`) are left out.
        """
        return self._calls(name, k, path, depth, min_tier, Direction.CALLEES)

    def _calls(self, name: str, k: int, path: str | None, depth: int, min_tier: str, direction: Direction) -> CallGraph:
        tier = _one_of(Tier, "tier", min_tier)
        file = None if path is None else Asked(path, path, self.root)
        asked = asked_of(name, self.root)
        return self._value(
            call_graph(self._session, asked, file=file, direction=direction, depth=depth, min_tier=tier, limit=k)
        )

    def references(
        self, name: str, k: int = DEFAULT_REFERENCES, *, path: str | None = None, min_tier: str = "likely"
    ) -> Uses:
        """Return the first `k` imports and uses of a definition, each with how sure it is, and the counts of all.

        `name` is a name, `Class.method` or `FILE:LINE`; `path` is the file that defines it. Uses less sure than
        `min_tier` (`proven`, `likely` or `name_only`) are counted and not listed. Raises `Ambiguous` when several
        definitions have the name, `NotFound` when none has it, and `Unsupported` when the uses of such a definition are
        not known.
        """
        tier = _one_of(Tier, "tier", min_tier)
        file = None if path is None else Asked(path, path, self.root)
        return self._value(references(self._session, asked_of(name, self.root), file=file, min_tier=tier, limit=k))

    def map(
        self,
        query: str | None = None,
        *,
        focus: Sequence[str] = (),
        include: Sequence[str] = (),
        max_tokens: int = DEFAULT_MAP_TOKENS,
    ) -> RepoMap:
        """Return an overview of the codebase that fits in `max_tokens`: its folders, entry points and main definitions.

        A `query` and the files in `focus` decide what comes first; `include` (globs) chooses the files. Raises
        `NotFound` when a file in `focus` is not indexed.
        """
        asked = [Asked(path, path, self.root) for path in focus]
        return self._value(repo_map(self._session, query=query, focus=asked, include=include, max_tokens=max_tokens))

    def _value(self, reply: Reply[Told]) -> Told:
        if reply.value is not None:
            return reply.value
        raise reply.miss.error if reply.miss else gate_error(reply.gate, printable(os.fsencode(self.root)))

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the snapshot; a second call does nothing."""
        self._session.close()


def open_session(path: str, progress: Callable[[Progress], None] | None) -> Session:
    """Index the folder or catch up with it, and open it. Raises an error of its gate when it cannot answer."""
    session = Session(whole(path, os.environ), os.environ)
    try:
        # Who calls this has asked for it: the size of the folder is no surprise.
        prepare(session, Policy(consent=lambda _: True, tell=progress or (lambda _: None)))
        if not session.gate.is_open:
            raise gate_error(session.gate, printable(os.fsencode(session.root)))
    except BaseException:
        session.close()
        raise
    return session


def _one_of(kind: type[E], what: str, value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise UsageError(problem=f"There is no {what} called {value[:40]!r}; there are {known}.") from None
