"""Walk a root: every name in the tree, once, becomes a Candidate, or a Skip with its reason.

The same tree and the same rules give the same list in the same order (byte order of the raw path), whatever order the
disk lists names in. A skipped folder stands for everything below it. Links are never followed while walking: a link
whose target is indexed under its own name is an alias of it, so no content is read twice and no link can bring in what
its own name would keep out.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, Protocol

from cairn.core.collector import no_cycle_collection
from cairn.core.config import REPO_CONFIG_NAME, Config
from cairn.core.filetypes import classify_name, is_code, is_sensitive, skip_by_name
from cairn.core.limits import BINARY_SNIFF_BYTES, MAX_IGNORE_BYTES
from cairn.core.types import Candidate, FileStat, IgnoreFile, Skip, SkipReason, WalkResult
from cairn.errors import OUR_TROUBLE
from cairn.source.beneath import Tree
from cairn.source.ignore import GlobSet, IgnoreRule, IgnoreStack, RuleSet, parse_rules
from cairn.source.root import BARE_NAMES, find_collisions, is_bare, path_key_ci

GITIGNORE = ".gitignore"
CAIRNIGNORE = ".cairnignore"
# What else a walk depends on: `.cairnignore` counts at the root only, and so do the settings of the repository.
RULE_FILES = frozenset({GITIGNORE.encode(), CAIRNIGNORE.encode(), REPO_CONFIG_NAME.encode(), b".git"})
_VCS_NAMES = frozenset({".git", ".hg", ".svn", ".jj"})
VCS_NAMES = frozenset(map(str.encode, _VCS_NAMES))
_FOLDERS_PER_REPORT = 64
_new = tuple.__new__
_by_raw = attrgetter("raw")


def walk(
    tree: Tree,
    config: Config,
    *,
    tracked: frozenset[bytes] | None = None,
    progress: Callable[[int], None] | None = None,
    recorder: Recorder | None = None,
) -> WalkResult:
    """Walk the whole tree under the root. `tracked`, when given, leaves out every file git does not track."""
    walker = _Walker(tree, config, tracked, recorder)
    pending = [_ROOT]
    with no_cycle_collection():
        while pending:
            pending.extend(walker.folder(pending.pop()))
            if progress is not None and len(walker.walked) % _FOLDERS_PER_REPORT == 0:
                progress(len(walker.candidates) + len(walker.skips))
        walker.settle_links()
        return walker.result()


def walk_to(tree: Tree, config: Config, raw: bytes, *, tracked: frozenset[bytes] | None = None) -> WalkResult:
    """Walk along one path only; return its outcome, or that of the folder above that decided for it.

    A link's target is walked too, because the outcome of a link is that of its target.
    """
    walker = _Walker(tree, config, tracked)
    walker.follow(raw)
    for link in tuple(walker.links):
        target = tree.resolve_link(link).target
        if target is not None:
            walker.follow(target)
    walker.settle_links()
    return walker.result()


def walk_some(tree: Tree, config: Config, raws: Iterable[bytes]) -> WalkResult | None:
    """Walk to these paths only; `folders` of the result are those on the way, and the paths that are folders.

    None where only a whole walk can tell: a link, whose outcome is that of its target, or names that are twins.
    """
    wanted: dict[bytes, set[str]] = {b"": set()}
    for raw in raws:
        above = b""
        for name in raw.split(b"/"):
            wanted.setdefault(above, set()).add(os.fsdecode(name))
            above += name + b"/"
    walker = _Walker(tree, config, None)
    pending = [_ROOT]
    while pending:
        folder = pending.pop()
        pending.extend(walker.folder(folder, only=wanted.get(folder.raw, frozenset())))
    return None if walker.links or walker.twins else walker.result()


class Recorder(Protocol):
    """Called once for every folder that a walk comes to, with what was found there. Paths are raw, without a slash."""

    def listed(
        self, raw: bytes, entries: Sequence[os.DirEntry[str]], below: Sequence[bytes], skips: Sequence[Skip]
    ) -> None:
        """The folder held these entries, which can still be asked; `below` names the folders that will be walked."""

    def nested(self, raw: bytes) -> None:
        """The folder is a repository of its own and was left alone."""

    def failed(self, raw: bytes, number: int) -> None:
        """The folder could not be listed: the system's error number."""


class _PendingFolder(NamedTuple):
    """A folder still to be walked. `raw` and `key` end in a slash; `above` are the rules around it."""

    raw: bytes
    key: str
    name: bytes
    above: IgnoreStack | None


_ROOT = _PendingFolder(b"", "", b"", None)


class _Walker:
    """The results of a walk so far, and the rules that hold for the whole tree."""

    def __init__(
        self, tree: Tree, config: Config, tracked: frozenset[bytes] | None, recorder: Recorder | None = None
    ) -> None:
        self.tree = tree
        self.recorder = recorder
        self.max_bytes = config.limits.max_file_bytes
        self.tracked = tracked
        self.include = GlobSet.from_patterns(config.index.include, "[index] include") if config.index.include else None
        self.exclude = GlobSet.from_patterns(config.index.exclude, "[index] exclude") if config.index.exclude else None
        allowed = config.index.allow_sensitive
        self.allowed = GlobSet.from_patterns(allowed, "[index] allow_sensitive") if allowed else None
        self.filtered = self.include is not None or self.exclude is not None
        self.forced_types = tuple(b"." + name.encode() for name in config.index.types)
        self.candidates: list[Candidate] = []
        self.skips: list[Skip] = []
        self.links: list[bytes] = []
        self.linked: list[bytes] = []
        self.walked: set[bytes] = set()
        self.ignore_files: list[IgnoreFile] = []
        self.warnings: list[str] = []
        self.twins = False

    # --- folders ------------------------------------------------------------------------------------------------------

    def follow(self, raw: bytes) -> None:
        """Decide along one path: each folder on the way is entered only if the rules above let it in."""
        folder: _PendingFolder | None = _ROOT
        for name in (*raw.split(b"/"), b""):
            # The last, empty name opens the path itself: whether a folder may be entered shows only then.
            if folder is None:
                return
            below = self.folder(folder, only={os.fsdecode(name)})
            folder = below[0] if below else None

    def folder(self, folder: _PendingFolder, only: Container[str] | None = None) -> list[_PendingFolder]:
        """Judge every name in one folder (or some of them); return the folders below that are to be walked."""
        raw = folder.raw
        try:
            descriptor = self.tree.open_folder(raw[:-1])
        except OSError as problem:
            self._unreadable(raw[:-1], problem)
            return []
        try:
            with os.scandir(descriptor) as listing:
                entries = list(listing)
            names = {entry.name for entry in entries}
            if raw and (own := repository_at(self.tree, raw[:-1], names)) is not None:
                self.skips.append(Skip(raw[:-1], own, folder=True))
                if self.recorder is not None:
                    self.recorder.nested(raw[:-1])
                return []
            self.walked.add(raw[:-1])
            self.twins = self.twins or _has_twins(names)
            if only is not None:
                entries = [entry for entry in entries if entry.name in only]
            judged = len(self.skips)
            below = self._judge(folder, self._stack(folder, names), entries)
            if self.recorder is not None:
                self.recorder.listed(raw[:-1], entries, [one.name for one in below], self.skips[judged:])
            return below
        except OSError as problem:
            self._unreadable(raw[:-1], problem)
            return []
        finally:
            os.close(descriptor)

    def _stack(self, folder: _PendingFolder, names: set[str]) -> IgnoreStack:
        """Return the rules that hold inside a folder."""
        own = self._rules(folder, GITIGNORE) if GITIGNORE in names else None
        if folder.above is not None:
            return folder.above.enter(folder.name, own)
        return IgnoreStack.for_root(own, self._rules(folder, CAIRNIGNORE) if CAIRNIGNORE in names else None)

    def _rules(self, folder: _PendingFolder, name: str) -> RuleSet | None:
        data = self.tree.read_small(folder.raw + name.encode(), MAX_IGNORE_BYTES)
        if data is None:
            return None
        key = folder.key + name
        self.ignore_files.append(IgnoreFile(key, data))
        rules = parse_rules(data, key)
        self.warnings.extend(rules.warnings)
        return rules

    # --- names --------------------------------------------------------------------------------------------------------

    def _judge(
        self, folder: _PendingFolder, stack: IgnoreStack, entries: list[os.DirEntry[str]]
    ) -> list[_PendingFolder]:
        raw, key = folder.raw, folder.key
        verdict = stack.verdict
        below: list[_PendingFolder] = []
        for entry in entries:
            text = entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            try:
                name = text.encode()
            except UnicodeEncodeError:
                self.skips.append(Skip(raw + os.fsencode(text), SkipReason.NAME_NOT_UTF8, folder=is_folder))
                continue
            path = raw + name
            if text in _VCS_NAMES:
                self.skips.append(Skip(path, SkipReason.VCS_INTERNAL, folder=is_folder))
                continue
            rule = verdict(name, is_folder)
            if rule is not None and not rule.negated:
                why = self._why_ignored(stack, rule, entry, path, is_folder=is_folder)
                self.skips.append(Skip(path, why, _cite(rule), is_folder))
                continue
            child = key + (text if text.isascii() else unicodedata.normalize("NFC", text))
            if is_folder:
                if not self.filtered or not self._excluded(path, is_folder=True):
                    below.append(_PendingFolder(path + b"/", child + "/", name, stack))
            elif entry.is_file(follow_symlinks=False):
                self._file(entry, path, child, name, rule)
            elif is_sensitive(name, raw) and not self._is_allowed(path):
                self.skips.append(Skip(path, SkipReason.SENSITIVE_NAME))
            elif entry.is_symlink():
                self.links.append(path)
            else:
                self.skips.append(Skip(path, SkipReason.NOT_REGULAR))
        return below

    def _file(self, entry: os.DirEntry[str], path: bytes, key: str, name: bytes, rule: IgnoreRule | None) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            # The file was removed since it was listed: to the snapshot it was never there.
            return
        size = found.st_size
        reason = classify_name(name, size, path[: -len(name)])
        if reason is SkipReason.SENSITIVE_NAME and self._is_allowed(path):
            reason = skip_by_name(name, size)
        forced = (rule is not None and rule.source == CAIRNIGNORE) or name.endswith(self.forced_types)
        if reason is not None and not (forced and reason != SkipReason.SENSITIVE_NAME):
            self.skips.append(Skip(path, reason))
        elif size > self.max_bytes:
            # A film is no text, however large.
            why = SkipReason.BINARY if not is_code(name) and self._holds_nul(path) else SkipReason.TOO_LARGE
            self.skips.append(Skip(path, why, f"{size:,} bytes, the limit is {self.max_bytes:,}"))
        elif self.tracked is not None and path not in self.tracked:
            self.skips.append(Skip(path, SkipReason.UNTRACKED))
        elif not self.filtered or not self._excluded(path, is_folder=False):
            # `tuple.__new__` is what a NamedTuple's own constructor calls, less a frame: twice for every file.
            stat = _new(FileStat, (size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))
            self.candidates.append(_new(Candidate, (key, path, stat, forced)))
            if found.st_nlink > 1:
                self.linked.append(path)

    def _why_ignored(
        self, stack: IgnoreStack, rule: IgnoreRule, entry: os.DirEntry[str], path: bytes, *, is_folder: bool
    ) -> SkipReason:
        """Return whether .cairnignore alone leaves a name out, which else would be indexed, or may hold what would."""
        if rule.source != CAIRNIGNORE:
            return SkipReason.IGNORED
        folder, slash, name = path.rpartition(b"/")
        other = stack.verdict_beneath(name, is_folder)
        if other is not None and not other.negated:
            return SkipReason.IGNORED
        if is_folder:
            return SkipReason.CAIRNIGNORED
        # Nothing that depends on more than the name, of which alone the listing of a tree takes notice.
        no_code = (
            not entry.is_file(follow_symlinks=False)
            or skip_by_name(name, 0) is not None
            or (is_sensitive(name, folder + slash) and not self._is_allowed(path))
            or (self.tracked is not None and path not in self.tracked)
        )
        return SkipReason.IGNORED if no_code else SkipReason.CAIRNIGNORED

    def _holds_nul(self, path: bytes) -> bool:
        return b"\0" in (self.tree.read_small(path, BINARY_SNIFF_BYTES - 1) or b"")

    def _is_allowed(self, path: bytes) -> bool:
        """Whether the user's own settings let a file in although its name is that of a secret."""
        return self.allowed is not None and self.allowed.matches(path) is not None

    def _excluded(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether the repository's include and exclude settings leave a name out; records it if so."""
        if self.exclude is not None:
            rule = self.exclude.matches(path, is_folder)
            if rule is not None:
                self.skips.append(Skip(path, SkipReason.EXCLUDED, f"exclude: {rule.pattern}", is_folder))
                return True
        # A folder that matches no include may hold files that do, so it is walked.
        if self.include is not None and not is_folder and self.include.matches(path) is None:
            self.skips.append(Skip(path, SkipReason.EXCLUDED, "no include pattern matches"))
            return True
        return False

    def _unreadable(self, path: bytes, problem: OSError) -> None:
        if problem.errno in OUR_TROUBLE:
            raise problem
        if self.recorder is not None:
            self.recorder.failed(path, problem.errno or 0)
        if problem.errno == errno.ENOENT:
            return
        reason = SkipReason.PATH_TOO_LONG if problem.errno == errno.ENAMETOOLONG else SkipReason.UNREADABLE
        self.skips.append(Skip(path, reason, os.strerror(problem.errno or 0), folder=True))

    # --- the end ------------------------------------------------------------------------------------------------------

    def settle_links(self) -> None:
        """Judge the links, after all real names: each is an alias of its target, or skipped with a reason."""
        self.candidates.sort(key=_by_raw)
        for link in self.links:
            found = self.tree.resolve_link(link)
            if found.target is None:
                assert found.reason is not None
                self.skips.append(Skip(link, found.reason))
            elif found.target in self.walked if found.is_folder else self._is_candidate(found.target):
                self.skips.append(Skip(link, SkipReason.ALIAS, os.fsdecode(found.target)))
            else:
                self.skips.append(Skip(link, SkipReason.LINK_TARGET_SKIPPED, os.fsdecode(found.target)))

    def _is_candidate(self, raw: bytes) -> bool:
        at = bisect_left(self.candidates, raw, key=_by_raw)
        return at < len(self.candidates) and self.candidates[at].raw == raw

    def result(self) -> WalkResult:
        """Return everything found, in byte order."""
        candidates = self.candidates
        # Twins share a folder, or their folders do: without any in a single folder there are none at all.
        collisions = find_collisions(candidates) if self.twins else ()
        return WalkResult(
            candidates=_with_distinct_keys(candidates) if collisions else tuple(candidates),
            skips=tuple(sorted(self.skips, key=_by_raw)),
            collisions=collisions,
            ignore_files=tuple(sorted(self.ignore_files, key=lambda file: file.key.encode())),
            folders=tuple(sorted(self.walked)),
            warnings=tuple(self.warnings),
            links=len(self.links),
            linked=tuple(self.linked),
        )


def may_be_repository(names: Collection[str]) -> bool:
    """Whether a folder with these names may be a repository of its own, a bare one among them."""
    return ".git" in names or all(name in names for name in BARE_NAMES)


def repository_at(tree: Tree, raw: bytes, names: Collection[str] | None = None) -> SkipReason | None:
    """Return the reason to leave a folder alone that is a repository of its own; None for every other folder.

    A `.git` that git would not accept does not make it one. A bare repository is no source: its files are those of git,
    and its settings may hold the password of a server. `names`, when known, spare most folders a look.
    """
    if names is not None and not may_be_repository(names):
        return None
    if _has_git(tree, raw):
        return SkipReason.NESTED_REPOSITORY
    return SkipReason.VCS_INTERNAL if is_bare(tree, raw + b"/") else None


def _has_git(tree: Tree, raw: bytes) -> bool:
    pointer = tree.read_small(raw + b"/.git", 1024)
    if pointer is not None:
        return pointer.startswith(b"gitdir:")
    try:
        tree.lstat(raw + b"/.git/HEAD")
    except OSError:
        return False
    return True


def _has_twins(names: set[str]) -> bool:
    """Whether two names of this folder differ only in case or in their Unicode form."""
    fold = str.lower if "".join(names).isascii() else path_key_ci
    return len(set(map(fold, names))) < len(names)


def _cite(rule: IgnoreRule) -> str:
    """Return a rule as a person finds it: file, line, pattern."""
    return f"{rule.source}:{rule.line}: {rule.pattern}"


def _with_distinct_keys(candidates: list[Candidate]) -> tuple[Candidate, ...]:
    """Name each file as it is spelled where a composed and a decomposed spelling share a key."""
    seen = Counter(candidate.key for candidate in candidates)
    return tuple(
        candidate._replace(key=candidate.raw.decode()) if seen[candidate.key] > 1 else candidate
        for candidate in candidates
    )
