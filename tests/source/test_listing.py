"""Nothing has changed: said quickly, and only when a walk would say the same."""

from __future__ import annotations

import os
import random
import shutil
import struct
import tempfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.config import Config, IndexConfig
from cairn.core.limits import RACY_WINDOW_NS, REHASH_FRACTION
from cairn.core.types import Root, Skip, SkipReason, WalkResult
from cairn.source.beneath import Tree
from cairn.source.listing import (
    FolderListing,
    ListingRecorder,
    TreeListing,
    decode_listing,
    encode_listing,
    sampled,
    unchanged,
)
from cairn.source.walk import walk
from tests.support.trees import write_tree

LONG_AFTER = 4_000_000_000 * 10**9
"""A sync so late that no file is near it: the racy rule is out of the way."""
LONG_AGO = 1_000_000_000 * 10**9


def record(top: Path, recorder: ListingRecorder | None = None, config: Config | None = None) -> TreeListing:
    recorder = recorder or ListingRecorder()
    with Tree(Root(str(top), is_git=False)) as tree:
        walk(tree, config or Config(), recorder=recorder)
    return recorder.listing()


def holds(top: Path, listing: TreeListing, synced_at_ns: int = LONG_AFTER) -> bool:
    with Tree(Root(str(top), is_git=False)) as tree:
        return unchanged(tree, listing, synced_at_ns=synced_at_ns)


def walked(top: Path) -> WalkResult:
    with Tree(Root(str(top), is_git=False)) as tree:
        return walk(tree, Config())


def age(top: Path) -> None:
    """Give every file an old mtime, so that an edit shows however soon it follows."""
    for folder, _, names in os.walk(os.fsencode(top)):
        for name in names:
            os.utime(os.path.join(folder, name), ns=(LONG_AGO, LONG_AGO), follow_symlinks=False)


def chmod_until_it_shows(path: Path) -> None:
    """Change the mode; two changes in one tick of the kernel share their ctime, so until it differs."""
    before = path.lstat().st_ctime_ns
    mode = 0o600
    while path.lstat().st_ctime_ns == before:
        path.chmod(mode)
        mode ^= 0o100


# --- any change of the tree ---------------------------------------------------------------------------------------

FOLDERS = ["", "a", "a/b", "c", "out", "out/deep", "c/.git"]
FILES = [
    *("x.py", "a/x.py", "a/b/y.txt", "a/b/z.log", "c/package-lock.json", "c/w.rs", "out/o.py", "out/deep/p.py"),
    *(".env", ".cairn.toml", "c/.git/HEAD", ".gitignore", "a/.gitignore", ".cairnignore"),
]
RULES = "*.log\n/out/\n.gitignore\n"
LINK = "a/link"


def build(top: Path, files: Sequence[str]) -> None:
    for name in FOLDERS:
        if name not in ("c/.git", "out") or any(file.startswith(name + "/") for file in files):
            (top / name).mkdir(exist_ok=True, parents=True)
    write_tree(top, {name: RULES if name.endswith("ignore") else f"text of {name}\n" for name in files})
    (top / LINK).symlink_to("b/y.txt")
    age(top)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def become_link(path: Path) -> None:
    remove(path)
    path.symlink_to("elsewhere")


def become_file(path: Path) -> None:
    remove(path)
    path.write_text("a file now\n")


def appear(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULES)


def replace_by_copy(path: Path) -> None:
    shutil.copy2(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def edit_and_hide(path: Path) -> None:
    """Other bytes under the same size and mtime, as a careful tool leaves them."""
    before = path.stat()
    path.write_bytes(bytes(reversed(path.read_bytes())))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    chmod_until_it_shows(path)


ON_A_FILE: dict[str, Callable[[Path], object]] = {
    "remove": remove,
    "rename": lambda path: path.rename(path.with_name("renamed")),
    "edit": lambda path: path.write_bytes(path.read_bytes() + b"more\n"),
    "edit, same size": lambda path: path.write_bytes(bytes(reversed(path.read_bytes()))),
    "edit, same size and mtime": edit_and_hide,
    "touch": lambda path: os.utime(path, ns=(LONG_AGO, LONG_AGO + 1)),
    "chmod": chmod_until_it_shows,
    "a folder in its place": become_folder,
    "a link in its place": become_link,
    "a copy in its place": replace_by_copy,
}
ON_A_FOLDER: dict[str, Callable[[Path], object]] = {
    "a new file": lambda path: (path / "new.py").write_text("x"),
    "a new empty folder": lambda path: (path / "new").mkdir(),
    "a new link": lambda path: (path / "new").symlink_to("x.py"),
    "a new pipe": lambda path: os.mkfifo(path / "new"),
    "a new ignore file": lambda path: (path / ".gitignore").write_text("*.py\n"),
    "rename": lambda path: path.rename(path.with_name("moved")),
    "remove": remove,
    "a file in its place": become_file,
    "a link in its place": become_link,
}


@settings(max_examples=250)
@given(
    files=st.lists(st.sampled_from(FILES), min_size=1, unique=True),
    target=st.sampled_from([*FILES, *FOLDERS, LINK]),
    data=st.data(),
)
def test_whatever_is_done_to_the_tree_unchanged_means_that_a_walk_finds_the_same(
    files: list[str], target: str, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder, "root")
        top.mkdir()
        build(top, files)
        listing = record(top)
        before = walked(top)
        assert holds(top, listing)
        path = top / target
        deeds = ON_A_FOLDER if path.is_dir() else ON_A_FILE
        if target == LINK:
            deeds = {"retarget": become_link, "remove": remove, "a file in its place": become_file}
        elif not path.exists():
            deeds = {"appear": appear}
        elif not target:
            deeds = {name: deed for name, deed in deeds.items() if name.startswith("a new")}
        deed = data.draw(st.sampled_from(sorted(deeds)))
        deeds[deed](path)
        same = holds(top, listing)
        if same:
            assert walked(top) == before, deed
        skipped = [skip.raw for skip in before.skips if skip.folder or skip.reason == SkipReason.IGNORED]
        raw = os.fsencode(target)
        if not any(raw == one or raw.startswith(one + b"/") for one in skipped):
            assert not same, deed


def test_looking_and_reading_change_nothing(tmp_path: Path) -> None:
    build(tmp_path, FILES)
    listing = record(tmp_path)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            path.read_bytes()
    assert holds(tmp_path, listing)
    assert holds(tmp_path, record(tmp_path))


def test_the_walk_itself_is_the_same_with_and_without_a_recorder(tmp_path: Path) -> None:
    build(tmp_path, FILES)
    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        assert walk(tree, Config(), recorder=ListingRecorder()) == walk(tree, Config())


def test_what_an_ignored_file_holds_does_not_matter(tmp_path: Path) -> None:
    write_tree(tmp_path, {".gitignore": "*.log\nbuild/\n", "a.py": "x", "b.log": "x", "build/c.py": "x"})
    age(tmp_path)
    listing = record(tmp_path)
    write_tree(tmp_path, {"b.log": "longer", "build/c.py": "longer", "build/d.py": "new"})
    assert holds(tmp_path, listing)


def test_an_ignored_folder_that_becomes_a_file_is_seen(tmp_path: Path) -> None:
    write_tree(tmp_path, {".gitignore": "build/\n", "build/c.py": "x"})
    listing = record(tmp_path)
    become_file(tmp_path / "build")
    assert not holds(tmp_path, listing)


def test_a_file_that_was_too_large_and_shrinks_is_seen(tmp_path: Path) -> None:
    write_tree(tmp_path, {"big.py": "x" * (Config().limits.max_file_bytes + 1)})
    age(tmp_path)
    listing = record(tmp_path)
    assert [skip.reason for skip in walked(tmp_path).skips] == [SkipReason.TOO_LARGE]
    write_tree(tmp_path, {"big.py": "x"})
    assert not holds(tmp_path, listing)


def test_two_folders_that_change_places_are_seen_though_no_file_was_touched(tmp_path: Path) -> None:
    write_tree(tmp_path, {"one/f.py": "1", "two/f.py": "2"})
    age(tmp_path)
    first, second = tmp_path / "one/f.py", tmp_path / "two/f.py"
    for _ in range(10_000):
        first.chmod(0o600)
        second.chmod(0o600)
        if first.stat().st_ctime_ns == second.stat().st_ctime_ns:
            break
    else:
        pytest.skip("the clock of this disk is too fine for two equal times")
    listing = record(tmp_path)
    first.parent.rename(tmp_path / "aside")
    second.parent.rename(tmp_path / "one")
    (tmp_path / "aside").rename(tmp_path / "two")
    assert not holds(tmp_path, listing)


def test_files_that_the_settings_leave_out_count_by_their_folders(tmp_path: Path) -> None:
    write_tree(tmp_path, {"docs/a.md": "x", "src/b.py": "x"})
    listing = record(tmp_path, config=Config(index=IndexConfig(exclude=("docs",))))
    write_tree(tmp_path, {"docs/c.md": "x"})
    assert holds(tmp_path, listing)
    become_file(tmp_path / "docs")
    assert not holds(tmp_path, listing)


# --- places where the listing of a folder does not say it all -----------------------------------------------------


def test_a_repository_inside_is_watched_for_whether_it_still_is_one(tmp_path: Path) -> None:
    write_tree(tmp_path, {"sub/.git/HEAD": "ref: x\n", "sub/a.py": "x", "worktree/.git": "gitdir: /x\n", "b.py": "x"})
    listing = record(tmp_path)
    write_tree(tmp_path, {"sub/new.py": "x", "worktree/new.py": "x"})
    assert holds(tmp_path, listing), "what a nested repository holds is not ours"
    (tmp_path / "sub/.git/HEAD").unlink()
    assert not holds(tmp_path, listing)


def test_a_folder_that_becomes_a_repository_inside_its_own_dot_git_is_seen(tmp_path: Path) -> None:
    write_tree(tmp_path, {"sub/.git/config": "", "sub/a.py": "x"})
    listing = record(tmp_path)
    assert holds(tmp_path, listing)
    write_tree(tmp_path, {"sub/.git/HEAD": "ref: x\n"})
    assert not holds(tmp_path, listing)


def test_a_link_whose_target_comes_or_goes_where_nothing_is_listed_changes_no_file(tmp_path: Path) -> None:
    top = tmp_path / "root"
    write_tree(top, {".gitignore": "out/\n", "a.py": "x", "out/b.py": "x"})
    (top / "inside").symlink_to("out/later.py")
    (top / "outside").symlink_to("../secret")
    listing = record(top)
    before = walked(top)
    write_tree(top, {"out/later.py": "x", "../secret": "x"})
    assert holds(top, listing)
    after = walked(top)
    assert after.candidates == before.candidates
    assert after.skips != before.skips, "the reason alone is older than the tree"


def test_a_folder_too_deep_to_open_stays_so_and_is_no_doubt(tmp_path: Path) -> None:
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(17):
        os.mkdir("d" * 250, dir_fd=at)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    listing = record(tmp_path)
    assert listing.folders[-1].names == b""
    assert holds(tmp_path, listing)
    assert SkipReason.PATH_TOO_LONG in {skip.reason for skip in walked(tmp_path).skips}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_that_opens_up_is_seen(tmp_path: Path) -> None:
    write_tree(tmp_path, {"locked/b.py": "x"})
    (tmp_path / "locked").chmod(0)
    try:
        listing = record(tmp_path)
        assert holds(tmp_path, listing)
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert not holds(tmp_path, listing)


class VanishingTree(Tree):
    """A tree whose folders are gone by the time they are listed."""

    def open_folder(self, raw: bytes) -> int:
        return os.open(os.devnull, os.O_RDONLY)


def test_a_folder_that_goes_away_while_it_is_compared_is_no_failure(tmp_path: Path) -> None:
    listing = record(tmp_path)
    with VanishingTree(Root(str(tmp_path), is_git=False)) as tree:
        assert not unchanged(tree, listing, synced_at_ns=LONG_AFTER)


class Meddler(ListingRecorder):
    """Changes the tree in the middle of a walk, when the root has been judged."""

    def __init__(self, before: Callable[[], object], after: Callable[[], object]) -> None:
        super().__init__()
        self.before, self.after = before, after

    def listed(
        self, raw: bytes, entries: Sequence[os.DirEntry[str]], below: Sequence[bytes], skips: Sequence[Skip]
    ) -> None:
        if not raw:
            self.before()
        super().listed(raw, entries, below, skips)
        if not raw:
            self.after()


def test_a_tree_that_moved_during_the_walk_proves_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "x", "sub/b.py": "x", "other/c.py": "x"})
    (tmp_path / "link").symlink_to("a.py")

    def nothing() -> None:
        return None

    for before, after in (
        ((tmp_path / "link").unlink, nothing),
        (nothing, lambda: become_file(tmp_path / "sub")),
        (nothing, lambda: remove(tmp_path / "other")),
    ):
        listing = record(tmp_path, Meddler(before, after))
        assert not holds(tmp_path, listing)
        assert holds(tmp_path, record(tmp_path)), "the next walk settles it"


def test_a_file_from_beyond_the_year_2262_proves_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "x"})
    os.utime(tmp_path / "a.py", ns=(0, 10**19))
    if (tmp_path / "a.py").stat().st_mtime_ns != 10**19:
        pytest.skip("this disk cannot hold such a time")
    listing = record(tmp_path)
    assert decode_listing(encode_listing(listing)) == listing
    assert not holds(tmp_path, listing, synced_at_ns=2**62)


def test_a_time_close_to_the_sync_proves_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "x", "b.py": "x"})
    age(tmp_path)
    listing = record(tmp_path)
    newest = max((tmp_path / name).stat().st_ctime_ns for name in ("a.py", "b.py"))
    assert listing.newest_ns == newest
    assert not holds(tmp_path, listing, synced_at_ns=newest + RACY_WINDOW_NS)
    assert holds(tmp_path, listing, synced_at_ns=newest + RACY_WINDOW_NS + 1)
    os.utime(tmp_path / "a.py", ns=(0, LONG_AFTER))
    assert not holds(tmp_path, record(tmp_path)), "an mtime in the future is as good as none"


def test_the_order_in_which_the_system_lists_names_does_not_matter(tmp_path: Path) -> None:
    write_tree(tmp_path, {".gitignore": "*.log\n", "a.py": "x", "b.log": "x", "c/d.py": "x", "e.py": "longer"})
    folder, *others = record(tmp_path).folders
    names = folder.names.split(b"\0")
    stats = {}
    packed = [folder.stats[at : at + 32] for at in range(0, len(folder.stats), 32)]
    for name, kind in zip(names, folder.kinds, strict=True):
        stats[name] = packed.pop(0) if kind == ord("s") else b""
    order = list(range(len(names)))
    for seed in range(5):
        random.Random(seed).shuffle(order)
        shuffled = folder._replace(
            names=b"\0".join(names[at] for at in order),
            kinds=bytes(folder.kinds[at] for at in order),
            stats=b"".join(stats[names[at]] for at in order),
        )
        assert holds(tmp_path, TreeListing((shuffled, *others), 0))
        renamed = shuffled._replace(names=shuffled.names.replace(b"a.py", b"A.py"))
        assert not holds(tmp_path, TreeListing((renamed, *others), 0))


def test_no_listing_at_all_proves_nothing(tmp_path: Path) -> None:
    assert not holds(tmp_path, TreeListing((), 0))
    assert not holds(tmp_path, ListingRecorder().listing())


# --- the sample ---------------------------------------------------------------------------------------------------


def test_the_sample_is_the_one_of_the_change_detector_and_comes_to_every_file(tmp_path: Path) -> None:
    write_tree(tmp_path, {f"{folder}f{n}.py": "x" for n in range(60) for folder in ("", "a/", "a/b/")})
    write_tree(tmp_path, {".gitignore": "*.log\n", "ignored.log": "x"})
    listing = record(tmp_path)
    candidates = {candidate.raw for candidate in walked(tmp_path).candidates}
    seen: list[bytes] = []
    for turn in range(REHASH_FRACTION):
        part = sampled(listing, turn + 3 * REHASH_FRACTION)
        assert all(crc32(raw) % REHASH_FRACTION == turn for raw in part)
        seen += part
    assert len(seen) == len(set(seen))
    assert set(seen) == candidates


# --- bytes --------------------------------------------------------------------------------------------------------


def test_names_of_any_bytes_come_back_and_compare(tmp_path: Path) -> None:
    top = os.fsencode(tmp_path)
    for byte in set(range(1, 256)) - {0x2F}:
        os.mkdir(top + b"/d" + bytes([byte]))
        with open(top + b"/d" + bytes([byte]) + b"/" + bytes([byte]) + b"f", "wb") as file:
            file.write(b"x")
    listing = record(tmp_path)
    again = decode_listing(encode_listing(listing))
    assert again == listing
    assert again is not None
    assert holds(tmp_path, again)
    os.rename(top + b"/d\xfe", top + b"/d\xfe\xfe")
    assert not holds(tmp_path, again)


@pytest.fixture
def edited(tmp_path: Path) -> tuple[Path, bytes]:
    """A tree, and the bytes of a listing that does not fit it any more."""
    build(tmp_path, FILES)
    data = encode_listing(record(tmp_path))
    write_tree(tmp_path, {"a/b/y.txt": "something else"})
    return tmp_path, data


def test_a_damaged_listing_is_none(edited: tuple[Path, bytes]) -> None:
    _, data = edited
    assert decode_listing(data) is not None
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        assert decode_listing(bytes(flipped)) is None
        assert decode_listing(data[:at]) is None
    assert decode_listing(data + b"\0") is None
    assert decode_listing(b"") is None


def sealed(body: bytes) -> bytes:
    return body + sha256(body).digest()


def test_a_listing_that_lies_under_a_good_digest_never_raises_and_never_proves(edited: tuple[Path, bytes]) -> None:
    top, data = edited
    rng = random.Random(3)
    believed = 0
    with Tree(Root(str(top), is_git=False)) as tree:
        for _ in range(3_000):
            body = bytearray(data[:-32])
            for _ in range(rng.randrange(1, 3)):
                at = rng.randrange(len(body) if rng.random() < 0.5 else 200)
                body[at] = rng.choice((0, 1, 2, 255, ord("n"), ord("d"), body[at] ^ 1))
            listing = decode_listing(sealed(bytes(body)))
            if listing is not None:
                believed += 1
                assert not unchanged(tree, listing, synced_at_ns=LONG_AFTER)
    assert believed > 100, "or the comparison was never tried"


def test_a_listing_that_promises_more_than_it_holds_is_none_at_once(edited: tuple[Path, bytes]) -> None:
    _, data = edited
    header = struct.Struct("=8sIIq")
    for count in (0, 2**32 - 1, 10**6):
        lie = header.pack(b"cairntre", 1, count, 0) + data[header.size : -32]
        assert decode_listing(sealed(lie)) is None
    huge = header.pack(b"cairntre", 1, 1, 0) + struct.pack("=5I", 0, *[2**32 - 1] * 4)
    assert decode_listing(sealed(huge)) is None
    assert decode_listing(sealed(data[:-32] + b"more")) is None
    newer = header.pack(b"cairntre", 2, 1, 0) + struct.pack("=5I", 0, 0, 0, 0, 0)
    assert decode_listing(sealed(newer)) is None


@pytest.mark.parametrize(
    "folders",
    [
        (),
        (FolderListing(b"a", 0),),
        (FolderListing(b"", 0, b"a", b"d"),),
        (FolderListing(b"", 0), FolderListing(b"a", 0)),
        (FolderListing(b"", 0, b"a\0b", b"n"),),
        (FolderListing(b"", 0, b"a", b"nn"),),
        (FolderListing(b"", 0, b"a", b"?"),),
        (FolderListing(b"", 0, b"a", b"s"),),
        (FolderListing(b"", 0, b"a", b"n", bytes(32)),),
        (FolderListing(b"", 0, b"a", b"s", bytes(31)),),
    ],
)
def test_a_listing_in_which_something_would_go_uncompared_is_none(folders: tuple[FolderListing, ...]) -> None:
    assert decode_listing(encode_listing(TreeListing(folders, 0))) is None
