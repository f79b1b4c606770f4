"""Query text → its patterns, and the questions about text that we ask ourselves.

The query engine could ask them (`#eq?`, `#match?`, `#any-of?`), but only of a tree that knows its bytes, and ours comes
from a parse that can be stopped (see `parse.py`) and does not. So they are taken out of the text that the engine sees
and asked of each match afterwards, which also costs less than the engine's way.
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
    """What the text of a capture must be, or with `negated` must not be: one of `words`, like `regex`, as `other`."""

    capture: str
    negated: bool
    words: frozenset[str]
    regex: re.Pattern[str] | None
    other: str


class Pattern(NamedTuple):
    """One pattern of a query, by its place there; the earlier wins where two find the same.

    Its role is what its matches are: the capture that says so, before and behind the dot of its name. `text` is without
    the questions, `root` the kind of node that it begins at.
    """

    place: int
    family: str
    capture: str
    kind: str
    questions: tuple[TextQuestion, ...]
    text: str
    root: str


def patterns(query: str) -> list[Pattern]:
    """The patterns of a query in their order. Refuses one without a role and a question that it does not know."""
    texts = [text for text in _texts(query) if text.strip()]
    return [_pattern(place, text) for place, text in enumerate(texts)]


def _texts(query: str) -> Iterator[str]:
    """Each pattern reaches to the next bracket that stands in none; comments are left out."""
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
    """The one telling capture of a pattern: its family, its whole name, its kind."""
    for capture in _CAPTURE.findall(_STRING.sub("", pattern)):
        family, _, kind = capture.partition(".")
        if family in _ROLES:
            # Interned, comparing two of them looks at their addresses only.
            return intern(family), intern(capture), intern(kind)
    raise ValueError(f"a pattern without a role: {pattern}")


def _question(negated: str | None, how: str, capture: str, arguments: str) -> TextQuestion:
    found = [(other, _ESCAPE.sub(r"\1", word)) for other, word in _ARGUMENT.findall(arguments)]
    other, word = found[0]
    words = frozenset() if other else frozenset(word for _, word in found)
    return TextQuestion(capture, bool(negated), words, re.compile(word) if how == "match" else None, other)


def passes(questions: tuple[TextQuestion, ...], captures: Captures, text: Callable[[Node], str]) -> bool:
    """Whether every node of every capture asked for answers; a capture that is not there has nothing to say."""
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
