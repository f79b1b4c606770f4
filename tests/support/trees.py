"""Folders of files as a dictionary says: texts, bytes, links, modes and times, under any name that a disk takes."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import AnyStr


@dataclass(frozen=True, slots=True)
class File:
    """A file with a mode or a time of its own; a text is written as UTF-8."""

    content: str | bytes = b""
    mode: int | None = None
    mtime_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link; nothing has to be where it leads."""

    target: str | bytes


Content = str | bytes | File | Link | None


def write_tree(top: Path, files: Mapping[AnyStr, Content]) -> Path:
    """Write these files below a folder, make the folders that they need, and return the folder.

    What was there under a name is replaced, all else stays. `None` removes a file; a name that ends in a slash is a
    folder without anything in it. Line ends are written as they are given.
    """
    top.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = os.path.join(os.fsencode(top), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if path.endswith(b"/"):
            continue
        if content is None or isinstance(content, Link) or os.path.islink(path):
            _remove(path, missing_ok=content is not None)
        if isinstance(content, Link):
            os.symlink(os.fsencode(content.target), path)
        elif content is not None:
            _write(path, content if isinstance(content, File) else File(content))
    return top


def read_tree(top: Path) -> dict[str, bytes]:
    """Return the bytes of every plain file below a folder by its path; links and what is no file are left out."""
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                found[os.path.relpath(path, top)] = Path(path).read_bytes()
    return found


def _write(path: bytes, file: File) -> None:
    with open(path, "wb") as opened:
        opened.write(file.content.encode() if isinstance(file.content, str) else file.content)
    if file.mode is not None:
        os.chmod(path, file.mode)
    if file.mtime_ns is not None:
        os.utime(path, ns=(file.mtime_ns, file.mtime_ns))


def _remove(path: bytes, *, missing_ok: bool) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        if not missing_ok:
            raise
