"""Vectors keep their direction in a byte for each component, and a damaged one is never handed out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.errors import StoreCorrupt
from cairn.store.format.postings import approximate, quantize, read_vectors, vector_sections

# The smallest numbers of all have too few digits for any promise.
COMPONENTS = st.just(0.0) | st.floats(2.0**-60, 2.0**60, width=32) | st.floats(-(2.0**60), -(2.0**-60), width=32)
TABLES = st.integers(1, 8).flatmap(
    lambda width: st.lists(st.lists(COMPONENTS, min_size=width, max_size=width), max_size=6).map(
        lambda rows: np.array(rows, dtype=np.float32).reshape(len(rows), width)
    )
)


@given(TABLES)
def test_a_component_is_off_by_half_a_step_at_most(table: np.ndarray) -> None:
    vectors, scales = quantize(table)
    assert (vectors.dtype, scales.dtype) == (np.int8, np.float32)
    assert (np.abs(vectors.astype(int)) <= 127).all()
    back = approximate(vectors, scales)
    assert back.dtype == np.float32
    # A rounding of float32 itself, on top.
    most = scales.astype(float)[:, None] / 2 + np.abs(table.astype(float)) * 2.0**-22
    assert (np.abs(back.astype(float) - table.astype(float)) <= most).all()


@given(TABLES)
def test_what_was_written_is_read_back(table: np.ndarray) -> None:
    quantized = quantize(table)
    sections = {name: memoryview(data) for name, data in vector_sections(quantized)}
    again = read_vectors(sections, *table.shape)
    assert np.array_equal(again.vectors, quantized.vectors)
    assert np.array_equal(again.scales, quantized.scales)


def test_the_largest_component_is_127_and_zeros_have_no_scale() -> None:
    vectors, scales = quantize(np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0]], dtype=np.float32))
    assert vectors.tolist() == [[64, -127, 32], [0, 0, 0]]
    assert scales.tolist() == [np.float32(2 / 127), 0.0]


def test_numbers_too_small_for_a_scale_become_zero() -> None:
    vectors, scales = quantize(np.array([[1e-45, -1e-45]], dtype=np.float32))
    assert (vectors.tolist(), scales.tolist()) == ([[0, 0]], [0.0])


def test_no_rows_are_no_bytes() -> None:
    quantized = quantize(np.zeros((0, 4), np.float32))
    assert vector_sections(quantized) == [("vectors", b""), ("scales", b"")]
    assert read_vectors({"vectors": memoryview(b""), "scales": memoryview(b"")}, 0, 4).vectors.shape == (0, 4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        quantize(np.array([[0.5, bad]], dtype=np.float32))


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="table"):
        quantize(np.zeros(3, np.float32))


SOUND = {"vectors": memoryview(bytes(6)), "scales": memoryview(np.ones(2, "<f4").tobytes())}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"vectors": memoryview(bytes(5))}, "vectors has the wrong size"),
        ({"vectors": memoryview(bytes(8))}, "vectors has the wrong size"),
        ({"scales": memoryview(bytes(7))}, "scales has the wrong size"),
        ({"scales": memoryview(bytes(12))}, "scales has the wrong size"),
        ({"scales": memoryview(np.array([1, np.inf], "<f4").tobytes())}, "scales holds what is not a scale"),
        ({"scales": memoryview(np.array([np.nan, 1], "<f4").tobytes())}, "scales holds what is not a scale"),
        ({"scales": memoryview(np.array([1, -1], "<f4").tobytes())}, "scales holds what is not a scale"),
    ],
)
def test_sections_that_do_not_fit_are_refused(change: dict[str, memoryview], why: str) -> None:
    read_vectors(SOUND, 2, 3)
    with pytest.raises(StoreCorrupt) as refused:
        read_vectors({**SOUND, **change}, 2, 3)
    assert (refused.value.fields["artifact"], refused.value.fields["why"]) == ("vectors", why)


@pytest.mark.parametrize("name", SOUND)
def test_a_missing_section_is_refused(name: str) -> None:
    with pytest.raises(StoreCorrupt, match=f"{name} is missing"):
        read_vectors({key: data for key, data in SOUND.items() if key != name}, 2, 3)
