"""Random edits to a real tree, and a dictionary that did the same: the detector must find exactly the difference."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.types import ChangeSet
from cairn.source.changes import NO_HINTS
from tests.conformance import conforms
from tests.source.test_changes import LONG_AFTER, Snapshot, keys, moves
from tests.support.repos import checkout, commit, make_repo, run_git

NAMES = [
    *("a.py", "b.py", "c d.py", "new\nline.py", "ü.py", "'q\"uote.py", "tab\t.py", "README.md"),
    *("pkg/a.py", "pkg/b.py", "pkg/deep/er/a.py", "lib/a.py", "lib/deep/er/a.py", "lib/z.py"),
]
# Few texts, some of one size: renames must be told apart by content, and same-size edits must be possible.
TEXTS = [b"", b"one\n", b"two\n", b"six\n", b"# a longer text\n" * 3, b"# other longer text\n" * 3]
BRANCHES = ("main", "left", "right")

Parts = tuple[list[str], list[str], tuple[str, ...], list[tuple[str, str]]]


class Model:
    """The tree on disk and the dictionary, changed together; the dictionary looks only after git did it."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.files: dict[str, bytes] = {}
        make_repo(folder)
        for name in NAMES[::2]:
            self._put(name, chance.choice(TEXTS))
        self._commit()
        for branch in BRANCHES[1:]:
            run_git(folder, "branch", branch)

    def step(self) -> None:
        """One random edit."""
        edits = (self.write, self.write, self.edit_in_disguise, self.delete, self.rename, self.swap, self.touch)
        self.chance.choice((*edits, self.chmod, self.copy_with_times, self.move_folder, self.switch, self.commit))()

    def write(self) -> None:
        self._put(self.chance.choice(NAMES), self.chance.choice(TEXTS))

    def edit_in_disguise(self) -> None:
        """Other bytes, the same size, the same mtime, the same inode."""
        name = self._any()
        if name is None or not self.files[name]:
            return
        path = self.folder / name
        stat = path.stat()
        self._put(name, self.files[name][1:] + self.files[name][:1])
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def delete(self) -> None:
        if (name := self._any()) is not None:
            (self.folder / name).unlink()
            del self.files[name]

    def rename(self) -> None:
        """To a free name or over another file."""
        old, new = self._any(), self.chance.choice(NAMES)
        if old is not None:
            (self.folder / new).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / old).rename(self.folder / new)
            self.files[new] = self.files.pop(old)

    def swap(self) -> None:
        one, two = self._any(), self._any()
        if one is not None and two is not None and one != two:
            (self.folder / one).rename(self.folder / "swapping")
            (self.folder / two).rename(self.folder / one)
            (self.folder / "swapping").rename(self.folder / two)
            self.files[one], self.files[two] = self.files[two], self.files[one]

    def touch(self) -> None:
        if (name := self._any()) is not None:
            os.utime(self.folder / name, (self.chance.randint(-5, 2_000_000_000),) * 2)

    def chmod(self) -> None:
        if (name := self._any()) is not None:
            (self.folder / name).chmod(self.chance.choice((0o600, 0o644, 0o755)))

    def copy_with_times(self) -> None:
        """As `cp -p` over another file: bytes and an old mtime arrive together."""
        source, target = self._any(), self.chance.choice(NAMES)
        if source is not None and source != target:
            stat = (self.folder / source).stat()
            self._put(target, self.files[source])
            os.utime(self.folder / target, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def move_folder(self) -> None:
        old, new = self.chance.sample(("pkg/deep", "lib/deep"), 2)
        if (self.folder / old).is_dir() and not (self.folder / new).exists() and (self.folder / new).parent.is_dir():
            (self.folder / old).rename(self.folder / new)
            for name in [name for name in self.files if name.startswith(old + "/")]:
                self.files[new + name.removeprefix(old)] = self.files.pop(name)

    def commit(self) -> None:
        self._commit()

    def switch(self) -> None:
        """Commit what there is, then go to another branch, as git does it."""
        self._commit()
        checkout(self.folder, self.chance.choice(BRANCHES))
        # Read back, not remembered: git compares whole seconds, so an edit that restores the time can escape its `add`.
        self.files = {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file() and ".git" not in path.parts
        }

    def _any(self) -> str | None:
        return self.chance.choice(sorted(self.files)) if self.files else None

    def _put(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.files[name] = data

    def _commit(self) -> None:
        commit(self.folder)


def check(folder: Path, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    model = Model(folder, chance)
    snapshot = Snapshot(folder)
    for turn in range(rounds):
        synced_at = SYSTEM_CLOCK.wall_ns()
        snapshot.take()
        before = dict(model.files)
        assert snapshot.recorded.keys() == before.keys()
        racy = chance.random() < 0.5
        if not racy:
            # Without the racy rule an edit must fall into a later tick of the file system's clock than the sync.
            SYSTEM_CLOCK.sleep(0.012)
        for _ in range(chance.randint(0, 5)):
            model.step()
        when = synced_at if racy else LONG_AFTER
        found = parts(snapshot.look(synced_at_ns=when, round_number=turn))
        agree(before, model.files, found)
        # The meaning may not depend on who gave hints.
        assert parts(snapshot.look(synced_at_ns=when, hints=NO_HINTS)) == found


def parts(changes: ChangeSet) -> Parts:
    return keys(changes.add), keys(changes.modify), changes.delete, moves(changes)


def agree(before: dict[str, bytes], after: dict[str, bytes], found: Parts) -> None:
    add, modify, delete, renames = found
    appeared, gone = after.keys() - before.keys(), before.keys() - after.keys()
    assert sorted([*add, *(new for _, new in renames)]) == sorted(appeared)
    assert sorted([*delete, *(old for old, _ in renames)]) == sorted(gone)
    assert modify == sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    assert all(before[old] == after[new] for old, new in renames)
    could_pair = Counter(before[name] for name in gone) & Counter(after[name] for name in appeared)
    assert len(renames) == could_pair.total()


@conforms("002.R5")
@pytest.mark.parametrize("seed", range(6))
def test_the_detector_finds_exactly_what_a_dictionary_says_has_changed(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed, rounds=12)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 160))
def test_the_detector_agrees_with_the_dictionary_for_long(tmp_path: Path, seed: int) -> None:
    check(tmp_path, seed, rounds=60)
