r"""Compile a text or a regular expression that a person typed, or say in one sentence what is wrong with it.

The syntax is RE2's: no back-references and no look-around, so that search time is linear in the text. A pattern is
applied to each line by itself, unless a multiline search is asked for. `\w`, `\d`, `\s` and `\b` know ASCII only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import numpy as np
import re2  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cairn.core.limits import MAX_QUERY_PATTERN_BYTES, PATTERN_MEMORY_BYTES
from cairn.engine.scan import Joint, Wanted
from cairn.errors import InvalidPattern

# A piece of a regex: quoted text, an escape with its argument, a whole class, the head of a group, or one character.
_PIECE = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\(?:[pP]\{[^}]*\}|x\{[^}]*\}|x[0-9A-Fa-f]{2}|.)"
    r"|\[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]\\])*\]|\(\?P?<\w*>|\(\?[a-zA-Z-]*[:)]|.",
    re.DOTALL,
)
_NAMED_GROUP = re.compile(r"\(\?P?<\w*>")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)-([a-zA-Z]*)([:)])")
_SETS_FLAGS = re.compile(r"\(\?[a-zA-Z-]+[:)]")
# A piece that matches just itself: a plain character, or an escaped sign.
_PLAIN = re.compile(r"\\[^a-zA-Z0-9]|[^\\()\[\]{}.*+?^$|]")
_SIMPLE_WORD = re.compile(r"\\b(\w+)\\b", re.ASCII)
# Letters whose other cases are not all ASCII: ignoring case, `s` also matches the long s and `k` the Kelvin sign.
_FOLDED_FROM_AFAR = re.compile("[ks]", re.IGNORECASE)
# Plain characters, and choices between words: `(?:get|set)_name`.
_CHOICE = re.compile(r"\((?:\?:)?(\w+(?:\|\w+)*)\)|(\w+)", re.ASCII)
_CHOICES = re.compile(r"(?:\((?:\?:)?\w+(?:\|\w+)*\)|\w)*", re.ASCII)
_RAREST_FIRST = "zqjxwvkybg_hpfmucdlisnrtoae"
_SHORTEST_NEEDED = 3
_BEGIN = r"(?:^\x{FEFF}?)"
_SHOWN_CHARS = 60
_BACK_REFERENCE = tuple("123456789gk")
_FOREIGN = (
    ("(?=", "look-ahead"),
    ("(?!", "look-ahead"),
    ("(?<=", "look-behind"),
    ("(?<!", "look-behind"),
    ("(?>", "an atomic group"),
    ("(?(", "a condition"),
    ("(?R", "recursion"),
    ("(?P=", "a back-reference"),
)


class Case(StrEnum):
    """Whether upper and lower case differ; `smart` means only when the pattern has an upper-case letter."""

    SMART = "smart"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


def compiled(
    pattern: str, *, regex: bool = False, case: Case = Case.SMART, word: bool = False, multiline: bool = False
) -> Wanted:
    """Return the compiled pattern; raises `InvalidPattern`, which says what is wrong and where."""
    data = _checked(pattern)
    if not multiline:
        _one_line(pattern, regex)
    ignore = case is Case.INSENSITIVE or (case is Case.SMART and not _has_upper(pattern, regex))
    options = _options(ignore, multiline)
    if not regex:
        source = re2.escape(pattern)
        if word:
            source = f"{_edge(pattern[0])}{source}{_edge(pattern[-1])}"
        plain = None if ignore and pattern.upper() != pattern.lower() else data
        # A text such as `->` has no word at its edges, so the fast search for whole words does not apply.
        whole = word and _edge(pattern[0]) == _edge(pattern[-1]) == r"\b"
        return Wanted(re2.compile(source, options), plain if whole == word else None, whole, None, multiline)
    if (place := _place_of(pattern, r"\C")) >= 0:
        raise InvalidPattern(why=rf"\C at position {place + 1} is not supported: it would split characters")
    try:
        # Compiled alone first, so that what is put around the pattern cannot repair an error in it.
        re2.compile(pattern, options)
    except re2.error as error:
        raise InvalidPattern(why=_why(error, pattern, options)) from None
    source = "".join(_piece(match.group(), multiline) for match in _PIECE.finditer(pattern))
    source = source if multiline or "^" not in pattern else _behind_marks(source)
    try:
        made = re2.compile(rf"(?m)\b(?:{source})\b" if word else f"(?m){source}", options)
    except re2.error:
        raise InvalidPattern(why="it is too large once it is compiled") from None
    simple = _SIMPLE_WORD.fullmatch(pattern)
    if simple and not (ignore and _FOLDED_FROM_AFAR.search(simple[1])):
        return Wanted(made, simple[1].lower().encode() if ignore else simple[1].encode(), True, None, multiline, ignore)
    needed = None if ignore or multiline else _needed(pattern)
    joint = None if needed or multiline or word else _joint(pattern, ignore)
    return Wanted(made, None, False, needed and re2.compile(re2.escape(needed), options), multiline, joint=joint)


def _behind_marks(source: str) -> str:
    """Return a regex whose lines begin behind a byte order mark, where a file has one."""
    return "".join(_BEGIN if match.group() == "^" else match.group() for match in _PIECE.finditer(source))


def _checked(pattern: str) -> bytes:
    if not pattern:
        raise InvalidPattern(why="it is empty")
    try:
        data = pattern.encode()
    except UnicodeEncodeError as error:
        raise InvalidPattern(why=f"it is not UTF-8 at position {error.start + 1}") from None
    if len(data) > MAX_QUERY_PATTERN_BYTES:
        raise InvalidPattern(why=f"it has {len(data):,} bytes, and {MAX_QUERY_PATTERN_BYTES:,} are the most")
    return data


def _one_line(pattern: str, regex: bool) -> None:
    place = pattern.find("\n")
    if place < 0 and regex:
        place = _place_of(pattern, r"\n")
    if place >= 0:
        raise InvalidPattern(
            why=f"it asks for a line end at position {place + 1}, but each line is searched by itself"
            " unless a multiline search is asked for"
        )


def _has_upper(pattern: str, regex: bool) -> bool:
    if not regex:
        return pattern != pattern.lower()
    pieces = (match.group() for match in _PIECE.finditer(pattern))
    plain = "".join(piece for piece in pieces if not piece.startswith(("(?", "\\")) or piece.startswith("\\Q"))
    plain = re.sub(r"\\[^Q]|\[:\w*:\]|\\Q", "", plain.removesuffix("\\E"))
    return plain != plain.lower()


def _piece(piece: str, multiline: bool) -> str:
    """Return a piece of a pattern; unless `multiline`, the start and the end of the text become those of a line."""
    if _NAMED_GROUP.fullmatch(piece):
        # The text of a group is never used, and capturing it takes several times as long.
        return "(?:"
    if multiline:
        return piece
    if piece == r"\A":
        return "(?m:^)"
    if piece == r"\z":
        return "(?m:$)"
    flags = _FLAGS.fullmatch(piece)
    if flags is None or "m" not in flags[2]:
        return piece
    off = flags[2].replace("m", "")
    return f"(?{flags[1]}{'-' if off else ''}{off}{flags[3]}" if flags[1] or off or flags[3] == ":" else ""


def _needed(pattern: str) -> str | None:
    """Return the longest run of characters that every match contains; None when it is short or hard to tell."""
    runs, depth = [""], 0
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        if (piece == "|" and not depth) or _SETS_FLAGS.fullmatch(piece):
            return None
        if depth or not _PLAIN.fullmatch(piece):
            # A quantifier may make the character before it optional.
            if piece in ("*", "?", "{"):
                runs[-1] = runs[-1][:-1]
            runs.append("")
            depth += (piece.startswith("(") and not piece.endswith(")")) - (piece == ")")
        elif not (runs[-1] == "" and _in_braces(pattern, match.start())):
            runs[-1] += piece.removeprefix("\\")
    longest = max(runs, key=len)
    # RE2 itself is as fast when the run is at the start of the pattern.
    return longest if len(longest) >= _SHORTEST_NEEDED and longest != runs[0] else None


def _joint(pattern: str, ignore: bool) -> Joint | None:
    """Return the rarest character that every match has between two known others; None when there is none.

    An example is `_` in `(?:get|set)_(?:name|value)`. Only a pattern that begins with a choice is examined: RE2 itself
    is as fast when plain characters come first.
    """
    if not (pattern.startswith("(") and _CHOICES.fullmatch(pattern)):
        return None
    choices = [(match[1] or match[2]).split("|") for match in _CHOICE.finditer(pattern)]
    found = []
    for before, (run, *others), after in zip(choices, choices[1:], [*choices[2:], [""]], strict=False):
        around = [{word[-1] for word in before}, *({char} for char in run), {word[:1] for word in after}]
        for place, char in enumerate(run if not others else "", 1):
            if "" not in around[place + 1] and not (ignore and _FOLDED_FROM_AFAR.match(char)):
                found.append((_RAREST_FIRST.find(char.lower()), char, around[place - 1], around[place + 1]))
    if not found:
        return None
    _, char, left, right = min(found, key=lambda one: one[0])
    fold = ignore and char.isalpha()
    return Joint(_marked(left, ignore, -1), ord(char.lower() if fold else char), _marked(right, ignore, 0), fold)


def _marked(characters: Iterable[str], ignore: bool, edge: int) -> NDArray[np.bool_]:
    """Return the marked first (`edge` 0) or last (-1) bytes of these characters in all their cases."""
    forms = {form for char in characters for form in ([char.lower(), char.upper()] if ignore else [char])}
    if ignore:
        forms |= {far for near, far in (("k", "\u212a"), ("s", "\u017f")) if near in forms}
    marks = np.zeros(256, np.bool_)
    marks[[form.encode()[edge] for form in forms]] = True
    return marks


def _in_braces(pattern: str, place: int) -> bool:
    """Whether a character belongs to a count, as in `{2,3}`."""
    return pattern.rfind("{", 0, place) > pattern.rfind("}", 0, place)


def _edge(character: str) -> str:
    # `\b` beside a letter and `\B` beside a sign both demand that no letter stands outside of the text.
    return r"\b" if re.match(r"\w", character, re.ASCII) else r"\B"


def _options(ignore: bool, multiline: bool) -> Any:
    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    options.never_nl = not multiline
    options.case_sensitive = not ignore
    return options


def _place_of(pattern: str, piece: str) -> int:
    return next((match.start() for match in _PIECE.finditer(pattern) if match.group() == piece), -1)


# --- what is wrong with a pattern -------------------------------------------------------------------------------------


def _why(error: Exception, pattern: str, options: Any) -> str:
    """Return RE2's error with the place in the pattern; names a feature that only other engines have."""
    said = _said(error)
    what, _, part = said.partition(": ")
    if not part:
        return what
    place = _unpaired(pattern) if part == pattern else _first_failing(pattern, part, said, options)
    for start, name in _FOREIGN:
        if (part.startswith(start) or start.startswith(part)) and start in pattern:
            at = pattern.find(start) + 1
            return f"{name}, at position {at}, is not supported, because search time must stay linear"
    if what == "invalid escape sequence" and part[1:2] in _BACK_REFERENCE:
        return f"a back-reference, at position {place}, is not supported, because search time must stay linear"
    shown = part if len(part) <= _SHOWN_CHARS else f"{part[:_SHOWN_CHARS]}…"
    return f"{what} at position {place}, in `{shown}`"


def _said(error: Exception) -> str:
    said = error.args[0]
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _first_failing(pattern: str, part: str, said: str, options: Any) -> int:
    """Return the position (from 1) of the part that RE2 complains about.

    That is the first occurrence up to which the pattern alone gives the same error.
    """
    place = pattern.find(part)
    while (after := pattern.find(part, place + 1)) >= 0:
        try:
            re2.compile(pattern[: place + len(part)], options)
        except re2.error as error:
            if _said(error) == said:
                break
        place = after
    return place + 1


def _unpaired(pattern: str) -> int:
    """Return the position (from 1) of the bracket without a partner."""
    opened: list[int] = []
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        if piece == "(" or (piece.startswith("(?") and not piece.endswith(")")):
            opened.append(match.start())
        elif piece == ")":
            if not opened:
                return match.start() + 1
            opened.pop()
    return opened[-1] + 1 if opened else 1
