"""The terms of a text: what the lexical index holds and what a query asks it for, by one and the same function.

Three steps. `words` cuts a text into runs of letters, digits, `_` and `-`. `terms_of` takes one such word apart: at
underscores, hyphens, changes of case and digits; small English words go, endings are taken off the parts, scripts
without blanks become pairs of characters. A word of several parts also gives the whole, joined and without its
separators, so that `readOnly`, `read_only`, `read-only` and `readonly` meet. Everything costly is done once for each
distinct word, not for each occurrence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

TOKENIZER_VERSION = "1"
# 1: first shipped form. Any change of what `terms` gives for some text is a new version: it is part of the fingerprint
#    of an index.

MOST_LETTERS = 64
_MOST_DIGITS = 5
_MOST_IN_CONSTANT = 10
_MOST_REMEMBERED = 1 << 16

# --- words ------------------------------------------------------------------------------------------------------------

_ASCII_BORDERS = bytes(code if chr(code).isalnum() or chr(code) in "_-" else 0x20 for code in range(128)) + bytes(128)
# To Python, accents and vowel signs are not letters: without these, a word of Hindi would fall apart at each of them.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0df3\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
# Scripts that put no blanks between words: Thai to Tibetan, Myanmar, Khmer, kana, bopomofo, Han, Hangul.
_NO_BLANKS = (
    "\u0e00-\u0e4e\u0e50-\u0e59\u0e80-\u0ece\u0ed0-\u0eff\u0f40-\u0fbc\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
)
_WORD = re.compile(rf"[\w\-{_MARKS}{_NO_BLANKS}]+")


def words(text: str | bytes) -> list[str]:
    """Return the words of a text in order: runs of letters, digits, `_` and `-`. Bytes are UTF-8."""
    if text.isascii():
        # Twice as fast as the pattern, and nearly all source code is ASCII.
        data = text if isinstance(text, bytes) else text.encode()
        return data.translate(_ASCII_BORDERS).decode().split()
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    # One letter can be written in several ways: composed or not, full width, as a ligature.
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions."""
    return [term for word in words(text) for term in terms_of(word)]


def terms_of(word: str) -> tuple[str, ...]:
    """Return the terms of one word, each once; none for a small word, a long number or a blob of data."""
    if len(word) <= MOST_LETTERS:
        return _remembered(word)
    # A sentence written as a name counts piece by piece; what is long and has no joint is data. Not remembered: keys of
    # any length would fill the memory.
    pieces = _JOINTS.split(word)
    return _each(piece for piece in pieces if len(piece) <= MOST_LETTERS)


def whole_name(name: str) -> re.Pattern[bytes]:
    """Return a pattern that finds a name of code where it is not a part of a longer name."""
    return re.compile(rb"(?<![\w$])" + re.escape(name.encode("utf-8", "surrogateescape")) + rb"(?![\w$])")


def forget() -> None:
    """Clear the memory of words; all of it is made again when it is needed."""
    for remembered in (_remembered, _inner, _part):
        remembered.cache_clear()


# --- one word ---------------------------------------------------------------------------------------------------------

_JOINTS = re.compile("[-_]+")
_RUNS = re.compile(f"[{_NO_BLANKS}]+|[^{_NO_BLANKS}]+")
_BLANKLESS = re.compile(f"[{_NO_BLANKS}]")
# Constants in code: the short ones are worth finding, the long ones fill tables. 0xFF, 100u, 0x9e3779b97f4a7c15.
_CONSTANT = re.compile("0[xX][0-9a-fA-F]+|[0-9]+[a-zA-Z]{1,3}")
# Reads the shape of a name: IDs | HTTP before Server | server, Server | HTTP; each with the digits that follow.
_PARTS = re.compile(r"(?:[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+)[0-9]*|[0-9]+")
_SMALL = (
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it"
    " its may might nor not of on or our shall she should so such than that the their them then there these they this"
    " those to too very was we were what when where which while who whom why will with would you your"
)
_STOP_WORDS = frozenset(_SMALL.split())


@lru_cache(_MOST_REMEMBERED)
def _remembered(word: str) -> tuple[str, ...]:
    if word.islower() and word.isalpha() and word.isascii():
        return _part(word)
    word = word.strip("-_")
    if not word.isascii() and _BLANKLESS.search(word):
        runs = _RUNS.findall(word)
        return _pairs(word) if len(runs) == 1 else _each(runs)
    if "-" not in word:
        return _name(word)
    segments = word.split("-")
    # `dry-run` is a name; `x-1`, `i-j`, `a--b` and `2024-01-02` are several words.
    if all(len(segment) > 1 and not segment[0].isdigit() for segment in segments):
        return _name(word)
    return _each(segments)


def _each(pieces: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for piece in pieces for term in _remembered(piece)))


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map("".join, pairwise(run)))) or (run,)


def _name(name: str) -> tuple[str, ...]:
    if name.isascii():
        parts = _PARTS.findall(name)
    else:
        parts = [name[part.start() : part.end()] for part in _PARTS.finditer("".join(map(_shape, name)))]
    if len(parts) < 2:
        return _alone(parts[0].lower()) if parts else ()
    # Lowered piece by piece: joined first, a letter of Greek could find itself at the end of a word, or no more there.
    whole = "".join(parts).lower() if name.isascii() else "".join([part.lower() for part in parts])
    if name[0].isdigit():
        if whole.isdigit():
            return _alone(whole)
        if _CONSTANT.fullmatch(name):
            return (whole,) if len(whole) <= _MOST_IN_CONSTANT else ()
    found = [stem(whole)]
    # A digest or a blob falls into many small parts that mean nothing.
    if len(parts) <= 5 or 2 * len(whole) >= 9 * len(parts) or _JOINTS.search(name):
        for part in parts:
            found += _inner(part)
    return tuple(dict.fromkeys(found))


@lru_cache(_MOST_REMEMBERED)
def _inner(part: str) -> tuple[str, ...]:
    """Return the terms of one of several parts of a word."""
    part = part.lower()
    return _part(part) if len(part) > 1 else ()


def _shape(letter: str) -> str:
    if letter in "_-":
        return letter
    return "A" if letter.isupper() else "0" if letter.isdigit() else "a"


def _alone(part: str) -> tuple[str, ...]:
    """Return the terms of a name of one part: a single letter counts, and a number unless it is a long one."""
    if part.isdigit():
        return (part,) if 2 <= len(part) <= _MOST_DIGITS else ()
    return _part(part)


@lru_cache(_MOST_REMEMBERED)
def _part(part: str) -> tuple[str, ...]:
    letters = part.rstrip("0123456789")
    if not letters or part in _STOP_WORDS:
        return ()
    if letters != part:
        # `utf8` is a name of its own, and `sha256` has to do with `sha`.
        return (part, *(_part(letters) if len(letters) > 1 else ()))
    if part.isascii():
        return (stem(part),)
    plain = "".join(filter(str.isalnum, unicodedata.normalize("NFKD", part.casefold())))
    return (part, stem(plain)) if plain.isascii() and plain != "" else (part,)


# --- endings ----------------------------------------------------------------------------------------------------------

_VOWELS = re.compile("[aeiouy]+")
# One vowel between consonants: such a stem had an `e` (making: make) or had its last letter doubled (running: run).
_SHORT = re.compile("[^aeiouy]*[aeiouy][^aeiouywx]")
_DOUBLED = re.compile(r"([bdgkmnprt])\1")
_PLURAL = re.compile("[^siu]s")
_LAST_LETTERS = frozenset("deglnrs")
_NO_ENDING = frozenset({"alias", "always", "atlas", "bias", "canvas", "embed", "hundred", "lens", "news", "pandas"})
_IRREGULAR = {
    "axes": "axis",
    "built": "build",
    "children": "child",
    "creation": "creat",
    "creator": "creat",
    "found": "find",
    "ids": "id",
    "indices": "index",
    "kept": "keep",
    "matrices": "matrix",
    "sent": "send",
    "threw": "throw",
    "thrown": "throw",
    "vertices": "vertex",
    "written": "write",
    "wrote": "write",
}
_NOUNS = (
    ("ification", "ify"),
    ("ization", "iz"),
    ("isation", "is"),
    ("entation", "ent"),
    ("ormation", "orm"),
    ("uration", "ur"),
    ("tion", "t"),
    ("sion", "s"),
)


def stem(word: str) -> str:
    """Return the word without its English ending, so that forms of one word meet; only lower-case ASCII is changed."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    # Half of all words end in no letter that an ending ends in.
    if word[-1:] not in _LAST_LETTERS or len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word[-1] == "s" and word not in _NO_ENDING:
        word = _singular(word)
    if word in _NO_ENDING:
        return word
    if word.endswith(("ed", "ing")):
        word = _verb(word)
    if word.endswith(("tion", "sion")):
        word = _noun(word)
    if word.endswith(("er", "or")):
        word = _agent(word)
    # `cache` as in `caching`; `file` and `tree` keep theirs, or they would meet other words.
    if word[-1] == "e" and len(word) > 3 and word[-2] != "e" and not _SHORT.fullmatch(word[:-1]):
        return word[:-1]
    return word[:-1] if word.endswith("ll") and _groups(word) > 1 else word


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    return word[:-1] if _PLURAL.fullmatch(word[-2:]) else word


def _verb(word: str) -> str:
    if word.endswith("ied"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith("ing"):
        root = word[:-3]
    elif word.endswith("ed") and not word.endswith("eed"):
        root = word[:-2]
    else:
        return word
    if len(root) < 2 or not _VOWELS.search(root):
        return word
    if len(root) > 3 and _DOUBLED.fullmatch(root[-2:]):
        return root[:-1]
    return root + "e" if _SHORT.fullmatch(root) else root


def _noun(word: str) -> str:
    for ending, instead in _NOUNS:
        if word.endswith(ending):
            root = word[: -len(ending)] + instead
            return root if _groups(root) > 1 else word
    return word


def _agent(word: str) -> str:
    """Return the word without the ending of a doer (compiler, iterator); short words (user, parser, order) stay."""
    root = word[:-2]
    if _groups(root) < 2 or root[-1] in "aeiouy":
        return word
    return root[:-1] if _DOUBLED.fullmatch(root[-2:]) else root


def _groups(word: str) -> int:
    return len(_VOWELS.findall(word))
