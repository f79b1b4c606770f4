"""Reads one store over and over: `python -m tests.faults.reader HOME BELOW SECONDS VERSIONS`.

Every file of the store says which version of the whole it belongs to in its first line. It reads for SECONDS, and on
until it has seen so many VERSIONS. One line of JSON: how many answers there were, the versions in the order they were
seen, and what was wrong.
"""

from __future__ import annotations

import json
import sys
import time

from cairn.store.disk import Disk
from cairn.store.read.snapshot import open_view
from tests.support.waiting import PATIENCE


def read(disk: Disk) -> dict[str, bytes]:
    """Everything that the newest snapshot holds."""
    view = open_view(disk, "store")
    assert view is not None
    with view:
        return {name: bytes(view.text(name) or b"") for name in view.records()}


def versions_in(files: dict[str, bytes]) -> set[bytes]:
    return {data.split(b"\n", 1)[0] for name, data in files.items() if not name.startswith(".")}


def main(home: str, below: str, seconds: float, versions: int) -> None:
    until = time.monotonic() + seconds
    answers, seen, wrong, count = 0, [-1], [], 0
    with Disk.at(home, below) as disk:
        while time.monotonic() < until or len(seen) <= versions:
            if time.monotonic() > until + PATIENCE:
                break
            files = read(disk)
            found = versions_in(files)
            answers += 1
            count = count or len(files)
            if len(found) != 1 or len(files) != count:
                wrong.append(f"{len(files)} files of the versions {sorted(found)}")
                continue
            version = int(found.pop().split()[-1])
            if version < seen[-1]:
                wrong.append(f"version {version} after {seen[-1]}")
            if version != seen[-1]:
                seen.append(version)
    print(json.dumps({"answers": answers, "seen": seen[1:], "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
