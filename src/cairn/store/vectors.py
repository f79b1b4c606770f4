"""Vectors in a quarter of their size: one byte for each component, and one scale for each row.

Sections, little endian: `vectors`, i8, row after row; `scales`, f32, one a row. Component i of a row is about
vectors[row][i] * scales[row]. A scale is the largest component of its row, without sign, divided by 127; a row of
zeros has scale 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from cairn.errors import StoreCorrupt
from cairn.store.container import Section

_LARGEST = 127


class Vectors(NamedTuple):
    """The vectors of a segment: (rows, dimension) of i8, and a scale for each row."""

    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]


def quantize(vectors: NDArray[np.float32]) -> Vectors:
    """The vectors as bytes and scales; refuses, as a mistake, whatever is not a table of finite numbers.

    A component comes back with an error of at most half its row's scale.
    """
    if vectors.ndim != 2:
        raise ValueError("vectors come as a table of rows and components")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds a component that is not a finite number")
    wide = vectors.astype(np.float64)
    largest = np.abs(wide).max(axis=1, initial=0.0)
    # Rounded once, here: what divides is what will multiply. The smallest numbers would round to a scale of 0.
    scales = (largest / _LARGEST).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1).astype(np.float64)
    return Vectors(np.rint(wide / divisors[:, None]).clip(-_LARGEST, _LARGEST).astype(np.int8), scales)


def approximate(vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the vectors were, as nearly as the bytes can say."""
    return vectors * scales[:, None]


def vector_sections(quantized: Vectors) -> list[Section]:
    """The sections of these vectors."""
    return [
        ("vectors", np.ascontiguousarray(quantized.vectors, dtype="i1").tobytes()),
        ("scales", quantized.scales.astype("<f4", copy=False).tobytes()),
    ]


def read_vectors(sections: Mapping[str, memoryview], rows: int, dimension: int) -> Vectors:
    """The vectors of a segment, read where they lie; raises `StoreCorrupt` when the sections do not have this size."""
    for name, size in (("vectors", rows * dimension), ("scales", 4 * rows)):
        if name not in sections:
            _refuse(f"{name} is missing")
        if len(sections[name]) != size:
            _refuse(f"{name} has the wrong size")
    vectors = np.frombuffer(sections["vectors"], dtype="i1").reshape(rows, dimension)
    scales: NDArray[np.float32] = np.frombuffer(sections["scales"], dtype="<f4")
    # Four bytes can say "infinite": every score that such a row takes part in would be nonsense.
    if not (np.isfinite(scales).all() and (scales >= 0).all()):
        _refuse("scales holds what is not a scale")
    return Vectors(vectors, scales)


def _refuse(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="vectors", why=why) from None
