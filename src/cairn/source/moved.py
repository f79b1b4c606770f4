"""Is a file on disk still the one that was indexed? Its stat can say no; only its bytes can say yes."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterable
from enum import StrEnum

from cairn.core.limits import MAX_FILE_BYTES
from cairn.core.types import StoredFile
from cairn.errors import OUR_TROUBLE
from cairn.source.beneath import Tree, read_up_to

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


class DiskState(StrEnum):
    """How a file stands against what was indexed of it."""

    SAME = "same"
    CHANGED = "changed"
    MISSING = "missing"
    UNKNOWN = "unknown"


def spellings(raw: bytes, key: str) -> Iterable[bytes]:
    """The names under which a file with this key may lie: as it was typed, composed, decomposed."""
    return dict.fromkeys((raw, key.encode(), unicodedata.normalize("NFD", key).encode()))


def disk_state(tree: Tree, names: Iterable[bytes], held: StoredFile) -> DiskState:
    """What the first of these names that is there holds now, compared with what was indexed. No link is followed."""
    for raw in names:
        try:
            found = tree.lstat(raw)
            if not stat.S_ISREG(found.st_mode) or found.st_size != held.size:
                return DiskState.CHANGED
            # Equal times prove nothing: an edit in the tick in which it was indexed leaves them as they were.
            return DiskState.SAME if _digest(tree, raw) == held.file_hash else DiskState.CHANGED
        except OSError as problem:
            if problem.errno in OUR_TROUBLE:
                raise
            if problem.errno not in _GONE:
                return DiskState.UNKNOWN
    return DiskState.MISSING


def _digest(tree: Tree, raw: bytes) -> str:
    descriptor = tree.open_file(raw)
    try:
        return hashlib.sha256(read_up_to(descriptor, MAX_FILE_BYTES + 1, MAX_FILE_BYTES + 1)).hexdigest()
    finally:
        os.close(descriptor)
