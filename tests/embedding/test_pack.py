"""A pack gives what was put in, and proves it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.embedding.pack import Pack, PackDamaged, as_keys, pack_bytes, pack_size
from cairn.store.fs import FileStat, Map

PRINT = b"f" * 32


def opened(data: bytes, fingerprint: bytes = PRINT) -> Pack:
    return Pack(Map(data, FileStat(1, 1, len(data), 0, 0, 0, 0)), fingerprint)


@given(st.lists(st.binary(min_size=32, max_size=32), unique=True, max_size=8), st.integers(1, 5))
def test_every_vector_is_found_under_its_key_and_no_other(keys: list[bytes], dimension: int) -> None:
    vectors = np.arange(len(keys) * dimension, dtype=np.float32).reshape(len(keys), dimension)
    data = pack_bytes(PRINT, as_keys([key.hex() for key in keys]), vectors)
    assert len(data) == pack_size(len(keys), dimension)
    pack = opened(data)
    wanted = as_keys([key.hex() for key in [b"?" * 32, *reversed(keys)]])
    here, rows = pack.find(wanted)
    found = dict(zip(here.tolist(), pack.vectors(rows.tolist()).tolist(), strict=True))
    expected = dict(enumerate(reversed(vectors.tolist()), 1))
    assert {place: vector for place, vector in found.items() if place} == expected
    assert (0 in found) == (b"?" * 32 in keys)
    pack.close()
    pack.close()


def test_the_same_vectors_give_the_same_bytes_in_any_order() -> None:
    keys = as_keys(["ab" * 32, "cd" * 32])
    vectors = np.array([[1, 2], [3, 4]], np.float32)
    assert pack_bytes(PRINT, keys, vectors) == pack_bytes(PRINT, keys[::-1], vectors[::-1])


def test_a_pack_of_another_fingerprint_is_not_believed() -> None:
    data = pack_bytes(PRINT, as_keys(["ab" * 32]), np.ones((1, 2), np.float32))
    with pytest.raises(PackDamaged):
        opened(data, b"g" * 32)


def test_a_vector_that_was_changed_is_refused_and_its_neighbour_is_not() -> None:
    keys = as_keys(["ab" * 32, "cd" * 32])
    data = pack_bytes(PRINT, keys, np.array([[1, 2], [3, 4]], np.float32))
    pack = opened(data[:-1] + b"\x7f")
    assert pack.vectors([0]).tolist() == [[1, 2]]
    with pytest.raises(PackDamaged):
        pack.vectors([1])
