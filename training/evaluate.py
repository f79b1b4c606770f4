"""Measures a packed model on held-out repositories: does a text find its code among the rest of its repository?

    python -m training.evaluate --records HELD-OUT --model FILE [--most QUERIES]

Prints the mean NDCG@10 over the repositories for three kinds of text, beside BM25 and the sum of both.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.static import MODEL_FILE, StaticEmbedder
from training.bm25 import Bm25
from training.records import Record, read, repositories

# What is asked, and among which kinds of code it must be found.
TASKS = {
    "doc": ("doc", "inline", "module"),
    "commit": ("doc", "inline", "module", "commit"),
    "test": ("doc", "inline", "module", "test"),
}
_LEAST_QUERIES = 10
_RANKS = 10

Scorer = Callable[[str], NDArray[np.float32]]


def gain(scores: NDArray[np.float32], right: int) -> float:
    """NDCG@10 when one text is right. What scores the same stands before it: a model that says nothing gets nothing."""
    rank = int((scores >= scores[right]).sum())
    return 1 / float(np.log2(rank + 1)) if rank <= _RANKS else 0.0


def measure(records: Sequence[Record], task: str, model: StaticEmbedder, most: int) -> Mapping[str, float]:
    """NDCG@10 of each system on one repository; nothing when it asks too little."""
    candidates = [record for record in records if record.kind in TASKS[task]]
    asked = [row for row, record in enumerate(candidates) if record.kind == task][:most]
    if len(asked) < _LEAST_QUERIES:
        return {}
    texts = [f"{record.path}\n{record.code}" for record in candidates]
    words, vectors = Bm25(texts), model.embed([text.encode() for text in texts])
    systems: dict[str, Scorer] = {
        "BM25": words.scores,
        "model": lambda query: vectors @ model.embed_query(query),
        "both": lambda query: _scaled(words.scores(query)) + _scaled(vectors @ model.embed_query(query)),
    }
    return {
        name: float(np.mean([gain(score(candidates[row].text), row) for row in asked]))
        for name, score in systems.items()
    }


def _scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    return scores / max(float(scores.max()), 1e-9)


def main(arguments: list[str]) -> int:
    """Print one line per task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=Path(MODEL_FILE))
    parser.add_argument("--most", type=int, default=400, help="queries of one kind from one repository")
    options = parser.parse_args(arguments)
    model = StaticEmbedder(str(options.model), sha256(options.model.read_bytes()).hexdigest())
    for task in TASKS:
        found: dict[str, list[float]] = defaultdict(list)
        for name in repositories(options.records):
            for system, value in measure(list(read(options.records, name)), task, model, options.most).items():
                found[system].append(value)
        means = ", ".join(f"{system} {np.mean(values):.3f}" for system, values in found.items())
        print(f"{task}: {means} ({len(next(iter(found.values()), []))} repositories)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
