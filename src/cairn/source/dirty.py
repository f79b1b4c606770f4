"""Does the work tree differ from the last commit? Found out without starting anything that a repository names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from cairn.core.limits import MAX_DIRTY_CHECKS, MAX_FILE_BYTES
from cairn.core.types import FileStat
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.git import Git

_SHA1_HEX = 40
_SUBMODULE, _LINK = b"160000", b"120000"
# A sparse checkout leaves these out on purpose.
_NOT_CHECKED_OUT = 1 << 30
_ENTRY = re.compile(
    rb"([0-9]{6}) ([0-9a-f]{40,64}) [0-3]\t([^\0]+)\0  ctime: [0-9]+:[0-9]+\n  mtime: ([0-9]+):([0-9]+)\n"
    rb"  dev: [0-9]+\tino: [0-9]+\n  uid: [0-9]+\tgid: [0-9]+\n  size: ([0-9]+)\tflags: ([0-9a-f]+)\n"
)


class _Entry(NamedTuple):
    """A tracked file: the id of its bytes in the index, and when and how large it was then."""

    raw: bytes
    is_link: bool
    blob: str
    mtime_ns: int
    size: int


Dirt = bytes | bool
"""A tracked file that differs from the commit; True when there is none to name, False when nothing differs."""


def is_dirty(git: Git, tree: Tree, walked: Mapping[bytes, FileStat]) -> bool:
    """Whether a tracked file differs from the commit."""
    return bool(find_dirt(git, tree, walked))


def find_dirt(git: Git, tree: Tree, walked: Mapping[bytes, FileStat]) -> Dirt:
    """What differs from the commit, if anything. In doubt, something does: what git could not say, or too much.

    `walked` has the stat tuples that a walk has just seen, by raw path: only what it passed by is asked for again.

    Of a file that was only touched, the bytes decide. One that git converts on checkout (line endings, filters) counts
    as different once it was touched: what a filter would make of it, only running the filter could tell.
    """
    try:
        if git.staged():
            return True
        entries, written_ns = git.index_entries(), git.index_written_ns()
    except GitFailed:
        return True
    looked_at = 0
    for entry in _entries(entries):
        if not _is_proven(tree, entry, walked.get(entry.raw), written_ns):
            looked_at += 1
            if looked_at > MAX_DIRTY_CHECKS:
                return True
            if _blob_id(tree, entry) != entry.blob:
                return entry.raw
    return False


def find_dirt_among(git: Git, tree: Tree, raws: Collection[bytes]) -> Dirt:
    """The same for some files only, and for what is staged: of all others nothing is said."""
    try:
        entries = git.index_entries(raws)
        # The files first: of one that was saved the bytes differ as a rule, and git need not be asked again.
        differs = next((entry.raw for entry in _entries(entries) if _blob_id(tree, entry) != entry.blob), None)
        return git.staged() if differs is None else differs
    except GitFailed:
        return True


def _entries(output: bytes) -> Iterator[_Entry]:
    for mode, blob, raw, seconds, nanoseconds, size, flags in _ENTRY.findall(output):
        if mode != _SUBMODULE and not int(flags, 16) & _NOT_CHECKED_OUT:
            yield _Entry(raw, mode == _LINK, blob.decode(), int(seconds) * 1_000_000_000 + int(nanoseconds), int(size))


def _is_proven(tree: Tree, entry: _Entry, seen: FileStat | None, written_ns: int) -> bool:
    """Whether the stat tuple alone says that the file is as it was when it was added."""
    if seen is None:
        try:
            found = tree.lstat(entry.raw)
        except OSError:
            return False
        size, mtime_ns = found.st_size, found.st_mtime_ns
    else:
        size, mtime_ns = seen.size, seen.mtime_ns
    same = (size & 0xFFFFFFFF, mtime_ns) == (entry.size, entry.mtime_ns)
    return same and mtime_ns < written_ns


def _blob_id(tree: Tree, entry: _Entry) -> str | None:
    """The id git would give to what is there now; None when it is gone, of another type or too large."""
    try:
        data = tree.read_link(entry.raw) if entry.is_link else tree.read_small(entry.raw, MAX_FILE_BYTES)
    except OSError:
        return None
    if data is None:
        return None
    new = hashlib.sha1 if len(entry.blob) == _SHA1_HEX else hashlib.sha256
    return new(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
