"""The names that content gives itself: hashes and ids, the same on every machine and in every run.

An id is the SHA-256, in lower-case hex, of its fields as UTF-8 text with one NUL between them. Plain concatenation
would give ("1", "2text") and ("12", "text") the same id; no field can hold a NUL (a path has none, the others are hex,
decimal or our own words), so with it two different lists of fields are never the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from cairn.core.types import Import, Symbol


def file_hash(data: bytes | memoryview) -> str:
    """SHA-256 of the whole file, in hex."""
    return sha256(data).hexdigest()


def chunk_hash(payload: bytes | memoryview) -> str:
    """SHA-256 of a chunk as it is embedded, in hex.

    What is embedded is the chunk's own bytes, unchanged: stored text can then be compared with the file byte for byte,
    and a file that only moves keeps every hash. A later change of that rule is a new chunker version.
    """
    return sha256(payload).hexdigest()


def chunk_id(content: str, chunker_version: str, kind: str) -> str:
    """Identity of a chunk's content, given its `chunk_hash`; the path is no part of it, so a rename keeps it."""
    return _digest(content, chunker_version, kind)


def row_id(path_key: str, chunk: str, ordinal: int) -> str:
    """Identity of one chunk in one file, given its `chunk_id` and its place; the ordinal counts as decimal text."""
    return _digest(path_key, chunk, str(ordinal))


def _digest(*fields: str) -> str:
    return sha256("\0".join(fields).encode()).hexdigest()


def interface_hash(symbols: Sequence[Symbol], imports: Sequence[Import], exports: Sequence[str]) -> str:
    """Hash what the users of a file can see of it.

    A changed, renamed, added or removed exported definition changes it, as does a change of the explicit exports or of
    where a re-exported name comes from. Bodies, comments, the order of things and their places do not.
    """
    named = set(exports)
    visible = {_record(s.kind, s.container, s.name, s.signature) for s in symbols if s.exported}
    passed_on = {_record(i.module, i.name, i.alias) for i in imports if _is_passed_on(i, named)}
    parts = (visible, passed_on, {_record(export) for export in named})
    text = "".join(f"{len(records)};{''.join(sorted(records))}" for records in parts)
    # A name cut out of broken text may hold a lone surrogate, which plain UTF-8 refuses.
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_passed_on(item: Import, exports: set[str]) -> bool:
    # `import *` may hand on anything, and `import a as a` is how a typed Python module says that it hands on `a`.
    return item.name == "*" or (item.alias != "" and item.alias == item.name) or (item.alias or item.name) in exports


def _record(*fields: str) -> str:
    """Every text with its length: a name or a signature may hold any character."""
    return "".join([f"{len(field)}:{field}" for field in fields])


# --- What the facts and chunks of a file depend on besides its grammar; raised when the same bytes would give
# others.


CHUNKER_VERSION = "1"
# 1: first shipped form. Target 1,500 characters without blanks, see chunks.py.

EXTRACTOR_VERSION = "1"
# 1: first shipped form.
