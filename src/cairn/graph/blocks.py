"""Names that callbacks and blocks bind, told by how the lines are indented.

A callback is no definition, so what it holds seems to stand at the top of the file or of the function around it. Nobody
outside of its block can name that, and in the block it hides what is outside. A file that is not indented has fewer
edges, never wrong ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

_MOST_BYTES = 200_000
_MOST_PLACES = 400
_LOOK = 400
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")
_MEMBER = _LETTERS | frozenset(b".")
_INDENTED = re.compile(rb"[ \t]*")
_DECLARES = re.compile(r"\b(?:const|let|var)\s+$|\b(?:const|let|var)\s*[{\[](?:[^=;(]|=(?!>))*$")
_RENAMED = re.compile(r"\s*:")
_PARAMETERS = re.compile(r"\([^()]*$")
_ARROW = re.compile(r"[^()]*\)\s*(?::[^=;{]*)?=>|\s*=>")
_FUNCTION = re.compile(r"(?:\bfunction\b[^()]*|(?<!\.)\bcatch\s*)\([^()]*$")
_NAMED = re.compile(r"\s*(?:[?,:)}\]]|=(?!=)|$)")


class Spot(NamedTuple):
    """A place that binds a name, and how deep the lines are indented that can see it."""

    at: int
    depth: int


def depth_at(text: bytes, at: int) -> int:
    """How deep the line of this place is indented; 0 is the top of a file."""
    begin = text.rfind(b"\n", 0, at) + 1
    indented = _INDENTED.match(text, begin)
    return indented.end() - begin if indented else 0


def is_in_reach(text: bytes, spot: Spot, used: int) -> bool:
    """Whether no line between the two leaves the block that the first is in."""
    if spot.depth == 0:
        return True
    first, last = sorted((spot.at, used))
    begin = text.find(b"\n", first, last) + 1
    if begin == 0:
        # On one line: what follows may see it.
        return used > spot.at
    if spot.at > used:
        begin = text.rfind(b"\n", 0, used) + 1
        last = text.rfind(b"\n", 0, spot.at) + 1
    else:
        end = text.find(b"\n", last)
        last = end if end >= 0 else len(text)
    return last - begin <= _MOST_BYTES and _shallower(spot.depth).search(text, begin, last) is None


@lru_cache(maxsize=256)
def _shallower(depth: int) -> re.Pattern[bytes]:
    return re.compile(rb"^[ \t]{0,%d}[^\s]" % min(depth - 1, 200), re.MULTILINE)


def words(text: bytes, word: bytes, before: frozenset[int] = _LETTERS) -> Iterator[int]:
    """Where a word stands that is no part of another; none of the bytes of `before` may stand before it."""
    # No pattern: to make one for each of thousands of names takes longer than to look.
    at = text.find(word) if word else -1
    while at >= 0:
        end = at + len(word)
        is_whole = not (at and text[at - 1] in before) and not (end < len(text) and text[end] in _LETTERS)
        if is_whole:
            yield at
        at = text.find(word, end if is_whole else at + 1)


def bound_in_blocks(text: bytes, name: str) -> tuple[Spot, ...]:
    """Where callbacks and blocks make this name their own; what stands at the top of the file is left out."""
    found: list[Spot] = []
    wanted = name.encode()
    for at in islice(words(text, wanted, _MEMBER), _MOST_PLACES):
        end = at + len(wanted)
        before = text[max(0, at - _LOOK) : at].decode("utf-8", "replace")
        after = text[end : end + _LOOK].decode("utf-8", "replace")
        depth = depth_at(text, at)
        declared = _DECLARES.search(before)
        if declared is not None:
            # The name of a pattern of several lines stands deeper than its statement.
            depth = min(depth, depth_at(text, at - len(before[declared.start() :].encode())))
            if depth and not _RENAMED.match(after):
                found.append(Spot(at, depth))
        elif _is_parameter(before, after):
            found.append(Spot(at, depth + 1))
    return tuple(found)


def _is_parameter(before: str, after: str) -> bool:
    if not _NAMED.match(after) and not _ARROW.match(after):
        return False
    if before.rstrip()[-1:] not in tuple("(,{[."):
        # `name => …` alone.
        return after.lstrip().startswith("=>")
    return bool(_FUNCTION.search(before) or (_PARAMETERS.search(before) and _ARROW.match(after)))
