"""Edits of a tree: all of it or nothing, taken back to the byte, and never a file that is not what the plan saw."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest

from cairn.core.limits import EDITS_KEPT
from cairn.core.types import Root
from cairn.edit import applying
from cairn.edit.applying import CutOutcome, apply, forget, mend, undo
from cairn.edit.journal import CUT, Journal, WantedFile, cut_sentences, is_any_open
from cairn.edit.tree_writer import TreeWriter
from cairn.errors import CairnError, EditBusy, EditCut, EditError, EditRefused, EditStopped, EditUnreadable, NotFound
from tests.support.faults import Faults
from tests.support.trees import write_tree

FILES = {
    "a.py": b"one = 1\n",
    "src/b.py": b"from a import one\r\nx = one",
    "src/c.py": "print(one)  # \u00e9\n".encode(),
}


class Desk:
    """A tree of three files, and a home for what is noted of its edits."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.home = folder.resolve() / "tree", str(folder / "home")
        write_tree(self.tree, FILES)
        self.root = Root(str(self.tree), is_git=False)

    def wanted(self, *names: str, new: bytes = b"two") -> list[WantedFile]:
        """These files, or all, with another name in them."""
        return [
            WantedFile(
                os.fsencode(name), hashlib.sha256(self.read(name)).hexdigest(), self.read(name).replace(b"one", new)
            )
            for name in names or FILES
        ]

    def read(self, name: str) -> bytes:
        return (self.tree / name).read_bytes()

    def held(self) -> dict[str, bytes]:
        """Every file of the tree, whatever its name."""
        return {str(path.relative_to(self.tree)): path.read_bytes() for path in self.tree.rglob("*") if path.is_file()}

    def apply(self, *names: str, new: bytes = b"two") -> None:
        apply(self.home, self.root, "rename one", self.wanted(*names, new=new))

    def refused(self, wanted: list[WantedFile]) -> str:
        """Why an edit is refused; nothing may have changed."""
        before = self.held()
        with pytest.raises(EditRefused) as refused:
            apply(self.home, self.root, "rename one", wanted)
        assert self.held() == before
        assert cut_sentences(self.home, self.root.path) == []
        return str(refused.value)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


AFTER = {name: data.replace(b"one", b"two") for name, data in FILES.items()}


def test_an_edit_changes_all_its_files_and_is_taken_back_to_the_byte(desk: Desk) -> None:
    (desk.tree / "a.py").chmod(0o751)
    desk.apply()
    assert desk.held() == AFTER
    assert stat.S_IMODE((desk.tree / "a.py").stat().st_mode) == 0o751
    assert not is_any_open(desk.home)
    undone = undo(desk.home, desk.root)
    assert (undone.about, undone.paths) == ("rename one", tuple(FILES))
    assert desk.held() == FILES
    assert stat.S_IMODE((desk.tree / "a.py").stat().st_mode) == 0o751
    with pytest.raises(NotFound, match="no edit here"):
        undo(desk.home, desk.root)


def test_without_an_edit_nothing_is_taken_back_and_nothing_is_made_in_the_home(desk: Desk) -> None:
    for take_back in (undo, forget):
        with pytest.raises(NotFound):
            take_back(desk.home, desk.root)
    assert mend(desk.home) == []
    assert not Path(desk.home).exists()


def test_the_last_ten_edits_are_taken_back_one_after_the_other(desk: Desk) -> None:
    states = []
    for number in range(EDITS_KEPT + 2):
        states.append(desk.held())
        old = b"one" if number == 0 else b"n%d" % number
        wanted = [
            WantedFile(
                b"a.py",
                hashlib.sha256(desk.read("a.py")).hexdigest(),
                desk.read("a.py").replace(old, b"n%d" % (number + 1)),
            )
        ]
        apply(desk.home, desk.root, f"number {number}", wanted)
    for _ in range(EDITS_KEPT):
        undo(desk.home, desk.root)
        assert desk.held() == states.pop()
    with pytest.raises(NotFound):
        undo(desk.home, desk.root)
    assert desk.held() != FILES


def test_edits_of_one_tree_are_nothing_to_another(desk: Desk, tmp_path: Path) -> None:
    desk.apply()
    other = Desk(tmp_path / "other")
    with pytest.raises(NotFound):
        undo(desk.home, other.root)
    assert desk.held() == AFTER


def test_a_file_that_has_changed_since_stops_the_edit_and_the_undo(desk: Desk) -> None:
    wanted = desk.wanted()
    write_tree(desk.tree, {"src/b.py": b"mine = 1\n"})
    assert desk.refused(wanted) == "src/b.py is not edited: it has changed since the plan was made."
    write_tree(desk.tree, FILES)
    desk.apply()
    write_tree(desk.tree, {"src/c.py": b"mine = 1\n"})
    before = desk.held()
    with pytest.raises(EditRefused, match=r"src/c.py is not edited: it has changed since that edit\."):
        undo(desk.home, desk.root)
    assert desk.held() == before
    write_tree(desk.tree, {"src/c.py": AFTER["src/c.py"]})
    undo(desk.home, desk.root)
    assert desk.held() == FILES


def test_what_would_not_be_the_same_file_afterwards_is_refused(desk: Desk, tmp_path: Path) -> None:
    wanted = desk.wanted()
    target = desk.tree / "src" / "c.py"
    target.chmod(0o444)
    assert desk.refused(wanted) == "src/c.py is not edited: it is read-only."
    target.chmod(0o644)
    os.link(target, tmp_path / "another name")
    assert "hard links" in desk.refused(wanted)
    target.unlink()
    assert desk.refused(wanted) == "src/c.py is not edited: it is gone."
    target.symlink_to(tmp_path / "another name")
    assert "it is a link" in desk.refused(wanted)
    assert (tmp_path / "another name").read_bytes() == FILES["src/c.py"]
    target.unlink()
    os.mkfifo(target)
    assert "it is no plain file" in desk.refused(wanted)


def test_nothing_is_written_through_a_link_out_of_the_tree(desk: Desk, tmp_path: Path) -> None:
    """Nor when the folder becomes a link after the plan was made, to one that holds just the same."""
    wanted = desk.wanted()
    (desk.tree / "src").rename(tmp_path / "outside")
    (desk.tree / "src").symlink_to(tmp_path / "outside")
    assert "it is a link, or lies behind one" in desk.refused(wanted)
    assert (tmp_path / "outside" / "b.py").read_bytes() == FILES["src/b.py"]


def test_another_owner_and_attributes_are_kept(desk: Desk) -> None:
    file = desk.tree / "a.py"
    try:
        os.setxattr(file, "user.note", b"mine")
        os.chown(file, 12, 34)
    except OSError:
        pytest.skip("this disk or this user cannot")
    desk.apply()
    assert os.getxattr(file, "user.note") == b"mine"
    assert (file.stat().st_uid, file.stat().st_gid) == (12, 34)


def test_only_one_command_edits_at_a_time(desk: Desk, faults: Faults) -> None:
    faults.limit(applying, _WAIT_SECONDS=0.0)
    with Journal.alone(desk.home), pytest.raises(EditBusy):
        desk.apply()
    assert desk.held() == FILES


# --- somebody saves a file in the middle of an edit -------------------------------------------------------------------


class _Cut(BaseException):
    """The end of the process, as far as its memory goes."""


def cut(desk: Desk, at: int) -> None:
    """Cut an edit off before the file with this number takes its place."""
    with Faults.meanwhile() as meanwhile:
        meanwhile.fail(TreeWriter, "put", _Cut(), at=at)
        with pytest.raises(_Cut):
            desk.apply()
    assert cut_sentences(desk.home, desk.root.path) == [CUT]


def test_what_was_cut_off_is_finished(desk: Desk) -> None:
    cut(desk, at=2)
    assert desk.held() != AFTER
    assert mend(desk.home) == [(desk.root.path, CutOutcome.FINISHED, 3, "")]
    assert (desk.held(), is_any_open(desk.home)) == (AFTER, False)
    assert undo(desk.home, desk.root).number == 2
    assert desk.held() == FILES


def test_an_undo_finishes_what_was_cut_off_and_takes_that_back(desk: Desk) -> None:
    cut(desk, at=3)
    undo(desk.home, desk.root)
    assert (desk.held(), is_any_open(desk.home)) == (FILES, False)


def test_where_a_file_that_was_not_reached_has_changed_the_others_are_taken_back(desk: Desk) -> None:
    cut(desk, at=3)
    write_tree(desk.tree, {"src/c.py": b"mine\n"})
    assert [one.outcome for one in mend(desk.home)] == [CutOutcome.TAKEN_BACK]
    assert desk.held() == FILES | {"src/c.py": b"mine\n"}
    assert not is_any_open(desk.home)


def test_where_a_file_that_is_done_has_changed_the_others_are_finished(desk: Desk) -> None:
    cut(desk, at=2)
    write_tree(desk.tree, {"a.py": b"mine\n"})
    assert [one.outcome for one in mend(desk.home)] == [CutOutcome.FINISHED]
    assert desk.held() == AFTER | {"a.py": b"mine\n"}


def test_where_both_have_changed_the_person_decides(desk: Desk) -> None:
    cut(desk, at=3)
    write_tree(desk.tree, {"src/c.py": b"mine\n", "a.py": b"mine\n"})
    [stuck] = mend(desk.home)
    assert stuck.outcome is CutOutcome.STUCK
    assert "src/c.py was changed since" in stuck.why
    assert cut_sentences(desk.home, desk.root.path) == [CUT]
    with pytest.raises(EditCut):
        desk.apply("src/b.py", new=b"three")
    forget(desk.home, desk.root)
    assert (desk.held(), is_any_open(desk.home)) == (
        {"a.py": b"mine\n", "src/b.py": AFTER["src/b.py"], "src/c.py": b"mine\n"},
        False,
    )


def test_an_edit_of_a_tree_that_is_away_waits_for_it(desk: Desk) -> None:
    cut(desk, at=2)
    away = desk.tree.rename(desk.tree.with_name("away"))
    assert mend(desk.home) == []
    away.rename(desk.tree)
    assert [one.outcome for one in mend(desk.home)] == [CutOutcome.FINISHED]
    assert desk.held() == AFTER


def test_a_damaged_note_is_said_and_can_be_forgotten(desk: Desk) -> None:
    cut(desk, at=2)
    [note] = Path(desk.home, "edits", "open").iterdir()
    data = bytearray(note.read_bytes())
    data[-1] ^= 1
    note.write_bytes(data)
    [stuck] = mend(desk.home)
    assert "is damaged" in stuck.why
    with pytest.raises(EditUnreadable):
        undo(desk.home, desk.root)
    forget(desk.home, desk.root)
    assert not is_any_open(desk.home)


def test_a_forgotten_edit_cannot_be_taken_back(desk: Desk) -> None:
    desk.apply()
    forget(desk.home, desk.root)
    assert desk.held() == AFTER
    for again in (undo, forget):
        with pytest.raises(CairnError, match="no edit here"):
            again(desk.home, desk.root)


# --- a file that the system does not let anybody replace --------------------------------------------------------------


class Immovable:
    """One file of a tree cannot be replaced, as one that is immutable; what was replaced before it can be."""

    def __init__(self, faults: Faults, name: bytes, most: int = 1 << 30) -> None:
        self.name, self.left = name, most
        faults.around(TreeWriter, "put", self._put)

    def _put(self, real: object, writer: TreeWriter, raw: bytes, temporary: str) -> None:
        if raw == self.name or self.left <= 0:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), temporary, None, raw)
        self.left -= 1
        real(writer, raw, temporary)  # type: ignore[operator]


def test_a_file_that_nobody_may_replace_takes_the_others_back(desk: Desk, faults: Faults) -> None:
    Immovable(faults, b"src/c.py")
    before = desk.held()
    with pytest.raises(EditError, match=r"Operation not permitted \(src/c.py\)") as told:
        desk.apply()
    assert (told.value.code, desk.held(), is_any_open(desk.home)) == ("edit_failed", before, False)
    faults.end()
    assert mend(desk.home) == []
    desk.apply()


def test_an_edit_that_can_go_neither_on_nor_back_does_not_say_that_nothing_has_changed(
    desk: Desk, faults: Faults
) -> None:
    before = desk.held()
    Immovable(faults, b"src/c.py", most=1)
    with pytest.raises(EditStopped) as told:
        desk.apply()
    assert "stopped in the middle" in told.value.sentence
    assert desk.held() != before
    assert cut_sentences(desk.home, desk.root.path) == [CUT]
    with pytest.raises(EditStopped):
        undo(desk.home, desk.root)
    faults.end()
    assert [one.outcome for one in mend(desk.home)] == [CutOutcome.FINISHED]
    undo(desk.home, desk.root)
    assert desk.held() == before
