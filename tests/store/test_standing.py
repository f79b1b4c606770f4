"""The values that say where a store stands."""

from __future__ import annotations

from cairn.sync.inventory import DiskUse


def test_what_a_store_takes_is_the_sum_of_its_parts_and_nothing_of_others() -> None:
    assert (
        DiskUse(live=1, older=20, staging=300, quarantine=4_000, other=50_000, embedding_cache=9, free=9).total
        == 54_321
    )
