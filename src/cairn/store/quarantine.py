"""Where a repair puts what nobody should read any more: moved, never deleted, under the name of the repair's run.

`quarantine/RUN/` holds each thing at the path that it had in the store. Only a person takes it away.
"""

from __future__ import annotations

import contextlib
import errno

from cairn.store.files import remove_file
from cairn.store.fs import Fs
from cairn.store.layout import QUARANTINE, SNAPSHOTS, generation_path, temp_path

# A link, a FIFO or the like; or a name that no file of ours has.
_STRANGE = (errno.EINVAL, errno.ELOOP, errno.ENOTDIR)
_TEMP = "repair"


class Quarantine:
    """The quarantine of one repair, made when the first thing is put into it.

    `moved` are the paths that were put there; `left` what could not be: links, devices, names that are not ours.
    """

    def __init__(self, fs: Fs, run: str) -> None:
        self._fs = fs
        self._run = run
        self.folder = f"{QUARANTINE}/{run}"
        self.moved: list[str] = []
        self.left: list[str] = []

    def take(self, path: str) -> None:
        """Move a file or a whole folder out of the way; what is not there is no trouble."""
        try:
            is_folder = self._fs.stat(path).is_folder
            target = self._room(path)
            if is_folder:
                # A sealed one stays put.
                self._fs.unseal(path)
                self._fs.move(path, target)
            else:
                self._fs.swap(path, target)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in _STRANGE:
                raise
            self.left.append(path)
            return
        # The new name first: at no moment neither is safe.
        self._fs.sync_folder(_parent(target))
        self._fs.sync_folder(_parent(path))
        self.moved.append(path)

    def fence(self, number: int) -> None:
        """Put a generation aside. Its number stays taken, so nobody who slept can win it."""
        path, temp = generation_path(number), temp_path(_TEMP, self._run)
        self._keep(path)
        remove_file(self._fs, temp)
        self._fs.create_bytes(temp, b"")
        self._fs.sync_file(temp)
        self._swap_in(temp, path)

    def mend(self, source: str, target: str) -> None:
        """Give a manifest the name back that it has lost; what stands there now is kept."""
        folder, temp = _parent(target), temp_path(_TEMP, self._run)
        with contextlib.suppress(FileExistsError):
            self._fs.make_folder(folder)
            self._fs.sync_folder(SNAPSHOTS)
        self._keep(target)
        remove_file(self._fs, temp)
        self._fs.claim(source, temp)
        self._swap_in(temp, target)

    def _swap_in(self, temp: str, target: str) -> None:
        self._fs.swap(temp, target)
        self._fs.sync_folder(_parent(target))
        self._fs.sync_folder("")

    def _keep(self, path: str) -> None:
        """A second name for a file that is about to be replaced; a folder in its place makes way."""
        try:
            if self._fs.stat(path).is_folder:
                self.take(path)
                return
            target = self._room(path)
            self._fs.claim(path, target)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in _STRANGE:
                raise
            return
        self._fs.sync_folder(_parent(target))
        self.moved.append(path)

    def _room(self, path: str) -> str:
        """A free name for this path in the quarantine, its folders made and safe."""
        folder = ""
        for name in f"{self.folder}/{path}".split("/")[:-1]:
            above, folder = folder, f"{folder}/{name}".lstrip("/")
            with contextlib.suppress(FileExistsError):
                self._fs.make_folder(folder)
                self._fs.sync_folder(above)
        target, number = f"{self.folder}/{path}", 0
        with contextlib.suppress(FileNotFoundError):
            while True:
                self._fs.stat(target)
                number += 1
                target = f"{self.folder}/{path}.{number}"
        return target


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
