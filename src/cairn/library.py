"""`cairn.open`: a codebase for programs. What is promised to them is exported by the package itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TypeVar

from cairn.answer.gate import gate_error
from cairn.answer.structure import Reply, Told
from cairn.errors import UsageError
from cairn.graph.calls import CallGraph, Direction
from cairn.graph.outline import Definition, FileOutline
from cairn.graph.passage import FileText
from cairn.graph.repo_map import RepoMap
from cairn.graph.scopes import Tier
from cairn.graph.uses import Uses
from cairn.limits import DEFAULT_GRAPH_NODES, DEFAULT_MAP_TOKENS, DEFAULT_REFERENCES
from cairn.relations import call_graph, references, repo_map
from cairn.search.types import Group, Hit, Mode, SearchRequest
from cairn.session import Session, Steps, whole
from cairn.source.root import printable
from cairn.structure import Asked, asked_of, checked_lines, file_outline, find_symbol, read_file, similar_code
from cairn.sync.report import Progress

E = TypeVar("E", bound=StrEnum)


class Code(AbstractContextManager["Code"]):
    """A codebase that can be searched. It answers from one snapshot for as long as it is open."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def root(self) -> str:
        """The folder that was indexed."""
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
        """The best `k` results, the best first. `InvalidQuery` and `InvalidPattern` say what is wrong with a query.

        Of a file, `group` shows its best place (`file`), each definition once (`symbol`), or every place (`none`).
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
        """The definitions of a file (a path below the root), or only one of them with what is inside of it.

        `NotFound` says why there is no such file, `Unsupported` that it was not parsed, `Ambiguous` that there are
        several such names.
        """
        return self._value(file_outline(self._session, Asked(path, path, self.root), symbol=symbol))

    def read(self, path: str, start: int = 1, end: int | None = None) -> FileText:
        """Lines of a file as they were indexed, the whole of it without numbers; `disk` says whether it has changed."""
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
        """The best `k` definitions whose name fits, the best first; all of the snapshot is looked at.

        With `exact` it is the one that is meant: `Ambiguous` when there are several, `NotFound` when there is none.
        """
        reply = find_symbol(self._session, name, kinds=kinds, languages=languages, exact=exact, limit=k)
        return list(self._value(reply).definitions)

    def similar(self, path: str, line: int, k: int = 10, *, same_file: bool = False) -> list[Hit]:
        """The best `k` chunks that are like the one on this line, the most similar first."""
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
        """Who calls a definition, up to three steps far: at most `k` definitions and the edges between them.

        A definition is named, and what is raised, as for `references`.
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
        """What a definition and those inside of it call, up to three steps far; as for `callers`."""
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
        """The first `k` imports and uses of a definition, each with how sure it is, and counts of all.

        `name` is a name, `Class.method` or `FILE:LINE`; `path` is the file that defines it. `Ambiguous` when several
        definitions are meant, `NotFound` when none is, `Unsupported` when uses of such a definition are not known.
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
        """The codebase in so many tokens, `text` first of all; around what a query finds and the files in `focus`.

        `include` are globs of the files to show. `NotFound` says why there is no such file to focus on.
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


def open_code(path: str, progress: Callable[[Progress], None] | None) -> Code:
    """Index the folder or catch up with it, and open it. Raises an error of its gate when it cannot answer."""
    session = Session(whole(path, os.environ), os.environ)
    try:
        # Who calls this has asked for it: the size of the folder is no surprise.
        session.prepare(Steps(consent=lambda _: True, tell=progress or (lambda _: None)))
        if not session.gate.is_open:
            raise gate_error(session.gate, printable(os.fsencode(session.root)))
    except BaseException:
        session.close()
        raise
    return Code(session)


def _one_of(kind: type[E], what: str, value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise UsageError(problem=f"There is no {what} called {value[:40]!r}; there are {known}.") from None
