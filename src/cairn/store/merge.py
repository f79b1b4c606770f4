"""Several segments → one that holds what is live in them, as if its files had just been read in order of their paths.

Everything is taken over as it is stored: nothing is parsed, cut into words or embedded again, so what was cut off when
it was stored (a doc to its first line, a count to 255) is not missed.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from cairn.core.collector import no_cycle_collection
from cairn.store.container import Section, write_container
from cairn.store.fs import Fs
from cairn.store.merge_columns import merge_chunks, merge_text, merge_uses, merge_vectors, uses_of
from cairn.store.merge_plan import SKIP, DoesNotFit, plan_merge, u32
from cairn.store.merge_postings import merge_postings
from cairn.store.merge_tables import merge_tables
from cairn.store.rows import DATA_FILE, ROWS_FILE, encode_rows
from cairn.store.segment import DAMAGE, damaged
from cairn.store.snapshot import Part


class Merged(NamedTuple):
    """What a merged segment holds: files with text, chunk rows, and files with skip records."""

    files: int
    rows: int
    records: int


def merge(fs: Fs, folder: str, parts: Sequence[Part], without: Container[str] = ()) -> Merged:
    """Write the live files of the parts, but for those in `without`, as one segment into a folder that is there.

    The bytes are those that a `SegmentBuilder` makes of the same files in order of their paths; they are not synced.
    `DoesNotFit`, a ValueError, when that is more than one segment can hold; `StoreCorrupt` when a part is damaged. Then
    nothing was written.
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
    # Each row of them is an object of Python: by far the largest thing here.
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
