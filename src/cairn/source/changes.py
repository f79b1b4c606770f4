"""Compare the tree with the last snapshot: the one authority on what changed, whatever git or a watcher believes.

A file whose stat tuple is the recorded one, and old enough for that to mean something, is unchanged and not touched
again. Every other file is read in full and its SHA-256 decides. git and the rotating sample can only add files to look
at; nothing can take one away, so an edit that git cannot see is found all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from zlib import crc32

from cairn.core.limits import RACY_WINDOW_NS, REHASH_FRACTION
from cairn.core.types import (
    Candidate,
    ChangeSet,
    FileRecord,
    ReadOutcome,
    Rename,
    Skip,
    SourceFile,
    StoredFile,
    Unstable,
    WalkResult,
)
from cairn.errors import BadPathKey, GitFailed
from cairn.source.git import Git
from cairn.source.root import path_key

Read = Callable[[Candidate], ReadOutcome]
Record = FileRecord | StoredFile


class GitHints(NamedTuple):
    """Files that commits have touched since the last snapshot; `keys` is None when only hashing everything is safe."""

    keys: frozenset[str] | None
    head: str | None


NO_HINTS = GitHints(frozenset(), None)


def git_hints(git: Git, last_head: str | None) -> GitHints:
    """Return the files that commits since the last snapshot touched; all files when the heads cannot be compared.

    When history was rewritten, both sides of the merge base count: base to head alone would miss a file that only the
    abandoned commits had changed, and which the switch put back.
    """
    try:
        head = git.head()
    except GitFailed:
        return GitHints(None, None)
    if head == last_head:
        return GitHints(frozenset(), head)
    if head is None or last_head is None:
        return GitHints(None, head)
    try:
        if git.is_ancestor(last_head, head):
            steps = [(last_head, head)]
        else:
            base = git.merge_base(last_head, head)
            if base is None:
                return GitHints(None, head)
            steps = [(last_head, base), (base, head)]
        raws = {change.raw for old, new in steps for change in git.changed_between(old, new)}
    except GitFailed:
        return GitHints(None, head)
    return GitHints(frozenset(_keys(raws)), head)


def _keys(raws: Iterable[bytes]) -> Iterable[str]:
    for raw in raws:
        try:
            key = path_key(raw)
        except BadPathKey:
            # Such a file is skipped by the walk (name_not_utf8), so there is nothing to look at.
            continue
        # Of two spellings of one name, one keeps its spelling as its key: to name both costs at most a hash.
        yield key
        yield raw.decode()


def detect(
    walk: WalkResult,
    recorded: Mapping[str, Record],
    read: Read,
    *,
    synced_at_ns: int | None,
    hints: GitHints,
    round_number: int = 0,
    full: bool = False,
) -> ChangeSet:
    """Compare the tree with what the last snapshot recorded; return every add, modify, delete and rename.

    A new file is read only when a file of its size went away, to see whether it was renamed; otherwise whoever indexes
    the file reads it anyway, and finds out then if it is no text.
    """
    full = full or hints.keys is None or synced_at_ns is None
    new, suspects = _split(
        walk.candidates,
        recorded,
        everything=full,
        racy_from=(synced_at_ns or 0) - RACY_WINDOW_NS,
        hinted=hints.keys or frozenset(),
        sample=round_number % REHASH_FRACTION,
    )
    found = _ChangesFound()
    for candidate in suspects:
        found.judge(candidate, recorded[candidate.key], read(candidate))
    gone = recorded.keys() - {candidate.key for candidate in walk.candidates}
    gone.update(found.delete)
    renames = found.renames(new, {key: recorded[key] for key in gone}, read)
    return ChangeSet(
        add=_ordered(found.add),
        modify=_ordered(found.modify),
        delete=tuple(sorted(gone.difference(rename.old for rename in renames))),
        rename=tuple(sorted(renames, key=lambda rename: rename.new.key)),
        touched=_ordered(found.touched),
        skips=tuple(sorted(found.skips)),
        unstable=tuple(sorted(found.unstable, key=lambda unstable: unstable.raw)),
        hashed=found.hashed,
        full=full,
    )


def _split(
    candidates: Iterable[Candidate],
    recorded: Mapping[str, Record],
    *,
    everything: bool,
    racy_from: int,
    hinted: frozenset[str],
    sample: int,
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the new names and the known files that must be read; files known to be unchanged are in neither list.

    This loop is the cost of a sync in which nothing changed; it makes no system call.
    """
    new: list[Candidate] = []
    suspects: list[Candidate] = []
    known = recorded.get
    for candidate in candidates:
        key, raw, stat, _ = candidate
        record = known(key)
        if record is None:
            new.append(candidate)
        elif (
            everything
            or record[1] != stat
            # An edit in the same tick as the sync leaves the tuple as it was: near the sync, times prove nothing.
            or stat[1] >= racy_from
            or stat[2] >= racy_from
            or crc32(raw) % REHASH_FRACTION == sample
            or key in hinted
        ):
            suspects.append(candidate)
    return new, suspects


class _ChangesFound:
    """The parts of a ChangeSet while they are being found."""

    def __init__(self) -> None:
        self.add: list[Candidate] = []
        self.modify: list[Candidate] = []
        self.delete: list[str] = []
        self.touched: list[Candidate] = []
        self.skips: list[Skip] = []
        self.unstable: list[Unstable] = []
        self.hashed = 0

    def judge(self, candidate: Candidate, record: Record, outcome: ReadOutcome) -> None:
        """Decide on one known file by what reading it gave."""
        self.hashed += 1
        if isinstance(outcome, SourceFile):
            current = candidate._replace(stat=outcome.stat)
            if outcome.file_hash != record.file_hash:
                self.modify.append(current)
            elif outcome.stat != record.stat:
                self.touched.append(current)
        elif isinstance(outcome, Unstable):
            self.unstable.append(outcome)
        elif isinstance(outcome, Skip) and _is_repeated(outcome, record):
            # Left out before, and for the very same reason: no change, or only touched.
            if candidate.stat != record.stat:
                self.touched.append(candidate)
        else:
            self.delete.append(record.key)
            if isinstance(outcome, Skip):
                self.skips.append(outcome)

    def renames(self, new: Iterable[Candidate], gone: Mapping[str, Record], read: Read) -> list[Rename]:
        """Pair new files with deleted ones of the same bytes; the rest of the new files become adds."""
        sizes = {record.stat.size for record in gone.values()}
        hashes = {record.file_hash for record in gone.values()}
        same: dict[str, list[Candidate]] = {}
        for candidate in new:
            if candidate.stat.size not in sizes:
                self.add.append(candidate)
                continue
            outcome = read(candidate)
            self.hashed += 1
            if isinstance(outcome, SourceFile):
                current = candidate._replace(stat=outcome.stat)
                if outcome.file_hash in hashes:
                    same.setdefault(outcome.file_hash, []).append(current)
                else:
                    self.add.append(current)
            elif isinstance(outcome, Unstable):
                self.unstable.append(outcome)
            elif isinstance(outcome, Skip):
                self.skips.append(outcome)
        return self._pairs(same, gone)

    def _pairs(self, same: Mapping[str, list[Candidate]], gone: Mapping[str, Record]) -> list[Rename]:
        olds: dict[str, list[str]] = {}
        for key in sorted(gone, reverse=True):
            olds.setdefault(gone[key].file_hash, []).append(key)
        pairs: list[Rename] = []
        for file_hash, candidates in same.items():
            by_name: dict[str, list[str]] = {}
            for key in olds[file_hash]:
                by_name.setdefault(_name(key), []).append(key)
            left: list[Candidate] = []
            # A file that moved and kept its name is a better match than one that happens to come first.
            for candidate in _ordered(candidates):
                if namesakes := by_name.get(_name(candidate.key)):
                    pairs.append(Rename(namesakes.pop(), candidate))
                else:
                    left.append(candidate)
            free = sorted(key for namesakes in by_name.values() for key in namesakes)
            pairs.extend(Rename(old, candidate) for old, candidate in zip(free, left, strict=False))
            self.add.extend(left[len(free) :])
        return pairs


def _is_repeated(skip: Skip, record: Record) -> bool:
    return isinstance(record, StoredFile) and (record.skip, record.detail) == (skip.reason, skip.detail)


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _ordered(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    # Code point order of the keys is the byte order of their UTF-8.
    return tuple(sorted(candidates, key=lambda candidate: candidate.key))
