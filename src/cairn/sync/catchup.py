"""Carry out one run: look at the tree, compare, index what differs, publish; look again when the tree moved meanwhile.

`CatchUp.known` holds everything that the run knows of the snapshot to come: the files of the last snapshot, overlaid
with the batches of a killed run, overlaid with what this run has sealed. So a second look compares the tree with the
draft, not with the last snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cairn.core.clock import Clock, rfc3339
from cairn.core.config import LimitConfig
from cairn.core.fingerprint import embed_fingerprint, ignore_fingerprint
from cairn.core.limits import (
    BATCH_BYTES,
    FIRST_BATCH_BYTES,
    MAX_BATCHES_AIMED_AT,
    MAX_DEGRADED_ERRORS,
    PROGRESS_SECONDS,
    PUBLISH_BACKOFF_SECONDS,
    PUBLISH_ROUNDS,
)
from cairn.core.progress import Phase, Progress, Tell
from cairn.core.types import (
    Candidate,
    ChangeSet,
    FileFacts,
    FileStat,
    ReadOutcome,
    Skip,
    SkipReason,
    StoredFile,
    Unstable,
    WalkResult,
)
from cairn.embedding.cache import EmbeddingCache
from cairn.embedding.model import Embedder
from cairn.errors import FilesFailed, GitFailed, NameCollision, TreeMoving
from cairn.source.beneath import Tree
from cairn.source.changes import NO_HINTS, Read, detect
from cairn.source.fresh import Dirt, find_dirt, still, take
from cairn.source.git import Git, unanswered
from cairn.source.ignore import IGNORE_ENGINE_VERSION
from cairn.source.linked import linked_files
from cairn.source.listing import ListingRecorder
from cairn.source.root import path_key, printable
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.store import Draft, GitState, Manifest, Store, Writer
from cairn.sync.batches import Packer
from cairn.sync.codebase import Codebase, StorePlace
from cairn.sync.looking import changes_since, recall_touched
from cairn.sync.memory import TreeMemory, links_of, load_memory, rules_of, save_memory
from cairn.sync.pool import extract_all
from cairn.sync.report import Changes, FailedFile, Gap, gap_of
from cairn.sync.scope import Seen, SeenTree, seen_tree
from cairn.syntax.identity import CHUNKER_VERSION

# The code of a file that changed each time it was read.
UNSTABLE = "unstable"


# --- Files that became ignored: the run writes their segments again in the same publish, so that their text is gone.


_TOLD = frozenset(
    {
        SkipReason.IGNORED,
        SkipReason.CAIRNIGNORED,
        SkipReason.EXCLUDED,
        SkipReason.UNTRACKED,
        SkipReason.SENSITIVE_NAME,
    }
)


def told_to_leave_out(gone: Iterable[str], skips: Iterable[Skip]) -> frozenset[str]:
    """Return the files, of those that leave the index, that a rule leaves out by their own name or that of a folder."""
    rules = {path_key(skip.raw) for skip in skips if skip.reason in _TOLD}
    return frozenset(key for key in gone if not rules.isdisjoint(_and_above(key)))


def named_secret(skips: Iterable[Skip]) -> set[str]:
    """Return the files that are left out because their names say that they hold secrets."""
    return {path_key(skip.raw) for skip in skips if skip.reason is SkipReason.SENSITIVE_NAME}


def said_of(hidden: Collection[str]) -> str:
    """Return what is said of files that were indexed until other rules for names, or a setting, left them out."""
    if not hidden:
        return ""
    shown = ", ".join(printable(key.encode("utf-8", "surrogateescape")) for key in sorted(hidden)[:_MOST_HIDDEN_SHOWN])
    more = f" and {len(hidden) - _MOST_HIDDEN_SHOWN:,} more" if len(hidden) > _MOST_HIDDEN_SHOWN else ""
    files = "1 file that was indexed is" if len(hidden) == 1 else f"{len(hidden):,} files that were indexed are"
    return _HIDDEN.format(files=files, shown=shown + more)


_MOST_HIDDEN_SHOWN = 5
_HIDDEN = (
    "{files} left out now, because of names that say they hold secrets: {shown}."
    " `[index] allow_sensitive` in your own settings takes such names in."
)


def _and_above(key: str) -> Iterable[str]:
    parts = key.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


@dataclass(frozen=True, slots=True)
class Task:
    """What a run is to do: where, with which model, and (`full`) whether to ignore the last snapshot.

    `always`: publish even when nothing has changed, because a repair has put aside what was published. `keep_worker`:
    leave the process that parses running for the next run. `seen` is filled with what the comparison saw. `found` is
    called with the size of the gap when there is one.
    """

    codebase: Codebase
    place: StorePlace
    embedder: Embedder
    cache: EmbeddingCache | None
    full: bool
    allow_degraded: bool
    workers: int | None
    always: bool = False
    keep_worker: bool = False
    seen: Seen | None = None
    found: Callable[[Gap], None] = lambda _: None

    @property
    def embed_fingerprint(self) -> str:
        """The embed fingerprint: what a vector depends on besides its text."""
        return embed_fingerprint(
            self.embedder.identity, chunker_version=CHUNKER_VERSION, ignore_engine_version=IGNORE_ENGINE_VERSION
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run; `manifest` is None when nothing had changed."""

    manifest: Manifest | None
    changes: Changes
    skipped: tuple[tuple[SkipReason, int], ...]
    failed: tuple[FailedFile, ...]
    adopted: int
    source_bytes: int
    warnings: tuple[str, ...]
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """The tree at one moment. The commit in `git` was read before the walk began, so a commit made later is noticed."""

    walked: WalkResult
    recorder: ListingRecorder
    began_ns: int
    git: GitState
    ignore_fingerprint: str
    warnings: tuple[str, ...]
    dirt: Dirt


@dataclass
class CatchUp:
    """One run in progress. `held` maps the key of each indexed file to its raw path and the stat it was read under.

    `failed` and `passing_skips` are results of the last look only: these files are not in `known`, so each look tries
    them again.
    """

    task: Task
    writer: Writer
    tree: Tree
    tell: Tell
    clock: Clock
    known: dict[str, StoredFile] = field(default_factory=dict)
    expected: dict[str, str | None] = field(default_factory=dict)
    failed: dict[str, FailedFile] = field(default_factory=dict)
    held: dict[str, tuple[bytes, FileStat]] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    passing_skips: list[Skip] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    rest_files: int = 0
    rest_skipped: Counter[SkipReason] = field(default_factory=Counter)
    first_look_ns: int = 0
    told_until: float = -1.0
    tree_files: int = 0

    def __post_init__(self) -> None:
        self.store = Store(self.writer.fs, self.task.place.path)
        self.rewriter = self.store.upkeep.rewriter(self.writer)

    def go(self) -> Outcome:
        """Publish a snapshot, or find that none is needed; raises `TreeMoving` when the tree never holds still."""
        try:
            return self._go()
        finally:
            self.store.notes.forget_progress()

    def _go(self) -> Outcome:
        base, adopted = self._start()
        for round_number in range(PUBLISH_ROUNDS):
            self.clock.sleep(PUBLISH_BACKOFF_SECONDS * (2**round_number - 1))
            look = self._look()
            changes = self._compare(look, base, first=round_number == 0)
            if round_number == 0 and not changes.empty:
                self.task.found(gap_of(changes))
            self._index(changes, look)
            self._require_all()
            if base is not None and self._is_current(base, look):
                self._remember(base.snapshot_id, look)
                return self._outcome(None, look, adopted)
            manifest = self._publish(look, changes)
            if manifest is not None:
                self._remember(manifest.snapshot_id, look)
                return self._outcome(manifest, look, adopted)
        raise TreeMoving(path=self.task.place.path, rounds=PUBLISH_ROUNDS)

    # --- what is there already ----------------------------------------------------------------------------------------

    def _start(self) -> tuple[Manifest | None, int]:
        """Take over the last snapshot (unless the task is `full`) and the batches that a killed run had sealed."""
        base = None if self.task.full else self.writer.base
        if base is not None and base.completion is None:
            base = None
        if base is not None and self.writer.view is not None:
            self.known = self.writer.view.records()
        adopted = 0
        # Many killed runs with small batches leave more batches than a snapshot can name: the rest is indexed again.
        for batch in self.writer.adopted[:MAX_BATCHES_AIMED_AT]:
            records = self.writer.records(batch)
            doubles = (record.key for record in records if record.key in self.known)
            self.writer.add_layer(replaced=doubles, batches=(batch,))
            self.known.update((record.key, record) for record in records)
            adopted += batch.files
        return base, adopted

    # --- looking and comparing ----------------------------------------------------------------------------------------

    def _look(self) -> Look:
        codebase = self.task.codebase
        began_ns = self.clock.wall_ns()
        git = Git(codebase.root, clock=self.clock)
        head, warnings = head_of(git)
        recorder = ListingRecorder()
        walked = walk(
            self.tree,
            codebase.config,
            tracked=codebase.tracked,
            progress=lambda names: self._say(Phase.WALKING, names),
            recorder=recorder,
        )
        self.tree_files = len(walked.candidates)
        if walked.collisions and codebase.config.index.collisions == "refuse":
            shown = "; ".join(", ".join(map(printable, group)) for group in walked.collisions[:5])
            raise NameCollision(paths=shown)
        walked_stats = {candidate.raw: candidate.stat for candidate in walked.candidates}
        dirt = find_dirt(git, self.tree, walked_stats) if head is not None else False
        state = GitState(head, bool(dirt), codebase.config.index.untracked)
        rules = ignore_fingerprint(walked.ignore_files, codebase.config)
        return Look(walked, recorder, began_ns, state, rules, (*walked.warnings, *warnings), dirt)

    def _compare(self, look: Look, base: Manifest | None, *, first: bool) -> ChangeSet:
        if first:
            self.first_look_ns = look.began_ns
        if first and base is not None:
            recall_touched(self.known, look.walked.candidates, lambda: load_memory(self.writer.fs), base)
            # Every ten seconds it is another hundredth's turn to be hashed again.
            sample = look.began_ns // 10_000_000_000
            return changes_since(
                self.task.codebase, base, look.walked, self.known, self._reader(), clock=self.clock, sample=sample
            )
        # All that is known was true when this run first looked: only what changed since is read again.
        synced_at = None if first else self.first_look_ns
        return detect(look.walked, self.known, self._reader(), synced_at_ns=synced_at, hints=NO_HINTS, round_number=-1)

    def _reader(self) -> Read:
        """Return a function that reads one file and reports how many it has read."""
        most, done = self.task.codebase.config.limits.max_file_bytes, 0

        def read(candidate: Candidate) -> ReadOutcome:
            nonlocal done
            done += 1
            self._say(Phase.COMPARING, done, current=candidate.key)
            return read_stable(self.tree, candidate, max_bytes=most, clock=self.clock)

        return read

    def _is_current(self, base: Manifest, look: Look) -> bool:
        """Whether a new snapshot would say nothing new; it also says how many names are left out, and why."""
        failed = tuple((one.path_key, one.code, one.message) for one in base.errors)
        return (
            not self.task.always
            and not self.writer.layers
            and base.degraded == bool(self.failed)
            and failed == self._errors()
            and base.ignore_fingerprint == look.ignore_fingerprint
            and base.git == look.git
            and dict(base.skipped) == {reason.value: count for reason, count in self._skipped(look)}
        )

    # --- indexing -----------------------------------------------------------------------------------------------------

    def _index(self, changes: ChangeSet, look: Look) -> None:
        """Add one layer to the draft: remove the files that are gone, and index the files that are new or changed."""
        self.failed.clear()
        self.passing_skips.clear()
        if changes.empty:
            return
        renamed = [rename.new for rename in changes.rename]
        candidates = sorted((*changes.add, *changes.modify, *renamed), key=lambda candidate: candidate.key)
        # Few candidates are looked up by their raw path, and in most runs none: build the table only when it is needed.
        looked_up = bool(changes.unstable or changes.skips)
        by_raw = {one.raw: one for one in look.walked.candidates} if looked_up else {}
        replaced = [candidate.key for candidate in changes.modify]
        renamed_from = [rename.old for rename in changes.rename]
        for unstable in changes.unstable:
            if (candidate := by_raw.get(unstable.raw)) is not None:
                if candidate.key in self.known:
                    replaced.append(candidate.key)
                self._fail_unstable(candidate, unstable)
        gone = {key for key in changes.delete if self._is_indexed(key)}
        # A file that became ignored looks renamed when a new file has the same bytes; its old text must be removed as
        # well.
        left = {*changes.delete, *renamed_from}
        self.hidden |= {key for key in left if self._is_indexed(key)} & named_secret(look.walked.skips if left else ())
        self.rewriter.forget(told_to_leave_out(left, look.walked.skips) if left else frozenset())
        for key in (*replaced, *changes.delete, *renamed_from):
            self._forget(key)
        packer = self._packer(candidates)
        for skip in changes.skips:
            if (candidate := by_raw.get(skip.raw)) is not None:
                self._skip(packer, candidate, skip)
        stopped = True
        try:
            self._extract(packer, candidates)
            stopped = False
        finally:
            # Also when the run is stopped: the next run adopts the batches that are sealed here.
            packer.finish(stopped=stopped)
        for failed in packer.failed:
            self._fail(failed)
        self.writer.add_layer(replaced=replaced, deleted=changes.delete, renamed=renamed_from, batches=packer.batches)
        self._count(changes, gone)

    def _packer(self, candidates: list[Candidate]) -> Packer:
        total = sum(candidate.stat.size for candidate in candidates)
        most = batch_bytes(total, self.task.codebase.config.limits)
        return Packer(
            self.writer,
            self.task.embedder,
            self.task.cache,
            most,
            most if self.known or total <= BATCH_BYTES else FIRST_BATCH_BYTES,
            self.task.embed_fingerprint,
            self.writer.lease.beat,
        )

    def _extract(self, packer: Packer, candidates: list[Candidate]) -> None:
        codebase = self.task.codebase
        outcomes = extract_all(
            codebase.root,
            candidates,
            codebase.config.limits,
            workers=self.task.workers,
            keep=self.task.keep_worker,
        )
        began = self.clock.monotonic()
        self._say(Phase.INDEXING, 0, len(candidates))
        for done, (candidate, outcome) in enumerate(zip(candidates, outcomes, strict=True), 1):
            if isinstance(outcome, FileFacts):
                packer.add(outcome)
                self._know(outcome)
            elif isinstance(outcome, Skip):
                self._skip(packer, candidate, outcome)
            elif isinstance(outcome, Unstable):
                self._fail_unstable(candidate, outcome)
            rate = done / max(self.clock.monotonic() - began, 1e-6)
            self._say(Phase.INDEXING, done, len(candidates), rate, candidate.key)

    def _know(self, facts: FileFacts) -> None:
        source = facts.source
        size, chunks = len(source.data), len(facts.chunks)
        stored = StoredFile(source.key, source.stat, source.file_hash, "", "", None, "", size, chunks, "")
        self.known[source.key] = stored
        self.expected[source.key] = source.file_hash
        self.held[source.key] = source.raw, source.stat

    def _skip(self, packer: Packer, candidate: Candidate, skip: Skip) -> None:
        """Record that the file was read and is not indexed; an unreadable file is tried again each time instead."""
        if skip.reason is SkipReason.UNREADABLE:
            self.passing_skips.append(skip)
            return
        record = StoredFile(
            candidate.key, candidate.stat, "", "", "", skip.reason, skip.detail, candidate.stat.size, 0, ""
        )
        packer.add_skip(record)
        self.known[record.key] = record
        self.expected[record.key] = ""

    def _fail_unstable(self, candidate: Candidate, unstable: Unstable) -> None:
        message = f"It changed each of the {unstable.attempts} times it was read."
        self._fail(FailedFile(candidate.key, UNSTABLE, message))

    def _fail(self, failed: FailedFile) -> None:
        self._forget(failed.path)
        self.failed[failed.path] = failed

    def _forget(self, key: str) -> None:
        self.known.pop(key, None)
        self.held.pop(key, None)
        self.expected[key] = None

    def _is_indexed(self, key: str) -> bool:
        record = self.known.get(key)
        return record is not None and record.skip is None

    def _count(self, changes: ChangeSet, gone: set[str]) -> None:
        """Count for the report what people see change: files that came into the index, changed in it, or left it."""
        renamed = sum(self._is_indexed(rename.new.key) for rename in changes.rename)
        self.changes = Changes(
            self.changes.added + sum(self._is_indexed(candidate.key) for candidate in changes.add),
            self.changes.modified + sum(self._is_indexed(candidate.key) for candidate in changes.modify),
            self.changes.deleted + sum(not self._is_indexed(key) for key in gone),
            self.changes.renamed + renamed,
        )

    def _require_all(self) -> None:
        """Raise `FilesFailed` when the model failed; a file that cannot be read is missed, and stops no other."""
        failed = [one for one in self.failed.values() if one.code != UNSTABLE]
        if failed and not self.task.allow_degraded:
            first = min(failed, key=lambda failed: failed.path)
            shown = printable(first.path.encode("utf-8", "surrogateescape"))
            raise FilesFailed(path=shown, count=len(failed), why=first.message.removesuffix("."))

    # --- publishing ---------------------------------------------------------------------------------------------------

    def _publish(self, look: Look, changes: ChangeSet) -> Manifest | None:
        fresh = take(look.git.head_sha, look.walked, changes, self.held.values())
        git = Git(self.task.codebase.root, clock=self.clock)
        self._say(Phase.PUBLISHING)
        return self.store.publish(self.writer, self._draft(look), lambda: still(self.tree, git, fresh), self.clock)

    def _draft(self, look: Look) -> Draft:
        task, base = self.task, self.writer.base
        on_base = not task.full and base is not None and base.completion is not None
        return Draft(
            root=task.codebase.root.path,
            store_id=task.place.store_id,
            fingerprint=task.place.fingerprint,
            ignore_fingerprint=look.ignore_fingerprint,
            git=look.git,
            read_at=rfc3339(look.began_ns),
            on_base=on_base,
            layers=tuple(self.writer.layers),
            rewrites=self.rewriter.rewrites(sum(len(layer.batches) for layer in self.writer.layers)) if on_base else (),
            expected=self.expected,
            files=self.rest_files + len(self.known),
            skipped=tuple((reason.value, count) for reason, count in self._skipped(look)),
            errors=self._errors(),
        )

    def _errors(self) -> tuple[tuple[str, str, str], ...]:
        """Return the files that the snapshot misses, each with a code and a sentence, as its manifest lists them."""
        failed = sorted(self.failed.values(), key=lambda failed: (failed.path, failed.code))[:MAX_DEGRADED_ERRORS]
        return tuple((one.path, one.code, one.message) for one in failed)

    def _skipped(self, look: Look) -> tuple[tuple[SkipReason, int], ...]:
        """Count the names that are left out, by reason: by the walk, by reading now, and by reading in earlier runs."""
        reasons = Counter(self.rest_skipped)
        reasons.update(skip.reason for skip in (*look.walked.skips, *self.passing_skips))
        reasons.update(record.skip for record in self.known.values() if record.skip is not None)
        return tuple(sorted(reasons.items()))

    def _remember(self, snapshot: str, look: Look) -> None:
        if self.task.seen is not None:
            self.task.seen.tree = self._seen(snapshot, look)
            self.task.seen.linked = linked_files(look.walked, look.began_ns)
            self.task.seen.folders = frozenset(look.walked.folders)
        if self.passing_skips or self.failed:
            return
        rules = rules_of(self.task.codebase.config)
        links = links_of(look.walked.skips)
        memory = TreeMemory(snapshot, look.began_ns, look.git.head_sha, rules, links, look.recorder.listing())
        save_memory(self.writer.fs, self.writer.run, memory)

    def _seen(self, snapshot: str, look: Look) -> SeenTree | None:
        codebase, walked = self.task.codebase, look.walked
        # A later scoped sync judges named files alone. It cannot when files failed or were unreadable, when names
        # collide, or when git decides membership.
        if self.passing_skips or self.failed or walked.collisions or codebase.tracked is not None:
            return None
        return seen_tree(snapshot, look.began_ns, codebase.config, walked, self.known.values(), look.dirt)

    def _outcome(self, manifest: Manifest | None, look: Look, adopted: int) -> Outcome:
        size = sum(record.size for record in self.known.values() if record.skip is None)
        failed = tuple(sorted(self.failed.values(), key=lambda one: one.path))
        changes = self.changes if manifest is not None else Changes()
        left_out = said_of(self.hidden)
        said = (*look.warnings, *unanswered(self.task.codebase.root), *filter(None, [left_out]))
        return Outcome(
            manifest, changes, self._skipped(look), failed, adopted, size, tuple(dict.fromkeys(said)), left_out
        )

    def _say(self, phase: Phase, done: int = 0, total: int = 0, rate: float = 0.0, current: str | None = None) -> None:
        """Renew the lease and report progress: to the caller every time, to other processes once a second."""
        self.writer.lease.beat()
        self.tell(Progress(phase, done, total, rate, current))
        now = self.clock.monotonic()
        if now >= self.told_until:
            self.told_until = now + PROGRESS_SECONDS
            when = rfc3339(self.clock.wall_ns())
            self.store.notes.tell(self.writer.run, phase.value, done, total, current, when, self.tree_files)


def head_of(git: Git) -> tuple[str | None, tuple[str, ...]]:
    """Return the commit of the tree, and warnings; a git that does not answer costs its help, not the run."""
    try:
        return git.head(), ()
    except GitFailed:
        return None, git.unanswered


def batch_bytes(total: int, limits: LimitConfig) -> int:
    """Return how much text goes into one segment: little enough for memory, enough that a large tree needs few."""
    return min(max(BATCH_BYTES, total // MAX_BATCHES_AIMED_AT), limits.max_bytes_per_batch)


def wall_ns(when: str) -> int:
    """Return the time of a manifest in nanoseconds."""
    return int(datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp()) * 1_000_000_000
