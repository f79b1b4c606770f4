"""Read files that the index leaves out: those that are ignored, in another encoding, too large, or behind a link.

Folders of dependencies and of build outputs are not entered: what they hold is made again, or is somebody else's code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from cairn.core.limits import MAX_LEFT_OUT_BYTES, MAX_LEFT_OUT_NAMES
from cairn.core.types import Skip, SkipReason
from cairn.source.beneath import Tree

_NOT_ENTERED = frozenset(
    b"""node_modules bower_components site-packages dist-packages venv env virtualenv dist build out target vendor
    coverage htmlcov __pycache__ bin obj Pods bazel-bin bazel-out""".split()
)
# A folder that holds one of these is an environment or a cache.
_MARKS = frozenset({b"pyvenv.cfg", b"CACHEDIR.TAG"})
_SKIPPED = frozenset({
    SkipReason.IGNORED, SkipReason.EXCLUDED, SkipReason.UNTRACKED, SkipReason.TOO_LARGE, SkipReason.MINIFIED,
    SkipReason.NOT_UTF8, SkipReason.TOO_MANY_CHUNKS, SkipReason.BINARY, SkipReason.DATA_FILE, SkipReason.NAME_NOT_UTF8,
    SkipReason.UNREADABLE, SkipReason.OUTSIDE_ROOT, SkipReason.NESTED_REPOSITORY,
})  # fmt: skip


class LeftOut(NamedTuple):
    """A file that is not in the index, with its bytes; None when they could not be read."""

    raw: bytes
    data: bytes | None


def left_out(tree: Tree, skips: Iterable[Skip], wanted: Callable[[bytes], bool]) -> Iterator[LeftOut]:
    """Yield the files whose names are wanted among those that were skipped, and below skipped folders.

    A link that leads out of the root is given without bytes. So is the folder at which the limit of names is reached.
    """
    left = MAX_LEFT_OUT_NAMES
    for skip in skips:
        if skip.reason not in _SKIPPED:
            continue
        if not skip.folder:
            if wanted(skip.raw):
                yield _read(tree, skip.raw)
            continue
        pending = [skip.raw]
        while pending:
            folder = pending.pop()
            name = os.path.basename(folder)
            if name in _NOT_ENTERED or name.startswith(b".") or name.endswith(b".egg-info"):
                continue
            names = _names(tree, folder)
            left -= len(names)
            if left < 0:
                yield LeftOut(folder, None)
                return
            if _MARKS.isdisjoint(each for each, _ in names):
                for each, is_folder in names:
                    path = folder + b"/" + each
                    if is_folder:
                        pending.append(path)
                    elif wanted(path):
                        yield _read(tree, path)


def _names(tree: Tree, folder: bytes) -> list[tuple[bytes, bool]]:
    """Return the names in a folder, and whether each is a folder; none where it cannot be read."""
    try:
        fd = tree.open_folder(folder)
    except OSError:
        return []
    try:
        with os.scandir(fd) as entries:
            return sorted((os.fsencode(one.name), one.is_dir(follow_symlinks=False)) for one in entries)
    except OSError:
        return []
    finally:
        os.close(fd)


def _read(tree: Tree, raw: bytes) -> LeftOut:
    data = tree.read_small(raw, MAX_LEFT_OUT_BYTES)
    return LeftOut(raw, data if data is None or len(data) <= MAX_LEFT_OUT_BYTES else None)
