"""Write and read tombstone files, and the hint which file went to which segment.

A tombstone file is JSON lines, `{"path_key":"a.py","reason":"delete"}`, in canonical form, sorted by path, each path
once. It holds no digest: the manifest that names the file holds its size, count, SHA-256 and sequence. The tombstones
hide only rows of segments with a lower sequence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from json.encoder import encode_basestring
from typing import NamedTuple, NoReturn

from cairn.core.limits import MAX_PATH_KEY_BYTES, MAX_TOMBSTONE_BYTES, MAX_TOMBSTONES_PER_SNAPSHOT, MAX_TREE_BYTES
from cairn.errors import StoreCorrupt
from cairn.store.format.layout import MAPPING, is_snapshot_id, snapshot_folder
from cairn.store.fs import Fs, read_whole


class TombstoneReason(StrEnum):
    """Why the older rows of a file are hidden."""

    DELETE = "delete"
    REPLACE = "replace"
    RENAME_FROM = "rename_from"


class Tombstone(NamedTuple):
    """A record that hides the older rows of one file."""

    path_key: str
    reason: TombstoneReason


_REASONS = {reason.value: reason for reason in TombstoneReason}
# Nearly every path matches this fast pattern; a line with a quote, a backslash or a control character is parsed as
# JSON.
_PLAIN = re.compile(r'\{"path_key":"([^"\\\x00-\x1f]+)","reason":"([a-z_]+)"\}')
_PATH = re.compile(r"snapshots/([^/]+)/tombstones(?:-[1-9][0-9]{0,2})?\.jsonl")
# In JSON a control character takes six bytes.
_MOST_LINE_BYTES = 6 * MAX_PATH_KEY_BYTES + 64


def is_path_key(text: str) -> bool:
    """Return whether this can be the key of a file: relative, without empty, `.` or `..` parts and without NUL.

    A key need not be composed Unicode: where two spellings of one name are both kept, each has a key as it is spelled.
    """
    if not text.isascii():
        try:
            if len(text.encode()) > MAX_PATH_KEY_BYTES:
                return False
        except UnicodeEncodeError:
            # Half of a surrogate pair cannot be written as UTF-8.
            return False
    elif len(text) > MAX_PATH_KEY_BYTES:
        return False
    # Nearly every path passes these few tests; only paths with a leading dot or a doubled slash are split into parts.
    if text and text[0] not in "/." and text[-1] != "/" and "/." not in text and "//" not in text:
        return "\0" not in text
    return "\0" not in text and not any(part in ("", ".", "..") for part in text.split("/"))


def tombstone_path(snapshot: str, number: int = 0) -> str:
    """Return the path, below the store, of a snapshot's tombstone file; a second file has the number 1."""
    return f"snapshots/{snapshot}/tombstones{f'-{number}' if number else ''}.jsonl"


def snapshot_of(path: str) -> str:
    """Return the snapshot that added the tombstone file at this path."""
    return path.split("/")[1]


def is_tombstone_path(text: str) -> bool:
    """Return whether `tombstone_path` can make this path; a manifest can name no other."""
    match = _PATH.fullmatch(text)
    return match is not None and is_snapshot_id(match[1])


def encode_tombstones(tombstones: Iterable[Tombstone]) -> bytes:
    """Return the bytes of a tombstone file, sorted. Raises ValueError for tombstones that could not be read back."""
    ordered = sorted(tombstones)
    data = "".join(map(_line, ordered)).encode()
    try:
        back = decode_tombstones(data)
    except StoreCorrupt as error:
        raise ValueError(error.sentence) from error
    if back != tuple(ordered):
        raise ValueError("a tombstone has one of the known reasons")
    return data


def decode_tombstones(data: bytes) -> tuple[Tombstone, ...]:
    """Return the tombstones in a file, sorted by path. Refuses whatever `encode_tombstones` would not write."""
    if len(data) > MAX_TOMBSTONE_BYTES or data.count(b"\n") > MAX_TOMBSTONES_PER_SNAPSHOT:
        _refuse("it is larger than a snapshot may hold")
    # Decode line by line: one wide character would make the decoded text of the whole file four times as large.
    *lines, rest = data.split(b"\n")
    if rest:
        _refuse("its last line has no end")
    found: list[Tombstone] = []
    before = ""
    for number, line in enumerate(lines, 1):
        tombstone = _read(line)
        if tombstone is None or not is_path_key(tombstone.path_key):
            _refuse(f"line {number} is not a tombstone of a file")
        # No path is empty, so the first one passes too.
        if tombstone.path_key <= before:
            _refuse(f"line {number} is out of order")
        before = tombstone.path_key
        found.append(tombstone)
    return tuple(found)


def _line(tombstone: Tombstone) -> str:
    return f'{{"path_key":{encode_basestring(tombstone.path_key)},"reason":"{tombstone.reason}"}}\n'


def _read(line: bytes) -> Tombstone | None:
    # A short line cannot nest deeply or hold much, so parsing it is cheap.
    if len(line) > _MOST_LINE_BYTES:
        return None
    try:
        text = line.decode("utf-8")
        match = _PLAIN.fullmatch(text)
        if match:
            return Tombstone(match[1], _REASONS[match[2]])
        value = json.loads(text)
        tombstone = Tombstone(value["path_key"], _REASONS[value["reason"]])
        # This refuses additional fields, blanks, other spellings of the same text, and a path that is no text.
        return tombstone if _line(tombstone) == text + "\n" else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _refuse(why: str) -> NoReturn:
    raise StoreCorrupt(artifact="tombstone file", why=why) from None


# --- segment_file_index.jsonl: the hint which file went to which segment ----------------------------------------------


def mapping_path(run: str) -> str:
    """Return the path of the hint of this snapshot."""
    return f"{snapshot_folder(run)}/{MAPPING}"


def mapping_lines(segment: str, keys: Iterable[str]) -> Iterator[str]:
    """Return the lines of the hint for the files of one segment."""
    name = json.dumps(segment)
    return (f'{{"path_key":{json.dumps(key, ensure_ascii=False)},"segment_id":{name}}}\n' for key in keys)


def read_mapping(fs: Fs, run: str) -> dict[str, frozenset[str]] | None:
    """Return the files of each segment that this snapshot added; None when there is no hint that can be read."""
    found: dict[str, set[str]] = {}
    try:
        data = read_whole(fs, mapping_path(run), MAX_TREE_BYTES, "mapping")
        for line in data.splitlines():
            value = json.loads(line)
            key, segment = value["path_key"], value["segment_id"]
            if not isinstance(key, str) or not isinstance(segment, str) or not is_path_key(key):
                return None
            found.setdefault(segment, set()).add(key)
    except (FileNotFoundError, StoreCorrupt, ValueError, TypeError, KeyError, RecursionError):
        return None
    return {segment: frozenset(keys) for segment, keys in found.items()}
