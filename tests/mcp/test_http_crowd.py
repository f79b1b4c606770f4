"""Many clients of `cairn mcp --http`: half-sent requests and forgotten sessions shut nobody out."""

from __future__ import annotations

import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import anyio
import pytest

from cairn.core.limits import MAX_HTTP_CONNECTIONS, MAX_HTTP_SESSIONS, MAX_HTTP_STRANGERS, MAX_MESSAGE_BYTES
from cairn.mcp.calls import InThisProcess
from cairn.mcp.crowd import Bounds
from cairn.mcp.http import Guard, listening, web_server
from cairn.mcp.server import Form, mcp_server
from tests.mcp.test_http import Posted, Running, posted, running, status_of
from tests.mcp.test_http_guard import GOOD, TOKEN
from tests.support.servers import HELLO, Agent
from tests.support.waiting import PATIENCE, until

PING = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode()
OPENING = json.dumps(HELLO).encode()
HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "


@contextmanager
def serving(agent: Agent, bounds: Bounds) -> Iterator[Running]:
    """The server that `cairn mcp --http` runs, in a thread and with other bounds."""
    with listening(0) as found:
        server = mcp_server(InThisProcess(lambda: agent.desk), version="1", form=Form.JSON)
        web = web_server(server, TOKEN, found, bounds)
        thread = threading.Thread(target=web.run, kwargs={"sockets": [found]}, name="web")
        thread.start()
        port = int(found.getsockname()[1])
        try:
            until(lambda: web.started)
            yield Running(None, f"http://127.0.0.1:{port}/mcp", port, TOKEN)  # type: ignore[arg-type]
        finally:
            web.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may open as many files as it needs to be a crowd."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connection(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def pinged(server: Running, session: str) -> int:
    return posted(server, PING, {"Mcp-Session-Id": session}).status


def opened(server: Running) -> Posted:
    return posted(server, OPENING)


def to_the_end(wire: socket.socket) -> bytes:
    """What the server says until it closes."""
    said = b""
    with suppress(ConnectionResetError):
        while part := wire.recv(4_096):
            said += part
    return said


def test_no_crowd_of_half_sent_requests_keeps_a_client_out(agent: Agent, many_files: None) -> None:
    agent.settings("[search]\nauto_index = false\n")
    with running(agent) as server, ExitStack() as stack:
        crowd = [stack.enter_context(connection(server)) for _ in range(1_100)]
        for number, wire in enumerate(crowd):
            with suppress(OSError):
                wire.sendall(HALF[: 1 + number % len(HALF)])
        session = opened(server)
        assert session.status == 200
        assert pinged(server, session.session) == 200
        # They were not answered slowly: they are gone, but for a few.
        left = 0
        for wire in crowd:
            wire.setblocking(False)
            try:
                left += bool(wire.recv(1))
            except BlockingIOError:
                left += 1
            except OSError:
                pass
        assert left <= MAX_HTTP_STRANGERS


def test_clients_that_never_end_their_sessions_keep_no_other_one_out(agent: Agent) -> None:
    agent.settings("[search]\nauto_index = false\n")
    with running(agent) as server:
        sessions = [opened(server) for _ in range(MAX_HTTP_SESSIONS)]
        assert {one.status for one in sessions} == {200}
        assert pinged(server, sessions[0].session) == 200
        late = opened(server)
        assert late.status == 200
        assert pinged(server, late.session) == 200
        # The one that rested longest made room, and it is told so: its client begins anew.
        assert pinged(server, sessions[1].session) == 404
        assert pinged(server, sessions[0].session) == 200
        assert pinged(server, sessions[2].session) == 200


def test_a_session_that_is_at_work_does_not_make_room(agent: Agent) -> None:
    with serving(agent, Bounds(sessions=2)) as server, ExitStack() as stack:
        first, second = opened(server), opened(server)
        for one in (first, second):
            wire = stack.enter_context(connection(server))
            lines = [
                "GET /mcp HTTP/1.1",
                f"Host: 127.0.0.1:{server.port}",
                f"Authorization: Bearer {TOKEN}",
                "Accept: text/event-stream",
                f"Mcp-Session-Id: {one.session}",
            ]
            wire.sendall("\r\n".join([*lines, "", ""]).encode())
            assert b"200 OK" in wire.recv(4_096)
        assert opened(server).status == 503, "nobody rests"
        assert pinged(server, first.session) == 200
        assert pinged(server, second.session) == 200


def test_a_session_that_nobody_uses_ends_by_itself(agent: Agent) -> None:
    with serving(agent, Bounds(session_seconds=0.2)) as server:
        session = opened(server).session
        # Each look is a use, so there is ever more time between two of them.
        pauses = iter([0.3, 1.0, 3.0, 10.0, 30.0])
        while pinged(server, session) == 200:
            time.sleep(next(pauses))
        assert pinged(server, session) == 404
        assert opened(server).status == 200


@pytest.mark.parametrize("start", [b"", HALF, HALF + TOKEN.encode() + b"\r\nContent-Length: 9\r\n\r\n{"])
def test_a_request_that_does_not_come_whole_in_its_time_is_ended(agent: Agent, start: bytes) -> None:
    with serving(agent, Bounds(request_seconds=0.3)) as server, connection(server) as wire:
        wire.sendall(start)
        said = to_the_end(wire)
        assert said.startswith((b"HTTP/1.1 408", b"HTTP/1.1 421")), said


def test_a_request_that_comes_drop_by_drop_is_not_given_more_time(agent: Agent) -> None:
    with serving(agent, Bounds(request_seconds=0.3)) as server, connection(server) as wire:
        wire.settimeout(0.01)
        wire.sendall(HALF)
        said = None
        for _ in range(int(PATIENCE * 100)):
            with suppress(TimeoutError):
                said = wire.recv(4_096)
                break
            with suppress(BrokenPipeError, ConnectionResetError):
                wire.sendall(b"x")
        assert said is not None
        assert said.startswith(b"HTTP/1.1 408")


def test_a_second_request_on_a_connection_has_its_time_too(agent: Agent) -> None:
    with serving(agent, Bounds(request_seconds=0.3, idle_seconds=600)) as server:
        lines = headers(server)
        whole = "\r\n".join([*lines, f"Content-Length: {len(OPENING)}", "", ""]).encode() + OPENING
        half = "\r\n".join([*lines, "Content-Length: 100", "", ""]).encode() + b"{"
        for behind in (half, HALF):
            with connection(server) as wire:
                wire.sendall(whole + behind)
                assert b"200 OK" in to_the_end(wire), "the first is answered, and the second is not waited for"
            with connection(server) as wire:
                wire.sendall(whole)
                assert b"200 OK" in wire.recv(4_096)
                wire.sendall(behind)
                to_the_end(wire)


def headers(server: Running) -> list[str]:
    """The lines of a request that is let through, but for its length."""
    return [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
    ]


def test_more_connections_than_there_may_be_are_told_to_come_later(agent: Agent) -> None:
    with serving(agent, Bounds(connections=8)) as server, ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(connection(server)).sendall(HALF)
        good = headers(server)[1:]
        assert status_of(server, *good, body=OPENING) == 503
        stack.close()
        until(lambda: status_of(server, *good, body=OPENING) == 200)
    assert MAX_HTTP_STRANGERS < MAX_HTTP_CONNECTIONS


def test_a_body_that_ends_too_soon_is_no_request() -> None:
    """What has come may read like a whole one; its client did not send it."""
    passed = []

    async def app(*_: Any) -> None:
        passed.append(1)

    async def main(*messages: dict[str, Any]) -> None:
        left = list(messages)

        async def receive() -> dict[str, Any]:
            return left.pop(0)

        async def send(_: Any) -> None:
            return

        headers = [(name.encode(), value.encode()) for name, value in GOOD.items()]
        scope = {"type": "http", "method": "POST", "headers": headers}
        await Guard(app, token=TOKEN, hosts=[GOOD["host"]])(scope, receive, send)

    part = {"type": "http.request", "body": PING, "more_body": True}
    anyio.run(main, part, {"type": "http.disconnect"})
    assert not passed
    anyio.run(main, part, {"type": "http.request", "body": b"", "more_body": False})
    assert passed
    assert len(PING) < MAX_MESSAGE_BYTES
