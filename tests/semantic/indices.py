"""Small semantic indices, written byte by byte as an indexer writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def number(value: int) -> bytes:
    """A varint."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(at: int, value: int | str | bytes) -> bytes:
    """One field: a number, a text or a message."""
    if isinstance(value, int):
        return number(at << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(at << 3 | 2) + number(len(data)) + data


def packed(values: Iterable[int]) -> bytes:
    """A list of numbers."""
    return b"".join(map(number, values))


def occurrence(place: Sequence[int], symbol: str, roles: int = 0, around: Sequence[int] = ()) -> bytes:
    """An occurrence with the ranges of older indices."""
    return (
        field(1, packed(place))
        + field(2, symbol)
        + (field(3, roles) if roles else b"")
        + (field(7, packed(around)) if around else b"")
    )


def document(path: str, occurrences: Sequence[bytes] = (), symbols: Sequence[bytes] = (), encoding: int = 0) -> bytes:
    """A document."""
    parts = [field(1, path), *(field(2, each) for each in occurrences), *(field(3, each) for each in symbols)]
    return b"".join([*parts, field(6, encoding) if encoding else b""])


def index(*documents: bytes, tool: str = "scip-test", externals: Sequence[bytes] = ()) -> bytes:
    """A whole index."""
    metadata = field(2, field(1, tool) + field(2, "1.0")) + field(3, "file:///project")
    return b"".join(
        [field(1, metadata), *(field(2, each) for each in documents), *(field(3, each) for each in externals)]
    )
