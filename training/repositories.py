"""Reads a git repository, bare or not, without a work tree: its files at HEAD and its commits with their changes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_COMMIT, _SUBJECT_END = b"\x01", b"\x02\n"
_BLOBS_AT_ONCE = 200


class Blob(NamedTuple):
    """A file at HEAD: what names its bytes, and how many they are."""

    oid: str
    path: str
    size: int


def blobs(folder: Path) -> list[Blob]:
    """The ordinary files at HEAD whose names are UTF-8, sorted by path."""
    found = []
    for entry in _git(folder, "ls-tree", "-r", "-l", "-z", "HEAD").split(b"\0")[:-1]:
        facts, _, path = entry.partition(b"\t")
        mode, kind, oid, size = facts.split()
        try:
            name = path.decode("utf-8")
        except UnicodeDecodeError:
            continue
        # A snapshot may lack its largest files: git then says BAD for their size. Links are named by their mode.
        if kind == b"blob" and size.isdigit() and mode != b"120000":
            found.append(Blob(oid.decode(), name, int(size)))
    return sorted(found, key=lambda blob: blob.path)


def contents(folder: Path, wanted: Sequence[Blob]) -> Iterator[tuple[Blob, bytes]]:
    """Each of these files with its bytes; one that the snapshot lacks is left out."""
    for start in range(0, len(wanted), _BLOBS_AT_ONCE):
        some = wanted[start : start + _BLOBS_AT_ONCE]
        data = _git(folder, "cat-file", "--batch", given="".join(f"{blob.oid}\n" for blob in some).encode())
        at = 0
        for blob in some:
            end = data.index(b"\n", at)
            answer = data[at:end].split()
            at = end + 1
            if answer[-1] != b"missing":
                size = int(answer[2])
                yield blob, data[at : at + size]
                at += size + 1


def commits(folder: Path, most: int) -> Iterator[tuple[str, str]]:
    """Subject and change of the latest commits that are no merges, newest first."""
    command = ["log", "-p", "-U3", "--no-merges", "--no-color", "--no-renames", "--no-ext-diff", "--diff-filter=AM"]
    with subprocess.Popen(
        ["git", "--git-dir", _git_dir(folder), *command, f"-n{most}", "--format=%x01%s%x02", "HEAD"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            lines: list[bytes] = []
            for line in process.stdout:
                if line.startswith(_COMMIT) and lines:
                    yield _commit(lines)
                    lines = []
                lines.append(line)
            if lines:
                yield _commit(lines)
        finally:
            # Who has seen enough does not wait for the rest of a long history.
            process.kill()


def _commit(lines: list[bytes]) -> tuple[str, str]:
    subject = lines[0].removeprefix(_COMMIT).removesuffix(_SUBJECT_END)
    return subject.decode("utf-8", "replace"), b"".join(lines[1:]).decode("utf-8", "replace")


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    command = ["git", "--git-dir", _git_dir(folder), *arguments]
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout


def _git_dir(folder: Path) -> str:
    inner = folder / ".git"
    return str(inner if inner.exists() else folder)
