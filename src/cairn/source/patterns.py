"""The glob patterns of ignore files, cut into path components that match in linear time.

git matches a pattern against a whole path by backtracking. Here a pattern becomes chains of components, because a
walk sees a path one name at a time and must not pay for rules of other folders; and a component becomes a set of
names, a set of endings, or a regular expression that cannot backtrack (an ignore file is hostile input).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from itertools import product
from math import prod
from typing import NamedTuple


class _Star(Enum):
    """The tokens that stand for any number of bytes: `*`, a `**/`, and a `**` that no plain slash follows."""

    NAME = 1
    FOLDERS = 2
    REST = 3


# A token is a star, or the bytes that one position may hold; b"/" alone is the separator.
Token = _Star | bytes

_SLASH, _STAR, _QUESTION, _BACKSLASH, _DASH, _COLON, _OPEN, _CLOSE = b"/*?\\-:[]"
_SPECIAL = re.compile(rb"[*?\[\\]")
_ANY = bytes(c for c in range(1, 256) if c != _SLASH)

# git's own idea of the POSIX classes: ASCII only, and white space without vertical tab and form feed.
_POSIX: dict[bytes, Iterable[int]] = {
    b"alnum": b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"alpha": b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"blank": b" \t",
    b"cntrl": (*range(32), 127),
    b"digit": b"0123456789",
    b"graph": range(33, 127),
    b"lower": b"abcdefghijklmnopqrstuvwxyz",
    b"print": range(32, 127),
    b"punct": b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    b"space": b" \t\n\r",
    b"upper": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"xdigit": b"0123456789abcdefABCDEF",
}

# `[Bb]in` and `*.py[cod]` are cheaper as two and three dictionary keys than as globs.
_MOST_SPELLINGS = 16


class Component(NamedTuple):
    """What one name must look like: one of `names`, or ending in one of `endings` (each has a dot), or `regex`.

    `first` and `last` are the bytes with which a name that matches `regex` can begin or end; empty when any will do.
    """

    names: tuple[bytes, ...] = ()
    endings: tuple[bytes, ...] = ()
    regex: bytes = b""
    first: bytes = b""
    last: bytes = b""


class PatternPart(NamedTuple):
    """A component of a path pattern; `deep` when any number of folders may come before it."""

    deep: bool
    component: Component


Chain = tuple[PatternPart, ...]


def chains(pattern: bytes) -> list[Chain]:
    """Return the ways a path below the ignore file's folder can match; empty when nothing ever can.

    The pattern comes without its `!` and without the slash at its end.
    """
    if b"/" not in pattern:
        tokens = _tokens(pattern, path=False)
        component = _component(tokens) if tokens else None
        return [(PatternPart(True, component),)] if component else []
    pattern = pattern.removeprefix(b"/")
    # git compares the part before the first special byte literally and hands only the rest to its glob matcher,
    # so in `lib/a**/b` the `**` stands at the start of what the matcher sees and crosses folders.
    special = _SPECIAL.search(pattern)
    cut = special.start() if special else len(pattern)
    literal: list[Token] = [pattern[i : i + 1] for i in range(cut)]
    rest = _tokens(pattern[cut:], path=True)
    if rest is None:
        return []
    spellings = (_split(tokens) for tokens in _after_literal(literal, rest))
    return [chain for chain in spellings if chain is not None]


def _tokens(pattern: bytes, *, path: bool) -> list[Token] | None:
    """Return the tokens of a pattern; None when git never matches it (an open class, a backslash at the end)."""
    text = pattern + b"\0"
    tokens: list[Token] = []
    at = 0
    while (byte := text[at]) != 0:
        start = at
        at += 1
        if byte == _STAR:
            while text[at] == _STAR:
                at += 1
            ends = text[at] == 0 or text[at] == _SLASH or text[at : at + 2] == b"\\/"
            if not (path and at - start > 1 and (start == 0 or text[start - 1] == _SLASH) and ends):
                tokens.append(_Star.NAME)
            elif text[at] == _SLASH:
                tokens.append(_Star.FOLDERS)
                at += 1
            else:
                tokens.append(_Star.REST)
        elif byte == _QUESTION:
            tokens.append(_ANY)
        elif byte == _OPEN:
            found = _read_class(text, at)
            if found is None:
                return None
            members, at = found
            tokens.append(members)
        else:
            if byte == _BACKSLASH:
                byte = text[at]
                at += 1
                if byte == 0:
                    return None
            tokens.append(bytes((byte,)))
    return tokens


def _read_class(text: bytes, at: int) -> tuple[bytes, int] | None:
    """Return the bytes a `[class]` allows and where it ends; `at` is behind its bracket, and `text` ends in NUL."""
    negated = text[at] in b"!^"
    at += negated
    members: set[int] = set()
    before = 0  # the byte a range would begin with; none behind a range or a named class
    while True:
        byte = text[at]
        if byte == _BACKSLASH:
            at += 1
            byte = text[at]
            members.add(byte)
        elif byte == _DASH and before and text[at + 1] not in b"\0]":
            at += 1 + (text[at + 1] == _BACKSLASH)
            if text[at] == 0:
                return None
            # `[z-a]` is no error: the z was taken already, the range adds nothing.
            members.update(range(before, text[at] + 1))
            byte = 0
        elif byte == _OPEN and text[at + 1] == _COLON:
            end = text.find(b"]", at + 2)
            if end < 0:
                return None
            if end > at + 2 and text[end - 1] == _COLON:
                named = _POSIX.get(text[at + 2 : end - 1])
                if named is None:
                    return None
                members.update(named)
                at, byte = end, 0
            else:
                members.add(byte)
        else:
            members.add(byte)
        if text[at] == 0:
            return None
        before = byte
        at += 1
        if text[at] == _CLOSE:
            break
    return bytes(c for c in _ANY if (c in members) != negated), at + 1


def _after_literal(literal: list[Token], rest: list[Token]) -> list[list[Token]]:
    """Join both lists, spelling out a `**` that git sees as leading although half a name stands before it."""
    if not literal or literal[-1] == b"/" or not rest or rest[0] not in (_Star.FOLDERS, _Star.REST):
        return [literal + rest]
    folders: list[Token] = [*literal, _Star.NAME, b"/", _Star.FOLDERS]
    if rest[0] is _Star.FOLDERS:
        while rest and rest[0] is _Star.FOLDERS:
            rest = rest[1:]
        return [*_after_literal(literal, rest), folders + rest]
    if len(rest) == 1:
        return [[*literal, _Star.NAME], [*folders, _Star.NAME]]
    return [folders + rest[2:]]  # `**\/`: the separator is there, so the folder is too


def _split(tokens: list[Token]) -> Chain | None:
    """Cut tokens at the separators; None when a component is empty or impossible, since no path has such a name."""
    parts: list[PatternPart] = []
    deep = False
    name: list[Token] = []
    for token in (*tokens, b"/"):
        if token is _Star.FOLDERS:
            deep = True
        elif token is _Star.REST:
            # At least one name, then any number of them: `a/**` does not match `a` itself.
            deep = True
            name.append(_Star.NAME)
        elif token == b"/":
            component = _component(name)
            if component is None:
                return None
            parts.append(PatternPart(deep, component))
            deep, name = False, []
        else:
            name.append(token)
    return tuple(parts)


def _component(tokens: list[Token]) -> Component | None:
    segments: list[list[bytes]] = [[]]
    for token in tokens:
        if isinstance(token, bytes):
            segments[-1].append(token)
        elif len(segments) == 1 or segments[-1]:
            segments.append([])
    if not tokens or not all(all(segment) for segment in segments):
        return None
    ending = segments[-1]
    if len(segments) == 1 and (names := _spellings(ending)):
        return Component(names=names)
    if len(segments) == 2 and not segments[0] and b"." in ending and (endings := _spellings(ending)):
        return Component(endings=endings)
    beginning = segments[0]
    return Component(
        regex=_regex(segments), first=beginning[0] if beginning else b"", last=ending[-1] if ending else b""
    )


def _spellings(segment: list[bytes]) -> tuple[bytes, ...]:
    if prod(map(len, segment)) > _MOST_SPELLINGS:
        return ()
    return tuple(bytes(spelling) for spelling in product(*segment))


def _regex(segments: list[list[bytes]]) -> bytes:
    """Return a regular expression that takes each piece between two stars at its first place only (atomic).

    So it cannot backtrack. The last piece must stand at the end, so it is compared once, from behind, after a check
    that it still fits.
    """
    first, *middle = (b"".join(map(_one_byte, segment)) for segment in segments)
    if not middle:
        return first + rb"\Z"
    last = middle.pop()
    found = b"".join(b"(?>.*?%b)" % piece for piece in middle)
    fits = b"(?=.{%d})" % len(segments[-1]) if last and (first or found) else b""
    return first + found + fits + (rb".*+(?<=%b)\Z" % last if last else b".*+")


def _one_byte(members: bytes) -> bytes:
    if len(members) == 1:
        return re.escape(members)
    if members == _ANY:
        return b"."
    ranges: list[list[int]] = []
    for byte in members:
        if ranges and byte == ranges[-1][1] + 1:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    return b"[" + b"".join(rb"\x%02x-\x%02x" % (low, high) for low, high in ranges) + b"]"
