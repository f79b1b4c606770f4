"""Merged segments hold what was live, hide nothing and show nothing else, whoever publishes in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import LeaseLost, PublishRefused
from cairn.store.format.layout import COMPACT_LOCK, MAPPING, STAGING, WORKSHOP, snapshot_folder
from cairn.store.format.manifest import Manifest
from cairn.store.fs import Fs
from cairn.store.publish import publish as publishing
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import open_view, parts_of, read_tombstones
from cairn.store.repair.verify import check
from cairn.store.tend.compact import Built, build, fits, holders, loads_of, plan, publish_merged, rewrite, workshop
from tests.conformance import conforms
from tests.store.disks import MemoryDisk
from tests.store.little import FewProcesses, draft, load, save
from tests.support.clock import ManualClock
from tests.support.faults import Faults

Files = Mapping[str, bytes]
NAMES = "abcdef"


def history(fs: Fs, states: Sequence[Files]) -> None:
    for files in states:
        save(fs, files)


def names(fs: Fs) -> list[str]:
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        return [ref.name for ref in view.manifest.segments]


def built(fs: Fs, groups: Sequence[Sequence[str]], folder: str) -> list[Built]:
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        return build(fs, view, groups, folder)


def merged(
    fs: Fs, groups: Sequence[Sequence[str]] | None = None, meanwhile: Callable[[], None] = lambda: None
) -> Manifest:
    """Merge these groups of segments, or all into one; others may do something before it is published."""
    groups = [names(fs)] if groups is None else groups
    with workshop(fs) as folder:
        made = built(fs, groups, folder)
        meanwhile()
        clock = ManualClock()
        with open_writer(fs, "store", RunKind.COMPACT, clock=clock, processes=FewProcesses()) as writer:
            assert fits(made, writer.base)
            return publish_merged(writer, made, clock)


STATES = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from([b"", b"one\n", b"two\n", b"x" * 40 + b"\n"]), max_size=6),
    min_size=1,
    max_size=8,
)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(STATES, STATES, st.data())
def test_whatever_is_merged_and_published_meanwhile_the_files_stay_the_same(
    states: list[dict[str, bytes]], later: list[dict[str, bytes]], data: st.DataObject
) -> None:
    fs = MemoryDisk()
    history(fs, states)
    if not names(fs):
        return
    group = data.draw(st.lists(st.sampled_from(names(fs)), min_size=1, unique=True))
    later = later[: data.draw(st.integers(0, 3))]
    manifest = merged(fs, [group], lambda: history(fs, later))
    assert load(fs) == [*states, *later][-1]
    assert check(fs) == []
    assert not {ref.name for ref in manifest.segments} & set(group)
    # Every tombstone that is left hides something: one dead file for each, at least.
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        hidden = {part.segment.keys()[file_id] for part in parts_of(view) for file_id in part.hidden}
        assert hidden == read_tombstones(fs, manifest.tombstones).keys()
    # And what comes afterwards hides the merged rows like any others.
    save(fs, {"a": b"after\n"})
    assert load(fs) == {"a": b"after\n"}
    assert check(fs) == []


@conforms("003.PHY3")
def test_idx_must_007_merging_drops_every_tombstone_that_hides_nothing_any_more() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n", "b": b"1\n"}, {"a": b"2\n", "b": b"1\n"}, {"a": b"2\n"}, {"a": b"3\n", "c": b"1\n"}])
    _, second, third = names(fs)
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        assert sum(ref.count for ref in view.manifest.tombstones) == 3
    partly = merged(fs, [[second, third]])
    # In the oldest segment `a` and `b` are still there, and still hidden.
    assert dict(read_tombstones(fs, partly.tombstones)).keys() == {"a", "b"}
    assert load(fs) == {"a": b"3\n", "c": b"1\n"}
    wholly = merged(fs)
    assert wholly.tombstones == ()
    assert wholly.counts.chunks_indexed == wholly.counts.chunks_live
    assert load(fs) == {"a": b"3\n", "c": b"1\n"}


def test_a_tombstone_file_that_is_needed_as_it_is_is_not_written_again() -> None:
    fs = MemoryDisk()
    history(
        fs,
        [
            {"a": b"1\n", "b": b"1\n"},
            {"b": b"1\n"},
            {"b": b"1\n", "c": b"1\n"},
            {"b": b"1\n", "c": b"1\n", "d": b"1\n"},
        ],
    )
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        before = view.manifest.tombstones
    assert merged(fs, [names(fs)[1:]]).tombstones == before


def test_tombstones_take_no_more_files_than_there_are_segments() -> None:
    fs = MemoryDisk()
    every = dict.fromkeys(NAMES, b"1\n")
    history(
        fs, [every, *(dict.fromkeys(NAMES[at:], b"1\n") for at in range(1, len(NAMES))), {"f": b"1\n", "g": b"2\n"}]
    )
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        assert len(view.manifest.tombstones) == 5
    save(fs, {"f": b"1\n", "g": b"2\n", "h": b"3\n"})
    after = merged(fs, [names(fs)[1:]])
    assert (len(after.segments), len(after.tombstones)) == (2, 1)
    assert load(fs) == {"f": b"1\n", "g": b"2\n", "h": b"3\n"}


@conforms("003.PHY5")
def test_a_sync_that_publishes_meanwhile_is_built_upon() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n", "b": b"1\n"}, {"a": b"2\n", "b": b"1\n"}])
    with workshop(fs) as folder:
        made = built(fs, [names(fs)], folder)
        # Another process changes one of the merged files, deletes the other, and brings a third.
        save(fs, {"a": b"3\n", "c": b"1\n"})
        clock = ManualClock()
        with open_writer(fs, "store", RunKind.COMPACT, clock=clock, processes=FewProcesses()) as writer:
            assert fits(made, writer.base)
            manifest = publish_merged(writer, made, clock)
    assert load(fs) == {"a": b"3\n", "c": b"1\n"}
    assert len(manifest.segments) == 2
    assert check(fs) == []


@conforms("003.PHY5")
def test_what_was_merged_from_segments_that_are_gone_is_thrown_away() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n"}, {"a": b"2\n"}])
    with workshop(fs) as folder:
        made = built(fs, [names(fs)], folder)
        save(fs, {"a": b"3\n"}, full=True)
        with open_writer(fs, "store", RunKind.COMPACT, clock=ManualClock(), processes=FewProcesses()) as writer:
            assert not fits(made, writer.base)
            assert not fits(made, None)
    assert load(fs) == {"a": b"3\n"}
    assert check(fs) == []


@conforms("003.PHY4")
def test_merged_segments_are_published_by_the_holder_of_the_lease_only() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n"}, {"a": b"2\n"}])
    clock = ManualClock()
    with workshop(fs) as folder:
        made = built(fs, [names(fs)], folder)
        with open_writer(fs, "store", RunKind.COMPACT, clock=clock, processes=FewProcesses(1, {1})) as writer:
            # It is taken for dead, and robbed.
            save(fs, {"a": b"thief\n"}, processes=FewProcesses(2, {2}))
            with pytest.raises(LeaseLost):
                publish_merged(writer, made, clock)
    assert load(fs) == {"a": b"thief\n"}
    save(fs, {"a": b"thief\n", "b": b"next\n"}, processes=FewProcesses(3, {3}))
    assert check(fs) == []


def test_no_run_touches_what_is_being_built() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n"}, {"a": b"2\n"}])
    with workshop(fs) as folder:
        made = built(fs, [names(fs)], folder)
        before = fs.list_folder(f"{folder}/0")
        save(fs, {"a": b"2\n", "b": b"1\n"}, processes=FewProcesses(2, {1, 2}))
        assert made[0].folder is not None
        assert fs.list_folder(made[0].folder) == before
    assert fs.list_folder(STAGING) == []


def test_one_builds_at_a_time_and_clears_away_what_a_dead_one_left() -> None:
    fs = MemoryDisk()
    save(fs, {"a": b"1\n"})
    fs.make_folder(WORKSHOP)
    fs.make_folder(f"{WORKSHOP}/0")
    with workshop(fs) as folder:
        assert fs.list_folder(folder) == []
        with pytest.raises(TimeoutError), fs.lock(COMPACT_LOCK, exclusive=True, timeout=0.0):
            pass  # pragma: no cover - it is held
    assert fs.list_folder(STAGING) == []


def test_merged_rows_of_a_killed_run_are_adopted_by_nobody() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n"}, {"a": b"2\n"}])
    with open_writer(fs, "store", RunKind.SYNC, clock=ManualClock(), processes=FewProcesses()) as writer:
        assert rewrite(writer, [names(fs)], ())[0].batch is not None
    with open_writer(fs, "store", RunKind.SYNC, clock=ManualClock(1), processes=FewProcesses()) as writer:
        assert writer.adopted == ()
    assert fs.list_folder(STAGING) == []
    assert load(fs) == {"a": b"2\n"}


def test_segments_in_which_nothing_lives_give_way_to_nothing() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n"}, {"b": b"1\n"}])
    dead, _ = names(fs)
    manifest = merged(fs, [[dead]])
    assert (len(manifest.segments), manifest.tombstones) == (1, ())
    assert load(fs) == {"b": b"1\n"}
    assert check(fs) == []


def test_a_sync_can_write_a_file_away_and_bring_others_in_one_publish() -> None:
    fs = MemoryDisk()
    history(
        fs,
        [
            {"a": b"1\n", "secret": b"old\n"},
            {"a": b"1\n", "secret": b"hush\n"},
            {"a": b"1\n", "secret": b"hush\n", "b": b"1\n"},
        ],
    )
    clock = ManualClock()
    wanted = {"a": b"1\n", "b": b"2\n"}
    with open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses()) as writer:
        assert writer.view is not None
        found = holders(writer.view, {"secret"})
        assert len(found) == 2
        rewrites = rewrite(writer, [sorted(found)], {"secret"})
        publish(writer, replace(draft(writer, wanted, clock), rewrites=rewrites), lambda: True, clock)
    assert load(fs) == wanted
    assert check(fs) == []
    with open_view(fs, "store") as view:  # type: ignore[union-attr]
        for part in parts_of(view):
            assert b"hush" not in bytes(part.segment.whole_text())
            assert b"old" not in bytes(part.segment.whole_text())


def test_a_plan_over_a_real_view_ends_in_few_segments() -> None:
    fs = MemoryDisk()
    files: dict[str, bytes] = {}
    for number in range(24):
        files[NAMES[number % 6]] = b"%d\n" % number
        save(fs, files)
        with open_view(fs, "store") as view:  # type: ignore[union-attr]
            groups = plan(loads_of(view))
        if groups:
            merged(fs, groups)
        assert load(fs) == files
    assert len(names(fs)) <= 9
    assert check(fs) == []


def test_a_run_that_writes_all_of_a_segment_away_leaves_no_empty_one() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n"}, {"a": b"1\n", "secret": b"hush\n"}])
    clock = ManualClock()
    with open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses()) as writer:
        rewrites = rewrite(writer, [names(fs)[1:]], {"secret"})
        assert rewrites[0].batch is None
        publish(writer, replace(draft(writer, {"a": b"1\n"}, clock), rewrites=rewrites), lambda: True, clock)
    assert len(names(fs)) == 1
    assert load(fs) == {"a": b"1\n"}
    assert check(fs) == []


def test_a_file_that_would_be_live_twice_is_found_among_many(faults: Faults) -> None:
    faults.limit(publishing, _MANY_FILES=2)
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n", "b": b"1\n", "c": b"1\n"}, {"a": b"1\n", "b": b"1\n", "c": b"1\n", "d": b"1\n"}])
    merged(fs, [names(fs)[:1]])
    assert load(fs) == {"a": b"1\n", "b": b"1\n", "c": b"1\n", "d": b"1\n"}
    clock = ManualClock()
    with open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses()) as writer:
        wanted = {"a": b"2\n", "b": b"2\n", "c": b"2\n", "d": b"1\n"}
        made = draft(writer, wanted, clock)
        forgetful = replace(made, layers=(replace(made.layers[0], tombstones=made.layers[0].tombstones[1:]),))
        with pytest.raises(PublishRefused, match="twice"):
            publish(writer, forgetful, lambda: True, clock)
    assert load(fs) == {"a": b"1\n", "b": b"1\n", "c": b"1\n", "d": b"1\n"}


@conforms("003.REP3")
def test_a_merge_says_which_file_went_to_which_segment() -> None:
    fs = MemoryDisk()
    history(fs, [{"a": b"1\n", "b": b"1\n"}, {"a": b"2\n", "b": b"1\n"}])
    manifest = merged(fs)
    lines = fs.read(f"{snapshot_folder(manifest.snapshot_id)}/{MAPPING}", 1_000).decode().splitlines()
    (segment,) = manifest.segments
    assert [json.loads(line) for line in lines] == [
        {"path_key": "a", "segment_id": segment.name},
        {"path_key": "b", "segment_id": segment.name},
    ]
