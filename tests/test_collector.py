from __future__ import annotations

import gc

import pytest

from cairn.collector import no_cycle_collection


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
