"""What is noted of edits in Cairn's home: the one that is under way, and the last ones, which can be taken back.

`edits/open/PLACE.prepared` holds the bytes of each file before and after, and is safe on the disk before anything is
written to the tree. Renamed to `PLACE.committed`, it says that the edit happens: whatever comes, it is finished. Then
the note moves to `edits/kept/PLACE.NUMBER`. PLACE is a digest of the root. The folder `open` is there only while
something is in it, so that a look at its name tells every command that nothing was cut off.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cairn.core.config import OPEN_EDITS
from cairn.core.limits import MAX_EDIT_BYTES
from cairn.errors import EditBusy, EditUnreadable, StoreError
from cairn.source.root import printable
from cairn.store import Disk, remove_file, store_trouble

FOLDER, _OPEN = OPEN_EDITS
_KEPT, _LOCK = "kept", "lock"
_PREPARED, _COMMITTED = "prepared", "committed"
_VERSION = 1
_NUMBER = 8
UNDER_WAY = "A command is just editing files below this root."
CUT = (
    "An edit of files below this root was cut off, so they may fit neither what was before it nor what comes after;"
    " the next command that is typed here finishes it or takes it back."
)


class WantedFile(NamedTuple):
    """A file as an edit wants it: its raw path, the hash of the bytes that it must still have, and the new bytes."""

    raw: bytes
    content_hash: str
    after: bytes


class EditedFile(NamedTuple):
    """A file of an edit: its bytes before and after, and the name beside it under which new bytes are made."""

    raw: bytes
    temporary: str
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class TreeEdit:
    """An edit of files below a root. `undoes` is the number of the edit that it takes back, 0 for none."""

    root: str
    number: int
    about: str
    at: float
    files: tuple[EditedFile, ...]
    undoes: int = 0

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, as a person may read their names."""
        return tuple(printable(one.raw) for one in self.files)


def place_of_root(root: str) -> str:
    """Return the name under which the edits of a root are noted."""
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


# --- reading: for every command ---------------------------------------------------------------------------------------


def is_any_open(home: str) -> bool:
    """Whether an edit of any root is under way or was cut off; one look at a name."""
    return os.path.isdir(os.path.join(home, FOLDER, _OPEN))


def cut_sentences(home: str, root: str) -> list[str]:
    """Return what an answer about this root has to say of an edit that is under way or was cut off; mostly nothing."""
    if not is_any_open(home):
        return []
    place = os.path.join(home, FOLDER, _OPEN, place_of_root(root))
    if not any(os.path.lexists(f"{place}.{state}") for state in (_PREPARED, _COMMITTED)):
        return []
    try:
        with Disk.at(home, FOLDER) as disk, disk.lock(_LOCK, exclusive=False, timeout=0):
            return [CUT]
    except TimeoutError:
        return [UNDER_WAY]
    except (OSError, StoreError):
        return [CUT]


# --- writing: for who edits -------------------------------------------------------------------------------------------


class Journal:
    """The notes on edits of all roots, locked: nobody else edits meanwhile."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    @classmethod
    @contextlib.contextmanager
    def alone(cls, home: str, *, seconds: float = 0.0) -> Iterator[Journal]:
        """Open the notes, made if there are none; `EditBusy` while another command edits."""
        with Disk.at(home, FOLDER, create=True) as disk, contextlib.ExitStack() as held:
            try:
                with contextlib.suppress(FileExistsError):
                    disk.create_bytes(_LOCK, b"")
                held.enter_context(disk.lock(_LOCK, exclusive=True, timeout=seconds))
            except TimeoutError:
                raise EditBusy from None
            except OSError as problem:
                raise store_trouble(disk.path, problem) from problem
            yield cls(disk)

    @staticmethod
    def exists(home: str) -> bool:
        """Whether anything was ever noted in this home."""
        return os.path.isdir(os.path.join(home, FOLDER))

    @contextlib.contextmanager
    def trouble(self) -> Iterator[None]:
        """Tell trouble with the disk of the notes apart from trouble with the tree."""
        try:
            yield
        except OSError as problem:
            raise store_trouble(self._disk.path, problem) from problem

    def open_edits(self) -> list[tuple[str, bool]]:
        """Return the place of each edit that is open, and whether it was committed."""
        with contextlib.suppress(FileNotFoundError):
            names = [name.split(".") for name in self._disk.list_folder(_OPEN)]
            return [(name[0], name[1] == _COMMITTED) for name in names if name[1:] in ([_PREPARED], [_COMMITTED])]
        return []

    def opened(self, place: str, *, committed: bool) -> TreeEdit:
        """Return an edit that is open."""
        return self._read(_open_name(place, committed=committed))

    def prepare(self, edit: TreeEdit) -> None:
        """Note an edit before anything of it is done; safe when this returns."""
        with self.trouble():
            # All that takes room is done now: what was committed is finished on a disk without a byte left.
            for folder in (_KEPT, _OPEN):
                with contextlib.suppress(FileExistsError):
                    self._disk.make_folder(folder)
            name = _open_name(place_of_root(edit.root), committed=False)
            try:
                self._disk.create_bytes(f"{name}.part", _encoded(edit))
                self._disk.sync_file(f"{name}.part")
                self._disk.swap(f"{name}.part", name)
            except OSError:
                with contextlib.suppress(OSError):
                    remove_file(self._disk, f"{name}.part")
                self._close_folder()
                raise
            self._disk.sync_folder(_OPEN)
            self._disk.sync_folder("")

    def commit(self, edit: TreeEdit) -> None:
        """Decide that the edit happens; safe when this returns."""
        place = place_of_root(edit.root)
        with self.trouble():
            self._disk.swap(_open_name(place, committed=False), _open_name(place, committed=True))
            self._disk.sync_folder(_OPEN)

    def take_back(self, edit: TreeEdit) -> None:
        """Decide that an edit that was committed does not happen after all."""
        place = place_of_root(edit.root)
        with self.trouble():
            self._disk.swap(_open_name(place, committed=True), _open_name(place, committed=False))
            self._disk.sync_folder(_OPEN)

    def finish(self, edit: TreeEdit, *, keep: int) -> None:
        """Keep the note of an edit that is done, beside the last ones; that of an undo goes, with what it took back."""
        place = place_of_root(edit.root)
        name = _open_name(place, committed=True)
        with self.trouble():
            if edit.undoes:
                remove_file(self._disk, _kept_name(place, edit.undoes))
                remove_file(self._disk, name)
            else:
                self._disk.swap(name, _kept_name(place, edit.number))
                for number in self.kept_numbers(edit.root)[:-keep]:
                    remove_file(self._disk, _kept_name(place, number))
            self._disk.sync_folder(_KEPT)
            self._close_folder()

    def drop(self, root: str) -> None:
        """Forget the edit of this root that is open; the files stay as they are."""
        with self.trouble():
            for committed in (False, True):
                remove_file(self._disk, _open_name(place_of_root(root), committed=committed))
            self._close_folder()

    def kept_numbers(self, root: str) -> list[int]:
        """Return the numbers of the edits that can be taken back, the oldest first."""
        with contextlib.suppress(FileNotFoundError):
            place = place_of_root(root) + "."
            names = [name for name in self._disk.list_folder(_KEPT) if name.startswith(place)]
            return sorted(int(name.removeprefix(place)) for name in names if name.removeprefix(place).isdigit())
        return []

    def kept(self, root: str, number: int) -> TreeEdit:
        """Return an edit that can be taken back."""
        return self._read(_kept_name(place_of_root(root), number))

    def forget(self, root: str, number: int) -> None:
        """Forget an edit that can be taken back."""
        with self.trouble():
            remove_file(self._disk, _kept_name(place_of_root(root), number))

    def _read(self, name: str) -> TreeEdit:
        try:
            return _decoded(self._disk.read(name, 2 * MAX_EDIT_BYTES))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise EditUnreadable(path=f"{self._disk.path}/{name}") from None
        except OSError as problem:
            raise store_trouble(f"{self._disk.path}/{name}", problem) from problem

    def _close_folder(self) -> None:
        for name in self._names_of_nobody():
            remove_file(self._disk, name)
        with contextlib.suppress(OSError):
            self._disk.sync_folder(_OPEN)
            self._disk.remove_folder(_OPEN)

    def _names_of_nobody(self) -> Sequence[str]:
        """Return what a command that was killed while it noted an edit has left."""
        with contextlib.suppress(FileNotFoundError):
            return [f"{_OPEN}/{name}" for name in self._disk.list_folder(_OPEN) if name.endswith(".part")]
        return []

    def tidy(self) -> None:
        """Remove what a killed command has left of a note that it had not finished."""
        with self.trouble():
            self._close_folder()


def _open_name(place: str, *, committed: bool) -> str:
    return f"{_OPEN}/{place}.{_COMMITTED if committed else _PREPARED}"


def _kept_name(place: str, number: int) -> str:
    return f"{_KEPT}/{place}.{number:0{_NUMBER}}"


# --- the bytes of a note: a line of JSON, then the texts one after the other ------------------------------------------


def _encoded(edit: TreeEdit) -> bytes:
    texts = b"".join(one.before + one.after for one in edit.files)
    head: dict[str, Any] = {"version": _VERSION, "root": edit.root, "number": edit.number, "about": edit.about}
    head |= {"at": edit.at, "undoes": edit.undoes, "digest": hashlib.sha256(texts).hexdigest()}
    head["files"] = [[os.fsdecode(one.raw), one.temporary, len(one.before), len(one.after)] for one in edit.files]
    return json.dumps(head).encode() + b"\n" + texts


def _decoded(data: bytes) -> TreeEdit:
    line, _, texts = data.partition(b"\n")
    head = json.loads(line)
    if head["version"] != _VERSION or hashlib.sha256(texts).hexdigest() != head["digest"]:
        raise ValueError
    files, at = [], 0
    for raw, temporary, before, after in head["files"]:
        middle, end = at + before, at + before + after
        files.append(EditedFile(os.fsencode(raw), temporary, texts[at:middle], texts[middle:end]))
        at = end
    edit = TreeEdit(head["root"], head["number"], head["about"], head["at"], tuple(files), head["undoes"])
    return replace(edit, number=int(edit.number), undoes=int(edit.undoes))
