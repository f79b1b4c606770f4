"""Tell the comments and the strings of a file from its code, by its text alone and without a parser.

The rules of a language are in its traits. A string that the rules read wrongly ends with its line, unless the language
lets strings go on, so that a mistake costs one line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple


class Lexis(NamedTuple):
    """What a comment and a string look like in a language, as patterns; `embeds` opens code inside a string.

    `letters` are the signs that a name may hold beside letters, digits and the underscore. `directives` finds, in the
    text of a comment, that compilers or other tools read it. `begins_text` is the sign of a text that begins on the
    next line and ends with a line that holds the word in `ends`, as in `<<EOS`; `lists` opens a list of words.
    """

    comments: tuple[str, ...]
    strings: tuple[str, ...]
    embeds: str = ""
    letters: str = ""
    directives: str = "@"
    begins_text: str = ""
    lists: str = ""


IN_QUOTES = r'"(?:[^"\\\n]|\\.)*"?'
IN_APOSTROPHES = r"'(?:[^'\\\n]|\\.)*'?"
CHARACTER = r"'(?:[^'\\\n]|\\[^\n']*)'|'\\''"
OVER_LINES = r'"(?:[^"\\]|\\.)*(?:"|\Z)'
IN_THREE_QUOTES = r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
IN_THREE_APOSTROPHES = r"'''(?:[^\\]|\\.)*?(?:'''|\Z)"
RAW_IN_THREE_QUOTES = r'""".*?(?:"""|\Z)'
IN_BACKTICKS = r"`(?:[^`\\]|\\.)*(?:`|\Z)"
RAW_IN_BACKTICKS = r"`[^`]*(?:`|\Z)"
AFTER_SLASHES = r"//[^\n]*"
AFTER_HASH = r"#[^\n]*"
AFTER_DASHES = r"--[^\n]*"
BLOCK = r"/\*.*?(?:\*/|\Z)"
_INSIDE = r"[^/*]++|/(?!\*)|\*(?!/)"
_NESTED_ONCE = rf"/\*(?:{_INSIDE})*+\*/"
_NESTED_TWICE = rf"/\*(?:{_INSIDE}|{_NESTED_ONCE})*+\*/"
NESTED_BLOCK = rf"/\*(?:{_INSIDE}|{_NESTED_TWICE})*+(?:\*/|\Z)|{BLOCK}"
AFTER_SLASHES_JOINED = r"//(?:\\\r?\n|[^\n])*"
"""Pieces that several languages share. A string that may not go on over lines ends with its line; a comment that may
hold others, as in Rust, holds them two deep; a comment of C goes on after a backslash at the end of its line."""

C_LIKE = Lexis((AFTER_SLASHES, BLOCK), (IN_QUOTES, CHARACTER))
"""What most languages have: `//` and `/* */`, strings of one line and characters."""


class Quiet:
    """The comments and the strings of one text."""

    def __init__(self, text: bytes, lexis: Lexis) -> None:
        self._text, self._lexis = text, lexis
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._is_comment: list[bool] = []
        self._read_to = 0
        # Texts that begin after the line at hand: the byte of their sign, and the pattern of their last line.
        self._awaited: list[tuple[int, re.Pattern[bytes]]] = []
        self._signs = 0

    def is_comment(self, at: int) -> bool:
        """Whether a byte is in a comment."""
        found = self._around(at)
        return found >= 0 and self._is_comment[found]

    def without_comments(self, start: int, end: int, keep: str = r"(?!)") -> bytes:
        """Return the text between two bytes with spaces in place of comments, except those in which `keep` is found.

        Lines keep their ends.
        """
        self._read(end)
        kept = re.compile(keep.encode())
        text = bytearray(self._text[start:end])
        for place in range(max(0, bisect_right(self._starts, start) - 1), bisect_right(self._starts, end - 1)):
            # The first may have ended before the text that is asked for.
            is_here = self._is_comment[place] and self._ends[place] > start
            if is_here and not kept.search(self._text, self._starts[place], self._ends[place]):
                first, after = max(start, self._starts[place]), min(end, self._ends[place])
                text[first - start : after - start] = _BLANKED.sub(b" ", text[first - start : after - start])
        return bytes(text)

    def string(self, at: int) -> tuple[int, int] | None:
        """Return the string that holds a byte, quotes included; None in code, also in code inside a string."""
        found = self._around(at)
        if found < 0 or self._is_comment[found] or self._is_embedded(self._starts[found], at):
            return None
        return self._starts[found], self._ends[found]

    def _around(self, at: int) -> int:
        self._read(at)
        found = bisect_right(self._starts, at) - 1
        return found if found >= 0 and at < self._ends[found] else -1

    def _read(self, to: int) -> None:
        """Find the comments and strings that begin up to a byte, from where the last call ended."""
        if to < self._read_to:
            return
        pattern = _pattern(self._lexis)
        while self._read_to <= len(self._text):
            match = pattern.search(self._text, self._read_to)
            if self._awaited and self._take_text(match.start() if match else len(self._text)):
                start = self._starts[-1]
            elif match is None:
                break
            elif match.lastgroup == "begins":
                self._await(match)
                continue
            else:
                start = self._add(match.start(), match.end(), match.lastgroup == "comment")
            if start > to:
                return
        self._read_to = len(self._text) + 1

    def _add(self, start: int, end: int, is_comment: bool) -> int:
        self._starts.append(start)
        self._ends.append(end)
        self._is_comment.append(is_comment)
        self._read_to = max(end, start + 1)
        return start

    def _await(self, match: re.Match[bytes]) -> None:
        """Note a text that begins on the next line, if a later line ends it."""
        self._read_to = match.end()
        self._signs += 1
        if self._signs > _MOST_SIGNS:
            return
        last = re.compile(rb"^[ \t]*" + re.escape(match["ends"]) + rb"(?=\s*(?:$|[;,)\]}.]))", re.MULTILINE)
        line = self._text.find(b"\n", match.end())
        if line >= 0 and last.search(self._text, line + 1):
            self._awaited.append((match.end(), last))

    def _take_text(self, upcoming: int) -> bool:
        """Add the first awaited text, if it begins before the comment or string at byte `upcoming`."""
        after, last = self._awaited[0]
        line = self._text.find(b"\n", max(after, self._read_to))
        if line < 0 or upcoming < line:
            return False
        del self._awaited[0]
        end = last.search(self._text, line + 1)
        self._add(line + 1, end.end() if end else len(self._text), False)
        # The next text of the same line begins here.
        self._awaited = [(self._read_to - 1, each) for _, each in self._awaited]
        self._read_to -= bool(self._awaited)
        return True

    def _is_embedded(self, start: int, at: int) -> bool:
        """Whether code that a string embeds, as `${name}`, holds a byte of the string."""
        if not self._lexis.embeds:
            return False
        before = self._text[max(start, at - _LONGEST_EMBEDDED) : at].decode("utf-8", "replace")
        found = list(re.finditer(self._lexis.embeds, before))
        if not found:
            return False
        opened = found[-1]
        inside = before[opened.end() :]
        if opened[0][-1] not in "{(`":
            # `$name` embeds one name, and what follows with a dot is text.
            return inside == ""
        closes = {"{": "}", "(": ")"}.get(opened[0][-1], "`")
        return inside.count(closes) <= inside.count(opened[0][-1])


_LONGEST_EMBEDDED = 400
# Each sign looks for its last line in the rest of the file.
_MOST_SIGNS = 500
_BLANKED = re.compile(rb"[^\n]")


@lru_cache(maxsize=64)
def _pattern(lexis: Lexis) -> re.Pattern[bytes]:
    comments, strings = ("|".join(each) or r"(?!)" for each in (lexis.comments, lexis.strings))
    begins = f"|(?P<begins>{lexis.begins_text})" if lexis.begins_text else ""
    return re.compile(f"(?P<comment>{comments}){begins}|(?P<string>{strings})".encode(), re.DOTALL | re.MULTILINE)
