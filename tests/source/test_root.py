from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.core.types import Candidate, FileStat, Root
from cairn.errors import BadPathKey, PathOutsideRoot, RootNotAFolder, RootNotFound, RootUnreadable
from cairn.source.root import (
    find_collisions,
    find_root,
    path_key,
    path_key_ci,
    printable,
    relative_to_root,
    store_id,
)
from tests.conformance import conforms
from tests.support.repos import make_repo, run_git

_STAT = FileStat(1, 2, 3, 4)
_PRINT = "a" * 64


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "project", {"src/deep/code.py": "x = 1\n"})


def agrees_with_git(folder: Path) -> Root:
    root = find_root(str(folder))
    assert root == Root(run_git(folder, "rev-parse", "--show-toplevel"), is_git=True)
    return root


@conforms("003.ROOT1")
def test_the_root_of_a_folder_in_a_repository_is_what_git_calls_its_top_level(repository: Path) -> None:
    for folder in (repository, repository / "src", repository / "src" / "deep"):
        assert agrees_with_git(folder).path == str(repository)


@conforms("003.ROOT1")
def test_a_worktree_is_a_root_of_its_own(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "worktree", "add", "-q", str(tmp_path / "second"))
    assert agrees_with_git(tmp_path / "second" / "src").path == str(tmp_path / "second")


@conforms("003.ROOT1")
def test_a_git_file_marks_a_root_like_a_git_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    run_git(folder, "init", "-q", f"--separate-git-dir={tmp_path / 'elsewhere.git'}")
    assert (folder / ".git").is_file()
    assert agrees_with_git(folder / "src").path == str(folder)


@conforms("003.ROOT1")
def test_a_git_folder_or_file_behind_a_link_still_marks_the_root(repository: Path) -> None:
    (repository / ".git").rename(repository.parent / "kept.git")
    (repository / ".git").symlink_to(repository.parent / "kept.git")
    assert agrees_with_git(repository / "src").path == str(repository)
    (repository / ".git").unlink()
    (repository.parent / "pointer").write_text(f"gitdir: {repository.parent / 'kept.git'}\n")
    (repository / ".git").symlink_to(repository.parent / "pointer")
    assert agrees_with_git(repository / "src").path == str(repository)


@conforms("003.ROOT2")
def test_a_folder_without_git_is_its_own_root(tmp_path: Path) -> None:
    folder = tmp_path / "plain" / "src"
    folder.mkdir(parents=True)
    with pytest.raises(subprocess.CalledProcessError):
        run_git(folder, "rev-parse", "--show-toplevel")
    assert find_root(str(folder)) == Root(str(folder), is_git=False)


@conforms("003.ROOT2")
def test_a_relative_request_becomes_an_absolute_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    assert find_root(".") == find_root("../plain") == Root(str(tmp_path / "plain"), is_git=False)


@conforms("003.ROOT3")
def test_a_link_to_a_root_gives_the_same_root_and_the_same_store(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "shortcut").symlink_to(repository)
    direct, linked = find_root(str(repository)), agrees_with_git(tmp_path / "shortcut" / "src")
    assert direct == linked
    assert store_id(direct, _PRINT) == store_id(linked, _PRINT)


def test_a_repository_cannot_move_its_own_root(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    run_git(repository, "config", "core.worktree", str(tmp_path / "victim"))
    assert run_git(repository, "rev-parse", "--show-toplevel") == str(tmp_path / "victim")
    assert find_root(str(repository)).path == str(repository)


@pytest.mark.parametrize("content", [None, b"", b"nothing\n", b"\0" * 100])
def test_a_git_name_that_is_no_repository_marks_no_root(tmp_path: Path, content: bytes | None) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    if content is None:
        (folder / ".git").mkdir()
    else:
        (folder / ".git").write_bytes(content)
    assert find_root(str(folder)) == Root(str(folder), is_git=False)


def test_a_pipe_or_a_loop_named_git_does_not_hold_us_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert not find_root(str(tmp_path)).is_git
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").symlink_to(".git")
    assert not find_root(str(tmp_path)).is_git


def test_the_system_root_can_be_asked_for() -> None:
    assert find_root("/").path == "/"


def test_a_wrong_request_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RootNotAFolder, match=r"file\.py is a file"):
        find_root(str(tmp_path / "file.py"))
    for missing in ("missing", "file.py/below", "nul\0byte"):
        with pytest.raises(RootNotFound):
            find_root(str(tmp_path / missing))
    with pytest.raises(RootNotFound):
        find_root("")
    with pytest.raises(RootUnreadable, match="symbolic links"):
        find_root(str(tmp_path / "loop"))
    with pytest.raises(RootNotFound, match=r"\\u\{1b\}"):
        find_root("/missing\x1b[2J")


@contextlib.contextmanager
def _without_rights() -> Iterator[None]:
    """Become a user whom permissions bind: the superuser may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111])
def test_a_folder_that_may_not_be_read_or_entered_is_refused(mode: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        folder = os.path.join(home, "locked")
        os.mkdir(folder)
        os.chmod(folder, mode)
        with _without_rights(), pytest.raises(RootUnreadable, match=r"[Pp]ermission denied"):
            find_root(folder)
        os.chmod(folder, 0o700)


@conforms("001.TERM1")
def test_a_root_is_no_key_and_a_key_is_no_root(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One looks at the disk and gives an absolute `Root`; the other only looks at the bytes and gives relative text."""
    root = find_root(str(repository / "src" / ".." / "src"))
    assert isinstance(root, Root)
    assert os.path.isabs(root.path)
    with pytest.raises(BadPathKey, match="absolute"):
        path_key(os.fsencode(root.path))
    monkeypatch.chdir(repository)
    assert path_key(b"no/such/file.py") == "no/such/file.py"
    with pytest.raises(RootNotFound):
        find_root("no/such/file.py")


@conforms("001.TERM2", "003.PK1")
@pytest.mark.parametrize(
    "raw",
    [
        *(
            b"",
            b"/",
            b"/etc/passwd",
            b"..",
            b"../x",
            b"a/../b",
            b"a/..",
            b".",
            b"./a",
            b"a/./b",
            b"a/.",
            b"a//b",
            b"a/",
        ),
        *(
            b"//",
            b"a\0b",
            b".git/../../x",
            b"caf\xe9.py",
            b"\xed\xa0\x80",
            b"\xc0\xaf",
            b"caf\xc3\xa9/../x",
            b"\xff/..",
        ),
    ],
)
def test_a_name_that_could_escape_is_no_key(raw: bytes) -> None:
    with pytest.raises(BadPathKey):
        path_key(raw)


@conforms("003.PK1")
@pytest.mark.parametrize(
    "raw", [b"a", b"a/b.py", b".github/x", b"a/.hidden", b"...", b"a/..b/c..", b"a\\b", b"..\\x", b" ", b"-rf", b"a\nb"]
)
def test_a_harmless_name_is_its_own_key(raw: bytes) -> None:
    assert path_key(raw) == raw.decode()


@conforms("003.PK1")
def test_a_key_is_composed_unicode_whatever_the_disk_holds() -> None:
    assert path_key("cafe\u0301/x.py".encode()) == path_key("caf\u00e9/x.py".encode()) == "caf\u00e9/x.py"


def test_no_character_becomes_a_slash_a_dot_or_a_nul_when_it_is_composed() -> None:
    for code in range(0x80, sys.maxunicode + 1):
        assert unicodedata.normalize("NFC", chr(code)) not in ("/", ".", "..", "\0", ""), hex(code)


@conforms("001.TERM2")
def test_what_a_person_types_becomes_a_path_below_the_root(repository: Path) -> None:
    root, deep = find_root(str(repository)), str(repository / "src")
    for typed, cwd in [
        ("src/deep/code.py", root.path),
        ("./src//deep/./code.py", root.path),
        ("deep/code.py", deep),
        ("../src/deep/code.py", deep),
        (str(repository / "src/deep/code.py"), "/"),
        ("deep/code.py/", deep),
        ("deep/../deep/code.py", deep),
    ]:
        assert relative_to_root(root, typed, cwd) == b"src/deep/code.py", typed
    assert relative_to_root(root, ".", root.path) == relative_to_root(root, "..", deep) == b""
    assert relative_to_root(root, "not/there.py", root.path) == b"not/there.py"
    assert relative_to_root(root, os.fsdecode(b"f\xff.py"), root.path) == b"f\xff.py"
    assert relative_to_root(Root("/", is_git=False), "/etc/passwd", "/") == b"etc/passwd"


def test_a_typed_link_keeps_its_own_name_but_the_links_before_it_are_followed(repository: Path, tmp_path: Path) -> None:
    root = find_root(str(repository))
    (repository / "link.py").symlink_to("/etc/passwd")
    (repository / "door").symlink_to("src/deep")
    (tmp_path / "shortcut").symlink_to(repository)
    assert relative_to_root(root, "link.py", root.path) == b"link.py"
    assert relative_to_root(root, "door", root.path) == b"door"
    assert relative_to_root(root, "door/code.py", root.path) == b"src/deep/code.py"
    assert relative_to_root(root, "shortcut/src", str(tmp_path)) == b"src"
    assert relative_to_root(root, "shortcut", str(tmp_path)) == b""


@conforms("003.OUT2")
def test_a_typed_path_outside_the_root_is_refused_name_by_name(repository: Path, tmp_path: Path) -> None:
    root = find_root(str(repository))
    (tmp_path / "project-evil").mkdir()
    (tmp_path / "project-evil" / "code.py").write_text("canary")
    (repository / "out").symlink_to(tmp_path / "project-evil")
    for typed in ("../project-evil/code.py", "..", "/", "/etc/passwd", "out/code.py", str(tmp_path / "project-evil")):
        with pytest.raises(PathOutsideRoot):
            relative_to_root(root, typed, root.path)
    with pytest.raises(BadPathKey):
        relative_to_root(root, "a\0b", root.path)


def _candidates(*raws: bytes) -> list[Candidate]:
    return [Candidate(path_key(raw), raw, _STAT) for raw in raws]


def test_names_that_differ_only_in_case_or_unicode_form_collide() -> None:
    composed, decomposed = "caf\u00e9.py".encode(), "cafe\u0301.py".encode()
    found = find_collisions(
        _candidates(b"z.py", b"b.py", b"src/A.py", b"B.py", b"src/a.py", b"Src/a.py", composed, decomposed)
    )
    assert found == ((b"B.py", b"b.py"), (b"Src/a.py", b"src/A.py", b"src/a.py"), (decomposed, composed))
    assert find_collisions(_candidates(b"STRASSE", "stra\u00dfe".encode())) != ()
    assert find_collisions(_candidates("\u1e9e\u0323".encode(), "SS\u0323".encode())) != ()


def test_distinct_names_do_not_collide() -> None:
    assert find_collisions(_candidates(b"a.py", b"b.py", b"a/b.py", b"A/c.py", "é".encode(), b"e")) == ()
    assert find_collisions([]) == ()


def test_folding_a_folded_key_changes_nothing() -> None:
    for code in range(sys.maxunicode + 1):
        if 0xD800 <= code <= 0xDFFF:
            continue
        once = path_key_ci(chr(code))
        assert path_key_ci(once) == once, hex(code)


@conforms("003.SID1")
def test_two_worktrees_have_two_stores(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "worktree", "add", "-q", str(tmp_path / "x" / "project"))
    first, second = find_root(str(repository)), find_root(str(tmp_path / "x" / "project"))
    ids = {store_id(first, _PRINT), store_id(second, _PRINT)}
    assert len(ids) == 2
    assert {name.split("__")[0] for name in ids} == {"project"}
    assert {name.split("__")[2] for name in ids} == {"a" * 16}


@conforms("003.SID2")
def test_another_index_fingerprint_is_another_store(repository: Path) -> None:
    root = find_root(str(repository))
    one, two = store_id(root, "1" * 64), store_id(root, "2" * 64)
    assert one != two
    assert one.split("__")[:2] == two.split("__")[:2]
    with pytest.raises(ValueError, match="hexadecimal"):
        store_id(root, "../../etc")


@pytest.mark.parametrize(
    ("folder", "slug"),
    [
        ("/home/me/My Project!", "my-project"),
        ("/", "root"),
        ("/x/你好", "root"),
        ("/x/--a--", "a"),
        ("/x/.dot", "dot"),
        ("/x/" + "ab-" * 40, ("ab-" * 14)[:40]),
        ("/x/" + "a" * 39 + "-b", "a" * 39),
        ("/x/\udcff", "root"),
    ],
)
def test_a_store_name_is_safe_for_any_folder_name(folder: str, slug: str) -> None:
    name = store_id(Root(folder, is_git=False), _PRINT)
    assert name.split("__")[0] == slug
    assert name.isascii()
    assert len(name) <= 40 + 2 * 18


def test_a_shown_name_cannot_steer_a_terminal() -> None:
    assert printable(b"plain name.py") == "plain name.py"
    assert printable("caf\u00e9 \u4f60.py".encode()) == "caf\u00e9 \u4f60.py"
    assert printable(b"\x1b[2J\n\t\x7f") == r"\x1b[2J\x0a\x09\x7f"
    assert printable("\u202eevil\u2066\u200b".encode()) == r"\u{202e}evil\u{2066}\u{200b}"
    assert printable(b"caf\xe9 \xed\xa0\x80") == r"caf\xe9 \xed\xa0\x80"
    assert printable("\u0085\u2028\U000e0001".encode()) == r"\u{85}\u{2028}\u{e0001}"
    assert printable(rb"a\x1b") == r"a\\x1b"


def test_every_byte_is_shown_safely_and_no_two_alike() -> None:
    shown = [printable(bytes([byte])) for byte in range(1, 256)]
    assert all(text.isprintable() and text.isascii() for text in shown)
    assert len(set(shown)) == 255


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_somebody_elses_git_folder_in_a_shared_place_claims_nothing_of_ours(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    planted = tmp_path / ".git"
    planted.mkdir()
    (planted / "HEAD").write_text("ref: refs/heads/main\n")
    assert find_root(str(ours)) == Root(str(tmp_path.resolve()), is_git=True)
    os.chown(planted, 65534, 65534)
    assert find_root(str(ours)) == Root(str(ours.resolve()), is_git=False)
    # In a container the whole tree may belong to somebody else: then it is theirs consistently, and theirs counts.
    os.chown(ours, 65534, 65534)
    assert find_root(str(ours)) == Root(str(tmp_path.resolve()), is_git=True)
