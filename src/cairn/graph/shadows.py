"""Check whether a function binds a name itself, so that a use inside it means nothing outside the function.

Parameters and local variables are not in the index, so the text around each occurrence of the name is examined, within
limits. When in doubt the answer is yes: the use is then counted as `name_only` and never shown as an edge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from cairn.syntax.lexis import Lexis, Quiet
from cairn.syntax.resolver import Resolver

_BEFORE = 200
_AFTER = 160
# A function that is longer, or that contains the name more often, is not examined: the name counts as bound.
_MOST_PLACES = 400
_MOST_BYTES = 200_000
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")

_MOST_SIGNATURES = 50_000
_NONE: frozenset[str] = frozenset()
_IN_NAME = re.compile(r"[\w$]")
_OWN_PARAMETERS = re.compile(r"(?:^|\s|\btemplate|\bimpl)<")
_TYPE_PARAMETER = re.compile(r"(?:^|,)\s*(?:(?:const|in|out|reified|class|typename)\s+)*([A-Za-z_]\w*)")


def binds(rules: type[Resolver], lexis: Lexis, text: bytes, name: str, header: int) -> bool:
    """Whether the text of a function binds `name`, by the rules of its language.

    `header` is where the function's own name ends and its parameters follow. Words of comments bind nothing.
    """
    if len(text) > _MOST_BYTES:
        return True
    wanted = name.encode()
    if rules.is_receiver(text[:header].decode("utf-8", "replace"), name):
        return True
    end_of_header = _closing(text, header)
    at = text.find(wanted, header)
    places = 0
    while at >= 0:
        after = at + len(wanted)
        whole = text[at - 1 : at] not in _EDGES and text[after : after + 1] not in _EDGES
        if whole and not _is_member(text, at):
            places += 1
            before_text = text[max(0, at - _BEFORE) : at].decode("utf-8", "replace")
            after_text = text[after : after + _AFTER].decode("utf-8", "replace")
            in_header = at < end_of_header
            if places > _MOST_PLACES:
                return True
            # Few places look like a binding or stand in a header, so only there comments are looked for.
            if (in_header or rules.binds_here(before_text, after_text, in_header)) and _without_comments(
                rules, lexis, text, at, after, in_header
            ):
                return True
        at = text.find(wanted, after)
    return False


def _is_member(text: bytes, at: int) -> bool:
    """Whether a name stands behind a dot, except the three dots of a rest parameter."""
    return text[at - 1 : at] == b"." and text[max(0, at - 3) : at] != b"..."


def _without_comments(rules: type[Resolver], lexis: Lexis, text: bytes, at: int, after: int, in_header: bool) -> bool:
    """Whether a place still binds its name when the comments around it are left out."""
    quiet = Quiet(text, lexis)
    if quiet.is_comment(at):
        return False
    before_text = quiet.without_comments(max(0, at - _BEFORE), at).decode("utf-8", "replace")
    after_text = quiet.without_comments(after, min(len(text), after + _AFTER)).decode("utf-8", "replace")
    return rules.binds_here(before_text, after_text, in_header)


def assigns(text: bytes, name: str, header: int) -> bool:
    """Whether a function has a parameter of this name or assigns to the name."""
    if len(text) > _MOST_BYTES:
        return True
    word = re.escape(name).encode()
    parameter = re.search(rb"[(,]\s*\*{0,2}" + word + rb"\s*[,:=)]", text[header : _closing(text, header)])
    return bool(parameter or re.search(rb"\n[ \t]+" + word + rb"[ \t]*(?::[^=\n]*)?=(?!=)", text))


def has_parameter(signature: str, class_name: str, name: str) -> bool:
    """Whether a class takes a parameter `name: Type` behind its own name, as in Kotlin and Scala."""
    if name not in signature or "(" not in signature:
        return False
    rest = signature[_as_word(signature, class_name) + len(class_name) :]
    return re.search(rf"[(,]\s*(?:@\w+\s+)?(?:\w+\s+)*{re.escape(name)}\s*:", rest) is not None


_EDGES = frozenset(bytes([byte]) for byte in _WORD)


def _closing(text: bytes, start: int) -> int:
    """Return the byte after the pairs of parentheses that follow; the search ends at `{`, at a line end or at a limit.

    A function of Scala may have several lists of parameters, and one of Go names its results in a second list.
    """
    depth, closed = 0, start
    for at in range(start, min(len(text), start + 4_000)):
        if text[at] == 0x28:
            depth += 1
        elif text[at] == 0x29:
            depth -= 1
            if depth == 0:
                closed = at + 1
        elif depth == 0 and closed > start and text[at] not in b" \t":
            return closed
        elif depth == 0 and text[at] in b"{\n":
            return at
    return closed


@lru_cache(maxsize=_MOST_SIGNATURES)
def type_parameters(signature: str, name: str) -> frozenset[str]:
    """Return the type parameters of a definition: `T` of `class Box<T>` and of `func Map[T any]`."""
    if "<" not in signature and "[" not in signature:
        return _NONE
    at = _as_word(signature, name)
    rest = signature[at + len(name) :].lstrip() if at >= 0 else ""
    # `<T>` of `public <T> void put` declares a type parameter; `<T>` of `public Box<T> put` only uses one.
    own = _OWN_PARAMETERS.search(signature[:at])
    found: set[str] = set()
    for text in (rest, signature[own.end() - 1 : at] if own else ""):
        if text[:1] in ("<", "["):
            found.update(_TYPE_PARAMETER.findall(_flat(text[1:])))
    return frozenset(found)


def _as_word(text: str, name: str) -> int:
    """Return where a name stands as a whole word, or -1: in `function on<T>` the name `on` is not in `function`."""
    at = text.find(name) if name else -1
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(name) : at + len(name) + 1]
        if not _IN_NAME.match(before) and not _IN_NAME.match(after):
            return at
        at = text.find(name, at + 1)
    return -1


def _flat(text: str) -> str:
    """Return the text up to the closing bracket, without the contents of nested brackets."""
    depth, kept = 1, []
    for letter in text:
        depth += (letter in "<[(") - (letter in ">])")
        if depth == 0:
            break
        if depth == 1:
            kept.append(letter)
    return "".join(kept)


# --- Names that callbacks and blocks of a script bind. Blocks are told apart by indentation.


_LOOK = 400
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")
_INDENTED = re.compile(rb"[ \t]*")
_DECLARES = re.compile(r"\b(?:const|let|var)\s+$|\b(?:const|let|var)\s*[{\[](?:[^=;(]|=(?!>))*$")
_RENAMED = re.compile(r"\s*:")
_PARAMETERS = re.compile(r"\([^()]*$")
_ARROW = re.compile(r"[^()]*\)\s*(?::[^=;{]*)?=>|\s*=>")
_FUNCTION = re.compile(r"(?:\bfunction\b[^()]*|(?<!\.)\bcatch\s*)\([^()]*$")
_IN_BRACKETS = re.compile(rb"[({][^\n]*\Z")
_RENAMED_PARAMETER = re.compile(r"[(,]\s*[{\[](?:[^()]*[\s,{\[])?[\w$\"']+\s*:\s*$")
_NAMED = re.compile(r"\s*(?:[?,:)}\]]|=(?!=)|$)")


class Spot(NamedTuple):
    """A place that binds a name, and the least indentation of the lines that can see the name."""

    at: int
    depth: int


def depth_at(text: bytes, at: int) -> int:
    """Return the indentation of the line of this place; 0 is the top of a file."""
    begin = text.rfind(b"\n", 0, at) + 1
    indented = _INDENTED.match(text, begin)
    return indented.end() - begin if indented else 0


def is_in_reach(text: bytes, spot: Spot, used: int) -> bool:
    """Whether the place `used` can see the name that `spot` binds: no line between them leaves the block of `spot`."""
    if spot.depth == 0:
        return True
    first, last = sorted((spot.at, used))
    begin = text.find(b"\n", first, last) + 1
    if begin == 0:
        # Both places are on one line: only what follows the binding can see the name.
        return used >= spot.at
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
    """Yield where a whole word stands in a text; no byte of `before` may come directly before it."""
    # No pattern: compiling one for each of thousands of names takes longer than this search.
    at = text.find(word) if word else -1
    while at >= 0:
        end = at + len(word)
        is_whole = not (at and text[at - 1] in before) and not (end < len(text) and text[end] in _LETTERS)
        if is_whole:
            yield at
        at = text.find(word, end if is_whole else at + 1)


def bound_in_blocks(text: bytes, name: str) -> tuple[Spot, ...]:
    """Return where callbacks and blocks bind this name; bindings at the top of the file are left out."""
    found: list[Spot] = []
    wanted = name.encode()
    for at in islice(words(text, wanted), _MOST_PLACES):
        if _is_member(text, at):
            continue
        end = at + len(wanted)
        before = text[max(0, at - _LOOK) : at].decode("utf-8", "replace")
        after = text[end : end + _LOOK].decode("utf-8", "replace")
        depth = depth_at(text, at)
        declared = _DECLARES.search(before)
        if declared is not None:
            # In `const {` over several lines the name is indented deeper than its statement.
            began = at - len(before[declared.start() :].encode())
            depth = min(depth, depth_at(text, began))
            if not depth and _IN_BRACKETS.search(text, text.rfind(b"\n", 0, began) + 1, began):
                # `for (const a of b) {` at the top of a file: only what is indented, or on the line, sees the name.
                depth = 1
            if depth and not _RENAMED.match(after):
                found.append(Spot(at, depth))
        elif _is_parameter(before, after):
            found.append(Spot(at, depth + 1))
    return tuple(found)


def _is_parameter(before: str, after: str) -> bool:
    if not _NAMED.match(after) and not _ARROW.match(after):
        return False
    if before.rstrip()[-1:] == "{" and after.lstrip()[:1] == ":":
        # The key of `{ name: other }`.
        return False
    if before.rstrip()[-1:] not in tuple("(,{[.") and not _RENAMED_PARAMETER.search(before):
        # A parameter without parentheses: `name => …`.
        return after.lstrip().startswith("=>")
    return bool(_FUNCTION.search(before) or (_PARAMETERS.search(before) and _ARROW.match(after)))
