"""The fresh look right before a publish: does the tree still stand as it was indexed?

Looked at again are git's head, the bytes of every ignore file in every folder that was walked (a new one counts as
well), the stat tuple of every file that was indexed, and that every deleted file is still gone. That is everything the
draft claims. A file that came anew since the walk is not part of the draft: the next sync brings it, as it would have
if it had come a moment later. Nothing is written.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from cairn.core.limits import MAX_IGNORE_BYTES
from cairn.core.types import ChangeSet, FileStat, IgnoreFile, WalkResult
from cairn.errors import OUR_TROUBLE, GitFailed
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.walk import CAIRNIGNORE, GITIGNORE

# ENOTDIR is a folder on the way that became a file, ELOOP one that became a link: nothing is indexed behind either.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


@dataclass(frozen=True, slots=True)
class Look:
    """What a draft was made from: `files` by folder with the stat they were indexed under, `gone` files by raw path."""

    head: str | None
    folders: tuple[bytes, ...]
    ignore_files: tuple[IgnoreFile, ...]
    files: tuple[tuple[bytes, tuple[tuple[bytes, FileStat], ...]], ...]
    gone: tuple[bytes, ...]


def take(head: str | None, walk: WalkResult, changes: ChangeSet, indexed: Iterable[tuple[bytes, FileStat]]) -> Look:
    """The look that a draft rests on: the head from before the walk, and each file it holds as it was read.

    A deleted file that is merely left out by now (ignored, too large, no text) is still there, and may be. A name that
    was spelled in decomposed Unicode is looked for under its composed key.
    """
    by_folder: dict[bytes, list[tuple[bytes, FileStat]]] = {}
    for raw, held in indexed:
        folder, _, name = raw.rpartition(b"/")
        by_folder.setdefault(folder, []).append((name, held))
    return Look(
        head=head,
        folders=walk.folders,
        ignore_files=_in_order(walk.ignore_files),
        files=tuple((folder, tuple(files)) for folder, files in sorted(by_folder.items())),
        gone=_gone(walk, changes),
    )


def _gone(walk: WalkResult, changes: ChangeSet) -> tuple[bytes, ...]:
    """The raw paths of the deleted files that no walk would find any more, not even as a skip."""
    deleted = [key.encode() for key in (*changes.delete, *(rename.old for rename in changes.rename))]
    if not deleted:
        return ()
    left_out = {skip.raw for skips in (walk.skips, changes.skips) for skip in skips}
    # Of two spellings of one name, the one that stays behind takes over the key, and its own is deleted.
    under_another_key = {candidate.raw for candidate in walk.candidates if candidate.key.encode() != candidate.raw}
    return tuple(raw for raw in deleted if raw not in under_another_key and not _is_left_out(raw, left_out))


def still(tree: Tree, git: Git, look: Look) -> bool:
    """Does all of it hold now? False at the first difference; the draft must then be compared with the tree again.

    What cannot be looked at counts as different. Only a machine without memory or descriptors raises.
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
    """Was it skipped, or a folder that it is in?"""
    while raw:
        if raw in left_out:
            return True
        raw = raw.rpartition(b"/")[0]
    return False


def _ignore_files(tree: Tree, folders: Iterable[bytes]) -> tuple[IgnoreFile, ...]:
    """The ignore files as they are now. One look for each folder: a new rule file decides about everything below it."""
    raws = [folder + b"/" + GITIGNORE.encode() if folder else GITIGNORE.encode() for folder in folders]
    found: list[IgnoreFile] = []
    for raw in (*raws, CAIRNIGNORE.encode()):
        data = tree.read_small(raw, MAX_IGNORE_BYTES)
        if data is not None:
            found.append(IgnoreFile(unicodedata.normalize("NFC", raw.decode()), data))
    return _in_order(found)


def _in_order(files: Iterable[IgnoreFile]) -> tuple[IgnoreFile, ...]:
    # By their bytes too: folders spelled in two ways share a key.
    return tuple(sorted(files, key=lambda file: (file.key, file.data)))


def _head(git: Git) -> str | None:
    try:
        return git.head()
    except GitFailed:
        # A draft for which git did not answer either has no head, and may be published without.
        return None
