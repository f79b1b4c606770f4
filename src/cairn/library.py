"""`cairn.open`: a codebase for programs. What is promised to them is exported by the package itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TypeVar

from cairn.answer.gate import gate_error
from cairn.errors import UsageError
from cairn.search.types import Group, Hit, Mode, SearchRequest
from cairn.session import Session, Steps, whole
from cairn.source.root import printable
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
        """The best `k` results, the best first. `InvalidQuery` and `InvalidPattern` say what is wrong with a query."""
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
