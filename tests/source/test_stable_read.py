from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cairn.core.limits import MAX_FILE_BYTES, MINIFIED_LINE_BYTES, STABLE_READ_ATTEMPTS, STABLE_READ_QUIET_NS
from cairn.core.types import Candidate, FileStat, ReadOutcome, Root, Skip, SkipReason, SourceFile, Unstable, Vanished
from cairn.source.beneath import Tree
from cairn.source.root import path_key
from cairn.source.stable_read import looks_minified, read_stable
from tests.conformance import conforms
from tests.hostile.shapes import SHAPES, SOURCE, Shape, uproot
from tests.support.clock import ManualClock
from tests.support.faults import Faults

Opener = Callable[[Path], Tree]


def later(on_sleep: Callable[[], object] | None = None) -> ManualClock:
    """A clock a minute ahead of the files, so that every one of them has been quiet."""
    return ManualClock.over_system(60.0, on_sleep=on_sleep)


def hasty(on_look: Callable[[], object]) -> ManualClock:
    """A clock that shows the real time, with naps too short to help: as many chances for a mistake as possible."""
    clock = ManualClock.over_system(passes=False, on_read=on_look)
    clock.on_sleep = lambda: time.sleep(clock.slept[-1] / 50)
    return clock


@pytest.fixture(params=[True, False], ids=["openat2", "by-steps"])
def open_tree(request: pytest.FixtureRequest) -> Iterator[Opener]:
    with contextlib.ExitStack() as opened:
        yield lambda folder: opened.enter_context(Tree(Root(str(folder), is_git=False), openat2=request.param))


def candidate(raw: bytes, *, forced: bool = False) -> Candidate:
    key = path_key(raw) if raw.isascii() else "key"
    return Candidate(key, raw, FileStat(0, 0, 0, 0), forced)


def outcome_of(found: ReadOutcome) -> str:
    return SOURCE if isinstance(found, SourceFile) else found.reason if isinstance(found, Skip) else repr(found)


def test_a_quiet_file_comes_with_its_bytes_its_hash_and_its_stat(tmp_path: Path, open_tree: Opener) -> None:
    (tmp_path / "src").mkdir()
    for size in (0, 1, 8191, 8192, 8193, 100_000):
        data = b"x" * size
        (tmp_path / "src" / "code.py").write_bytes(data)
        found = read_stable(open_tree(tmp_path), candidate(b"src/code.py"), clock=later())
        status = (tmp_path / "src" / "code.py").stat()
        held = FileStat(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        assert found == SourceFile("src/code.py", b"src/code.py", data, hashlib.sha256(data).hexdigest(), held)


def test_a_file_that_is_gone_or_whose_folder_is_gone_is_a_delete(tmp_path: Path, open_tree: Opener) -> None:
    (tmp_path / "file").write_text("x")
    tree = open_tree(tmp_path)
    for raw in (b"none.py", b"none/code.py", b"file/code.py"):
        assert read_stable(tree, candidate(raw)) == Vanished(raw)


def test_what_is_no_file_any_more_is_skipped(tmp_path: Path, open_tree: Opener) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    tree = open_tree(tmp_path)
    for raw in (b"pipe", b"folder", b"link"):
        assert outcome_of(read_stable(tree, candidate(raw))) == SkipReason.NOT_REGULAR
    assert outcome_of(read_stable(tree, candidate(b"n" * 300))) == SkipReason.PATH_TOO_LONG


def test_a_file_you_may_not_read_is_skipped_with_the_systems_word() -> None:
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        Path(home, "locked.py").write_text("x")
        os.chmod(f"{home}/locked.py", 0)
        superuser = os.geteuid() == 0
        with Tree(Root(home, is_git=False)) as tree:
            if superuser:
                os.seteuid(65534)
            try:
                found = read_stable(tree, candidate(b"locked.py"), clock=later())
            finally:
                if superuser:
                    os.seteuid(0)
        assert found == Skip(b"locked.py", SkipReason.UNREADABLE, os.strerror(errno.EACCES))


def test_our_own_lack_of_means_is_never_a_skip(tmp_path: Path, faults: Faults) -> None:
    (tmp_path / "code.py").write_text("x")

    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        faults.fail(os, "read", OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)))
        with pytest.raises(OSError, match="memory"):
            read_stable(tree, candidate(b"code.py"), clock=later())


def test_a_passing_trouble_is_waited_out(tmp_path: Path, faults: Faults) -> None:
    (tmp_path / "code.py").write_text("x")
    troubles = [errno.ESTALE, errno.EAGAIN, errno.EINTR]

    def flaky(real: Callable[..., bytes], fd: int, size: int) -> bytes:
        if troubles:
            raise OSError(troubles.pop(), "passing")
        return real(fd, size)

    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        faults.around(os, "read", flaky)
        assert outcome_of(read_stable(tree, candidate(b"code.py"), clock=later())) == SOURCE


def test_the_cap_holds_for_stat_and_for_the_bytes_read(tmp_path: Path, open_tree: Opener) -> None:
    (tmp_path / "full.py").write_bytes(b"x" * 1000)
    tree, clock = open_tree(tmp_path), later()
    assert outcome_of(read_stable(tree, candidate(b"full.py"), max_bytes=1000, clock=clock)) == SOURCE
    found = read_stable(tree, candidate(b"full.py"), max_bytes=999, clock=clock)
    assert found == Skip(b"full.py", SkipReason.TOO_LARGE, "1000 bytes")


def test_a_file_that_outgrows_its_stat_is_not_read_to_its_end(tmp_path: Path, faults: Faults) -> None:
    """The stat says ten bytes; by the time of the read there are ten million."""
    (tmp_path / "grow.py").write_bytes(b"x" * 10)
    asked: list[int] = []

    def grow_first(real: Callable[..., bytes], fd: int, size: int) -> bytes:
        (tmp_path / "grow.py").write_bytes(b"x" * 10_000_000)
        asked.append(size)
        return real(fd, size)

    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        faults.around(os, "read", grow_first)
        found = read_stable(tree, candidate(b"grow.py"), max_bytes=1000, clock=later())
    assert outcome_of(found) == SkipReason.TOO_LARGE
    assert asked == [11]


def test_a_tebibyte_of_nothing_costs_nothing(tmp_path: Path, open_tree: Opener) -> None:
    (tmp_path / "sparse.py").touch()
    os.truncate(tmp_path / "sparse.py", 1 << 40)
    tree, began = open_tree(tmp_path), time.process_time()
    assert outcome_of(read_stable(tree, candidate(b"sparse.py"))) == SkipReason.TOO_LARGE
    assert time.process_time() - began < 0.05


def test_a_file_whose_size_is_a_lie_is_skipped(open_tree: Opener) -> None:
    """Files of /proc say that they are regular and empty, and hold something else, perhaps without end."""
    found = read_stable(open_tree(Path("/proc/self")), candidate(b"environ"), clock=later())
    assert outcome_of(found) in (SkipReason.NOT_REGULAR, SkipReason.BINARY)
    found = read_stable(open_tree(Path("/proc")), candidate(b"version"), clock=later())
    assert outcome_of(found) == SkipReason.NOT_REGULAR


def test_of_a_binary_file_only_the_start_is_read(tmp_path: Path, faults: Faults) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\0" + b"x" * 5_000_000)
    asked: list[int] = []
    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        faults.around(os, "read", lambda real, fd, size: asked.append(size) or real(fd, size))
        assert outcome_of(read_stable(tree, candidate(b"program"), clock=later())) == SkipReason.BINARY
    assert sum(asked) <= 8193


def test_a_file_that_is_not_utf8_says_where(tmp_path: Path, open_tree: Opener) -> None:
    (tmp_path / "old.py").write_bytes(b"# caf\xe9\n")
    found = read_stable(open_tree(tmp_path), candidate(b"old.py"), clock=later())
    assert found == Skip(b"old.py", SkipReason.NOT_UTF8, "at byte 5")


def test_a_minified_file_is_read_when_its_type_was_switched_on(tmp_path: Path, open_tree: Opener) -> None:
    (tmp_path / "bundle.js").write_bytes(b"var a=1;" * 1000)
    tree = open_tree(tmp_path)
    assert outcome_of(read_stable(tree, candidate(b"bundle.js"), clock=later())) == SkipReason.MINIFIED
    assert outcome_of(read_stable(tree, candidate(b"bundle.js", forced=True), clock=later())) == SOURCE


def test_only_long_lines_in_web_code_look_minified() -> None:
    line = b"x" * MINIFIED_LINE_BYTES
    assert looks_minified(b"a.js", line + b"\n")
    assert looks_minified(b"dir/A.JS", line * 2)
    assert not looks_minified(b"a.js", line)
    assert not looks_minified(b"a.py", line * 2)
    assert not looks_minified(b"a.js", line + b"\n" * 10)
    assert not looks_minified(b"a.js", (b"x" * 4_999 + b"\n") * 10)
    assert not looks_minified(b"a.js", b"short();\r" * 5_000)
    assert not looks_minified(b"a.css", b"\n" * MAX_FILE_BYTES)
    assert not looks_minified(b"a.css", b"")


# --- files that are being written ---------------------------------------------------------------------------------


@conforms("003.SR1")
def test_a_file_that_changes_during_every_attempt_is_unstable(tmp_path: Path, faults: Faults) -> None:
    (tmp_path / "busy.py").write_bytes(b"x" * 100)

    def touch_after(real: Callable[..., bytes], fd: int, size: int) -> bytes:
        data = real(fd, size)
        os.utime(tmp_path / "busy.py")
        return data

    clock = later()
    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        faults.around(os, "read", touch_after)
        assert read_stable(tree, candidate(b"busy.py"), clock=clock) == Unstable(b"busy.py", STABLE_READ_ATTEMPTS)
    assert len(clock.slept) == STABLE_READ_ATTEMPTS - 1
    assert clock.slept == sorted(clock.slept)


@conforms("003.SR1")
def test_a_file_that_comes_to_rest_is_read_as_it_then_is(tmp_path: Path, faults: Faults) -> None:
    (tmp_path / "busy.py").write_bytes(b"old" * 100)
    writes = [b"half", b"whole"]

    def write_after(real: Callable[..., bytes], fd: int, size: int) -> bytes:
        data = real(fd, size)
        if writes:
            (tmp_path / "busy.py").write_bytes(writes.pop(0))
        return data

    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        faults.around(os, "read", write_after)
        found = read_stable(tree, candidate(b"busy.py"), clock=later())
    assert isinstance(found, SourceFile)
    assert found.data == b"whole"


def test_a_file_removed_between_two_attempts_is_a_delete(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_bytes(b"x")

    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        written = (tmp_path / "busy.py").stat().st_ctime_ns
        clock = ManualClock(written, on_sleep=(tmp_path / "busy.py").unlink)
        assert read_stable(tree, candidate(b"busy.py"), clock=clock) == Vanished(b"busy.py")


@conforms("003.SR1")
def test_a_file_written_just_now_is_left_alone_for_a_moment(tmp_path: Path, open_tree: Opener) -> None:
    """A write stamps its file when it begins, so the stamps cannot show that it has not ended yet."""
    (tmp_path / "code.py").write_bytes(b"x")
    written = (tmp_path / "code.py").stat().st_ctime_ns

    clock = ManualClock(written)
    assert outcome_of(read_stable(open_tree(tmp_path), candidate(b"code.py"), clock=clock)) == SOURCE
    assert clock.wall_ns() - written >= STABLE_READ_QUIET_NS


# The content names itself: every line of one version holds its number. Three ways to save a file, in bursts. The
# second file says when the save under way began, and is zero between saves.
_WRITER = """
import mmap, os, random, struct, sys, time
path = sys.argv[1]
with open(sys.argv[2], "r+b") as file:
    saving = mmap.mmap(file.fileno(), 8)
dice = random.Random(7)
fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
version = 0
def content():
    global version
    version += 1
    return b"%015d\\n" % version * dice.choice((1, 600, 4000, 40000))
def in_place():
    data = content()
    os.ftruncate(fd, len(data))
    os.pwrite(fd, data, 0)
def in_pieces():
    data = content()
    with open(path, "r+b", buffering=0) as file:
        file.truncate(0)
        for start in range(0, len(data), 65536):
            file.write(data[start:start + 65536])
def by_rename():
    global fd
    with open(path + ".new", "wb") as file:
        file.write(content())
    os.rename(path + ".new", path)
    os.close(fd)
    fd = os.open(path, os.O_WRONLY)
in_place()
print("ready", flush=True)
while True:
    save = dice.choice((in_place, in_place, in_pieces, by_rename))
    for _ in range(dice.randrange(1, 40)):
        saving[:] = struct.pack("q", time.time_ns())
        save()
        saving[:] = bytes(8)
    time.sleep(dice.choice((0, 0.001, 0.01, 0.03, 0.06)))
"""


def is_one_version(data: bytes) -> bool:
    return data == data[:16] * (len(data) // 16) and len(data) // 16 in (1, 600, 4000, 40000)


def read_against_a_writer(tree: Tree, path: Path, seconds: float, least: int) -> None:
    note = path.with_name("saving")
    note.write_bytes(bytes(8))
    with open(note, "r+b") as file:
        saving = mmap.mmap(file.fileno(), 8)
    child = subprocess.Popen([sys.executable, "-c", _WRITER, str(path), str(note)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    seen: Counter[str] = Counter()
    versions = set()
    asleep = [False]

    def look() -> None:
        """Whether the reader looks at the clock in the midst of a save that has been under way for a tick or more.

        A loaded machine does that to a writer: its file lies there empty or half written, and does hold still. Nobody
        could know better, so what is read then is not held against the reader; all else is.
        """
        began: int = struct.unpack("q", saving)[0]
        asleep[0] = began > 0 and time.time_ns() - began > STABLE_READ_QUIET_NS // 2

    try:
        assert child.stdout.readline() == b"ready\n"
        until, clock = time.monotonic() + seconds, hasty(look)
        while time.monotonic() < until or seen.total() < least:
            found = read_stable(tree, candidate(os.fsencode(path.name)), clock=clock)
            seen[type(found).__name__] += 1
            if not isinstance(found, SourceFile):
                continue
            assert found.file_hash == hashlib.sha256(found.data).hexdigest()
            if not asleep[0]:
                assert is_one_version(found.data), f"a torn read of {len(found.data)} bytes"
                versions.add(found.data[:16])
        assert child.poll() is None, "the writer died"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        saving.close()
    # The race was on: some reads met the writer, others its pauses, and the file changed in between.
    assert seen["Unstable"] > 0, seen
    assert len(versions) > 3, seen


@conforms("003.SR1")
def test_no_read_ever_mixes_two_versions_of_a_file(tmp_path: Path) -> None:
    with Tree(Root(str(tmp_path), is_git=False)) as tree:
        read_against_a_writer(tree, tmp_path / "busy.py", seconds=1.5, least=0)


@pytest.mark.long
@conforms("003.SR1")
def test_no_read_ever_mixes_two_versions_of_a_file_in_ten_thousand(tmp_path: Path, open_tree: Opener) -> None:
    read_against_a_writer(open_tree(tmp_path), tmp_path / "busy.py", seconds=60.0, least=10_000)


# --- the hostile tree ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_every_hostile_shape_can_be_planted_read_and_removed(shape: Shape, tmp_path: Path, open_tree: Opener) -> None:
    folder = tmp_path / "planted"
    folder.mkdir()
    try:
        shape.plant(folder)
        assert os.listdir(folder) or shape.optional
        tree = open_tree(folder)
        for raw, outcome in shape.reads.items():
            if raw not in shape.optional or os.path.lexists(os.path.join(os.fsencode(folder), raw)):
                assert outcome_of(read_stable(tree, candidate(raw), clock=later())) == outcome, raw
        for raw in shape.expected_in(folder):
            tree.lstat(raw)
    finally:
        uproot(folder)
    assert not folder.exists()


def test_the_hostile_tree_has_enough_shapes_and_every_name_once() -> None:
    assert len(SHAPES) >= 60
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)
    outcomes = {outcome for shape in SHAPES for outcome in (*shape.expected.values(), *shape.reads.values())}
    assert outcomes - {"candidate", SOURCE} <= set(SkipReason)
