"""An index on a disk of its own that is full, to be run where it may mount. One line of JSON says what came of it.

`… full_disk grow FOLDER FREE STEP MOST`: first the disk has room, and the tree is indexed. Then the tree changes, there
are FREE bytes left, and a sync is tried; after each refusal there are STEP bytes more, at most MOST times. Said is how
each sync ended, and what was wrong with the index between them.

`… full_disk relieve FOLDER FREE STEP MOST`: an index with old snapshots. With FREE bytes left sync and compact are
tried, then `gc`, with STEP bytes more after each refusal; and what it has freed must do for a sync and a merge.

`… full_disk free FOLDER WITHOUT 0 0`: an index with old snapshots on a disk without a byte left, and each command that
frees space, each on a disk of its own; 1: without a reserve. Said is how it ended, and how much it freed.

`… full_disk first FOLDER SIZE 0 0`: a first index on a disk that is too small for it. Said is how the index, a status
and a clear ended, and what the disk held before and after them.

`… full_disk every FOLDER KIND 0 0`: each command that ends by itself. KIND says what the home is: 0 indexed and full,
1 empty and full, 2 indexed and not writable, 3 empty and not writable. Said is how each ended, and what it noted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.faults.one_command import Order
from tests.faults.people import Owner
from tests.faults.traced import Stage
from tests.hostile.test_programs import LASTING, TYPED
from tests.support.commands import Person

_PLENTY = 64 << 20


def mount(home: Path, size: int, *options: str) -> None:
    wanted = ",".join((f"size={size}", "mode=0700", *options))
    subprocess.run(["mount", "-t", "tmpfs", "-o", wanted, "tmpfs", str(home)], check=True)


def used(home: Path) -> int:
    found = os.statvfs(home)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def wrong(owner: Owner, before: dict[str, bytes]) -> list[str]:
    """What a reader or the checker finds that should not be."""
    found = [] if owner.look() == before else ["a reader does not find the old snapshot"]
    found += [finding.code for finding in owner.errors()]
    for question in (("status",), ("search", "def f3", "--no-sync"), ("search", "def f3")):
        answer = owner.run(*question)
        if answer[0]:
            found.append(f"{question}: {answer}")
    return found


def grow(folder: str, free: int, step: int, most: int) -> dict[str, object]:
    """A sync, until there is room for it."""
    owner = Owner(Path(folder), files=40, lines=20)
    owner.home.mkdir()
    mount(owner.home, _PLENTY)
    before = owner.write(1)
    assert owner.run("index")[0] == 0
    after = owner.write(2)
    size = used(owner.home) + free
    ended, problems = [], []
    for _ in range(most):
        mount(owner.home, size, "remount")
        status, out, err = owner.run("sync")
        ended.append((status, out + err))
        if status == 0:
            break
        problems += wrong(owner, before)
        size += step
    problems += [finding.code for finding in owner.problems()]
    if owner.look() != after:
        problems.append("a reader does not find the new snapshot")
    return {"ended": ended, "problems": problems}


def relieve(folder: str, free: int, step: int, most: int) -> dict[str, object]:
    """`gc`, until there is room for it: how the others ended before, its own refusals, and what it needed and freed."""
    owner = Owner(Path(folder), files=40, lines=20)
    owner.home.mkdir()
    mount(owner.home, _PLENTY)
    before = _age(owner)
    owner.write(1_000)
    taken = used(owner.home)
    mount(owner.home, taken + free, "remount")
    ended, problems = [], []
    for name in ("sync", "compact"):
        ended.append(_ended(owner, name))
        if ended[-1][0]:
            problems += wrong(owner, before)
        before = owner.look() or {}
    refused: list[tuple[int, str]] = []
    while (last := _ended(owner, "gc"))[0] and len(refused) < most:
        refused.append(last)
        problems += wrong(owner, before)
        mount(owner.home, taken + free + step * len(refused), "remount")
    ended.append(last)
    freed = taken - used(owner.home)
    ended += [_ended(owner, "sync"), _ended(owner, "compact")]
    problems += [finding.code for finding in owner.problems()]
    if owner.look() != owner.contents():
        problems.append("a reader does not find the new snapshot")
    return {"ended": ended, "refused": refused, "freed": freed, "problems": problems}


FREES = (
    ("gc",),
    ("clear",),
    ("gc", "--stores", "--unused-days", "0", "--force"),
    ("stores", "--purge", "--yes"),
)


def free(folder: str, without: int, _: int, __: int) -> dict[str, object]:
    """Every command that frees space, where none is left: how it ended, and how many bytes more were free."""
    owner = Owner(Path(folder), files=40, lines=20)
    owner.home.mkdir()
    before, kept = _age(owner), Path(folder) / "kept"
    if without:
        (owner.home / "reserve").unlink()
    shutil.move(owner.home, kept)
    owner.home.mkdir()
    ended, problems = [], []
    for command in FREES:
        mount(owner.home, _PLENTY)
        shutil.copytree(kept, owner.home, dirs_exist_ok=True)
        taken = used(owner.home)
        mount(owner.home, taken, "remount")
        if os.statvfs(owner.home).f_bavail:
            problems.append("the disk is not full")
        status, out, err = owner.run(*command)
        ended.append((" ".join(command), status, out + err, taken - used(owner.home)))
        if command == ("gc",):
            problems += wrong(owner, before)
        subprocess.run(["umount", str(owner.home)], check=True)
    return {"ended": ended, "problems": problems}


def first(folder: str, size: int, _: int, __: int) -> dict[str, object]:
    """A first index that fills its disk, and what is left of it."""
    owner = Owner(Path(folder), files=40, lines=200)
    owner.home.mkdir()
    mount(owner.home, size)
    owner.write(1)
    before = used(owner.home)
    ended = [_ended(owner, "index"), _ended(owner, "status"), _ended(owner, "clear")]
    held = [before, used(owner.home)]
    return {"ended": ended, "held": held, "problems": []}


def every(folder: str, kind: int, _: int, __: int) -> dict[str, object]:
    """How each command ended where the disk of the home takes no more, or may not be written."""
    me = Person(Path(folder))
    me.commit()
    indexed, full = kind in (0, 2), kind in (0, 1)
    if indexed:
        assert me.cairn("index", "--offline").status == 0
        # There is something to catch up with.
        (me.tree / "src" / "new.py").write_text("def only_now(): ...\n")
    kept = Path(folder) / "kept"
    me.home.mkdir(exist_ok=True)
    shutil.move(me.home, kept)
    me.home.mkdir()
    lines = [
        line for lines in TYPED.values() for line in lines if line not in LASTING and not line.startswith("daemon")
    ]
    ended = []
    for line in lines:
        mount(me.home, _PLENTY)
        shutil.copytree(kept, me.home, dirs_exist_ok=True)
        if full:
            (me.home / "others").write_bytes(b"x")
            mount(me.home, used(me.home), "remount")
        else:
            mount(me.home, _PLENTY, "remount", "ro")
        done = me.cairn(*line.split(), "--offline")
        ended.append((line, done.status, done.stderr))
        subprocess.run(["umount", str(me.home)], check=True)
    return {"ended": ended, "problems": []}


def _age(owner: Owner) -> dict[str, bytes]:
    """Many snapshots, all of them old enough to be collected; what the last one holds."""
    with Stage("tests.faults.one_command") as stage:
        for version in range(10):
            # The last ones leave something to merge.
            owner.write(version, every=1 if version < 6 else 40)
            arguments = ("sync" if version else "index",)
            order = Order(str(owner.tree), str(owner.home), arguments, ahead=version - 36_000)
            assert stage.do(json.dumps(order)) == 0
    return owner.contents()


def _ended(owner: Owner, name: str) -> tuple[int, str]:
    status, out, err = owner.run(name)
    return status, out + err


if __name__ == "__main__":
    scenario = {"grow": grow, "relieve": relieve, "free": free, "first": first, "every": every}[sys.argv[1]]
    print(json.dumps(scenario(sys.argv[2], *map(int, sys.argv[3:6]))))
