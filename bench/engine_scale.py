"""What a question costs a search server, against how many segments and stores its rows lie in.

`python -m bench.engine_scale` sends the same made-up rows to a real `milvus-lite` server on the loopback, split in
several ways, and measures questions, writes and bytes. Needs the packages pymilvus and milvus-lite.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tests.engine.servers import running

from cairn.engine.contract import Row, RowScope, SealedFile
from cairn.engine.milvus import Server
from cairn.engine.milvus_rows import MilvusRows

DIMENSION, TERMS = 256, 40


class MadeUp:
    """A segment of random rows."""

    sealed_sha256 = rows_sha256 = "0" * 64
    files: tuple[SealedFile, ...] = ()

    def __init__(self, name: str, rows: int, seed: int) -> None:
        self.name, self.rows = name, rows
        self._chance = np.random.default_rng(seed)

    def read(self) -> Iterator[Row]:
        for row in range(self.rows):
            vector = self._chance.standard_normal(DIMENSION).astype(np.float32)
            terms = self._chance.integers(0, 50_000, TERMS).tolist()
            path = f"src/file_{row // 10}.py"
            yield Row(row, row // 10, path, vector / np.linalg.norm(vector), dict.fromkeys(terms, 1.0))


def asked(stores: list[tuple[MilvusRows, RowScope]], questions: int) -> dict[str, float]:
    """Milliseconds of a question to all of these stores, one after the other: the middle and the slowest tenth."""
    chance, taken = np.random.default_rng(1), []
    for _ in range(questions):
        vector = chance.standard_normal(DIMENSION).astype(np.float32)
        began = time.perf_counter()
        for rows, scope in stores:
            rows.search_dense(vector / np.linalg.norm(vector), scope, 1_000)
        taken.append(1e3 * (time.perf_counter() - began))
    taken.sort()
    return {"p50_ms": round(taken[len(taken) // 2], 1), "p90_ms": round(taken[9 * len(taken) // 10], 1)}


def measure(uri: str, data: Path, total: int, segments: int, stores: int, hidden: int) -> dict[str, object]:
    """The same number of rows in so many segments of so many stores."""
    opened, size = [], _size(data)
    began = time.perf_counter()
    for store in range(stores):
        rows = MilvusRows(Server(uri), f"scale_{total}_{segments}_{stores}_{hidden}_{store}", DIMENSION)
        names = [f"seg_{number}" for number in range(segments)]
        for number, name in enumerate(names):
            rows.put_segment(MadeUp(name, total // segments // stores, number))
        opened.append((rows, RowScope(tuple(names), {name: tuple(range(hidden)) for name in names} if hidden else {})))
    took = time.perf_counter() - began
    found = asked(opened, 20)
    for rows, _ in opened:
        rows.close()
    return {
        "rows": total,
        "segments": segments,
        "stores": stores,
        "hidden_files_per_segment": hidden,
        "rows_per_s": round(total / took),
        "bytes_per_row": round((_size(data) - size) / total),
        **found,
    }


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=16_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch) / "server") as server:
        splits = ((rows // 4, 1, 1, 0), (rows, 1, 1, 0), (rows, 8, 1, 0), (rows, 32, 1, 0), (rows, 8, 1, 50))
        for total, segments, stores, hidden in (*splits, (rows, 1, 4, 0), (rows, 1, 8, 0)):
            print(json.dumps(measure(server.uri, server.data, total, segments, stores, hidden)), flush=True)


if __name__ == "__main__":
    main()
