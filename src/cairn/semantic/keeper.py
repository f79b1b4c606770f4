"""Stand between Cairn and an indexer: live as long as Cairn does, and end the indexer when Cairn is killed.

A bare Python runs this file as a program of its own, the leader of a process group. Its standard input is a pipe from
Cairn that nothing is ever written to: the pipe ends when Cairn does, however that happens.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def _until_orphaned() -> None:
    """Wait until nobody holds the other end of the pipe, then kill the whole group, this process included."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Run the command in the arguments and exit with its status; a signal n becomes 128 + n, as in shells."""
    threading.Thread(target=_until_orphaned, daemon=True).start()
    try:
        status = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)  # noqa: S603 - what the table of indexers says
    except OSError as problem:
        sys.stderr.write(f"{os.strerror(problem.errno or 0)}\n")
        status = 127
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
