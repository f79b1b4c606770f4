"""Which comment belongs to which definition, and what does it say without its comment marks?"""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter

from cairn.core.limits import MAX_DOC_CHARS

# The marks that open or close a comment line in any of our languages.
_LINE_START = re.compile(
    r"(?:/\*+!?|//+!?|\*+/|\*(?!\*)|#+[!:]?|--\[=*\[|\]=*\]$|"
    r"--+(?:[ \t]*[|^])?|\{-(?:[ \t]*[|^])?|;+|<!--|=begin|=end)[ \t]?"
)
_LINE_END = re.compile(r"(?:\*+/|-\}|-->)$")
_CLOSERS = ("*/", "-}", "-->")
# Elixir's `@doc "..."` and the tags around the text of a C# doc comment.
_DOC_ATTRIBUTE = re.compile(r"^@(?:module|type)?doc[ \t]+")
_DOC_TAG = re.compile(r"</?(?:summary|remarks|returns|value|para)>")
_QUOTES = re.compile(r'^[rRbBuUfFsS~]*("""|\'\'\'|"|\')')


class CommentIndex:
    """Finds the comment block that ends on the line right above a definition, through attributes and decorators."""

    def __init__(
        self, data: bytes, comments: list[tuple[int, int]], attached: list[tuple[int, int]], lines: list[int]
    ) -> None:
        self._data = data
        self._lines = lines
        self._comments = comments
        self._attached = attached
        self._doc_by_line: dict[int, str] = {}
        for spans in (comments, attached):
            spans.sort(key=itemgetter(1))
        self._comment_ends = [end for _, end in comments]
        self._attached_ends = [end for _, end in attached]
        self._ends = sorted(self._comment_ends + self._attached_ends) if attached else self._comment_ends

    def doc_above(self, line: int) -> str:
        """The cleaned text of the comments above the definition that starts on this line; empty when there are none."""
        lines, ends = self._lines, self._ends
        last = bisect_right(ends, lines[line - 1]) - 1
        if line < 2 or last < 0 or ends[last] <= lines[line - 2]:
            return ""  # nothing ends on the line above: most definitions
        known = self._doc_by_line.get(line)
        if known is None:
            # Many names may stand on one line below a long comment.
            known = self._doc_by_line[line] = self._read_above(line)
        return known

    def _read_above(self, line: int) -> str:
        parts: list[bytes] = []
        while line > 1:
            attached = -1 if parts else self._last_on(line - 1, self._attached_ends)
            if attached >= 0:
                line = bisect_right(self._lines, self._attached[attached][0])
                continue
            comment = self._last_on(line - 1, self._comment_ends)
            if comment < 0:
                break
            start, end = self._comments[comment]
            if not self._alone_on_its_line(start):
                break
            parts.append(self._data[start:end])
            line = bisect_right(self._lines, start)
        return clean(b"\n".join(reversed(parts))) if parts else ""

    def _last_on(self, line: int, ends: list[int]) -> int:
        """Index of the last span that ends on a line, or -1.

        Some grammars let a line comment run over its newline: the last byte decides the line, not the end.
        """
        index = bisect_right(ends, self._lines[line]) - 1
        return index if index >= 0 and ends[index] > self._lines[line - 1] else -1

    def _alone_on_its_line(self, start: int) -> bool:
        """`x = 1  # why` belongs to its own line, not to the definition below."""
        line_start = self._lines[bisect_right(self._lines, start) - 1]
        return not self._data[line_start:start].strip()


def clean(comment: bytes) -> str:
    """A comment or doc string as plain text, bounded."""
    text = comment.decode("utf-8", "replace")
    if "@" in text or "<" in text:
        text = _DOC_ATTRIBUTE.sub("", _DOC_TAG.sub("", text))
    quote = _QUOTES.match(text)
    if quote:
        text = text[quote.end() :].removesuffix(quote.group(1))
    lines = map(str.strip if quote else _without_marks, text.split("\n"))
    return "\n".join(lines).strip()[:MAX_DOC_CHARS]


def _without_marks(line: str) -> str:
    line = line.strip(" \t")
    if line.startswith(("* ", "# ")):
        line = line[2:]  # what most lines begin with
    elif mark := _LINE_START.match(line):
        line = line[mark.end() :]
    if line.endswith(_CLOSERS):
        line = _LINE_END.sub("", line)
    return line.strip()
