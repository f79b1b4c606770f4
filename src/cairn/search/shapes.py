"""What kind of query a text is: a name, a qualified name, a path, a phrase, a pattern, a sentence, or a mixture.

Each word is judged by its shape alone: no list of names of anybody's code, and no look into the index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from cairn.core.filetypes import TEXT, language_of


class Kind(StrEnum):
    """What a query looks like."""

    IDENTIFIER = "identifier"
    QUALIFIED = "qualified"
    PATH = "path"
    PHRASE = "phrase"
    REGEX = "regex"
    NATURAL = "natural"
    MIXED = "mixed"


class Identifier(NamedTuple):
    """A name as it was typed: `Store.open` has the container `Store` and the name `open`; parts joined by dots.

    `sure` when its shape cannot be a word of a sentence: a capital at the start of a word alone is not enough.
    """

    text: str
    container: str
    name: str
    sure: bool


class Shape(NamedTuple):
    """The words of a query, sorted by what they look like; each list in the order of the query, without repetitions."""

    kind: Kind
    identifiers: tuple[Identifier, ...]
    path_words: tuple[str, ...]
    natural: tuple[str, ...]


# What people put around a word in a sentence. A call's brackets go too, and say that it is a name.
_OPENING = "\"'`([{<,;"
_CLOSING = "\"'`)]}>,;:.?!"
_CALL = re.compile(r"(?<=\w)\([^()]*\)[.,;:?!]*$")
_NAME = r"[^\W\d][\w$]*"
_QUALIFIED = re.compile(rf"(?:::|\.|\\)?~?{_NAME}(?:(?:::|->|\?\.|\.|#|\\)~?{_NAME})+[!?]?")
_JOINTS = re.compile(r"::|->|\?\.|[.#\\]")
_MARKED = re.compile(rf"[@$#]{_NAME}|{_NAME}[!?]")
# camelCase, HTTPServer, snake_case, __init__, MAX_SIZE, sha256.
_HUMPS = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|_|[A-Za-z][0-9]")
_CAPITAL = re.compile(r"[A-Z][a-z]+[A-Za-z0-9]*")
_ONLY_CODE = frozenset(("def", "fn", "func", "impl"))
_DECLARES = _ONLY_CODE | {"class", "struct", "enum", "trait", "interface", "type", "function", "method"}

# Endings that are as often the name of a method or a field: `list.map`, `this.props`, `self.log`.
_ENDINGS = (
    "am as bas bib cl cls cmd comp conf cr d desktop el env ex f for frag geom har in inl just log m make map mm mod"
    " org patch po pod pp prefs properties props r re res rest s sc service socket st star t targets text timer v vert"
)
_METHODS_TOO = frozenset(_ENDINGS.split())
_WORD_WITH_ENDING = re.compile(r"[\w.+-]*\w\.([A-Za-z][A-Za-z0-9+]{0,11})(?::\d+)?")
_OR_WORDS = re.compile(r"[A-Z]{1,5}/[A-Z]{1,5}|(?i:and/or|either/or|i/o|n/a|w/o|yes/no|on/off|true/false)")
_SLASH = re.compile(r"\w/|/\w")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

# Signs that only a regular expression has. `java.util.*` is none, nor is `\data` in a path.
_REGEX = re.compile(
    r"\.[*+]\??[^\s.,;]|(?<![\w*])\.[*+]|\\[wWdDsSbB](?![A-Za-z])|\\[.()\[\]{}+*?|^$]|\[\^|\[(?:\\?.-.)+\]|\(\?[:=!<iP]"
    r"|\{\d+,\d*\}|[\])][*+]|(?:^|\s)\^\w|\w\$$|\w\|\w+(?:\||\)|\s|$)|\(\w+\|"
)


def looks_like_regex(text: str) -> bool:
    """Say whether a text has signs that only a regular expression has."""
    return _REGEX.search(text) is not None


def is_path_word(word: str) -> bool:
    """Say whether a word is a path or the name of a file: it has a slash in it, or a known ending."""
    if _URL.match(word) or _OR_WORDS.fullmatch(word):
        return False
    if _SLASH.search(word):
        return True
    found = _WORD_WITH_ENDING.fullmatch(word)
    return found is not None and found[1] not in _METHODS_TOO and language_of(f"a.{found[1]}".encode()) != TEXT


def identifier_of(word: str, *, first: bool) -> Identifier | None:
    """The name that a word is, or None; `first` says that a capital means nothing, for a sentence begins here."""
    called = _CALL.search(word) is not None
    bare = (word[: word.index("(")] if called else word).lstrip(_OPENING)
    quoted = word.startswith("`") and len(word) > 2
    if _MARKED.fullmatch(bare) and bare[0] in "@$#":
        return Identifier(bare, "", bare[1:], sure=True)
    bare = bare.rstrip(_CLOSING)
    if _QUALIFIED.fullmatch(bare):
        parts = [part for part in _JOINTS.split(bare) if part]
        # `e.g.`, `i.e.`
        if max(map(len, parts)) > 1:
            return Identifier(bare, ".".join(parts[:-1]), parts[-1], sure=True)
    if not bare.isidentifier() or not bare.isascii():
        return None
    if called or quoted or _HUMPS.search(bare):
        return Identifier(bare, "", bare, sure=True)
    return Identifier(bare, "", bare, sure=False) if not first and _CAPITAL.fullmatch(bare) else None


def shape(words: Sequence[str], phrases: Sequence[str]) -> Shape:
    """Sort the words of a query, and say what it is as a whole."""
    identifiers: dict[str, Identifier] = {}
    paths: dict[str, None] = {}
    natural: dict[str, None] = {}
    declared = len(words) == 2 and words[0].lower() in _DECLARES
    for place, word in enumerate(words):
        bare = word.strip(_OPENING + _CLOSING)
        if is_path_word(bare):
            paths[bare] = None
        elif name := identifier_of(word, first=place == 0 and len(words) > 1):
            identifiers.setdefault(name.text, name)
        elif bare:
            natural[bare] = None
    if declared or len(words) == 1:
        _name_the_last(words[-1], words[0], identifiers, natural)
    kind = _kind(words, phrases, identifiers, paths, natural)
    return Shape(kind, tuple(identifiers.values()), tuple(paths), tuple(natural))


def _name_the_last(word: str, before: str, identifiers: dict[str, Identifier], natural: dict[str, None]) -> None:
    """`lease` alone and `def lease` ask for that name, whatever its shape; `type inference` is about types."""
    bare = word.strip(_OPENING + _CLOSING)
    certain = word is before or before in _ONLY_CODE or bare in identifiers
    if not (certain and bare.isidentifier() and bare.isascii()):
        return
    identifiers[bare] = Identifier(bare, "", bare, sure=True)
    natural.pop(bare, None)
    if word is not before:
        natural.pop(before, None)


def _kind(
    words: Sequence[str],
    phrases: Sequence[str],
    identifiers: dict[str, Identifier],
    paths: dict[str, None],
    natural: dict[str, None],
) -> Kind:
    if looks_like_regex(" ".join(words)):
        return Kind.REGEX
    names = [name for name in identifiers.values() if name.sure]
    plain = len(natural) + len(identifiers) - len(names)
    if phrases:
        return Kind.MIXED if words else Kind.PHRASE
    if not (names or paths):
        return Kind.NATURAL
    if plain or (names and paths):
        return Kind.MIXED
    if paths:
        return Kind.PATH
    return Kind.QUALIFIED if all(name.container for name in names) else Kind.IDENTIFIER
