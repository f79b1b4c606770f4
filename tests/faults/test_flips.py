"""Flipped bits, lost blocks, cut and grown files, files in each other's place: a reader is never told a falsehood.

Every artifact of a store is damaged in every way, one at a time. Whoever then reads gets exactly what some snapshot
published, or an error with a name; nothing else, ever. What is only a side file must not even cost an answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import NamedTuple

import pytest

import cairn.store.read.snapshot as snapshot_module
from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import CairnError
from cairn.source.listing import FolderListing, TreeListing
from cairn.store.format.layout import DIGESTS, INDEX_STATE, MAPPING, POINTER, TREE, batch_folder, batch_seal
from cairn.store.format.seal import Remembered, load_digests
from cairn.store.format.side_files import decode_state
from cairn.store.format.tombstones import tombstone_path
from cairn.store.fs import read_whole
from cairn.store.publish.lease import LEASE, read_lease
from cairn.store.publish.staging import Staging
from cairn.store.read.snapshot import open_view
from cairn.store.repair.verify import check
from cairn.sync.memory import TreeMemory, load_memory, save_memory
from tests.conformance import conforms
from tests.faults.operations import steady
from tests.lengths import at_length
from tests.store.disks import Call, MemoryDisk, TracingDisk
from tests.store.little import FewProcesses, all_files, contents, load, part_names, rewrite, save
from tests.support.faults import Faults

STATES = (
    {"a.txt": b"alpha\n", "b.txt": b"beta\n", "d.txt": b"delta\n" * 40},
    {"a.txt": b"alpha two\n", "b.txt": b"beta\n", "c.txt": b"gamma\n", "d.txt": b"delta\n" * 40},
    {"b.txt": b"beta\n", "c.txt": b"gamma\n", "d.txt": b"delta\n" * 40},
)
NEXT = {"b.txt": b"beta\n", "e.txt": b"epsilon\n"}
ADOPTER = "01HZZ5X9T2K3R7G9FQ2A5V0J1M"


class Mutation(NamedTuple):
    """What was done to the bytes of a file, and the bytes that came of it."""

    what: str
    data: bytes


@dataclass(frozen=True)
class Store:
    """A store with three snapshots and the batch of a run that was killed; in `copied` no file has two names."""

    whole: MemoryDisk
    copied: MemoryDisk
    snapshots: tuple[str, ...]
    segments: tuple[str, ...]
    dead: str


@cache
def prepared() -> Store:
    """The same bytes in every run: ids and owners are drawn from a counter."""
    with steady(1):
        disk = MemoryDisk()
        made = [save(disk, files) for files in STATES]
        manifests = [manifest for manifest in made if manifest is not None]
        listing = TreeListing((FolderListing(b"", 0),), 7)
        save_memory(disk, ADOPTER, TreeMemory(manifests[-1].snapshot_id, 5, None, "{}", {}, listing))
        found: list[MemoryDisk] = []

        def kill(call: Call) -> None:
            if call.what == "make_folder" and call.path.startswith("snapshots/"):
                found.append(disk.crash("kill"))

        save(TracingDisk(disk, kill), NEXT)
    (whole,) = found
    (dead,) = whole.list_folder("staging")
    copied = whole.crash("kill")
    for number in (1, 2, 3):
        part_names(copied, f"generations/{number}")
    names = tuple(manifest.snapshot_id for manifest in manifests)
    return Store(whole, copied, names, tuple(ref.name for ref in manifests[-1].segments), dead)


def test_the_store_is_whole_before_it_is_damaged() -> None:
    fs = prepared().whole
    assert load(fs) == STATES[-1]
    assert {found.code for found in check(fs)} == {"staging"}
    assert len(load_digests(fs)) == 4
    assert load_memory(fs) is not None
    assert read_lease(fs) is not None
    assert len(Staging(fs.crash("kill"), ADOPTER, Remembered()).adopt(prepared().dead)) == 1
    the_next_run(fs)


def test_a_reader_that_did_not_verify_would_be_caught(faults: Faults) -> None:
    faults.answer(snapshot_module, "require", None)
    (data,) = (each for each in artifacts() if each.path == f"segments/{prepared().segments[0]}/data.bin")
    with pytest.raises(AssertionError, match="data, segments/"):
        hurt(data, disk_for(data), most=300, seed=0, every=10_000)


# --- who reads, and what must be true then ----------------------------------------------------------------------------


def any_snapshot(fs: MemoryDisk) -> None:
    """A reader that remembers nothing."""
    try:
        view = open_view(fs, "store", remembered=Remembered())
    except CairnError:
        return
    assert view is not None, "the store was taken for one that was never used"
    with view:
        assert contents(view) in STATES


def the_newest_snapshot(fs: MemoryDisk) -> None:
    """The artifact is not needed for the answer, so there must be one, and no older one."""
    assert load(fs) == STATES[-1]


def true_state(fs: MemoryDisk) -> None:
    the_newest_snapshot(fs)
    _same_or_error(fs, lambda disk: decode_state(read_whole(disk, INDEX_STATE, MAX_STATE_BYTES, "index state")))


def true_lease(fs: MemoryDisk) -> None:
    the_newest_snapshot(fs)
    _same_or_error(fs, read_lease)


def true_memory(fs: MemoryDisk) -> None:
    the_newest_snapshot(fs)
    assert load_memory(fs) is None


def true_digests(fs: MemoryDisk) -> None:
    the_newest_snapshot(fs)
    assert load_digests(fs) == {}


def true_batches(fs: MemoryDisk) -> None:
    the_newest_snapshot(fs)
    copy = fs.crash("kill")
    adopted = Staging(copy, ADOPTER, Remembered()).adopt(prepared().dead)
    assert adopted == [], "a batch that is not what was sealed was taken over"


def _same_or_error(fs: MemoryDisk, read: Callable[[MemoryDisk], object]) -> None:
    try:
        found = read(fs)
    except CairnError:
        return
    assert found == read(prepared().whole)


class Artifact(NamedTuple):
    """A kind of file, where it lies, who judges, and whether the checker must notice."""

    kind: str
    path: str
    judge: Callable[[MemoryDisk], None]
    noticed: bool = False
    copied: bool = False


def artifacts() -> list[Artifact]:
    store = prepared()
    newest = store.snapshots[-1]
    found = [
        Artifact("pointer", POINTER, the_newest_snapshot, True),
        Artifact("state", INDEX_STATE, true_state, True),
        Artifact("lease", LEASE, true_lease),
        Artifact("digests", DIGESTS, true_digests),
        Artifact("tree", TREE, true_memory),
        Artifact("batch seal", batch_seal(store.dead, 0), true_batches),
        Artifact("batch rows", f"{batch_folder(store.dead, 0)}/rows.sqlite", true_batches),
        Artifact("batch data", f"{batch_folder(store.dead, 0)}/data.bin", true_batches),
        Artifact("mapping", f"snapshots/{store.snapshots[1]}/{MAPPING}", the_newest_snapshot),
        Artifact("manifest", f"snapshots/{newest}/manifest.json", any_snapshot, True),
        Artifact("one name", f"snapshots/{newest}/manifest.json", any_snapshot, True, copied=True),
        Artifact("generation", "generations/3", any_snapshot, True, copied=True),
    ]
    for run in store.snapshots[1:]:
        found.append(Artifact("tombstones", tombstone_path(run), any_snapshot, True))
    for name in store.segments:
        found.append(Artifact("rows", f"segments/{name}/rows.sqlite", any_snapshot, True))
        found.append(Artifact("data", f"segments/{name}/data.bin", any_snapshot, True))
    return found


# --- damage -----------------------------------------------------------------------------------------------------------


def mutations(data: bytes, most: int, random: Random) -> Iterator[Mutation]:
    """Flips, zeroed blocks and cuts at every place, or at `most` places of a larger file; and ways to grow."""
    size = len(data)
    places = range(size) if size <= most else sorted(random.sample(range(size), most))
    for place in places:
        flipped = data[place] ^ 1 << random.randrange(8)
        yield Mutation(f"flip at {place}", data[:place] + bytes([flipped]) + data[place + 1 :])
    for place in places[:: 1 if size <= most else 4]:
        length = random.choice((1, 8, 64, 512, 4096))
        zeros = bytes(min(length, size - place))
        yield Mutation(f"{length} zeros at {place}", data[:place] + zeros + data[place + length :])
        yield Mutation(f"cut at {place}", data[:place])
    for more in (b"\0", b"\n", b" ", data, bytes(4096), b"\n" * 70_000, b"}"):
        yield Mutation(f"{len(more)} bytes more", data + more)


def hurt(artifact: Artifact, disk: MemoryDisk, most: int, seed: int, every: int) -> int:
    """Damage one artifact in all ways; how many were tried."""
    data = disk.read(artifact.path, 1 << 24)
    tried = 0
    for mutation in mutations(data, most, Random(f"{artifact.path} {seed}")):
        if mutation.data == data:
            continue
        rewrite(disk, artifact.path, mutation.data)
        tried += 1
        try:
            artifact.judge(disk)
            if artifact.noticed and tried % every == 0:
                assert check(disk) != [], "the checker saw nothing"
            if tried % every == 1:
                the_next_run(disk)
        except Exception as error:
            raise AssertionError(f"{artifact.kind}, {artifact.path}, seed {seed}: {mutation.what}") from error
    rewrite(disk, artifact.path, data)
    return tried


def the_next_run(fs: MemoryDisk) -> None:
    """A run on the damaged store publishes exactly its files, or ends with an error that has a name."""
    copy = fs.crash("kill")
    try:
        save(copy, NEXT, processes=FewProcesses(2, {2}))
    except CairnError:
        return
    assert load(copy) == NEXT


def disk_for(artifact: Artifact) -> MemoryDisk:
    store = prepared()
    return (store.copied if artifact.copied else store.whole).crash("kill")


@pytest.mark.parametrize("artifact", artifacts(), ids=lambda artifact: f"{artifact.kind}")
@conforms("003.SUM2", "003.SUM3")
def test_no_damage_to_one_file_is_ever_read_as_something_else(artifact: Artifact) -> None:
    assert hurt(artifact, disk_for(artifact), most=40, seed=0, every=25) > 60


@pytest.mark.long
def test_fifty_thousand_mutations_and_not_one_wrong_answer() -> None:
    tried = sum(
        hurt(artifact, disk_for(artifact), most=at_length(4_000), seed=0, every=100) for artifact in artifacts()
    )
    assert tried >= at_length(50_000)


# --- files in each other's place --------------------------------------------------------------------------------------


def pairs(fs: MemoryDisk) -> Iterator[tuple[str, str]]:
    """Files that have the same name in different folders, and numbers among each other."""

    def kind(path: str) -> str:
        folder, _, name = path.rpartition("/")
        return "generation" if folder == "generations" else name

    for one, two in itertools.combinations(all_files(fs), 2):
        if kind(one) == kind(two) and fs.read(one, 1 << 24) != fs.read(two, 1 << 24):
            yield one, two


def test_files_of_one_kind_in_each_others_place_are_found_out() -> None:
    store = prepared()
    tried = 0
    for before in (store.whole, store.copied):
        for one, two in pairs(before):
            first, second = before.read(one, 1 << 24), before.read(two, 1 << 24)
            for new_one, new_two in ((second, first), (second, second), (first, first)):
                disk = before.crash("kill")
                rewrite(disk, one, new_one)
                rewrite(disk, two, new_two)
                any_snapshot(disk)
                if tried % 5 == 0:
                    the_next_run(disk)
                tried += 1
    assert tried > 60
