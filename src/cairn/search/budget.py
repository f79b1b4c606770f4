"""How many tokens of a language model a text is, estimated without one, and what fits into so many.

The estimator is called `cairn-1`. Its weights were fitted to a real tokenizer on code of many languages; measured on
other repositories it is within a tenth of the real count in every language (docs/benchmarks/tokens.json).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol, TypeVar

ESTIMATOR = "cairn-1"
UNITS = 100
"""So many units are one token. They are whole numbers, and those of a text are those of its lines together."""

# A word goes up to the next capital; the ends of it, signs and blanks are what a tokenizer cuts at.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DIGITS = re.compile(r"[0-9]{1,3}")
_SIGNS = re.compile(r"[\x00-\x08\x0b-\x1f!-/:-@\[-`{-\x7f]+")
_BLANKS = re.compile(r"[ \t]{2,}")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# Longer words are mostly put together from several.
_LONG = 8
_PER_WORD, _PER_LETTER_BEYOND, _PER_DIGITS = 97, 21, 143
_PER_SIGNS, _PER_FURTHER_SIGN = 72, 14
_PER_LINE, _PER_BLANKS, _PER_CHARACTER_BEYOND = 37, 113, 57


class Shown(Protocol):
    """A result, as far as its size goes."""

    @property
    def path(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    @property
    def text(self) -> str: ...


S = TypeVar("S", bound=Shown)


def token_units(text: str) -> int:
    """About how many hundredths of a token a text is: as many as its lines are, newlines included."""
    words = _WORD.findall(text)
    signs = _SIGNS.findall(text)
    return (
        _PER_WORD * len(words)
        + _PER_LETTER_BEYOND * sum(len(word) - _LONG for word in words if len(word) > _LONG)
        + _PER_DIGITS * len(_DIGITS.findall(text))
        + _PER_SIGNS * len(signs)
        + _PER_FURTHER_SIGN * (sum(map(len, signs)) - len(signs))
        + _PER_LINE * text.count("\n")
        + _PER_BLANKS * len(_BLANKS.findall(text))
        + (0 if text.isascii() else _PER_CHARACTER_BEYOND * len(_BEYOND_ASCII.findall(text)))
    )


def tokens_in(text: str) -> int:
    """About how many tokens of a language model a text is, rounded up; an estimate."""
    return -(-token_units(text) // UNITS)


def fit(results: Sequence[S], most: int) -> Sequence[S]:
    """The first results that fit into so many tokens together: whole ones, so there may be none."""
    sizes = accumulate(tokens_in(result.path + result.symbol + result.text) for result in results)
    return results[: sum(size <= most for size in sizes)]
