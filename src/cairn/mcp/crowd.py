"""How many may keep a connection or a session open over HTTP, and for how long, so that nobody shuts others out.

On the loopback all clients have the same address. What tells them apart is what they have done: who has sent a whole
request was let through with the token or has been sent away, and everybody else is a stranger, of whom a few may wait.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from cairn.core.limits import (
    HTTP_IDLE_SECONDS,
    HTTP_REQUEST_SECONDS,
    HTTP_SESSION_SECONDS,
    MAX_HTTP_CONNECTIONS,
    MAX_HTTP_SESSIONS,
    MAX_HTTP_STRANGERS,
)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Bounds(NamedTuple):
    """How many connections and sessions there may be, and how long each may take."""

    request_seconds: float = HTTP_REQUEST_SECONDS
    idle_seconds: int = HTTP_IDLE_SECONDS
    session_seconds: float = HTTP_SESSION_SECONDS
    connections: int = MAX_HTTP_CONNECTIONS
    strangers: int = MAX_HTTP_STRANGERS
    sessions: int = MAX_HTTP_SESSIONS


# --- connections ------------------------------------------------------------------------------------------------------

_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_WHOLE = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)


def patient(bounds: Bounds) -> type[H11Protocol]:
    """Return a protocol for one server: a request must have come whole in its time, and few connections may be new."""
    return type("Patient", (_Patient,), {"_bounds": bounds, "_strangers": OrderedDict()})


class _Patient(H11Protocol):
    """A connection with a deadline for each request, which no byte that comes in the meantime moves."""

    _bounds: Bounds
    # Those that have not sent a whole request yet, the oldest first.
    _strangers: OrderedDict[H11Protocol, None]
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._begun()
        self._strangers[self] = None
        if len(self._strangers) > self._bounds.strangers:
            # The newest stay: whoever means to ask something sends it at once.
            oldest, _ = self._strangers.popitem(last=False)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._strangers.pop(self, None)
        self._settled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state not in _WHOLE:
            self._begun()
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state in _WHOLE:
            self._strangers.pop(self, None)
            self._settled()
        elif self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]:
            # A part of it came behind another one.
            self._begun()

    def _begun(self) -> None:
        if self._due is None:
            self._due = self.loop.call_later(self._bounds.request_seconds, self._late)

    def _settled(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _late(self) -> None:
        self._due = None
        if not self.transport.is_closing():
            if self.cycle is None or not self.cycle.response_started:
                self.transport.write(_LATE)
            self.transport.close()


# --- sessions ---------------------------------------------------------------------------------------------------------

_SESSION = b"mcp-session-id"
_FULL = 503


class Sessions:
    """An ASGI application before one that keeps sessions: where it has no room, the one that rests longest is ended.

    Clients are asked to end their sessions and most never do. A session with a call or a stream at work stays.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        # How many requests of each session are being answered; the one that was used longest ago comes first.
        self._open: OrderedDict[bytes, int] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or _header(scope["headers"]) is not None:
            await self._pass(scope, receive, send)
            return
        kept: list[Message] = []

        async def keeping() -> Message:
            kept.append(await receive())
            return kept[-1]

        held: list[Message] = []

        async def holding(message: Message) -> None:
            # A refusal waits until it is clear that no room can be made.
            if held or (message["type"] == "http.response.start" and message["status"] == _FULL):
                held.append(message)
            else:
                await send(message)

        await self._pass(scope, keeping, holding)
        if held and await self._make_room(scope):
            await self._pass(scope, again(kept, receive), send)
            return
        for message in held:
            await send(message)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = _header(scope["headers"]) if scope["type"] == "http" else None
        if session is not None and session in self._open:
            self._open[session] += 1

        async def telling(message: Message) -> None:
            nonlocal session
            if message["type"] == "http.response.start":
                given = _header(message.get("headers", ()))
                if session is None and given is not None and message["status"] < 400:
                    session = given
                    self._open[session] = 1
                elif session is not None and (message["status"] == 404 or scope["method"] == "DELETE"):
                    self._open.pop(session, None)
            await send(message)

        try:
            await self._app(scope, receive, telling)
        finally:
            if session is not None and session in self._open:
                self._open[session] = max(0, self._open[session] - 1)
                self._open.move_to_end(session)

    async def _make_room(self, scope: Scope) -> bool:
        """End the session that rests longest, as its client could have; False where none does."""
        resting = next((session for session, busy in self._open.items() if not busy), None)
        if resting is None:
            return False
        del self._open[resting]
        named = {b"host", b"origin", b"authorization"}
        headers = [(name, value) for name, value in scope["headers"] if name in named]

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(_: Message) -> None:
            return

        ended = {**scope, "method": "DELETE", "headers": [*headers, (_SESSION, resting)]}
        await self._app(ended, nothing, unheard)
        return True


def again(messages: list[Message], receive: Receive) -> Receive:
    """Return what gives out these messages once more before it receives others."""
    left = list(messages)

    async def given() -> Message:
        return left.pop(0) if left else await receive()

    return given


def _header(headers: Any) -> bytes | None:
    return next((value for name, value in headers if name == _SESSION), None)
