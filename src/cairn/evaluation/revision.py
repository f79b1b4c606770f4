"""An old revision of a repository as a folder that is there for a while."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from cairn.core.limits import MIB
from cairn.errors import BadPathKey
from cairn.source.git_history import GitFile, GitHistory
from cairn.source.root import path_key

# git is asked for so much at once: far below what is taken from it.
_STEP_BYTES = 32 * MIB


class Exported(NamedTuple):
    """Where the files lie, and a home for the index that is made of them; both are gone afterwards."""

    tree: str
    home: str


@contextmanager
def exported(
    git: GitHistory, files: Sequence[GitFile], done: Callable[[int], None] = lambda _: None
) -> Iterator[Exported]:
    """Write the files, as their blobs are, into a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="cairn-eval-") as scratch:
        tree = os.path.join(scratch, "tree")
        os.mkdir(tree)
        written = 0
        for step in _steps(files):
            blobs = git.blobs([file.blob for file in step])
            for file in step:
                if file.blob in blobs:
                    _write(tree, file.raw, blobs[file.blob])
                written += 1
                done(written)
        yield Exported(tree, os.path.join(scratch, "home"))


def _steps(files: Sequence[GitFile]) -> Iterator[list[GitFile]]:
    step: list[GitFile] = []
    size = 0
    for file in files:
        if step and size + file.size > _STEP_BYTES:
            yield step
            step, size = [], 0
        step.append(file)
        size += file.size
    if step:
        yield step


def _write(tree: str, raw: bytes, data: bytes) -> None:
    try:
        # A tree object may hold any name, `..` and `/etc/passwd` too.
        path_key(raw)
    except BadPathKey:
        return
    path = os.path.join(os.fsencode(tree), raw)
    # One name may be a file and a folder at once, or too long, in a tree that git itself would not check out.
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
