"""The requests that clients of the daemon may make; any other message is refused in one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeGuard

from cairn.core.limits import DAEMON_DEADLINE_SECONDS
from cairn.core.progress import Progress
from cairn.daemon.frames import verb_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.ask.workspace import Workspace

Message = dict[str, Any]
Emit = Callable[[str, str], None]
"""Called with `out` or `err` and a text to be printed there."""
Render = Callable[["Workspace", Mapping[str, Any], Emit, Callable[[], bool]], int | None]
"""Runs what was typed elsewhere: its exit status, or None when it is to be run where it was typed."""

KINDS = ("tool", "command", "tools", "roots", "serve", "status", "leave")
_MOST_NUMBER = 2**53
_MOST_ROOTS = 64


class BadRequest(Exception):
    """Why a message is no request."""


class Request(NamedTuple):
    """One request: its number, what it asks for, and the time it has."""

    number: int
    kind: str
    body: Message
    seconds: float


def request_of(message: Mapping[str, Any]) -> Request:
    """Return the request in a message; raises `BadRequest` when it is none."""
    number = message.get("id")
    if not _is_number(number) or not 0 <= number < _MOST_NUMBER:
        raise BadRequest("id must be a whole number")
    kinds = [kind for kind in KINDS if kind in message]
    if len(kinds) != 1:
        raise BadRequest(f"it must ask for one of {', '.join(KINDS)}")
    [kind] = kinds
    body = message[kind]
    if not isinstance(body, dict):
        raise BadRequest(f"{kind} must be an object")
    given = message.get("deadlineMs")
    if given is not None and (not _is_number(given) or given <= 0):
        raise BadRequest("deadlineMs must be a whole number above zero")
    seconds = DAEMON_DEADLINE_SECONDS if given is None else min(given / 1000, DAEMON_DEADLINE_SECONDS)
    if kind in ("tool", "tools", "roots", "serve"):
        _check_served(body)
    if kind == "tool" and not (isinstance(body.get("name"), str) and isinstance(body.get("arguments", {}), dict)):
        raise BadRequest("tool needs a name, and arguments that are an object")
    return Request(number, kind, body, seconds)


def name_of(request: Request) -> str:
    """Return the name under which the request is counted and logged: never what somebody has typed."""
    if request.kind == "tool":
        from cairn.tools.table import listed  # noqa: PLC0415 - brings numpy, which the first hello does not wait for

        name = request.body["name"]
        return name if any(tool.name == name for tool in listed(semantic=True)) else "unknown_tool"
    if request.kind == "command":
        typed = request.body.get("argv")
        return f"cairn {verb_of(typed[0] if isinstance(typed, list) and typed else None)}"
    return request.kind


def progress_message(at: Progress) -> Message:
    """Return the message that reports how far a run is."""
    return {"phase": at.phase.value, "done": at.done, "total": at.total, "rate": at.rate}


def _check_served(body: Message) -> None:
    served = body.get("served", [])
    if not isinstance(served, list) or len(served) > _MOST_ROOTS:
        raise BadRequest(f"served must be a list of at most {_MOST_ROOTS} folders")
    if not all(isinstance(one, str) and os.path.isabs(one) and "\0" not in one for one in served):
        raise BadRequest("served must hold absolute paths")


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
