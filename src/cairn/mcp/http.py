"""MCP over HTTP, for programs of this machine that hold the token."""

from __future__ import annotations

import errno
import hmac
import os
import re
import secrets
import socket
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from cairn.core.config import BEARER_NAME, cairn_home
from cairn.core.limits import MAX_MESSAGE_BYTES
from cairn.errors import AddressTaken, TokenUnfit
from cairn.install import files
from cairn.install.edits import Unfit
from cairn.mcp.crowd import App, Bounds, Message, Receive, Scope, Send, Sessions, again, patient
from cairn.mcp.messages import Refused, read
from cairn.source.root import printable

# --- Who may speak to the server over HTTP: only programs of this machine that hold the token, never a page of
# a browser.


class _Refusal(NamedTuple):
    status: int
    why: str


_HOST = _Refusal(421, "This host name is not served here.")
_ORIGIN = _Refusal(403, "Pages of a browser are not served.")
_WRONG_TOKEN = _Refusal(401, "The token is missing or wrong.")
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
            try:
                messages = await _whole(receive) if refusal is None else None
            except _Gone:
                return
            if messages is None:
                await _refuse(send, refusal or _LARGE)
                return

            await self._app(scope, again(messages, receive), send)
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
            return _WRONG_TOKEN
        if method == "POST" and (len(kind) != 1 or kind[0].partition(b";")[0].strip().lower() != b"application/json"):
            return _TYPE
        if length and not (len(length) == 1 and length[0].isdigit()):
            return _LENGTH
        # A number of thousands of digits is not even read.
        if length and (len(length[0]) > 20 or int(length[0]) > MAX_MESSAGE_BYTES):
            return _LARGE
        return None

    def _is_token(self, value: bytes) -> bool:
        scheme, _, given = value.partition(b" ")
        # How long it takes says nothing about how much of it was right.
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)


class OnlyMessages:
    """An ASGI application that passes on what is a message, and answers what is none with its JSON-RPC error."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            messages = await _whole(receive) or []
            found = read(b"".join(message.get("body", b"") for message in messages))
            if isinstance(found, Refused):
                await _answer(send, 400, b"application/json", found.to_bytes())
                return
            receive = again(messages, receive)
        await self._app(scope, receive, send)


async def _whole(receive: Receive) -> list[Message] | None:
    """What there is of a request, at most as much as may come; None when more does, whatever length was told.

    Raises `_Gone` when the client goes before it has sent all of it: what has come is no request.
    """
    found: list[Message] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        found.append(message)
        size += len(message.get("body", b""))
        if size > MAX_MESSAGE_BYTES:
            return None
        if not message.get("more_body"):
            return found


class _Gone(Exception):
    """There is nobody to be answered any more."""


async def _refuse(send: Send, refusal: _Refusal) -> None:
    more = [(b"www-authenticate", b"Bearer")] if refusal.status == _WRONG_TOKEN.status else []
    # What was not read is not left for the next request of this connection.
    more.append((b"connection", b"close"))
    await _answer(send, refusal.status, b"text/plain; charset=utf-8", refusal.why.encode(), more)


async def _answer(send: Send, status: int, kind: bytes, body: bytes, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# --- The token that programs show to speak to the server over HTTP: a file that only its user can read.


# 256 bits; what somebody has written by hand must have at least 128 (22 characters of 6 bits).
_BYTES = 32
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{22,512}\n?")


def token_path(environ: Mapping[str, str]) -> str:
    """Return the path of the file that holds the token."""
    return os.path.join(cairn_home(environ), BEARER_NAME)


def token_of(environ: Mapping[str, str]) -> str:
    """Return the user's token, made now when there is none; raises `TokenUnfit` when others can read its file."""
    path = token_path(environ)
    try:
        found = files.look(path)
        if found.data is None:
            files.replace(found, f"{secrets.token_urlsafe(_BYTES)}\n".encode(), private=True)
            found = files.look(path)
        if stat.S_IMODE(os.stat(found.path).st_mode) & 0o077:
            raise Unfit("others can read it")
        if found.data is None or not _TOKEN.fullmatch(found.data):
            raise Unfit("it holds no token")
        return found.data.decode().strip()
    except (Unfit, OSError) as problem:
        raise TokenUnfit(path=printable(os.fsencode(path)), why=problem) from None


# --- The server.


PATH = "/mcp"
_SCHEME = "http"
_LOOPBACK = "127.0.0.1"
_NAMES = (_LOOPBACK, "localhost")
_GRACE_SECONDS = 2
_BACKLOG = 128


def serve_http(server: Server[None], token: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until the user stops it; `ready` is told the address once it can be called. Port 0 is any free one."""
    with listening(port) as found:
        ready(f"{_SCHEME}://{_LOOPBACK}:{found.getsockname()[1]}{PATH}")
        web_server(server, token, found).run(sockets=[found])


def web_server(
    server: Server[None], token: str, listening: socket.socket, bounds: Bounds | None = None
) -> uvicorn.Server:
    """Return what serves at a socket that listens already."""
    bounds = bounds or Bounds()
    config = uvicorn.Config(
        application(server, token, int(listening.getsockname()[1]), bounds),
        http=patient(bounds),
        access_log=False,
        log_config=None,
        server_header=False,
        ws="none",
        backlog=_BACKLOG,
        limit_concurrency=bounds.connections,
        timeout_keep_alive=bounds.idle_seconds,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    return uvicorn.Server(config)


def application(server: Server[None], token: str, port: int, bounds: Bounds) -> App:
    """Return the server behind its guard; the SDK checks names and origins once more."""
    hosts = [f"{name}:{port}" for name in _NAMES]
    origins = [f"{_SCHEME}://{host}" for host in hosts]
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_MESSAGE_BYTES,
        max_sessions=bounds.sessions,
        session_idle_timeout=bounds.session_seconds,
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),
    )
    return Guard(OnlyMessages(Sessions(inner)), token=token, hosts=hosts, origins=origins)


def listening(port: int) -> socket.socket:
    """Return a socket that listens on the loopback at a port, 0 for any free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((_LOOPBACK, port))
        found.listen()
    except OSError as problem:
        found.close()
        if problem.errno in (errno.EADDRINUSE, errno.EACCES):
            raise AddressTaken(port=port, why=os.strerror(problem.errno)) from None
        raise
    return found
