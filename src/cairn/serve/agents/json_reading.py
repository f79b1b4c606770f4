"""JSON with comments and commas too many: what it means, to the order and the digits, and where its members stand."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

from cairn.serve.agents.edits import Unfit

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_COMMENT = r"//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)"
# Each branch ends at the end of the text too: what is not closed is looked at once.
_HIDDEN = re.compile(f"{_STRING}|{_COMMENT}", re.DOTALL)
_COMMAS = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])", re.DOTALL)
_TOKENS = re.compile(rf'{_STRING}|{_COMMENT}|[{{}}\[\],:]|[^\s"{{}}\[\],:/]++', re.DOTALL)


class Pairs(tuple[tuple[str, Any], ...]):
    """The members of an object in their order, those with the same name too."""

    __slots__ = ()

    def values_of(self, name: str) -> list[Any]:
        return [value for key, value in self if key == name]


class Member(NamedTuple):
    """A member of an object: where it begins, where its value stands, and the comma after it."""

    name: str
    start: int
    value: int
    end: int
    comma: int | None


class Span(NamedTuple):
    """An object from bracket to bracket."""

    start: int
    members: list[Member]
    close: int

    def named(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)


class Reading(NamedTuple):
    """The object in a text, None when there is nothing but blanks and comments; and how many commas are too many.

    Some readers forgive those and others do not.
    """

    tree: Pairs | None
    commas: int


@lru_cache(maxsize=2)
def read(text: str) -> Reading:
    """What the text means. A file can be large, and each of the two texts of an edit is asked about several times."""
    commas = 0

    def shown(found: re.Match[str]) -> str:
        if found[0][0] == '"':
            return found[0]
        if found[0][1] == "*" and (len(found[0]) < 4 or not found[0].endswith("*/")):
            raise Unfit("a comment in it is not closed")
        # The lines are counted when something is wrong behind it.
        return "\n" * found[0].count("\n") or " "

    def one_less(found: re.Match[str]) -> str:
        nonlocal commas
        commas += found[0] == ","
        return "" if found[0] == "," else found[0]

    bare = _HIDDEN.sub(shown, text.removeprefix("\ufeff"))
    if not bare.strip():
        return Reading(None, 0)
    try:
        tree = json.loads(
            _COMMAS.sub(one_less, bare), object_pairs_hook=Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
    except json.JSONDecodeError as problem:
        # Only the line is told: the message of the parser could quote the file.
        raise Unfit(f"it is not valid JSON (line {problem.lineno})") from None
    except RecursionError:
        raise Unfit("it is nested too deeply") from None
    if not isinstance(tree, Pairs):
        raise Unfit("it is not a JSON object")
    return Reading(tree, commas)


def top_object(text: str) -> Span:
    """The whole object of a text that can be read."""
    tokens = _TOKENS.finditer(text, text.startswith("\ufeff"))
    return object_at(text, next(found.start() for found in tokens if found[0][0] != "/"))


def object_at(text: str, start: int) -> Span:
    """The members of the object that opens at `start` of a text that can be read."""
    members: list[Member] = []
    depth, key, value, end = 0, None, -1, -1
    for token in _TOKENS.finditer(text, start):
        at = token.start()
        sign = text[at]
        if sign == "/":
            continue
        if sign in "}]":
            depth -= 1
        if depth == 0 and sign == "}":
            if key is not None:
                members.append(Member(json.loads(text[key[0] : key[1]], strict=False), key[0], value, end, None))
            return Span(start, members, at)
        if depth == 1:
            if sign == ",":
                assert key is not None
                members.append(Member(json.loads(text[key[0] : key[1]], strict=False), key[0], value, end, at))
                key, value = None, -1
            elif key is None:
                key = at, token.end()
            elif sign != ":":
                value, end = (at if value < 0 else value), token.end()
        if sign in "{[":
            depth += 1
    raise Unfit("it is not valid JSON")


def has_comments(text: str) -> bool:
    """Whether somebody has written a comment in it."""
    return any(found[0][0] == "/" for found in _HIDDEN.finditer(text))
