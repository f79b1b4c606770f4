"""Seal the files of an artifact: make them read-only, sync them and only then hash them.

Sealing is the flush boundary of the store, whatever wrote the files. The digest of an artifact is the SHA-256 over one
line for each of its files, in order of name: `name NUL size NUL sha256 LF`, the size in decimal and the hash in hex;
the size of an artifact is the sum of the sizes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from cairn.core.limits import MAX_DIGESTS_BYTES, MAX_TOTAL_SEGMENTS_REFERENCED
from cairn.errors import StoreCorrupt, StoreUnreadable
from cairn.store.format.document import DIGESTS, is_sha256, seal, unseal
from cairn.store.format.layout import DIGESTS as PATH
from cairn.store.format.layout import temp_path
from cairn.store.fs import DiskStat, Fs, read_whole, replace_file


class FileDigest(NamedTuple):
    """One file of an artifact, with its size and SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """The files of an artifact in order of name, with their total size and common digest."""

    files: tuple[FileDigest, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def sha256(self) -> str:
        lines = "".join(f"{file.name}\0{file.size}\0{file.sha256}\n" for file in self.files)
        return sha256(lines.encode()).hexdigest()


class Remembered(dict[tuple[int, ...], str]):
    """Digests of files that were hashed before, by the stat that identifies a file and its content.

    The key is (device, inode, size, mtime, ctime): a sealed file is read-only, so changing its bytes changes one of
    them.
    """

    def digest(self, fs: Fs, path: str) -> tuple[int, str]:
        """Return size and SHA-256 of a file: from memory when the stat is known, else from its bytes."""
        known = self.get(_key(found := fs.stat(path)))
        if known is not None:
            return found.size, known
        with fs.open_map(path) as opened:
            self[_key(opened.stat)] = found_digest = sha256(opened.view).hexdigest()
            return opened.stat.size, found_digest


def seal_files(fs: Fs, folder: str, remembered: Remembered) -> Sealed:
    """Make every file of a flat folder read-only and safe, then hash it. The folder is sealed in its final place."""
    names = fs.list_folder(folder)
    for name in names:
        path = f"{folder}/{name}"
        fs.seal(path)
        fs.sync_file(path)
    return digest_files(fs, folder, names, remembered)


def digest_files(fs: Fs, folder: str, names: Iterable[str], remembered: Remembered) -> Sealed:
    """Return the digests of these files, remembered or computed now."""
    return Sealed(tuple(FileDigest(name, *remembered.digest(fs, f"{folder}/{name}")) for name in sorted(names)))


def require(fs: Fs, folder: str, size_bytes: int, digest: str, remembered: Remembered) -> None:
    """Raise `StoreCorrupt` unless the folder holds exactly what was sealed in it."""
    name = folder.rpartition("/")[2]
    try:
        found = digest_files(fs, folder, fs.list_folder(folder), remembered)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise StoreCorrupt(artifact=f"segment {name}", why="a part of it is missing") from None
    if found.size_bytes != size_bytes:
        raise StoreCorrupt(artifact=f"segment {name}", why="its size is not the one that was sealed")
    if found.sha256 != digest:
        raise StoreCorrupt(artifact=f"segment {name}", why="its bytes are not the ones that were sealed")


def _key(found: DiskStat) -> tuple[int, ...]:
    return found[:5]


# --- digests.json: remembered digests, so that a one-shot command need not hash the files again -----------------------


_FIELD = "digests_sha256"
_STAT_FIELDS = ("device", "inode", "size", "mtime_ns", "ctime_ns")
_MOST_FILES = 8 * MAX_TOTAL_SEGMENTS_REFERENCED


def load_digests(fs: Fs) -> Remembered:
    """Return the remembered digests; none when the file is missing, damaged or of another version."""
    with contextlib.suppress(OSError, StoreUnreadable):
        return read_digests(fs)
    return Remembered()


def read_digests(fs: Fs) -> Remembered:
    """Return the remembered digests; unlike `load_digests`, raises trouble and damage."""
    remembered = Remembered()
    data = read_whole(fs, PATH, MAX_DIGESTS_BYTES, DIGESTS.name)
    fields = unseal(DIGESTS, _FIELD, data, MAX_DIGESTS_BYTES)
    for file in fields.objects("files", _MOST_FILES):
        stat = tuple(file.number(name) for name in _STAT_FIELDS)
        remembered[stat] = file.text("sha256", is_sha256)
    return remembered


def save_digests(fs: Fs, run: str, remembered: Remembered, paths: Iterable[str]) -> None:
    """Remember the digests of these files, and forget all others."""
    files = []
    for path in sorted(paths):
        stat = fs.stat(path)[:5]
        if digest := remembered.get(stat):
            files.append({**dict(zip(_STAT_FIELDS, stat, strict=True)), "sha256": digest})
    data = seal(DIGESTS, _FIELD, {"files": files[:_MOST_FILES]})
    replace_file(fs, PATH, temp_path(PATH, run), data, safe=False)
