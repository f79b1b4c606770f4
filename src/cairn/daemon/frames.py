"""The wire between a client and the daemon: frames of JSON, each with its length before it.

Nothing here imports more than a client must pay for. A connection is anything with `recv` and `sendall`.
"""

from __future__ import annotations

from cairn.core.limits import MAX_FRAME_REQUEST_BYTES, MAX_FRAME_RESPONSE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Stream(Protocol):
        """What a frame travels over."""

        def recv(self, size: int, /) -> bytes: ...

        def sendall(self, data: bytes, /) -> None: ...


PROTOCOL = 1
_HEAD = 4
_STEP = 65_536
# The settings of a process: with others a daemon would read another home, another config or other excludes of git.
_PREFIX, _NAMES = "CAIRN_", ("HOME", "XDG_CONFIG_HOME")
_FNV_START, _FNV_PRIME, _FNV_MASK = 0x6C62272E07BB014262B821756295C58D, 0x1000000000000000000013B, (1 << 128) - 1


class BadFrame(Exception):
    """What came is no frame. `readable` says whether the next one can be read all the same."""

    def __init__(self, why: str, *, readable: bool) -> None:
        super().__init__(why)
        self.readable = readable


def encode(message: Mapping[str, Any], most: int = MAX_FRAME_REQUEST_BYTES) -> bytes:
    """Return the message as a frame; raises `BadFrame` when it is longer than the other side takes."""
    import json  # noqa: PLC0415 - the command line needs this page, but not the tenth of its time that `json` takes

    # Names of files may hold bytes that are no text: only as escapes do they survive.
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    if len(body) > most:
        raise BadFrame(f"it has {len(body)} bytes, at most {most} are taken", readable=True)
    return len(body).to_bytes(_HEAD, "big") + body


def send(stream: Stream, message: Mapping[str, Any], most: int = MAX_FRAME_REQUEST_BYTES) -> None:
    """Send one message."""
    stream.sendall(encode(message, most))


def receive(stream: Stream, most: int = MAX_FRAME_RESPONSE_BYTES) -> dict[str, Any] | None:
    """Return the next message; None at the end of the stream.

    Raises `BadFrame` for bytes that are no frame. A frame that announces too great a length is refused before any of it
    is read.
    """
    head = _exactly(stream, _HEAD, may_end=True)
    if not head:
        return None
    length = int.from_bytes(head, "big")
    if length > most:
        raise BadFrame(f"it says that it has {length} bytes, at most {most} are taken", readable=False)
    return decode(_exactly(stream, length))


def decode(body: bytes) -> dict[str, Any]:
    """Return the message in these bytes: one object of JSON in UTF-8."""
    import json  # noqa: PLC0415

    try:
        message = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BadFrame("it is no JSON in UTF-8", readable=True) from None
    if not isinstance(message, dict):
        raise BadFrame("it is no object", readable=True)
    return message


def settings_digest(environ: Mapping[str, str]) -> str:
    """Return a digest of the settings of a process; needs no import."""
    found = _FNV_START
    for name in sorted(environ):
        if name.startswith(_PREFIX) or name in _NAMES:
            for byte in f"{name}={environ[name]}\0".encode("utf-8", "surrogateescape"):
                found = (found ^ byte) * _FNV_PRIME & _FNV_MASK
    return f"{found:032x}"


def hello(version: str, pid: int, face: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the first message of a client."""
    settings = settings_digest(environ)
    return {
        "hello": {"protocols": [PROTOCOL], "version": version, "pid": pid, "face": face, "settings": settings},
    }


def _exactly(stream: Stream, size: int, *, may_end: bool = False) -> bytes:
    """Return so many bytes; the buffer grows with what has come, not with what was announced."""
    found = bytearray()
    while len(found) < size:
        part = stream.recv(min(_STEP, size - len(found)))
        if not part:
            if may_end and not found:
                return b""
            raise BadFrame(f"the stream ended after {len(found)} of {size} bytes", readable=False)
        found += part
    return bytes(found)


# --- which verbs of the command line a daemon runs for those who typed them, and which it leaves to them --------------

RENDERED = frozenset({"search", "outline", "read", "symbol", "refs", "graph", "similar", "map", "status", "list"})
# Nobody stands in for these: they write, they serve, they ask the person, or they speak to the daemon themselves.
OWN = frozenset({
    "index", "sync", "reindex", "clear", "snapshots", "stores", "health", "audit", "repair", "upgrade-store", "compact",
    "gc", "files", "why", "eval", "mcp", "install", "uninstall", "completion", "daemon", "watch", "doctor", "semantic",
    "engine", "grep", "impact", "rename", "undo", "help",
})  # fmt: skip


def verb_of(typed: object) -> str:
    """Return the verb that a command line begins with; a first word that is no verb is a search."""
    return typed if isinstance(typed, str) and (typed in RENDERED or typed in OWN) else "search"
