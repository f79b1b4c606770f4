"""An index on a disk of its own that grows until a sync fits: `python -m tests.faults.full_disk FOLDER FREE STEP MOST`.

To be run where it may mount. First the disk has room, and the tree is indexed. Then the tree changes, there are FREE
bytes left, and a sync is tried; after each refusal there are STEP bytes more, at most MOST times. One line of JSON: how
each sync ended, and what was wrong with the index between them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.faults.people import Owner

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
    status = owner.run("status")
    return found if status[0] == 0 else [*found, f"status: {status}"]


def main(folder: str, free: int, step: int, most: int) -> None:
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
    print(json.dumps({"ended": ended, "problems": problems}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
