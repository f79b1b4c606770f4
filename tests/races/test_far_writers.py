"""A writer in another container or on another machine: dead it blocks for its term and no longer, alive it is safe."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance import conforms
from tests.lengths import at_length
from tests.races.far_model import run_schedules

# What a run of schedules must have met to mean anything.
MET = (
    "published",
    "claim lost",
    "told that it was robbed",
    "taken from the dead",
    "taken from a sleeper",
    "waited in vain",
    "slept",
    "rebooted",
    "note hurt",
    "lease hurt",
)


def check(happened: Counter[str]) -> None:
    print(dict(happened))
    assert all(happened[name] for name in MET)


@conforms("003.LS1", "003.LS4", "003.LS9")
def test_in_no_schedule_is_a_living_writer_robbed_a_dead_one_believed_or_a_number_published_twice() -> None:
    check(run_schedules(1_000, seed=1))


def test_the_note_of_one_clock_under_the_name_of_another_counts_as_none() -> None:
    """As a folder that was copied from another machine holds it: 15,485 schedules had passed before one showed this."""
    run_schedules(1, seed=1_015_485)


@pytest.mark.long
def test_nor_in_many_schedules() -> None:
    check(run_schedules(at_length(20_000), seed=100_001))
