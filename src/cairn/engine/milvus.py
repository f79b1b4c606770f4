"""Talk to a Milvus server: one call at a time, each with a deadline, and failures as errors of Cairn.

Only calls that did not get through are tried again; every call may safely be made twice. The token comes from the
environment, and is in no message. No other file imports the client package, and this one imports it when it is needed.
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
    """A server, connected at the first call. For use by one thread at a time."""

    def __init__(self, uri: str, token: str = "", *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.uri = uri
        self._token = token
        self._clock = clock
        self._client: Any = None
        # How often the connection was lost: a restarted server may have unloaded the collection.
        self.losses = 0
        # The deadline that several calls share; None when each call has its own.
        self.until: float | None = None

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit all calls inside the context to about this many seconds together."""
        before, own = self.until, self._clock.monotonic() + seconds
        self.until = own if before is None else min(before, own)
        try:
            yield
        finally:
            self.until = before

    def call(self, ask: Callable[[Any, float], Any], seconds: float = ENGINE_SEARCH_SECONDS) -> Any:
        """Return what `ask(client, seconds left)` gives; raises an `EngineError` after about `seconds` at most."""
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
            # The package logs every failed call together with what was sent.
            logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
            self._client = MilvusClient(uri=self.uri, token=self._token, timeout=max(seconds, 0.1), dedicated=True)
        return self._client

    def _told(self, problem: Exception) -> EngineError:
        """Return the error for this problem. The server's message is short, on one line and without the token."""
        said = list(_chain(problem))
        # The error of a refused connection says only that it failed; the error that caused it says why.
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
    """Yield the message and code of an error, and of the errors that caused it."""
    for _ in range(_MOST_CAUSES):
        if problem is None:
            return
        kind = getattr(problem, "code", "")
        details = getattr(problem, "details", None)
        text = getattr(problem, "message", None) or (details() if callable(details) else None) or problem
        yield f"{kind() if callable(kind) else kind} {text}"
        problem = problem.__cause__ or problem.__context__


def schema_of(dimension: int, description: str, fields: tuple[tuple[str, str, int], ...]) -> Any:
    """Return a closed schema: an id, these fields (name, type, longest text), a vector and a sparse vector."""
    from pymilvus import DataType, MilvusClient  # noqa: PLC0415

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_MOST_CHARS)
    for name, kind, longest in fields:
        sized = {"max_length": longest} if longest else {}
        schema.add_field(name, getattr(DataType, kind), **sized)
    schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dimension)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    return schema
