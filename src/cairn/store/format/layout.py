"""Name every path in a store. Paths are relative to the store's own folder.

ACTIVE_SNAPSHOT                     the pointer: the id of the snapshot that was published last
snapshots/ID/                       manifest.json, tombstones.jsonl (and -1, -2…), segment_file_index.jsonl
segments/NAME/                      rows.sqlite, data.bin; read-only
generations/N                       the manifest that claimed this number, or a fence: an empty file
staging/RUN/K/, staging/RUN/K.json  batches of a run that has not published yet, and the seal of each
staging/compact_work/K/             merged segments in the making; their builder holds compact.flock, not the lease
staging/pull_work/NAME/             segments on their way back from a search server
locks/                              writer_lease.json, lease_guard.lock, lease.flock, readers.lock, compact.flock,
                                    lease_seen.K.json for each clock on which somebody waits for a lease
quarantine/RUN/                     what a repair put aside, at the path that it had
sharing.json                        only in the store of a group, and says so
index_state.json, digests.json, tree.bin, last_used, progress.json,
settings.toml                                                           side files: each can be thrown away
"""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime

from cairn.errors import StoreCorrupt
from cairn.store.fs import Fs

# --- snapshot ids, segment names, and the pointer file that holds one id ----------------------------------------------


RANDOM_BYTES = 10

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# 26 characters could hold 130 bits, and an id has 128: the first character holds three.
_ID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_SNAPSHOT_ID = re.compile(_ID)
_SEGMENT_NAME = re.compile(rf"seg_{_ID}_(?:0|[1-9][0-9]{{0,5}})")
_POINTER_BYTES = 27
_MAX_MS = (1 << 48) - 1
# The last that a date can say.
_LATEST_SECOND = 253_402_300_799


def snapshot_id(wall_ns: int, randomness: bytes) -> str:
    """Return the id made from this time and these ten random bytes; equal inputs give equal ids."""
    if len(randomness) != RANDOM_BYTES:
        raise ValueError(f"a snapshot id takes {RANDOM_BYTES} random bytes")
    # A clock before 1970 or after the year 10,000 must not stop a publish: the random part alone makes ids distinct.
    milliseconds = min(max(wall_ns // 1_000_000, 0), _MAX_MS)
    number = milliseconds << 80 | int.from_bytes(randomness, "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def made_at(segment: str) -> datetime:
    """Return the second in which the run began that made the segment of this name, in UTC, by the clock that it had."""
    number = 0
    for letter in segment.split("_")[1]:
        number = number << 5 | _ALPHABET.index(letter)
    return datetime.fromtimestamp(min((number >> 80) // 1_000, _LATEST_SECOND), UTC)


def is_snapshot_id(text: str) -> bool:
    """Return whether `snapshot_id` can make this id; such a text is safe as a part of a path."""
    return _SNAPSHOT_ID.fullmatch(text) is not None


def segment_name(snapshot: str, number: int) -> str:
    """Return the name of the segment with this number, from 0, among the segments that the snapshot's run has made."""
    name = f"seg_{snapshot}_{number}"
    if not is_segment_name(name):
        raise ValueError("a segment is named after a snapshot id and a number below a million")
    return name


def is_segment_name(text: str) -> bool:
    """Return whether `segment_name` can make this name."""
    return _SEGMENT_NAME.fullmatch(text) is not None


def encode_pointer(snapshot: str) -> bytes:
    """Return the bytes of the pointer file: the id and a newline."""
    if not is_snapshot_id(snapshot):
        raise ValueError("the pointer holds a snapshot id")
    return f"{snapshot}\n".encode("ascii")


def decode_pointer(data: bytes) -> str:
    """Return the id in a pointer file. Refuses everything but one id and one newline: the id becomes part of a path."""
    # Latin-1 decodes any byte, and the pattern accepts only ASCII.
    text = data[: _POINTER_BYTES + 1].decode("latin-1")
    if not text.endswith("\n") or not is_snapshot_id(text[:-1]):
        raise StoreCorrupt(artifact="pointer", why=GARBAGE)
    return text[:-1]


POINTER = "ACTIVE_SNAPSHOT"
GARBAGE = "it does not hold one snapshot id and a newline"
SHARING = "sharing.json"
INDEX_STATE = "index_state.json"
DIGESTS = "digests.json"
TREE = "tree.bin"
LAST_USED = "last_used"
PROGRESS = "progress.json"
SETTINGS = "settings.toml"
SIDE_FILES = (INDEX_STATE, DIGESTS, TREE, LAST_USED, PROGRESS, SETTINGS)

SNAPSHOTS, SEGMENTS, GENERATIONS, STAGING, LOCKS = FOLDERS = "snapshots", "segments", "generations", "staging", "locks"
LEASE_LOCK, READERS_LOCK, COMPACT_LOCK = "locks/lease.flock", "locks/readers.lock", "locks/compact.flock"
_LOCK_FILES = (LEASE_LOCK, READERS_LOCK, COMPACT_LOCK)
LOCK_NAMES = ("writer_lease.json", "lease_guard.lock", "lease.flock", "readers.lock", "compact.flock")

# This is not the name of a run, so no run that writes looks there.
WORKSHOP = "staging/compact_work"

# The first repair that needs the quarantine makes it; only a person empties it.
QUARANTINE = "quarantine"
# Every name that may stand in the folder of a store itself.
OWN_NAMES = frozenset({POINTER, SHARING, QUARANTINE, *SIDE_FILES, *FOLDERS})

MANIFEST = "manifest.json"
MAPPING = "segment_file_index.jsonl"

_GENERATION = re.compile("[1-9][0-9]{0,18}")
_TEMP_END = ".tmp"
_SIGHTING = re.compile(r"lease_seen\.[0-9a-f]{16}\.json")


def create_store(fs: Fs) -> None:
    """Make the folders and locks of a store, and make them safe; whatever exists stays as it is."""
    for folder in FOLDERS:
        with contextlib.suppress(FileExistsError):
            fs.make_folder(folder)
    for lock in _LOCK_FILES:
        with contextlib.suppress(FileExistsError):
            fs.create_bytes(lock, b"")
    fs.sync_folder(LOCKS)
    fs.sync_folder("")


def is_created(fs: Fs) -> bool:
    """Return whether all folders and locks exist: a power cut during `create_store` can leave any part of them out."""
    try:
        for name in (*FOLDERS, *_LOCK_FILES):
            fs.stat(name)
    except FileNotFoundError:
        return False
    return True


def snapshot_folder(snapshot: str) -> str:
    """Return the folder of a snapshot's manifest and tombstones."""
    return f"{SNAPSHOTS}/{snapshot}"


def manifest_path(snapshot: str) -> str:
    """Return the path of a snapshot's manifest under its own name."""
    return f"{SNAPSHOTS}/{snapshot}/{MANIFEST}"


def segment_folder(name: str) -> str:
    """Return the folder of a published segment."""
    return f"{SEGMENTS}/{name}"


def generation_path(number: int) -> str:
    """Return the path of the manifest that claimed this number, or of a fence."""
    return f"{GENERATIONS}/{number}"


def generation_number(name: str) -> int | None:
    """Return the number that a name in `generations/` stands for; None for any other name."""
    return int(name) if _GENERATION.fullmatch(name) else None


def staging_folder(run: str) -> str:
    """Return the folder of a run's unpublished batches."""
    return f"{STAGING}/{run}"


def batch_folder(run: str, number: int) -> str:
    """Return the folder of one batch of a run."""
    return f"{STAGING}/{run}/{number}"


def batch_seal(run: str, number: int) -> str:
    """Return the path of the document that says that a batch is whole."""
    return f"{STAGING}/{run}/{number}.json"


def temp_path(path: str, run: str) -> str:
    """Return the path at which a run writes a small file before swapping it in; two runs never share it."""
    return f"{path}.{run}{_TEMP_END}"


def is_temp(name: str) -> bool:
    """Return whether this is the name of a temporary file, which was never swapped in."""
    return name.endswith(_TEMP_END)


def sighting_name(clock: str) -> str:
    """What the note of a first look at the lease is called; `clock` is the digest that names the clock it was on."""
    return f"lease_seen.{clock[:16]}.json"


def is_sighting(name: str) -> bool:
    """Whether this is a name as `sighting_name` makes them."""
    return _SIGHTING.fullmatch(name) is not None
