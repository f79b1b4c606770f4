"""MCP over HTTP, for programs of this machine that hold the token."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from cairn.errors import AddressTaken
from cairn.limits import MAX_HTTP_BODY_BYTES, MAX_HTTP_SESSIONS
from cairn.serve.http_guard import App, Guard

PATH = "/mcp"
_SCHEME = "http"
_LOOPBACK = "127.0.0.1"
_NAMES = (_LOOPBACK, "localhost")
_GRACE_SECONDS = 2


def serve_http(server: Server[None], token: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until the user stops it; `ready` is told the address once it can be called. Port 0 is any free one."""
    with _listening(port) as listening:
        bound = int(listening.getsockname()[1])
        config = uvicorn.Config(
            application(server, token, bound),
            access_log=False,
            log_config=None,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        ready(f"{_SCHEME}://{_LOOPBACK}:{bound}{PATH}")
        uvicorn.Server(config).run(sockets=[listening])


def application(server: Server[None], token: str, port: int) -> App:
    """The server behind its guard; the SDK checks names and origins once more."""
    hosts = [f"{name}:{port}" for name in _NAMES]
    origins = [f"{_SCHEME}://{host}" for host in hosts]
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_HTTP_BODY_BYTES,
        max_sessions=MAX_HTTP_SESSIONS,
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),
    )
    return Guard(inner, token=token, hosts=hosts, origins=origins)


def _listening(port: int) -> socket.socket:
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
