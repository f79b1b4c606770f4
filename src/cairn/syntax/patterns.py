"""Split the text of a query into patterns, and take out the conditions on text, which are tested here.

The query engine can test such conditions (`#eq?`, `#match?`, `#any-of?`) only on a tree that has its bytes, and the
trees of `parse.py` have none, because their parse can be stopped. So the conditions are removed from the text that the
engine gets and tested on each match, which is also faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

Captures = dict[str, list["Node"]]

_TOKEN = re.compile(r';[^\n]*|"(?:[^"\\]|\\.)*"|[(\[]|[)\]]')
_ROOT = re.compile(r"[(\s]*(\w+)")
_QUESTION = re.compile(r'\(#(not-)?(eq|match|any-of)\?\s+@([\w.]+)((?:\s+(?:@[\w.]+|"(?:[^"\\]|\\.)*"))+)\s*\)')
_ARGUMENT = re.compile(r'@([\w.]+)|"((?:[^"\\]|\\.)*)"')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CAPTURE = re.compile(r"@([\w.]+)")
_ROLES = frozenset({"def", "ref", "import", "export", "exported", "comment", "attached", "around", "doc"})
_ESCAPE = re.compile(r"\\(.)")


class TextQuestion(NamedTuple):
    """A condition on the text of a capture: equal to one of `words`, matched by `regex`, or equal to capture `other`.

    `negated` turns the condition around.
    """

    capture: str
    negated: bool
    words: frozenset[str]
    regex: re.Pattern[str] | None
    other: str


class Pattern(NamedTuple):
    """One pattern of a query and its place in the query; where two patterns match the same node, the earlier wins.

    `capture` is the capture that tells the role of the matches, such as `def.class`; `family` (`def`) and `kind`
    (`class`) are its two parts. `text` is the pattern without conditions, `root` the kind of its outermost node.
    """

    place: int
    family: str
    capture: str
    kind: str
    questions: tuple[TextQuestion, ...]
    text: str
    root: str


def patterns(query: str) -> list[Pattern]:
    """Return the patterns of a query in order.

    Raises `ValueError` for a pattern without a role or with an unknown condition.
    """
    texts = [text for text in _texts(query) if text.strip()]
    return [_pattern(place, text) for place, text in enumerate(texts)]


def _texts(query: str) -> Iterator[str]:
    """Yield the text of each pattern, which reaches to the next bracket at the outermost level; without comments."""
    depth = at = 0
    pieces: list[str] = []
    for token in _TOKEN.finditer(query):
        mark = token.group()[0]
        if mark == ";" or (mark in "([" and depth == 0):
            pieces.append(query[at : token.start()])
            at = token.end() if mark == ";" else token.start()
            if mark != ";":
                yield "".join(pieces)
                pieces = []
        depth += (mark in "([") - (mark in ")]")
    yield "".join([*pieces, query[at:]])


def _pattern(place: int, text: str) -> Pattern:
    questions = tuple(_question(*found.groups()) for found in _QUESTION.finditer(text))
    bare = _QUESTION.sub("", text).strip()
    if "(#" in bare:
        raise ValueError(f"a pattern asks what only the engine knows: {bare}")
    root = _ROOT.match(bare)
    return Pattern(place, *role_of(bare), questions, bare, root.group(1) if root else "")


def role_of(pattern: str) -> tuple[str, str, str]:
    """Return the capture that tells the role of a pattern, as family, whole name and kind; raises `ValueError`."""
    for capture in _CAPTURE.findall(_STRING.sub("", pattern)):
        family, _, kind = capture.partition(".")
        if family in _ROLES:
            # Interned strings are compared by their addresses.
            return intern(family), intern(capture), intern(kind)
    raise ValueError(f"a pattern without a role: {pattern}")


def _question(negated: str | None, how: str, capture: str, arguments: str) -> TextQuestion:
    found = [(other, _ESCAPE.sub(r"\1", word)) for other, word in _ARGUMENT.findall(arguments)]
    other, word = found[0]
    words = frozenset() if other else frozenset(word for _, word in found)
    return TextQuestion(capture, bool(negated), words, re.compile(word) if how == "match" else None, other)


def passes(questions: tuple[TextQuestion, ...], captures: Captures, text: Callable[[Node], str]) -> bool:
    """Whether the captures of a match meet all conditions; a capture without nodes meets every condition."""
    for capture, negated, words, regex, other in questions:
        for node in captures.get(capture, ()):
            found = text(node)
            if regex is not None:
                right = regex.search(found) is not None
            elif other:
                right = all(found == text(another) for another in captures.get(other, ()))
            else:
                right = found in words
            if right == negated:
                return False
    return True
