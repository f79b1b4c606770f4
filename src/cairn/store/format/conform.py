"""Check whether a segment keeps the row schema, before a snapshot is published and in every verification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

from cairn.core.types import Symbol
from cairn.errors import StoreCorrupt
from cairn.store.format.columns import numbers
from cairn.store.format.rows import REFERENCE_KINDS
from cairn.store.format.segment import Segment
from cairn.store.format.segment_facts import SegmentFacts
from cairn.store.format.tombstones import is_path_key

_NUMBERED = (
    "SELECT count(*), min(id), max(id) FROM files",
    "SELECT count(*), min(id), max(id) FROM chunks",
    "SELECT count(*), min(id), max(id) FROM symbols",
    "SELECT count(*), min(id), max(id) FROM imports",
)
_STARTS = ("file.text", "file.rows", "file.symbols", "file.imports", "names.at", "ways.at", "refs.at")


def segment_problems(segment: Segment) -> Iterator[str]:
    """Yield a sentence for every way in which the segment breaks the row schema; nothing for a sound segment."""
    # Each step relies on what the steps before it have checked, so the first step that finds a problem is the last.
    for step in (_tables, _starts, _names, _files, _chunks, _arrays, _ways, _uses, _facts):
        problems = list(_guarded(step, segment))
        if problems:
            yield from problems
            return


def _guarded(step: Callable[[Segment], Iterator[str]], segment: Segment) -> Iterator[str]:
    try:
        yield from step(segment)
    except StoreCorrupt as error:
        yield error.sentence


def _tables(segment: Segment) -> Iterator[str]:
    for (said,) in segment.query("PRAGMA integrity_check"):
        if said != "ok":
            yield f"The tables are damaged: {said}."
    for query in _NUMBERED:
        ((count, first, last),) = segment.query(query)
        if count and (first, last) != (0, count - 1):
            yield f"The numbers of {query.rpartition(' ')[2]} do not run from 0 without a gap."


def _starts(segment: Segment) -> Iterator[str]:
    for name in _STARTS:
        starts = numbers(segment.sections, name)
        if starts[0] or any(after < before for before, after in pairwise(starts)):
            yield f"The numbers of {name} do not ascend from 0."


def _names(segment: Segment) -> Iterator[str]:
    names = [segment.names.raw(number) for number in range(len(segment.names))]
    if names[:1] != [b""] or not _strictly_ascending(names):
        yield "The names are not in order, each once, with the empty one first."
    try:
        b"\n".join(names).decode()
    except UnicodeDecodeError:
        yield "A name is not text."


def _files(segment: Segment) -> Iterator[str]:
    text, starts = segment.whole_text(), segment.text_starts()
    indexed = 0
    paths: set[str] = set()
    for file_id, record in enumerate(segment.records()):
        shown = f"File {file_id}"
        if record.key in paths or not is_path_key(record.key):
            yield f"{shown} has a path that is not one, or that another file has."
        paths.add(record.key)
        if record.skip is not None:
            if starts[file_id] != starts[file_id + 1] or _has_rows(segment, file_id):
                yield f"{shown} was left out, and yet there are rows of it."
            continue
        indexed += 1
        if starts[file_id] == starts[file_id + 1] or text[starts[file_id + 1] - 1] != 0x0A:
            yield f"{shown} does not end in the newline that parts it from the next."
        elif sha256(segment.text(file_id)).hexdigest() != record.file_hash:
            yield f"{shown} does not have the bytes that its hash was made of."
    if indexed != segment.files:
        yield f"There are {indexed} files with text, and the segment says {segment.files}."


def _has_rows(segment: Segment, file_id: int) -> bool:
    of_file = ("file.rows", "file.symbols", "file.imports")
    return any(
        starts[file_id] != starts[file_id + 1] for starts in (numbers(segment.sections, name) for name in of_file)
    )


def _chunks(segment: Segment) -> Iterator[str]:
    at, lines = numbers(segment.sections, "chunk.at"), numbers(segment.sections, "chunk.line")
    hashes = [content for (content,) in segment.query("SELECT hash FROM chunks ORDER BY id")]
    texts, rows = segment.text_starts(), segment.row_starts()
    whole = segment.whole_text()
    for file_id, (first, last) in enumerate(pairwise(rows)):
        size = len(segment.text(file_id))
        borders = [*at[first:last], texts[file_id] + size] if last > first else [texts[file_id]] * (1 + bool(size))
        if borders[0] != texts[file_id] or not _strictly_ascending(borders):
            yield f"The chunks of file {file_id} do not tile it."
            continue
        line = 1
        for row, (start, end) in zip(range(first, last), pairwise(borders), strict=True):
            payload = bytes(whole[start:end])
            if sha256(payload).digest() != hashes[row]:
                yield f"Chunk {row} does not have the bytes that its hash was made of."
            if lines[row] != line:
                yield f"Chunk {row} does not begin in the line it says."
            line += payload.count(b"\n")


def _arrays(segment: Segment) -> Iterator[str]:
    # Imported here: numpy takes a tenth of a second to load, and a command that only asks for a state does without it.
    from cairn.store.format.postings import Postings, read_vectors  # noqa: PLC0415

    read_vectors(segment.sections, segment.rows, segment.dimension)
    postings = Postings(segment.sections)
    if postings.rows != segment.rows:
        yield "The postings are of more or fewer rows than there are."
    yield from (f"The postings are damaged: {problem}." for problem in postings.problems())


def _ways(segment: Segment) -> Iterator[str]:
    uses, names = segment.uses, len(segment.names)
    ways = list(zip(uses.name, uses.receiver, uses.kind, strict=True))
    if not _strictly_ascending(ways):
        yield "The ways of using a name are not in order, each once."
    if any(name >= names or receiver >= names or kind >= len(REFERENCE_KINDS) for name, receiver, kind in ways):
        yield "A way of using a name is of no name or of no kind."


def _uses(segment: Segment) -> Iterator[str]:
    from cairn.store.format.soundness import uses_are_sound  # noqa: PLC0415

    if uses_are_sound(segment):
        return
    yield from list(_misplaced(segment)) or ["A name is said to be used in other chunks than it is."]


def _misplaced(segment: Segment) -> Iterator[str]:
    uses, starts = segment.uses, numbers(segment.sections, "chunk.at")
    ends = [*starts[1:], len(segment.whole_text())]
    for row, (first, last) in enumerate(pairwise(uses.first)):
        own, offsets = uses.way[first:last], uses.offset[first:last].tolist()
        inside = not offsets or offsets[-1] < ends[row] - starts[row]
        if not inside or not _strictly_ascending(offsets) or any(way >= len(uses.name) for way in own):
            yield f"The references in chunk {row} are not in it, or not in order, or used in no way."


def _facts(segment: Segment) -> Iterator[str]:
    from cairn.store.format.soundness import sound_files  # noqa: PLC0415

    sound, facts = sound_files(segment), SegmentFacts(segment)
    for file_id, record in enumerate(segment.records()):
        if file_id in sound:
            continue
        segment.chunks(file_id)
        segment.exports(file_id)
        segment.partial(file_id)
        size = 0 if record.skip else record.size
        if not _sound(facts.symbols(file_id), size):
            yield f"The definitions of file {file_id} are not in it, or not in order."
        if any(each.start_byte > size for each in facts.imports(file_id)):
            yield f"An import of file {file_id} is not in it."


def _sound(symbols: list[Symbol], size: int) -> bool:
    places = [symbol.start_byte for symbol in symbols]
    inside = all(symbol.end_byte <= size for symbol in symbols)
    return inside and places == sorted(places)


def _strictly_ascending(values: Sequence[Any]) -> bool:
    return all(before < after for before, after in pairwise(values))
