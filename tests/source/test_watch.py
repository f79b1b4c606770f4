"""A watcher's hints: never too few without saying so, never from outside, never without bound."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import cairn.source.watch as watch_module
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import Config
from cairn.core.types import Root
from cairn.errors import WatchFailed
from cairn.source.beneath import Tree
from cairn.source.walk import walk
from cairn.source.watch import Hints, Watch, watch_tree
from tests.source.test_changes import Snapshot
from tests.support.faults import Faults
from tests.support.repos import run_git

KERNEL_QUEUE = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


def folders_of(folder: Path) -> tuple[bytes, ...]:
    with Tree(Root(str(folder), is_git=False)) as tree:
        return walk(tree, Config()).folders


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    for name in ("src/deep", "docs", "node_modules/pkg"):
        (folder / name).mkdir(parents=True)
    (folder / ".gitignore").write_text("node_modules/\n")
    for name in ("top.py", "src/a.py", "src/deep/b.py", "docs/c.md", "node_modules/pkg/d.js"):
        (folder / name).write_text("text\n")
    return folder


@pytest.fixture
def watch(tree: Path) -> Iterator[Watch]:
    watching = watch_tree(Root(str(tree), is_git=False), folders_of(tree))
    yield watching
    watching.close()


def all_hints(watch: Watch) -> Hints:
    """Everything until the tree is quiet."""
    raws: set[bytes] = set()
    overflow = False
    while (hints := watch.poll(0.3)) is not None:
        raws |= hints.raws
        overflow |= hints.overflow
    return Hints(frozenset(raws), overflow)


def test_a_quiet_tree_gives_no_hint(watch: Watch) -> None:
    assert watch.poll(0.05) is None


def test_each_kind_of_edit_is_hinted_once(tree: Path, watch: Watch) -> None:
    (tree / "top.py").write_text("edited\n")
    (tree / "docs/c.md").unlink()
    (tree / "src/a.py").rename(tree / "src/renamed.py")
    os.utime(tree / "src/deep/b.py", (5, 5))
    (tree / "save.tmp").write_text("as editors save\n")
    (tree / "save.tmp").rename(tree / "saved.py")
    found = all_hints(watch)
    assert found == Hints(
        frozenset(
            {b"top.py", b"docs/c.md", b"src/a.py", b"src/renamed.py", b"src/deep/b.py", b"save.tmp", b"saved.py"}
        ),
        overflow=False,
    )


def test_a_name_with_any_byte_is_a_hint_and_the_next_one_too(tree: Path, watch: Watch) -> None:
    names = {b"a b", b"new\nline", b"byte\xff", b"tab\t"}
    for name in names:
        with open(os.path.join(os.fsencode(tree), b"src", name), "w"):
            pass
    assert all_hints(watch).raws == {b"src/" + name for name in names}
    (tree / "src/after.py").touch()
    assert all_hints(watch).raws == {b"src/after.py"}


def test_folders_that_are_not_eligible_are_not_watched(tree: Path, watch: Watch) -> None:
    (tree / "node_modules/pkg/d.js").write_text("churn\n")
    assert watch.poll(0.2) is None


def test_the_version_control_folder_makes_no_noise(tree: Path) -> None:
    run_git(tree, "init", "-q")
    watch = watch_tree(Root(str(tree), is_git=True), folders_of(tree))
    try:
        run_git(tree, "add", "-A", ".")
        run_git(tree, "commit", "-q", "-m", "x")
        assert watch.poll(0.2) is None
    finally:
        watch.close()


def test_a_new_folder_is_covered_with_all_that_was_put_into_it(tree: Path, watch: Watch) -> None:
    (tree / "new/deep/er").mkdir(parents=True)
    (tree / "new/deep/er/early.py").touch()
    assert b"new/deep/er/early.py" in all_hints(watch).raws
    (tree / "new/deep/er/late.py").touch()
    assert all_hints(watch).raws == {b"new/deep/er/late.py"}


def test_a_new_folder_is_not_covered_when_it_is_not_wanted(tree: Path) -> None:
    watch = watch_tree(Root(str(tree), is_git=False), folders_of(tree), wanted=lambda raw: raw != b"target")
    try:
        (tree / "target/deep").mkdir(parents=True)
        (tree / "wanted").mkdir()
        assert all_hints(watch).raws == {b"target", b"wanted"}
        (tree / "target/deep/out.o").touch()
        (tree / "wanted/in.py").touch()
        assert all_hints(watch).raws == {b"wanted/in.py"}
    finally:
        watch.close()


def test_a_folder_that_moves_is_hinted_under_its_new_name(tree: Path, watch: Watch) -> None:
    (tree / "src").rename(tree / "lib")
    found = all_hints(watch).raws
    assert {b"src", b"lib", b"lib/a.py", b"lib/deep/b.py"} <= found
    (tree / "lib/deep/b.py").write_text("edited after the move\n")
    assert all_hints(watch).raws == {b"lib/deep/b.py"}


def test_a_folder_that_leaves_the_root_takes_its_hints_with_it(tree: Path, watch: Watch, tmp_path: Path) -> None:
    (tree / "src").rename(tmp_path / "outside")
    assert all_hints(watch).raws == {b"src"}
    (tmp_path / "outside/deep/b.py").write_text("not ours any more\n")
    (tmp_path / "outside/new.py").touch()
    assert watch.poll(0.2) is None


def test_a_folder_deleted_and_made_again_is_covered(tree: Path, watch: Watch) -> None:
    for _ in range(3):
        (tree / "docs/c.md").unlink(missing_ok=True)
        (tree / "docs").rmdir()
        (tree / "docs").mkdir()
    all_hints(watch)
    (tree / "docs/c.md").write_text("again\n")
    assert all_hints(watch).raws == {b"docs/c.md"}


def test_no_link_leads_the_watch_out_of_the_root(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (tree / "before").symlink_to(outside)
    # Even a caller who names the link, or a way through it, gets no watch outside.
    watch = watch_tree(Root(str(tree), is_git=False), [b"before", b"before/sub", b"../outside"])
    try:
        (tree / "during").symlink_to(outside)
        assert all_hints(watch).raws == {b"during"}
        (outside / "secret").touch()
        (outside / "sub/secret").touch()
        assert watch.poll(0.2) is None
    finally:
        watch.close()


def test_a_root_that_goes_away_ends_the_watch_with_a_sentence(tree: Path, watch: Watch, tmp_path: Path) -> None:
    tree.rename(tmp_path / "elsewhere")
    with pytest.raises(WatchFailed, match="moved or deleted"):
        watch.poll(1)


def test_a_root_that_was_made_anew_ends_the_watch_of_the_old_one(tree: Path, watch: Watch) -> None:
    # While a descriptor of the old folder is open, the kernel does not tell that it was deleted.
    shutil.rmtree(tree)
    tree.mkdir()
    with pytest.raises(WatchFailed, match="moved or deleted"):
        watch.take()


def test_a_root_that_moved_with_the_folder_above_it_ends_the_watch(tmp_path: Path) -> None:
    root = tmp_path / "above/root"
    root.mkdir(parents=True)
    with contextlib.closing(watch_tree(Root(str(root), is_git=False), [])) as watch:
        (tmp_path / "above").rename(tmp_path / "before")
        root.mkdir(parents=True)
        with pytest.raises(WatchFailed, match="moved or deleted"):
            watch.take()
        with pytest.raises(WatchFailed, match="moved or deleted"):
            watch.follow([b""])


def test_too_many_folders_are_refused_at_the_start_and_later(tree: Path, faults: Faults) -> None:
    faults.limit(watch_module, MAX_WATCHED_FOLDERS=3)
    with pytest.raises(WatchFailed, match="more than 3 folders"):
        watch_tree(Root(str(tree), is_git=False), folders_of(tree))
    watch = watch_tree(Root(str(tree), is_git=False), [b"src"])
    try:
        (tree / "x/y/z").mkdir(parents=True)
        with pytest.raises(WatchFailed, match="more than 3 folders"):
            all_hints(watch)
    finally:
        watch.close()


def test_a_folder_that_may_not_be_watched_or_is_gone_is_left_out(tree: Path) -> None:
    watch = watch_tree(Root(str(tree), is_git=False), [b"src", b"never/was", b"top.py", b"docs"])
    try:
        (tree / "docs/c.md").write_text("seen\n")
        assert all_hints(watch).raws == {b"docs/c.md"}
    finally:
        watch.close()


def test_no_descriptor_is_left_open(tree: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        watch = watch_tree(Root(str(tree), is_git=False), folders_of(tree))
        (tree / "src/more/more").mkdir(parents=True)
        all_hints(watch)
        watch.close()
        (tree / "src/more/more").rmdir()
        (tree / "src/more").rmdir()
    assert len(os.listdir("/proc/self/fd")) == before


# --- floods -------------------------------------------------------------------------------------------------------


def overflow_the_kernel(tree: Path) -> None:
    """More events than the kernel's queue holds, none of which it can merge with its neighbour."""
    one, two = tree / "top.py", tree / "src/a.py"
    for stamp in range(KERNEL_QUEUE // 2 + 10):
        os.utime(one, (stamp, stamp))
        os.utime(two, (stamp, stamp))


def test_an_overflow_of_the_kernels_queue_is_said_and_lost_folders_are_covered(tree: Path, watch: Watch) -> None:
    overflow_the_kernel(tree)
    # The queue is full: the kernel drops these without a trace but the overflow mark.
    (tree / "lost/deep").mkdir(parents=True)
    found = all_hints(watch)
    assert found.overflow
    (tree / "lost/deep/later.py").touch()
    assert all_hints(watch) == Hints(frozenset({b"lost/deep/later.py"}), overflow=False)


def test_more_hints_than_the_limit_become_an_overflow(tree: Path, watch: Watch, faults: Faults) -> None:
    faults.limit(watch_module, MAX_PENDING_EVENTS=50)
    for number in range(51):
        (tree / f"src/{number}").touch()
    assert watch.poll(1) == Hints(frozenset(), overflow=True)
    (tree / "src/0").write_text("seen\n")
    assert all_hints(watch) == Hints(frozenset({b"src/0"}), overflow=False)


def resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def flood(tree: Path, watch: Watch, events: int) -> int:
    """So many events of names never seen before, polled now and then; gives the most memory it took, in KiB."""
    before = most = resident_kib()
    for number in range(events // 2):
        path = tree / "src" / f"{'x' * 200}{number}"
        os.mknod(path)
        os.unlink(path)
        if number % 1_000 == 999:
            watch.poll(0)
            most = max(most, resident_kib())
    all_hints(watch)
    return max(most, resident_kib()) - before


def test_a_flood_takes_no_memory_with_it(tree: Path, watch: Watch) -> None:
    assert flood(tree, watch, 5_000) < 8_000
    (tree / "top.py").write_text("still seen\n")
    assert b"top.py" in all_hints(watch).raws


@pytest.mark.long
def test_a_million_events_take_no_memory_with_them(tree: Path, watch: Watch) -> None:
    assert flood(tree, watch, 1_000_000) < 8_000


def test_a_thousand_edits_and_a_forced_overflow_converge_to_nothing_left_to_do(tree: Path) -> None:
    """The life of a daemon: hints decide when to look, the detector what changed, and only that is recorded."""
    chance = random.Random(2)
    snapshot = Snapshot(tree)
    watch = watch_tree(snapshot.root, folders_of(tree))
    snapshot.take()
    edited: set[bytes] = set()
    overflows = 0
    try:
        for number in range(1_000):
            path = tree / chance.choice(["src", "docs", f"made/{number % 40}"]) / f"f{chance.randint(0, 200)}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and chance.random() < 0.2:
                path.unlink()
            else:
                path.write_text(f"edit {number}\n")
            edited.add(os.fsencode(path.relative_to(tree)))
            if number == 550:
                overflow_the_kernel(tree)
                (tree / "docs/c.md").write_text("behind the overflow\n")
                edited.add(b"docs/c.md")
            if number % 100 == 99:
                hints = all_hints(watch)
                assert hints.overflow or edited <= hints.raws
                overflows += hints.overflow
                edited.clear()
                snapshot.apply(snapshot.look(synced_at_ns=SYSTEM_CLOCK.wall_ns()))
        assert overflows == 1
        assert watch.poll(0.1) is None
        last = snapshot.look(full=True)
        assert (last.empty, last.touched, last.hashed) == (True, (), len(snapshot.recorded))
        assert len(snapshot.recorded) > 300
    finally:
        watch.close()


def test_what_was_saved_before_is_told_at_once(tree: Path, watch: Watch) -> None:
    for number in range(20):
        (tree / f"src/n{number}.py").write_text("x = 1\n")
        hints = watch.take()
        assert hints is not None
        assert f"src/n{number}.py".encode() in hints.raws
    assert watch.take() is None


def test_folders_can_be_followed_and_left_as_rules_change(tree: Path) -> None:
    left: set[bytes] = set()
    folders = folders_of(tree)
    watch = watch_tree(Root(str(tree), is_git=False), folders, wanted=lambda raw: raw not in left)
    try:
        assert watch.folders == len(folders)
        assert watch.follow(folders) is False
        assert watch.follow((*folders, b"node_modules", b"node_modules/pkg")) is True
        (tree / "node_modules/pkg/e.js").touch()
        assert all_hints(watch).raws == {b"node_modules/pkg/e.js"}
        # One that is wanted stays: it may have come after the list was made.
        assert watch.follow(folders) is False
        assert watch.folders == len(folders) + 2
        left.update((b"node_modules", b"node_modules/pkg"))
        assert watch.follow(folders) is False
        (tree / "node_modules/pkg/f.js").touch()
        assert watch.poll(0.1) is None
        assert watch.folders == len(folders)
    finally:
        watch.close()


def test_a_repository_that_is_made_below_the_root_is_a_hint(tree: Path, watch: Watch) -> None:
    (tree / "src/.git").mkdir()
    assert b"src/.git" in all_hints(watch).raws
