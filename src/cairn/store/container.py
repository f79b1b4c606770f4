"""One file that holds many named runs of bytes, so that a segment costs one map and one descriptor.

A header, a table of sections, then the sections, each at the next multiple of 64 bytes with zeros between. There is
exactly one way to lay out a list of sections, and every other is refused. The table carries its own check sum; what is
in the sections is covered by the digest of the segment.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import NoReturn

from cairn.errors import StoreCorrupt
from cairn.store.fs import Data, Writer
from cairn.store.versions import SEGMENT_DATA, check_version

Section = tuple[str, Data]

MAGIC = b"cairn.dt"
CONTAINER_FORMAT = SEGMENT_DATA.written
ALIGNMENT = 64
# Far above what any version writes; a table of this size costs nothing to refuse.
MOST_SECTIONS = 1_000

# magic, format version, number of sections, bytes of the whole file; then the check sum, and four bytes of zeros.
_HEAD = struct.Struct("<8sIIQ")
_SUM = struct.Struct("<II")
_ENTRY = struct.Struct("<24sQQ")
_TABLE_AT = _HEAD.size + _SUM.size
_NAME = re.compile(rb"[a-z][a-z.]{0,23}")


def write_container(out: Writer, sections: Sequence[Section]) -> int:
    """Write the sections in this order; gives the bytes written. A name that is bad or used twice is a ValueError."""
    views = [memoryview(data).cast("B") for _, data in sections]
    names = [name.encode() for name, _ in sections]
    if len(set(names)) != len(names) or len(names) > MOST_SECTIONS or not all(map(_NAME.fullmatch, names)):
        raise ValueError("sections have different names of at most 24 small letters and dots")
    offsets, total = _places(map(len, views))
    table = b"".join(_ENTRY.pack(*entry) for entry in zip(names, offsets, map(len, views), strict=True))
    head = _HEAD.pack(MAGIC, CONTAINER_FORMAT, len(sections), total)
    out.write(head + _SUM.pack(zlib.crc32(table, zlib.crc32(head)), 0) + table)
    at = _TABLE_AT + len(table)
    for offset, view in zip(offsets, views, strict=True):
        if view:
            out.write(bytes(offset - at))
            out.write(view)
            at = offset + len(view)
    return total


def read_container(view: memoryview) -> dict[str, memoryview]:
    """The sections by name, as views of the file. `StoreCorrupt` when it is not exactly what a writer makes of them."""
    if len(view) < _TABLE_AT:
        _refuse("it is too short")
    magic, version, count, total = _HEAD.unpack_from(view)
    checksum, zeros = _SUM.unpack_from(view, _HEAD.size)
    if magic != MAGIC:
        _refuse("it is another kind of file")
    # Before anything behind the header is looked at: a page that a shortened file lost would kill the process.
    if total != len(view):
        _refuse("it does not have the length that it says")
    table_end = _TABLE_AT + count * _ENTRY.size
    if count > MOST_SECTIONS or table_end > total:
        _refuse("its table does not fit into it")
    table = view[_TABLE_AT:table_end]
    if zeros or checksum != zlib.crc32(table, zlib.crc32(view[: _HEAD.size])):
        _refuse("its table has another check sum")
    # After the check sum: a flipped bit is damage, not a file of the future.
    check_version(SEGMENT_DATA, version)
    entries = list(_ENTRY.iter_unpack(table))
    offsets, end = _places(length for _, _, length in entries)
    if end != total or offsets != [offset for _, offset, _ in entries]:
        _refuse("its sections are not where they must be")
    found: dict[str, memoryview] = {}
    at = table_end
    for padded, offset, length in entries:
        name = padded.rstrip(b"\0")
        if not _NAME.fullmatch(name) or name.decode() in found:
            _refuse("its sections have bad names")
        if length:
            if any(view[at:offset]):
                _refuse("there are bytes between its sections")
            at = offset + length
        found[name.decode()] = view[offset : offset + length]
    return found


def container_version(view: memoryview) -> int:
    """The format version of a container that `read_container` has accepted."""
    version: int = _HEAD.unpack_from(view)[1]
    return version


def _places(lengths: Iterable[int]) -> tuple[list[int], int]:
    """Where each section begins, and where the last byte ends. An empty section is nowhere, and said to be at 0."""
    lengths = list(lengths)
    offsets = []
    end = _TABLE_AT + len(lengths) * _ENTRY.size
    for length in lengths:
        offset = -(-end // ALIGNMENT) * ALIGNMENT if length else 0
        offsets.append(offset)
        end = offset + length if length else end
    return offsets, end


def _refuse(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="data file of a segment", why=why)
