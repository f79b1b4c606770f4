"""A Milvus server: one call at a time, each with a deadline, and what went wrong as one of our errors.

Only what did not get through is tried again; every call that we make may be made twice. The token comes from the
environment, and stands in no message. This is the one file that knows the package; it is imported when it is needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import ENGINE_BACKOFF_SECONDS, ENGINE_SEARCH_SECONDS, ENGINE_TRIES
from cairn.errors import EngineError, EngineFull, EngineMissing, EngineRefused, EngineUnreachable

_MOST_CHARS = 200
_MOST_CAUSES = 8
_AWAY = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "Fail connecting", "Retry timeout")
_REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED", "auth check failure", "invalid token")
_FULL = ("No space left", "disk quota", "DiskQuota", "memory quota", "RESOURCE_EXHAUSTED", "quota exceeded")


class Server:
    """A server, connected when it is first asked. Good for one thread at a time."""

    def __init__(self, uri: str, token: str = "", *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.uri = uri
        self._token = token
        self._clock = clock
        self._client: Any = None
        # How often the connection was lost: a server that came back may have let go of what was loaded.
        self.losses = 0
        # The time by which several servers or stores have to have answered together; None: each call has its own.
        self.until: float | None = None

    def close(self) -> None:
        """Let go of the connection; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Meanwhile all calls together last no longer than about this."""
        before, own = self.until, self._clock.monotonic() + seconds
        self.until = own if before is None else min(before, own)
        try:
            yield
        finally:
            self.until = before

    def call(self, ask: Callable[[Any, float], Any], seconds: float = ENGINE_SEARCH_SECONDS) -> Any:
        """What `ask(client, seconds left)` gives; raises an `EngineError`, and within about so many seconds."""
        until = self._clock.monotonic() + seconds
        if self.until is not None:
            until = min(until, self.until)
            if until <= self._clock.monotonic():
                raise EngineUnreachable(uri=self.uri, why="no time was left for it")
        wait = ENGINE_BACKOFF_SECONDS
        for attempt in range(1, ENGINE_TRIES + 1):
            left = until - self._clock.monotonic()
            try:
                return ask(self._connected(left), left)
            except EngineError:
                raise
            except Exception as problem:
                told = self._told(problem)
                self.losses += 1
                self.close()
                out_of_time = self._clock.monotonic() + wait >= until
                if attempt == ENGINE_TRIES or out_of_time or not isinstance(told, EngineUnreachable):
                    raise told from None
            self._clock.sleep(wait)
            wait *= 4
        raise AssertionError("the last attempt returns or raises")

    def _connected(self, seconds: float) -> Any:
        if self._client is None:
            try:
                from pymilvus import MilvusClient  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415
            except ImportError:
                raise EngineMissing from None
            # It logs every call that fails, with what was sent along.
            logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
            self._client = MilvusClient(uri=self.uri, token=self._token, timeout=max(seconds, 0.1), dedicated=True)
        return self._client

    def _told(self, problem: Exception) -> EngineError:
        """The error that this is. What the server says is shown short, on one line and without the token."""
        said = list(_chain(problem))
        # A connection that is refused says only that it failed; why, what it came from says.
        text = next((one for one in said if any(word in one for word in _REFUSED)), said[0])
        why = " ".join((text.replace(self._token, "…") if self._token else text).split())
        why = "".join(char for char in why if char.isprintable())[:_MOST_CHARS].rstrip(". ")
        if any(word in text for word in _REFUSED):
            return EngineRefused(uri=self.uri, why=why)
        if any(word.lower() in text.lower() for word in _FULL):
            return EngineFull(why=why)
        if any(word in text for word in _AWAY) or isinstance(problem, OSError | TimeoutError):
            return EngineUnreachable(uri=self.uri, why=why)
        return EngineError(why=why)


def _chain(problem: BaseException | None) -> Iterator[str]:
    """What an error says, and what those say that it came from, with the code of each."""
    for _ in range(_MOST_CAUSES):
        if problem is None:
            return
        kind = getattr(problem, "code", "")
        details = getattr(problem, "details", None)
        text = getattr(problem, "message", None) or (details() if callable(details) else None) or problem
        yield f"{kind() if callable(kind) else kind} {text}"
        problem = problem.__cause__ or problem.__context__


def schema_of(dimension: int, description: str, fields: tuple[tuple[str, str, int], ...]) -> Any:
    """A closed schema: an id, these fields (name, type, longest text), a vector and a sparse vector."""
    from pymilvus import DataType, MilvusClient  # noqa: PLC0415

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_MOST_CHARS)
    for name, kind, longest in fields:
        sized = {"max_length": longest} if longest else {}
        schema.add_field(name, getattr(DataType, kind), **sized)
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dimension)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    return schema
