"""All paths of a view as one text, so that a pattern is tried on sixty thousand of them in one pass of linear time.

A path stands in it as NUL, slash, path: no path holds a NUL, and every name has a slash before it. Patterns are RE2's
(`PathPattern`), never a backtracking engine's: both the globs of a query and the names in a repository may be hostile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import re2  # type: ignore[import-untyped]
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


class PathPattern:
    """What a whole path must look like, written after its leading slash; nothing in it may match a NUL."""

    def __init__(self, *bodies: str) -> None:
        body = "|".join(bodies)
        # Neighbours that match are taken as one: a match costs a hundred times what a byte does.
        self._runs = re2.compile(f"(?s)(?:\0/(?:{body}))+\0".encode())

    def matches(self, path: str) -> bool:
        """Say whether this one path does."""
        return self._runs.search(f"\0/{path}\0".encode()) is not None

    def spans(self, text: bytes) -> list[tuple[int, int]]:
        return [match.span() for match in self._runs.finditer(text)]


class PathTable:
    """Paths, ready to be matched together. Make it once for a view."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        encoded = [path.encode() for path in paths]
        self._text = b"".join(b"\0/" + path for path in encoded) + b"\0"
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded)) + 2
        self._starts = np.cumsum(sizes) - sizes

    def matching(self, pattern: PathPattern) -> Flags:
        """For each path, whether it matches."""
        edges = np.zeros(len(self.paths) + 1, np.int8)
        if spans := pattern.spans(self._text):
            ends = np.array(spans, np.int64)
            edges[np.searchsorted(self._starts, ends[:, 0])] += 1
            # A run ends with the NUL that begins the path after it.
            edges[np.searchsorted(self._starts, ends[:, 1] - 1)] -= 1
        return np.cumsum(edges[:-1]) > 0


def glob_pattern(*globs: str) -> PathPattern:
    """The paths that one of these globs takes in, as people write them in a query.

    `*` and `?` stay inside a name, `**` crosses folders, `[ab]` is one of these. Without a slash it is the name of a
    file or a folder anywhere; a slash at its start ties it to the root. A folder stands for all that is in it.
    """
    return PathPattern(*map(_glob, globs))


def _glob(written: str) -> str:
    body = written.removeprefix("./").strip("/")
    anchored = written.startswith(("/", "./")) or "/" in body
    anywhere = "" if anchored else r"(?:[^\x00]*/)?"
    return f"{anywhere}{_translated(body)}(?:/[^\\x00]*)?"


def _translated(written: str) -> str:
    found: list[str] = []
    at = 0
    while at < len(written):
        if written.startswith("**/", at):
            found.append(r"(?:[^\x00]*/)?")
            at += 3
        elif written.startswith("**", at):
            found.append(r"[^\x00]*")
            at += 2
        elif written[at] == "*":
            found.append(r"[^/\x00]*")
            at += 1
        elif written[at] == "?":
            found.append(r"[^/\x00]")
            at += 1
        elif written[at] == "[" and (end := written.find("]", at + 2)) > 0:
            found.append(_one_of(written[at + 1 : end]))
            at = end + 1
        else:
            found.append(re2.escape(written[at]))
            at += 1
    return "".join(found)


def _one_of(members: str) -> str:
    """A class of characters; `!` or `^` at its start takes all others, and `a-z` is a range when it is in order."""
    negated = members[0] in "!^" and len(members) > 1
    members = members[negated:]
    parts: list[str] = []
    at = 0
    while at < len(members):
        end = members[at + 2] if members[at + 1 : at + 2] == "-" and at + 2 < len(members) else ""
        if end >= members[at] and end:
            parts.append(f"{_quoted(members[at])}-{_quoted(end)}")
            at += 3
        else:
            parts.append(_quoted(members[at]))
            at += 1
    # A negated class must not cross a name's border, nor a path's.
    return f"[^/\\x00{''.join(parts)}]" if negated else f"[{''.join(parts)}]"


def _quoted(char: str) -> str:
    return f"\\x{{{ord(char):x}}}"
