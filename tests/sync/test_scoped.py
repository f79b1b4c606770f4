"""A sync of named files gives what a sync of everything gives, and claims no more than it has looked at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cairn.store.tend.compact as compact_module
from cairn.core.config import Config
from cairn.core.limits import MAX_HINTED_FILES
from cairn.core.progress import Progress
from cairn.core.types import Root
from cairn.errors import FilesFailed
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.walk import walk
from cairn.source.watch import Watch, watch_tree
from cairn.store.format.manifest import Manifest
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.sync import run
from cairn.sync.codebase import place_of
from cairn.sync.report import RunReport
from cairn.sync.scope import Seen
from tests.sync.desk import Desk, Model, ahead, extract_here, silent


class Pair:
    """One tree with two stores: one is told what has changed, the other looks at everything each time."""

    def __init__(self, folder: Path, *, with_git: bool = False) -> None:
        self.told, self.full = Desk(folder, with_git=with_git), folder / "full"
        self.seen = Seen()
        self.tree = self.told.tree
        self.watch: Watch | None = None
        self.scoped = self.whole = 0

    def start(self) -> None:
        self.watch = watch_tree(Root(str(self.tree), is_git=False), self._folders())
        self._run(str(self.told.home), seen=self.seen)
        self._run(str(self.full))

    def _folders(self) -> tuple[bytes, ...]:
        with Tree(Root(str(self.tree), is_git=False)) as tree:
            return walk(tree, Config()).folders

    def _run(self, home: str, **more: Any) -> RunReport:
        options = replace(self.told.options(), home=home, upkeep=False, **more)
        return run.sync(self.told.codebase, options, silent, clock=self.told.clock)

    def catch_up(self) -> tuple[dict[str, object], dict[str, object]]:
        """What both stores hold once both have caught up."""
        assert self.watch is not None
        hints = self.watch.take()
        hinted = None if hints is not None and hints.overflow else frozenset(hints.raws if hints else ())
        before = self.seen.tree
        self._run(str(self.told.home), seen=self.seen, hinted=hinted)
        if before is not None and self.seen.tree is before:
            self.scoped += 1
        else:
            self.whole += 1
            if self.seen.tree is not None:
                self.watch.follow(self.seen.tree.folders)
        self._run(str(self.full))
        return self.holds(str(self.told.home)), self.holds(str(self.full))

    def holds(self, home: str) -> dict[str, object]:
        place = place_of(self.told.codebase, home, self.told.model.identity)
        with place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
            return said(view)

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()


def said(view: SnapshotView) -> dict[str, object]:
    """Everything that an answer can be made of; not when it was made, nor in how many pieces."""
    manifest = view.manifest
    return {
        "git": manifest.git,
        "rules": manifest.ignore_fingerprint,
        "skipped": manifest.skipped,
        "files": manifest.counts.files_indexed,
        "chunks": manifest.counts.chunks_live,
        "held": {
            key: (
                *(record.file_hash, record.skip, record.detail, record.size, record.chunks),
                bytes(view.text(key) or b""),
                [row._replace(vector=memoryview(bytes(row.vector))) for row in view.chunks(key)],
                view.symbols(key),
                view.references(key),
                view.imports(key),
            )
            for key, record in view.records().items()
        },
    }


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    found = Pair(tmp_path)
    extract_here(monkeypatch, found.told.clock)
    yield found
    found.close()


FIRST = {"a.py": "def a(): ...\n", "src/b.py": "import a\n", "src/deep/c.md": "# c\n", "build/x.py": "x = 1\n"}


def filled(pair: Pair) -> Pair:
    for name, text in FIRST.items():
        pair.told.put(name, text)
    pair.told.put(".gitignore", "build/\n*.log\n")
    pair.start()
    return pair


# --- one edit each ----------------------------------------------------------------------------------------------------


def _delete(pair: Pair) -> None:
    (pair.tree / "src/b.py").unlink()


def _rename(pair: Pair) -> None:
    (pair.tree / "a.py").rename(pair.tree / "src/z.py")


def _as_editors_save(pair: Pair) -> None:
    (pair.tree / "a.py~").write_text("def saved(): ...\n")
    (pair.tree / "a.py~").rename(pair.tree / "a.py")


@pytest.mark.parametrize(
    "edit",
    [
        lambda pair: pair.told.put("a.py", "def other(): ...\n"),
        lambda pair: pair.told.put("new.py", "def new(): ...\n"),
        lambda pair: pair.told.put("a.py", b"\0\0no text"),
        lambda pair: pair.told.put("run.log", "left out\n"),
        lambda pair: pair.told.put("id_rsa", "a name that is left out\n"),
        lambda pair: os.utime(pair.tree / "a.py", (5, 5)),
        _delete,
        _rename,
        _as_editors_save,
    ],
)
def test_one_edit_of_a_file_is_found_by_a_look_at_that_file(pair: Pair, edit: Callable[[Pair], object]) -> None:
    filled(pair)
    edit(pair)
    told, full = pair.catch_up()
    assert told == full
    assert (pair.scoped, pair.whole) == (1, 0)


def _nested(pair: Pair) -> None:
    (pair.tree / "src/deep/.git").mkdir()
    (pair.tree / "src/deep/.git/HEAD").write_text("ref: refs/heads/main\n")


@pytest.mark.parametrize(
    "edit",
    [
        lambda pair: pair.told.put("fresh/one.py", "x = 1\n"),
        lambda pair: shutil.rmtree(pair.tree / "src"),
        lambda pair: (pair.tree / "src").rename(pair.tree / "lib"),
        lambda pair: pair.told.put(".gitignore", "*.md\n"),
        lambda pair: pair.told.put("src/.gitignore", "b.py\n"),
        lambda pair: pair.told.put(".cairnignore", "a.py\n"),
        lambda pair: pair.told.put(".cairn.toml", '[index]\nexclude = ["src/**"]\n'),
        lambda pair: (pair.tree / "link.py").symlink_to("a.py"),
        lambda pair: pair.told.put("A.py", "twin = 1\n") and (pair.tree / "A.py").unlink(),
        _nested,
    ],
)
def test_what_a_name_alone_cannot_tell_has_everything_compared(pair: Pair, edit: Callable[[Pair], object]) -> None:
    filled(pair)
    edit(pair)
    told, full = pair.catch_up()
    assert told == full


def test_many_names_are_found_by_a_look_at_everything(pair: Pair) -> None:
    filled(pair)
    for number in range(MAX_HINTED_FILES + 1):
        pair.told.put(f"n{number}.py", f"x = {number}\n")
    told, full = pair.catch_up()
    assert told == full
    assert (pair.scoped, pair.whole) == (0, 1)


def test_a_link_that_leads_to_a_file_that_goes_is_judged_anew(pair: Pair) -> None:
    pair.told.put("a.py", "x = 1\n")
    (pair.tree / "link.py").symlink_to("a.py")
    filled(pair)
    (pair.tree / "a.py").unlink()
    told, full = pair.catch_up()
    assert told == full
    assert dict(full["skipped"])["broken_link"] == 1  # type: ignore[call-overload]


# --- what it claims ---------------------------------------------------------------------------------------------------


def manifest_of(pair: Pair) -> Manifest:
    return pair.told.manifest()


def test_a_scoped_sync_is_as_old_as_the_comparison_that_it_rests_on(pair: Pair) -> None:
    filled(pair)
    before = manifest_of(pair)
    pair.told.clock.advance(100.0)
    pair.told.put("a.py", "def later(): ...\n")
    told, full = pair.catch_up()
    assert told == full
    after = manifest_of(pair)
    assert after.generation == before.generation + 1
    # Else the next comparison would believe time stamps of files that nobody has looked at.
    assert after.created_at == before.created_at


def test_an_edit_that_nobody_told_of_is_found_by_the_next_whole_comparison(pair: Pair) -> None:
    filled(pair)
    quiet = pair.tree / "src/b.py"
    was = quiet.stat()
    quiet.write_text("import z\n")
    os.utime(quiet, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert pair.watch is not None
    pair.watch.take()
    pair.told.put("a.py", "def told(): ...\n")
    pair.catch_up()
    assert pair.told.texts()["src/b.py"] == b"import a\n"
    pair._run(str(pair.told.home), seen=pair.seen, hinted=None)
    assert pair.told.texts()["src/b.py"] == b"import z\n"


def test_a_file_that_changes_while_it_is_published_is_looked_at_again(pair: Pair) -> None:
    filled(pair)
    pair.told.put("a.py", "def first(): ...\n")
    done: list[Progress] = []

    def tell(at: Progress) -> None:
        if at.phase == "publishing" and not done:
            done.append(at)
            pair.told.put("a.py", "def second(): ...\n")

    options = replace(pair.told.options(), seen=pair.seen, hinted=frozenset({b"a.py"}))
    run.sync(pair.told.codebase, options, tell, clock=pair.told.clock)
    assert pair.told.texts()["a.py"] == b"def second(): ...\n"


def test_a_rule_that_comes_while_it_is_published_has_everything_compared(pair: Pair) -> None:
    filled(pair)
    pair.told.put("src/b.py", "import other\n")
    done: list[Progress] = []

    def tell(at: Progress) -> None:
        if at.phase == "publishing" and not done:
            done.append(at)
            pair.told.put(".gitignore", "*.md\nsrc/\n")

    options = replace(pair.told.options(), seen=pair.seen, hinted=frozenset({b"src/b.py"}))
    run.sync(pair.told.codebase, options, tell, clock=pair.told.clock)
    assert sorted(pair.told.texts()) == [".gitignore", "a.py", "build/x.py"]


def test_another_writer_in_between_has_everything_compared(pair: Pair) -> None:
    filled(pair)
    pair.told.put("src/b.py", "import other\n")
    pair.told.sync()
    pair.told.put("a.py", "def later(): ...\n")
    told, full = pair.catch_up()
    assert told == full
    assert (pair.scoped, pair.whole) == (0, 1)


def test_a_file_that_fails_leaves_what_was_there_and_is_tried_again(pair: Pair) -> None:
    pair.told.model = Model(poison=b"poison")
    filled(pair)
    pair.told.put("a.py", "poison = 1\n")
    options = replace(pair.told.options(), seen=pair.seen, hinted=frozenset({b"a.py"}))
    with pytest.raises(FilesFailed):
        run.sync(pair.told.codebase, options, silent, clock=pair.told.clock)
    assert pair.told.texts()["a.py"] == FIRST["a.py"].encode()
    pair.told.put("a.py", "cured = 1\n")
    run.sync(pair.told.codebase, options, silent, clock=pair.told.clock)
    assert pair.told.texts()["a.py"] == b"cured = 1\n"


def test_what_a_merge_has_put_together_is_built_on(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_module, "is_overdue", lambda manifest: len(manifest.segments) > 3)
    filled(pair)
    tree = pair.seen.tree
    for number in range(4):
        pair.told.put("a.py", f"x = {number}\n")
        pair._run(str(pair.told.home), seen=pair.seen, hinted=frozenset({b"a.py"}))
    assert len(manifest_of(pair).segments) <= 3
    told, full = pair.catch_up()
    assert told == full
    assert pair.seen.tree is tree


# --- git --------------------------------------------------------------------------------------------------------------


def test_whether_the_tree_is_dirty_is_said_as_by_a_look_at_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(tmp_path, with_git=True)
    extract_here(monkeypatch, pair.told.clock)
    pair.told.put("a.py", "x = 1\n")
    pair.told.put("b.py", "y = 1\n")
    pair.told.commit()
    pair.start()
    steps: list[tuple[Callable[[], object], bool]] = [
        (lambda: pair.told.put("a.py", "x = 2\n"), True),
        (lambda: pair.told.put("new.py", "z = 1\n"), True),
        (lambda: pair.told.put("a.py", "x = 1\n"), False),
        (lambda: pair.told.put("new.py", "z = 2\n"), False),
        (lambda: (pair.told.put("b.py", "y = 2\n"), pair.told.git("add", "b.py")), True),
        (lambda: (pair.told.commit(), pair.told.put("a.py", "x = 3\n")), True),
        (pair.told.commit, False),
        # The commit is another one: with nothing to publish, and with something.
        (lambda: (pair.told.git("commit", "-q", "--allow-empty", "-m", "e"), os.utime(pair.tree / "a.py")), False),
        (lambda: (pair.told.git("commit", "-q", "--allow-empty", "-m", "e"), pair.told.put("a.py", "x = 4\n")), True),
    ]
    try:
        for step, dirty in steps:
            step()
            told, full = pair.catch_up()
            assert told == full
            assert full["git"].dirty is dirty  # type: ignore[attr-defined]
        assert pair.scoped >= 3
    finally:
        pair.close()


def test_a_save_asks_git_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the index holds of the file, which is a process; the files that say which commit it is are the same."""
    pair = Pair(tmp_path, with_git=True)
    extract_here(monkeypatch, pair.told.clock)
    pair.told.put("a.py", "x = 1\n")
    pair.told.commit()
    pair.start()
    asked, real = [], Git._ask

    def ask(git: Git, what: str, *given: str, **more: Any) -> Any:
        asked.append(what)
        return real(git, what, *given, **more)

    try:
        pair.told.put("a.py", "x = 2\n")
        monkeypatch.setattr(Git, "_ask", ask)
        told = pair._run(str(pair.told.home), seen=pair.seen, hinted=frozenset({b"a.py"}))
        assert told.changes.modified == 1
        assert asked == ["the index"]
    finally:
        pair.close()


# --- any sequence -----------------------------------------------------------------------------------------------------

NAMES = ["a.py", "b.py", "src/b.py", "src/new.py", "src/deep/c.md", "src/deep/d.py", "run.log", "id_rsa", "other/e.py"]
TEXTS = ["", "x = 1\n", "def f():\n    return g()\n", "\0binary", "# words\n", "import a\n"]
RULES = ["", "build/\n*.log\n", "src/deep/\n", "*.md\nb.py\n", "!run.log\n"]

EDITS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    st.tuples(st.just("delete"), st.sampled_from(NAMES)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("touch"), st.sampled_from(NAMES)),
    st.tuples(
        st.just("rules"), st.sampled_from([".gitignore", "src/.gitignore", ".cairnignore"]), st.sampled_from(RULES)
    ),
    st.tuples(st.just("rmtree"), st.sampled_from(["src", "src/deep", "other"])),
    st.tuples(st.just("link"), st.sampled_from(["l.py", "src/l.py"]), st.sampled_from(["a.py", "b.py"])),
)


def do(tree: Path, edit: tuple[str, ...]) -> None:
    """One edit, if it can be done."""
    kind, path = edit[0], tree / edit[1]
    try:
        if kind in ("write", "rules"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(edit[2].encode())
        elif kind == "delete":
            path.unlink()
        elif kind == "rename":
            (tree / edit[2]).parent.mkdir(parents=True, exist_ok=True)
            path.rename(tree / edit[2])
        elif kind == "touch":
            os.utime(path, (7, 7))
        elif kind == "rmtree":
            shutil.rmtree(path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(edit[2])
    except OSError:
        return


def live(folder: Path, steps: list[list[tuple[str, ...]]], *, with_git: bool) -> tuple[int, int]:
    """A tree through these edits, both stores compared after each step; how many syncs were scoped, how many not."""
    shutil.rmtree(folder, ignore_errors=True)
    pair = Pair(folder, with_git=with_git)
    try:
        for name, text in FIRST.items():
            pair.told.put(name, text)
        if with_git:
            pair.told.commit()
        pair.start()
        for edits in steps:
            for edit in edits:
                do(pair.tree, edit)
            told, full = pair.catch_up()
            assert told == full
        return pair.scoped, pair.whole
    finally:
        pair.close()


STEPS = st.lists(st.lists(EDITS, min_size=1, max_size=3), min_size=1, max_size=5)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(steps=STEPS)
def test_after_any_edits_both_ways_hold_the_same(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patching:
        extract_here(patching, ahead())
        live(tmp_path_factory.getbasetemp() / "scoped", steps, with_git=False)


@pytest.mark.long
@settings(max_examples=80, deadline=None, derandomize=True)
@given(steps=STEPS, with_git=st.booleans())
def test_after_any_edits_both_ways_hold_the_same_at_length(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], with_git: bool
) -> None:
    with pytest.MonkeyPatch.context() as patching:
        extract_here(patching, ahead())
        live(tmp_path_factory.getbasetemp() / "scoped-long", steps, with_git=with_git)
