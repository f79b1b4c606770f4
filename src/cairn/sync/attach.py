"""A run that writes, with the copy of its store on the user's search server; without one, where there is none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.fingerprint import EmbeddingIdentity
from cairn.engine.choose import LOCAL
from cairn.store.generations import published, read_claims
from cairn.sync.codebase import Codebase
from cairn.sync.place import Place
from cairn.sync.report import Tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.embedding.model import Embedder
    from cairn.store.disk import Disk
    from cairn.store.writer import Writer
    from cairn.sync.remote import Away

NOT_LOOKED_AFTER = (
    "The copy of {store} on the search server could not be looked after ({code}); the index here is as it should be."
)
Attach = Callable[["Writer"], AbstractContextManager["Away | None"]]


def attachment(
    codebase: Codebase,
    place: Place,
    tell: Tell,
    *,
    embedding: EmbeddingIdentity | None = None,
    clock: Clock = SYSTEM_CLOCK,
    hurried: bool = False,
) -> Attach | None:
    """What attaches a writer to the server that the settings name; None where they name none.

    `hurried`: somebody waits for an answer, so a server that let somebody wait in vain just now is not tried again.
    """
    if codebase.config.engine.kind == LOCAL:
        return None
    from cairn.sync.remote import Away, remote_rows  # noqa: PLC0415
    from cairn.sync.remote_view import is_resting  # noqa: PLC0415

    @contextmanager
    def attach(writer: Writer) -> Iterator[Away]:
        engine = remote_rows(codebase.config, place, os.environ, embedding=embedding, clock=clock)
        assert engine is not None, "a kind that is not local has a server"
        with closing(engine):
            if hurried and is_resting(codebase.config.engine.uri, clock):
                engine.limit(clock.monotonic())
            writer.away = away = Away(writer.fs, engine, tell, writer.lease.beat)
            try:
                yield away
            finally:
                writer.away = None

    return attach


def keep_copy(
    codebase: Codebase,
    place: Place,
    disk: Disk,
    tell: Tell,
    *,
    embedder: Embedder | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> tuple[str, ...]:
    """Let the server have the newest snapshot whole, after a run that did not send it; what to warn of."""
    if codebase.config.engine.kind == LOCAL:
        return ()
    from cairn.sync.remote import keep_marked  # noqa: PLC0415

    newest = next(published(disk, read_claims(disk), []), None)
    if newest is None or newest.completion is None:
        return ()
    identity = None if embedder is None else embedder.identity
    return keep_marked(codebase, place, disk, newest, tell, embedding=identity, clock=clock)


def attached(attach: Attach | None, writer: Writer) -> AbstractContextManager[Away | None]:
    """The writer, attached if there is anything to attach it to."""
    return nullcontext() if attach is None else attach(writer)
