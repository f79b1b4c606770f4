"""How a store lies on a Milvus server: one collection, its fields, the kinds of its documents, and how it is filtered.

A row is a document of kind `ROW`. The others are reserved: they have no vector but zeros, every question about rows
leaves them out by their kind, and each is found by its id. A property says whose the collection is, and which form it
has: a collection without those words is somebody else's.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from typing import Any

from cairn.core.limits import ENGINE_PIECE_BYTES
from cairn.engine.contract import Row, Scope

SCHEMA_VERSION = 1
PROPERTY = "cairn"
ROW, RECEIPT, PIECE, MARKER, SNAPSHOT, BEGUN = range(6)
FIELDS = (
    ("kind", "INT64", 0),
    ("segment", "VARCHAR", 200),
    ("file", "INT64", 0),
    ("row", "INT64", 0),
    ("path", "VARCHAR", 65_535),
    ("payload", "VARCHAR", 65_535),
)
FIELD_NAMES = {"id", "dense", "sparse", *(name for name, _, _ in FIELDS)}
# A sparse vector may not be empty; no question ever asks for this number.
_NOWHERE = {(1 << 32) - 2: 1e-6}
_NOT_NAME = re.compile("[^a-z0-9_]")
_DESCRIPTION = re.compile(r"cairn rows ([0-9]+) of (\S+)")


def collection_name(store_id: str) -> str:
    """The collection of a store: its id, with what a name there may not hold replaced."""
    return "cairn_" + _NOT_NAME.sub("_", store_id.lower())


def description(store_id: str) -> str:
    """What is written on a collection of ours."""
    return f"cairn rows {SCHEMA_VERSION} of {store_id}"


def problem_of(found: dict[str, Any], store_id: str, dimension: int | None) -> str | None:
    """Why a collection cannot be used as the one of this store; None when it can."""
    ours = _DESCRIPTION.fullmatch(str((found.get("properties") or {}).get(PROPERTY, "")))
    if ours is None:
        return "somebody else made it"
    if int(ours[1]) != SCHEMA_VERSION:
        return f"its form is {ours[1]}, and this version of Cairn writes {SCHEMA_VERSION}"
    if ours[2] != store_id:
        return "it is that of another index"
    fields = {field["name"]: field for field in found.get("fields", ())}
    if set(fields) != FIELD_NAMES:
        return "its fields are not the ones that we made"
    found_dimension = int(fields["dense"].get("params", {}).get("dim", 0))
    if dimension is not None and found_dimension != dimension:
        return f"its vectors have {found_dimension} components, and those of the index {dimension}"
    return None


# --- documents --------------------------------------------------------------------------------------------------------


def row_document(segment: str, row: Row) -> dict[str, Any]:
    """A row, as it is sent."""
    return {
        "id": f"{segment}:{row.row}",
        "kind": ROW,
        "segment": segment,
        "file": row.file,
        "row": row.row,
        # A name may be any bytes; a text there is UTF-8.
        "path": row.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"),
        "payload": "",
        "dense": row.vector.tolist(),
        "sparse": row.terms or _NOWHERE,
    }


def reserved(kind: int, own_id: str, owner: str, payload: str, dimension: int, place: int = 0) -> dict[str, Any]:
    """A document that is no row; `owner` is its segment or its run."""
    return {
        "id": own_id,
        "kind": kind,
        "segment": owner,
        "file": 0,
        "row": place,
        "path": "",
        "payload": payload,
        "dense": [0.0] * dimension,
        "sparse": _NOWHERE,
    }


def pieces(name: str, data: memoryview | bytes) -> Iterator[tuple[int, str]]:
    """A file as texts that fit into a document each: the place in the file, then the name and the packed bytes."""
    for place in range(0, max(1, len(data)), ENGINE_PIECE_BYTES):
        packed = zlib.compress(data[place : place + ENGINE_PIECE_BYTES], 1)
        yield place, f"{name} {base64.b64encode(packed).decode()}"


def piece_count(size: int) -> int:
    """Of how many pieces a file of so many bytes is."""
    return max(1, -(-size // ENGINE_PIECE_BYTES))


def unpack(payload: str) -> tuple[str, bytes]:
    """Name and bytes of a piece; ValueError when it is none."""
    name, _, packed = payload.partition(" ")
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(packed, validate=True), ENGINE_PIECE_BYTES)
    except zlib.error as problem:
        raise ValueError(str(problem)) from None
    if not name or not unpacker.eof:
        raise ValueError("it is no piece of a file")
    return name, data


# --- filters ----------------------------------------------------------------------------------------------------------


def rows_in(scope: Scope) -> str:
    """The filter of a scope. Names of segments and numbers stand in it, and nothing that anybody else wrote."""
    parts = [f"kind == {ROW}", f"segment in [{', '.join(map(quoted, scope.segments))}]"]
    for segment, files in scope.hidden.items():
        if files:
            parts.append(f"not (segment == {quoted(segment)} and file in [{', '.join(map(str, files))}])")
    return " and ".join(parts)


def quoted(name: str) -> str:
    """A name of ours in a filter."""
    assert is_name(name), "only names that we made stand in a filter"
    return f'"{name}"'


def is_name(text: str) -> bool:
    """Whether this could be the name of a segment or of a run."""
    return re.fullmatch(r"[A-Za-z0-9_:.-]{1,200}", text) is not None
