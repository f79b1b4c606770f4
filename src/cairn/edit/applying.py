"""Make an edit of a codebase, take the last one back, and finish what was cut off: wholly, or not at all.

The order of an edit: the files are read and must hold what the plan was made from; the journal notes them; new files
are made beside all of them; the files are looked at again; the journal is committed, from where on the edit happens;
the new files take the places of the old ones. What stops before the commit has changed nothing. What stops after it is
finished by whoever comes next, and that takes no room on any disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import EDITS_KEPT, MAX_EDIT_BYTES
from cairn.core.types import Root
from cairn.edit.journal import EditedFile, Journal, TreeEdit, WantedFile, is_any_open, place_of_root
from cairn.edit.tree_writer import TreeWriter
from cairn.errors import (
    CairnError,
    EditCut,
    EditError,
    EditRefused,
    EditStopped,
    NotFound,
    RootNotAFolder,
    RootNotFound,
)
from cairn.source.beneath import Tree
from cairn.source.root import printable

_CHANGED = "it has changed since the plan was made"
_CHANGED_SINCE = "it has changed since that edit"
_WAIT_SECONDS = 2.0


class CutOutcome(StrEnum):
    """What became of an edit that was cut off."""

    FINISHED = "finished"
    TAKEN_BACK = "taken back"
    STUCK = "stuck"


class Mended(NamedTuple):
    """An edit that was cut off, and what became of it. `why` says what stands against it where it is stuck."""

    root: str
    outcome: CutOutcome
    files: int = 0
    why: str = ""


def apply(home: str, root: Root, about: str, files: Sequence[WantedFile], clock: Clock = SYSTEM_CLOCK) -> TreeEdit:
    """Change these files, all of them or none; return the edit, which can be taken back.

    `EditRefused` names a file that is not what the plan was made from, or may not be replaced; an `EditError` or a
    `StoreError` says that the system refused. After each of them every file is as it was.
    """
    with Journal.alone(home, seconds=_WAIT_SECONDS) as journal:
        return _Edit(journal, root).make(files, about, clock, why=_CHANGED)


def undo(home: str, root: Root, clock: Clock = SYSTEM_CLOCK) -> TreeEdit:
    """Give the files of the last edit their old bytes again; return what was done.

    `EditRefused` names a file that has changed since; then nothing is changed. Raises `NotFound` without an edit.
    """
    if not Journal.exists(home):
        raise _nothing()
    with Journal.alone(home, seconds=_WAIT_SECONDS) as journal:
        edit = _Edit(journal, root)
        edit.settle()
        last = _last(journal, root)
        files = [WantedFile(one.raw, _hash(one.after), one.before) for one in last.files]
        return edit.make(files, last.about, clock, why=_CHANGED_SINCE, undoes=last.number)


def forget(home: str, root: Root) -> None:
    """Forget an edit that was cut off, else the last one: all files stay as they are, and nothing can take it back."""
    if not Journal.exists(home):
        raise _nothing()
    with Journal.alone(home, seconds=_WAIT_SECONDS) as journal:
        place = place_of_root(root.path)
        for at, committed in journal.open_edits():
            if at == place:
                try:
                    with Tree(root) as tree:
                        _discard(TreeWriter(tree), journal.opened(place, committed=committed).files)
                except (CairnError, OSError):
                    # What was noted of it is damaged, or its folder is gone.
                    pass
                journal.drop(root.path)
                return
        numbers = journal.kept_numbers(root.path)
        if not numbers:
            raise _nothing()
        journal.forget(root.path, numbers[-1])


def mend(home: str) -> list[Mended]:
    """Finish every edit that was cut off, or take it back, and say what became of it; nothing while somebody edits."""
    if not is_any_open(home):
        return []
    found = []
    with Journal.alone(home) as journal:
        for place, committed in journal.open_edits():
            try:
                edit = journal.opened(place, committed=committed)
                outcome = _Edit(journal, Root(edit.root, is_git=False)).settle()
                found.append(Mended(edit.root, outcome or CutOutcome.STUCK, len(edit.files)))
            except (RootNotFound, RootNotAFolder):
                # Its disk may be back tomorrow.
                continue
            except CairnError as problem:
                root = str(problem.fields.get("root", ""))
                found.append(Mended(root, CutOutcome.STUCK, why=problem.sentence))
            except OSError as problem:
                found.append(Mended("", CutOutcome.STUCK, why=os.strerror(problem.errno or 0)))
        journal.tidy()
    return found


def _last(journal: Journal, root: Root) -> TreeEdit:
    numbers = journal.kept_numbers(root.path)
    if not numbers:
        raise _nothing()
    return journal.kept(root.path, numbers[-1])


def _nothing() -> NotFound:
    return NotFound(problem="There is no edit here to take back.", advice="`cairn rename --apply` makes one")


class _Edit:
    """An edit of one root under the lock of the journal."""

    def __init__(self, journal: Journal, root: Root) -> None:
        self._journal, self._root = journal, root

    def make(self, files: Sequence[WantedFile], about: str, clock: Clock, *, why: str, undoes: int = 0) -> TreeEdit:
        self.settle()
        with Tree(self._root) as tree:
            writer = TreeWriter(tree)
            looks = [writer.look(one.raw) for one in files]
            for one, (data, _) in zip(files, looks, strict=True):
                if _hash(data) != one.content_hash:
                    raise EditRefused(file=printable(one.raw), why=why)
            number = max([0, *self._journal.kept_numbers(self._root.path)]) + 1
            edited = [
                EditedFile(one.raw, f".cairn-edit-{number}-{turn}.log", data, one.after)
                for turn, (one, (data, _)) in enumerate(zip(files, looks, strict=True))
            ]
            if sum(len(one.before) + len(one.after) for one in edited) > MAX_EDIT_BYTES:
                raise EditError(root=self._shown, why="all files of the edit together are too large")
            edit = TreeEdit(self._root.path, number, about, clock.wall_ns() / 1e9, tuple(edited), undoes)
            self._journal.prepare(edit)
            try:
                self._stage(writer, edit)
                for one, (_, held) in zip(files, looks, strict=True):
                    if not writer.is_still(one.raw, held):
                        raise EditRefused(file=printable(one.raw), why=why)
                self._journal.commit(edit)
            except BaseException:
                # Nothing of the tree has changed but what lies beside its files. What cannot be tidied up now is later.
                with contextlib.suppress(OSError, CairnError):
                    _discard(writer, edit.files)
                    self._journal.drop(self._root.path)
                raise
            try:
                outcome = self._finish(writer, edit)
            except KeyboardInterrupt:
                # It happens in any case: better at once than with the next command, and not told as stopped.
                outcome = self._finish(writer, edit)
            except EditStopped as problem:
                self._unmake(writer, edit)
                raise EditError(root=self._shown, why=problem.fields["why"]) from problem
            if outcome is CutOutcome.TAKEN_BACK:
                [changed] = [one for one in edit.files if writer.held(one.raw) != one.before][:1] or edit.files[:1]
                raise EditRefused(file=printable(changed.raw), why="it was changed by another program meanwhile")
            return edit

    def settle(self) -> CutOutcome | None:
        """Finish the edit of this root that was cut off, or take it back; None when there is none."""
        place = place_of_root(self._root.path)
        for at, committed in self._journal.open_edits():
            if at != place:
                continue
            edit = self._journal.opened(place, committed=committed)
            with Tree(self._root) as tree:
                writer = TreeWriter(tree)
                if committed:
                    return self._finish(writer, edit)
                with self._trouble():
                    _discard(writer, edit.files)
                self._journal.drop(self._root.path)
                return CutOutcome.TAKEN_BACK
        return None

    def _stage(self, writer: TreeWriter, edit: TreeEdit) -> None:
        with self._trouble():
            for one in edit.files:
                writer.stage(one.raw, one.temporary, one.after)
            writer.sync_folders(one.raw for one in edit.files)

    def _finish(self, writer: TreeWriter, edit: TreeEdit) -> CutOutcome:
        """Do what a committed edit says, or take back what was done where somebody has changed a file that is due."""
        with self._trouble(EditStopped):
            now = [writer.held(one.raw) for one in edit.files]
            todo = [one for one, held in zip(edit.files, now, strict=True) if held == one.before]
            done = [one for one, held in zip(edit.files, now, strict=True) if held == one.after]
            others = [one for one in edit.files if one not in todo and one not in done]
            # Beside a file whose turn had not come still lies what was to take its place.
            early = [one for one in others if writer.held(writer.beside(one.raw, one.temporary)) is not None]
            late = [one for one in others if one not in early]
            if early and late:
                raise EditCut(root=self._shown, file=printable(early[0].raw))
            if early:
                for one in done:
                    writer.stage(one.raw, one.temporary, one.before)
            for one in done if early else todo:
                wanted = one.before if early else one.after
                if writer.held(writer.beside(one.raw, one.temporary)) != wanted:
                    writer.stage(one.raw, one.temporary, wanted)
                writer.put(one.raw, one.temporary)
            writer.sync_folders(one.raw for one in edit.files if one not in others)
            if early:
                # From here on it did not happen, even when what lies beside the files is gone in part.
                self._journal.take_back(edit)
            _discard(writer, edit.files)
        if early:
            self._journal.drop(self._root.path)
            return CutOutcome.TAKEN_BACK
        self._journal.finish(edit, keep=EDITS_KEPT)
        return CutOutcome.FINISHED

    def _unmake(self, writer: TreeWriter, edit: TreeEdit) -> None:
        """Give the files of an edit that the system does not let us finish their old bytes again."""
        with self._trouble(EditStopped):
            for one in edit.files:
                if one.after != one.before and writer.held(one.raw) == one.after:
                    writer.stage(one.raw, one.temporary, one.before)
                    writer.put(one.raw, one.temporary)
            writer.sync_folders(one.raw for one in edit.files)
            self._journal.take_back(edit)
            _discard(writer, edit.files)
        self._journal.drop(self._root.path)

    @property
    def _shown(self) -> str:
        return printable(os.fsencode(self._root.path))

    def _trouble(self, error: type[EditError] = EditError) -> _Trouble:
        return _Trouble(self._shown, error)


class _Trouble:
    """A block in which the system may refuse to write to the tree; that is told as such an error."""

    def __init__(self, root: str, error: type[EditError]) -> None:
        self._root, self._error = root, error

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: object, at: object) -> None:
        if isinstance(problem, OSError):
            raise self._error(root=self._root, why=_said(problem)) from problem


def _discard(writer: TreeWriter, files: Sequence[EditedFile]) -> None:
    for one in files:
        writer.discard(one.raw, one.temporary)


def _said(problem: OSError) -> str:
    """Return what the system says, and of which file."""
    name = problem.filename2 or problem.filename
    where = f" ({printable(os.fsencode(name))})" if isinstance(name, str | bytes) else ""
    return f"{os.strerror(problem.errno or 0)}{where}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
