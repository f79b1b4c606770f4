"""Runs `cairn` on command, so that a tracer can watch or kill it: `python -m tests.faults.one_command`.

Like `one_publish`, with the whole command line: each line on stdin is an `Order` in JSON, and one run in a process of
its own. What it prints is thrown away, but for errors.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import NamedTuple

from cairn.cli.main import main as cairn_main
from cairn.core.clock import SystemClock
from tests.faults.one_publish import let_in
from tests.store.raising import SNAPSHOT, raised


class Order(NamedTuple):
    """A command, where, so many seconds ahead of the time, by a Cairn of today or by one that writes later formats."""

    tree: str
    home: str
    arguments: tuple[str, ...]
    ahead: int = 0
    later: bool = False
    traced: bool = False


def _command(order: Order, parent: int) -> int:
    os.chdir(order.tree)
    os.environ["CAIRN_HOME"] = order.home
    SystemClock.wall_ns = lambda _: time.time_ns() + order.ahead * 1_000_000_000  # type: ignore[method-assign, assignment]
    # The pipe belongs to the server.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with raised(*SNAPSHOT) if order.later else contextlib.nullcontext():
        if order.traced and not let_in(parent):
            return 1
        return cairn_main([*order.arguments, "-q"])


def main() -> None:
    parent = os.getpid()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = _command(Order(*json.loads(line)), parent)
            finally:
                os._exit(status)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
