"""The make-believe model is the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cairn
from tests.conformance import conforms
from tests.support.fake_embedder import FakeEmbedder

# Where `cairn` and `tests` are imported from.
PACKAGES = (str(Path(cairn.__file__).parents[1]), str(Path(__file__).parents[2]))
TEXTS = [b"", b"def f(): pass", b"\xff\x00\xfe", "größe".encode()]


@conforms("003.CIT2")
def test_two_processes_with_different_hash_seeds_give_equal_bytes() -> None:
    code = (
        "import sys; from tests.support.fake_embedder import FakeEmbedder\n"
        f"sys.stdout.buffer.write(FakeEmbedder(100).embed({TEXTS!r}).tobytes())"
    )
    outputs = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(PACKAGES)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] == FakeEmbedder(100).embed(TEXTS).tobytes()


@conforms("003.CIT2")
def test_the_vectors_do_not_change_from_version_to_version() -> None:
    assert FakeEmbedder(4).embed([b"abc"]).tobytes().hex() == "438b5fbf4992df3e9be3483e88e4ba3d"


@pytest.mark.parametrize("dimension", [1, 31, 32, 33, 64])
def test_rows_have_unit_length_and_differ_by_content(dimension: int) -> None:
    vectors = FakeEmbedder(dimension).embed(TEXTS)
    assert vectors.shape == (4, dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert len({row.tobytes() for row in vectors}) == (4 if dimension > 1 else len({*vectors[:, 0].tolist()}))


def test_a_query_is_embedded_like_its_text_and_never_fails() -> None:
    fake = FakeEmbedder(8)
    assert fake.embed_query("größe").tobytes() == fake.embed(["größe".encode()])[0].tobytes()
    assert fake.embed_query("\udcff").shape == (8,)
    assert fake.embed([]).shape == (0, 8)
