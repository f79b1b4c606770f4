"""Whatever the bytes of the lease are, the outcome is one sound record or one typed error; nobody waits for ever."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_STATE_BYTES, MIB
from cairn.errors import Incompatible, StoreBusy, StoreCorrupt
from cairn.store.publish.lease import decode_lease, encode_lease
from tests.fuzz.splices import Splices, spliced, splices
from tests.lengths import at_length
from tests.store.test_lease import HERE, RECORD, THERE, TTL, FakeProcesses, document, new_clock, new_disk, put, sealed
from tests.store.test_lease import take as take_lease

GOOD = encode_lease(RECORD)
MUTATIONS = splices(GOOD)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 200)
    | st.sampled_from(
        [2**31 - 1, 2**31, 2**63, 2**64 - 1, 2**64, 10**30, "sync", "", "..", "\x1b[2J", "a" * 65, [], {}]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
EDITS = st.dictionaries(st.sampled_from(sorted(document())) | st.text("xyz", max_size=3), VALUES, max_size=4)


def fit_to_show(error: StoreCorrupt) -> None:
    assert error.sentence.isprintable()
    assert len(error.sentence) < 300


def check(data: bytes) -> bool:
    """Whether it was read; whoever reads it as a lease can also wait for it and, in the end, take it."""
    disk, clock = new_disk(), new_clock()
    put(disk, data)
    try:
        record = decode_lease(data)
    except Incompatible:
        with pytest.raises(Incompatible):
            take_lease(disk, clock)
        return False
    except StoreCorrupt as error:
        fit_to_show(error)
        with pytest.raises(StoreBusy):
            take_lease(disk, clock)
        assert take_lease(disk, clock, wait=TTL + 2, floor=9).epoch == 10
        return False
    assert decode_lease(encode_lease(record)) == record
    if record.lease_epoch < 2**64 - 1:
        lease = take_lease(disk, clock, FakeProcesses(THERE, HERE, record.process))
        assert lease.epoch == record.lease_epoch + 1
    return True


@given(st.binary(max_size=300))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_arbitrary_bytes_end_in_one_error(data: bytes) -> None:
    assert not check(data)


@given(MUTATIONS)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_a_lease_with_bytes_changed_is_refused(mutations: Splices) -> None:
    data = spliced(GOOD, mutations)
    assert check(data) is (data == GOOD)


@given(EDITS)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_a_document_with_the_right_digest_is_read_whole_or_refused(edits: dict[str, Any]) -> None:
    check(sealed({**document(), **edits}))


@pytest.mark.parametrize("data", [b"[" * MAX_STATE_BYTES, b'{"a":' * 13_000, b"7" * MAX_STATE_BYTES, bytes(16 * MIB)])
def test_bytes_made_to_hurt_cost_little(data: bytes) -> None:
    started = time.process_time()
    assert not check(data)
    assert time.process_time() - started < 5.0


@pytest.mark.long
@given(MUTATIONS)
@settings(max_examples=at_length(20_000), derandomize=True, deadline=None)
def test_many_more_changes_of_bytes(mutations: Splices) -> None:
    data = spliced(GOOD, mutations)
    assert check(data) is (data == GOOD)


@pytest.mark.long
@given(EDITS)
@settings(max_examples=at_length(20_000), derandomize=True, deadline=None)
def test_many_more_documents_with_the_right_digest(edits: dict[str, Any]) -> None:
    check(sealed({**document(), **edits}))
