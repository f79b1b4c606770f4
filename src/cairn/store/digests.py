"""digests.json: what the sealer and the verifiers have hashed, so that a one-shot command need not hash it again.

A side file: without it, or with a damaged one, everything is read once more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from cairn.core.limits import MAX_DIGESTS_BYTES, MAX_TOTAL_SEGMENTS_REFERENCED
from cairn.errors import StoreUnreadable
from cairn.store.document import is_sha256, seal, unseal
from cairn.store.files import read_whole, replace_file
from cairn.store.fs import Fs
from cairn.store.layout import DIGESTS as PATH
from cairn.store.layout import temp_path
from cairn.store.seal import Remembered
from cairn.store.versions import DIGESTS

_FIELD = "digests_sha256"
_STAT_FIELDS = ("device", "inode", "size", "mtime_ns", "ctime_ns")
_MOST_FILES = 8 * MAX_TOTAL_SEGMENTS_REFERENCED


def load_digests(fs: Fs) -> Remembered:
    """What is remembered; nothing when the file is missing, damaged or of another version."""
    with contextlib.suppress(OSError, StoreUnreadable):
        return read_digests(fs)
    return Remembered()


def read_digests(fs: Fs) -> Remembered:
    """The same for who wants to know: trouble and damage are raised."""
    remembered = Remembered()
    data = read_whole(fs, PATH, MAX_DIGESTS_BYTES, DIGESTS.name)
    fields = unseal(DIGESTS, _FIELD, data, MAX_DIGESTS_BYTES)
    for file in fields.objects("files", _MOST_FILES):
        stat = tuple(file.number(name) for name in _STAT_FIELDS)
        remembered[stat] = file.text("sha256", is_sha256)
    return remembered


def save_digests(fs: Fs, run: str, remembered: Remembered, paths: Iterable[str]) -> None:
    """Remember these files, and forget all others."""
    files = []
    for path in sorted(paths):
        stat = fs.stat(path)[:5]
        if digest := remembered.get(stat):
            files.append({**dict(zip(_STAT_FIELDS, stat, strict=True)), "sha256": digest})
    data = seal(DIGESTS, _FIELD, {"files": files[:_MOST_FILES]})
    replace_file(fs, PATH, temp_path(PATH, run), data, safe=False)
