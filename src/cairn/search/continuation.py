"""A short token that names the next page of an answer: of the same question, on the same snapshot.

It is canonical JSON with the start of its digest, in the alphabet of URLs, after one letter. Whoever changes it is told
so; it is no secret and opens nothing: all it can do is to skip results.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from cairn.core.fingerprint import Canonical, canonical_json
from cairn.core.limits import MAX_CONTINUATION_CHARS
from cairn.errors import BadContinuation

_VERSION = 1
_SEAL_BYTES = 9
_QUESTION_CHARS = 16
# One in 64 would begin with a hyphen, which a command line takes for an option.
_FIRST = "p"
_TOKEN = re.compile(rf"{_FIRST}[A-Za-z0-9_-]+")
# Bound to this purpose: the seal of another document is not one of ours.
_PURPOSE = b"cairn continuation\0"


class Continuation(NamedTuple):
    """From where an answer goes on: after `offset` results of this question on this snapshot."""

    snapshot: str
    question: str
    offset: int


def question_digest(*parts: Canonical) -> str:
    """Names a question: its text and whatever else decides the order of its results. Page size and context do not."""
    return sha256(canonical_json(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_QUESTION_CHARS]


def encode(at: Continuation) -> str:
    """The token of a place in an answer."""
    body = canonical_json([_VERSION, *at]).encode()
    return _spelled(_seal(body) + body)


def decode(token: str, snapshot: str, question: str) -> int:
    """The offset that a token names. `BadContinuation` when it is damaged, or of another snapshot or question."""
    at = _opened(token)
    if at.question != question:
        raise BadContinuation(why="it belongs to another query")
    if at.snapshot != snapshot:
        raise BadContinuation(why="the index has changed since it was given")
    return at.offset


def snapshot_of(token: str) -> str:
    """The snapshot that a token names, so that just that one can be opened."""
    return _opened(token).snapshot


def _opened(token: str) -> Continuation:
    if len(token) > MAX_CONTINUATION_CHARS or not _TOKEN.fullmatch(token):
        raise BadContinuation(why="it is not one that Cairn has given")
    try:
        letters = token.removeprefix(_FIRST)
        data = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        raise BadContinuation(why="it is damaged") from None
    seal, body = data[:_SEAL_BYTES], data[_SEAL_BYTES:]
    # The last character of base64 has bits that are not read: two spellings of one token would be two tokens.
    if not compare_digest(seal, _seal(body)) or _spelled(data) != token:
        raise BadContinuation(why="it is damaged")
    version, *fields = json.loads(body)
    if version != _VERSION:
        raise BadContinuation(why="it was given by another version of Cairn")
    return Continuation(*fields)


def _spelled(data: bytes) -> str:
    return _FIRST + base64.urlsafe_b64encode(data).decode().rstrip("=")


def _seal(body: bytes) -> bytes:
    return sha256(_PURPOSE + body).digest()[:_SEAL_BYTES]
