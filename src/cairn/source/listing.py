"""Has anything changed since the last sync? A whole tree's names and stat tuples, compared folder by folder.

A walk writes down what its decisions rest on; when all of that is as it was, so are the decisions, and neither the
matcher nor the snapshot's records need to be looked at. Kept are, for each folder, its names in the order the system
lists them, and for each name what it takes to decide the same again:

- a folder that was entered: its own listing;
- a name that was left out whatever it holds (ignored, of a version control system, not UTF-8): whether it is a folder;
- everything else (files, skipped ones too: a file that is too large may shrink; links; pipes): its stat tuple. The
  files that a walk reads, ignore files and the repository's settings, are among these even where a rule ignores them.

Links: nothing is ever indexed through one, so what its target holds does not matter. A link that is set anew has
another stat tuple. A target that is listed is seen under its own name; where one comes or goes in a place that is not
listed (in an ignored folder), only the reason given for skipping the link changes.

What lies elsewhere cannot be seen here, and whoever asks must compare it: git's head, the set of files git tracks (when
untracked files are left out), where links lead, the user's settings, the version of this program.
"""

from __future__ import annotations

import errno
import os
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import compress, starmap
from operator import attrgetter
from typing import NamedTuple
from zlib import crc32

from cairn.core.collector import no_cycle_collection
from cairn.core.config import REPO_CONFIG_NAME
from cairn.core.limits import RACY_WINDOW_NS, REHASH_FRACTION
from cairn.core.types import FileStat, Skip, SkipReason
from cairn.source.beneath import Tree
from cairn.source.walk import CAIRNIGNORE, GITIGNORE, may_be_repository, repository_at

# What is recorded of a name, one byte each. A link to a folder is not a folder.
_STAT, _ENTERED, _ONLY_NAME, _ONLY_NAME_FOLDER = b"sdnD"
_HAS_STAT = bytes(kind == _STAT for kind in range(256))
_READ_BY_WALK = frozenset({GITIGNORE, CAIRNIGNORE, REPO_CONFIG_NAME})
_LEFT_OUT_BY_NAME = frozenset(
    {SkipReason.IGNORED, SkipReason.CAIRNIGNORED, SkipReason.VCS_INTERNAL, SkipReason.NAME_NOT_UTF8}
)

# What became of a folder: these, or the error number with which it could not be listed.
_LISTED, _LISTED_WITH_GIT, _NESTED = 0, 1 << 16, 1 << 17
_LASTING_TROUBLE = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG})

# In the byte order of this machine: to another one the version reads as a different number, and the listing as none.
_MAGIC, _VERSION = b"cairntre", 1
_HEADER = struct.Struct("=8sIIq")
_FOLDER = struct.Struct("=5I")
_ONE_STAT = struct.Struct("=qqqQ")
_DIGEST_BYTES = 32
_END_OF_TIME = 2**63 - 1
_FOLDERS_PER_TICK = 64

_name_of = attrgetter("name")
_Stats = list[tuple[int, int, int, int]]


class FolderListing(NamedTuple):
    """One folder: `names` joined by NUL, a byte of `kinds` for each, and the packed stat tuples.

    Names that need no stat tuple have none. `state` says whether the folder was listed, is a repository of its own, or
    with which error number listing it failed.
    """

    raw: bytes
    state: int
    names: bytes = b""
    kinds: bytes = b""
    stats: bytes = b""


@dataclass(frozen=True, slots=True)
class TreeListing:
    """Every folder that a walk came to, the root first, and the latest time in any of the stat tuples."""

    folders: tuple[FolderListing, ...]
    newest_ns: int


class ListingRecorder:
    """A `Recorder` for one walk; `listing` returns what was recorded."""

    def __init__(self) -> None:
        self._folders: list[FolderListing] = []
        self._newest_ns = 0

    def listed(
        self, raw: bytes, entries: Sequence[os.DirEntry[str]], below: Sequence[bytes], skips: Sequence[Skip]
    ) -> None:
        """Record a folder's names, and the stat tuples that decisions rest on."""
        names = list(map(_name_of, entries))
        kinds = _kinds(raw, names, below, skips)
        try:
            # The walk has asked for most of them before, and an entry remembers its answer.
            stats = b"".join(starmap(_ONE_STAT.pack, _stats(compress(entries, kinds.translate(_HAS_STAT)))))
        except (OSError, struct.error):
            # Gone since it was listed, or from a time beyond the year 2262. No file has a tuple of zeros, so this
            # folder will never compare as the same.
            stats = bytes(kinds.count(_STAT) * _ONE_STAT.size)
        state = _LISTED_WITH_GIT if raw and may_be_repository(names) else _LISTED
        self._folders.append(FolderListing(raw, state, os.fsencode("\0".join(names)), kinds, stats))

    def nested(self, raw: bytes) -> None:
        """Record that the folder is a repository of its own."""
        self._folders.append(FolderListing(raw, _NESTED))

    def failed(self, raw: bytes, number: int) -> None:
        """Record why the folder could not be listed."""
        if number not in _LASTING_TROUBLE:
            # It went away, or a file or a link took its place: how that is to be judged, no walk has said yet.
            self._newest_ns = _END_OF_TIME
        self._folders.append(FolderListing(raw, number))

    def listing(self) -> TreeListing:
        """Return what the walk saw, once it is over."""
        times = memoryview(b"".join(folder.stats for folder in self._folders)).cast("q")
        newest = max(self._newest_ns, max(times[1::4], default=0), max(times[2::4], default=0))
        return TreeListing(tuple(self._folders), newest)


def unchanged(tree: Tree, listing: TreeListing, *, synced_at_ns: int, tick: Callable[[], None] = lambda: None) -> bool:
    """Whether a walk would find exactly what it found when this was recorded; False at the first doubt.

    `synced_at_ns` is when that walk began: a file changed so close to it that its times prove nothing is a doubt. Not
    seen, and up to the caller: git's head, git's tracked files, settings outside the tree, and a disk that changes
    bytes without a trace, for which there is `sampled`. `tick` is called once in some folders, and may raise.
    """
    if not listing.folders or listing.newest_ns >= synced_at_ns - RACY_WINDOW_NS:
        return False
    with no_cycle_collection():
        for place, folder in enumerate(listing.folders):
            if place % _FOLDERS_PER_TICK == 0:
                tick()
            if not _is_same(tree, folder):
                return False
        return True


def sampled(listing: TreeListing, round_number: int) -> list[bytes]:
    """Return the raw paths that are due to be hashed again, as `changes.detect` picks them; some are not indexed."""
    turn = round_number % REHASH_FRACTION
    found: list[bytes] = []
    for folder in listing.folders:
        above = folder.raw + b"/" if folder.raw else b""
        start = crc32(above)
        names = compress(folder.names.split(b"\0"), folder.kinds.translate(_HAS_STAT))
        # The checksum of a path is that of its name, carried on from the folder's.
        found += [above + name for name in names if crc32(name, start) % REHASH_FRACTION == turn]
    return found


def file_stats(listing: TreeListing) -> dict[bytes, FileStat]:
    """Return the stat tuple of every name that has one, by its raw path."""
    found: dict[bytes, FileStat] = {}
    for folder in listing.folders:
        above = folder.raw + b"/" if folder.raw else b""
        names = compress(folder.names.split(b"\0"), folder.kinds.translate(_HAS_STAT))
        stats = starmap(FileStat, _ONE_STAT.iter_unpack(folder.stats))
        found.update(zip([above + name for name in names], stats, strict=True))
    return found


def _kinds(raw: bytes, names: Sequence[str], below: Sequence[bytes], skips: Sequence[Skip]) -> bytes:
    cut = len(raw) + 1 if raw else 0
    special = {os.fsdecode(name): _ENTERED for name in below}
    for skip in skips:
        if skip.folder:
            special[os.fsdecode(skip.raw[cut:])] = _ONLY_NAME_FOLDER
        elif skip.reason in _LEFT_OUT_BY_NAME:
            name = os.fsdecode(skip.raw[cut:])
            # A .gitignore that ignores itself still rules over the others.
            if name not in _READ_BY_WALK:
                special[name] = _ONLY_NAME
    if not special:
        return b"s" * len(names)
    return bytes([special.get(name, _STAT) for name in names])


def _stats(entries: Iterable[os.DirEntry[str]]) -> _Stats:
    return [
        (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        for entry in entries
        for found in (entry.stat(follow_symlinks=False),)
    ]


def _is_same(tree: Tree, folder: FolderListing) -> bool:
    raw, state = folder.raw, folder.state
    if state == _NESTED:
        return repository_at(tree, raw) is not None
    try:
        descriptor = tree.open_folder(raw)
    except OSError as problem:
        return problem.errno == state
    try:
        with os.scandir(descriptor) as found:
            entries = list(found)
        if state not in (_LISTED, _LISTED_WITH_GIT) or not _holds_same(folder, entries):
            return False
    except OSError as problem:
        return problem.errno == state
    finally:
        os.close(descriptor)
    # A `.git` that was no repository may have become one without a trace in the listing of the folder.
    return state == _LISTED or repository_at(tree, raw) is None


def _holds_same(folder: FolderListing, entries: list[os.DirEntry[str]]) -> bool:
    names: list[str] = list(map(_name_of, entries))
    if os.fsencode("\0".join(names)) != folder.names:
        # The same names may come in another order, from a copy of the disk or after one was added and removed.
        wanted = os.fsdecode(folder.names).split("\0")
        if sorted(names) != sorted(wanted):
            return False
        by_name = dict(zip(names, entries, strict=True))
        entries = [by_name[name] for name in wanted]
    kinds = folder.kinds
    if _stats(compress(entries, kinds.translate(_HAS_STAT))) != list(_ONE_STAT.iter_unpack(folder.stats)):
        return False
    if _ONLY_NAME not in kinds and _ONLY_NAME_FOLDER not in kinds:
        return True
    # `build/` ignores a folder, not a file of that name. Names with a tuple, or with a listing, need no such look.
    return all(
        entry.is_dir(follow_symlinks=False) == (kind == _ONLY_NAME_FOLDER)
        for entry, kind in zip(entries, kinds, strict=True)
        if kind in (_ONLY_NAME, _ONLY_NAME_FOLDER)
    )


# --- as bytes -----------------------------------------------------------------------------------------------------


def encode_listing(listing: TreeListing) -> bytes:
    """Return the listing as bytes with a checksum."""
    folders = listing.folders
    parts = [
        _HEADER.pack(_MAGIC, _VERSION, len(folders), listing.newest_ns),
        *(_FOLDER.pack(one.state, *map(len, one[:1] + one[2:])) for one in folders),
        *(part for column in (0, 2, 3, 4) for part in map(_column(column), folders)),
    ]
    data = b"".join(parts)
    return data + sha256(data).digest()


def decode_listing(data: bytes) -> TreeListing | None:
    """Return the listing in these bytes; None for anything that `encode_listing` did not write whole."""
    body = len(data) - _DIGEST_BYTES
    if body < _HEADER.size or sha256(memoryview(data)[:body]).digest() != data[body:]:
        return None
    magic, version, count, newest_ns = _HEADER.unpack_from(data)
    at = _HEADER.size + count * _FOLDER.size
    if magic != _MAGIC or version != _VERSION or at > body:
        return None
    table = array("I", data[_HEADER.size : at])
    lengths = [table[place::5] for place in range(1, 5)]
    # Before anything is cut: every length together must be exactly what is there.
    if at + sum(map(sum, lengths)) != body:
        return None
    columns: list[Iterator[bytes]] = []
    for column in lengths:
        columns.append(_cut(data, at, column))
        at += sum(column)
    raws, names, kinds, stats = columns
    listing = TreeListing(tuple(map(FolderListing, raws, table[::5], names, kinds, stats)), newest_ns)
    return listing if _is_whole(listing) else None


def _column(place: int) -> attrgetter[bytes]:
    return attrgetter(FolderListing._fields[place])


def _cut(data: bytes, at: int, lengths: Iterable[int]) -> Iterator[bytes]:
    for length in lengths:
        yield data[at : at + length]
        at += length


def _is_whole(listing: TreeListing) -> bool:
    """Whether everything that a comparison relies on holds, so that no folder and no name is left uncompared."""
    entered = 0
    for _, _, names, kinds, stats in listing.folders:
        if len(kinds) != (names.count(0) + 1 if names else 0) or kinds.translate(None, b"sdnD"):
            return False
        if len(stats) != kinds.count(_STAT) * _ONE_STAT.size:
            return False
        entered += kinds.count(_ENTERED)
    return len(listing.folders) == entered + 1 and not listing.folders[0].raw
