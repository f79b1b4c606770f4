"""Packs trained weights into the one file that the package ships.

    python -m training.export WEIGHTS VOCABULARY OUT

WEIGHTS is an `.npz` file as `training.train` writes it, or a safetensors file, with `q` (int8, pieces x dimension), `s`
(float32, the scale of each row) and `qw` (float32, the weight of each piece in a query). VOCABULARY has one piece per
line, or is a JSON object from piece to row. OUT holds `s`, `qw`, `q` and then the pieces in the order of the rows, one
per line. Prints the size and the SHA-256 of OUT: the same inputs always give the same bytes.
"""

from __future__ import annotations

import json
import struct
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SAFETENSORS_TYPES = {"F32": "<f4", "I8": "i1"}
_LARGEST = 127


class Weights(NamedTuple):
    """A table of whole numbers, what each row is multiplied by, and each piece's weight in a query."""

    q: NDArray[np.int8]
    s: NDArray[np.float32]
    qw: NDArray[np.float32]


def quantised(table: NDArray[np.float32], query_weights: NDArray[np.float32]) -> Weights:
    """The same table in whole numbers of 8 bits; refuses a table that training has blown up."""
    if not (np.isfinite(table).all() and np.isfinite(query_weights).all()):
        raise SystemExit("the trained table holds a value that is no finite number")
    # A row of zeros has any scale.
    scales = np.abs(table).max(axis=1) / _LARGEST + np.float32(1e-12)
    whole = np.rint(table / scales[:, None]).astype(np.int8)
    return Weights(whole, scales.astype(np.float32), query_weights.astype(np.float32))


def packed(weights: Weights, vocabulary: list[str]) -> bytes:
    """The bytes of the shipped file; refuses weights and a vocabulary that do not belong together."""
    if len(set(vocabulary)) != len(vocabulary) or any("\n" in piece for piece in vocabulary):
        raise SystemExit("the vocabulary does not number its pieces 0, 1, 2, ...")
    count = len(vocabulary)
    parts = (
        (weights.s, "<f4", (count,)),
        (weights.qw, "<f4", (count,)),
        (weights.q, "i1", (count, weights.q.shape[1])),
    )
    for part, kind, shape in parts:
        if part.dtype != np.dtype(kind) or part.shape != shape:
            raise SystemExit(f"unexpected type or shape: {part.dtype} {part.shape} instead of {kind} {shape}")
    return b"".join([*(part.tobytes() for part, _, _ in parts), "\n".join(vocabulary).encode("utf-8")])


def weights_of(path: Path) -> Weights:
    """Read trained weights from either kind of file."""
    found = dict(np.load(path)) if path.suffix == ".npz" else _safetensors(path.read_bytes())
    return Weights(found["q"], found["s"], found["qw"])


def _safetensors(data: bytes) -> dict[str, NDArray[Any]]:
    (length,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], _SAFETENSORS_TYPES[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
    }


def vocabulary_of(path: Path) -> list[str]:
    """Read a vocabulary from either kind of file; refuses rows that are not 0, 1, 2, ..."""
    text = path.read_text("utf-8")
    if path.suffix != ".json":
        return text.split("\n")
    rows: dict[str, int] = json.loads(text)
    if sorted(rows.values()) != list(range(len(rows))):
        raise SystemExit("the vocabulary does not number its pieces 0, 1, 2, ...")
    return sorted(rows, key=rows.__getitem__)


def main(weights: str, vocabulary: str, out: str) -> None:
    """Write the file and say what it is."""
    data = packed(weights_of(Path(weights)), vocabulary_of(Path(vocabulary)))
    Path(out).write_bytes(data)
    print(len(data), sha256(data).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
