"""Stands between us and an indexer: it lives as long as we do, and takes the indexer with it when we are killed.

It is run as a file of its own by a bare Python, as the leader of a process group. Its standard input is a pipe of ours
that nothing is ever written to: it ends when we do, however that happens.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def _until_orphaned() -> None:
    """When nobody holds the other end of the pipe any more, the whole group goes, this process included."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Run what the arguments say and end as it ended; a signal n is told as 128 + n, as shells do."""
    threading.Thread(target=_until_orphaned, daemon=True).start()
    try:
        status = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)  # noqa: S603 - what the table of indexers says
    except OSError as problem:
        sys.stderr.write(f"{os.strerror(problem.errno or 0)}\n")
        status = 127
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
