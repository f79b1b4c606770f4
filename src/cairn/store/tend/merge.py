"""Merge several segments into one that holds their live files, as if these had just been read in order of their paths.

Everything is copied as it is stored: nothing is parsed, cut into words or embedded again, so the merge needs nothing
that was cut off when it was stored (a doc after its first line, a count above 255).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain, pairwise
from operator import lt
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from cairn.core.collector import no_cycle_collection
from cairn.errors import StoreCorrupt
from cairn.store.format.build import MOST_TEXT_BYTES
from cairn.store.format.columns import NamesBuilder, Section, numbers, width_for, write_container
from cairn.store.format.postings import (
    FIELDS,
    MOST_ROWS,
    MOST_TERMS,
    Postings,
    Vectors,
    field_sections,
    packed,
    read_vectors,
    strictly_ascending,
    term_hash,
    term_sections,
    terms_in,
    vector_sections,
    with_final_terms,
)
from cairn.store.format.rows import DATA_FILE, REFERENCE_KINDS, ROWS_FILE, Row, Tables, encode_rows
from cairn.store.format.segment import DAMAGE, Segment, damaged
from cairn.store.format.tombstones import is_path_key
from cairn.store.fs import Fs
from cairn.store.read.snapshot import Part

# --- planning: which files a merged segment holds, and where each of their rows goes ----------------------------------


Numbers = NDArray[np.int64]

_FILES = """
SELECT id, path, size, mtime, ctime, inode, hash, language, state, interface, exports, partial, skip, detail, wide
FROM files ORDER BY id
"""
PATH, HASH, EXPORTS, SKIP = 0, 5, 9, 11
# A file has any number of each of these; the section of this name says where each file begins.
_KINDS = ("text", "rows", "symbols", "imports")


class DoesNotFit(ValueError):
    """Segments that cannot be merged into one: they hold too much together, or differ in kind."""


class Move(NamedTuple):
    """The numbers of a source's rows in the order in which they are merged, and the new number of each."""

    old: Numbers
    new: Numbers


class MergeSource(NamedTuple):
    """A segment that is merged: the rows of its table of files that are taken, and where all its rows go."""

    segment: Segment
    records: list[Row]
    files: Move
    rows: Move
    symbols: Move
    imports: Move


class MergePlan(NamedTuple):
    """The segments that are merged, and where each merged file begins in text, chunks, definitions and imports."""

    sources: tuple[MergeSource, ...]
    starts: Mapping[str, Numbers]

    @property
    def rows(self) -> int:
        return int(self.starts["rows"][-1])


def plan_merge(parts: Sequence[Part], without: Container[str]) -> MergePlan:
    """Plan a merge of all files of the parts that are neither hidden nor in `without`, in order of their paths."""
    if len({(part.segment.dimension, part.segment.meta.chunker) for part in parts}) != 1:
        raise DoesNotFit("what is merged is at least one segment, all of one chunker and one dimension")
    tables = [numbered(part.segment, _FILES, len(part.segment.row_starts()) - 1) for part in parts]
    live = sorted(
        (row[PATH], place, number)
        for place, (part, table) in enumerate(zip(parts, tables, strict=True))
        for number, row in enumerate(table)
        if number not in part.hidden and row[PATH] not in without
    )
    if any(one[0] == other[0] for one, other in pairwise(live)) or not all(is_path_key(path) for path, *_ in live):
        refuse("a path is not one, or another file has it")
    places, found = np.array([(place, number) for _, place, number in live], np.int64).reshape(-1, 2).T
    files = [Move(found[places == place], np.flatnonzero(places == place)) for place in range(len(parts))]
    starts = [_file_starts(part.segment, table) for part, table in zip(parts, tables, strict=True)]
    merged = {kind: starts_of([np.diff(each[kind]) for each in starts], files, len(live)) for kind in _KINDS}
    if merged["text"][-1] > MOST_TEXT_BYTES:
        raise DoesNotFit("a segment's text stays below 4 GiB")
    if merged["rows"][-1] > MOST_ROWS:
        raise DoesNotFit("a segment cannot hold so many rows")
    return MergePlan(
        tuple(
            MergeSource(
                part.segment,
                [table[number] for number in move.old.tolist()],
                move,
                *(_moved(each[kind], merged[kind], move) for kind in _KINDS[1:]),
            )
            for part, table, move, each in zip(parts, tables, files, starts, strict=True)
        ),
        merged,
    )


def _file_starts(segment: Segment, table: list[Row]) -> dict[str, Numbers]:
    starts = {kind: ascending(segment, f"file.{kind}") for kind in _KINDS}
    has_text = np.array([row[SKIP] is None for row in table], bool)
    empty = {kind: np.diff(each) == 0 for kind, each in starts.items()}
    # An indexed file has text, if only the newline behind it; a file that was left out has nothing at all.
    if (empty["text"] == has_text).any() or not all(each[~has_text].all() for each in empty.values()):
        refuse("a file was left out, and yet there are rows of it")
    return starts


def _moved(old: Numbers, new: Numbers, files: Move) -> Move:
    sizes = np.diff(old)[files.old]
    return Move(spans(old[files.old], sizes), spans(new[files.new], sizes))


# --- helpers ----------------------------------------------------------------------------------------------------------


def spans(starts: Numbers, sizes: Numbers) -> Numbers:
    """Return the numbers of all of these runs, one run after the other."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    # Number everything, then shift each run to where it begins.
    found: Numbers = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
    return found


def starts_of(sizes: Sequence[Numbers], moves: Sequence[Move], total: int) -> Numbers:
    """Return where each merged row begins, given the size of each row of each source; one more for the end."""
    starts = np.zeros(total + 1, np.int64)
    for each, move in zip(sizes, moves, strict=True):
        starts[move.new + 1] = each[move.old]
    return np.cumsum(starts)


def u32(values: Numbers) -> bytes:
    """Return the numbers as a section of 32-bit numbers; `DoesNotFit` when one is larger."""
    if len(values) and values.max() >= 1 << 32:
        raise DoesNotFit("a segment cannot hold so many rows")
    return values.astype("<u4").tobytes()


def ascending(segment: Segment, name: str) -> Numbers:
    """Return a section of numbers that ascend from 0; `StoreCorrupt` when they do not."""
    found = np.array(numbers(segment.sections, name), np.int64)
    if found[0] or (found[1:] < found[:-1]).any():
        refuse(f"its section {name} is out of order")
    return found


def numbered(segment: Segment, query: str, count: int) -> list[Row]:
    """Return the rows of a table without the first column, which must number them from 0 without a gap."""
    rows = segment.query(query)
    if [row[0] for row in rows] != list(range(count)):
        refuse("a row of its tables is missing")
    return [row[1:] for row in rows]


def refuse(why: str) -> NoReturn:
    """Raise `StoreCorrupt` about a segment that is merged."""
    raise StoreCorrupt(artifact="segment", why=why)


# --- text, chunks and vectors -----------------------------------------------------------------------------------------


_NEWLINE = 0x0A
# A way and a chunk share 63 bits; there are at most 1 << 28 chunks.
_ROW_BITS = 28


def merge_text(plan: MergePlan) -> bytes:
    """Return the text of all merged files; `StoreCorrupt` when it does not match the hash of a file."""
    pieces: list[memoryview] = [memoryview(b"")] * (len(plan.starts["text"]) - 1)
    for segment, records, files, *_ in plan.sources:
        whole, starts = segment.whole_text(), segment.text_starts()
        for record, old, new in zip(records, files.old.tolist(), files.new.tolist(), strict=True):
            if record[SKIP] is None:
                piece = pieces[new] = whole[starts[old] : starts[old + 1]]
                if piece[-1] != _NEWLINE or sha256(piece[:-1]).digest() != record[HASH]:
                    refuse("a file does not have the bytes that its hash was made of")
    return b"".join(pieces)


def merge_chunks(plan: MergePlan) -> list[Section]:
    """Return the sections that say where each chunk begins, in the merged text and as a line of its file."""
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


def merge_vectors(plan: MergePlan) -> list[Section]:
    """Return the sections of the vectors of all merged chunks."""
    dimension = plan.sources[0].segment.dimension
    merged = Vectors(np.zeros((plan.rows, dimension), np.int8), np.zeros(plan.rows, np.float32))
    for segment, _, _, rows, *_ in plan.sources:
        vectors, scales = read_vectors(segment.sections, segment.rows, dimension)
        merged.vectors[rows.new], merged.scales[rows.new] = vectors[rows.old], scales[rows.old]
    return vector_sections(merged)


# --- uses of names ----------------------------------------------------------------------------------------------------


class MergedUses(NamedTuple):
    """The uses in the merged chunks of a source.

    `sizes` counts the uses of each of its chunks; `places` and `way_of` are the index and the way of each use that is
    merged; `names`, `receivers` and `kinds` describe those ways, each once.
    """

    sizes: Numbers
    places: Numbers
    way_of: Numbers
    names: Numbers
    receivers: Numbers
    kinds: Numbers


def uses_of(source: MergeSource) -> MergedUses:
    """Return the uses that are merged, with the source's own numbers."""
    uses, sizes = source.segment.uses, np.diff(ascending(source.segment, "refs.at"))
    columns = [np.array(each, np.int64) for each in (uses.name, uses.receiver, uses.kind)]
    ordered, _ = _ranks(*columns)
    if not np.array_equal(ordered, np.arange(len(columns[0]))) or (columns[2] >= len(REFERENCE_KINDS)).any():
        refuse("its ways of using a name are not in order, each once, or of no kind")
    ways = np.array(uses.way, np.int64)
    # Uses are stored by chunk and by way, and only one of the two is merged: damage in the other would go unnoticed.
    starts, pairs = _chunks_of_ways(ways, sizes, len(ordered))
    if not np.array_equal(starts, uses.at) or not np.array_equal(pairs, uses.row):
        refuse("a name is said to be used in other chunks than it is")
    first = np.cumsum(sizes) - sizes
    places = spans(first[source.rows.old], sizes[source.rows.old])
    used, way_of = np.unique(ways[places], return_inverse=True)
    return MergedUses(sizes, places, way_of, *(each[used] for each in columns))


def merge_uses(plan: MergePlan, uses: Sequence[MergedUses], final: Sequence[Numbers]) -> list[Section]:
    """Return the sections of all uses; `final` has, for each source, the new number of each of its names."""
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
    """Return the positions of the distinct ways, in order, and the rank of each way among them."""
    order = np.lexsort((kinds, receivers, names))
    ordered = np.stack((names[order], receivers[order], kinds[order]))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(is_new) - 1
    return order[is_new], rank


def _chunks_of_ways(ways: Numbers, sizes: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Return where the chunks of each way begin, and the chunks; given the ways of all uses, and the uses per chunk."""
    pairs = ways << _ROW_BITS | np.repeat(np.arange(len(sizes)), sizes)
    pairs.sort()
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return np.searchsorted(pairs, np.arange(count + 1) << _ROW_BITS), pairs & (1 << _ROW_BITS) - 1


def _narrow(values: Numbers, count: int) -> bytes:
    return values.astype(f"<{width_for(count)}").tobytes()


def _column(segment: Segment, name: str) -> Numbers:
    return np.asarray(numbers(segment.sections, name)).astype(np.int64)


# --- tables and names -------------------------------------------------------------------------------------------------


_CHUNKS = "SELECT id, hash, kind, breadcrumb FROM chunks ORDER BY id"
_SYMBOLS = """
SELECT id, name, kind, container, start, length, name_at, exported, up, signature, doc FROM symbols ORDER BY id
"""
_IMPORTS = "SELECT id, module, name, alias, start FROM imports ORDER BY id"

Blob = bytes | None


def merge_tables(
    sources: Sequence[MergeSource], uses: Sequence[MergedUses]
) -> tuple[list[Section], list[Numbers], Tables]:
    """Return the sections of all names, each source's new numbers for its names, and all merged rows.

    A name that no merged row uses is left out.
    """
    tables = [_tables(source) for source in sources]
    names, final = _merge_names(sources, tables, uses)
    merged = Tables(*([()] * sum(map(len, rows)) for rows in zip(*tables, strict=True)))
    for source in reversed(sources):
        # The last table is popped first, so that each one is freed as soon as its rows have their new names.
        renamed = _renamed(tables.pop(), final[len(tables)])
        moves = (source.files, source.rows, source.symbols, source.imports)
        for rows, own, move in zip(merged, renamed, moves, strict=True):
            for place, row in zip(move.new.tolist(), own, strict=True):
                rows[place] = row
    return names, final, merged


def _tables(source: MergeSource) -> Tables:
    """Return the rows of a source that are merged, in their new order, with the source's own numbers for names."""
    return Tables(
        source.records,
        _rows(source.segment, _CHUNKS, "file.rows", source.rows),
        _rows(source.segment, _SYMBOLS, "file.symbols", source.symbols),
        _rows(source.segment, _IMPORTS, "file.imports", source.imports),
    )


def _rows(segment: Segment, query: str, starts: str, move: Move) -> list[Row]:
    rows = numbered(segment, query, int(ascending(segment, starts)[-1]))
    return [rows[number] for number in move.old.tolist()]


def _merge_names(
    sources: Sequence[MergeSource], tables: Sequence[Tables], uses: Sequence[MergedUses]
) -> tuple[list[Section], list[Numbers]]:
    own_names = [
        _texts(source.segment, _used_names(own, used)) for source, own, used in zip(sources, tables, uses, strict=True)
    ]
    builder = NamesBuilder()
    number = builder.add(set().union(*(names.values() for names in own_names)))
    sections, final = builder.finish()
    places = []
    for source, names in zip(sources, own_names, strict=True):
        place = np.zeros(len(source.segment.names), np.int64)
        place[list(names)] = [final[number[name]] for name in names.values()]
        places.append(place)
    return sections, places


def _used_names(tables: Tables, uses: MergedUses) -> set[int]:
    used = set(chain.from_iterable(row[:3] for row in tables.imports))
    for name, _, container, *_ in tables.symbols:
        used.add(name)
        if container is not None:
            used.add(container)
    blobs = _numbers([*(row[EXPORTS] for row in tables.files), *(row[-1] for row in tables.chunks)])
    return used.union(*(each.tolist() for each in (blobs, uses.names, uses.receivers)))


def _texts(segment: Segment, used: set[int]) -> dict[int, str]:
    text = bytes(segment.sections["names.text"])
    names = [text[start:end] for start, end in pairwise(ascending(segment, "names.at").tolist())]
    if names[:1] != [b""] or not all(map(lt, names, names[1:])):
        refuse("its names are not in order, each once, with the empty one first")
    if used and not 0 <= min(used) <= max(used) < len(names):
        refuse("a name is used that is not there")
    return {number: names[number].decode() for number in used}


def _renamed(tables: Tables, final: Numbers) -> Tables:
    name = final.tolist()
    exports = _with_numbers([row[EXPORTS] for row in tables.files], final)
    crumbs = _with_numbers([row[-1] for row in tables.chunks], final)
    return Tables(
        [(*row[:EXPORTS], own, *row[EXPORTS + 1 :]) for row, own in zip(tables.files, exports, strict=True)],
        [(content, kind, own) for (content, kind, _), own in zip(tables.chunks, crumbs, strict=True)],
        [(name[row[0]], row[1], row[2] if row[2] is None else name[row[2]], *row[3:]) for row in tables.symbols],
        [(name[module], name[what], name[alias], start) for module, what, alias, start in tables.imports],
    )


# --- lists of names ---------------------------------------------------------------------------------------------------


def _numbers(blobs: Iterable[Blob]) -> Numbers:
    """Return the names in all of these lists, one list after the other."""
    found = list(filter(None, blobs))
    if any(len(blob) % 4 for blob in found):
        refuse("a list of names is cut")
    return np.frombuffer(b"".join(found), "<u4").astype(np.int64)


def _with_numbers(blobs: Sequence[Blob], final: Numbers) -> list[Blob]:
    """Return the lists with the new numbers of their names."""
    data = final[_numbers(blobs)].astype("<u4").tobytes()
    found: list[Blob] = []
    at = 0
    for blob in blobs:
        end = at + len(blob or b"")
        found.append(data[at:end] or None)
        at = end
    return found


# --- postings: no text is read, so the counts stay as they were stored ------------------------------------------------


Keys = NDArray[np.uint64]

_GONE = -1


def merge_postings(sources: Sequence[MergeSource], rows: int) -> Iterator[Section]:
    """Yield the sections of the postings of all merged rows.

    A term that no merged row holds is left out. Terms with equal hashes are sorted by their bytes, since the postings
    do not say which occurred first; such terms only exist when somebody constructs them.
    """
    read = [Postings(source.segment.sections) for source in sources]
    keys = [_keys(source, postings) for source, postings in zip(sources, read, strict=True)]
    hashes, texts, places = _vocabulary(read, keys)
    yield from term_sections(hashes, texts)
    for field in FIELDS:
        merged = np.concatenate(
            [with_final_terms(own.pop(field), final) for own, final in zip(keys, places, strict=True)]
        )
        merged.sort()
        lengths = np.zeros(rows, np.uint16)
        for source, postings in zip(sources, read, strict=True):
            lengths[source.rows.new] = postings.lengths(field)[source.rows.old]
        yield from field_sections(field, merged, lengths, len(texts))


def _keys(source: MergeSource, postings: Postings) -> dict[str, Keys]:
    """Return, by field, the postings of merged rows, packed with the new row numbers and the source's own terms."""
    if postings.rows != source.segment.rows:
        refuse("its postings are of more or fewer rows than there are")
    moved = np.full(postings.rows, _GONE, np.int64)
    moved[source.rows.old] = source.rows.new
    found = {}
    for field in FIELDS:
        columns = postings.columns(field)
        terms = np.repeat(np.arange(postings.terms, dtype=np.uint64), np.diff(columns.starts))
        counts = columns.tf.astype(np.uint64)
        if not columns.tf.all() or not strictly_ascending(packed(terms, columns.rows.astype(np.uint64), counts)):
            refuse(f"its postings of the field {field} are out of order, or count an occurrence that is none")
        rows = moved[columns.rows]
        live = rows != _GONE
        found[field] = packed(terms[live], rows[live].astype(np.uint64), counts[live])
    return found


def _vocabulary(
    read: Sequence[Postings], keys: Sequence[dict[str, Keys]]
) -> tuple[NDArray[np.uint64], list[bytes], list[Keys]]:
    """Return hash and text of every remaining term, in order, and for each source the new id of each of its terms."""
    used = [_used_terms(postings.terms, own) for postings, own in zip(read, keys, strict=True)]
    own_texts = []
    for postings, ids in zip(read, used, strict=True):
        texts = postings.texts()
        own_texts.append([texts[number] for number in ids.tolist()])
    distinct = [set(texts) for texts in own_texts]
    if any(len(once) < len(texts) for once, texts in zip(distinct, own_texts, strict=True)):
        refuse("a term is there twice")
    names = sorted(set().union(*distinct))
    if len(names) > MOST_TERMS:
        raise DoesNotFit("a segment cannot hold so many terms")
    hashes = np.frombuffer(b"".join(term_hash(name.decode()) for name in names), "<u8")
    order = np.argsort(hashes, kind="stable")
    ranks = np.empty(len(names), np.uint64)
    ranks[order] = np.arange(len(names), dtype=np.uint64)
    number = {name: place for place, name in enumerate(names)}
    places = []
    for postings, ids, texts in zip(read, used, own_texts, strict=True):
        own = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
        if not np.array_equal(hashes[own], postings.hashes[ids]):
            refuse("term.hash disagrees with the terms")
        final = np.zeros(postings.terms, np.uint64)
        final[ids] = ranks[own]
        places.append(final)
    return hashes[order], [names[place] for place in order.tolist()], places


def _used_terms(terms: int, keys: dict[str, Keys]) -> Numbers:
    used = np.zeros(terms, bool)
    for each in keys.values():
        used[terms_in(each)] = True
    return np.flatnonzero(used)


class Merged(NamedTuple):
    """The contents of a merged segment: files with text, chunk rows, and skip records."""

    files: int
    rows: int
    records: int


def merge(fs: Fs, folder: str, parts: Sequence[Part], without: Container[str] = ()) -> Merged:
    """Write the live files of the parts, but for those in `without`, as one segment into an existing folder.

    The bytes are those that a `SegmentBuilder` makes of the same files in order of their paths; they are not synced.
    `DoesNotFit`, a ValueError, when the files are more than one segment can hold; `StoreCorrupt` when a part is
    damaged. In both cases nothing was written.
    """
    try:
        with no_cycle_collection():
            merged, rows, sections = _merge(parts, without)
    except DoesNotFit:
        raise
    except DAMAGE as error:
        damaged(error)
    fs.create_bytes(f"{folder}/{ROWS_FILE}", rows)
    with fs.create(f"{folder}/{DATA_FILE}") as out:
        write_container(out, sections)
    return merged


def _merge(parts: Sequence[Part], without: Container[str]) -> tuple[Merged, bytes, list[Section]]:
    plan = plan_merge(parts, without)
    files = sum(row[SKIP] is None for source in plan.sources for row in source.records)
    uses = [uses_of(source) for source in plan.sources]
    names, final, tables = merge_tables(plan.sources, uses)
    rows = encode_rows(parts[0].segment.meta._replace(files=files, rows=plan.rows), tables)
    # Free the tables early: each of their rows is a Python object, and they are by far the largest thing here.
    del tables
    sections: list[Section] = [
        ("text", merge_text(plan)),
        *((f"file.{kind}", u32(starts)) for kind, starts in plan.starts.items()),
        *merge_chunks(plan),
        *names,
        *merge_uses(plan, uses, final),
        *merge_vectors(plan),
        *merge_postings(plan.sources, plan.rows),
    ]
    return Merged(files, plan.rows, len(plan.starts["text"]) - 1 - files), rows, sections
