"""The hashes and ids of content, which are the same on every machine and in every run.

An id is the SHA-256, in lower-case hex, of its fields as UTF-8 text with one NUL between them. Plain concatenation
would give ("1", "2text") and ("12", "text") the same id. No field can contain a NUL (a path has none, the others are
hex, decimal or words of Cairn), so two different lists of fields never give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from cairn.core.types import Import, Symbol


def file_hash(data: bytes | memoryview) -> str:
    """Return the SHA-256 of a whole file, in hex."""
    return sha256(data).hexdigest()


def chunk_hash(payload: bytes | memoryview) -> str:
    """Return the SHA-256 of a chunk as it is embedded, in hex.

    The bytes of a chunk are embedded unchanged, so stored text can be compared with the file byte for byte, and a file
    that only moves keeps every hash. A change of that rule needs a new chunker version.
    """
    return sha256(payload).hexdigest()


def chunk_id(content: str, chunker_version: str, kind: str) -> str:
    """Return the id of a chunk's content, given its `chunk_hash`; without the path, so that a rename keeps the id."""
    return _digest(content, chunker_version, kind)


def row_id(path_key: str, chunk: str, ordinal: int) -> str:
    """Return the id of one chunk in one file, given its `chunk_id` and its ordinal, which counts as decimal text."""
    return _digest(path_key, chunk, str(ordinal))


def _digest(*fields: str) -> str:
    return sha256("\0".join(fields).encode()).hexdigest()


def interface_hash(symbols: Sequence[Symbol], imports: Sequence[Import], exports: Sequence[str]) -> str:
    """Return a hash of what the users of a file can see of it.

    A changed, renamed, added or removed exported definition changes the hash, and so does a change of the explicit
    exports or of the origin of a re-exported name. Bodies, comments, order and places do not change it.
    """
    named = set(exports)
    visible = {_record(s.kind, s.container, s.name, s.signature) for s in symbols if s.exported}
    passed_on = {_record(i.module, i.name, i.alias) for i in imports if _is_passed_on(i, named)}
    parts = (visible, passed_on, {_record(export) for export in named})
    text = "".join(f"{len(records)};{''.join(sorted(records))}" for records in parts)
    # A name from broken text may contain a lone surrogate, which plain UTF-8 refuses.
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_passed_on(item: Import, exports: set[str]) -> bool:
    # `import *` may re-export anything, and with `import a as a` a typed Python module re-exports `a`.
    return item.name == "*" or (item.alias != "" and item.alias == item.name) or (item.alias or item.name) in exports


def _record(*fields: str) -> str:
    """Return the fields joined, each with its length, because a name or a signature may contain any character."""
    return "".join([f"{len(field)}:{field}" for field in fields])


# --- Versions of the code that makes facts and chunks; raised when the same bytes would give other facts or chunks.


CHUNKER_VERSION = "1"
# 1: first shipped form. Target 1,500 characters without blanks, see chunks.py.

EXTRACTOR_VERSION = "1"
# 1: first shipped form.
