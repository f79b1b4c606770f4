"""What git knows, asked so that a hostile repository cannot run anything.

Only plumbing that reads refs, the index and trees is used: never `status`, `diff` or `log`, whose filters, monitors and
text converters are programs named by the repository. The environment is built from nothing, every exec-capable setting
that could reach us is overridden, transports are switched off, and each call has an output cap. All calls over one root
share one deadline: a repository that makes git hang makes it hang once, and everybody who asks is told so.
git only ever widens what is looked at, so a refusal (foreign owner, damaged repository) costs time, never truth.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import stat
import subprocess
from collections.abc import Collection, Mapping, Sequence
from typing import IO, NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import (
    GIT_HISTORY_SECONDS,
    GIT_LOCK_ATTEMPTS,
    GIT_LOCK_BACKOFF_SECONDS,
    GIT_OUTPUT_BYTES,
    GIT_REST_SECONDS,
    GIT_TIMEOUT_SECONDS,
    KIB,
    MAX_IGNORE_BYTES,
)
from cairn.core.types import Root
from cairn.errors import GitFailed
from cairn.source.programs import ProgramPath

GLOBAL_IGNORE_LABEL = "your global git ignore file"
INFO_EXCLUDE_LABEL = ".git/info/exclude"

# Each of these is a setting of the repository that starts a program or reaches out, answered before the repository can.
_ARGUMENTS = (
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--literal-pathspecs",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.pager=cat"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "core.excludesFile=/dev/null"),
    *("-c", "core.sshCommand=false"),
    *("-c", "core.gitProxy=false"),
    *("-c", "core.askPass=false"),
    *("-c", "credential.helper="),
    *("-c", "diff.external="),
    *("-c", "gpg.program=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A list of allowed transports that names none. Unlike protocol.allow, `protocol.ext.allow=always` in the
    # repository's config cannot answer it, so a git without GIT_NO_LAZY_FETCH cannot reach a remote either.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PAGER": "cat",
}
_COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_STATUSES = frozenset("AMDT")
_STDERR_BYTES = 8 * KIB
_READ_BYTES = 256 * KIB
_GITLINK_MODE = b"160000"
_GIT = "git"


class GitChange(NamedTuple):
    """A path whose blob differs between two commits; `status` is A, M, D or T, as git says it."""

    status: str
    raw: bytes


class _GitAnswer(NamedTuple):
    status: int
    out: bytes
    error: bytes


class _Patience:
    """How long git may still take over one root, all calls together.

    For every second that passes without a call, a second of waiting is forgiven: a server may ask git for days. A git
    that has used up its time is left alone for a while, because what has made it hang is still there.
    """

    def __init__(self) -> None:
        self.trouble: GitFailed | None = None
        self._spent, self._seen, self._rests_until = 0.0, 0.0, 0.0

    def left(self, most: float, now: float) -> float:
        """Return the seconds that the next call may take; none while git is left alone."""
        self._spent = max(0.0, self._spent - max(0.0, now - self._seen))
        self._seen = now
        if now >= self._rests_until and self._spent >= most:
            self.ended(now)
        return 0.0 if now < self._rests_until else most - self._spent

    def took(self, seconds: float, now: float) -> None:
        """Note how long a call took."""
        self._spent += seconds
        self._seen = now

    def ended(self, now: float) -> None:
        """Note that the time has run out."""
        self._rests_until = now + GIT_REST_SECONDS

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to tell about a git that has not answered."""
        return () if self.trouble is None else (f"{self.trouble.sentence} {self.trouble.advice}",)


_patience: dict[str, _Patience] = {}


def unanswered(root: Root) -> tuple[str, ...]:
    """Return the warning that git has not answered for a root; nothing when it has, or was not asked."""
    known = _patience.get(root.path)
    return () if known is None else known.warnings


class Git:
    """One repository's refs, index and trees, read-only; raises GitFailed when git does not answer."""

    def __init__(self, root: Root, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._root = root
        self._clock = clock
        self._most, self._patience = GIT_TIMEOUT_SECONDS, _patience.setdefault(root.path, _Patience())
        self._programs = ProgramPath(os.environ, root.path)
        self._program = self._programs.find(_GIT) if root.is_git else None

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The warning that git has not answered; nothing when it has, or was not asked."""
        return self._patience.warnings

    def head(self) -> str | None:
        """Return the commit the work tree is on; None without git, without a commit, or where git refuses to look.

        Asked before every question, so what git has answered is kept while the files that it follows from are the same.
        """
        if self._program is None:
            return None
        root, written = self._root.path, _written_of_head(self._root.path)
        known = _heads.get(root)
        if known is not None and written is not None and known[0] == (self._program, written):
            return known[1]
        answer = self._ask("head", "rev-parse", "--verify", "--quiet", "HEAD")
        name = answer.out.strip().decode("ascii", "replace")
        if answer.status != 0 or not _COMMIT_ID.fullmatch(name):
            return None
        if written is not None and _written_of_head(root) == written:
            _heads[root] = (self._program, written), name
        return name

    def tracked(self) -> frozenset[bytes]:
        """Return the raw path of every file in git's index; submodules are not files of this repository."""
        return parse_index(self._must("tracked files", "ls-files", "-z", "--cached", "--stage", "--full-name"))

    def staged(self) -> bool:
        """Whether the index differs from the last commit. Looks at git's own files only."""
        answer = self._ask("staged changes", "diff-index", "--cached", "--quiet", "--ignore-submodules=all", "HEAD")
        if answer.status not in (0, 1):
            raise self._failed("staged changes", _reason(answer))
        return answer.status == 1

    def index_entries(self, raws: Collection[bytes] | None = None) -> bytes:
        """Return git's index entries of these files, or of all: `ls-files --stage --debug -z` with stat tuples.

        `diff-files` would compare for us, but of a file as young as the index it reads the content, through the filters
        that a repository's settings name.
        """
        if raws is not None and not raws:
            return b""
        only = () if raws is None else ("--", *map(os.fsdecode, sorted(raws)))
        return self._must("the index", "ls-files", "--stage", "--debug", "-z", "--full-name", *only)

    def index_written_ns(self) -> int:
        """Return when git's index was written; the stat tuple of a file that is no older proves nothing."""
        path = self._must("the index", "rev-parse", "--git-path", "index").removesuffix(b"\n")
        try:
            return os.stat(os.path.join(os.fsencode(self._root.path), path)).st_mtime_ns
        except OSError:
            return 0

    def changed_between(self, old: str, new: str) -> tuple[GitChange, ...]:
        """List the paths whose blob, mode or type differs between two commits; a rename is a D and an A."""
        out = self._must(
            "changes between two commits",
            *("diff-tree", "-r", "-z", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv"),
            *("--ignore-submodules=all", self._commit(old), self._commit(new)),
        )
        try:
            return parse_name_status(out)
        except ValueError as problem:
            raise self._failed("changes between two commits", str(problem)) from None

    def merge_base(self, a: str, b: str) -> str | None:
        """Return a commit that both have come from; None when their histories share none."""
        answer = self._ask("merge base", "merge-base", self._commit(a), self._commit(b))
        if answer.status == 1 and not answer.out:
            return None
        name = answer.out.split(b"\n", 1)[0].decode("ascii", "replace")
        if answer.status != 0 or not _COMMIT_ID.fullmatch(name):
            raise self._failed("merge base", _reason(answer))
        return name

    def is_ancestor(self, a: str, b: str) -> bool:
        """Whether history leads from the first commit to the second; a commit that is not there is a GitFailed."""
        answer = self._ask("ancestor", "merge-base", "--is-ancestor", self._commit(a), self._commit(b))
        if answer.status not in (0, 1):
            raise self._failed("ancestor", _reason(answer))
        return answer.status == 0

    def global_excludes(self) -> tuple[tuple[str, bytes], ...]:
        """Return the ignore rules outside the repository's files, by label: to explain, never to match with."""
        if self._program is None:
            return ()
        found = [(GLOBAL_IGNORE_LABEL, _read_capped(self._global_ignore_path(), follow=True))]
        # git knows that a linked worktree shares this file with its main one.
        answer = self._ask("exclude file", "rev-parse", "--git-path", "info/exclude")
        if answer.status == 0 and answer.out.endswith(b"\n"):
            path = os.path.join(os.fsencode(self._root.path), answer.out[:-1])
            found.append((INFO_EXCLUDE_LABEL, _read_capped(path, follow=False)))
        return tuple((label, data) for label, data in found if data)

    def _global_ignore_path(self) -> bytes:
        home = os.environ.get("HOME", "")
        config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        configured = b""
        for file in (os.path.join(config_home, "git", "config"), os.path.join(home, ".gitconfig")):
            if os.path.isabs(file) and os.path.isfile(file):
                # Run outside the repository, with the person's own home: only their own file may answer.
                answer = self._ask(
                    "global ignore file",
                    *("config", "--file", file, "--includes", "--type=path", "--null", "--get", "core.excludesFile"),
                    cwd="/",
                    extra={"HOME": home},
                )
                configured = answer.out.rstrip(b"\0") if answer.status == 0 else configured
        return configured or os.fsencode(os.path.join(config_home, "git", "ignore"))

    def _commit(self, name: str) -> str:
        # An id that came from a damaged store must not become an option or a revision expression.
        if not _COMMIT_ID.fullmatch(name):
            raise self._failed("a commit", "the recorded commit id is not a commit id")
        return name

    def _must(self, what: str, *arguments: str, feed: bytes = b"") -> bytes:
        answer = self._ask(what, *arguments, feed=feed)
        if answer.status != 0:
            raise self._failed(what, _reason(answer))
        return answer.out

    def _ask(
        self,
        what: str,
        *arguments: str,
        cwd: str | None = None,
        extra: Mapping[str, str] | None = None,
        feed: bytes = b"",
    ) -> _GitAnswer:
        """Return one answer of git; waits a bounded time for another process that holds a lock."""
        if self._program is None:
            raise self._failed(what, "git is not installed, or the folder is no repository")
        root = self._root.path
        environment = {
            **_ENVIRONMENT,
            **self._programs.environ,
            # A `.git` that is broken must not make git look for a repository above the root.
            "GIT_CEILING_DIRECTORIES": os.path.dirname(root),
            # core.worktree of the repository's config may name any folder; this outranks it.
            "GIT_WORK_TREE": root,
            **(extra or {}),
        }
        # git refuses what another user owns, for fear of programs that its settings name; ours can start none of them.
        group = ("-c", f"safe.directory={root}") if self._root.of_group else ()
        command = (self._program, *_ARGUMENTS, *group, *arguments)
        for attempt in range(GIT_LOCK_ATTEMPTS):
            answer = self._answered(what, command, cwd or root, environment, feed)
            if not _is_transient(answer):
                self._patience.trouble = None
                return answer
            if attempt + 1 < GIT_LOCK_ATTEMPTS:
                self._clock.sleep(GIT_LOCK_BACKOFF_SECONDS * 2**attempt)
        raise self._silent(what, "another git command keeps the repository locked")

    def _answered(
        self, what: str, command: Sequence[str], cwd: str, environment: Mapping[str, str], feed: bytes
    ) -> _GitAnswer:
        """Return what one process of git says within the time that is left for all of them."""
        began, patience = self._clock.monotonic(), self._patience
        left = patience.left(self._most, began)
        if left <= 0:
            raise self._silent(what, f"it took longer than {self._most:g} seconds, and is not asked again for a while")
        try:
            return _run(command, cwd, environment, self._clock, left, feed)
        except _LateError:
            patience.ended(self._clock.monotonic())
            raise self._silent(what, f"it took longer than {self._most:g} seconds") from None
        except (OSError, _StoppedError) as problem:
            raise self._silent(what, str(problem)) from None
        finally:
            now = self._clock.monotonic()
            patience.took(now - began, now)

    def _silent(self, what: str, why: str) -> GitFailed:
        """Return the error that git did not answer, and keep the first such error for whoever is to be told."""
        problem = self._failed(what, why)
        self._patience.trouble = self._patience.trouble or problem
        return problem

    def _failed(self, what: str, why: str) -> GitFailed:
        return GitFailed(what=what, path=self._root.path, why=why)


# --- what HEAD follows from -------------------------------------------------------------------------------------------

_Written = tuple[bytes | tuple[int, ...], ...]
_BRANCH = re.compile(rb"ref: (refs/[\w./+-]+)\n?", re.ASCII)
_heads: dict[str, tuple[tuple[str, _Written], str]] = {}


def _written_of_head(root: str) -> _Written | None:
    """Return what says which commit HEAD is; None where that is more than a branch or a commit in files of a folder."""
    own = os.path.join(os.fsencode(root), b".git")
    shared, head = own, _read_capped(os.path.join(own, b"HEAD"), follow=False)
    if not head and (at := _read_capped(own, follow=False)).startswith(b"gitdir: "):
        own = os.path.join(os.fsencode(root), at.removeprefix(b"gitdir: ").rstrip(b"\n"))
        head = _read_capped(os.path.join(own, b"HEAD"), follow=False)
        shared = os.path.join(own, _read_capped(os.path.join(own, b"commondir"), follow=False).rstrip(b"\n"))
    if _COMMIT_ID.fullmatch(head.decode("latin-1").rstrip("\n")):
        return own, head
    branch = _BRANCH.fullmatch(head)
    # Refs in another format leave a name here that is no branch.
    if branch is None or b".." in branch[1] or os.path.lexists(os.path.join(shared, b"reftable")):
        return None
    loose = _read_capped(os.path.join(shared, branch[1]), follow=False)
    if _COMMIT_ID.fullmatch(loose.decode("latin-1").rstrip("\n")):
        return own, head, loose
    if loose:
        return None
    try:
        packed = os.stat(os.path.join(shared, b"packed-refs"))
    except OSError:
        return None
    # git replaces this file, and never writes into it.
    return own, head, (packed.st_ino, packed.st_size, packed.st_mtime_ns, packed.st_ctime_ns)


# --- reading what git prints --------------------------------------------------------------------------------------


def parse_name_status(out: bytes) -> tuple[GitChange, ...]:
    """Return the changes in `diff-tree -z --name-status`: NUL ends every field, so names may hold any byte."""
    if not out:
        return ()
    fields = out.split(b"\0")
    if fields.pop() or len(fields) % 2:
        raise ValueError("git's list of changes ends in the middle of an entry")
    changes = []
    for status, raw in zip(fields[::2], fields[1::2], strict=True):
        letter = status.decode("latin-1")
        if letter not in _STATUSES or not raw:
            raise ValueError("git's list of changes holds an entry that is not one")
        changes.append(GitChange(letter, raw))
    return tuple(changes)


def parse_index(out: bytes) -> frozenset[bytes]:
    """Read the paths of `ls-files -z --stage` (`mode id stage TAB path NUL`), without gitlinks."""
    paths = set()
    for entry in out.split(b"\0"):
        meta, tab, raw = entry.partition(b"\t")
        if tab and raw and not meta.startswith(_GITLINK_MODE):
            paths.add(raw)
    return frozenset(paths)


def _reason(answer: _GitAnswer) -> str:
    first = answer.error.decode("utf-8", "replace").strip().split("\n", 1)[0]
    printable = "".join(c if c.isprintable() else "?" for c in first)
    return printable.removeprefix("fatal: ")[:200] or f"it ended with status {answer.status}"


def _is_transient(answer: _GitAnswer) -> bool:
    """Whether another git process was in the way: a lock file that exists, not one we may not create."""
    return answer.status not in (0, 1) and b".lock'" in answer.error and b"File exists" in answer.error


def git_version(environ: Mapping[str, str], root: str) -> str | None:
    """Return the version that the git on PATH prints; None when no git answers. None in the root is asked."""
    programs = ProgramPath(environ, root)
    program = programs.find(_GIT)
    if program is None:
        return None
    try:
        answer = _run([program, "version"], "/", {**programs.environ, "LC_ALL": "C"}, SYSTEM_CLOCK, GIT_TIMEOUT_SECONDS)
    except (OSError, _StoppedError, _LateError):
        return None
    return _reason(answer._replace(error=answer.out)) if answer.status == 0 else None


# --- the child process --------------------------------------------------------------------------------------------


class _StoppedError(Exception):
    """The child was killed because it printed too much."""


class _LateError(Exception):
    """The child was killed because it was too slow."""


def _run(
    command: Sequence[str], cwd: str, environment: Mapping[str, str], clock: Clock, seconds: float, feed: bytes = b""
) -> _GitAnswer:
    until = clock.monotonic() + seconds
    with subprocess.Popen(  # noqa: S603 - fixed arguments, ids checked to be hexadecimal, no shell
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    ) as child:
        try:
            out, error = _collect(child, until, clock, feed)
            return _GitAnswer(child.wait(timeout=max(0.0, until - clock.monotonic())), out, error)
        except BaseException as problem:
            # Its own children (a helper, a pager) are in its group; none may outlive the call.
            _kill_group(child)
            if isinstance(problem, subprocess.TimeoutExpired):
                raise _LateError from None
            raise


def _collect(child: subprocess.Popen[bytes], deadline: float, clock: Clock, feed: bytes = b"") -> tuple[bytes, bytes]:
    """Read both streams of the child to their ends; a cap bounds the memory, whatever the child prints."""
    assert child.stdout is not None
    assert child.stderr is not None
    out, error, size = [], bytearray(), 0
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        selector.register(child.stderr, selectors.EVENT_READ)
        left = memoryview(feed)
        if child.stdin is not None:
            # Written while the answer is read: both pipes are small, and each would wait for the other.
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            remaining = deadline - clock.monotonic()
            ready = selector.select(remaining) if remaining > 0 else []
            if not ready:
                raise _LateError
            for key, _ in ready:
                if key.fileobj is child.stdin:
                    left = _fed(child.stdin, left)
                    if not left:
                        selector.unregister(child.stdin)
                        child.stdin.close()
                    continue
                piece = os.read(key.fd, _READ_BYTES)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.fileobj is child.stderr:
                    error += piece[: _STDERR_BYTES - len(error)]
                else:
                    size += len(piece)
                    if size > GIT_OUTPUT_BYTES:
                        raise _StoppedError(f"it printed more than {GIT_OUTPUT_BYTES} bytes")
                    out.append(piece)
    return b"".join(out), bytes(error)


def _fed(pipe: IO[bytes], left: memoryview) -> memoryview:
    """Return the input that is still to be written; nothing when the child does not want more."""
    try:
        # A raw pipe takes what fits, and None says that nothing did.
        return left[pipe.write(left) or 0 :]
    except BrokenPipeError:
        return left[:0]


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    if child.returncode is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            child.kill()


def _read_capped(path: bytes, *, follow: bool) -> bytes:
    """Return the first bytes of a regular file; empty when it is absent, unreadable or something else."""
    try:
        # A FIFO would block here for ever without O_NONBLOCK.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    except (OSError, ValueError):
        return b""
    try:
        return os.read(fd, MAX_IGNORE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)


# --- history ----------------------------------------------------------------------------------------------------------


_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_PLAIN_MODES = (b"100644 ", b"100755 ", b"100664 ")


class GitCommit(NamedTuple):
    """A commit: its id, who wrote it, and the first line of its message."""

    id: str
    author: str
    subject: str


class GitFile(NamedTuple):
    """A plain file in a commit's tree: its raw path, which may be any bytes at all, its blob and the blob's size."""

    raw: bytes
    blob: str
    size: int


class GitHistory(Git):
    """One repository's history, read-only; raises GitFailed when git does not answer. It has a deadline of its own."""

    def __init__(self, root: Root, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(root, clock=clock)
        if self._patience.trouble is None:
            # A git that has just not answered is left alone here too.
            self._most, self._patience = GIT_HISTORY_SECONDS, _Patience()

    def named(self, revision: str) -> str | None:
        """Return the commit that a person means by a branch, a tag, an id or the like; None when it means none."""
        if not revision or revision.startswith("-") or "\0" in revision or "\n" in revision:
            return None
        wanted = f"{revision}^{{commit}}"
        answer = self._ask("a revision", "rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
        name = answer.out.strip().decode("ascii", "replace")
        return name if answer.status == 0 and _COMMIT_ID.fullmatch(name) else None

    def ancestors(self, commit: str, most: int) -> tuple[str, ...]:
        """Name the commits that a commit came from, itself first, along first parents; at most so many."""
        out = self._must("history", "rev-list", "--first-parent", f"--max-count={most:d}", self._commit(commit))
        return tuple(out.decode("ascii", "replace").split())

    def commits_between(self, old: str, new: str, most: int) -> tuple[GitCommit, ...]:
        """List the commits, without merges, that lead to the second and not to the first; the newest first."""
        out = self._must(
            "commits between two commits",
            *("rev-list", "--no-merges", f"--max-count={most:d}", "--format=%an%x00%s"),
            *(self._commit(new), f"^{self._commit(old)}"),
        )
        lines = iter(out.decode("utf-8", "replace").split("\n"))
        named = (line.removeprefix("commit ") for line in lines if line)
        return tuple(GitCommit(name, *next(lines, "").partition("\0")[::2]) for name in named)

    def changes_of(self, commits: Sequence[str]) -> dict[str, tuple[GitChange, ...]]:
        """Return, for each commit with one parent, the paths that it changed; a rename is a D and an A."""
        out = self._must(
            "changes of commits",
            *("diff-tree", "--stdin", "-r", "-z", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv"),
            "--ignore-submodules=all",
            feed="".join(f"{self._commit(name)}\n" for name in commits).encode(),
        )
        try:
            return parse_commit_changes(out)
        except ValueError as problem:
            raise self._failed("changes of commits", str(problem)) from None

    def files_at(self, commit: str) -> tuple[GitFile, ...]:
        """List the plain files in a commit's tree: no links, no submodules."""
        return parse_tree(
            self._must("files of a commit", "ls-tree", "-r", "-l", "-z", "--full-tree", self._commit(commit))
        )

    def blobs(self, names: Sequence[str]) -> dict[str, bytes]:
        """Read blobs as they are stored, unfiltered; one that this clone does not hold is left out."""
        feed = "".join(f"{self._commit(name)}\n" for name in names).encode()
        try:
            return parse_objects(self._must("contents", "cat-file", "--batch", feed=feed))
        except ValueError as problem:
            raise self._failed("contents", str(problem)) from None


# --- reading what git prints --------------------------------------------------------------------------------------


def parse_commit_changes(out: bytes) -> dict[str, tuple[GitChange, ...]]:
    """Return the changes by commit in `diff-tree --stdin -z --name-status`; an id begins the next commit."""
    fields = out.split(b"\0")
    if fields.pop():
        raise ValueError("git's list of changes ends in the middle of an entry")
    found: dict[str, list[GitChange]] = {}
    changes: list[GitChange] | None = None
    at = iter(fields)
    for field in at:
        letter = field.decode("latin-1")
        if _ID.fullmatch(letter):
            changes = found.setdefault(letter, [])
        elif changes is None or letter not in _STATUSES or not (raw := next(at, b"")):
            raise ValueError("git's list of changes holds an entry that is not one")
        else:
            changes.append(GitChange(letter, raw))
    return {name: tuple(own) for name, own in found.items()}


def parse_tree(out: bytes) -> tuple[GitFile, ...]:
    """Read the plain files of `ls-tree -l -z` (`mode type id size TAB path NUL`)."""
    files = []
    for entry in out.split(b"\0"):
        meta, _, raw = entry.partition(b"\t")
        # A blob that a partial clone lacks has `-` or `BAD` for its size.
        if meta.startswith(_PLAIN_MODES) and raw and (fields := meta.split())[-1].isdigit():
            files.append(GitFile(raw, fields[2].decode("ascii", "replace"), int(fields[3])))
    return tuple(files)


def parse_objects(out: bytes) -> dict[str, bytes]:
    """Read the objects of `cat-file --batch`: `id type size LF content LF`, or `id missing LF`."""
    found, at = {}, 0
    while at < len(out):
        end = out.find(b"\n", at)
        name, *rest = out[at : max(end, at)].split(b" ")
        at = end + 1
        if rest == [b"missing"]:
            continue
        if end < 0 or len(rest) != 2 or not rest[1].isdigit() or out[(to := at + int(rest[1])) : to + 1] != b"\n":
            raise ValueError("git's list of contents holds an entry that is not one")
        found[name.decode("ascii", "replace")] = out[at:to]
        at = to + 1
    return found
