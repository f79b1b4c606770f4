"""Who came first: one winner for each number, fences that hold, and the newest sound manifest whatever is damaged."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace

import pytest

from cairn.errors import LeaseLost, StoreCorrupt
from cairn.store.format.layout import POINTER, encode_pointer, generation_path, manifest_path
from cairn.store.format.manifest import Manifest, encode_manifest
from cairn.store.publish.generations import (
    Claims,
    claim,
    is_published,
    plant_fence,
    published,
    read_claims,
    read_generation,
)
from tests.conformance import conforms
from tests.store.disks import FailingDisk, Fault, MemoryDisk, TracingDisk
from tests.store.little import part_names, rewrite, save

OTHER = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"


def three() -> tuple[MemoryDisk, list[Manifest]]:
    """A store with three snapshots."""
    fs = MemoryDisk()
    manifests = [save(fs, {"a.txt": b"%d\n" % number}) for number in range(3)]
    return fs, [manifest for manifest in manifests if manifest is not None]


def found(fs: MemoryDisk) -> list[int]:
    return [manifest.generation for manifest in published(fs, read_claims(fs), [])]


def put_manifest(fs: MemoryDisk, manifest: Manifest) -> None:
    fs.make_folder(f"snapshots/{manifest.snapshot_id}")
    fs.create_bytes(manifest_path(manifest.snapshot_id), encode_manifest(manifest))


# --- the pointer, and what was won after it ---------------------------------------------------------------------------


def test_the_pointer_names_the_newest() -> None:
    fs, manifests = three()
    assert read_claims(fs) == Claims(manifests[2], None, ())
    assert read_claims(fs).newest == 3
    assert found(fs) == [3, 2, 1]


def test_nothing_was_ever_published_in_an_empty_folder() -> None:
    assert read_claims(MemoryDisk()) == Claims(None, None, ())
    assert read_claims(MemoryDisk()).newest == 0
    assert found(MemoryDisk()) == []


def test_a_number_won_after_the_pointer_counts_more_than_the_pointer() -> None:
    fs, manifests = three()
    rewrite(fs, POINTER, encode_pointer(manifests[0].snapshot_id))
    assert read_claims(fs) == Claims(manifests[0], None, (2, 3))
    assert read_claims(fs).newest == 3
    assert found(fs) == [3, 2, 1]


def test_fences_are_numbers_but_no_manifests() -> None:
    fs, _ = three()
    assert plant_fence(fs, 3) == 4
    assert read_claims(fs).later == (4,)
    assert read_claims(fs).newest == 4
    assert found(fs) == [3, 2, 1]
    assert read_generation(fs, 4) is None


def test_other_names_in_the_folder_are_passed_over() -> None:
    fs, _ = three()
    fs.remove(POINTER)
    for name in ("0", "x", "4.tmp"):
        fs.create_bytes(f"generations/{name}", b"")
    assert read_claims(fs).later == (1, 2, 3)


def _no_target(fs: MemoryDisk, manifests: list[Manifest]) -> None:
    rewrite(fs, POINTER, encode_pointer(OTHER))


def _other_target(fs: MemoryDisk, manifests: list[Manifest]) -> None:
    rewrite(fs, manifest_path(manifests[2].snapshot_id), encode_manifest(manifests[1]))


@conforms("003.COR1")
@pytest.mark.parametrize(
    ("damage", "says", "left"),
    [
        (lambda fs, _: rewrite(fs, POINTER, b"rubbish"), "one snapshot id and a newline", [3, 2, 1]),
        (lambda fs, _: rewrite(fs, POINTER, b"A" * 5_000), "larger than 1024 bytes", [3, 2, 1]),
        (_no_target, "the snapshot that it names is not there", [3, 2, 1]),
        (_other_target, "it is that of another snapshot", [2, 1]),
        (lambda fs, all3: rewrite(fs, manifest_path(all3[2].snapshot_id), b"{}\n"), "digest does not match", [2, 1]),
        (lambda fs, all3: rewrite(fs, manifest_path(all3[2].snapshot_id), b" " * (5 << 20)), "larger than", [2, 1]),
    ],
)
def test_without_a_good_pointer_every_number_counts_and_the_damage_is_told(
    damage: Callable[[MemoryDisk, list[Manifest]], None], says: str, left: list[int]
) -> None:
    fs, manifests = three()
    damage(fs, manifests)
    claims = read_claims(fs)
    assert claims.pointed is None
    assert claims.damage is not None
    assert says in claims.damage.sentence
    assert claims.later == (1, 2, 3)
    told: list[StoreCorrupt] = []
    assert [manifest.generation for manifest in published(fs, claims, told)] == left
    assert told[0] is claims.damage
    assert len(told) == 1 + 3 - len(left)


@conforms("003.COR1")
def test_a_missing_pointer_is_no_damage() -> None:
    fs, _ = three()
    fs.remove(POINTER)
    assert read_claims(fs) == Claims(None, None, (1, 2, 3))
    assert found(fs) == [3, 2, 1]


def test_an_older_damaged_manifest_is_passed_over_and_told() -> None:
    fs, manifests = three()
    rewrite(fs, manifest_path(manifests[1].snapshot_id), b"rubbish")
    told: list[StoreCorrupt] = []
    assert [manifest.generation for manifest in published(fs, read_claims(fs), told)] == [3, 1]
    assert len(told) == 1


def test_a_manifest_under_the_number_of_another_is_damage() -> None:
    fs, _ = three()
    fs.claim("generations/2", "generations/7")
    with pytest.raises(StoreCorrupt, match="it is the manifest of another number"):
        read_generation(fs, 7)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_what_cannot_be_read_is_never_taken_for_damage_or_for_nothing(number: int) -> None:
    disk, _ = three()
    calls = FailingDisk(disk)
    assert len(list(published(calls, read_claims(calls), []))) == 3
    for at in range(1, calls.count + 1):
        fs = FailingDisk(disk, Fault(at, number))
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the number is compared below
            list(published(fs, read_claims(fs), []))
        assert caught.value.errno == number


# --- winning ----------------------------------------------------------------------------------------------------------


def next_one(manifests: list[Manifest]) -> Manifest:
    return replace(
        manifests[2], snapshot_id=OTHER, generation=4, counts=replace(manifests[2].counts, tombstones_added=0)
    )


def test_exactly_one_manifest_wins_a_number() -> None:
    fs, manifests = three()
    put_manifest(fs, next_one(manifests))
    assert not is_published(fs, OTHER)
    claim(fs, next_one(manifests))
    assert is_published(fs, OTHER)
    assert read_generation(fs, 4) == next_one(manifests)
    with pytest.raises(LeaseLost):
        claim(fs, next_one(manifests))


def test_a_number_that_was_won_survives_a_power_cut() -> None:
    fs, manifests = three()
    put_manifest(fs, next_one(manifests))
    traced = TracingDisk(fs)
    claim(traced, next_one(manifests))
    assert [str(call) for call in traced.calls] == [
        f"claim {manifest_path(OTHER)} -> generations/4",
        "sync_folder generations",
    ]


def test_a_sleeper_behind_a_fence_never_wins() -> None:
    fs, manifests = three()
    put_manifest(fs, next_one(manifests))
    assert plant_fence(fs, 3) == 4
    with pytest.raises(LeaseLost, match="we held epoch 3, it is now another"):
        claim(fs, next_one(manifests))
    assert not is_published(fs, OTHER)
    assert found(fs) == [3, 2, 1]


def test_a_fence_goes_behind_whoever_was_faster_and_is_safe() -> None:
    fs, _ = three()
    assert plant_fence(fs, 1) == 4
    after = fs.crash("lose")
    assert read_generation(after, 4) is None


def test_a_number_that_is_collected_while_others_are_read_is_passed_over() -> None:
    fs, _ = three()
    reading = published(fs, read_claims(fs), damage := [])
    assert next(reading).generation == 3
    assert next(reading).generation == 2
    fs.remove(generation_path(1))
    assert list(reading) == []
    assert damage == []


# --- is it published? -------------------------------------------------------------------------------------------------


def test_a_published_snapshot_is_known_as_such_and_no_other() -> None:
    fs, manifests = three()
    assert [is_published(fs, manifest.snapshot_id) for manifest in manifests] == [True] * 3
    assert not is_published(fs, OTHER)
    put_manifest(fs, replace(next_one(manifests), generation=3))
    assert not is_published(fs, OTHER), "its number was won by another"


def test_a_copied_store_whose_two_names_are_two_files_is_the_same() -> None:
    fs, manifests = three()
    for number in (1, 2, 3):
        part_names(fs, generation_path(number))
    assert [is_published(fs, manifest.snapshot_id) for manifest in manifests] == [True] * 3


@pytest.mark.parametrize("damage", ["rewritten", "gone"])
def test_the_newest_stays_published_while_one_of_its_names_is_whole(damage: str) -> None:
    fs, manifests = three()
    part_names(fs, generation_path(3))
    own = manifest_path(manifests[2].snapshot_id)
    if damage == "gone":
        fs.remove(own)
    else:
        rewrite(fs, own, b"rubbish")
    assert is_published(fs, manifests[2].snapshot_id)
    rewrite(fs, generation_path(3), b"rubbish")
    assert not is_published(fs, manifests[2].snapshot_id)
