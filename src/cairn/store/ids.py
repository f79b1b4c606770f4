"""Names that a store gives: snapshot ids, segment names, and the pointer file that holds one id.

A snapshot id is 26 characters of Crockford's base 32: 48 bits of milliseconds, then 80 random bits. Ids sort by the
clock that made them, which helps people; the order of snapshots is the generation in the manifest, never the id.
"""

from __future__ import annotations

import re

from cairn.errors import StoreCorrupt

RANDOM_BYTES = 10

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# 26 characters could hold 130 bits; the first one holds three.
_ID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_SNAPSHOT_ID = re.compile(_ID)
_SEGMENT_NAME = re.compile(rf"seg_{_ID}_(?:0|[1-9][0-9]{{0,5}})")
_POINTER_BYTES = 27
_MAX_MS = (1 << 48) - 1


def snapshot_id(wall_ns: int, randomness: bytes) -> str:
    """The id made from this time and these ten random bytes; equal inputs give equal ids."""
    if len(randomness) != RANDOM_BYTES:
        raise ValueError(f"a snapshot id takes {RANDOM_BYTES} random bytes")
    # A clock before 1970 or after the year 10,000 must not stop a publish: the random part alone tells ids apart.
    milliseconds = min(max(wall_ns // 1_000_000, 0), _MAX_MS)
    number = milliseconds << 80 | int.from_bytes(randomness, "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def is_snapshot_id(text: str) -> bool:
    """Whether this is an id as `snapshot_id` makes them: it can then be part of a path without further care."""
    return _SNAPSHOT_ID.fullmatch(text) is not None


def segment_name(snapshot: str, number: int) -> str:
    """The name of the segment with this number (from 0) among those that the snapshot's run has made."""
    name = f"seg_{snapshot}_{number}"
    if not is_segment_name(name):
        raise ValueError("a segment is named after a snapshot id and a number below a million")
    return name


def is_segment_name(text: str) -> bool:
    """Whether this is a name as `segment_name` makes them."""
    return _SEGMENT_NAME.fullmatch(text) is not None


def encode_pointer(snapshot: str) -> bytes:
    """The bytes of the pointer file: the id and a newline."""
    if not is_snapshot_id(snapshot):
        raise ValueError("the pointer holds a snapshot id")
    return f"{snapshot}\n".encode("ascii")


def decode_pointer(data: bytes) -> str:
    """The id in a pointer file. Refuses everything but one id and one newline: the text becomes part of a path."""
    # Latin-1 takes any byte, and the pattern takes ASCII only.
    text = data[: _POINTER_BYTES + 1].decode("latin-1")
    if not text.endswith("\n") or not is_snapshot_id(text[:-1]):
        raise StoreCorrupt(artifact="pointer", why="it does not hold one snapshot id and a newline")
    return text[:-1]
