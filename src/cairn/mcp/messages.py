"""Read one message of a client; what is none is answered with a JSON-RPC error, so that nobody waits for it in vain.

The SDK passes over what it cannot read without a word. Here the same rules hold for every transport, and the answer
names the request wherever its id can be read.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import mcp_types as types

from cairn.core.limits import MAX_MESSAGE_BYTES, MAX_MESSAGE_DEPTH, MAX_NUMBER_CHARS

RequestId = int | str | None

_TOO_LONG = f"The message is longer than {MAX_MESSAGE_BYTES:,} bytes."
_NO_JSON = "This is not JSON; send one JSON-RPC message in UTF-8."
_BATCH = "A batch is not served; send one message at a time."
_DEEP = f"The message is nested more than {MAX_MESSAGE_DEPTH} deep."
_LONG_NUMBER = f"A number in the message has more than {MAX_NUMBER_CHARS} characters."
_HALF = "A text in the message holds half a character (a lone surrogate); cut texts between characters."
_ID = "The id must be a text or a whole number."
_NO_REQUEST = 'This is no request: `jsonrpc` must be "2.0", `method` a text, and `params` an object.'
_UNSAID = "The answer could not be written."

# A text, a run of brackets, a colon or comma, and what stands between them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{]+|[\]}]+|[:,]|[^\s"\[\]{}:,]+', re.DOTALL)


class Refused(NamedTuple):
    """Why something is no message: the error of JSON-RPC to the request of this id, None where none can be read."""

    id: RequestId
    code: int
    why: str

    def to_bytes(self) -> bytes:
        """Return the error as one line of JSON."""
        found = {"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": self.why}}
        return json.dumps(found, separators=(",", ":")).encode()


class _LongNumber(ValueError):
    """A number that no request needs, and that Python may refuse to read."""


def read(frame: bytes) -> types.JSONRPCMessage | Refused | None:
    """Return the message in a frame; None for an answer of the client that cannot be read, which nobody waits for."""
    if len(frame) > MAX_MESSAGE_BYTES:
        return Refused(None, types.INVALID_REQUEST, _TOO_LONG)
    try:
        text = frame.decode()
        if text.count("[") + text.count("{") > MAX_MESSAGE_DEPTH:
            depth, identity = _outlined(text)
            if depth > MAX_MESSAGE_DEPTH:
                return Refused(identity, types.INVALID_REQUEST, _DEEP)
        value = json.loads(text, parse_int=_whole_number, parse_float=_number, parse_constant=_no_number)
    except _LongNumber:
        return Refused(_outlined(text)[1], types.INVALID_REQUEST, _LONG_NUMBER)
    except ValueError:
        return Refused(None, types.PARSE_ERROR, _NO_JSON)
    if not isinstance(value, dict):
        return Refused(None, types.INVALID_REQUEST, _BATCH if isinstance(value, list) else _NO_REQUEST)
    return _message(value)


def write(message: types.JSONRPCMessage) -> bytes:
    """Return a message as one line of JSON; an answer that cannot be written becomes an error to the same request."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:
        return Refused(getattr(message, "id", None), types.INTERNAL_ERROR, _UNSAID).to_bytes()


def _message(value: dict[str, Any]) -> types.JSONRPCMessage | Refused | None:
    if "method" not in value and ("result" in value or "error" in value):
        return _answer(value)
    identity = _id(value.get("id"))
    if "id" in value and identity is None:
        # The SDK would take a request whose id is no id for a notification, which nobody answers.
        return Refused(None, types.INVALID_REQUEST, _HALF if isinstance(value["id"], str) else _ID)
    if not _is_text(value):
        return Refused(identity, types.INVALID_REQUEST, _HALF)
    try:
        return (types.JSONRPCRequest if "id" in value else types.JSONRPCNotification).model_validate(value)
    except ValueError:
        return Refused(identity, types.INVALID_REQUEST, _NO_REQUEST)


def _answer(value: dict[str, Any]) -> types.JSONRPCMessage | None:
    try:
        return types.jsonrpc_message_adapter.validate_python(value) if _is_text(value) else None
    except ValueError:
        return None


def _id(value: object) -> RequestId:
    """Return the id of a request; None when it is none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return value if isinstance(value, int) or _is_text(value) else None


def _is_text(value: object) -> bool:
    """Whether every text in this value can be written down."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _outlined(text: str) -> tuple[int, RequestId]:
    """Return how deep a text is nested, and the id at its top; neither needs more room the deeper it is."""
    depth = deepest = 0
    identity: RequestId = None
    name = before = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token[0] in "[{":
            depth += len(token)
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= len(token)
        elif depth == 1 and before == ":" and name == '"id"':
            identity = _read_id(token)
        name, before = (before, token) if depth == 1 else ("", "")
    return deepest, identity


def _read_id(token: str) -> RequestId:
    try:
        return _id(json.loads(token, parse_int=_whole_number))
    except ValueError:
        return None


def _whole_number(written: str) -> int:
    return int(_of_length(written))


def _number(written: str) -> float:
    return float(_of_length(written))


def _of_length(written: str) -> str:
    if len(written) > MAX_NUMBER_CHARS:
        raise _LongNumber
    return written


def _no_number(written: str) -> float:
    raise ValueError(f"{written} is none in JSON")
