from __future__ import annotations

import gc
import weakref

import pytest

from cairn.core import collector
from cairn.core.collector import no_cycle_collection
from tests.support.faults import Faults


def test_the_pause_ends_with_the_block_whatever_happens_in_it() -> None:
    assert gc.isenabled()
    with no_cycle_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(RuntimeError), no_cycle_collection():
        raise RuntimeError
    assert gc.isenabled()


def test_somebody_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with no_cycle_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


class Loop:
    """Only a search for cycles frees it."""

    def __init__(self) -> None:
        self.me = self


def test_cycles_that_a_pause_puts_aside_are_found_in_the_end(faults: Faults) -> None:
    faults.limit(collector, _MOST_POSTPONED=500)
    alive = weakref.WeakSet[Loop]()
    for _ in range(12):
        for _ in range(100):
            alive.add(Loop())
        with no_cycle_collection():
            pass
    assert len(alive) < 1_000
