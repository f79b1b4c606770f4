from __future__ import annotations

import contextlib
import errno
from random import Random

import pytest

from cairn.errors import CairnError
from cairn.store.publish.generations import read_generation
from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import check
from tests.conformance import conforms
from tests.faults.failing import AGAIN, KINDS, Failing, Hit, calls_of, telling
from tests.faults.operations import OPERATIONS, catch_up, steady
from tests.faults.sweep import texts_in
from tests.store.disks import FailingDisk, Fault

BY_NAME = {operation.name: operation for operation in OPERATIONS}
NAMES = list(BY_NAME)


@conforms("003.ISO2")
@pytest.mark.parametrize("name", NAMES)
def test_whichever_call_fails_the_store_stays_whole_and_the_next_run_ends_it(name: str) -> None:
    """Every fortieth call, its kind of failure in turn; the long run does every call with every kind."""
    calls = telling(calls_of(BY_NAME[name]))
    turn = NAMES.index(name)
    faults = [Hit(at, KINDS[(place + turn) % len(KINDS)]) for place, at in enumerate(calls) if (place + turn) % 40 == 0]
    assert faults
    assert Failing(BY_NAME[name]).run(faults).lost == []


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_call_may_fail_in_every_way(name: str) -> None:
    calls = calls_of(BY_NAME[name])
    tally = Failing(BY_NAME[name]).run(Hit(at, kind) for kind in KINDS for at in range(1, len(calls) + 1))
    assert tally.lost == []
    assert tally.runs == len(calls) * len(KINDS)


# What follows a failure is short, but where a run goes on in spite of it.
PAIRED = ("sync", "batches adopted", "compact", "sync that forgets", "collect")
FARTHEST = 20


@pytest.mark.parametrize("name", PAIRED)
def test_two_failures_in_one_run_lose_nothing(name: str) -> None:
    """A few pairs, drawn by the name of the operation; the long run has them all."""
    chance = Random(name)
    calls = telling(calls_of(BY_NAME[name]))
    hits = [
        Hit(chance.choice(calls), chance.choice(KINDS), chance.randint(1, 12), chance.choice(KINDS)) for _ in range(3)
    ]
    assert Failing(BY_NAME[name]).run(hits).lost == []


@pytest.mark.long
@pytest.mark.parametrize("name", PAIRED)
def test_no_pair_of_failures_loses_anything(name: str) -> None:
    """Any call that fails, and after it any call that the run still makes, up to twenty calls later."""
    calls = telling(calls_of(BY_NAME[name]))
    kinds = len(KINDS)
    hits = [Hit(at, KINDS[place % kinds], then=KINDS[place // kinds % kinds]) for place, at in enumerate(calls)]
    tally = Failing(BY_NAME[name]).run_pairs(hits, FARTHEST)
    assert tally.lost == []
    assert tally.runs > 5 * len(calls)


@conforms("000.LIFE4")
def test_a_run_that_failed_before_its_number_was_won_leaves_no_proof_of_itself() -> None:
    operation = BY_NAME["sync"]
    calls = calls_of(operation)
    won = next(at for at, call in enumerate(calls, 1) if call.publishes)
    for at in range(won, 1, -20):
        disk = operation.prepare().crash("kill")
        with steady(), pytest.raises((CairnError, OSError)):
            operation.run(FailingDisk(disk, Fault(at, errno.EIO)))
        assert disk.list_folder("generations") == ["1"]
        assert len(disk.list_folder("snapshots")) == 1
        first = read_generation(disk, 1)
        assert first is not None
        assert first.completion is not None
        with open_view(disk, "store") as view:  # type: ignore[union-attr]
            assert view.manifest == first


@conforms("000.LIFE3")
def test_the_proof_comes_with_success_and_a_cleared_index_has_none() -> None:
    for name, proven in (("sync", True), ("clear", False)):
        disk = BY_NAME[name].prepare().crash("kill")
        with steady():
            BY_NAME[name].run(disk)
        manifest = read_generation(disk, 2)
        assert manifest is not None
        assert (manifest.completion is not None) == proven


def test_a_file_whose_sync_failed_is_never_published_and_the_same_process_recovers() -> None:
    """A daemon goes on with the very disk that has condemned the file: it can only be removed, never be looked at."""
    operation = BY_NAME["sync"]
    calls = calls_of(operation)
    synced = [at for at, call in enumerate(calls, 1) if call.what == "sync_file"]
    assert {calls[at - 1].path.rpartition("/")[2] for at in synced} > {"data.bin", "rows.sqlite", "manifest.json"}
    for at in synced:
        disk = operation.prepare().crash("kill")
        failing = FailingDisk(disk, Fault(at, errno.EIO))
        with steady(), contextlib.suppress(CairnError, OSError):
            operation.run(failing)
        assert failing.fired is not None
        with steady(100):
            catch_up(failing, AGAIN, operation.wanted)
        assert texts_in(failing) == operation.wanted
        assert check(failing) == []
