"""Prepare the rows of a sealed segment for a search server: vectors, term weights, and a digest over all of them.

The number of a term is the CRC-32 of its UTF-8 bytes. The weight of a term in a row is its count there: fields are
weighted into one count, which is saturated as in the ranking, but against fixed lengths. The average lengths of rows
change with every sync, and come in with the question. So the bytes of a row never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cairn.core.lazy import cached_property
from cairn.engine.contract import Row, RowScope, SealedFile
from cairn.store import FIELDS, LivePart, Postings, SnapshotView, approximate, live_parts

K1 = 1.2
B = 0.75
_WEIGHTS = {"path": 2.0, "body": 1.0, "symbol": 0.0, "comment": 0.0}
_LENGTHS = {"path": 8.0, "body": 80.0}
# The server does not allow the highest number as a dimension.
_MOST = (1 << 32) - 1


def term_number(term: str) -> int:
    """Return the dimension of the sparse vector that stands for a term."""
    return crc32(term.encode()) % _MOST


class SegmentRows:
    """A sealed segment, ready to be sent. Valid while the view that `part` belongs to is open."""

    def __init__(self, name: str, sealed_sha256: str, part: LivePart, files: Iterable[SealedFile] = ()) -> None:
        self.name = name
        self.sealed_sha256 = sealed_sha256
        self.files = tuple(files)
        self.part = part

    @property
    def rows(self) -> int:
        return int(self.part.row_starts[-1])

    @cached_property
    def rows_sha256(self) -> str:
        """The digest over every row in order: its file, its path, its vector and its terms."""
        digest = sha256()
        for row in self.read():
            numbers = np.fromiter(row.terms, "<u4", len(row.terms)).tobytes()
            weights = np.fromiter(row.terms.values(), "<f4", len(row.terms)).tobytes()
            path = row.path.encode("utf-8", "surrogateescape")
            for part in (b"%d %d %d " % (row.row, row.file, len(path)), path, row.vector.tobytes(), numbers, weights):
                digest.update(part)
        return digest.hexdigest()

    def read(self) -> Iterator[Row]:
        """Yield every row, rows of hidden files included: which files are hidden differs between snapshots."""
        part = self.part
        starts = part.row_starts.astype(np.int64)
        keys = part.keys()
        owners = np.repeat(np.arange(len(keys)), np.diff(starts))
        vectors = part.vectors
        for row, (file, terms) in enumerate(zip(owners.tolist(), _forward(part.postings), strict=True)):
            vector = approximate(vectors.vectors[row : row + 1], vectors.scales[row : row + 1])[0]
            yield Row(row, file, keys[file], vector, terms)


def segments_of(view: SnapshotView) -> list[SegmentRows]:
    """Return the segments of a view, without their files."""
    refs = view.manifest.segments
    return [SegmentRows(ref.name, ref.sha256, part) for ref, part in zip(refs, live_parts(view), strict=True)]


def scope_of(view: SnapshotView) -> RowScope:
    """Return the scope of a view: its segments, without the files that its tombstones hide."""
    pairs = list(zip((ref.name for ref in view.manifest.segments), live_parts(view), strict=True))
    return RowScope(tuple(name for name, _ in pairs), {name: part.hidden for name, part in pairs if part.hidden})


def _forward(postings: Postings) -> Iterator[Mapping[int, float]]:
    """Yield for each row the weight of each of its terms, in order of the terms' numbers."""
    rows, terms, counts = _weighted(postings)
    numbers = np.fromiter((crc32(text) % _MOST for text in postings.texts()), np.int64, postings.terms)
    weights = (counts * (K1 + 1) / (counts + K1)).astype(np.float32)
    order = np.lexsort((numbers[terms], rows))
    rows, terms, weights = rows[order], numbers[terms[order]], weights[order]
    ends = np.searchsorted(rows, np.arange(postings.rows + 1))
    for first, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        # Two terms with the same number count as one: the ranking compares the text again.
        yield dict(zip(terms[first:end].tolist(), weights[first:end].tolist(), strict=True))


def _weighted(postings: Postings) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return every pair of row and term once, and the weighted count of the term in the row."""
    keys, values = [np.zeros(0, np.int64)], [np.zeros(0)]
    for field in FIELDS:
        if not (weight := _WEIGHTS[field]):
            continue
        columns = postings.columns(field)
        terms = np.repeat(np.arange(postings.terms), columns.starts[1:] - columns.starts[:-1])
        own = columns.rows.astype(np.int64)
        norms = 1 - B + B * columns.lengths.astype(np.float64) / _LENGTHS[field]
        keys.append(own * max(1, postings.terms) + terms)
        values.append(weight * columns.tf / norms[own])
    pairs, places = np.unique(np.concatenate(keys), return_inverse=True)
    counts: NDArray[np.float64] = np.bincount(places, np.concatenate(values), minlength=len(pairs)).astype(np.float64)
    return pairs // max(1, postings.terms), pairs % max(1, postings.terms), counts
