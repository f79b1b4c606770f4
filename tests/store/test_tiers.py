"""Which segments are merged: few enough stay, little of them is dead, and none is written again for nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import (
    COMPACTION_DEAD_SHARE,
    COMPACTION_OVERDUE_SEGMENTS,
    COMPACTION_OVERDUE_TOMBSTONES,
    FULL_GROWN_TEXT_BYTES,
    MIB,
)
from cairn.store.format.manifest import TombstoneRef
from cairn.store.tend.compact import Load, is_overdue, loads_of, plan
from tests.store.disks import MemoryDisk
from tests.store.little import open_view, save
from tests.store.test_manifest import SAMPLE


def load(number: int, text: int, dead: int = 0, files: int = 1) -> Load:
    return Load(f"s{number}", text, dead, files)


def test_eight_small_segments_are_left_in_peace_and_nine_become_one() -> None:
    small = [load(number, 1_000) for number in range(9)]
    assert plan(small[:8]) == []
    assert plan(small) == [tuple(each.name for each in small)]


def test_a_large_segment_is_not_written_again_for_a_few_small_ones() -> None:
    base = load(99, 20 * MIB)
    small = [load(number, 1_000) for number in range(9)]
    assert plan([base, *small]) == [tuple(each.name for each in small)]


def test_a_middling_segment_goes_with_small_ones_that_are_an_eighth_of_it() -> None:
    small = [load(number, 1_000) for number in range(9)]
    assert plan([load(99, 9_000), *small]) == [("s99", *(each.name for each in small))]


def test_a_segment_in_which_nothing_lives_goes_with_the_next_merge() -> None:
    dead = load(50, 100, 100, 0)
    assert plan([load(0, 5_000), dead]) == []
    assert plan([load(0, 5_000), dead], everything=True) == [("s0", "s50")]
    grown = load(99, FULL_GROWN_TEXT_BYTES)
    small = [load(number, 1_000) for number in range(9)]
    assert plan([grown, dead, *small]) == [("s50", *(each.name for each in small))]


def test_a_tenth_of_the_text_may_be_dead_and_no_more() -> None:
    whole, worn = [load(number, 1_000) for number in range(4)], load(9, 1_000, 500)
    assert plan([*whole, worn]) == []
    assert plan([*whole, worn._replace(dead=501)]) == [("s9",)]


def test_a_small_tree_is_not_written_anew_for_every_save() -> None:
    assert plan([load(0, 100, 60), load(1, 50, 50, 0), load(2, 40)]) == []


def test_only_as_many_are_written_again_for_their_dead_as_it_takes() -> None:
    loads = [load(0, 1_000, 300), load(1, 1_000, 200), load(2, 1_000, 60), load(3, 1_000), load(4, 1_000)]
    assert plan(loads) == [("s0", "s1")]


def test_half_of_the_text_is_full_grown_and_left_in_peace_by_the_younger() -> None:
    grown = [load(90, 4 * MIB)]
    young = [load(number, 300_000) for number in range(9)]
    assert plan([*grown, *young]) == [tuple(each.name for each in young)]
    assert plan([*grown, *young], everything=True) == [tuple(each.name for each in [*grown, *young])]
    # The same among so little text that half of it is no size for a segment.
    assert plan([load(90, 200_000), *(load(number, 30_000) for number in range(9))])[0][0] == "s90"


def test_what_dies_in_a_young_segment_does_not_write_the_full_grown_one_again() -> None:
    worn = [load(number, 600_000, 500_000) for number in range(4)]
    assert plan([load(90, 4 * MIB, 10_000), *worn]) == [("s0", "s1", "s2", "s3")]


def test_when_all_are_worn_all_are_written_again() -> None:
    assert plan([load(number, 1_000, 500) for number in range(5)]) == [("s0", "s1", "s2", "s3", "s4")]


def test_full_grown_segments_are_never_merged_for_their_number() -> None:
    grown = [load(number, FULL_GROWN_TEXT_BYTES) for number in range(20)]
    assert plan(grown) == []
    assert plan(grown, everything=True) == []


def test_no_group_holds_more_than_two_full_grown_segments_do() -> None:
    young = [load(number, 10 * MIB) for number in range(20)]
    groups = plan(young)
    assert sorted(name for group in groups for name in group) == sorted(each.name for each in young)
    assert max(map(len, groups)) * 10 * MIB <= 2 * FULL_GROWN_TEXT_BYTES


def test_whoever_asks_for_everything_gets_one_segment_without_anything_dead() -> None:
    assert plan([load(0, 1_000, 1), load(1, 10)], everything=True) == [("s0", "s1")]
    assert plan([load(0, 1_000, 1)], everything=True) == [("s0",)]
    assert plan([load(0, 1_000)], everything=True) == []


def test_what_must_be_written_again_is_even_when_all_of_it_is_live() -> None:
    assert plan([load(0, 1_000), load(1, 10)], also={"s0"}) == [("s0",)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 1 << 30))
def test_a_long_life_stays_at_about_ten_segments_and_writes_a_row_a_few_times(seed: int) -> None:
    draw = random.Random(seed)
    loads, made, written, merged = [load(0, 8 * MIB)], 0, 0, 0
    most = 0
    for number in range(1, 1_500):
        size = draw.randrange(1_000, 60_000)
        # The older version of the file dies where it lies, which is mostly in the largest segment.
        worn = draw.choices(range(len(loads)), [each.live for each in loads])[0]
        loads[worn] = loads[worn]._replace(dead=min(loads[worn].text - 1, loads[worn].dead + size))
        loads.append(load(number, size))
        made += size
        for group in plan(loads):
            gone = [each for each in loads if each.name in group]
            merged += 1
            loads = [each for each in loads if each not in gone]
            loads.append(load(10_000 + merged, sum(each.live for each in gone)))
            written += loads[-1].text
        most = max(most, len(loads))
        total, dead = sum(each.text for each in loads), sum(each.dead for each in loads)
        assert dead <= total * COMPACTION_DEAD_SHARE or len(loads) <= 4
    assert most <= 14
    assert written <= 25 * made


def test_a_view_says_what_its_segments_hold() -> None:
    fs = MemoryDisk()
    save(fs, {"a": b"one\n", "b": b"two\n"})
    save(fs, {"a": b"one\n", "b": b"changed\n"})
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        first, second = loads_of(view)
    assert (first.text, first.dead, first.live_files) == (10, 4, 1)
    assert (second.text, second.dead, second.live_files) == (9, 0, 1)


@pytest.mark.parametrize(
    ("segments", "tombstones", "overdue"), [(47, 199_999, False), (48, 0, True), (1, 200_000, True)]
)
def test_merging_is_overdue_at_the_numbers_that_are_shipped(segments: int, tombstones: int, overdue: bool) -> None:
    assert (COMPACTION_OVERDUE_SEGMENTS, COMPACTION_OVERDUE_TOMBSTONES) == (48, 200_000)
    buried = TombstoneRef(SAMPLE.tombstones[0].path, 1, tombstones, 1, "0" * 64)
    assert is_overdue(replace(SAMPLE, segments=SAMPLE.segments[:1] * segments, tombstones=(buried,))) is overdue
