"""`cairn.aio`: a codebase for programs that wait for many things at once.

    import cairn.aio

    async with cairn.aio.open(".") as code:
        for hit in await code.search("where is the lease stolen"):
            print(hit.path, hit.start_line, hit.symbol)

Each call works in a thread, one after the other, so that the loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from os import PathLike
from typing import TypeVar

from cairn.ask.forks import one_question
from cairn.ask.gate import gate_error
from cairn.ask.library import CLOSED, name_of, open_session
from cairn.ask.meaning import database_of
from cairn.ask.questions import MAP, REFS, SEARCH
from cairn.ask.relations import references, repo_map, symbol_asked_for
from cairn.ask.session import Session
from cairn.ask.structure import Asked, reply_of
from cairn.ask.values import Reply, Told
from cairn.core.limits import MAX_REFERENCES
from cairn.core.options import Face, called
from cairn.errors import CairnError, UsageError
from cairn.graph.outline import Definition
from cairn.graph.repo_map import RepoMap
from cairn.graph.scopes import Tier
from cairn.graph.uses import Use
from cairn.search.types import Hit, Mode, SearchRequest
from cairn.source.root import printable, relative_to_root
from cairn.sync.report import RunOptions, RunReport
from cairn.sync.run import reindex, sync

T = TypeVar("T")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.core.progress import Progress
_HAS_CONTEXT = "SELECT 1 FROM contexts WHERE id = ? AND enabled"


class AsyncCode(AbstractAsyncContextManager["AsyncCode"]):
    """A codebase that is asked from an event loop. It answers from one snapshot until it is reindexed or closed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turn = asyncio.Lock()
        self._is_closed = False

    @property
    def root(self) -> str:
        """The folder that was indexed."""
        return self._session.root

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the snapshot; a second call does nothing."""
        async with self._turn:
            self._is_closed = True
            await asyncio.to_thread(one_question(self._session.close))

    async def search(self, query: str, mode: Mode = Mode.HYBRID, scope: str | None = None) -> list[Hit]:
        """What fits a query, the best first; `scope` is `runtime`, `tests`, `docs`, `config` or `all`."""
        asked = SEARCH.values(Face.PYTHON, {"query": query, "mode": mode, "scope": scope})
        return await self._done(lambda: self._search(SearchRequest(**asked)))

    async def get_symbol(self, name: str, path: str | None = None) -> Definition | None:
        """The one definition of this name, in a file or anywhere; None when there is none or more than one."""
        REFS.values(Face.PYTHON, {"name": name, "path": path})
        return await self._done(lambda: self._symbol(name, path))

    async def get_references(self, symbol: Definition, context_id: int) -> list[Use]:
        """Who imports and uses a definition; `KeyError` for a context that nobody knows."""
        if not isinstance(symbol, Definition):
            raise UsageError(problem=f"`symbol` takes a definition, not {called(symbol)}.")
        return await self._done(lambda: self._references(symbol, context_id))

    async def get_map(self, include: list[str]) -> RepoMap:
        """What the codebase consists of; with globs only of the files that fit one."""
        asked = MAP.values(Face.PYTHON, {"include": include})
        return await self._done(lambda: self._value(repo_map(self._session, **asked)))

    async def reindex_incremental(self, changed_paths: Sequence[PathLike[str]]) -> RunReport:
        """Take in what has changed. The paths are hints: whatever else has changed is taken in too."""
        root = self._session.target.codebase.root
        if isinstance(changed_paths, str | bytes) or not isinstance(changed_paths, Iterable):
            raise UsageError(problem=f"`changed_paths` takes a list of paths, not {called(changed_paths)}.")
        for path in changed_paths:
            # A path that leads out of the root is refused.
            relative_to_root(root, name_of(path, "changed_paths"), root.path)
        return await self._done(lambda: self._run(sync))

    async def reindex_full(self) -> RunReport:
        """Build all of it anew, beside the old one."""
        return await self._done(lambda: self._run(reindex))

    # --- in a thread --------------------------------------------------------------------------------------------------

    async def _done(self, work: Callable[[], T]) -> T:
        async with self._turn:
            if self._is_closed:
                raise UsageError(problem=CLOSED)
            return await asyncio.to_thread(one_question(work))

    def _search(self, request: SearchRequest) -> list[Hit]:
        found = self._session.ask(request).found
        if found is None:
            raise self._closed()
        return list(found.hits)

    def _symbol(self, name: str, path: str | None) -> Definition | None:
        root = self._session.root
        asked, file = Asked(name, name, root), None if path is None else Asked(path, path, root)
        reply = reply_of(self._session, name, lambda at: symbol_asked_for(self._session, at, asked, file))
        return None if reply.miss is not None else self._value(reply)

    def _references(self, symbol: Definition, context_id: int) -> list[Use]:
        if database_of(self._session).ask(lambda db: db.execute(_HAS_CONTEXT, (context_id,)).fetchone()) is None:
            raise KeyError(context_id)
        asked = Asked(symbol.place, symbol.path, self._session.root, (symbol.start_line, symbol.start_line))
        reply = references(self._session, asked, min_tier=Tier.LIKELY, limit=MAX_REFERENCES)
        return list(self._value(reply).uses)

    def _run(self, run: Callable[..., RunReport]) -> RunReport:
        report = run(self._session.target.codebase, RunOptions(self._session.home), lambda _: None)
        self._session.look()
        return report

    def _value(self, reply: Reply[Told]) -> Told:
        if reply.value is not None:
            return reply.value
        raise reply.miss.error if reply.miss else self._closed()

    def _closed(self) -> CairnError:
        return gate_error(self._session.gate, self._root)

    @property
    def _root(self) -> str:
        return printable(self._session.root.encode("utf-8", "surrogateescape"))


@asynccontextmanager
async def open(  # noqa: A001 - as `cairn.open`
    path: str | PathLike[str] = ".", *, progress: Callable[[Progress], None] | None = None
) -> AsyncIterator[AsyncCode]:
    """The codebase that holds this folder, indexed or brought up to date as by `cairn.open`, and closed at the end."""
    async with AsyncCode(await asyncio.to_thread(open_session, path, progress)) as code:
        yield code
