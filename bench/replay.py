"""A repository's own history, lived again in a folder: commit after commit, and what people do between commits.

Blobs and differences are read with git's plumbing from a bare repository or a checkout, so that a step takes
milliseconds. Links and submodules are left out.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

# When the history is over, the last so many commits are undone and done again.
SWING = 500
# Of the steps that are then taken, one in so many is no commit but the work of a person.
_BY_HAND = 3
_FILE_MODES = (b"100644", b"100755")


class Change(NamedTuple):
    """A path whose blob differs between two commits; None where there is none."""

    path: str
    old: str | None
    new: str | None

    @property
    def undone(self) -> Change:
        return Change(self.path, self.new, self.old)


class Blobs(AbstractContextManager["Blobs"]):
    """The contents of a repository, one by one."""

    def __init__(self, repository: Path) -> None:
        self._git = subprocess.Popen(
            ["git", "-C", str(repository), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __exit__(self, *_: object) -> None:
        self._git.communicate()

    def read(self, blob: str) -> bytes:
        asked, answers = self._git.stdin, self._git.stdout
        assert asked is not None
        assert answers is not None
        asked.write(f"{blob}\n".encode())
        asked.flush()
        found, kind, size = answers.readline().decode().split()
        assert (found, kind) == (blob, "blob")
        return answers.read(int(size) + 1)[:-1]


def history(repository: Path, steps: int) -> list[tuple[Change, ...]]:
    """What the last so many commits changed, the oldest first; the first brings the whole tree as it was then.

    These are the commits of the main line: a merge brings all of its branch at once, as a pull does.
    """
    listed = _git(repository, "rev-list", "--first-parent", "--reverse", "HEAD").decode().split()[-steps:]
    empty = _git(repository, "hash-object", "-t", "tree", "--stdin").decode().strip()
    first = _git(repository, "diff-tree", "-r", "-z", "--raw", "--no-renames", empty, f"{listed[0]}^{{tree}}")
    pairs = "".join(f"{new} {old}\n" for old, new in pairwise(listed))
    told = _git(repository, "diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--always", asked=pairs)
    return [tuple(_changes(iter(first.split(b"\0")))), *_by_commit(told)]


def _by_commit(told: bytes) -> Iterator[tuple[Change, ...]]:
    """Each commit's fields follow its id; there is no other way to see where they end."""
    fields: list[bytes] = []
    started = False
    for field in told.split(b"\0"):
        # A path comes after its modes, so an id is what stands where modes could.
        if len(fields) % 2 == 0 and not field.startswith(b":"):
            if started:
                yield tuple(_changes(iter(fields)))
            fields, started = [], True
        else:
            fields.append(field)


def _changes(fields: Iterator[bytes]) -> Iterator[Change]:
    for modes in fields:
        if not modes:
            return
        old_mode, new_mode, old, new, _ = modes.removeprefix(b":").split(b" ")
        path = os.fsdecode(next(fields))
        if ".." in path.split("/"):
            continue
        change = Change(
            path, old.decode() if old_mode in _FILE_MODES else None, new.decode() if new_mode in _FILE_MODES else None
        )
        if change.old != change.new:
            yield change


def _git(repository: Path, *arguments: str, asked: str = "") -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], input=asked.encode(), check=True, capture_output=True
    ).stdout


class Life:
    """A folder that lives through a history. The same seed gives the same life."""

    def __init__(self, folder: Path, commits: list[tuple[Change, ...]], blobs: Blobs, seed: int = 0) -> None:
        self.folder, self._commits, self._blobs = folder, commits, blobs
        self._chance = random.Random(seed)
        self._committed: dict[str, str] = {}
        self._by_hand: set[str] = set()
        self._written = self._number = 0

    def steps(self, count: int) -> Iterator[int]:
        """Take so many steps; each says how many bytes the files hold that it wrote."""
        turns = self._turns()
        for _ in range(count):
            self._written = 0
            self._number += 1
            if self._number > len(self._commits) and self._chance.randrange(_BY_HAND) == 0:
                self._work()
            else:
                self._commit(next(turns))
            yield self._written

    def _turns(self) -> Iterator[tuple[Change, ...]]:
        yield from self._commits
        while True:
            # The first commit is the whole tree: it is never undone.
            again = self._commits[1:][-SWING:] or [()]
            yield from (tuple(change.undone for change in changes) for changes in reversed(again))
            yield from again

    def _commit(self, changes: tuple[Change, ...]) -> None:
        # What goes first makes room: a file may become a folder.
        for change in sorted(changes, key=lambda change: change.new is not None):
            if change.new is None:
                self._remove(change.path)
                self._committed.pop(change.path, None)
            else:
                self._put(change.path, self._blobs.read(change.new))
                self._committed[change.path] = change.new
            self._by_hand.discard(change.path)

    def _work(self) -> None:
        """What a person does: edit some lines, delete or move a file, or take back all of it."""
        paths = sorted(self._committed)
        if not paths:
            return
        path, kind = self._chance.choice(paths), self._chance.random()
        if kind < 0.2:
            self._take_back()
            return
        place = self.folder / path
        if not place.is_file():
            return
        data = place.read_bytes()
        self._by_hand.add(path)
        if kind < 0.8:
            self._put(path, self._edited(data))
            return
        self._remove(path)
        if kind < 0.9:
            moved = f"{path}.moved{self._number}{os.path.splitext(path)[1]}"
            self._by_hand.add(moved)
            self._put(moved, data)

    def _edited(self, data: bytes) -> bytes:
        """Some lines gone, some twice, one that was never there."""
        lines = data.splitlines(keepends=True) or [b"\n"]
        at = self._chance.randrange(len(lines))
        some = lines[at : at + self._chance.randrange(1, 8)]
        new = f"# a thought {self._chance.randrange(1000)} of step_{self._number}\n".encode()
        return b"".join([*lines[:at], new, *self._chance.choice([[], some, some + some]), *lines[at + len(some) :]])

    def _take_back(self) -> None:
        for path in sorted(self._by_hand):
            blob = self._committed.get(path)
            if blob is None:
                self._remove(path)
            else:
                self._put(path, self._blobs.read(blob))
        self._by_hand.clear()

    def _put(self, path: str, data: bytes) -> None:
        place = self.folder / path
        if place.is_dir():
            # Only what was moved there by hand can still be in it.
            shutil.rmtree(place)
        for above in reversed(place.relative_to(self.folder).parents):
            if (self.folder / above).is_file():
                (self.folder / above).unlink()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        self._written += len(data)

    def _remove(self, path: str) -> None:
        place = self.folder / path
        # It may have been deleted by hand, or a folder above it be a file by now.
        with suppress(FileNotFoundError, NotADirectoryError):
            place.unlink()
        with suppress(OSError):
            while (place := place.parent) != self.folder:
                place.rmdir()
