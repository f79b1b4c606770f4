"""What git knows of the past: commits, what they changed, and the files of an old one.

Plumbing only, asked in the same way as everything else that git is asked: nothing that a repository names is run, and a
blob is given as it is stored, whatever filters its attributes ask for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cairn.source.git import Git, GitChange

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_STATUSES = frozenset("AMDT")
_PLAIN_MODES = (b"100644 ", b"100755 ", b"100664 ")


class GitCommit(NamedTuple):
    """A commit: its id, who wrote it, and the first line of its message."""

    id: str
    author: str
    subject: str


class GitFile(NamedTuple):
    """A plain file in a commit's tree: its raw path, which may be any bytes at all, its blob and the blob's size."""

    raw: bytes
    blob: str
    size: int


class GitHistory(Git):
    """One repository's history, read-only; raises GitFailed when git does not answer."""

    def ancestors(self, commit: str, most: int) -> tuple[str, ...]:
        """Name the commits that a commit came from, itself first, along first parents; at most so many."""
        out = self._must("history", "rev-list", "--first-parent", f"--max-count={most:d}", self._commit(commit))
        return tuple(out.decode("ascii", "replace").split())

    def commits_between(self, old: str, new: str, most: int) -> tuple[GitCommit, ...]:
        """List the commits, without merges, that lead to the second and not to the first; the newest first."""
        out = self._must(
            "commits between two commits",
            *("rev-list", "--no-merges", f"--max-count={most:d}", "--format=%an%x00%s"),
            *(self._commit(new), f"^{self._commit(old)}"),
        )
        lines = iter(out.decode("utf-8", "replace").split("\n"))
        named = (line.removeprefix("commit ") for line in lines if line)
        return tuple(GitCommit(name, *next(lines, "").partition("\0")[::2]) for name in named)

    def changes_of(self, commits: Sequence[str]) -> dict[str, tuple[GitChange, ...]]:
        """For each commit with one parent, the paths that it changed; a rename is a D and an A."""
        out = self._must(
            "changes of commits",
            *("diff-tree", "--stdin", "-r", "-z", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv"),
            "--ignore-submodules=all",
            feed="".join(f"{self._commit(name)}\n" for name in commits).encode(),
        )
        try:
            return parse_commit_changes(out)
        except ValueError as problem:
            raise self._failed("changes of commits", str(problem)) from None

    def files_at(self, commit: str) -> tuple[GitFile, ...]:
        """List the plain files in a commit's tree: no links, no submodules."""
        return parse_tree(
            self._must("files of a commit", "ls-tree", "-r", "-l", "-z", "--full-tree", self._commit(commit))
        )

    def blobs(self, names: Sequence[str]) -> dict[str, bytes]:
        """Read blobs as they are stored, unfiltered; one that this clone does not hold is left out."""
        feed = "".join(f"{self._commit(name)}\n" for name in names).encode()
        try:
            return parse_objects(self._must("contents", "cat-file", "--batch", feed=feed))
        except ValueError as problem:
            raise self._failed("contents", str(problem)) from None


# --- reading what git prints --------------------------------------------------------------------------------------


def parse_commit_changes(out: bytes) -> dict[str, tuple[GitChange, ...]]:
    """`diff-tree --stdin -z --name-status` as values: an id where a status could stand begins the next commit."""
    fields = out.split(b"\0")
    if fields.pop():
        raise ValueError("git's list of changes ends in the middle of an entry")
    found: dict[str, list[GitChange]] = {}
    changes: list[GitChange] | None = None
    at = iter(fields)
    for field in at:
        letter = field.decode("latin-1")
        if _ID.fullmatch(letter):
            changes = found.setdefault(letter, [])
        elif changes is None or letter not in _STATUSES or not (raw := next(at, b"")):
            raise ValueError("git's list of changes holds an entry that is not one")
        else:
            changes.append(GitChange(letter, raw))
    return {name: tuple(own) for name, own in found.items()}


def parse_tree(out: bytes) -> tuple[GitFile, ...]:
    """Read the plain files of `ls-tree -l -z` (`mode type id size TAB path NUL`)."""
    files = []
    for entry in out.split(b"\0"):
        meta, _, raw = entry.partition(b"\t")
        # A blob that a partial clone lacks has `-` or `BAD` for its size.
        if meta.startswith(_PLAIN_MODES) and raw and (fields := meta.split())[-1].isdigit():
            files.append(GitFile(raw, fields[2].decode("ascii", "replace"), int(fields[3])))
    return tuple(files)


def parse_objects(out: bytes) -> dict[str, bytes]:
    """Read the objects of `cat-file --batch`: `id type size LF content LF`, or `id missing LF`."""
    found, at = {}, 0
    while at < len(out):
        end = out.find(b"\n", at)
        name, *rest = out[at : max(end, at)].split(b" ")
        at = end + 1
        if rest == [b"missing"]:
            continue
        if end < 0 or len(rest) != 2 or not rest[1].isdigit() or out[at + int(rest[1]) :][:1] != b"\n":
            raise ValueError("git's list of contents holds an entry that is not one")
        found[name.decode("ascii", "replace")] = out[at : at + int(rest[1])]
        at += int(rest[1]) + 1
    return found
