"""Who may speak to the server over HTTP: only programs of this machine that hold the token, never a page of a browser.

A page can make a browser call an address of this machine (by a name of its own that leads here, or across sites), so
the name that was asked for and the origin are compared before anything else, and all that before a body is read.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple

from cairn.limits import MAX_HTTP_BODY_BYTES

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class _Refusal(NamedTuple):
    status: int
    why: str


_HOST = _Refusal(421, "This host name is not served here.")
_ORIGIN = _Refusal(403, "Pages of a browser are not served.")
_TOKEN = _Refusal(401, "The token is missing or wrong.")
_TYPE = _Refusal(415, "Send application/json.")
_LENGTH = _Refusal(400, "The length is no number.")
_LARGE = _Refusal(413, "The request is too large.")


class Guard:
    """An ASGI application that lets through to another what may pass. `hosts` and `origins` are compared as written."""

    def __init__(self, app: App, *, token: str, hosts: Iterable[str], origins: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(host.encode() for host in hosts)
        self._origins = frozenset(origin.encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(scope["method"], scope["headers"])
            messages = await _whole(receive) if refusal is None else None
            if messages is None:
                await _refuse(send, refusal or _LARGE)
                return

            async def again() -> Message:
                return messages.pop(0) if messages else await receive()

            await self._app(scope, again, send)
        # Whatever else there is, such as a web socket, is not even answered.

    def _refusal(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> _Refusal | None:
        found: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            found.setdefault(name.lower(), []).append(value)
        # Of two, the one that is checked need not be the one that is used: nothing may come twice.
        host, origin, secret, kind, length = (
            found.get(name, []) for name in (b"host", b"origin", b"authorization", b"content-type", b"content-length")
        )
        if len(host) != 1 or host[0] not in self._hosts:
            return _HOST
        if origin and (len(origin) != 1 or origin[0] not in self._origins):
            return _ORIGIN
        if len(secret) != 1 or not self._is_token(secret[0]):
            return _TOKEN
        if method == "POST" and (len(kind) != 1 or kind[0].partition(b";")[0].strip().lower() != b"application/json"):
            return _TYPE
        if length and not (len(length) == 1 and length[0].isdigit()):
            return _LENGTH
        # A number of thousands of digits is not even read.
        if length and (len(length[0]) > 20 or int(length[0]) > MAX_HTTP_BODY_BYTES):
            return _LARGE
        return None

    def _is_token(self, value: bytes) -> bool:
        scheme, _, given = value.partition(b" ")
        # How long it takes says nothing about how much of it was right.
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)


async def _whole(receive: Receive) -> list[Message] | None:
    """What there is of a request, at most as much as may come; None when more does, whatever length was told."""
    found: list[Message] = []
    size = 0
    while True:
        message = await receive()
        found.append(message)
        size += len(message.get("body", b""))
        if size > MAX_HTTP_BODY_BYTES:
            return None
        if not message.get("more_body"):
            return found


async def _refuse(send: Send, refusal: _Refusal) -> None:
    body = refusal.why.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        # What was not read is not left for the next request of this connection.
        (b"connection", b"close"),
    ]
    if refusal.status == _TOKEN.status:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
