"""Text, vectors and uses of names of several segments as those of one."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from cairn.store.columns import numbers, width_for
from cairn.store.container import Section
from cairn.store.merge_plan import HASH, SKIP, Numbers, Plan, Source, ascending, refuse, spans, starts_of, u32
from cairn.store.rows import REFERENCE_KINDS
from cairn.store.segment import Segment
from cairn.store.vectors import Vectors, read_vectors, vector_sections

_NEWLINE = 0x0A
# A way and a chunk share 63 bits: of chunks there are at most 1 << 28.
_ROW_BITS = 28


def merge_text(plan: Plan) -> bytes:
    """The text of all merged files; `StoreCorrupt` when it is not what the hash of a file was made of."""
    pieces: list[memoryview] = [memoryview(b"")] * (len(plan.starts["text"]) - 1)
    for segment, records, files, *_ in plan.sources:
        whole, starts = segment.whole_text(), segment.text_starts()
        for record, old, new in zip(records, files.old.tolist(), files.new.tolist(), strict=True):
            if record[SKIP] is None:
                piece = pieces[new] = whole[starts[old] : starts[old + 1]]
                if piece[-1] != _NEWLINE or sha256(piece[:-1]).digest() != record[HASH]:
                    refuse("a file does not have the bytes that its hash was made of")
    return b"".join(pieces)


def merge_chunks(plan: Plan) -> list[Section]:
    """Where each chunk begins, as a place in the merged text and as a line of its file."""
    starts, lines = np.zeros(plan.rows, np.int64), np.zeros(plan.rows, np.int64)
    texts = plan.starts["text"]
    own = np.diff(plan.starts["rows"])
    begins, ends = np.repeat(texts[:-1], own), np.repeat(texts[1:], own)
    for segment, _, files, rows, *_ in plan.sources:
        shifts = texts[files.new] - np.array(segment.text_starts(), np.int64)[files.old]
        starts[rows.new] = _column(segment, "chunk.at")[rows.old] + np.repeat(shifts, own[files.new])
        lines[rows.new] = _column(segment, "chunk.line")[rows.old]
    if (starts < begins).any() or (starts >= ends).any() or (starts[1:] <= starts[:-1]).any():
        refuse("a chunk is not in its file, or not in order")
    return [("chunk.at", u32(starts)), ("chunk.line", u32(lines))]


def merge_vectors(plan: Plan) -> list[Section]:
    """The vectors of all merged chunks."""
    dimension = plan.sources[0].segment.dimension
    merged = Vectors(np.zeros((plan.rows, dimension), np.int8), np.zeros(plan.rows, np.float32))
    for segment, _, _, rows, *_ in plan.sources:
        vectors, scales = read_vectors(segment.sections, segment.rows, dimension)
        merged.vectors[rows.new], merged.scales[rows.new] = vectors[rows.old], scales[rows.old]
    return vector_sections(merged)


# --- uses of names ----------------------------------------------------------------------------------------------------


class Uses(NamedTuple):
    """Uses in the merged chunks of a source.

    How many each of its chunks has; the place and the way of each use that is merged; then those ways, each once.
    """

    sizes: Numbers
    places: Numbers
    way_of: Numbers
    names: Numbers
    receivers: Numbers
    kinds: Numbers


def uses_of(source: Source) -> Uses:
    """The uses that are merged, with the source's own numbers."""
    uses, sizes = source.segment.uses, np.diff(ascending(source.segment, "refs.at"))
    columns = [np.array(each, np.int64) for each in (uses.name, uses.receiver, uses.kind)]
    ordered, _ = _ranks(*columns)
    if not np.array_equal(ordered, np.arange(len(columns[0]))) or (columns[2] >= len(REFERENCE_KINDS)).any():
        refuse("its ways of using a name are not in order, each once, or of no kind")
    ways = np.array(uses.way, np.int64)
    # Stored both ways round: what is wrong in one of them would be lost here, since only one is merged.
    starts, pairs = _chunks_of_ways(ways, sizes, len(ordered))
    if not np.array_equal(starts, uses.at) or not np.array_equal(pairs, uses.row):
        refuse("a name is said to be used in other chunks than it is")
    first = np.cumsum(sizes) - sizes
    places = spans(first[source.rows.old], sizes[source.rows.old])
    used, way_of = np.unique(ways[places], return_inverse=True)
    return Uses(sizes, places, way_of, *(each[used] for each in columns))


def merge_uses(plan: Plan, uses: Sequence[Uses], final: Sequence[Numbers]) -> list[Section]:
    """The uses of all merged chunks; `final` has for each source the number that each of its names gets."""
    moves = [source.rows for source in plan.sources]
    first = starts_of([own.sizes for own in uses], moves, plan.rows)
    names = np.concatenate([number[own.names] for own, number in zip(uses, final, strict=True)])
    receivers = np.concatenate([number[own.receivers] for own, number in zip(uses, final, strict=True)])
    kinds = np.concatenate([own.kinds for own in uses])
    order, rank = _ranks(names, receivers, kinds)
    ways, offsets = np.zeros(first[-1], np.int64), np.zeros(first[-1], np.uint16)
    at = 0
    for source, own in zip(plan.sources, uses, strict=True):
        new = spans(first[source.rows.new], own.sizes[source.rows.old])
        ways[new] = rank[at : at + len(own.kinds)][own.way_of]
        offsets[new] = np.asarray(source.segment.uses.offset)[own.places]
        at += len(own.kinds)
    way_starts, way_rows = _chunks_of_ways(ways, np.diff(first), len(order))
    return [
        ("ways.name", u32(names[order])),
        ("ways.receiver", u32(receivers[order])),
        ("ways.kind", kinds[order].astype(np.uint8).tobytes()),
        ("ways.at", u32(way_starts)),
        ("ways.row", _narrow(way_rows, plan.rows)),
        ("refs.at", u32(first)),
        ("refs.way", _narrow(ways, len(order))),
        ("refs.offset", offsets.tobytes()),
    ]


def _ranks(names: Numbers, receivers: Numbers, kinds: Numbers) -> tuple[Numbers, Numbers]:
    """Where the different ways stand, in order; and for each way its place among them."""
    order = np.lexsort((kinds, receivers, names))
    ordered = np.stack((names[order], receivers[order], kinds[order]))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(is_new) - 1
    return order[is_new], rank


def _chunks_of_ways(ways: Numbers, sizes: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Where the chunks of each way begin, and the chunks, each once; given the ways in each chunk, and how many."""
    pairs = ways << _ROW_BITS | np.repeat(np.arange(len(sizes)), sizes)
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return np.searchsorted(pairs, np.arange(count + 1) << _ROW_BITS), pairs & (1 << _ROW_BITS) - 1


def _narrow(values: Numbers, count: int) -> bytes:
    return values.astype(f"<{width_for(count)}").tobytes()


def _column(segment: Segment, name: str) -> Numbers:
    return np.asarray(numbers(segment.sections, name)).astype(np.int64)
