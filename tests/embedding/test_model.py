"""What a model gives is checked before it is kept."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.embedding.model import check_vectors
from cairn.errors import EmbeddingFailed


def test_vectors_that_fit_are_given_back_as_float32() -> None:
    checked = check_vectors(np.eye(3)[:2], 2, 3)
    assert checked.dtype == np.float32
    assert checked.tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("shape", [(2, 4), (3, 3), (6,), (2, 3, 1)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(EmbeddingFailed, match="shape"):
        check_vectors(np.zeros(shape), 2, 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_a_value_that_is_not_finite_is_refused(value: float) -> None:
    vectors = np.zeros((2, 3))
    vectors[1, 2] = value
    with pytest.raises(EmbeddingFailed, match="finite"):
        check_vectors(vectors, 2, 3)
