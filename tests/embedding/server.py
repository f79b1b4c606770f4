"""A server of vectors on this machine, which answers as it is told: well, badly, slowly, or not at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import numpy as np

from cairn.core.config import EmbeddingConfig, load_config
from tests.support.fake_embedder import FakeEmbedder

DIMENSION = 8
# Of no use to anybody, but nobody may see it.
KEY = "sk-canary-" + "7" * 12
KEY_ENV = "CAIRN_TEST_KEY"


class Asked(NamedTuple):
    """What the server was sent."""

    path: str
    headers: dict[str, str]
    model: str
    texts: list[str]


class Handler(BaseHTTPRequestHandler):
    """One request: it is written down, and the next answer that was prepared is given."""

    protocol_version = "HTTP/1.1"
    server: _Listener

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked = Asked(self.path, dict(self.headers), body["model"], body["input"])
        self.server.owner.asked.append(self.asked)
        self.close_connection = True
        prepared = self.server.owner.prepared
        (prepared.pop(0) if prepared else good)(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def give(self, body: bytes, status: int = 200, **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


Answer = Callable[[Handler], None]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    owner: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


class Server(AbstractContextManager["Server"]):
    """Answers well until other answers are prepared; `asked` is all that it was sent."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.prepared: list[Answer] = []
        self._listener = _Listener(("127.0.0.1", 0), Handler)
        self._listener.owner = self
        self.url = f"http://127.0.0.1:{self._listener.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def texts(self) -> list[str]:
        return [text for asked in self.asked for text in asked.texts]

    def stop(self) -> None:
        """From now on nobody listens; a second call does nothing."""
        if self._thread.is_alive():
            self._listener.shutdown()
            self._thread.join()
            self._listener.server_close()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def settings(self, **changed: object) -> str:
        """The user's settings for this server."""
        keys = {"provider": "http", "url": self.url, "model": "tiny", "dimension": DIMENSION, "key_env": KEY_ENV}
        lines = [f"{key} = {json.dumps(value)}" for key, value in (keys | changed).items() if value is not None]
        return "\n".join(["[embedding]", *lines, ""])

    def config(self, **changed: object) -> EmbeddingConfig:
        return load_config(None, self.settings(**changed).encode()).embedding


def vectors_of(texts: list[str]) -> list[list[float]]:
    """What the model behind the server gives, of no particular length."""
    found: list[list[float]] = (3 * FakeEmbedder(DIMENSION).embed([text.encode() for text in texts])).tolist()
    return found


def answer_of(vectors: list[Any]) -> bytes:
    rows = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    # In another order than asked: the index counts.
    return json.dumps({"object": "list", "data": rows[::-1], "model": "tiny"}).encode()


def good(handler: Handler) -> None:
    handler.give(answer_of(vectors_of(handler.asked.texts)))


def refusing(status: int, **headers: str) -> Answer:
    """Refuse, and quote the key as some servers do."""
    return giving(f"Incorrect key: {KEY}".encode(), status, **headers)


def giving(body: bytes, status: int = 200, **headers: str) -> Answer:
    return lambda handler: handler.give(body, status, **headers)


def unit(vectors: list[list[float]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    table = np.array(vectors)
    shortened: np.ndarray[Any, np.dtype[np.float64]] = table / np.linalg.norm(table, axis=1, keepdims=True)
    return shortened
