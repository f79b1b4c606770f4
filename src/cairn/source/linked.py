"""What changes unheard in a watched tree, so that a watcher looks at it before each question.

Files with several names: an edit through another name, which may lie outside of the tree, is told to nobody. And
repositories in the tree: nobody listens in them, and without its `.git` the code of one belongs to the tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from cairn.core.limits import RACY_WINDOW_NS
from cairn.core.types import FileStat, SkipReason, WalkResult
from cairn.source.beneath import Tree
from cairn.source.walk import VCS_NAMES, repository_at

Linked = Mapping[bytes, FileStat | SkipReason | None]
"""Raw paths of files with several names, each with its stat tuple; None where that is too young to prove anything.

And the `.git` of each repository in the tree, whether it has one or not, with the reason to leave its folder alone.
"""

_GIT = b"/.git"
_OF_REPOSITORIES = frozenset({SkipReason.NESTED_REPOSITORY, SkipReason.VCS_INTERNAL})


def linked_files(walked: WalkResult, looked_at_ns: int) -> Linked:
    """Return the files with several names, and the repositories, that a walk at this time has found."""
    names, young = set(walked.linked), looked_at_ns - RACY_WINDOW_NS
    repositories: dict[bytes, FileStat | SkipReason | None] = {
        skip.raw + _GIT: skip.reason
        for skip in walked.skips
        if skip.folder and skip.reason in _OF_REPOSITORIES and skip.raw.rpartition(b"/")[2] not in VCS_NAMES
    }
    return repositories | {
        candidate.raw: None if max(candidate.stat.mtime_ns, candidate.stat.ctime_ns) >= young else candidate.stat
        for candidate in (walked.candidates if names else ())
        if candidate.raw in names
    }


def touched(tree: Tree, linked: Linked) -> frozenset[bytes]:
    """Return the raw paths of those that may have changed since."""
    return frozenset(raw for raw, held in linked.items() if held is None or _now(tree, raw, held) != held)


def _now(tree: Tree, raw: bytes, held: FileStat | SkipReason) -> FileStat | SkipReason | None:
    try:
        return repository_at(tree, raw.removesuffix(_GIT)) if isinstance(held, SkipReason) else _stat(tree, raw)
    except OSError:
        return None


def _stat(tree: Tree, raw: bytes) -> FileStat | None:
    try:
        found = tree.lstat(raw)
    except OSError:
        return None
    return FileStat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
