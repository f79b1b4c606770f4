from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cairn.core.types import Root, SkipReason
from cairn.errors import RootNotAFolder, RootNotFound, RootUnreadable
from cairn.source import beneath
from cairn.source.beneath import NotRegularFile, Resolved, Tree
from tests.conformance import conforms
from tests.hostile.shapes import LINKS, Shape, every_byte_names
from tests.support.faults import Faults
from tests.support.waiting import PATIENCE

CANARY = b"canary from outside\n"
Opener = Callable[[Path], Tree]


@pytest.fixture(params=[True, False], ids=["openat2", "by-steps"])
def open_tree(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Both ways to open must give the same answers, so every test here runs with each."""
    with contextlib.ExitStack() as opened:
        yield lambda folder: opened.enter_context(Tree(Root(str(folder), is_git=False), openat2=request.param))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`root` is the tree; `root-evil` beside it is what must never be seen."""
    root = tmp_path / "root"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "code.py").write_bytes(b"top\n")
    (root / "src" / "deep" / "code.py").write_bytes(b"deep\n")
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root-evil" / "code.py").write_bytes(CANARY)
    return root


def read(tree: Tree, raw: bytes) -> bytes:
    fd = tree.open_file(raw)
    try:
        return os.read(fd, 1 << 20)
    finally:
        os.close(fd)


def refusal(call: Callable[[], object]) -> int | None:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the caller compares the number
        call()
    return caught.value.errno


@conforms("003.OUT1")
def test_what_is_opened_is_the_file_of_that_name_below_the_root(folder: Path, open_tree: Opener) -> None:
    tree = open_tree(folder)
    for raw in (b"code.py", b"src/deep/code.py"):
        fd = tree.open_file(raw)
        assert os.readlink(f"/proc/self/fd/{fd}") == os.path.join(tree.path, os.fsdecode(raw))
        assert not os.get_inheritable(fd)
        os.close(fd)
    listing = tree.open_folder(b"src/deep")
    assert os.listdir(listing) == ["code.py"]
    os.close(listing)


@pytest.mark.parametrize(
    "raw",
    b"/etc/passwd .. ../root-evil/code.py src/../code.py ./code.py src//deep/code.py src/ a\0b . src/. //".split(),
)
def test_a_path_that_is_not_clean_is_refused_before_the_system_sees_it(
    folder: Path, open_tree: Opener, raw: bytes
) -> None:
    tree = open_tree(folder)
    for call in (tree.open_file, tree.open_folder, tree.lstat):
        assert refusal(lambda call=call: call(raw)) == errno.EINVAL  # type: ignore[misc]
    assert tree.read_small(raw, 100) is None
    assert tree.resolve_link(raw).target is None


def test_an_empty_path_is_the_root_and_never_a_file(folder: Path, open_tree: Opener) -> None:
    tree = open_tree(folder)
    assert refusal(lambda: tree.open_file(b"")) == errno.EINVAL
    assert tree.lstat(b"").st_ino == folder.stat().st_ino
    # Two listings at once do not disturb one another.
    first, second = tree.open_folder(b""), tree.open_folder(b"")
    assert sorted(os.listdir(first)) == sorted(os.listdir(second)) == ["code.py", "src"]
    os.close(first)
    os.close(second)


@conforms("003.OUT2")
def test_no_link_is_ever_followed_by_an_open(folder: Path, open_tree: Opener) -> None:
    (folder / "leaf.py").symlink_to("code.py")
    (folder / "door").symlink_to("src")
    (folder / "out").symlink_to(folder.parent / "root-evil")
    (folder / "proc").symlink_to("/proc/self/cwd")
    tree = open_tree(folder)
    for raw in (b"leaf.py", b"door/deep/code.py", b"out/code.py", b"proc/code.py", b"src/../door/deep/code.py"):
        assert refusal(lambda raw=raw: tree.open_file(raw)) in (errno.ELOOP, errno.EINVAL)  # type: ignore[misc]
    assert refusal(lambda: tree.open_folder(b"door")) == errno.ELOOP
    assert refusal(lambda: tree.open_folder(b"door/deep")) == errno.ELOOP
    assert refusal(lambda: tree.lstat(b"out/code.py")) == errno.ELOOP
    assert os.path.stat.S_ISLNK(tree.lstat(b"leaf.py").st_mode)


def test_what_is_missing_is_missing_in_the_same_words(folder: Path, open_tree: Opener) -> None:
    tree = open_tree(folder)
    assert refusal(lambda: tree.open_file(b"none.py")) == errno.ENOENT
    assert refusal(lambda: tree.open_file(b"none/code.py")) == errno.ENOENT
    assert refusal(lambda: tree.open_file(b"code.py/below")) == errno.ENOTDIR
    assert refusal(lambda: tree.open_folder(b"code.py")) == errno.ENOTDIR
    assert refusal(lambda: tree.lstat(b"code.py/below")) == errno.ENOTDIR
    assert refusal(lambda: tree.open_file(b"n" * 300)) == errno.ENAMETOOLONG


def test_pipes_sockets_folders_and_devices_are_refused_and_never_wait(folder: Path, open_tree: Opener) -> None:
    os.mkfifo(folder / "pipe.py")
    home = os.getcwd()
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.py")
    os.chdir(home)
    with contextlib.suppress(PermissionError):
        os.mknod(folder / "zero.py", 0o020600, os.makedev(1, 5))
    tree, began = open_tree(folder), time.monotonic()
    for name in ("pipe.py", "socket.py", "zero.py", "src"):
        if (folder / name).exists():
            with pytest.raises(NotRegularFile):
                tree.open_file(os.fsencode(name))
            assert tree.read_small(os.fsencode(name), 10) is None
    assert time.monotonic() - began < 5


def test_a_small_file_is_read_to_one_byte_above_the_cap(folder: Path, open_tree: Opener) -> None:
    (folder / "big").write_bytes(b"x" * 1000)
    tree = open_tree(folder)
    assert tree.read_small(b"big", 1000) == b"x" * 1000
    assert tree.read_small(b"big", 999) == b"x" * 1000
    assert tree.read_small(b"big", 10) == b"x" * 11
    assert tree.read_small(b"none", 10) is None
    os.symlink("big", folder / "link")
    assert tree.read_small(b"link", 10) is None


def test_a_lack_of_descriptors_is_an_error_not_a_missing_file(folder: Path, open_tree: Opener) -> None:
    """An ignore file that we failed to open for our own reasons must not count as absent."""
    (folder / "src" / "link").symlink_to("deep")
    tree = open_tree(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert refusal(lambda: tree.read_small(b"src/deep/code.py", 9)) == errno.EMFILE
        assert refusal(lambda: tree.resolve_link(b"src/link")) == errno.EMFILE
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def _without_rights() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("openat2", [True, False])
def test_permissions_mean_the_same_on_both_ways(openat2: bool) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        for name in ("closed", "passage"):
            os.mkdir(f"{home}/{name}")
            Path(f"{home}/{name}/code.py").write_bytes(b"x")
        Path(f"{home}/secret.py").write_bytes(b"x")
        os.symlink("closed/code.py", f"{home}/link.py")
        os.chmod(f"{home}/secret.py", 0)
        os.chmod(f"{home}/closed", 0)
        os.chmod(f"{home}/passage", 0o711)
        with _without_rights(), Tree(Root(home, is_git=False), openat2=openat2) as tree:
            assert refusal(lambda: tree.open_file(b"secret.py")) == errno.EACCES
            assert refusal(lambda: tree.open_file(b"closed/code.py")) == errno.EACCES
            assert tree.resolve_link(b"link.py").reason == SkipReason.UNREADABLE
            # This folder may be entered, though not listed.
            assert read(tree, b"passage/code.py") == b"x"
            if os.geteuid() != os.getuid():
                assert refusal(lambda: tree.open_folder(b"passage")) == errno.EACCES
            assert tree.uses_openat2 == openat2
        os.chmod(f"{home}/closed", 0o700)


def test_a_root_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RootNotFound, match=r"gone\\u\{1b\}"):
        Tree(Root(str(tmp_path / "gone\x1b"), is_git=False))
    with pytest.raises(RootNotAFolder):
        Tree(Root(str(tmp_path / "file"), is_git=False))
    with pytest.raises(RootUnreadable):
        Tree(Root(str(tmp_path / ("n" * 300)), is_git=False))


def test_a_closed_tree_opens_nothing(folder: Path, open_tree: Opener) -> None:
    tree = open_tree(folder)
    tree.close()
    tree.close()
    assert refusal(lambda: tree.open_file(b"code.py")) == errno.EBADF


def test_every_byte_can_be_in_a_name_that_is_opened(tmp_path: Path, open_tree: Opener) -> None:
    for name in every_byte_names():
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_bytes(name)
    tree = open_tree(tmp_path)
    for name in every_byte_names():
        assert read(tree, name) == name


# --- links --------------------------------------------------------------------------------------------------------


@conforms("003.OUT5")
def test_a_link_inside_the_root_leads_to_its_target(folder: Path, open_tree: Opener) -> None:
    (folder / "src" / "up.py").symlink_to("../code.py")
    (folder / "absolute.py").symlink_to(folder / "src" / "deep" / "code.py")
    (folder / "dotted.py").symlink_to(f"/.//{str(folder).lstrip('/')}/./src//deep/../deep/code.py")
    (folder / "door").symlink_to("src/deep")
    (folder / "through.py").symlink_to("door/../up.py")
    (folder / "home").symlink_to(folder)
    (folder / "src" / "round").symlink_to("../home/src")
    tree = open_tree(folder)
    expected = {
        b"src/up.py": Resolved(b"code.py", False, None),
        b"absolute.py": Resolved(b"src/deep/code.py", False, None),
        b"dotted.py": Resolved(b"src/deep/code.py", False, None),
        b"door": Resolved(b"src/deep", True, None),
        b"door/code.py": Resolved(b"src/deep/code.py", False, None),
        b"through.py": Resolved(b"code.py", False, None),
        b"home": Resolved(b"", True, None),
        b"src/round": Resolved(b"src", True, None),
    }
    assert {raw: tree.resolve_link(raw) for raw in expected} == expected


@conforms("003.OUT2", "003.OUT5")
def test_a_link_that_leaves_the_root_is_outside_name_by_name(folder: Path, open_tree: Opener) -> None:
    evil = folder.parent / "root-evil" / "code.py"
    targets = [evil, "../root-evil/code.py", "/etc/passwd", "..", "/", folder.parent, "../root/code.py"]
    targets += [f"{folder}/../root-evil/code.py", f"{folder.parent}/./root-evil/code.py", "/proc/self/cwd/code.py"]
    for number, target in enumerate(targets):
        (folder / f"out{number}").symlink_to(target)
    (folder / "chained.py").symlink_to("out0")
    (folder / "through.py").symlink_to("out5/code.py")
    tree = open_tree(folder)
    for name in [f"out{number}" for number in range(len(targets))] + ["chained.py", "through.py", "out5/x"]:
        assert tree.resolve_link(os.fsencode(name)) == Resolved(None, False, SkipReason.OUTSIDE_ROOT), name


def test_in_the_system_root_every_absolute_link_is_inside(open_tree: Opener, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    tree = open_tree(Path("/"))
    raw = os.fsencode(tmp_path).lstrip(b"/")
    assert tree.resolve_link(raw + b"/link") == Resolved(raw, True, None)


def test_a_link_to_nothing_is_broken(folder: Path, open_tree: Opener) -> None:
    for name, target in {"a": "none", "b": "code.py/", "c": "code.py/.", "d": "code.py/..", "e": "none/x"}.items():
        (folder / name).symlink_to(target)
    tree = open_tree(folder)
    for name in "abcde":
        assert tree.resolve_link(name.encode()).reason == SkipReason.BROKEN_LINK
    (folder / "long").symlink_to("n" * 300)
    assert tree.resolve_link(b"long").reason == SkipReason.PATH_TOO_LONG


@conforms("003.LOOP1")
def test_loops_end_and_32_links_are_the_most(folder: Path, open_tree: Opener) -> None:
    (folder / "self").symlink_to("self")
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to(folder / "a")
    (folder / "folder").symlink_to("folder/deeper")
    (folder / "hop0").symlink_to("code.py")
    for number in range(1, 33):
        (folder / f"hop{number}").symlink_to(f"hop{number - 1}")
    tree = open_tree(folder)
    for raw in (b"self", b"a", b"b", b"folder", b"hop32"):
        assert tree.resolve_link(raw) == Resolved(None, False, SkipReason.SYMLINK_LOOP), raw
    assert tree.resolve_link(b"hop31") == Resolved(b"code.py", False, None)


@conforms("003.LOOP1")
def test_links_made_to_waste_time_are_cut_short(folder: Path, open_tree: Opener) -> None:
    for number in range(32):
        (folder / f"slow{number}").symlink_to("src/../" * 500 + (f"slow{number - 1}" if number else "code.py"))
    tree, began = open_tree(folder), time.process_time()
    assert tree.resolve_link(b"slow31").reason == SkipReason.SYMLINK_LOOP
    assert time.process_time() - began < 2


@pytest.mark.parametrize("shape", LINKS, ids=lambda shape: shape.name)
def test_links_of_the_hostile_tree_lead_where_expected(shape: Shape, tmp_path: Path, open_tree: Opener) -> None:
    shape.plant(tmp_path)
    tree = open_tree(tmp_path)
    for raw, outcome in shape.expected.items():
        if os.path.islink(os.path.join(os.fsencode(tmp_path), raw)):
            found = tree.resolve_link(raw)
            if outcome in (SkipReason.ALIAS, SkipReason.LINK_TARGET_SKIPPED, SkipReason.IGNORED):
                assert found.reason is None
                assert os.path.realpath(tmp_path / os.fsdecode(raw)) == str(tmp_path / os.fsdecode(found.target or b""))
            else:
                assert found == Resolved(None, False, SkipReason(outcome))


# --- which way is taken -------------------------------------------------------------------------------------------


@conforms("003.OUT3")
@pytest.mark.skipif(sys.platform != "linux", reason="the call exists on Linux only")
def test_the_kernel_is_asked_to_stay_beneath_the_root(folder: Path, faults: Faults) -> None:
    calls: list[tuple[int, bytes]] = []

    def spy(
        real: Callable[..., int], number: ctypes.c_long, at: ctypes.c_long, raw: bytes, how: object, size: ctypes.c_long
    ) -> int:
        calls.append((number.value, raw))
        assert list(how._obj)[2] & 0x08, "RESOLVE_BENEATH"  # type: ignore[attr-defined]
        return int(real(number, at, raw, how, size))

    faults.around(beneath, "_syscall", spy)
    with Tree(Root(str(folder), is_git=False)) as tree:
        assert read(tree, b"src/deep/code.py") == b"deep\n"
        assert tree.uses_openat2
    assert calls == [(437, b"src/deep/code.py")]


def scripted(answers: list[int]) -> Callable[..., int]:
    """A kernel that gives these answers in turn; 0 stands for the real one."""
    real = beneath._syscall

    def answer(*arguments: object) -> int:
        trouble = answers.pop(0)
        if not trouble:
            return int(real(*arguments))
        ctypes.set_errno(trouble)
        return -1

    return answer


_READ_SCRIPT = """
import os, sys
from cairn.source.beneath import Tree
from cairn.core.types import Root
with Tree(Root(sys.argv[1], False)) as tree:
    print(tree.read_small(b"src/deep/code.py", 9), tree.read_small(b"out/code.py", 9), tree.uses_openat2)
"""

# A seccomp filter that answers the call 437 with one error number, as old kernels (ENOSYS) and sandboxes (EPERM) do.
_DENY_SCRIPT = """
import ctypes, struct, sys
answer = int(sys.argv[2])
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x00050000 | answer), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no seccomp")
"""


@conforms("003.OUT3", "003.OUT4")
@pytest.mark.skipif(sys.platform != "linux", reason="seccomp exists on Linux only")
@pytest.mark.parametrize("answer", [errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP])
def test_where_the_kernel_refuses_the_call_the_fallback_gives_the_same_answers(folder: Path, answer: int) -> None:
    (folder / "out").symlink_to(folder.parent / "root-evil")
    command = [sys.executable, "-c", _DENY_SCRIPT + _READ_SCRIPT, str(folder), str(answer)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if "no seccomp" in ran.stderr:
        pytest.skip("this sandbox does not allow seccomp filters")
    assert ran.stdout == "b'deep\\n' None False\n", ran.stderr


@conforms("003.OUT3")
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_strace_shows_the_call(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    command = ["strace", "-f", "-e", "trace=openat2", "-o", str(log), sys.executable, "-c", _READ_SCRIPT, str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    assert '"src/deep/code.py"' in log.read_text()
    assert "RESOLVE_BENEATH" in log.read_text()


@pytest.mark.parametrize("answer", [errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP])
def test_a_call_that_stops_working_is_not_asked_for_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    answers = [answer]
    monkeypatch.setattr(beneath, "_syscall", scripted(answers))
    with Tree(Root(str(folder), is_git=False)) as tree:
        assert read(tree, b"code.py") == read(tree, b"code.py") == b"top\n"
    assert answers == []


def test_a_race_in_the_kernel_is_tried_again_a_few_times(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "_syscall", scripted([errno.EAGAIN, errno.EINTR, 0, *[errno.EAGAIN] * 20]))
    with Tree(Root(str(folder), is_git=False)) as tree:
        assert read(tree, b"code.py") == b"top\n"
        assert refusal(lambda: tree.open_file(b"code.py")) == errno.EAGAIN
        assert tree.uses_openat2


def test_settling_leaves_the_place_at_the_start(tmp_path: Path) -> None:
    with open(tmp_path / "hole.py", "wb") as file:
        file.seek(1 << 20)
        file.write(b"late")
    for name, start in (("hole.py", b"\0\0"), ("empty.py", b"")):
        (tmp_path / name).touch()
        fd = os.open(tmp_path / name, os.O_RDONLY)
        beneath.settle(fd)
        assert os.read(fd, 2) == start
        os.close(fd)


def test_a_read_that_comes_in_pieces_is_put_together() -> None:
    """Regular files rarely do this, network file systems may; a pipe always does."""
    out, into = os.pipe()
    os.write(into, b"one ")
    pieces = iter([b"two ", b"three"])
    real = os.read

    def feed(fd: int, size: int) -> bytes:
        data = real(fd, size)
        os.write(into, next(pieces, b"!" * 9))
        return data

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "read", feed)
        assert beneath.read_up_to(out, 14, 13) == b"one two three"
    os.close(out)
    os.close(into)


def test_a_folder_that_was_a_link_a_moment_ago_is_not_taken_for_deleted(folder: Path, faults: Faults) -> None:
    (folder / "door").symlink_to("src")

    def swap_first(real: Callable[..., os.stat_result], *arguments: object, **named: object) -> os.stat_result:
        (folder / "door").unlink(missing_ok=True)
        (folder / "door").mkdir(exist_ok=True)
        return real(*arguments, **named)  # type: ignore[arg-type]

    with Tree(Root(str(folder), is_git=False), openat2=False) as tree:
        faults.around(os, "stat", swap_first)
        assert refusal(lambda: tree.open_file(b"door/deep/code.py")) == errno.EAGAIN


# --- races --------------------------------------------------------------------------------------------------------

_SWAP_SCRIPT = """
import os, sys
os.chdir(sys.argv[1])
outside = sys.argv[2]
os.symlink(outside + "/code.py", "leaf.link")
os.symlink(outside, "door.link")
print("ready", flush=True)
while True:
    for name in ("leaf", "door"):
        os.rename(name, name + ".real")
        os.rename(name + ".link", name)
        os.rename(name, name + ".link")
        os.rename(name + ".real", name)
"""


@contextlib.contextmanager
def running(script: str, *arguments: str) -> Iterator[None]:
    """A child that says "ready" and then works against us until the end of the block."""
    child = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"ready\n"
        yield
        assert child.poll() is None, "the racer died"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def race(folder: Path, tree: Tree, seconds: float) -> None:
    (folder / "leaf").write_bytes(b"inside\n")
    (folder / "door").mkdir()
    (folder / "door" / "code.py").write_bytes(b"inside\n")
    seen: dict[bytes | int | None, int] = {}
    met: set[bytes | int | None] = {b"inside\n", errno.ELOOP, errno.ENOENT}
    with running(_SWAP_SCRIPT, str(folder), str(folder.parent / "root-evil")):
        until = time.monotonic() + seconds
        # The race must be on: the file, the link and the gap between them are all met.
        while time.monotonic() < until or not (met <= seen.keys() or time.monotonic() > until + PATIENCE):
            for _ in range(50):
                for raw in (b"leaf", b"door/code.py"):
                    outcome: bytes | int | None
                    try:
                        outcome = read(tree, raw)
                    except OSError as error:
                        outcome = error.errno
                    seen[outcome] = seen.get(outcome, 0) + 1
                assert tree.resolve_link(b"door/code.py").target in (b"door/code.py", None)
                with contextlib.suppress(OSError):
                    listing = tree.open_folder(b"door")
                    assert os.fstat(listing).st_ino != (folder.parent / "root-evil").stat().st_ino
                    os.close(listing)
    seen.pop(errno.EAGAIN, None)
    assert seen.keys() == met, seen


@conforms("003.OUT4")
def test_a_swapped_link_never_leads_out(folder: Path, open_tree: Opener) -> None:
    race(folder, open_tree(folder), seconds=0.2)


@pytest.mark.long
@conforms("003.OUT4")
def test_a_swapped_link_never_leads_out_for_a_minute(folder: Path, open_tree: Opener) -> None:
    race(folder, open_tree(folder), seconds=60.0)
