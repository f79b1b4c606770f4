"""Estimate how many tokens of a language model a text has, and keep the results that fit into a budget.

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
"""How many units make one token. Units are whole numbers, so the units of a text are the sum of those of its lines."""

# A tokenizer cuts at capitals, signs and blanks, so a word here ends before the next capital.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DIGITS = re.compile(r"[0-9]{1,3}")
_SIGNS = re.compile(r"[\x00-\x08\x0b-\x1f!-/:-@\[-`{-\x7f]+")
_BLANKS = re.compile(r"[ \t]{2,}")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# A longer word is mostly made of several tokens.
_LONG = 8
_PER_WORD, _PER_LETTER_BEYOND, _PER_DIGITS = 97, 21, 143
_PER_SIGNS, _PER_FURTHER_SIGN = 72, 14
_PER_LINE, _PER_BLANKS, _PER_CHARACTER_BEYOND = 37, 113, 57


class ShownResult(Protocol):
    """The fields of a result that count for its size."""

    @property
    def path(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    @property
    def shown(self) -> str: ...


S = TypeVar("S", bound=ShownResult)


def token_units(text: str) -> int:
    """Return the estimated size of a text in hundredths of a token; equals the sum over its lines with newlines."""
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
    """Return the estimated size of a text in tokens, rounded up."""
    return -(-token_units(text) // UNITS)


def fit(results: Sequence[S], most: int) -> Sequence[S]:
    """Return the first results that together fit into `most` tokens; only whole results, so perhaps none."""
    sizes = accumulate(tokens_in(result.path + result.symbol + result.shown) for result in results)
    return results[: sum(size <= most for size in sizes)]
