"""Build and read the searchable columns of a segment: which rows hold which terms, and the vectors of the rows.

Sections, all little endian. `term.hash`: the hashes of the terms as u64, ascending; the id of a term is its position
here. A hash is the first eight bytes of the SHA-256 of the term's UTF-8 bytes, read as a number; terms with equal
hashes are neighbours. `term.at` (u32, one more than terms) and `term.text`: term i is the bytes from at[i] to at[i +
1]. For each field F: `F.start` (u32, one more than terms), `F.row` and `F.tf`: term i occurs in the rows from start[i]
to start[i + 1], ascending, as often as tf (u8) says; 255 means 255 or more. `F.length` (u16): the number of terms of
each row in this field, with repetitions; 65,535 means that many or more. Row numbers are u16 where the segment has at
most 65,536 rows, else u32: they are most of the bytes, and u16 makes the postings 0.4 smaller.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from cairn.core.tokens import terms_of, words
from cairn.errors import StoreCorrupt
from cairn.store.format.columns import Section

# --- vectors, quantized to one byte for each component and one scale for each row -------------------------------------


_LARGEST = 127


class Vectors(NamedTuple):
    """The vectors of a segment: (rows, dimension) of i8, and one scale for each row."""

    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]


def quantize(vectors: NDArray[np.float32]) -> Vectors:
    """Return the vectors as bytes and scales; raises ValueError unless they are a table of finite numbers.

    The error of a restored component is at most half the scale of its row.
    """
    if vectors.ndim != 2:
        raise ValueError("vectors come as a table of rows and components")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds a component that is not a finite number")
    wide = vectors.astype(np.float64)
    largest = np.abs(wide).max(axis=1, initial=0.0)
    # Round the scale to f32 before dividing, so that the same number divides here and multiplies later. The scale of a
    # row of the smallest floats rounds to 0, by which nothing can be divided.
    scales = (largest / _LARGEST).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1).astype(np.float64)
    return Vectors(np.rint(wide / divisors[:, None]).clip(-_LARGEST, _LARGEST).astype(np.int8), scales)


def approximate(vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors that these bytes and scales stand for, as nearly as they can say."""
    return vectors * scales[:, None]


def vector_sections(quantized: Vectors) -> list[Section]:
    """Return the sections of these vectors."""
    return [
        ("vectors", np.ascontiguousarray(quantized.vectors, dtype="i1").tobytes()),
        ("scales", quantized.scales.astype("<f4", copy=False).tobytes()),
    ]


def read_vectors(sections: Mapping[str, memoryview], rows: int, dimension: int) -> Vectors:
    """Return the vectors of a segment without copying; raises `StoreCorrupt` when a section does not have its size."""
    for name, size in (("vectors", rows * dimension), ("scales", 4 * rows)):
        if name not in sections:
            _refuse_vectors(f"{name} is missing")
        if len(sections[name]) != size:
            _refuse_vectors(f"{name} has the wrong size")
    vectors = np.frombuffer(sections["vectors"], dtype="i1").reshape(rows, dimension)
    scales: NDArray[np.float32] = np.frombuffer(sections["scales"], dtype="<f4")
    # Damaged bytes can stand for infinity, which would spoil every score of the row.
    if not (np.isfinite(scales).all() and (scales >= 0).all()):
        _refuse_vectors("scales holds what is not a scale")
    return Vectors(vectors, scales)


def _refuse_vectors(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="vectors", why=why) from None


FIELDS = ("path", "symbol", "comment", "body")

_MOST_TF = (1 << 8) - 1
_MOST_LENGTH = (1 << 16) - 1
_MOST_NARROW_ROWS = 1 << 16
# While building, a term, a row and a count share 64 bits (28, 28 and 8), so that one sort puts all postings in order.
_COUNT_BITS = 8
_ROW_BITS = 28
_TERM_SHIFT = np.uint64(_ROW_BITS + _COUNT_BITS)
MOST_ROWS = 1 << _ROW_BITS
MOST_TERMS = 1 << (64 - _ROW_BITS - _COUNT_BITS)
# How many words are counted together: enough for numpy to be fast, few enough to take only some megabytes.
_BATCH_WORDS = 1 << 18

Rows = NDArray[np.uint16] | NDArray[np.uint32]


def term_hash(term: str) -> bytes:
    """Return the eight bytes by which a term is looked up."""
    return sha256(term.encode()).digest()[:8]


# --- building ---------------------------------------------------------------------------------------------------------


class _Terms(dict[str, int]):
    """Term → its id, which is assigned at the first lookup."""

    def __missing__(self, term: str) -> int:
        self[term] = found = len(self)
        return found


class _Vocabulary(dict[str, int]):
    """Word → its id, which is assigned at the first lookup; and for each word id the ids of the word's terms."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = _Terms()
        self.starts = array("I", [0])
        self.flat = array("I")

    def __missing__(self, word: str) -> int:
        self.flat.extend(map(self.terms.__getitem__, terms_of(word)))
        self.starts.append(len(self.flat))
        self[word] = found = len(self)
        return found


class _FieldBuilder:
    """The occurrences of one field: words that wait to be counted, and the counts so far."""

    def __init__(self) -> None:
        self.waiting = array("I")
        self.ends = array("I")
        self.counted: list[NDArray[np.uint64]] = []
        self.lengths: list[NDArray[np.uint16]] = []
        self.rows = 0

    def count(self, vocabulary: _Vocabulary) -> None:
        """Turn the waiting words into one packed posting for each distinct term of each row."""
        starts = np.array(vocabulary.starts, dtype=np.int64)
        flat = np.array(vocabulary.flat, dtype=np.uint64)
        waiting = np.array(self.waiting, dtype=np.int64)
        ends = np.array(self.ends, dtype=np.int64)
        per_word = (starts[1:] - starts[:-1])[waiting]
        done = np.concatenate(([0], np.cumsum(per_word)))
        per_row = np.diff(done[ends], prepend=0)
        # Each word has a run of terms in `flat`: number all terms, then shift each run to where it begins.
        places = np.arange(done[-1]) + np.repeat(starts[waiting] - done[:-1], per_word)
        rows = np.arange(self.rows, self.rows + len(ends), dtype=np.uint64)
        keys = flat[places] << _TERM_SHIFT | np.repeat(rows, per_row) << np.uint64(_COUNT_BITS)
        keys, counts = _runs(keys)
        self.counted.append(keys | np.minimum(counts, _MOST_TF).astype(np.uint64))
        self.lengths.append(np.minimum(per_row, _MOST_LENGTH).astype(np.uint16))
        self.rows += len(ends)
        self.waiting, self.ends = array("I"), array("I")

    def sections(self, field: str, places: NDArray[np.uint64], rows: int) -> Iterator[Section]:
        """Yield the field's sections; `places` has the final id of each term."""
        keys = np.concatenate(self.counted) if self.counted else np.zeros(0, np.uint64)
        self.counted.clear()
        keys = with_final_terms(keys, places)
        keys.sort()
        lengths = np.concatenate(self.lengths) if rows else np.zeros(0, np.uint16)
        yield from field_sections(field, keys, lengths, len(places))


class PostingsBuilder:
    """A collector of the rows of a segment, numbered as they are added. Equal rows give equal bytes.

    Beside its distinct words it holds about five bytes for each word of the rows, and fifteen while `sections` runs.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._vocabulary = _Vocabulary()
        self._fields = {field: _FieldBuilder() for field in FIELDS}

    def add(self, path: str, symbols: Sequence[str], comment: str | bytes, body: str | bytes) -> None:
        """Add the next row: the words of each of its fields. Bytes are read as UTF-8."""
        if self.rows == MOST_ROWS:
            raise ValueError("a segment cannot hold so many rows")
        texts = (path, " ".join(symbols), comment, body)
        identify = self._vocabulary.__getitem__
        for field, text in zip(self._fields.values(), texts, strict=True):
            if text:
                field.waiting.extend(map(identify, words(text)))
            field.ends.append(len(field.waiting))
        self.rows += 1
        if sum(len(field.waiting) for field in self._fields.values()) >= _BATCH_WORDS:
            self._count()

    def sections(self) -> list[Section]:
        """Return the sections of all rows; nothing can be added afterwards."""
        self._count()
        names = list(self._vocabulary.terms)
        self._vocabulary = _Vocabulary()
        hashes = np.frombuffer(b"".join(map(term_hash, names)), dtype="<u8")
        # The sort is stable, so that terms with equal hashes stay in the order of their first occurrence.
        order = np.argsort(hashes, kind="stable")
        texts = [names[place].encode() for place in order.tolist()]
        places = np.empty(len(names), dtype=np.uint64)
        places[order] = np.arange(len(names), dtype=np.uint64)
        found = term_sections(hashes[order], texts)
        for field, builder in self._fields.items():
            found += builder.sections(field, places, self.rows)
        return found

    def _count(self) -> None:
        if len(self._vocabulary.terms) > MOST_TERMS:
            raise ValueError("a segment cannot hold so many terms")
        for field in self._fields.values():
            if field.ends:
                field.count(self._vocabulary)


def _runs(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct keys in order, and how often each occurs; sorts in place, unlike `np.unique`."""
    keys.sort()
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])
    return keys[first], np.diff(first, append=len(keys))


def packed(terms: NDArray[np.uint64], rows: NDArray[np.uint64], counts: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one number for each posting; in ascending order they are in the order in which they are stored."""
    return terms << _TERM_SHIFT | rows << np.uint64(_COUNT_BITS) | counts


def terms_in(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the term of each packed posting."""
    return keys >> _TERM_SHIFT


def with_final_terms(keys: NDArray[np.uint64], places: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return packed postings in which each term has its final id."""
    final: NDArray[np.uint64] = places[keys >> _TERM_SHIFT]
    return final << _TERM_SHIFT | keys & np.uint64((1 << int(_TERM_SHIFT)) - 1)


def strictly_ascending(keys: NDArray[np.uint64]) -> bool:
    """Return whether packed postings are in order, with no pair of term and row twice."""
    return bool((keys[1:] >> np.uint64(_COUNT_BITS) > keys[:-1] >> np.uint64(_COUNT_BITS)).all())


def term_sections(hashes: NDArray[np.uint64], texts: Sequence[bytes]) -> list[Section]:
    """Return the sections of the terms, which are given in order of their hashes."""
    return [
        ("term.hash", _data(hashes, "<u8")),
        ("term.at", _data(np.fromiter(accumulate(map(len, texts), initial=0), np.int64), "<u4")),
        ("term.text", b"".join(texts)),
    ]


def field_sections(field: str, keys: NDArray[np.uint64], lengths: NDArray[np.uint16], terms: int) -> Iterator[Section]:
    """Yield the sections of a field, given its packed postings in order and the length of each row."""
    borders = np.arange(terms + 1, dtype=np.uint64) << _TERM_SHIFT
    yield f"{field}.start", _data(np.searchsorted(keys, borders), "<u4")
    yield f"{field}.row", _data(keys >> np.uint64(_COUNT_BITS) & np.uint64(MOST_ROWS - 1), _row_type(len(lengths)))
    yield f"{field}.tf", _data(keys & np.uint64(_MOST_TF), "u1")
    yield f"{field}.length", _data(lengths, "<u2")


def _row_type(rows: int) -> str:
    return "<u2" if rows <= _MOST_NARROW_ROWS else "<u4"


def _data(values: NDArray[Any], kind: str) -> memoryview:
    return values.astype(kind, copy=False).data.cast("B")


# --- reading ----------------------------------------------------------------------------------------------------------


class FieldColumns:
    """The arrays of one field, without copying."""

    __slots__ = ("lengths", "rows", "starts", "tf")

    def __init__(self, sections: Mapping[str, memoryview], field: str, rows: int, terms: int) -> None:
        self.lengths: NDArray[np.uint16] = _array(sections, f"{field}.length", "<u2", rows)
        self.starts: NDArray[np.uint32] = _array(sections, f"{field}.start", "<u4", terms + 1)
        self.tf: NDArray[np.uint8] = _array(sections, f"{field}.tf", "u1")
        self.rows: Rows = _array(sections, f"{field}.row", _row_type(rows), len(self.tf))
        _check_offsets(f"{field}.start", self.starts, len(self.tf))


class Postings:
    """The postings of a segment, read without copying; raises `StoreCorrupt` when the sections do not fit together.

    Opening checks the offsets of each term, but not the order of the postings: `problems` checks that, and the digest
    of the segment guarantees it.
    """

    def __init__(self, sections: Mapping[str, memoryview]) -> None:
        self.rows = len(_array(sections, f"{FIELDS[0]}.length", "<u2"))
        self.hashes: NDArray[np.uint64] = _array(sections, "term.hash", "<u8")
        self.terms = len(self.hashes)
        if (self.hashes[1:] < self.hashes[:-1]).any():
            _refuse("term.hash is out of order")
        self._texts = _section(sections, "term.text")
        self._at: NDArray[np.uint32] = _array(sections, "term.at", "<u4", self.terms + 1)
        _check_offsets("term.at", self._at, len(self._texts))
        self._fields = {field: FieldColumns(sections, field, self.rows, self.terms) for field in FIELDS}

    def find(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return the ids of these terms, -1 for each term that no row holds."""
        found = np.full(len(terms), -1, dtype=np.int64)
        wanted = np.frombuffer(b"".join(map(_remembered_hash, terms)), dtype="<u8")
        first, end = self.hashes.searchsorted(wanted, "left"), self.hashes.searchsorted(wanted, "right")
        # In a small segment few terms get this far. Equal hashes prove nothing: only equal text is the same term.
        for number in np.flatnonzero(first < end).tolist():
            text = terms[number].encode()
            for place in range(int(first[number]), int(end[number])):
                if self._text(place) == text:
                    found[number] = place
        return found

    def term(self, term_id: int) -> str:
        """Return the term with this id."""
        try:
            return str(self._text(term_id), "utf-8")
        except UnicodeDecodeError:
            _refuse(f"term {term_id} is not UTF-8")

    def postings(self, field: str, term_id: int) -> tuple[Rows, NDArray[np.uint8]]:
        """Return the rows that hold this term in this field, ascending, and the count in each; views, not copies."""
        return self._between(field, *self._fields[field].starts[term_id : term_id + 2].tolist())

    def several(self, field: str, term_ids: Sequence[int]) -> list[tuple[int, Rows, NDArray[np.uint8]]]:
        """Return the position in the list, and what `postings` gives, for each term that occurs in this field."""
        starts, ids = self._fields[field].starts, np.array(term_ids, np.int64)
        ends = zip(starts[ids].tolist(), starts[ids + 1].tolist(), strict=True)
        return [(place, *self._between(field, first, end)) for place, (first, end) in enumerate(ends) if first < end]

    def _between(self, field: str, first: int, end: int) -> tuple[Rows, NDArray[np.uint8]]:
        columns = self._fields[field]
        rows = columns.rows[first:end]
        if first < end and rows[-1] >= self.rows:
            _refuse(f"{field}.row names a row that is not there")
        return rows, columns.tf[first:end]

    def columns(self, field: str) -> FieldColumns:
        """Return all postings of a field."""
        return self._fields[field]

    def texts(self) -> list[bytes]:
        """Return the bytes of every term, by its id."""
        text = bytes(self._texts)
        return [text[first:end] for first, end in pairwise(self._at.tolist())]

    def lengths(self, field: str) -> NDArray[np.uint16]:
        """Return how many terms each row has in this field."""
        return self._fields[field].lengths

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each thing that is wrong in these postings; reads all of them."""
        yield from self._term_problems()
        for field, columns in self._fields.items():
            starts = columns.starts.astype(np.int64)
            term_of = np.repeat(np.arange(self.terms), np.diff(starts))
            in_order = (columns.rows[1:] > columns.rows[:-1]) | (term_of[1:] != term_of[:-1])
            if not in_order.all():
                yield f"{field}.row is out of order"
            if (columns.rows >= self.rows).any():
                yield f"{field}.row names a row that is not there"
                continue
            if not columns.tf.all():
                yield f"{field}.tf counts an occurrence that is none"
            counted = np.bincount(columns.rows, columns.tf, minlength=self.rows)
            full = np.bincount(columns.rows, columns.tf == _MOST_TF, minlength=self.rows)
            # A count of 255 may stand for more, so then the length may be larger than the sum.
            wrong = np.where(full > 0, columns.lengths < np.minimum(counted, _MOST_LENGTH), columns.lengths != counted)
            if wrong.any():
                yield f"{field}.length disagrees with the postings"

    def _term_problems(self) -> Iterator[str]:
        texts = self.texts()
        try:
            hashes = b"".join(term_hash(text.decode()) for text in texts)
        except UnicodeDecodeError:
            yield "a term is not UTF-8"
            return
        if not np.array_equal(np.frombuffer(hashes, dtype="<u8"), self.hashes):
            yield "term.hash disagrees with the terms"
        if len(set(texts)) < len(texts):
            yield "a term is there twice"

    def _text(self, place: int) -> memoryview:
        first, end = self._at[place : place + 2].tolist()
        return self._texts[first:end]


@lru_cache(1 << 12)
def _remembered_hash(term: str) -> bytes:
    # A query asks every segment for the same few terms, so their hashes are remembered.
    return term_hash(term)


def _section(sections: Mapping[str, memoryview], name: str) -> memoryview:
    if name not in sections:
        _refuse(f"{name} is missing")
    return sections[name]


def _array(sections: Mapping[str, memoryview], name: str, kind: str, length: int | None = None) -> NDArray[Any]:
    data = _section(sections, name)
    width = np.dtype(kind).itemsize
    if len(data) % width or (length is not None and len(data) != length * width):
        _refuse(f"{name} has the wrong size")
    return np.frombuffer(data, dtype=kind)


def _check_offsets(name: str, offsets: NDArray[np.uint32], end: int) -> None:
    if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        _refuse(f"{name} does not fit its section")


def _refuse(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="postings", why=why) from None
