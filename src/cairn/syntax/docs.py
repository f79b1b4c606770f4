"""Which comment belongs to which definition, and what does it say without its comment marks?"""

from __future__ import annotations

import re
from bisect import bisect_right

from cairn.limits import MAX_DOC_CHARS

# The marks that open or close a comment line in any of our languages.
_LINE_START = re.compile(
    r"^[ \t]*(?:/\*+!?|//+!?|\*+/|\*(?!\*)|#+[!:]?|--\[=*\[|\]=*\]$|"
    r"--+(?:[ \t]*[|^])?|\{-(?:[ \t]*[|^])?|;+|<!--|=begin|=end)[ \t]?"
)
_LINE_END = re.compile(r"[ \t]*(?:\*+/|-\}|-->)[ \t]*$")
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
        self._doc_by_line: dict[int, str] = {}
        self._comment_by_last_line = {self._last_line(end): (start, end) for start, end in comments}
        self._attached_by_last_line = {self._last_line(end): start for start, end in attached}

    def _last_line(self, end: int) -> int:
        # Some grammars let a line comment run over its newline: the last byte decides the line, not the end.
        return bisect_right(self._lines, max(0, end - 1))

    def doc_above(self, start: int) -> str:
        """The cleaned text of the comments above the definition that starts here; empty when there are none."""
        line = bisect_right(self._lines, start)
        known = self._doc_by_line.get(line)
        if known is None:
            # Many names may stand on one line below a long comment.
            known = self._doc_by_line[line] = self._read_above(line)
        return known

    def _read_above(self, line: int) -> str:
        parts: list[bytes] = []
        while True:
            above = self._attached_by_last_line.get(line - 1)
            if above is not None and not parts:
                line = bisect_right(self._lines, above)
                continue
            span = self._comment_by_last_line.get(line - 1)
            if span is None or not self._alone_on_its_line(span[0]):
                break
            parts.append(self._data[span[0] : span[1]])
            line = bisect_right(self._lines, span[0])
        return clean(b"\n".join(reversed(parts))) if parts else ""

    def _alone_on_its_line(self, start: int) -> bool:
        """`x = 1  # why` belongs to its own line, not to the definition below."""
        line_start = self._lines[bisect_right(self._lines, start) - 1]
        return not self._data[line_start:start].strip()


def clean(comment: bytes) -> str:
    """A comment or doc string as plain text, bounded."""
    text = _DOC_ATTRIBUTE.sub("", _DOC_TAG.sub("", comment.decode("utf-8", "replace")))
    quote = _QUOTES.match(text)
    if quote:
        text = text[quote.end() :].removesuffix(quote.group(1))
        lines = [line.strip() for line in text.split("\n")]
    else:
        lines = [_LINE_END.sub("", _LINE_START.sub("", line)).strip() for line in text.split("\n")]
    return "\n".join(lines).strip()[:MAX_DOC_CHARS]
