"""Files with several names: an edit through another name, which may lie outside of the tree, is told to no watcher.

So a watched tree keeps their stat tuples, and looks at these few before each question.
"""

from __future__ import annotations

from collections.abc import Mapping

from cairn.core.limits import RACY_WINDOW_NS
from cairn.core.types import FileStat, WalkResult
from cairn.source.beneath import Tree

Linked = Mapping[bytes, FileStat | None]
"""Raw paths of files with several names, each with its stat tuple; None where that is too young to prove anything."""


def linked_files(walked: WalkResult, looked_at_ns: int) -> Linked:
    """Return the files with several names that a walk at this time has found."""
    names, young = set(walked.linked), looked_at_ns - RACY_WINDOW_NS
    return {
        candidate.raw: None if max(candidate.stat.mtime_ns, candidate.stat.ctime_ns) >= young else candidate.stat
        for candidate in (walked.candidates if names else ())
        if candidate.raw in names
    }


def touched(tree: Tree, linked: Linked) -> frozenset[bytes]:
    """Return the raw paths of those that may have changed since."""
    return frozenset(raw for raw, stat in linked.items() if stat is None or _stat(tree, raw) != stat)


def _stat(tree: Tree, raw: bytes) -> FileStat | None:
    try:
        found = tree.lstat(raw)
    except OSError:
        return None
    return FileStat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
