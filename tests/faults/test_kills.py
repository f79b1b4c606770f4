"""A real `cairn` is killed, or stopped with Ctrl-C, at any time; nothing is lost, and the next run goes on."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path

import pytest

from cairn.errors import TooManySegments
from tests.conformance import conforms
from tests.faults.people import Owner, kill

STOPPED = (
    "cairn: Stopped by you.\n  Nothing is lost: what had been published stays. Run the command again when you like.\n"
)


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(tmp_path, files=300, lines=5)


@pytest.fixture
def small(tmp_path: Path) -> Owner:
    """One worker is enough for it."""
    return Owner(tmp_path, files=60, lines=5)


def begun(owner: Owner, pid: int) -> bool:
    """Whether this run has the lease: before that, Python itself is still starting."""
    leases = owner.home.glob("data/*/locks/writer_lease.json")
    return any(f'"pid":{pid},' in lease.read_text() for lease in leases)


def test_a_run_that_is_killed_loses_nothing_that_it_had_sealed(small: Owner) -> None:
    owner = small
    tree = owner.write(1)
    command = owner.start("index")
    while not list(owner.home.glob("data/*/staging/*/1.json")) and command.poll() is None:
        time.sleep(0.001)
    assert kill(command, signal.SIGKILL, group=False)[0] == -signal.SIGKILL
    assert owner.look() is None
    status, out, _ = owner.run("sync", "--json")
    assert (status, json.loads(out)["adopted"] >= 5) == (0, True)
    assert owner.look() == tree
    assert owner.problems() == []


def kill_rounds(owner: Owner, rounds: int, seed: int) -> None:
    """Change a part of the tree, begin to catch up, get killed; see what a reader finds and what the next run does."""
    chance = random.Random(seed)
    began = time.monotonic()
    published = owner.write(0)
    assert owner.run("index")[0] == 0
    longest = time.monotonic() - began
    for number in range(1, rounds + 1):
        tree = owner.write(number, every=4)
        # Each sync leaves more segments behind, and there may be 64 in all.
        command = owner.start("reindex" if number % 5 == 4 else "sync")
        time.sleep(chance.uniform(0, longest))
        kill(command, signal.SIGKILL, group=bool(number % 2))
        found = owner.look()
        assert found in (published, tree), (seed, number)
        published = found
        assert owner.errors() == [], (seed, number)
        if number % 3:
            status, _, err = owner.run("sync")
            if status == TooManySegments.exit_status:
                # Each batch that was taken over is a segment of its own, and here batches are tiny.
                status, _, err = owner.run("reindex")
            assert (status, "Traceback" in err) == (0, False), (seed, number, err)
            assert owner.look() == tree, (seed, number)
            assert owner.problems() == [], (seed, number)
            published = tree


@conforms("003.LS1")
def test_a_kill_at_any_time_is_made_good_by_the_next_run(small: Owner) -> None:
    kill_rounds(small, 2, seed=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_forty_times_are_made_good(owner: Owner, seed: int) -> None:
    kill_rounds(owner, 20, seed)


def stop_rounds(owner: Owner, rounds: int, seed: int) -> None:
    """Ctrl-C goes to the run and its workers; one sentence, and the next run begins with what is there."""
    chance = random.Random(seed)
    tree = owner.write(0)
    for number in range(rounds):
        command = owner.start("index")
        while not begun(owner, command.pid) and command.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.5))
        status, out, err = kill(command, signal.SIGINT, group=True)
        if status == 0 or out:
            # It had ended, or published and was looking after the store, before the signal came.
            break
        # Ended by the signal itself, or with the number that a shell gives to that: Python has a case for each.
        assert status in (130, -signal.SIGINT), (seed, number, err)
        assert (out, err) == ("", STOPPED), (seed, number)
        assert owner.errors() == []
        found = owner.look()
        assert found in (None, tree), (seed, number)
        if found:
            # It had published, and the signal came before it could say so.
            break
    assert owner.run("sync")[0] == 0
    assert owner.look() == tree
    assert owner.errors() == []
    # A sync that finds nothing to do writes nothing: what a stopped merge has left waits for the next who writes.
    assert owner.run("gc")[0] == 0
    assert owner.look() == tree
    assert owner.problems() == []


def test_ctrl_c_is_answered_with_one_sentence_and_the_next_run_goes_on(owner: Owner) -> None:
    stop_rounds(owner, 1, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_ctrl_c_at_many_times_is_answered_with_one_sentence(owner: Owner, seed: int) -> None:
    stop_rounds(owner, 10, seed)
