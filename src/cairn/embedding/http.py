"""A model behind an address: the `/embeddings` call that most servers share. Only the user's own settings lead here.

Whatever the server says, it is believed only when it is exactly what was asked for, and its words are never repeated:
some servers quote the key in their errors. The key is read from the environment for each request and kept nowhere; no
error holds it, nor does any frame or exception that an error is chained to.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from email.utils import mktime_tz, parsedate_tz
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from ssl import SSLCertVerificationError
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

import numpy as np
from numpy.typing import NDArray

from cairn.core import limits
from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import EmbeddingConfig, is_loopback
from cairn.core.fingerprint import EmbeddingIdentity
from cairn.embedding.model import Vectors, check_vectors
from cairn.errors import EmbeddingFailed, ModelUnavailable

# Code has three bytes or more to a token with every tokenizer in use, but for data.
_BYTES_PER_TOKEN = 3
# A number of an answer, with the blanks of a server that writes each on a line of its own; and what stands around them.
_NUMBER_BYTES = 64
_AROUND_BYTES = 64 * limits.KIB
_READ_BYTES = 64 * limits.KIB
# Another text may be taken: this one is too long, or holds what the model does not like.
_OF_TEXT = frozenset({400, 413, 422})
_STATUSES = frozenset(HTTPStatus)
_KEY = re.compile(r"[!-~]+")
_SECONDS = re.compile(r"[0-9]{1,9}")


class _HttpTrouble(NamedTuple):
    """Why there is no answer, as the end of a sentence, and whether and how long to wait before trying again."""

    why: str
    passing: bool = False
    wait: float = 0.0
    of_text: bool = False


class HttpEmbedder:
    """The vectors of a server, at unit length. One that fails is left alone for a while: `ModelUnavailable` meanwhile.

    Raises `EmbeddingFailed` when only these texts are refused.
    """

    cheap = False

    def __init__(
        self,
        config: EmbeddingConfig,
        identity: EmbeddingIdentity,
        environ: Mapping[str, str] = os.environ,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.identity = identity
        self._config = config
        self._environ = environ
        self._clock = clock
        self._send = _opener(config.url).open
        self._resting: tuple[float, str] | None = None

    def embed(self, texts: Sequence[bytes]) -> Vectors:
        vectors = np.zeros((len(texts), self.identity.dimension), np.float32)
        deadline = self._clock.monotonic() + limits.EMBED_DEADLINE_SECONDS
        for places, inputs in self._requests(texts):
            vectors[places] = self._ask(inputs, deadline)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        # An argument that was not UTF-8 holds halves of characters, which cannot be sent.
        clean = self._cut(text.encode("utf-8", "replace"))
        if not clean.strip():
            return np.zeros(self.identity.dimension, np.float32)
        deadline = self._clock.monotonic() + limits.EMBED_QUERY_SECONDS
        vector: Vectors = self._ask([self._config.query_prefix + clean], deadline)[0]
        return vector

    def _cut(self, text: bytes) -> str:
        """Return as much of the text as the model reads, never half a character."""
        return text[: self._config.max_tokens * _BYTES_PER_TOKEN].decode("utf-8", "ignore")

    def _requests(self, texts: Sequence[bytes]) -> Iterator[tuple[list[int], list[str]]]:
        """Yield the texts that are not blank, with their positions, in parts that one request may hold."""
        places: list[int] = []
        inputs: list[str] = []
        size = 0
        for place, text in enumerate(texts):
            clean = self._cut(text)
            # Servers refuse an empty text, and there is nothing to understand in it.
            if not clean.strip():
                continue
            if inputs and (len(inputs) == self._config.batch or size + len(text) > limits.EMBED_REQUEST_BYTES):
                yield places, inputs
                places, inputs, size = [], [], 0
            places.append(place)
            inputs.append(self._config.document_prefix + clean)
            size += len(text)
        if inputs:
            yield places, inputs

    # --- one request, and its repetitions -----------------------------------------------------------------------------

    def _ask(self, inputs: list[str], deadline: float) -> Vectors:
        if self._resting is not None and self._clock.monotonic() < self._resting[0]:
            raise ModelUnavailable(why=self._resting[1])
        answer = self._try(inputs, deadline)
        for repetition in range(limits.EMBED_ATTEMPTS - 1):
            if not isinstance(answer, _HttpTrouble) or not answer.passing:
                break
            wait = max(limits.EMBED_BACKOFF_SECONDS * 2**repetition, answer.wait)
            if wait >= deadline - self._clock.monotonic():
                break
            self._clock.sleep(wait)
            answer = self._try(inputs, deadline)
        if not isinstance(answer, _HttpTrouble):
            return answer
        if answer.of_text:
            raise EmbeddingFailed(why=f"the remote model was asked, and {answer.why}")
        self._resting = self._clock.monotonic() + limits.EMBED_REST_SECONDS, answer.why
        raise ModelUnavailable(why=answer.why)

    def _try(self, inputs: list[str], deadline: float) -> Vectors | _HttpTrouble:
        """Make one attempt. Trouble is returned, not raised: an exception would keep what was sent."""
        request = self._request(inputs)
        if isinstance(request, _HttpTrouble):
            return request
        left = deadline - self._clock.monotonic()
        if left <= 0:
            return _HttpTrouble("it did not answer in time")
        most = _AROUND_BYTES + len(inputs) * self.identity.dimension * _NUMBER_BYTES
        try:
            with self._send(request, timeout=min(limits.EMBED_TIMEOUT_SECONDS, left)) as response:
                body = _read(response, most, deadline, self._clock)
        except HTTPError as refusal:
            with refusal:
                return _of_status(refusal.code, refusal.headers.get("Retry-After", ""), self._clock)
        except (OSError, HTTPException) as problem:
            return _of_transport(problem)
        return body if isinstance(body, _HttpTrouble) else _vectors(body, len(inputs), self.identity.dimension)

    def _request(self, inputs: list[str]) -> Request | _HttpTrouble:
        body = json.dumps({"model": self._config.model, "input": inputs}, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "cairn"}
        request = Request(self._config.url, body, headers)  # noqa: S310 (the settings let no other scheme in)
        if self._config.key_env is not None:
            key = self._environ.get(self._config.key_env, "")
            # Python quotes a header that it does not like, so it must never get to see one.
            if not _KEY.fullmatch(key):
                state = "holds characters that no key has" if key else "is not set"
                return _HttpTrouble(f"the environment variable that key_env names {state}")
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        return request


def _opener(url: str) -> OpenerDirector:
    """Return an opener for http and https only. It follows no redirect: texts and key go where the user said."""
    opener = OpenerDirector()
    # A proxy would carry in the open what was to stay on this machine.
    proxies: dict[str, str] | None = {} if is_loopback(url) else None
    for handler in (
        ProxyHandler(proxies),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPErrorProcessor(),
        HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


# --- what came back ---------------------------------------------------------------------------------------------------


def _read(response: HTTPResponse, most: int, deadline: float, clock: Clock) -> bytes | _HttpTrouble:
    """Return the whole answer, if it comes in time and is no larger than the answer to this request can be."""
    length = response.length
    parts: list[bytes] = []
    size = 0
    while length is None or size < length:
        if max(size, length or 0) > most:
            return _HttpTrouble(f"its answer is larger than {most} bytes")
        # A server may send a byte now and then for ever, and each of them in time.
        if clock.monotonic() >= deadline:
            return _HttpTrouble("it did not answer in time")
        part = response.read1(_READ_BYTES if length is None else min(_READ_BYTES, length - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
    if length is not None and size < length:
        return _HttpTrouble("its answer broke off", passing=True)
    return b"".join(parts)


def _of_status(status: int, retry_after: str, clock: Clock) -> _HttpTrouble:
    # The words of the standard, not of the server.
    phrase = f" ({HTTPStatus(status).phrase})" if status in _STATUSES else ""
    why = f"it answered {status}{phrase}"
    if 300 <= status < 400:
        return _HttpTrouble(f"{why}, but texts are sent to no other address than the one in the settings")
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        wait = _seconds(retry_after, clock)
        return _HttpTrouble(f"{why} and asks to wait {wait:.0f} seconds" if wait else why, passing=True, wait=wait)
    return _HttpTrouble(why, of_text=status in _OF_TEXT)


def _seconds(retry_after: str, clock: Clock) -> float:
    """Return how long the server asks to wait, given in seconds or as a date; 0 when it cannot be understood."""
    if _SECONDS.fullmatch(retry_after.strip()):
        return float(retry_after)
    try:
        date = parsedate_tz(retry_after)
        return max(0.0, mktime_tz(date) - clock.wall_ns() / 1e9) if date else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _of_transport(problem: OSError | HTTPException) -> _HttpTrouble:
    reason = problem.reason if isinstance(problem, URLError) else problem
    if isinstance(reason, SSLCertVerificationError):
        return _HttpTrouble("its certificate cannot be trusted")
    if isinstance(reason, TimeoutError):
        return _HttpTrouble("it did not answer in time", passing=True)
    if isinstance(reason, HTTPException):
        return _HttpTrouble("its answer broke off", passing=True)
    words = reason.strerror if isinstance(reason, OSError) else None
    return _HttpTrouble(f"it cannot be reached ({words or 'the connection failed'})", passing=True)


def _vectors(body: bytes, count: int, dimension: int) -> Vectors | _HttpTrouble:
    """Return the vectors in the order of their texts, or the trouble when one is missing, not finite or too short."""
    try:
        data = json.loads(body)["data"]
        rows = {row["index"]: row["embedding"] for row in data}
        if len(data) != count or rows.keys() != set(range(count)):
            return _HttpTrouble(f"it gave {len(data)} vectors, not one for each of {count} texts")
        table = np.array([rows[place] for place in range(count)])
    except (ValueError, TypeError, KeyError, RecursionError):
        return _HttpTrouble("its answer is not the JSON of vectors")
    if table.ndim != 2 or table.dtype.kind not in "fiu":
        return _HttpTrouble("its answer is not the JSON of vectors")
    if table.shape[1] != dimension:
        return _HttpTrouble(
            f"its vectors have {table.shape[1]} numbers, while the settings say dimension = {dimension}"
        )
    if not np.isfinite(table).all():
        return _HttpTrouble("a vector holds a value that is no finite number", of_text=True)
    return check_vectors(_to_unit_length(table.astype(np.float64)), count, dimension)


def _to_unit_length(table: NDArray[np.float64]) -> NDArray[np.float64]:
    # First by the largest number: the squares of very large and very small ones would leave what a double can hold.
    largest = np.abs(table).max(axis=1, keepdims=True)
    table = table / np.where(largest > 0, largest, 1)
    lengths = np.sqrt((table * table).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = table / np.where(lengths > 0, lengths, 1)
    return unit
