"""A fresh look at files of the tree: what they hold at this moment, asked before an indexer runs and after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.types import Candidate, FileStat, Root, SourceFile
from cairn.source.beneath import Tree
from cairn.source.stable_read import read_stable

_UNSEEN = FileStat(0, 0, 0, 0)


class Seen(NamedTuple):
    """A file at a moment. Two equal ones say that nobody touched it in between, not even to put it back."""

    stat: FileStat
    file_hash: str


def look(root: Root, paths: Iterable[str], *, clock: Clock = SYSTEM_CLOCK) -> Mapping[str, Seen]:
    """These files as they are; what is gone, unreadable or will not hold still is not among them."""
    found = {}
    with Tree(root) as tree:
        for path in paths:
            read = read_stable(tree, Candidate(path, path.encode(), _UNSEEN), clock=clock)
            if isinstance(read, SourceFile):
                found[path] = Seen(read.stat, read.file_hash)
    return found
