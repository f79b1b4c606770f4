"""`cairn mcp --http` as a real process: every tool with the token, nothing without, and the loopback only."""

from __future__ import annotations

import http.client
import json
import re
import select
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from cairn.core.limits import MAX_MESSAGE_BYTES
from cairn.errors import AddressTaken
from cairn.mcp.calls import InThisProcess
from cairn.mcp.http import serve_http, token_path
from cairn.mcp.server import Form, mcp_server
from mcp import Client
from tests.mcp.test_server import EVERY, answer
from tests.support.servers import Agent, mcp_command
from tests.support.waiting import PATIENCE


class Running(NamedTuple):
    """A server that can be called."""

    process: subprocess.Popen[str]
    address: str
    port: int
    token: str


@contextmanager
def running(agent: Agent, *options: str) -> Iterator[Running]:
    call = mcp_command(agent, "--offline", "--http", "--port", "0", *options)
    process = subprocess.Popen(call, env=agent.variables(), stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert select.select([process.stderr], [], [], PATIENCE)[0], "it says where it serves"
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
        assert found, line
        token = Path(token_path(agent.environ)).read_text().strip()
        assert token not in line
        yield Running(process, found[0], int(found[1]), token)
    finally:
        process.kill()
        process.communicate()


class Posted(NamedTuple):
    """What came of a message that was posted: an empty answer where there was none."""

    status: int
    answer: dict[str, Any]
    session: str


def posted(server: Running, body: bytes, headers: Mapping[str, str] | None = None) -> Posted:
    """Post a message as a client with the token does."""
    web = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    known = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    try:
        web.request("POST", "/mcp", body, {**known, **(headers or {})})
        reply = web.getresponse()
        text = reply.read().decode()
        if reply.headers.get_content_type() == "text/event-stream":
            [text] = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        return Posted(reply.status, json.loads(text) if text else {}, reply.headers.get("Mcp-Session-Id", ""))
    finally:
        web.close()


def status_of(server: Running, *lines: str, body: bytes = b"", end: bool = True) -> int:
    """The status that a request of these lines is answered with, over a socket of our own."""
    text = "\r\n".join(["POST /mcp HTTP/1.1", *lines, *([f"Content-Length: {len(body)}"] if end else []), "", ""])
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as wire:
        wire.sendall(text.encode() + body)
        return int(wire.makefile("rb").readline().split()[1])


def test_every_tool_answers_who_has_the_token(indexed: Agent) -> None:
    async def main(server: Running) -> None:
        headers = {"Authorization": f"Bearer {server.token}"}
        for mode, calls in (("auto", EVERY), ("legacy", EVERY[:3])):
            async with (
                httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as web,
                Client(streamable_http_client(server.address, http_client=web), mode=mode) as client,
            ):
                for tool, arguments in calls:
                    assert (await answer(client, tool, **arguments))["status"] == "ok", tool

    with running(indexed) as server:
        file = Path(token_path(indexed.environ))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        anyio.run(main, server)
        _refuses_the_rest(server)
        server.process.send_signal(signal.SIGINT)
        _, err = server.process.communicate(timeout=PATIENCE)
        assert server.process.returncode == 0
        assert err == ""


def _refuses_the_rest(server: Running) -> None:
    host, token = f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {server.token}"
    kind, accepts = "Content-Type: application/json", "Accept: application/json, text/event-stream"
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    good = [host, token, kind, accepts]
    assert status_of(server, *good, body=b"{") == 400
    assert status_of(server, "Host: evil.example", token, kind, accepts, body=hello) == 421
    assert status_of(server, *good, "Origin: http://evil.example", body=hello) == 403
    assert status_of(server, host, kind, accepts, body=hello) == 401
    assert status_of(server, host, f"{token}x", kind, accepts, body=hello) == 401
    assert status_of(server, host, token, "Content-Type: text/plain", accepts, body=hello) == 415
    assert status_of(server, *good, f"Content-Length: {MAX_MESSAGE_BYTES + 1}", end=False) == 413
    piece = b"x" * (MAX_MESSAGE_BYTES // 2)
    chunks = b"".join(f"{len(one):x}\r\n".encode() + one + b"\r\n" for one in (piece, piece, b"x")) + b"0\r\n\r\n"
    assert status_of(server, *good, "Transfer-Encoding: chunked", body=chunks, end=False) == 413
    # Nobody else of this network reaches it: it listens on the loopback alone.
    listening = Path(f"/proc/{server.process.pid}/net/tcp").read_text()
    assert {line.split()[1] for line in listening.splitlines() if line.split()[1].endswith(f":{server.port:04X}")} <= {
        f"0100007F:{server.port:04X}"
    }
    assert f"0100007F:{server.port:04X}" in listening


def test_a_port_that_is_taken_is_one_sentence(agent: Agent) -> None:
    server = mcp_server(InThisProcess(lambda: agent.desk), version="1", form=Form.JSON)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressTaken, match=f"Port {port} cannot be used"):
            serve_http(server, "x" * 43, port, lambda _: pytest.fail("it cannot be ready"))
