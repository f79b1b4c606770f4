"""Does a function bind this name itself? Then a use in it means nothing outside.

Parameters and local variables are not in the index, so the text is asked, place by place, with a bounded look around.
When in doubt the answer is yes: the use is then counted by its name only, and never shown as an edge.
"""

from __future__ import annotations

import re

from cairn.syntax.resolver import Resolver

_BEFORE = 200
_AFTER = 160
# A name that stands more often in one function than this, or a function longer than this, is not looked into.
_MOST_PLACES = 400
_MOST_BYTES = 200_000
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")

_OWN_PARAMETERS = re.compile(r"(?:^|\s|\btemplate|\bimpl)<")
_TYPE_PARAMETER = re.compile(r"(?:^|,)\s*(?:(?:const|in|out|reified|class|typename)\s+)*([A-Za-z_]\w*)")


def binds(rules: type[Resolver], text: bytes, name: str, header: int) -> bool:
    """Whether this function's text makes `name` its own, by the rules of its language.

    `header` is where the function's own name ends: parameters follow.
    """
    if len(text) > _MOST_BYTES:
        return True
    wanted = name.encode()
    end_of_header = _closing(text, header)
    at = text.find(wanted, header)
    places = 0
    while at >= 0:
        after = at + len(wanted)
        whole = text[at - 1 : at] not in _EDGES and text[after : after + 1] not in _EDGES
        if whole and text[at - 1 : at] != b".":
            places += 1
            before_text = text[max(0, at - _BEFORE) : at].decode("utf-8", "replace")
            after_text = text[after : after + _AFTER].decode("utf-8", "replace")
            in_header = at < end_of_header
            if places > _MOST_PLACES or rules.binds_here(before_text, after_text, in_header):
                return True
        at = text.find(wanted, after)
    return False


def assigns(text: bytes, name: str, header: int) -> bool:
    """Whether a function has the name as a parameter or assigns to it, beside defining or importing it inside."""
    if len(text) > _MOST_BYTES:
        return True
    word = re.escape(name).encode()
    parameter = re.search(rb"[(,]\s*\*{0,2}" + word + rb"\s*[,:=)]", text[header : _closing(text, header)])
    return bool(parameter or re.search(rb"\n[ \t]+" + word + rb"[ \t]*(?::[^=\n]*)?=(?!=)", text))


_EDGES = frozenset(bytes([byte]) for byte in _WORD)


def _closing(text: bytes, start: int) -> int:
    """Where the parentheses that open next are closed, within a bounded look."""
    depth = 0
    for at in range(start, min(len(text), start + 4_000)):
        if text[at] == 0x28:
            depth += 1
        elif text[at] == 0x29:
            depth -= 1
            if depth == 0:
                return at + 1
        elif depth == 0 and text[at] in b"{\n":
            return at
    return start


def type_parameters(signature: str, name: str) -> frozenset[str]:
    """The names of types that a definition makes for itself: `T` of `class Box<T>` and of `func Map[T any]`."""
    # As a word: `on` of `function on<T>` is not that of `function`.
    word = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", signature)
    at = word.start() if word else -1
    rest = signature[at + len(name) :].lstrip() if at >= 0 else ""
    # `<T>` of `public <T> void put`, but not of `public Box<T> put`, which only uses a type.
    own = _OWN_PARAMETERS.search(signature[:at])
    found: set[str] = set()
    for text in (rest, signature[own.end() - 1 : at] if own else ""):
        if text[:1] in ("<", "["):
            found.update(_TYPE_PARAMETER.findall(_flat(text[1:])))
    return frozenset(found)


def _flat(text: str) -> str:
    """What stands before the closing bracket, without what is in brackets itself."""
    depth, kept = 1, []
    for letter in text:
        depth += (letter in "<[(") - (letter in ">])")
        if depth == 0:
            break
        if depth == 1:
            kept.append(letter)
    return "".join(kept)
