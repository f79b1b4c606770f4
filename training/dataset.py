"""Turns records into the arrays that training reads: counted word pieces of every text, name, path and code.

python -m training.dataset --records TRAIN --vocabulary VOCABULARY --out DATASET.npz
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.static import WordPieces
from training.records import read, repositories

FIELDS = ("text", "name", "path", "code")
_ROWS_AT_ONCE = 10_000
# Two records whose code starts alike are not each other's wrong answer.
_SAME_CODE_CHARS = 150

Arrays = dict[str, NDArray[np.generic]]


def counted(pieces: WordPieces, texts: Sequence[str]) -> tuple[NDArray[np.generic], ...]:
    """Where each text's pieces start (and the last ones end), the pieces, and how often each stands there."""
    lengths, numbers, counts = [], [], []
    for start in range(0, len(texts), _ROWS_AT_ONCE):
        some = [text.encode("utf-8", "replace") for text in texts[start : start + _ROWS_AT_ONCE]]
        found = pieces.count(some)
        lengths.append(np.bincount(found.rows, minlength=len(some)))
        numbers.append(found.pieces.astype(np.uint16))
        counts.append(np.minimum(found.counts, 255).astype(np.uint8))
    starts = np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64)
    return starts, np.concatenate(numbers), np.concatenate(counts)


def arrays(folder: Path, vocabulary: Sequence[str]) -> Arrays:
    """Everything training needs to know of a folder of records."""
    names = repositories(folder)
    rows = [(number, record) for number, name in enumerate(names) for record in read(folder, name)]
    pieces = WordPieces(vocabulary)
    out: Arrays = {
        "repository": np.array([number for number, _ in rows], np.int32),
        "text_key": np.array([_key(record.text.lower()) for _, record in rows], np.int64),
        "code_key": np.array([_key(record.code[:_SAME_CODE_CHARS]) for _, record in rows], np.int64),
    }
    for field in FIELDS:
        found = counted(pieces, [getattr(record, field) for _, record in rows])
        for part, values in zip(("starts", "pieces", "counts"), found, strict=True):
            out[f"{field}_{part}"] = values
    return out


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True)


def main(arguments: list[str]) -> int:
    """Write the arrays of a folder of records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    found = arrays(options.records, options.vocabulary.read_text("utf-8").split("\n"))
    np.savez_compressed(options.out, **found)  # type: ignore[arg-type]
    print(f"{len(found['repository'])} records, {len(found['code_pieces'])} pieces of code")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
