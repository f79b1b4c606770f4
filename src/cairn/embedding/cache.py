"""Vectors that were dear to make, kept for all stores of the user: (embed fingerprint, chunk hash) → vector.

The folder holds packs, `<sequence>-<fingerprint>.pack`, each written once. Writers take turns by a lock; readers take
none, since a pack that is removed stays whole for those who have opened it. What was put is synced and survives a cut.

*Small packs* do not pile up: a new one takes in the newest of its kind that are no larger than itself, so that their
number grows with the logarithm of what was put.

*Eviction* removes the packs of the lowest sequence, before a new one is written. What is found in a pack that has half
of the cache behind it is put again, into a new pack; so whatever was put or found stays until at least half the
cache's size was written after it, and what nobody asks for goes first.

A cache may forget and must not lie or fail: a pack that does not prove itself is removed, and a disk that is full or
broken only means that nothing is found or kept.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b, sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cairn.core.limits import EMBED_CACHE_BYTES, MAX_EMBED_BATCH
from cairn.embedding.model import Embedder, Vectors, check_vectors
from cairn.store import Fs, Map

# --- packs ------------------------------------------------------------------------------------------------------------


PACK_FORMAT = 1
_MAGIC = b"CairnVec"
_HEAD = struct.Struct("<8sIIQ32s")
_KEY, _SEAL, _DIGEST = 32, 16, 32
_KEY_TYPE = np.dtype("S32")
_HEX = re.compile(r"[0-9a-f]{64}")

Keys = NDArray[np.bytes_]


class PackDamaged(Exception):
    """The bytes of a pack are not those that were written."""


class Pack:
    """The vectors of one file, looked up by chunk hash; raises `PackDamaged` when the bytes prove to be wrong."""

    def __init__(self, data: Map, fingerprint: bytes) -> None:
        self._data = data
        view, size = data.view, len(data.view)
        if size < _HEAD.size:
            raise PackDamaged
        magic, version, self.dimension, count, written_for = _HEAD.unpack_from(view)
        at_seals = _HEAD.size + count * _KEY
        at_digest = at_seals + count * _SEAL
        self._at_vectors = at_digest + _DIGEST
        # Before anything is allocated: a header may claim any number of vectors.
        if size != self._at_vectors + count * self.dimension * 4:
            raise PackDamaged
        if (magic, version, written_for) != (_MAGIC, PACK_FORMAT, fingerprint) or (
            sha256(view[:at_digest]).digest() != view[at_digest : self._at_vectors]
        ):
            raise PackDamaged
        self._seals = view[at_seals:at_digest]
        self.keys: Keys = np.frombuffer(view, _KEY_TYPE, count, _HEAD.size)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.keys = np.empty(0, _KEY_TYPE)
        self._seals = memoryview(b"")
        self._data.close()

    def find(self, wanted: Keys) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which of the wanted keys this pack holds, and their rows."""
        rows = np.searchsorted(self.keys, wanted)
        rows[rows == len(self.keys)] = 0
        here = np.flatnonzero(self.keys[rows] == wanted) if len(self.keys) else np.empty(0, np.intp)
        return here, rows[here]

    def vectors(self, rows: Sequence[int]) -> Vectors:
        """Return the vectors of these rows, each verified."""
        found = np.empty((len(rows), self.dimension), "<f4")
        width = self.dimension * 4
        for place, row in enumerate(rows):
            start = self._at_vectors + row * width
            vector = self._data.view[start : start + width]
            if _seal(vector) != self._seals[row * _SEAL :][:_SEAL]:
                raise PackDamaged
            found[place] = np.frombuffer(vector, "<f4")
        return found.astype(np.float32, copy=False)


def as_keys(hashes: Sequence[str]) -> Keys:
    """Return SHA-256 digests in hex as keys; refuses any other text."""
    if not all(map(_HEX.fullmatch, hashes)):
        raise ValueError("a key has 64 hex digits")
    return np.frombuffer(bytes.fromhex("".join(hashes)), _KEY_TYPE)


def pack_size(count: int, dimension: int) -> int:
    """Return the size in bytes of a pack of so many vectors."""
    return _HEAD.size + _DIGEST + count * (_KEY + _SEAL + dimension * 4)


def pack_bytes(fingerprint: bytes, keys: Keys, vectors: Vectors) -> bytes:
    """Return the bytes of a pack of these vectors. Where a key comes twice, the first counts."""
    keys, first = np.unique(keys, return_index=True)
    rows = np.ascontiguousarray(vectors[first], "<f4")
    # Bytes of an array, not its items: an item of type S loses the zeros at its end.
    names, data = keys.tobytes(), memoryview(rows.tobytes())
    width = rows.shape[1] * 4
    seals = b"".join(_seal(data[row * width : (row + 1) * width]) for row in range(len(keys)))
    index = _HEAD.pack(_MAGIC, PACK_FORMAT, rows.shape[1], len(keys), fingerprint) + names + seals
    return b"".join((index, sha256(index).digest(), data))


def _seal(vector: memoryview) -> bytes:
    return blake2b(vector, digest_size=_SEAL).digest()


_NAME = re.compile(r"([0-9]{12})-([0-9a-f]{64})\.pack")
_LOCK, _NEW = "guard.lock", "new.tmp"
_LOCK_SECONDS = 5.0
# The largest pack is this part of the cache, so that eviction forgets in small steps.
_STEPS = 16


class _Name(NamedTuple):
    """The position of a pack in the order of age, and the fingerprint whose vectors it holds."""

    sequence: int
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.sequence:012d}-{self.fingerprint}.pack"


class EmbeddingCache(AbstractContextManager["EmbeddingCache"]):
    """A bounded memory of vectors on disk, shared by processes, for one thread of each. A context manager."""

    def __init__(self, fs: Fs, most_bytes: int = EMBED_CACHE_BYTES) -> None:
        self._fs = fs
        self._most = most_bytes
        self._patience = _LOCK_SECONDS
        self._packs: dict[_Name, Pack] = {}
        self._sizes: dict[_Name, int] = {}

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all packs; a second call does nothing."""
        while self._packs:
            self._packs.popitem()[1].close()

    def get_many(self, fingerprint: str, chunk_hashes: Sequence[str]) -> dict[int, Vectors]:
        """Return the known vectors, by the position of their hash in the list."""
        wanted = as_keys(chunk_hashes)
        found: dict[int, Vectors] = {}
        aging: list[int] = []
        left = np.arange(len(wanted))
        with contextlib.suppress(OSError):
            names = self._names()
            behind = 0
            for name in sorted(names, reverse=True):
                if name.fingerprint == fingerprint and len(left):
                    here = self._look_up(name, wanted[left])
                    found |= {int(left[place]): vector for place, vector in here.items()}
                    aging += [int(left[place]) for place in here if behind > self._most // 2]
                    left = np.delete(left, list(here))
                behind += names[name]
        if aging:
            again = np.stack([found[place] for place in aging])
            self.put_many(fingerprint, [chunk_hashes[place] for place in aging], again)
        return found

    def put_many(self, fingerprint: str, chunk_hashes: Sequence[str], vectors: Vectors) -> None:
        """Store these vectors, if the disk permits. Refuses what `check_vectors` refuses."""
        keys = as_keys(chunk_hashes)
        as_keys([fingerprint])
        vectors = check_vectors(vectors, len(keys), vectors.shape[-1])
        row = pack_size(1, vectors.shape[1])
        at_once = max(1, self._most // _STEPS // row)
        # A disk that is full, fails or is not ours to write: forget.
        with contextlib.suppress(OSError), self._writing():
            for start in range(0, len(keys), at_once):
                part = slice(start, start + at_once)
                self._add(fingerprint, keys[part], vectors[part])

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the right to add and evict packs; on entry, clear away what a killed writer left."""
        with contextlib.suppress(FileExistsError):
            self._fs.create_bytes(_LOCK, b"")
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._fs.lock(_LOCK, exclusive=True, timeout=self._patience))
            except TimeoutError:
                # A writer that was stopped may hold it for hours: wait for it once, not with every batch.
                self._patience = 0.0
                raise
            with contextlib.suppress(FileNotFoundError):
                self._fs.remove(_NEW)
            yield

    def _add(self, fingerprint: str, keys: Keys, vectors: Vectors) -> None:
        names = self._names()
        name = _Name(max(names, default=_Name(0, "")).sequence + 1, fingerprint)
        taken: list[_Name] = []
        for older in sorted((one for one in names if one.fingerprint == fingerprint), reverse=True):
            together = pack_size(len(keys), vectors.shape[1]) + names[older]
            if 2 * names[older] > together or together > self._most // _STEPS:
                break
            if (pack := self._open(older)) is not None:
                try:
                    more = pack.vectors(range(len(pack.keys)))
                except PackDamaged:
                    self._forget(older)
                    continue
                keys, vectors = np.concatenate((keys, pack.keys)), np.concatenate((vectors, more))
                taken.append(older)
        data = pack_bytes(bytes.fromhex(fingerprint), keys, vectors)
        self._make_room(len(data))
        if len(data) <= self._most:
            self._write(str(name), data)
            for older in taken:
                self._forget(older)

    def _make_room(self, size: int) -> None:
        names = self._names()
        total = sum(names.values())
        for name in sorted(names):
            if total + size <= self._most:
                break
            self._forget(name)
            total -= names[name]

    def _write(self, name: str, data: bytes) -> None:
        try:
            self._fs.create_bytes(_NEW, data)
            self._fs.sync_file(_NEW)
            # Only a whole file ever bears the name of a pack.
            self._fs.claim(_NEW, name)
        finally:
            self._fs.remove(_NEW)
        self._fs.sync_folder("")

    def _names(self) -> dict[_Name, int]:
        """Return all packs and their sizes; closes packs that are gone."""
        matches = filter(None, map(_NAME.fullmatch, self._fs.list_folder("")))
        names = {_Name(int(match[1]), match[2]) for match in matches}
        for gone in self._sizes.keys() - names:
            del self._sizes[gone]
        for gone in self._packs.keys() - names:
            self._packs.pop(gone).close()
        for name in names - self._sizes.keys():
            # Another process may evict the pack meanwhile.
            with contextlib.suppress(FileNotFoundError):
                self._sizes[name] = self._fs.stat(str(name)).size
        return self._sizes.copy()

    def _look_up(self, name: _Name, wanted: Keys) -> dict[int, Vectors]:
        """Return the wanted vectors that this pack holds, by the position of their key."""
        pack = self._open(name)
        if pack is None:
            return {}
        here, rows = pack.find(wanted)
        try:
            vectors = pack.vectors(rows.tolist())
        except PackDamaged:
            self._forget(name)
            return {}
        return dict(zip(here.tolist(), vectors, strict=True))

    def _open(self, name: _Name) -> Pack | None:
        """Return the pack; None when it is gone, or when it was damaged and has been removed."""
        if name not in self._packs:
            try:
                data = self._fs.open_map(str(name))
            except FileNotFoundError:
                return None
            try:
                self._packs[name] = Pack(data, bytes.fromhex(name.fingerprint))
            except PackDamaged:
                data.close()
                self._forget(name)
                return None
        return self._packs[name]

    def _forget(self, name: _Name) -> None:
        if name in self._packs:
            self._packs.pop(name).close()
        with contextlib.suppress(FileNotFoundError):
            self._fs.remove(str(name))


def embed_with_cache(
    embedder: Embedder,
    cache: EmbeddingCache | None,
    fingerprint: str,
    chunk_hashes: Sequence[str],
    texts: Sequence[bytes],
    beat: Callable[[], None] = lambda: None,
) -> Vectors:
    """Return the vectors of these texts; equal texts are embedded once, and costly vectors are cached.

    A chunk hash must stand for its text; the fingerprint, for the embedder and all that shapes a text. A model that is
    not cheap gets few texts at a time; its vectors are stored at once, and `beat` is called.
    """
    dimension = embedder.identity.dimension
    if embedder.cheap or cache is None:
        return check_vectors(embedder.embed(texts), len(texts), dimension)
    vectors = np.zeros((len(texts), dimension), np.float32)
    found = cache.get_many(fingerprint, chunk_hashes)
    for place, vector in found.items():
        vectors[place] = vector
    missing: dict[str, list[int]] = {}
    for place, chunk_hash in enumerate(chunk_hashes):
        if place not in found:
            missing.setdefault(chunk_hash, []).append(place)
    wanted = list(missing)
    for start in range(0, len(wanted), MAX_EMBED_BATCH):
        part = wanted[start : start + MAX_EMBED_BATCH]
        fresh = check_vectors(embedder.embed([texts[missing[one][0]] for one in part]), len(part), dimension)
        cache.put_many(fingerprint, part, fresh)
        for one, vector in zip(part, fresh, strict=True):
            vectors[missing[one]] = vector
        beat()
    return vectors
