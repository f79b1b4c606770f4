"""Find the word that was probably meant: a command or an option within two slips of what was typed."""

from __future__ import annotations

from collections.abc import Iterable

# A short word is near to many others, so that one slip is all that it may have.
_SHORT = 4
_MOST_SLIPS = 2


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that needs the fewest slips to be typed like this; None when none is near."""
    found = [(slips(word, one), one) for one in known]
    near = [(count, one) for count, one in found if count <= (1 if min(len(word), len(one)) <= _SHORT else _MOST_SLIPS)]
    return min(near)[1] if near else None


def did_you_mean(command: str) -> str:
    """Return the question after a word that is nearly a command."""
    return f"Did you mean `cairn {command}`?"


def slips(word: str, other: str) -> int:
    """Return how many letters were changed, left out, added, or swapped with their neighbour; above two any number."""
    if abs(len(word) - len(other)) > _MOST_SLIPS:
        return _MOST_SLIPS + 1
    before, row = list[int](), list(range(len(other) + 1))
    for place, letter in enumerate(word, 1):
        older, before, row = before, row, [place]
        for at, wanted in enumerate(other, 1):
            count = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != wanted))
            if place > 1 and at > 1 and letter == other[at - 2] and word[place - 2] == wanted:
                count = min(count, older[at - 2] + 1)
            row.append(count)
    return row[-1]
