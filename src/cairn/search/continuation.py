"""Write and read the continuation token, which names the next page of an answer to one question on one snapshot.

A token is canonical JSON after the start of its digest, in URL-safe base64 after the letter `p`. A changed token is
refused. A token is no secret and grants nothing: it can only skip results.
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
# Without a first letter one token in 64 would begin with a hyphen, which a command line takes for an option.
_FIRST = "p"
_TOKEN = re.compile(rf"{_FIRST}[A-Za-z0-9_-]+")
# Part of the digest, so that the digest of another kind of document is never valid here.
_PURPOSE = b"cairn continuation\0"


class Continuation(NamedTuple):
    """The point at which an answer continues: after `offset` results of this question on this snapshot."""

    snapshot: str
    question: str
    offset: int


def question_digest(*parts: Canonical) -> str:
    """Return a digest of a question: of its text and all that decides its results and their order.

    Page size and context lines are no part of the question.
    """
    return sha256(canonical_json(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_QUESTION_CHARS]


def encode(at: Continuation) -> str:
    """Return the token of a continuation."""
    body = canonical_json([_VERSION, *at]).encode()
    return _spelled(_seal(body) + body)


def decode(token: str, snapshot: str, question: str) -> int:
    """Return the offset in a token; raises `BadContinuation` for a damaged token or another snapshot or question."""
    at = _opened(token)
    if at.question != question:
        raise BadContinuation(why="it belongs to another query")
    if at.snapshot != snapshot:
        raise BadContinuation(why="the index has changed since it was given")
    return at.offset


def snapshot_of(token: str) -> str:
    """Return the snapshot in a token, so that this snapshot can be opened; raises `BadContinuation`."""
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
    # Base64 ignores some bits of its last character, so only the one spelling that `encode` writes is accepted.
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
