"""The memory of a tree may be missing or damaged; it must never say that nothing has changed when something has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.errors import GitFailed
from cairn.source.git import Git
from cairn.store.format.layout import TREE
from cairn.sync.memory import TreeMemory, is_unchanged, load_memory, rules_of, save_memory
from tests.store.disks import FailingDisk, Fault, MemoryDisk
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """One file, indexed."""
    desk = Desk(tmp_path, with_git=True)
    desk.put("a.py", "a = 1\n")
    desk.commit()
    extract_here(monkeypatch, desk.clock)
    desk.sync()
    return desk


def memory_of(desk: Desk) -> TreeMemory:
    with desk.place.make_disk() as disk:
        return load_memory(disk) or pytest.fail("there is none")


def says_unchanged(desk: Desk, memory: TreeMemory | None) -> bool:
    return is_unchanged(desk.codebase, desk.manifest(), memory, desk.clock)


def test_what_is_kept_comes_back(desk: Desk) -> None:
    memory = memory_of(desk)
    assert memory.snapshot_id == desk.manifest().snapshot_id
    assert (memory.head, memory.rules) == (desk.git("rev-parse", "HEAD"), rules_of(desk.codebase.config))
    disk = MemoryDisk()
    save_memory(disk, "run", memory)
    assert load_memory(disk) == memory
    assert disk.list_folder("") == [TREE]


@pytest.mark.parametrize("damage", ["missing", "flipped", "short", "empty", "foreign"])
def test_a_damaged_memory_is_none_and_costs_a_full_look(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    path = Path(desk.place.path) / TREE
    data = path.read_bytes()
    path.unlink()
    if damage != "missing":
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes({"flipped": flipped, "short": data[:-1], "empty": b"", "foreign": b"x" * 100}[damage])
        path.chmod(0o600)
    with desk.place.make_disk() as disk:
        assert load_memory(disk) is None
    assert not desk.sync().published
    # It is there again, and the next sync reads nothing.
    assert says_unchanged(desk, memory_of(desk))


def test_every_single_flipped_byte_is_noticed(desk: Desk) -> None:
    disk = MemoryDisk()
    save_memory(disk, "run", memory_of(desk))
    data = disk.read(TREE, 1 << 20)
    for place in range(len(data)):
        disk.remove(TREE)
        disk.create_bytes(TREE, data[:place] + bytes([data[place] ^ 0x20]) + data[place + 1 :])
        assert load_memory(disk) is None


def test_a_disk_that_will_not_take_it_does_no_harm(desk: Desk) -> None:
    memory = memory_of(desk)
    failing = FailingDisk(MemoryDisk(), Fault(2, 28))
    save_memory(failing, "run", memory)
    assert failing.fired is not None
    assert load_memory(failing) is None


def test_it_counts_only_for_its_snapshot_its_head_and_its_rules(desk: Desk, faults: Faults) -> None:
    memory = memory_of(desk)
    assert says_unchanged(desk, memory)
    assert not says_unchanged(desk, None)
    for other in (
        replace(memory, snapshot_id="0" * 26),
        replace(memory, head="0" * 40),
        replace(memory, head=None),
        replace(memory, rules="{}"),
        replace(memory, synced_at_ns=0),
    ):
        assert not says_unchanged(desk, other)
    manifest = desk.manifest()
    assert not is_unchanged(desk.codebase, replace(manifest, degraded=True), memory, desk.clock)
    tracked = desk.codebase._replace(tracked=frozenset({b"a.py"}))
    assert not is_unchanged(tracked, manifest, memory, desk.clock)

    faults.fail(Git, "head", GitFailed(what="head", path="here", why="it would not"))
    assert not says_unchanged(desk, memory)


def test_any_change_to_the_tree_is_a_change(desk: Desk) -> None:
    memory = memory_of(desk)
    desk.put("b.py", "b = 1\n")
    assert not says_unchanged(desk, memory)
