"""The client's side: which replies are final, and what it does with a daemon that is not as it should be."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cairn.daemon import client
from cairn.daemon.client import Gone, connect, is_final, is_older
from cairn.daemon.frames import PROTOCOL, receive, send, settings_digest
from cairn.daemon.listening import listening
from tests.conformance import conforms
from tests.support.servers import VERSION
from tests.support.waiting import PATIENCE

Play = Callable[[socket.socket], None]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"CAIRN_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}


@contextmanager
def playing(environ: Mapping[str, str], play: Play) -> Iterator[None]:
    """Somebody who listens where a daemon would, and does this with whoever comes first."""
    with listening(environ["CAIRN_HOME"]) as listener:

        def work() -> None:
            wire, _ = listener.accept()
            with wire:
                play(wire)

        thread = threading.Thread(target=work)
        thread.start()
        yield
        thread.join(PATIENCE)
        assert not thread.is_alive()


def greeting(environ: Mapping[str, str], **other: Any) -> dict[str, Any]:
    said = {"protocol": PROTOCOL, "version": VERSION, "settings": settings_digest(environ), "pid": os.getpid()}
    return {"hello": said | other}


@conforms("001.RETRY", "001.AC6")
@pytest.mark.parametrize(
    ("reply", "final"),
    [
        ({"id": 1, "envelope": {"status": "ok"}}, True),
        ({"id": 1, "envelope": {"status": "error", "error": {"code": "busy", "retryable": True}}}, True),
        ({"id": 1, "envelope": {"status": "not_ready", "reason": "indexing"}}, True),
        (
            {"id": 1, "envelope": {"status": "not_indexed", "hints": {"debugProofCheck": {"outcome": "stale_local"}}}},
            True,
        ),
        ({"id": 1, "envelope": {"status": "requires_reindex"}}, True),
        ({"id": 1, "exit": 13}, True),
        ({"id": 1, "direct": "why"}, True),
        ({"id": 1, "error": {"code": "daemon_busy", "retryAfterMs": 500}}, True),
        ({"id": 1, "error": {"code": "bad_frame"}}, True),
        ({"id": 1, "anything": "that is JSON"}, True),
        ({"id": 1, "error": {"code": "leaving"}}, False),
        ({"id": 1, "progress": {}}, False),
        ({"id": 1, "out": "text"}, False),
    ],
)
def test_any_reply_ends_the_request_but_that_of_a_daemon_that_leaves(reply: dict[str, Any], final: bool) -> None:
    assert is_final(reply) is final


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("0.1.0", "0.2.0", True),
        ("0.9.0", "0.10.0", True),
        ("1.0.0", "0.9.9", False),
        ("0.1.0", "0.1.0", False),
        ("0.1", "0.1.1", True),
        ("", "0.1.0", False),
        ("newest", "0.1.0", False),
        (None, "0.1.0", False),
        (7, "0.1.0", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: object, than: str, older: bool) -> None:
    assert is_older(version, than) is older


def test_without_a_daemon_there_is_no_connection(environ: dict[str, str]) -> None:
    assert connect(environ["CAIRN_HOME"], environ, "cli") is None
    assert not Path(environ["CAIRN_HOME"]).exists(), "who looks leaves nothing behind"


@pytest.mark.parametrize(
    "answer", [{"hello": []}, {"hello": {}}, {}, {"refused": {"code": "busy"}}, {"refused": None}, {"pong": 1}]
)
def test_whoever_does_not_say_hello_as_a_daemon_does_is_none(environ: dict[str, str], answer: dict[str, Any]) -> None:
    def play(wire: socket.socket) -> None:
        receive(wire)
        send(wire, answer)
        assert receive(wire) is None

    with playing(environ, play):
        assert connect(environ["CAIRN_HOME"], environ, "cli") is None


@pytest.mark.parametrize(
    "said", [b"", b"\0\0\0\2", b"\xff\xff\xff\xff", b"\0\0\0\2[]", b"HTTP/1.1 400 Bad Request\r\n\r\n"]
)
def test_noise_is_no_daemon(environ: dict[str, str], said: bytes) -> None:
    def play(wire: socket.socket) -> None:
        receive(wire)
        wire.sendall(said)

    with playing(environ, play):
        assert connect(environ["CAIRN_HOME"], environ, "cli") is None


@pytest.mark.parametrize(("version", "asked"), [("0.0.1", True), ("99.0.0", False)])
@pytest.mark.parametrize("refuses", [True, False])
def test_an_older_daemon_is_asked_to_leave_and_a_newer_one_is_let_alone(
    environ: dict[str, str], version: str, asked: bool, refuses: bool
) -> None:
    heard: list[object] = []

    def play(wire: socket.socket) -> None:
        receive(wire)
        refusal = {"refused": {"code": "version", "version": version}}
        send(wire, refusal if refuses else greeting(environ, version=version))
        heard.append(receive(wire))
        if heard != [None]:
            send(wire, {"id": 0, "leave": {}})

    with playing(environ, play):
        assert connect(environ["CAIRN_HOME"], environ, "cli") is None
    assert heard == ([{"id": 0, "leave": {}}] if asked else [None])


def test_a_daemon_that_goes_before_its_answer_is_gone_and_so_is_all_that_waits(environ: dict[str, str]) -> None:
    def play(wire: socket.socket) -> None:
        receive(wire)
        send(wire, greeting(environ))
        first = receive(wire)
        assert first is not None
        send(wire, {"id": first["id"], "progress": {"done": 1}})

    told: list[object] = []
    with playing(environ, play):
        connection = connect(environ["CAIRN_HOME"], environ, "cli")
        assert connection is not None
        with pytest.raises(Gone):
            connection.request("tool", {}, progress=told.append)
        assert told == [{"done": 1}]
        assert connection.is_gone
        with pytest.raises(Gone):
            connection.request("tool", {})
        connection.close()


def test_one_that_says_nothing_at_all_is_asked_whether_it_lives_and_then_given_up(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_QUIET_SECONDS", 0.2)
    heard: list[Any] = []

    def play(wire: socket.socket) -> None:
        receive(wire)
        send(wire, greeting(environ))
        while (message := receive(wire)) is not None:
            heard.append(message)
            # It lives the first time it is asked, and then it does not.
            if "ping" in message and sum("ping" in one for one in heard) == 1:
                send(wire, {"pong": message["ping"]})

    with playing(environ, play):
        connection = connect(environ["CAIRN_HOME"], environ, "cli")
        assert connection is not None
        with pytest.raises(Gone):
            connection.request("tool", {"name": "x"})
    assert [next(iter(one)) for one in heard] == ["id", "ping", "ping"]
