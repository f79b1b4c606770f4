"""Tables and names of several segments as those of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from operator import lt

import numpy as np

from cairn.store.columns import NamesBuilder
from cairn.store.container import Section
from cairn.store.merge_columns import Uses
from cairn.store.merge_plan import EXPORTS, Move, Numbers, Source, ascending, numbered, refuse
from cairn.store.rows import Row, Tables
from cairn.store.segment import Segment

_CHUNKS = "SELECT id, hash, kind, breadcrumb FROM chunks ORDER BY id"
_SYMBOLS = """
SELECT id, name, kind, container, start, length, name_at, exported, up, signature, doc FROM symbols ORDER BY id
"""
_IMPORTS = "SELECT id, module, name, alias, start FROM imports ORDER BY id"

Blob = bytes | None


def merge_tables(sources: Sequence[Source], uses: Sequence[Uses]) -> tuple[list[Section], list[Numbers], Tables]:
    """All merged rows and the sections of all names in them; and for each source the new number of each of its names.

    A name that nothing merged says is gone.
    """
    tables = [_tables(source) for source in sources]
    names, final = _merge_names(sources, tables, uses)
    merged = Tables(*([()] * sum(map(len, rows)) for rows in zip(*tables, strict=True)))
    for source in reversed(sources):
        # The last goes first: what has its new names is not needed with the old ones.
        renamed = _renamed(tables.pop(), final[len(tables)])
        moves = (source.files, source.rows, source.symbols, source.imports)
        for rows, own, move in zip(merged, renamed, moves, strict=True):
            for place, row in zip(move.new.tolist(), own, strict=True):
                rows[place] = row
    return names, final, merged


def _tables(source: Source) -> Tables:
    """The rows of a source that are merged, in this order, with the source's own numbers for names."""
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
    sources: Sequence[Source], tables: Sequence[Tables], uses: Sequence[Uses]
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


def _used_names(tables: Tables, uses: Uses) -> set[int]:
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
    """The names in all of these lists, one list after the other."""
    found = list(filter(None, blobs))
    if any(len(blob) % 4 for blob in found):
        refuse("a list of names is cut")
    return np.frombuffer(b"".join(found), "<u4").astype(np.int64)


def _with_numbers(blobs: Sequence[Blob], final: Numbers) -> list[Blob]:
    """The lists with the new numbers of their names."""
    data = final[_numbers(blobs)].astype("<u4").tobytes()
    found: list[Blob] = []
    at = 0
    for blob in blobs:
        end = at + len(blob or b"")
        found.append(data[at:end] or None)
        at = end
    return found
