"""Keep some room on the disk for what frees room: the file `reserve` in the folder of all stores.

A command that frees space needs some pages itself, for the lease and for what it publishes. On a disk without a byte
left it gives the reserve up first; the next run with room enough makes it again.
"""

from __future__ import annotations

import contextlib
import os

from cairn.core.limits import RESERVE_BYTES
from cairn.errors import StoreError
from cairn.store.disk import Disk
from cairn.store.fs import remove_file
from cairn.store.sharing import modes_of

RESERVE = "reserve"
# Where so little is free, the reserve is not made: others need the room now.
_PLENTY = 16


class Reserve:
    """The reserve in the home of some stores. Trouble with it is ignored."""

    def __init__(self, home: str) -> None:
        self._home = home

    def keep(self, *, again: bool = False) -> None:
        """Make the reserve unless it is there, or the disk has little room.

        `again`: it was given up a moment ago, and goes back to where it was even if there is no other room.
        """
        with contextlib.suppress(OSError, StoreError), self._disk() as disk:
            if RESERVE in disk.list_folder("") and disk.stat(RESERVE).size >= RESERVE_BYTES:
                return
            remove_file(disk, RESERVE)
            if disk.usage.free_bytes() < (1 if again else _PLENTY) * RESERVE_BYTES:
                return
            try:
                # A disk that compresses would keep nothing of zeros.
                disk.create_bytes(RESERVE, os.urandom(RESERVE_BYTES))
            except OSError:
                remove_file(disk, RESERVE)

    def give_up(self) -> bool:
        """Give the room to whatever frees more; whether there was any."""
        with contextlib.suppress(OSError, StoreError), self._disk() as disk:
            disk.remove(RESERVE)
            return True
        return False

    def _disk(self) -> Disk:
        return Disk.at(self._home, "", modes=modes_of(self._home))
