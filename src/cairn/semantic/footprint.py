"""How much memory an indexer takes, with everything that it has started: what the kernel says of its session."""

from __future__ import annotations

import os

_PAGE = os.sysconf("SC_PAGE_SIZE")
# Behind the name of the program, which may hold anything.
_SESSION, _RESIDENT = 3, 21


def session_bytes(session: int) -> int:
    """The resident memory of all processes of a session, together; 0 where the kernel does not say."""
    total = 0
    try:
        names = os.listdir("/proc")
    except OSError:
        return 0
    for name in filter(str.isdigit, names):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            # It has ended meanwhile.
            continue
        if len(fields) > _RESIDENT and int(fields[_SESSION]) == session:
            total += int(fields[_RESIDENT]) * _PAGE
    return total


def machine_bytes() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * _PAGE
