"""Changes of a text that can be taken back: a few splices, and everything between them stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

NAME = "cairn"


class Unfit(Exception):
    """Why a file is left as it is, as the end of the sentence `... was left as it is: ...`."""


class Splice(NamedTuple):
    """At this place of the text before stood `old`; now `new` stands there."""

    at: int
    old: str
    new: str


class Server(NamedTuple):
    """The program that an agent starts."""

    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


class Format(Protocol):
    """A kind of file that one entry of ours is kept in. Everything raises `Unfit` for a text that cannot be read."""

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is there; None when it is."""

    def take(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is not there; None when it is not."""

    def is_ours(self, text: str) -> bool:
        """Whether the entry is there, and calls Cairn; another program may have the same name."""

    def agrees(self, before: str, after: str) -> bool:
        """Whether both texts mean the same but for our entry, and whoever can read the first can read the second."""

    def is_empty(self, text: str) -> bool:
        """Whether nothing is left that anybody would miss."""


def applied(text: str, splices: Sequence[Splice]) -> str:
    """The text after the changes. `Unfit` when it is not the text that they were made for."""
    parts, done = [], 0
    for at, old, new in splices:
        if at < done or text[at : at + len(old)] != old:
            raise Unfit("it is not what it was")
        parts += [text[done:at], new]
        done = at + len(old)
    return "".join([*parts, text[done:]])


def reversed_splices(splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """The changes that take these back."""
    found, shift = [], 0
    for at, old, new in splices:
        found.append(Splice(at + shift, new, old))
        shift += len(new) - len(old)
    return tuple(found)


def relocated(text: str, splices: Sequence[Splice], length: int) -> tuple[Splice, ...] | None:
    """The changes that take these back in a text that was edited since; None where one of them cannot be found.

    `length` is that of the text that they made.
    """
    found = []
    for was, new, old in reversed_splices(splices):
        if not new.strip() or text.count(new) != 1:
            return None
        at = text.index(new)
        # What was added behind ours would become the end of the line before it, which may be a comment.
        keeps_break = was + len(new) == length and _joins(text, at, at + len(new))
        found.append(Splice(at, new.removesuffix("\n").removesuffix("\r") if keeps_break else new, old))
    return tuple(sorted(found))


def _joins(text: str, start: int, end: int) -> bool:
    """Whether two lines become one when this is taken out from between them."""
    inside = start > 0 and end < len(text) and text[end - 1] == "\n"
    return inside and text[start - 1] != "\n" and text[end] not in "\r\n"


def newline_of(text: str) -> str:
    """How the lines of this text end."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with its indentation and its line break when nothing else stands on its lines, else with the blanks."""
    first = start
    while first and text[first - 1] in " \t":
        first -= 1
    last = end
    while last < len(text) and text[last] in " \t\r":
        last += 1
    alone = not first or text[first - 1] == "\n"
    if alone and last < len(text) and text[last] == "\n":
        return first, last + 1
    if alone and last == len(text):
        return first, last
    while end < len(text) and text[end] in " \t":
        end += 1
    return start, end
