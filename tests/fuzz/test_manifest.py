"""Whatever the bytes are, the outcome is a sound manifest or one typed error: no crash, no hang, no flood of memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_MANIFEST_BYTES, MIB
from cairn.errors import CairnError, Incompatible, StoreCorrupt
from cairn.store.format.manifest import decode_manifest, encode_manifest
from tests.fuzz.splices import Splices, spliced, splices
from tests.lengths import at_length
from tests.store.test_manifest import PLACES, SAMPLE, at, document, resealed

GOOD = encode_manifest(SAMPLE)
SECONDS = 5.0

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 200)
    | st.sampled_from([2**63, 2**64 - 1, 2**64, 10**30])
    | st.text(max_size=8)
    | st.sampled_from(["a" * 64, "a" * 40, "/", "..", "delete", "2026-01-01T12:00:00Z", SAMPLE.snapshot_id, "\x1b[2J"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "drop", "add", "twice", "copy"]), st.sampled_from(PLACES), VALUES),
    min_size=1,
    max_size=4,
)
MUTATIONS = splices(GOOD)


def fit_to_show(error: CairnError) -> bool:
    assert error.sentence.isprintable()
    assert len(error.sentence) < 300
    return True


def check(data: bytes) -> bool:
    """Whether it was read; then it is written again byte for byte."""
    try:
        manifest = decode_manifest(data)
    except (StoreCorrupt, Incompatible) as error:
        return not fit_to_show(error)
    assert encode_manifest(manifest) == data
    return True


def edited(edits: list[tuple[str, tuple[Any, ...], Any]]) -> dict[str, Any]:
    """The sample after some changes by a writer who knows the format; a change that finds no place is left out."""
    changed = document()
    for what, place, value in edits:
        try:
            holder, last = at(changed, place), place[-1]
            if isinstance(last, int) is not isinstance(holder, list):
                continue
            if what == "set":
                holder[last] = value
            elif what == "drop":
                del holder[last]
            elif what == "add":
                holder[last]["extra"] = value
            elif what == "twice":
                holder[last].append(holder[last][0])
            elif what == "copy" and isinstance(value, int):
                other = PLACES[value % len(PLACES)]
                holder[last] = deepcopy(at(changed, other)[other[-1]])
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    return changed


def check_edited(edits: list[tuple[str, tuple[Any, ...], Any]]) -> None:
    try:
        data = resealed(edited(edits))
    except UnicodeEncodeError:
        return
    check(data)


@given(st.binary(max_size=300))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_arbitrary_bytes_end_in_one_error(data: bytes) -> None:
    assert not check(data)


@given(MUTATIONS)
@settings(max_examples=66, derandomize=True, deadline=None)
def test_a_manifest_with_bytes_changed_is_refused(mutations: Splices) -> None:
    data = spliced(GOOD, mutations)
    assert check(data) is (data == GOOD)


@given(EDITS)
@settings(max_examples=66, derandomize=True, deadline=None)
def test_a_document_with_the_right_digest_is_read_whole_or_refused(
    edits: list[tuple[str, tuple[Any, ...], Any]],
) -> None:
    check_edited(edits)


# Made when they are needed: hundreds of MiB that every worker of a run would hold, and copy with every fork.
BOMBS: dict[str, Callable[[], bytes]] = {
    "brackets": lambda: b"[" * MAX_MANIFEST_BYTES,
    "objects in objects": lambda: b'{"a":' * (MAX_MANIFEST_BYTES // 5),
    "closed brackets": lambda: b"[" * (MAX_MANIFEST_BYTES // 2) + b"]" * (MAX_MANIFEST_BYTES // 2),
    "empty lists": lambda: b"[" + b"[]," * (MAX_MANIFEST_BYTES // 3 - 2) + b"[]]\n",
    "empty objects": lambda: b"[" + b"{}," * (MAX_MANIFEST_BYTES // 3 - 2) + b"{}]\n",
    "numbers": lambda: b"[" + b"7," * (MAX_MANIFEST_BYTES // 2 - 2) + b"7]\n",
    "long numbers": lambda: b"[" + (b"7" * 4_200 + b",") * (MAX_MANIFEST_BYTES // 4_201 - 1) + b"7]\n",
    "one number": lambda: b"7" * MAX_MANIFEST_BYTES,
    "one text": lambda: b'"' + b"a" * (MAX_MANIFEST_BYTES - 3) + b'"\n',
    "backslashes": lambda: b'"' + b"\\" * (MAX_MANIFEST_BYTES - 3) + b'"\n',
    "fields": lambda: b"{" + b",".join(b'"%06d":0' % i for i in range(MAX_MANIFEST_BYTES // 12)) + b"}\n",
    "zeros": lambda: bytes(MAX_MANIFEST_BYTES),
    "too much": lambda: b" " * (64 * MIB),
}


# Each takes two seconds; the long run has them too.
DEAR = {"fields", "empty lists"}


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.long) if one in DEAR else one for one in BOMBS])
def test_bytes_made_to_hurt_cost_little_time(name: str) -> None:
    data = BOMBS[name]()
    started = time.process_time()
    assert not check(data)
    assert time.process_time() - started < SECONDS


@pytest.mark.long
@pytest.mark.parametrize("name", ["fields", "empty lists"])
def test_bytes_made_to_hurt_cost_little_memory(name: str) -> None:
    tracemalloc.start()
    try:
        assert not check(BOMBS[name]())
        assert tracemalloc.get_traced_memory()[1] < 256 * MIB
    finally:
        tracemalloc.stop()


def test_a_sealed_flood_of_segments_is_refused_before_it_is_taken_apart() -> None:
    flood = document()
    flood["segments"] = [flood["segments"][0]] * 15_000
    data = resealed(flood)
    assert len(data) < MAX_MANIFEST_BYTES
    with pytest.raises(StoreCorrupt, match="segments is not a list of at most 64"):
        decode_manifest(data)


@pytest.mark.long
@given(MUTATIONS, EDITS)
@settings(max_examples=at_length(10_000), derandomize=True, deadline=None)
def test_many_more_manifests(mutations: Splices, edits: list[tuple[str, tuple[Any, ...], Any]]) -> None:
    check(spliced(GOOD, mutations))
    check_edited(edits)
