"""Compare the tree with what is known of it: with a draft before it is published, with the index, with the commit.

The look right before a publish repeats everything that the draft claims: git's head, the bytes of every ignore file in
every folder that was walked (a new one counts as well), the stat tuple of every indexed file, and that every deleted
file is still gone. A file that came after the walk is not part of the draft: the next sync brings it, as it would have
if the file had come a moment later. Nothing is written.

Whether one file on disk is still the one that was indexed, its stat can deny and only its bytes can confirm. Whether
the work tree differs from the last commit is found out without starting anything that a repository names.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.limits import MAX_DIRTY_CHECKS, MAX_FILE_BYTES, MAX_IGNORE_BYTES
from cairn.core.types import ChangeSet, FileStat, IgnoreFile, StoredFile, WalkResult
from cairn.errors import OUR_TROUBLE, GitFailed
from cairn.source.beneath import Tree, read_up_to
from cairn.source.git import Git
from cairn.source.walk import CAIRNIGNORE, GITIGNORE

# --- one file against the index ---------------------------------------------------------------------------------------


_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})


class DiskState(StrEnum):
    """How a file on disk compares with what was indexed of it."""

    SAME = "same"
    CHANGED = "changed"
    MISSING = "missing"
    UNKNOWN = "unknown"


def spellings(raw: bytes, key: str) -> Iterable[bytes]:
    """Return the names under which a file with this key may lie: as typed, composed, decomposed."""
    return dict.fromkeys((raw, key.encode(), unicodedata.normalize("NFD", key).encode()))


def disk_state(tree: Tree, names: Iterable[bytes], held: StoredFile) -> DiskState:
    """Compare the first of these names that exists with what was indexed. No link is followed."""
    for raw in names:
        try:
            found = tree.lstat(raw)
            if not stat.S_ISREG(found.st_mode) or found.st_size != held.size:
                return DiskState.CHANGED
            # Equal times prove nothing: an edit in the tick in which the file was indexed leaves them as they were.
            return DiskState.SAME if _digest(tree, raw) == held.file_hash else DiskState.CHANGED
        except OSError as problem:
            if problem.errno in OUR_TROUBLE:
                raise
            if problem.errno not in _MISSING:
                return DiskState.UNKNOWN
    return DiskState.MISSING


def _digest(tree: Tree, raw: bytes) -> str:
    descriptor = tree.open_file(raw)
    try:
        return hashlib.sha256(read_up_to(descriptor, MAX_FILE_BYTES + 1, MAX_FILE_BYTES + 1)).hexdigest()
    finally:
        os.close(descriptor)


# --- the work tree against the commit ---------------------------------------------------------------------------------


_SHA1_HEX = 40
_SUBMODULE, _LINK = b"160000", b"120000"
# A flag of files that a sparse checkout leaves out on purpose.
_NOT_CHECKED_OUT = 1 << 30
_ENTRY = re.compile(
    rb"([0-9]{6}) ([0-9a-f]{40,64}) [0-3]\t([^\0]+)\0  ctime: ([0-9]+):([0-9]+)\n  mtime: ([0-9]+):([0-9]+)\n"
    rb"  dev: [0-9]+\tino: [0-9]+\n  uid: [0-9]+\tgid: [0-9]+\n  size: ([0-9]+)\tflags: ([0-9a-f]+)\n"
)


class _Entry(NamedTuple):
    """A tracked file: the id of its bytes in git's index, with the size and times that it had then."""

    raw: bytes
    is_link: bool
    blob: str
    ctime_ns: int
    mtime_ns: int
    size: int


Dirt = bytes | bool
"""A tracked file that differs from the commit; True when there is none to name, False when nothing differs."""


def find_dirt(git: Git, tree: Tree, walked: Mapping[bytes, FileStat]) -> Dirt:
    """Return a tracked file that differs from the commit, True when something differs unnamed, False when nothing does.

    In doubt something differs: when git gives no answer, and when there is too much to look at. `walked` has the stat
    tuples that a walk has just seen, by raw path: only files that the walk did not see are looked at again.

    For a file that was only touched, the bytes decide; where no more than its change time differs, as in a tree that
    was copied, only those of the first such files. A file that git converts on checkout (line endings, filters) counts
    as different once it was touched: only running the filter could tell what it would make of the file.
    """
    try:
        if git.staged():
            return True
        entries, written_ns = git.index_entries(), git.index_written_ns()
    except GitFailed:
        return True
    looked_at = copied = 0
    for entry in _entries(entries):
        seen = _seen(tree, entry, walked.get(entry.raw))
        if seen is None or not _is_proven(entry, seen, written_ns):
            looked_at += 1
            if looked_at > MAX_DIRTY_CHECKS:
                return True
        elif seen.ctime_ns != entry.ctime_ns and copied < MAX_DIRTY_CHECKS:
            # Somebody may have put the time back after an edit.
            copied += 1
        else:
            continue
        if _blob_id(tree, entry) != entry.blob:
            return entry.raw
    return False


def find_dirt_among(git: Git, tree: Tree, raws: Collection[bytes]) -> Dirt:
    """Return what `find_dirt` returns, for these files and what is staged; all other files are not looked at."""
    try:
        entries = git.index_entries(raws)
        # The files first: of one that was saved the bytes differ as a rule, and git need not be asked again.
        differs = next((entry.raw for entry in _entries(entries) if _blob_id(tree, entry) != entry.blob), None)
        return git.staged() if differs is None else differs
    except GitFailed:
        return True


def _entries(output: bytes) -> Iterator[_Entry]:
    for mode, blob, raw, *times, size, flags in _ENTRY.findall(output):
        if mode != _SUBMODULE and not int(flags, 16) & _NOT_CHECKED_OUT:
            ctime, ctime_ns, mtime, mtime_ns = map(int, times)
            in_ns = ctime * 1_000_000_000 + ctime_ns, mtime * 1_000_000_000 + mtime_ns
            yield _Entry(raw, mode == _LINK, blob.decode(), *in_ns, int(size))


def _seen(tree: Tree, entry: _Entry, seen: FileStat | None) -> FileStat | None:
    """Return the stat tuple that a walk has seen, or that the file has now; None when it is gone."""
    if seen is not None:
        return seen
    try:
        found = tree.lstat(entry.raw)
    except OSError:
        return None
    return FileStat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _is_proven(entry: _Entry, seen: FileStat, written_ns: int) -> bool:
    """Whether size and time alone say that the file is as it was when it was added."""
    same = (seen.size & 0xFFFFFFFF, seen.mtime_ns) == (entry.size, entry.mtime_ns)
    return same and seen.mtime_ns < written_ns


def _blob_id(tree: Tree, entry: _Entry) -> str | None:
    """Return the id git would give to the file as it is; None when it is gone, of another type or too large."""
    try:
        data = tree.read_link(entry.raw) if entry.is_link else tree.read_small(entry.raw, MAX_FILE_BYTES)
    except OSError:
        return None
    if data is None:
        return None
    new = hashlib.sha1 if len(entry.blob) == _SHA1_HEX else hashlib.sha256
    return new(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# ENOTDIR is a folder on the way that became a file, ELOOP one that became a link: nothing is indexed behind either.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


@dataclass(frozen=True, slots=True)
class TreeLook:
    """What a draft was made from: `files` by folder with the stat they were indexed under, `gone` files by raw path."""

    head: str | None
    folders: tuple[bytes, ...]
    ignore_files: tuple[IgnoreFile, ...]
    files: tuple[tuple[bytes, tuple[tuple[bytes, FileStat], ...]], ...]
    gone: tuple[bytes, ...]


def take(head: str | None, walk: WalkResult, changes: ChangeSet, indexed: Iterable[tuple[bytes, FileStat]]) -> TreeLook:
    """Return what a draft rests on: the head from before the walk, and each file of the draft as it was read.

    A deleted file that is merely left out by now (ignored, too large, no text) is still there, and may be. A name that
    was spelled in decomposed Unicode is looked for under its composed key.
    """
    by_folder: dict[bytes, list[tuple[bytes, FileStat]]] = {}
    for raw, held in indexed:
        folder, _, name = raw.rpartition(b"/")
        by_folder.setdefault(folder, []).append((name, held))
    return TreeLook(
        head=head,
        folders=walk.folders,
        ignore_files=_in_order(walk.ignore_files),
        files=tuple((folder, tuple(files)) for folder, files in sorted(by_folder.items())),
        gone=_gone(walk, changes),
    )


def _gone(walk: WalkResult, changes: ChangeSet) -> tuple[bytes, ...]:
    """Return the raw paths of the deleted files that no walk would find any more, not even as a skip."""
    deleted = [key.encode() for key in (*changes.delete, *(rename.old for rename in changes.rename))]
    if not deleted:
        return ()
    left_out = {skip.raw for skips in (walk.skips, changes.skips) for skip in skips}
    # Of two spellings of one name, the one that stays behind takes over the key, and its own is deleted.
    under_another_key = {candidate.raw for candidate in walk.candidates if candidate.key.encode() != candidate.raw}
    return tuple(raw for raw in deleted if raw not in under_another_key and not _is_left_out(raw, left_out))


def still(tree: Tree, git: Git, look: TreeLook) -> bool:
    """Whether everything that a draft rests on still holds; if not, the draft must be compared with the tree again.

    Stops at the first difference. What cannot be looked at counts as different. Only a machine without memory or
    descriptors raises.
    """
    return (
        all(_are_same(tree, folder, files) for folder, files in look.files)
        and all(_is_gone(tree, raw) for raw in look.gone)
        and _ignore_files(tree, look.folders) == look.ignore_files
        and _head(git) == look.head
    )


def _are_same(tree: Tree, folder: bytes, files: Iterable[tuple[bytes, FileStat]]) -> bool:
    try:
        descriptor = tree.open_folder(folder)
    except OSError as problem:
        return _differs(problem)
    try:
        for name, held in files:
            found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino) != held:
                return False
    except OSError as problem:
        return _differs(problem)
    finally:
        os.close(descriptor)
    return True


def _differs(problem: OSError) -> bool:
    if problem.errno in OUR_TROUBLE:
        raise problem
    return False


def _is_gone(tree: Tree, raw: bytes) -> bool:
    try:
        # A folder may stand where the file was.
        return not stat.S_ISREG(tree.lstat(raw).st_mode)
    except OSError as problem:
        return problem.errno in _GONE or _differs(problem)


def _is_left_out(raw: bytes, left_out: set[bytes]) -> bool:
    """Whether a path was skipped, or a folder above it was."""
    while raw:
        if raw in left_out:
            return True
        raw = raw.rpartition(b"/")[0]
    return False


def _ignore_files(tree: Tree, folders: Iterable[bytes]) -> tuple[IgnoreFile, ...]:
    """Return the ignore files as they are now, one look for each folder: a new one decides about all below it."""
    raws = [folder + b"/" + GITIGNORE.encode() if folder else GITIGNORE.encode() for folder in folders]
    found: list[IgnoreFile] = []
    for raw in (*raws, CAIRNIGNORE.encode()):
        data = tree.read_small(raw, MAX_IGNORE_BYTES)
        if data is not None:
            found.append(IgnoreFile(unicodedata.normalize("NFC", raw.decode()), data))
    return _in_order(found)


def _in_order(files: Iterable[IgnoreFile]) -> tuple[IgnoreFile, ...]:
    # Ordered by their bytes too: folders spelled in two ways share a key.
    return tuple(sorted(files, key=lambda file: (file.key, file.data)))


def _head(git: Git) -> str | None:
    try:
        return git.head()
    except GitFailed:
        # A draft for which git did not answer either has no head and may be published without one.
        return None
