"""One file of cached vectors: written once, and nothing in it is believed that does not prove itself.

Little endian: magic (8 bytes), format (u32), dimension (u32), count (u64), embed fingerprint (32); then `count` chunk
hashes of 32 bytes in ascending order; `count` seals of 16 bytes; the SHA-256 of everything so far; `count` vectors of
float32. A seal is the BLAKE2b of its vector, so a look-up checks the vectors it takes and need not read the others.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from hashlib import blake2b, sha256

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.model import Vectors
from cairn.store.fs import Map

PACK_FORMAT = 1
_MAGIC = b"CairnVec"
_HEAD = struct.Struct("<8sIIQ32s")
_KEY, _SEAL, _DIGEST = 32, 16, 32
_KEY_TYPE = np.dtype("S32")
_HEX = re.compile(r"[0-9a-f]{64}")

Keys = NDArray[np.bytes_]


class PackDamaged(Exception):
    """A pack is not what was written."""


class Pack:
    """The vectors of one file, looked up by chunk hash. Raises `PackDamaged` when opened or when asked, never lies."""

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
        """Let go of the file; a second call does nothing."""
        self.keys = np.empty(0, _KEY_TYPE)
        self._seals = memoryview(b"")
        self._data.close()

    def find(self, wanted: Keys) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which of the wanted keys are here, and in which rows."""
        rows = np.searchsorted(self.keys, wanted)
        rows[rows == len(self.keys)] = 0
        here = np.flatnonzero(self.keys[rows] == wanted) if len(self.keys) else np.empty(0, np.intp)
        return here, rows[here]

    def vectors(self, rows: Sequence[int]) -> Vectors:
        """The vectors of these rows, each proven."""
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
    """SHA-256 digests in hex as keys; refuses whatever is not one."""
    if not all(map(_HEX.fullmatch, hashes)):
        raise ValueError("a key has 64 hex digits")
    return np.frombuffer(bytes.fromhex("".join(hashes)), _KEY_TYPE)


def pack_size(count: int, dimension: int) -> int:
    """The bytes that a pack of so many vectors takes."""
    return _HEAD.size + _DIGEST + count * (_KEY + _SEAL + dimension * 4)


def pack_bytes(fingerprint: bytes, keys: Keys, vectors: Vectors) -> bytes:
    """A pack of these vectors. Where a key comes twice, the first counts."""
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
