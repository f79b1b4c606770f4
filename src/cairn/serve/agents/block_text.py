"""A block of text between two marks, in a page that people write: instructions for agents."""

from __future__ import annotations

import re

from cairn.serve.agents.edits import Splice, Unfit, newline_of

BEGIN = "<!-- cairn:begin - `cairn uninstall` removes what stands up to the end mark -->"
END = "<!-- cairn:end -->"
_MARKS = re.compile(r"^<!-- cairn:(begin|end)\b[^\n]*?-->[ \t]*+\r?$", re.MULTILINE)


class Block:
    """Our lines between their marks; everything around them is somebody else's."""

    def __init__(self, lines: str) -> None:
        self._lines = [BEGIN, *lines.strip().split("\n"), END]

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the block is there as it should be; None when it is."""
        break_ = newline_of(text)
        wanted = break_.join(self._lines)
        span = _span(text)
        if span is None:
            ended = break_ if text and not text.endswith("\n") else ""
            apart = break_ if text.strip() else ""
            return (Splice(len(text), "", ended + apart + wanted + break_),)
        found = text[slice(*span)]
        return None if found == wanted else (Splice(span[0], found, wanted),)

    def take(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the block is not there; None when it is not."""
        span = _span(text)
        if span is None:
            return None
        start, end = span
        if text.startswith(("\n", "\r\n"), end):
            end = text.index("\n", end) + 1
        return (Splice(start, text[start:end], ""),)

    def is_ours(self, text: str) -> bool:
        """Whether the block is there."""
        return _span(text) is not None

    def agrees(self, before: str, after: str) -> bool:
        """Whether both have the same lines but for ours; how many empty ones stand between them is no matter."""
        return _others(before) == _others(after)

    def is_empty(self, text: str) -> bool:
        """Whether nothing is left."""
        return not text.strip()


def _others(text: str) -> list[str]:
    start, end = _span(text) or (len(text), len(text))
    return [line for line in [*text[:start].splitlines(), *text[end:].splitlines()] if line.strip()]


def _span(text: str) -> tuple[int, int] | None:
    """From the first mark to the last, None when there are none. `Unfit` when they are not one pair."""
    marks = list(_MARKS.finditer(text))
    if not marks:
        return None
    if [mark[1] for mark in marks] != ["begin", "end"]:
        raise Unfit("the marks of the block are not one pair")
    return marks[0].start(), marks[1].end() - marks[1][0].endswith("\r")
