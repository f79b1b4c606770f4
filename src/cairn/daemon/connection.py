"""One client of the daemon: what it sends is read by a thread of its own, and what it is told goes out whole."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

from cairn.core.limits import MAX_FRAME_REQUEST_BYTES, MAX_FRAME_RESPONSE_BYTES
from cairn.daemon.address import patient
from cairn.daemon.admission import Ticket
from cairn.daemon.frames import BadFrame, encode, receive

Message = dict[str, Any]
_HELLO_SECONDS = 5.0


class ClientConnection:
    """A connection. `face` is empty until it has said hello; `tickets` are its requests that are not answered yet."""

    def __init__(self, wire: socket.socket, pid: int) -> None:
        self.pid, self.face = pid, ""
        self.lock = threading.Lock()
        self.tickets: dict[int, Ticket] = {}
        self._wire = wire
        self._sending = threading.Lock()
        patient(wire)

    def read(self, handle: Callable[[ClientConnection, Message], None]) -> None:
        """Hand on every message until the end of the stream, or until what comes is none.

        What is no message, but has an end, is answered, and the next one is read.
        """
        # Who has nothing to say at first is not waited for.
        self._wire.settimeout(_HELLO_SECONDS)
        with contextlib.suppress(OSError):
            while True:
                try:
                    message = receive(self._wire, MAX_FRAME_REQUEST_BYTES)
                except BadFrame as problem:
                    self.refuse(None, "bad_frame", str(problem))
                    if problem.readable:
                        continue
                    return
                if message is None:
                    return
                handle(self, message)
                if self.face:
                    self._wire.settimeout(None)

    def send(self, message: Message) -> None:
        """Tell it something; one that takes nothing, or has gone, is not told, and its thread ends."""
        try:
            self.send_frame(encode(message, MAX_FRAME_RESPONSE_BYTES))
        except BadFrame as problem:
            self.refuse(message.get("id"), "too_large", f"The answer cannot be sent: {problem}.")

    def send_frame(self, frame: bytes) -> None:
        """The same, ready made."""
        try:
            with self._sending:
                self._wire.sendall(frame)
        except OSError:
            # A part of it may have gone out: nothing more can follow.
            self.close()

    def send_text(self, number: int, kind: str, text: str) -> None:
        """Answer a request with what is JSON already."""
        self.send_frame(text_frame(number, kind, text))

    def refuse(self, number: object, code: str, why: str, **more: object) -> None:
        """Say that a message, or the request with this number, is not answered and why."""
        self.send({"id": number, "error": {"code": code, "message": why, **more}})

    def close(self) -> None:
        """End the connection; its thread notices."""
        with contextlib.suppress(OSError):
            self._wire.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Let go of the descriptor, when nobody reads any more."""
        with self._sending:
            self._wire.close()


def text_frame(number: int, kind: str, text: str) -> bytes:
    """The frame of an answer whose value is JSON already: an envelope is not taken apart to be sent."""
    body = f'{{"id":{number},"{kind}":{text}}}'.encode()
    return len(body).to_bytes(4, "big") + body
