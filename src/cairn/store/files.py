"""Small moves on the disk that several steps share: read, replace or remove one file, remove a tree."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from cairn.errors import StoreCorrupt
from cairn.store.fs import Fs

# A folder, a link, or a FIFO or the like.
_NO_FILE = (errno.EISDIR, errno.ELOOP, errno.EINVAL)
# Taken away or filled by somebody else in the moment since we looked.
_WORKED_AGAINST = (errno.ENOENT, errno.ENOTEMPTY)


def read_whole(fs: Fs, path: str, cap: int, artifact: str) -> bytes:
    """The bytes of a small file; `StoreCorrupt` when it is no file, or larger than anybody would have written it."""
    try:
        return fs.read(path, cap)
    except OSError as error:
        # A fact about what is there, as any other damage, and no trouble with the disk.
        if error.errno == errno.EFBIG:
            raise StoreCorrupt(artifact=artifact, why=f"it is larger than {cap} bytes") from None
        if error.errno in _NO_FILE:
            raise StoreCorrupt(artifact=artifact, why="it is not a file") from None
        raise


def remove_file(fs: Fs, path: str) -> None:
    """The file is gone, if it was there."""
    with contextlib.suppress(FileNotFoundError):
        fs.remove(path)


@contextlib.contextmanager
def despite_a_sleeper() -> Iterator[None]:
    """Give up a piece of tidying when a writer that was robbed wakes up and works against it; other trouble raises.

    What is left then, the next run finds.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _WORKED_AGAINST:
            raise


def remove_tree(fs: Fs, folder: str) -> None:
    """The folder and all below it are gone, sealed or not, if it was there."""
    # A thief and the sleeper that it robbed may both be at it: what is gone is gone.
    with contextlib.suppress(FileNotFoundError):
        names = fs.list_folder(folder)
        fs.unseal(folder)
        for name in names:
            path = f"{folder}/{name}"
            try:
                # Without a look at it first: of a file whose sync failed nothing can be asked but that it goes.
                remove_file(fs, path)
            except IsADirectoryError:
                remove_tree(fs, path)
        fs.remove_folder(folder)


def replace_file(fs: Fs, path: str, temp: str, data: bytes, *, safe: bool) -> None:
    """Readers see the old bytes or the new ones. `safe`: so they do after a power cut, and then it is the new ones."""
    remove_file(fs, temp)
    try:
        fs.create_bytes(temp, data)
        if safe:
            fs.sync_file(temp)
        fs.swap(temp, path)
    except OSError:
        with contextlib.suppress(OSError):
            remove_file(fs, temp)
        raise
    if safe:
        fs.sync_folder(path.rpartition("/")[0])
