"""Bytes of the protobuf wire format → numbered fields; anything that is not whole and canonical enough is refused."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MOST_VARINT = 1 << 64
_MOST_FIELD_NUMBER = (1 << 29) - 1
_INT32_SIGN = 1 << 31
# Tags and lengths have 32 bits; as many bytes hold them, and no more are read.
_MOST_SHORT_BYTES = 5


class Malformed(Exception):
    """What is wrong with the bytes, in a few words."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number that begins here, and where what follows it begins."""
    value = shift = 0
    while True:
        if at >= end:
            raise Malformed("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >= _MOST_VARINT:
                raise Malformed("a number has more than 64 bits")
            return value, at
        shift += 7
        if shift > 63:
            raise Malformed("a number has more than 10 bytes")


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Every field of the message in `data[at:end]`: number, wire type, and its value or where its bytes begin and end.

    A varint comes as `(number, VARINT, value, 0)`, everything else as `(number, type, begin, end)`.
    """
    while at < end:
        tag = data[at]
        if tag < 128:
            at += 1
        else:
            tag, at = varint(data, at, min(end, at + _MOST_SHORT_BYTES))
        number, wire = tag >> 3, tag & 7
        if not 0 < number <= _MOST_FIELD_NUMBER:
            raise Malformed("a field has no valid number")
        if wire == VARINT:
            value, at = varint(data, at, end)
            yield number, VARINT, value, 0
            continue
        if wire == BYTES:
            length, at = varint(data, at, min(end, at + _MOST_SHORT_BYTES))
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise Malformed(f"a field has the unknown wire type {wire}")
        if length > end - at:
            raise Malformed("a field is cut off")
        yield number, wire, at, at + length
        at += length


def text(data: bytes, begin: int, end: int) -> str:
    """These bytes as text, which must be UTF-8."""
    try:
        return data[begin:end].decode()
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None


def numbers(data: bytes, begin: int, end: int, most: int) -> list[int]:
    """Packed varints, at most so many."""
    found: list[int] = []
    while begin < end:
        if len(found) == most:
            raise Malformed("a list of numbers is too long")
        value, begin = varint(data, begin, end)
        found.append(value)
    return found


def int32(value: int) -> int:
    """A varint as the signed 32-bit number it stands for."""
    value &= (1 << 32) - 1
    return value - (1 << 32) if value & _INT32_SIGN else value
