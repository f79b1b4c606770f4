"""The wire: what is no frame is refused by what it is, and costs nothing."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_FRAME_REQUEST_BYTES
from cairn.daemon.frames import BadFrame, decode, encode, hello, receive, send, settings_digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def wire() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


class Pieces:
    """A stream that gives what it has in pieces of this size."""

    def __init__(self, data: bytes, size: int) -> None:
        self.left, self._size = data, size
        self.asked = 0

    def recv(self, size: int, /) -> bytes:
        self.asked = max(self.asked, size)
        part = self.left[: min(size, self._size)]
        self.left = self.left[len(part) :]
        return part

    def sendall(self, data: bytes, /) -> None:
        raise AssertionError


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=4), max_size=3), st.integers(1, 40))
def test_what_is_sent_is_received_however_the_stream_cuts_it(messages: list[dict[str, object]], size: int) -> None:
    stream = Pieces(b"".join(map(encode, messages)), size)
    assert [receive(stream) for _ in messages] == messages
    assert receive(stream) is None


def test_frames_travel_over_a_socket(wire: tuple[socket.socket, socket.socket]) -> None:
    here, there = wire
    # A name whose bytes are no text, as arguments of a command line hold it.
    send(here, {"id": 1, "argv": ["caf\udce9.py", "日本"]})
    assert receive(there) == {"id": 1, "argv": ["caf\udce9.py", "日本"]}
    here.shutdown(socket.SHUT_WR)
    assert receive(there) is None


def test_a_frame_that_says_it_is_too_long_is_refused_before_any_of_it_is_read() -> None:
    stream = Pieces((0xFFFFFFFF).to_bytes(4, "big") + b"x" * 100, 1_000)
    with pytest.raises(BadFrame, match="4294967295") as refused:
        receive(stream, MAX_FRAME_REQUEST_BYTES)
    assert not refused.value.readable
    assert stream.left == b"x" * 100, "nothing but its length was taken"


def test_what_is_held_grows_with_what_comes_not_with_what_was_announced() -> None:
    stream = Pieces(MAX_FRAME_REQUEST_BYTES.to_bytes(4, "big") + b"x", 1)
    with pytest.raises(BadFrame, match="1 of 1048576") as refused:
        receive(stream, MAX_FRAME_REQUEST_BYTES)
    assert not refused.value.readable
    assert stream.asked <= 65_536


def test_a_length_that_is_cut_off_is_no_end_of_the_stream() -> None:
    with pytest.raises(BadFrame, match="2 of 4"):
        receive(Pieces(b"\0\0", 10))


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b"[1]", b"null", b'"text"', b"[" * 100_000, b'{"n":' + b"9" * 5_000 + b"}"]
)
def test_after_a_frame_that_is_no_message_the_next_one_can_be_read(body: bytes) -> None:
    stream = Pieces(len(body).to_bytes(4, "big") + body + encode({"id": 2}), 1_000)
    with pytest.raises(BadFrame) as refused:
        receive(stream)
    assert refused.value.readable
    assert receive(stream) == {"id": 2}


def test_a_message_that_the_other_side_would_refuse_is_not_sent() -> None:
    with pytest.raises(BadFrame):
        encode({"text": "x" * MAX_FRAME_REQUEST_BYTES})
    assert len(encode({"text": "x" * MAX_FRAME_REQUEST_BYTES}, 2 * MAX_FRAME_REQUEST_BYTES)) > MAX_FRAME_REQUEST_BYTES


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    try:
        expected = json.loads(body.decode("utf-8"))
    except ValueError:
        expected = None
    if isinstance(expected, dict):
        assert decode(body) == expected
    else:
        with pytest.raises(BadFrame) as refused:
            decode(body)
        assert refused.value.readable


def test_other_settings_have_another_digest_and_what_is_no_setting_does_not_matter() -> None:
    plain = {"HOME": "/h", "CAIRN_HOME": "/c", "TERM": "xterm", "PWD": "/a"}
    assert settings_digest(plain) == settings_digest({**plain, "TERM": "dumb", "PWD": "/b"})
    others = [{**plain, "HOME": "/i"}, {**plain, "CAIRN_DEBUG": "1"}, {"HOME": "/h"}, {"HOME": "/hCAIRN_HOME=/c"}]
    assert len({settings_digest(one) for one in [plain, *others]}) == 5


def test_a_client_says_hello_with_its_version_and_the_digest_of_its_settings() -> None:
    said = hello("1.2.3", 77, "cli", {"HOME": "/h"})["hello"]
    assert said == {
        "protocols": [1],
        "version": "1.2.3",
        "pid": 77,
        "face": "cli",
        "settings": settings_digest({"HOME": "/h"}),
    }
