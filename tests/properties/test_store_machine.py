"""A real tree, a store that may fail or lose power, and a dictionary that says what a reader must see.

Hypothesis chooses what people and programs do to the tree, when a run looks at it, and where the disk fails under the
run or the power goes. A reader sees what was published.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cairn.errors import CairnError, NameCollision, NotIndexed, StoreBusy
from cairn.store.fs import Fs
from cairn.store.lease import RunKind
from cairn.store.snapshot import SnapshotView, open_view
from cairn.store.verify import Severity, check
from cairn.store.writer import open_writer
from cairn.sync import run
from cairn.sync.place import Place
from cairn.sync.report import RunReport
from tests.conformance import conforms
from tests.source.test_git import run as git
from tests.store.disks import Call, FailingDisk, Fault, MemoryDisk, Mode, TracingDisk
from tests.sync.desk import Desk, extract_here, silent, texts_of

NAMES = [
    *("a.py", "A.py", "b.py", "pkg/a.py", "pkg/b.py", "pkg/deep/c.py"),
    *("note.md", "x.sh", "pkg/x.sh", "caf\u00e9.py"),
]
# Some of one size, so that an edit can hide; two that are no text.
TEXTS = [
    *(b"", b"def one(): ...\n", b"def two(): ...\n", b"def six(): ...\n", b"# words\n" * 40 + b"def long(): ...\n"),
    *(b"\0one", b"caf\xe9\n"),
]
RULES = ["", "*.sh\n", "pkg/\n", "*.sh\n!pkg/x.sh\n", "/a.py\n"]
SYMBOLS = ("one", "two", "six", "long")
names, texts = st.sampled_from(NAMES), st.sampled_from(TEXTS)


class Cut(BaseException):
    """The power went."""


class StoreMachine(RuleBasedStateMachine):
    """The rules change the tree and run over it; the invariants are read through views only."""

    with_git = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine"))
        self.patch = pytest.MonkeyPatch()
        self.desk = Desk(self.folder, with_git=self.with_git)
        self.patch.setattr(Place, "make_disk", lambda _: contextlib.nullcontext(self.below))
        extract_here(self.patch, self.desk.clock)
        self.disk = MemoryDisk()
        self.below: Fs = self.disk
        self.files: dict[str, bytes] = {}
        self.ignoring = ""
        self.published: dict[str, bytes] | None = None
        self.pins: list[tuple[SnapshotView, dict[str, bytes]]] = []
        self.ids: dict[tuple[str, bytes], list[str]] = {}
        self.checked = False

    def teardown(self) -> None:
        self._unpin_all()
        self.patch.undo()
        shutil.rmtree(self.folder)

    # --- the tree -------------------------------------------------------------------------------------------------

    @rule(name=names, data=texts)
    def write(self, name: str, data: bytes) -> None:
        path = self.desk.tree / name
        if path.is_symlink():
            path.unlink()
        self.desk.put(name, data)
        self.files[name] = data

    @precondition(lambda self: any(self.files[name] for name in self._picks()))
    @rule(data=st.data())
    def edit_in_disguise(self, data: st.DataObject) -> None:
        """The same size, the same mtime, the same inode."""
        name = data.draw(st.sampled_from([name for name in self._picks() if self.files[name]]))
        path = self.desk.tree / name
        before = path.stat()
        self.files[name] = self.files[name][1:] + self.files[name][:1]
        path.write_bytes(self.files[name])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @precondition(lambda self: self._picks())
    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self._picks()))
        self.files[name] += b"x = 1\n"
        with (self.desk.tree / name).open("ab") as file:
            file.write(b"x = 1\n")

    @precondition(lambda self: self._picks())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self._picks()))
        (self.desk.tree / name).unlink()
        del self.files[name]

    @precondition(lambda self: self._picks())
    @rule(data=st.data(), new=names)
    def rename(self, data: st.DataObject, new: str) -> None:
        """To a free name, over another file or a link, or to another case."""
        old = data.draw(st.sampled_from(self._picks()))
        (self.desk.tree / new).parent.mkdir(parents=True, exist_ok=True)
        (self.desk.tree / old).rename(self.desk.tree / new)
        self.files[new] = self.files.pop(old)

    @precondition(lambda self: self._picks())
    @rule(data=st.data(), mode=st.sampled_from([0o600, 0o644, 0o755]))
    def chmod(self, data: st.DataObject, mode: int) -> None:
        (self.desk.tree / data.draw(st.sampled_from(self._picks()))).chmod(mode)

    @rule(name=names, to=st.sampled_from(["a.py", "nowhere", "/etc/hostname", "..", "pkg"]))
    def link(self, name: str, to: str) -> None:
        """Into the tree or out of it: nothing is ever read through one."""
        path = self.desk.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self.files.pop(name, None)
        path.symlink_to(to)

    @rule(text=st.sampled_from(RULES))
    def edit_rules(self, text: str) -> None:
        self.desk.put(".cairnignore", text)
        self.ignoring = text
        self.files[".cairnignore"] = text.encode()

    @rule(seconds=st.sampled_from([0.1, 10.0]))
    def set_clock(self, seconds: float) -> None:
        """So close to the files that their times prove nothing, or far from them."""
        self.desk.clock.seconds = seconds

    # --- runs -----------------------------------------------------------------------------------------------------

    @initialize()
    def create(self) -> None:
        self.write("a.py", TEXTS[1])
        self.sync()

    @rule()
    def sync(self) -> None:
        if self._has_twins():
            with pytest.raises(NameCollision):
                self._run("sync")
            return
        self._run("sync")
        self.published = self._eligible()
        # Right after it there is nothing to do.
        assert not self._run("sync").published

    @rule(kind=st.sampled_from(["reindex", "clear"]))
    def build_anew(self, kind: str) -> None:
        if kind == "reindex" and self._has_twins():
            return
        self._run(kind)
        self.published = self._eligible() if kind == "reindex" else {}

    @rule(
        at=st.integers(1, 150),
        how=st.sampled_from(["early", "late", "short"]),
        number=st.sampled_from([errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE]),
    )
    def sync_with_fault(self, at: int, how: str, number: int) -> None:
        failing = FailingDisk(self.disk, Fault(at, number, how))  # type: ignore[arg-type]
        with self._on(failing), contextlib.suppress(CairnError, OSError):
            self._run("sync")
        self._either()

    @rule(at=st.integers(1, 150), mode=st.sampled_from(["kill", "lose", "tear"]), seed=st.integers(0, 999))
    def crash(self, at: int, mode: Mode, seed: int) -> None:
        """The power goes before the k-th call; the machine starts again with what the disk has kept."""
        left = at
        found: list[MemoryDisk] = []

        def before(_: Call) -> None:
            nonlocal left
            left -= 1
            if not left:
                found.append(self.disk.crash(mode, seed))
                raise Cut

        with self._on(TracingDisk(self.disk, before)), contextlib.suppress(CairnError, Cut):
            self._run("sync")
        self._unpin_all()
        self.disk = self.below = found[0] if found else self.disk.crash(mode, seed)
        self._either()

    @rule()
    def second_writer(self) -> None:
        # Without a change nobody needs the lease, and nobody is refused.
        with open_writer(self.disk, "here", RunKind.SYNC, rebuild=True), contextlib.suppress(StoreBusy):
            assert not self._run("sync").published

    # --- readers --------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.published is not None)
    @rule()
    def pin(self) -> None:
        view = open_view(self.disk, "here")
        assert view is not None
        self.pins.append((view, dict(self.published or {})))

    @precondition(lambda self: self.pins)
    @rule(data=st.data())
    def unpin(self, data: st.DataObject) -> None:
        self.pins.pop(data.draw(st.integers(0, len(self.pins) - 1)))[0].close()

    @invariant()
    def pinned_views_stay_as_they_were(self) -> None:
        for view, expected in self.pins:
            assert texts_of(view) == expected

    @invariant()
    def a_reader_sees_what_was_published(self) -> None:
        if self.checked:
            return
        self.checked = True
        assert [finding for finding in check(self.disk) if finding.severity is Severity.ERROR] == []
        view = open_view(self.disk, "here")
        if view is None:
            assert self.published is None
            return
        with view:
            self._compare(view)

    def _compare(self, view: SnapshotView) -> None:
        assert view.damage == ()
        assert self.published is not None
        assert texts_of(view) == self.published, (texts_of(view), self.published)
        for name in [*NAMES, ".cairnignore"]:
            if name not in self.published:
                assert not view.text(name)
                assert not view.chunks(name)
                assert not view.symbols(name)
        for symbol in SYMBOLS:
            found = {key for key, _ in view.symbols_named(symbol)}
            assert found <= self.published.keys()
            # An edit may have left anything of a text; of those that are as they were written, it is known.
            written = {key: text for key, text in self.published.items() if key.endswith(".py") and text in TEXTS}
            assert found & written.keys() == {
                key for key, text in written.items() if b"def %s(" % symbol.encode() in text
            }
        for key, text in self.published.items():
            rows = [row.row_id for row in view.chunks(key)]
            assert self.ids.setdefault((key, text), rows) == rows

    # --- helpers --------------------------------------------------------------------------------------------------

    def _run(self, kind: str) -> RunReport:
        self.checked = False
        act = {"sync": run.sync, "reindex": run.reindex, "clear": run.clear}[kind]
        arguments = (self.desk.codebase, self.desk.options(), silent)
        try:
            return act(*arguments, clock=self.desk.clock)
        except NotIndexed:
            # It was cleared: only an explicit index fills it again.
            return run.index(*arguments, clock=self.desk.clock)
        finally:
            self._next_tick()

    @contextlib.contextmanager
    def _on(self, disk: object) -> Iterator[None]:
        self.below = cast(Fs, disk)
        try:
            yield
        finally:
            self.below = self.disk

    def _either(self) -> None:
        """Something went wrong in the middle: the snapshot before, or the new one, and nothing else."""
        self.checked = False
        view = open_view(self.disk, "here")
        if view is None:
            assert self.published is None
            return
        with view:
            found = texts_of(view)
        assert found in (self.published, self._eligible()), (found, self.published, self._eligible())
        self.published = found

    def _picks(self) -> list[str]:
        return sorted(self.files.keys() - {".cairnignore"})

    def _eligible(self) -> dict[str, bytes]:
        return {name: text for name, text in self.files.items() if self._is_wanted(name) and _is_text(text)}

    def _is_wanted(self, name: str) -> bool:
        """The few rules that are in use, as git would read them."""
        left_out = {
            "": False,
            "*.sh\n": name.endswith(".sh"),
            "*.sh\n!pkg/x.sh\n": name.endswith(".sh") and name != "pkg/x.sh",
            "pkg/\n": name.startswith("pkg/"),
            "/a.py\n": name == "a.py",
        }
        return not left_out[self.ignoring]

    def _has_twins(self) -> bool:
        keys = [unicodedata.normalize("NFC", name).casefold() for name in self.files if self._is_wanted(name)]
        return len(set(keys)) < len(keys)

    def _unpin_all(self) -> None:
        for view, _ in self.pins:
            view.close()
        self.pins.clear()

    def _next_tick(self) -> None:
        """Wait until the file system's clock has moved on: the machine's own clock says that no edit was so close."""
        probe = self.folder / "probe"
        probe.write_bytes(b"")
        began = probe.stat().st_ctime_ns
        while probe.stat().st_ctime_ns == began:
            probe.write_bytes(b"")


class GitMachine(StoreMachine):
    """The same in a repository, where commits and branches move the tree as well."""

    with_git = True

    @initialize()
    def branch(self) -> None:
        self.desk.commit()
        for branch in ("left", "right"):
            git(self.desk.tree, "branch", branch)

    @rule()
    def commit(self) -> None:
        self.desk.commit()

    @rule(branch=st.sampled_from(["main", "left", "right"]))
    def switch(self, branch: str) -> None:
        self.desk.commit()
        git(self.desk.tree, "checkout", "-q", branch)
        tree = self.desk.tree
        self.files = {
            path.relative_to(tree).as_posix(): path.read_bytes()
            for path in tree.rglob("*")
            if path.is_file() and not path.is_symlink() and ".git" not in path.parts
        }
        self.ignoring = self.files.get(".cairnignore", b"").decode()


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def play(machine: type[StoreMachine], examples: int, steps: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)


@conforms("003.ELIG", "003.CIT1", "003.ID3", "004.CU6")
def test_a_reader_sees_what_was_published_whatever_happens() -> None:
    play(StoreMachine, 10, 30)


@conforms("003.GIT3")
def test_a_reader_sees_what_was_published_while_branches_change() -> None:
    play(GitMachine, 2, 20)


@pytest.mark.long
def test_a_reader_sees_what_was_published_in_two_hundred_long_histories() -> None:
    play(StoreMachine, 200, 60)


@pytest.mark.long
def test_a_reader_sees_what_was_published_in_long_histories_of_a_repository() -> None:
    play(GitMachine, 20, 60)
