"""The shape of a file: which lines hold its frame and which the bodies of its functions, with a digest of each.

Facts about a file outlive an edit of its comments, and in some languages an edit of other bodies: two shapes tell which
lines say the same as before, and where each of them stands now.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

_BODY = b"\0"


class Region(NamedTuple):
    """Lines of code, by their numbers from 1, and a digest of what they say."""

    digest: str
    lines: tuple[int, ...]


class CodeShape(NamedTuple):
    """The frame of a file, and the bodies of its functions in order."""

    frame: Region
    bodies: tuple[Region, ...]

    def to_json(self) -> str:
        """Return a text for `shape_from_json`; lines that follow each other are one range in it."""
        return json.dumps(
            [[one.digest, _ranges(one.lines)] for one in (self.frame, *self.bodies)], separators=(",", ":")
        )


class Moves(NamedTuple):
    """Where each line stands now that says the same as when its facts were recorded, and the way back.

    `is_all` says that every line of code does.
    """

    now: dict[int, int]
    then: dict[int, int]
    is_all: bool


def shape_of(code: Sequence[bytes], bodies: Iterable[tuple[int, int]]) -> CodeShape:
    """Return the shape of these lines of code, given the first and the last line of each body; empty lines are none."""
    frame, inside, at = [], [], 1
    texts: list[bytes] = []
    for first, last in bodies:
        before = [line for line in range(at, first) if code[line - 1]]
        body = [line for line in range(first, last + 1) if code[line - 1]]
        frame += before
        texts += [*(code[line - 1] for line in before), _BODY]
        inside.append(Region(_digest(code[line - 1] for line in body), tuple(body)))
        at = last + 1
    rest = [line for line in range(at, len(code) + 1) if code[line - 1]]
    texts += [code[line - 1] for line in rest]
    return CodeShape(Region(_digest(texts), (*frame, *rest)), tuple(inside))


def shape_from_json(text: str) -> CodeShape | None:
    """Return the shape that `to_json` wrote; None for any other text."""
    try:
        frame, *bodies = [Region(str(digest), _lines(ranges)) for digest, ranges in json.loads(text)]
    except (ValueError, TypeError):
        return None
    return CodeShape(frame, tuple(bodies))


def moves(then: CodeShape, now: CodeShape) -> Moves | None:
    """Return where lines have moved to; None when the frame is another one, so that no line can be believed."""
    if then.frame.digest != now.frame.digest or len(then.bodies) != len(now.bodies):
        return None
    same = [pair for pair in zip(then.bodies, now.bodies, strict=True) if pair[0].digest == pair[1].digest]
    regions = [(then.frame, now.frame), *same]
    pairs = [pair for before, after in regions for pair in zip(before.lines, after.lines, strict=False)]
    return Moves(dict(pairs), {after: before for before, after in pairs}, len(same) == len(then.bodies))


def _digest(lines: Iterable[bytes]) -> str:
    return sha256(b"\n".join(lines)).hexdigest()


def _ranges(lines: Iterable[int]) -> list[int]:
    """Return the first and the last line of every run of lines, one after the other."""
    found: list[int] = []
    for line in lines:
        if found and line == found[-1] + 1:
            found[-1] = line
        else:
            found += (line, line)
    return found


def _lines(ranges: Sequence[int]) -> tuple[int, ...]:
    pairs = zip(ranges[::2], ranges[1::2], strict=True)
    return tuple(chain.from_iterable(range(first, last + 1) for first, last in pairs))
