"""Read a candidate while it holds still: stat, read, stat, and again when a writer was at work."""

from __future__ import annotations

import errno
import hashlib
import os

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.filetypes import is_code
from cairn.core.limits import (
    BINARY_SNIFF_BYTES,
    MAX_FILE_BYTES,
    MINIFIED_LINE_BYTES,
    MINIFIED_MEAN_LINE_BYTES,
    STABLE_READ_ATTEMPTS,
    STABLE_READ_BACKOFF_SECONDS,
    STABLE_READ_QUIET_NS,
)
from cairn.core.types import Candidate, FileStat, ReadOutcome, Skip, SkipReason, SourceFile, Unstable, Vanished
from cairn.errors import OUR_TROUBLE
from cairn.source.beneath import NotRegularFile, Tree, read_up_to, settle

_MINIFIED_ENDINGS = (b".js", b".mjs", b".cjs", b".css", b".json", b".html", b".map", b".ts", b".jsx")

# The file was replaced on a server, or another process holds a lease on it: the next attempt may well succeed.
_PASSING = frozenset({errno.EAGAIN, errno.EINTR, errno.ESTALE})
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


def read_stable(
    tree: Tree, candidate: Candidate, *, max_bytes: int = MAX_FILE_BYTES, clock: Clock = SYSTEM_CLOCK
) -> ReadOutcome:
    """Return the file's bytes as no writer touched them, or what became of the file instead.

    Returns `Unstable` when the file changed during every attempt. Never reads more than one byte above the cap.
    """
    for attempt in range(STABLE_READ_ATTEMPTS):
        if attempt:
            clock.sleep(STABLE_READ_BACKOFF_SECONDS * 2 ** (attempt - 1))
        outcome = _read_once(tree, candidate, max_bytes, clock)
        if outcome is not None:
            return outcome
    return Unstable(candidate.raw, STABLE_READ_ATTEMPTS)


def looks_minified(name: bytes, data: bytes) -> bool:
    """Whether web code looks generated: long lines on average, and one that is very long."""
    if len(data) <= MINIFIED_LINE_BYTES or not name.lower().endswith(_MINIFIED_ENDINGS):
        return False
    # Counted first: splitting ten million empty lines would take hundreds of megabytes.
    if len(data) <= MINIFIED_MEAN_LINE_BYTES * (data.count(b"\n") + 1):
        return False
    return max(map(len, data.splitlines())) >= MINIFIED_LINE_BYTES


def _read_once(tree: Tree, candidate: Candidate, max_bytes: int, clock: Clock) -> ReadOutcome | None:
    raw = candidate.raw
    try:
        fd, opened = tree.open_regular(raw)
        try:
            if opened.st_size > max_bytes:
                return Skip(raw, SkipReason.TOO_LARGE, f"{opened.st_size} bytes")
            before = _settled_stat(fd)
            if _is_fresh(before, clock) or before.size > max_bytes:
                return None
            head = min(before.size, BINARY_SNIFF_BYTES)
            data = read_up_to(fd, head + 1, head)
            binary = b"\0" in data[:BINARY_SNIFF_BYTES]
            if len(data) < before.size and not binary:
                left = before.size - len(data)
                data += read_up_to(fd, left + 1, left)
            if _settled_stat(fd) != before:
                return None
        finally:
            os.close(fd)
    except OSError as error:
        return _explain(raw, error)
    if binary:
        # UTF-16 holds a NUL in every second byte, and a compiler may read past one that was put there to hide code.
        if is_code(raw.rpartition(b"/")[2]):
            return Skip(raw, SkipReason.NOT_UTF8, "a NUL byte near its start")
        return Skip(raw, SkipReason.BINARY)
    if len(data) != before.size:
        # Files of /proc and its kin say 0 or 4096 and hold something else: no size, no cap, no stable read.
        return Skip(raw, SkipReason.NOT_REGULAR, "its length is not the one the system gives")
    return _judge(candidate, data, before)


def _judge(candidate: Candidate, data: bytes, held: FileStat) -> ReadOutcome:
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            return Skip(candidate.raw, SkipReason.NOT_UTF8, f"at byte {error.start}")
    if not candidate.forced and looks_minified(candidate.raw, data):
        return Skip(candidate.raw, SkipReason.MINIFIED)
    return SourceFile(candidate.key, candidate.raw, data, hashlib.sha256(data).hexdigest(), held)


def _is_fresh(held: FileStat, clock: Clock) -> bool:
    """Whether the file was changed only just now.

    Two writes within one tick of the kernel get the same stamp, so the two stats can agree over torn bytes: a moment of
    quiet comes first. A writer that rests for longer in the midst of its save looks like one that is done; the racy
    rule of the change detector finds its end later.
    """
    return abs(clock.wall_ns() - held.ctime_ns) < STABLE_READ_QUIET_NS


def _settled_stat(fd: int) -> FileStat:
    settle(fd)
    found = os.fstat(fd)
    return FileStat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _explain(raw: bytes, error: OSError) -> ReadOutcome | None:
    if isinstance(error, NotRegularFile):
        return Skip(raw, SkipReason.NOT_REGULAR)
    if error.errno in _GONE:
        return Vanished(raw)
    if error.errno in _PASSING:
        return None
    if error.errno in OUR_TROUBLE:
        raise error
    if error.errno == errno.ELOOP:
        return Skip(raw, SkipReason.NOT_REGULAR, "it became a link")
    if error.errno == errno.ENAMETOOLONG:
        return Skip(raw, SkipReason.PATH_TOO_LONG)
    return Skip(raw, SkipReason.UNREADABLE, error.strerror or "")
