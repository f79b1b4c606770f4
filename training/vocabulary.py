"""Chooses the word pieces of a model from the records it will be trained on.

    python -m training.vocabulary --records TRAIN --out VOCABULARY

Words are cut as `cairn.embedding.static` cuts them. VOCABULARY gets one piece per line, in the order of the table's
rows; a piece that goes on inside a word starts with `##`.
"""

from __future__ import annotations

import argparse
import string
import sys
from collections import Counter
from collections.abc import Mapping
from math import log1p
from pathlib import Path
from typing import NamedTuple

from cairn.embedding.static import INNER, PIECE_BITS, words
from training.records import read, repositories

SIZE = 1 << PIECE_BITS
_LONGEST_WORD = 24
_LONGEST_PIECE = 12
# What is kept for pieces of words that are not in the vocabulary.
_SHARE_OF_PIECES = 0.14
_LEAST_REPOSITORIES = 3
_MOST_UNKNOWN_WORDS = 150_000


class WordCounts(NamedTuple):
    """In how many records each word stands, and in how many repositories."""

    records: Counter[str]
    repositories: Counter[str]


def count(folder: Path) -> WordCounts:
    """Count the words of all records of a folder."""
    counts = WordCounts(Counter(), Counter())
    for repository in repositories(folder):
        own: Counter[str] = Counter()
        for record in read(folder, repository):
            own.update(set(words(f"{record.code} {record.text} {record.path}".encode())))
        counts.records.update(own)
        counts.repositories.update(own.keys())
    return counts


def choose(counts: WordCounts, size: int = SIZE, least_repositories: int = _LEAST_REPOSITORIES) -> list[str]:
    """Exactly `size` pieces: single letters, the words most repositories use, and frequent parts of the others.

    Where the records hold too few, rows that no text can ask for fill the table.
    """
    # Row 0 is nobody's, as in the shipped table.
    chosen = dict.fromkeys(["[PAD]"])
    for letter in string.ascii_lowercase + string.digits:
        chosen.update(dict.fromkeys([letter, INNER + letter]))
    known = [word for word, held in counts.repositories.items() if held >= least_repositories]
    known = [word for word in known if len(word) <= _LONGEST_WORD]
    # A word of one project, however often it says it, is worth less than a word of many.
    known.sort(key=lambda word: (-counts.repositories[word] * log1p(counts.records[word]), word))
    _fill(chosen, known, size - round(size * _SHARE_OF_PIECES))
    _fill(chosen, parts({word: n for word, n in counts.records.items() if word not in chosen}), size)
    # Too few parts to fill their share: more words, then nothing.
    _fill(chosen, known, size)
    _fill(chosen, [f"[unused{number}]" for number in range(size)], size)
    return list(chosen)


def parts(unknown: Mapping[str, int]) -> list[str]:
    """Beginnings and inner parts of these words, best first: those that spell the most letters."""
    scores: Counter[str] = Counter()
    often = sorted(unknown, key=lambda word: (-unknown[word], word))[:_MOST_UNKNOWN_WORDS]
    for word in often:
        if not (3 < len(word) <= _LONGEST_WORD and word.isascii() and word.isalpha()):
            continue
        weight = min(unknown[word], 20)
        for start in range(len(word) - 1):
            mark = INNER if start else ""
            for end in range(start + 2, min(len(word), start + _LONGEST_PIECE) + 1):
                scores[mark + word[start:end]] += weight * (end - start - 1)
    return sorted((part for part in scores if scores[part] >= 3), key=lambda part: (-scores[part], part))


def _fill(chosen: dict[str, None], more: list[str], size: int) -> None:
    for piece in more:
        if len(chosen) >= size:
            return
        chosen[piece] = None


def main(arguments: list[str]) -> int:
    """Write the vocabulary of a folder of records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--least-repositories", type=int, default=_LEAST_REPOSITORIES)
    options = parser.parse_args(arguments)
    counts = count(options.records)
    pieces = choose(counts, SIZE, options.least_repositories)
    options.out.write_text("\n".join(pieces), "utf-8")
    unused = sum(piece.startswith("[") for piece in pieces)
    print(f"{len(counts.records)} words seen; {len(pieces)} pieces, {unused} of them unused")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
