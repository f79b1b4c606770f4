"""The four runs over real trees: what is published is the tree, and nothing is published without a reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import cairn.source.git as git_module
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import USER_CONFIG_NAME
from cairn.core.progress import Phase, Progress
from cairn.core.types import SkipReason
from cairn.errors import NameCollision, NotIndexed, RootNotUtf8, StoreBusy
from cairn.source.changes import detect
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import open_view
from cairn.sync import catchup
from cairn.sync.report import Changes
from cairn.sync.status import State
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here, texts_of

ONE, TWO, THREE = b"def one():\n    return 1\n", b"def two():\n    return 2\n", b"def three():\n    return 3\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A repository with one commit and three files."""
    desk = Desk(tmp_path, with_git=True)
    desk.put("a.py", ONE)
    desk.put("pkg/b.py", TWO)
    desk.put("README.md", "# Read me\n")
    desk.commit()
    return desk


@pytest.fixture
def reads(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files are parsed in this process; the names of those that are read. It is never a file's turn to be sampled."""
    # Once in a thousand seconds it would be: then a file is read that nobody has changed.
    monkeypatch.setattr(catchup, "detect", lambda *args, **named: detect(*args, **named | {"round_number": -1}))
    return extract_here(monkeypatch, desk.clock)


def on_disk(desk: Desk, *left_out: str) -> dict[str, bytes]:
    """The files of the tree, without git's own and those that are to be left out."""
    return {
        key: path.read_bytes()
        for path in desk.tree.rglob("*")
        if path.is_file() and ".git" not in path.parts
        for key in [path.relative_to(desk.tree).as_posix()]
        if key not in left_out
    }


# --- create -----------------------------------------------------------------------------------------------------------


def test_a_root_whose_path_is_not_utf8_is_told_and_nothing_is_made(tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(tmp_path), b"od\xffd")
    os.mkdir(odd)
    desk = Desk(Path(os.fsdecode(odd)))
    desk.put("a.py", ONE)
    with pytest.raises(RootNotUtf8, match=r"od\\xffd/tree is not UTF-8"):
        desk.sync()
    assert not list(desk.home.glob("**/manifest*"))


@conforms("003.ELIG", "003.GIT1", "004.CU3")
def test_an_index_holds_the_tree_and_says_what_it_was_made_from(desk: Desk) -> None:
    # With the real workers, once.
    report = desk.index()
    assert (report.kind, report.published, report.generation) == ("create", True, 1)
    assert report.changes == Changes(added=3)
    assert desk.texts() == on_disk(desk) == {"a.py": ONE, "pkg/b.py": TWO, "README.md": b"# Read me\n"}
    manifest = desk.manifest()
    assert manifest.git.head_sha == desk.git("rev-parse", "HEAD")
    assert (manifest.git.dirty, manifest.git.untracked_included) == (False, True)
    assert manifest.completion is not None
    assert manifest.completion.indexed_files == 3
    assert manifest.canonical_root == str(desk.tree)
    assert desk.staged() == []


@pytest.mark.usefixtures("reads")
def test_the_first_sync_creates_the_index(desk: Desk) -> None:
    assert desk.sync().kind == "create"
    assert desk.texts() == on_disk(desk)


@pytest.mark.usefixtures("reads")
def test_an_index_that_is_there_and_proven_is_left_alone(desk: Desk) -> None:
    first = desk.index()
    before = desk.store()
    desk.put("new.py", THREE)
    again = desk.index()
    assert (again.published, again.snapshot_id) == (False, first.snapshot_id)
    assert desk.store() == before


def test_an_empty_folder_has_an_index_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    report = desk.index()
    assert (report.published, report.files_indexed) == (True, 0)
    assert desk.texts() == {}
    manifest = desk.manifest()
    assert manifest.completion is not None
    assert not desk.sync().published


def test_a_folder_without_git_is_indexed_and_has_no_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", ONE)
    desk.index()
    assert desk.manifest().git.head_sha is None
    desk.put("a.py", TWO)
    assert desk.sync().changes == Changes(modified=1)
    assert desk.texts() == {"a.py": TWO}


# --- sync -------------------------------------------------------------------------------------------------------------


def modify(desk: Desk) -> None:
    desk.put("a.py", THREE)


def add(desk: Desk) -> None:
    desk.put("pkg/deep/new.py", THREE)


def delete(desk: Desk) -> None:
    (desk.tree / "a.py").unlink()


def rename(desk: Desk) -> None:
    (desk.tree / "a.py").rename(desk.tree / "pkg" / "moved.py")


def rename_over(desk: Desk) -> None:
    (desk.tree / "a.py").rename(desk.tree / "pkg" / "b.py")


def swap(desk: Desk) -> None:
    (desk.tree / "a.py").rename(desk.tree / "x")
    (desk.tree / "pkg" / "b.py").rename(desk.tree / "a.py")
    (desk.tree / "x").rename(desk.tree / "pkg" / "b.py")


def edit_in_disguise(desk: Desk) -> None:
    path = desk.tree / "a.py"
    before = path.stat()
    path.write_bytes(ONE.replace(b"1", b"7"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def folder_for_file(desk: Desk) -> None:
    (desk.tree / "a.py").unlink()
    desk.put("a.py/inner.py", THREE)


def new_branch(desk: Desk) -> None:
    desk.git("checkout", "-q", "-b", "other")
    desk.put("a.py", THREE)
    (desk.tree / "README.md").unlink()
    desk.put("only_here.py", TWO)
    desk.commit()


@conforms("003.ELIG", "003.GIT3", "004.CU6")
@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (add, Changes(added=1)),
        (modify, Changes(modified=1)),
        (edit_in_disguise, Changes(modified=1)),
        (delete, Changes(deleted=1)),
        (rename, Changes(renamed=1)),
        (rename_over, Changes(modified=1, deleted=1)),
        (swap, Changes(modified=2)),
        (folder_for_file, Changes(added=1, deleted=1)),
        (new_branch, Changes(added=1, modified=1, deleted=1)),
    ],
)
def test_after_a_sync_the_index_is_the_tree_again(
    desk: Desk, change: Callable[[Desk], None], expected: Changes
) -> None:
    desk.sync()
    change(desk)
    report = desk.sync()
    assert (report.kind, report.published, report.generation) == ("sync", True, 2)
    assert report.changes == expected
    assert desk.texts() == on_disk(desk)
    assert not desk.sync().published


@conforms("003.GIT3")
@pytest.mark.usefixtures("reads")
def test_a_branch_switch_there_and_back_is_followed(desk: Desk) -> None:
    desk.sync()
    new_branch(desk)
    desk.sync()
    other = desk.manifest().git.head_sha
    desk.git("checkout", "-q", "main")
    desk.sync()
    assert desk.texts() == on_disk(desk) == {"a.py": ONE, "pkg/b.py": TWO, "README.md": b"# Read me\n"}
    assert desk.manifest().git.head_sha == desk.git("rev-parse", "HEAD") != other


@conforms("003.GIT1")
def test_a_commit_alone_gives_a_snapshot_with_the_new_head_and_reads_no_file_twice(
    desk: Desk, reads: list[str]
) -> None:
    desk.put("a.py", THREE)
    desk.sync()
    assert desk.manifest().git.dirty
    texts, embedded = desk.texts(), len(desk.model.texts)
    head = desk.commit()
    report = desk.sync()
    assert (report.published, report.changes) == (True, Changes())
    manifest = desk.manifest()
    assert (manifest.git.head_sha, manifest.git.dirty) == (head, False)
    assert manifest.segments == desk.manifest().segments
    assert (desk.texts(), len(desk.model.texts)) == (texts, embedded)
    assert reads.count("pkg/b.py") <= 2


@conforms("004.CU5")
def test_a_sync_without_change_writes_nothing_and_is_never_indexing(desk: Desk, reads: list[str]) -> None:
    desk.sync()
    before, count = desk.store(), len(reads)
    phases: list[Phase] = []
    states: list[State] = []

    def tell(progress: Progress) -> None:
        phases.append(progress.phase)
        states.append(desk.status().state)

    report = desk.sync(tell)
    assert not report.published
    assert desk.store() == before
    assert len(reads) == count
    assert set(phases) == {Phase.WALKING}
    assert set(states) == {State.INDEXED}


@conforms("004.CU4")
def test_only_what_is_missing_is_processed(desk: Desk, reads: list[str]) -> None:
    desk.sync()
    desk.model.texts.clear()
    reads.clear()
    desk.put("new.py", THREE)
    desk.sync()
    assert desk.model.texts == [THREE]
    assert set(reads) == {"new.py"}


@pytest.mark.parametrize("touch", [lambda path: os.utime(path, (1, 1)), lambda path: path.chmod(0o755)])
def test_files_that_were_only_touched_publish_nothing_and_the_next_sync_is_quick(
    desk: Desk, reads: list[str], touch: Callable[[Path], None]
) -> None:
    first = desk.sync()
    touch(desk.tree / "a.py")
    reads.clear()
    report = desk.sync()
    assert (report.published, report.snapshot_id) == (False, first.snapshot_id)
    assert reads == ["a.py"]
    before = desk.store()
    assert not desk.sync().published
    assert (reads, desk.store()) == (["a.py"], before)


def test_a_touched_file_is_not_read_again_after_another_one_was_published(desk: Desk, reads: list[str]) -> None:
    desk.sync()
    os.utime(desk.tree / "a.py", (1, 1))
    desk.put("new.py", THREE)
    desk.sync()
    reads.clear()
    desk.put("other.py", THREE + TWO)
    desk.sync()
    assert "a.py" not in reads
    assert desk.texts() == on_disk(desk)


# --- what is left out -------------------------------------------------------------------------------------------------


@conforms("003.SID3")
@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("name", [".gitignore", ".cairnignore"])
def test_an_ignore_edit_keeps_the_store_and_gives_a_snapshot_with_a_new_fingerprint(desk: Desk, name: str) -> None:
    desk.sync()
    before, place = desk.manifest(), desk.place
    desk.put(name, "/pkg/\n")
    desk.sync()
    after = desk.manifest()
    assert desk.place == place
    assert after.snapshot_id != before.snapshot_id
    assert after.ignore_fingerprint != before.ignore_fingerprint
    assert after.store_id == before.store_id
    assert desk.texts().keys() == {"a.py", "README.md", name}
    # The same rules, told otherwise: nothing goes, nothing comes, and the snapshot says by which rules.
    desk.put(name, "# the same\n/pkg/\n")
    desk.sync()
    assert desk.manifest().ignore_fingerprint != after.ignore_fingerprint
    assert desk.texts().keys() == {"a.py", "README.md", name}


@pytest.mark.usefixtures("reads")
def test_include_and_exclude_are_rules_of_membership_too(desk: Desk) -> None:
    desk.sync()
    place, before = desk.place, desk.manifest()
    desk.put(".cairn.toml", '[index]\nexclude = ["pkg/**"]\n')
    desk.sync()
    assert desk.place == place
    assert desk.manifest().ignore_fingerprint != before.ignore_fingerprint
    assert desk.texts().keys() == {"a.py", "README.md", ".cairn.toml"}
    desk.put(".cairn.toml", '[index]\ninclude = ["pkg/**"]\n')
    desk.sync()
    assert desk.texts().keys() == {"pkg/b.py"}


@conforms("003.GIT2")
@pytest.mark.usefixtures("reads")
def test_untracked_files_are_left_out_when_the_settings_say_so(desk: Desk) -> None:
    desk.put("loose.py", THREE)
    desk.put(".cairn.toml", "[index]\nuntracked = false\n")
    desk.sync()
    assert desk.texts().keys() == {"a.py", "pkg/b.py", "README.md"}
    assert not desk.manifest().git.untracked_included
    # No file changes: only what git tracks.
    desk.git("add", "loose.py")
    desk.sync()
    assert desk.texts().keys() == {"a.py", "pkg/b.py", "README.md", "loose.py"}


def test_a_file_that_is_no_text_is_read_once_while_it_stays(desk: Desk, reads: list[str]) -> None:
    desk.put("image.dat2", b"\0\1\2")
    desk.sync()
    assert reads.count("image.dat2") == 1
    desk.put("a.py", THREE)
    desk.sync()
    assert reads.count("image.dat2") == 1
    assert dict(desk.manifest().skipped)[SkipReason.BINARY] == 1
    assert "image.dat2" not in desk.texts()


def test_a_touched_file_that_is_no_text_is_no_news(desk: Desk, reads: list[str]) -> None:
    desk.put("image.dat2", b"\0\1\2")
    desk.put("latin.txt", b"caf\xe9\n")
    desk.sync()
    for name in ("image.dat2", "latin.txt"):
        os.utime(desk.tree / name, (1, 1))
    assert not desk.sync().published
    assert reads.count("image.dat2") == 2
    assert not desk.sync().published
    assert reads.count("image.dat2") == 2


def test_files_that_were_written_right_before_a_sync_do_not_publish_again(desk: Desk, reads: list[str]) -> None:
    # Near a sync times prove nothing, so all of it is read twice; what is left out must not count as news then.
    desk.put("image.dat2", b"\0\1\2")
    desk.clock.set_wall_ns(SYSTEM_CLOCK.wall_ns() + 100_000_000)
    desk.sync()
    assert not desk.sync().published
    assert reads.count("image.dat2") == 2


@pytest.mark.usefixtures("reads")
def test_text_becomes_binary_and_text_again(desk: Desk) -> None:
    desk.sync()
    desk.put("a.py", b"\0not text")
    desk.sync()
    assert desk.texts().keys() == {"pkg/b.py", "README.md"}
    assert dict(desk.manifest().skipped)[SkipReason.NOT_UTF8] == 1
    desk.put("a.py", TWO)
    desk.sync()
    assert desk.texts() == on_disk(desk)
    assert SkipReason.NOT_UTF8 not in dict(desk.manifest().skipped)


@conforms("003.STR2", "003.STR3")
@pytest.mark.usefixtures("reads")
def test_what_is_left_out_does_not_stop_a_publish_and_is_counted_the_same_each_time(desk: Desk) -> None:
    desk.put("image.dat2", b"\0\1\2")
    desk.put("latin.txt", b"caf\xe9\n")
    desk.put("huge.py", b"#" * 2_000)
    desk.put(".cairn.toml", "[limits]\nmax_file_bytes = 1024\n")
    desk.put(".gitignore", "*.tmp\n")
    desk.put("some.tmp", "x")
    (desk.tree / "out").symlink_to("/etc/hostname")
    report = desk.sync()
    assert report.published
    expected = {
        SkipReason.BINARY: 1,
        SkipReason.NOT_UTF8: 1,
        SkipReason.TOO_LARGE: 1,
        SkipReason.IGNORED: 1,
        SkipReason.OUTSIDE_ROOT: 1,
        SkipReason.VCS_INTERNAL: 1,
    }
    assert dict(report.skipped) == expected
    assert dict(desk.status().skipped) == expected
    assert dict(desk.reindex().skipped) == expected
    assert dict(desk.sync().skipped) == expected


@conforms("003.CI1", "003.STR1")
@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("names", [("x.py", "X.py"), ("x.py", "X.py", "X.PY"), ("\u00e9.py", "e\u0301.py")])
def test_names_that_collide_stop_a_publish_where_the_user_refuses_them(desk: Desk, names: tuple[str, ...]) -> None:
    first = desk.sync()
    before = desk.texts()
    (desk.home / USER_CONFIG_NAME).write_text('[index]\ncollisions = "refuse"\n')
    for number, name in enumerate(names):
        desk.put(name, b"x = %d\n" % number)
    with pytest.raises(NameCollision):
        desk.sync()
    assert desk.manifest().snapshot_id == first.snapshot_id
    assert desk.texts() == before
    (desk.home / USER_CONFIG_NAME).unlink()
    desk.sync()
    found = desk.texts()
    assert sorted(found[key] for key in found.keys() - before.keys()) == [b"x = %d\n" % n for n in range(len(names))]
    # Who refuses them later is told so at the next sync, although no file has changed.
    (desk.home / USER_CONFIG_NAME).write_text('[index]\ncollisions = "refuse"\n')
    with pytest.raises(NameCollision):
        desk.sync()
    assert desk.texts() == found


# --- reindex and clear ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("reads")
def test_a_reindex_stands_beside_the_old_snapshot_until_it_is_published(desk: Desk) -> None:
    desk.sync()
    old = desk.manifest()
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as pinned:
        desk.put("a.py", THREE)
        desk.model.texts.clear()
        report = desk.reindex()
        assert (report.kind, report.published, report.generation) == ("reindex", True, 2)
        assert texts_of(pinned)["a.py"] == ONE
    assert len(desk.model.texts) == 3
    new = desk.manifest()
    assert not {ref.name for ref in new.segments} & {ref.name for ref in old.segments}
    assert new.tombstones == ()
    assert desk.texts() == on_disk(desk)


@pytest.mark.usefixtures("reads")
def test_a_cleared_index_is_empty_until_it_is_made_again(desk: Desk) -> None:
    desk.sync()
    old = desk.manifest()
    report = desk.clear()
    assert (report.kind, report.published, report.changes) == ("clear", True, Changes(deleted=3))
    cleared = desk.manifest()
    assert (cleared.completion, cleared.segments, cleared.counts.files_indexed) == (None, (), 0)
    assert desk.texts() == {}
    # Nothing was destroyed: the snapshot before is still whole.
    assert all((Path(desk.place.path) / "segments" / ref.name).is_dir() for ref in old.segments)
    assert not desk.clear().published
    assert desk.index().kind == "create"
    assert desk.texts() == on_disk(desk)


@pytest.mark.usefixtures("reads")
def test_there_is_nothing_to_clear_where_nothing_was_indexed(desk: Desk) -> None:
    report = desk.clear()
    assert (report.published, report.snapshot_id, report.files_indexed) == (False, "", 0)


# --- other writers, damaged stores, gits that do not answer -----------------------------------------------------------


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("act", [Desk.sync, Desk.reindex, Desk.clear])
def test_a_second_writer_is_told_so_and_changes_nothing(desk: Desk, act: Callable[[Desk], object]) -> None:
    first = desk.sync()
    desk.put("a.py", THREE)
    with desk.place.make_disk() as disk, open_writer(disk, "here", RunKind.SYNC), pytest.raises(StoreBusy):
        act(desk)
    assert desk.manifest().snapshot_id == first.snapshot_id


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize("act", [Desk.sync, Desk.index])
def test_a_damaged_newest_snapshot_is_made_good_though_the_tree_is_as_it_was(
    desk: Desk, act: Callable[[Desk], object]
) -> None:
    desk.sync()
    desk.put("a.py", THREE)
    desk.sync()
    newest = desk.manifest().segments[-1]
    path = Path(desk.place.path) / "segments" / newest.name / "data.bin"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1])
    act(desk)
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
        assert view.damage == ()
        assert texts_of(view) == on_disk(desk)


@pytest.mark.usefixtures("reads")
def test_a_store_in_which_nothing_is_whole_is_made_anew_by_index(desk: Desk) -> None:
    desk.sync()
    for path in (Path(desk.place.path) / "segments").rglob("*.bin"):
        path.chmod(0o600)
        path.write_bytes(b"")
    assert desk.index().published
    with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
        assert texts_of(view) == on_disk(desk)


@pytest.mark.usefixtures("reads")
def test_a_git_that_does_not_answer_costs_its_help_and_not_the_sync(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    desk.sync()
    desk.put("a.py", THREE)
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "git"
    fake.write_text("#!/bin/sh\nhead -c 5000 /dev/zero\n")
    fake.chmod(0o755)
    faults.limit(git_module, GIT_OUTPUT_BYTES=1_000)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    report = desk.sync()
    assert report.published
    assert any("git could not answer" in warning for warning in report.warnings)
    assert desk.manifest().git.head_sha is None
    assert desk.texts() == on_disk(desk)
    assert not desk.sync().published


@conforms("003.CD6")
def test_a_git_command_at_work_next_to_a_sync_changes_nothing(desk: Desk) -> None:
    desk.sync()
    (desk.tree / ".git" / "index.lock").touch()
    desk.put("new.py", TWO)
    assert desk.sync().published
    assert desk.texts() == on_disk(desk)
    assert desk.manifest().git.head_sha is not None


def test_an_index_that_was_cleared_is_not_filled_by_a_sync(desk: Desk) -> None:
    desk.sync()
    desk.clear()
    with pytest.raises(NotIndexed) as refused:
        desk.sync()
    assert refused.value.exit_status == 10
    assert desk.texts() == {}
    assert desk.index().published
