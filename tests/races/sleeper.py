"""A writer that stops itself in the middle of a publish: `python -m tests.races.sleeper HOME STEP`.

At call STEP to the disk, counted from the beginning of `publish`, it sends itself SIGSTOP, as a debugger would. At its
end it prints one line: `published N`, or the name of the error.
"""

from __future__ import annotations

import os
import signal
import sys

from cairn.core.clock import SYSTEM_CLOCK
from cairn.errors import CairnError
from cairn.store.disk import Disk
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.writer import open_writer
from tests.store import little
from tests.store.disks import Call, TracingDisk


def sleep_at(home: str, step: int) -> str:
    """What came of it."""
    count = 0
    counting = False

    def before(_: Call) -> None:
        nonlocal count
        count += counting
        if counting and count == step:
            os.kill(os.getpid(), signal.SIGSTOP)

    with Disk.at(home, "data/store") as real:
        disk = TracingDisk(real, before)
        try:
            with open_writer(disk, "store", RunKind.SYNC) as writer:
                draft = little.draft(writer, {"a": b"sleeper\n", "b": b"sleeper\n"}, SYSTEM_CLOCK)
                counting = True
                manifest = publish(writer, draft, lambda: True, SYSTEM_CLOCK)
        except CairnError as error:
            return type(error).__name__
    assert manifest is not None
    return f"published {manifest.generation}"


if __name__ == "__main__":
    print(sleep_at(sys.argv[1], int(sys.argv[2])))
