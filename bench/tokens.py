"""The token estimator beside a real tokenizer, for each language: `python -m bench.tokens COUNTED.jsonl`.

Each line of the file is a passage that a real tokenizer has counted: `{"language": …, "repository": …, "text": …,
"tokens": …}`. The tokenizer is no part of this project; any that prints such lines will do. `--write` keeps the
figures, and not the passages, in docs/benchmarks/tokens.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cairn.search.budget import ESTIMATOR, tokens_in

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "tokens.json"


class Passage(NamedTuple):
    """A text and how many tokens it really is."""

    language: str
    repository: str
    text: str
    tokens: int


class Ratio(NamedTuple):
    """All passages of a language: estimated tokens for each real one, and how far off nine of ten are at most."""

    language: str
    passages: int
    repositories: int
    tokens: int
    ratio: float
    four_characters: float
    nine_of_ten: float


def ratios(passages: Iterable[Passage]) -> list[Ratio]:
    """The figures of each language, in order, and of all of them."""
    by_language: dict[str, list[Passage]] = {}
    for one in passages:
        by_language.setdefault(one.language, []).append(one)
    everything = [one for own in by_language.values() for one in own]
    found = [_ratio(language, by_language[language]) for language in sorted(by_language)]
    return [*found, _ratio("all", everything)] if everything else []


def _ratio(language: str, passages: Sequence[Passage]) -> Ratio:
    real = sum(one.tokens for one in passages)
    estimated = sum(tokens_in(one.text) for one in passages)
    off = sorted(abs(tokens_in(one.text) / one.tokens - 1) for one in passages)
    return Ratio(
        language,
        len(passages),
        len({one.repository for one in passages}),
        real,
        round(estimated / real, 3),
        round(sum(len(one.text) for one in passages) / 4 / real, 3),
        round(off[len(off) * 9 // 10], 3),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counted", type=Path)
    parser.add_argument("--tokenizer", default="unnamed", help="what counted the tokens")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = options.counted.read_text("utf-8").splitlines()
    rows = ratios(Passage(**json.loads(line)) for line in lines if line)
    print(f"{'language':12} {'passages':>8} {'tokens':>9} {'ratio':>7} {'len/4':>7} {'9 of 10':>8}")
    for row in rows:
        shown = f"{row.ratio:7.3f} {row.four_characters:7.3f} {row.nine_of_ten:8.3f}"
        print(f"{row.language:12} {row.passages:8,} {row.tokens:9,} {shown}")
    if options.write:
        kept = {"estimator": ESTIMATOR, "tokenizer": options.tokenizer, "rows": [row._asdict() for row in rows]}
        PAGE.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
