"""Find what is wrong with an index and with the names in its tree; everything is read and nothing is repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import AUDIT_SAMPLE_FRACTION, AUDIT_SAMPLE_MIN, RACY_WINDOW_NS, STAGING_TTL_SECONDS
from cairn.core.types import SKIP_SENTENCES, Candidate, Skip, SkipReason, SourceFile, StoredFile, Vanished
from cairn.errors import NotIndexed, NoValidSnapshot
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.store import Disk, Fs, Home, RepairPlan, SnapshotView, Store
from cairn.sync.codebase import Codebase, StorePlace, place_of
from cairn.sync.memory import load_memory
from cairn.sync.proof import DIRTY, told_to_group
from cairn.sync.report import HealthFinding, Severity
from cairn.sync.status import open_store

Progress = Callable[[str, int, int], None]

_REPAIR = "Run `cairn repair`, which reads again what is damaged; `--dry-run` says how much that is."
_COMPACT = "Run `cairn compact`; searches get faster by it."
_CLOSE = "Take the rights of others away with `chmod go-rwx`."
_OPEN = "Let its owner give a folder the rights `chmod 2770`, a file `chmod 660`."
_COMMIT = "Commit, then run `cairn sync`; or let each member have an index of their own."
_TRACK = "Set `untracked = false` in `.cairn.toml`, unless they are meant to be there."
_TIDY = "It does no harm; the next run clears it away."
_TAKE_OVER = "The next `cairn sync` takes over what it can use and clears the rest away."
_ASIDE = "It does no harm; `cairn repair` puts it aside."
_ANEW = "A repair has nothing to do there; `cairn reindex` makes the index anew."
_NO_HARM = "It does no harm."


def check_health(
    codebase: Codebase, home: str, progress: Progress, *, clock: Clock = SYSTEM_CLOCK
) -> list[HealthFinding]:
    """Return every finding about the names in the tree and, if there is a store, about the store."""
    findings = list(_names(codebase, progress))
    progress("checking the index", 0, 0)
    place = place_of(codebase, home)
    with open_whatever(place) as disk:
        if disk is not None:
            findings += _with_a_remedy(checked(disk), disk, codebase, place)
            findings += _of_newest(disk)
            findings += _stale_staging(disk, clock)
            findings += _quarantine(disk)
            findings += _locks(disk)
    return findings


def _with_a_remedy(
    findings: list[HealthFinding], disk: Disk, codebase: Codebase, place: StorePlace
) -> list[HealthFinding]:
    """Return the findings; none advises a repair that would find nothing to do."""
    if not any("cairn repair" in one.advice for one in findings):
        return findings
    if not planned(disk, codebase, place).scope.is_nothing:
        return findings
    advice = {Severity.ERROR: _ANEW}
    return [
        replace(one, advice=advice.get(one.severity, _NO_HARM)) if "cairn repair" in one.advice else one
        for one in findings
    ]


def planned(disk: Disk, codebase: Codebase, place: StorePlace) -> RepairPlan:
    """Return what a repair of this store would do now, its lease left aside."""
    shown = printable(codebase.root.path.encode("utf-8", "surrogateescape"))
    root, tree_is_sound = codebase.root.path, lambda: load_memory(disk) is not None
    return Store(disk).mending(place.store_id, root, shown, tree_is_sound).diagnose().plan


def open_whatever(place: StorePlace) -> AbstractContextManager[Disk | None]:
    """Open the disk of a store, even of one that is half deleted; None when nothing of an index is there."""
    return open_store(place, lambda disk: Store(disk).is_begun)


def _names(codebase: Codebase, progress: Progress) -> Iterator[HealthFinding]:
    """Yield names that would be one file on another system, and links that lead nowhere."""
    with Tree(codebase.root) as tree:
        walked = walk(
            tree, codebase.config, tracked=codebase.tracked, progress=lambda names: progress("walking", names, 0)
        )
    keeps = codebase.config.index.collisions == "keep"
    for group in walked.collisions:
        others = ", ".join(printable(raw) for raw in group[1:])
        yield HealthFinding(
            "name_collision",
            Severity.WARNING,
            f"Its name differs only in case or composition from {others}: on some systems they are one file.",
            "" if keeps else 'Rename one of them, or take `collisions = "refuse"` out of your own config.toml.',
            printable(group[0]),
        )
    for skip in walked.skips:
        if skip.reason is SkipReason.SYMLINK_LOOP:
            yield HealthFinding(
                "symlink_loop",
                Severity.NOTE,
                SKIP_SENTENCES[skip.reason],
                "It is left out; remove it or let it lead elsewhere.",
                printable(skip.raw),
            )


def checked(disk: Disk) -> list[HealthFinding]:
    """Return the findings of the store's checker, with what to do about each."""
    findings = []
    for found in Store(disk).check():
        if found.is_error:
            severity = Severity.ERROR
            advice = _REPAIR if found.code != "mode_wrong" else _OPEN if disk.modes.shared else _CLOSE
        else:
            severity = Severity.NOTE
            advice = _ASIDE if found.code == "stranger" else _TIDY
        findings.append(HealthFinding(found.code, severity, found.message, advice, found.place))
    return findings


def _of_newest(fs: Fs) -> Iterator[HealthFinding]:
    """Yield what the newest snapshot was published without, what its group should know, and overdue compaction."""
    for manifest in Store(fs).published():
        for told in told_to_group(fs, manifest):
            code, advice = ("shared_dirty", _COMMIT) if told == DIRTY else ("shared_untracked", _TRACK)
            yield HealthFinding(code, Severity.WARNING, told, advice)
        for error in manifest.errors:
            advice = "Run `cairn sync` when it can be read."
            yield HealthFinding(error.code, Severity.WARNING, error.message, advice, printable(error.path_key.encode()))
        if Store(fs).upkeep.is_overdue(manifest):
            tombstones = sum(ref.count for ref in manifest.tombstones)
            message = f"It is read from {len(manifest.segments):,} segments, and {tombstones:,} tombstones hide rows."
            yield HealthFinding("compaction_overdue", Severity.WARNING, message, _COMPACT)
        return


def _stale_staging(fs: Fs, clock: Clock) -> Iterator[HealthFinding]:
    """Yield staged work that is so old that no live run can still be at it."""
    store = Store(fs)
    holder = store.holder()
    for name, path, changed_ns in store.notes.staged():
        seconds = (clock.wall_ns() - changed_ns) // 1_000_000_000
        if seconds > STAGING_TTL_SECONDS and (holder is None or holder.released or holder.run_id != name):
            message = f"A run has left it there {seconds // 60:,} minutes ago."
            yield HealthFinding("staging_stale", Severity.NOTE, message, _TAKE_OVER, path)


def _quarantine(disk: Disk) -> Iterator[HealthFinding]:
    """Yield how much the quarantine holds."""
    folder = Home.quarantine(disk)
    if folder is not None:
        message = f"A repair has put {Home.size_of(disk, folder).total:,} bytes aside there."
        advice = "When you miss nothing, remove that folder."
        yield HealthFinding("quarantine", Severity.NOTE, message, advice, f"{disk.path}/{folder}")


def _locks(fs: Fs) -> Iterator[HealthFinding]:
    """Yield a warning for a disk without locks, where readers and a collector cannot keep out of each other's way."""
    without_locks = Store(fs).without_locks
    if without_locks is not None:
        advice = "Set `CAIRN_HOME` to a folder on a local disk."
        yield HealthFinding("locks_unavailable", Severity.WARNING, without_locks, advice)


# --- The audit: everything in the store is checked, then compared with the tree.


_SYNC = "Run `cairn sync` to catch up."
_LIE = "Run `cairn reindex` to read every file again, and look for what changes files without a trace."
# Reasons that only cutting the file into chunks can find; an audit does not cut files.
_FOUND_LATER = frozenset({SkipReason.TOO_MANY_CHUNKS})


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of an audit. `walked` names are `indexed`, `skipped` or `missing`; `hashed` files were read again.

    `drifted` counts the files that have changed since the last sync. Without a `snapshot_id` nothing could be compared.
    """

    findings: tuple[HealthFinding, ...]
    snapshot_id: str | None = None
    walked: int = 0
    indexed: int = 0
    skipped: int = 0
    missing: int = 0
    hashed: int = 0
    drifted: int = 0

    @property
    def damaged(self) -> bool:
        """Whether the index is damaged, or disagrees with files that show no change."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def audit(
    codebase: Codebase,
    home: str,
    progress: Progress,
    *,
    sample: int | None = None,
    full: bool = False,
    clock: Clock = SYSTEM_CLOCK,
) -> AuditReport:
    """Check the store, walk the tree, and read a sample (with `full` all) of the files that seem unchanged.

    Changes nothing. Raises `NotIndexed` when there is nothing to audit.
    """
    place = place_of(codebase, home)
    shown = printable(codebase.root.path.encode("utf-8", "surrogateescape"))
    try:
        disk = place.disk()
        if disk is None:
            raise NotIndexed(path=shown, why="it was never indexed")
        with disk, ExitStack() as stack:
            progress("checking the index", 0, 0)
            findings = checked(disk)
            view = _view(disk, place)
            if view is not None:
                stack.enter_context(view)
            elif all(finding.severity is not Severity.ERROR for finding in findings):
                raise NotIndexed(path=shown, why="it was never indexed")
            else:
                return AuditReport(in_order(findings))
            if view.manifest.completion is None:
                raise NotIndexed(path=shown, why="it was cleared")
            tree = stack.enter_context(Tree(codebase.root))
            compared = _compare(tree, codebase, view, progress, sample, full=full, clock=clock)
            return compared.report(findings)
    except OSError as problem:
        raise Store.trouble(place.path, problem) from problem


def in_order(findings: Iterable[HealthFinding]) -> tuple[HealthFinding, ...]:
    """Return findings the worst first, then by code and path, so that two audits of the same state say the same."""
    ranks = list(Severity)
    return tuple(sorted(findings, key=lambda row: (ranks.index(row.severity), row.code, row.path or "", row.message)))


def sampled(candidates: Sequence[Candidate], snapshot: str, wanted: int | None) -> list[Candidate]:
    """Return so many of these files, by default one in a hundred; always the same files for the same snapshot."""
    count = max(AUDIT_SAMPLE_MIN, -(-len(candidates) // AUDIT_SAMPLE_FRACTION)) if wanted is None else wanted
    chosen = sorted(candidates, key=lambda one: sha256(snapshot.encode() + one.raw).digest())[:count]
    return sorted(chosen, key=lambda one: one.raw)


def _view(fs: Fs, place: StorePlace) -> SnapshotView | None:
    try:
        return Store(fs, place.path).view()
    except NoValidSnapshot:
        return None


def _compare(
    tree: Tree,
    codebase: Codebase,
    view: SnapshotView,
    progress: Progress,
    sample: int | None,
    *,
    full: bool,
    clock: Clock,
) -> _Comparison:
    manifest = view.manifest
    walked = walk(tree, codebase.config, tracked=codebase.tracked, progress=lambda names: progress("walking", names, 0))
    looked_at = int(datetime.fromisoformat(manifest.created_at).replace(tzinfo=UTC).timestamp()) * 1_000_000_000
    found = _Comparison(
        manifest.snapshot_id,
        view.records(),
        frozenset(error.path_key for error in manifest.errors),
        racy_from=looked_at - RACY_WINDOW_NS,
        walked=len(walked.candidates) + len(walked.skips),
        skipped=len(walked.skips),
    )
    told, quiet = found.part(walked.candidates)
    if not full:
        quiet = sampled(quiet, manifest.snapshot_id, sample)
    limit = codebase.config.limits.max_file_bytes
    reads = [*((one, False) for one in told), *((one, True) for one in quiet)]
    for done, (candidate, is_quiet) in enumerate(reads):
        progress("reading", done, len(reads))
        outcome = read_stable(tree, candidate, max_bytes=limit, clock=clock)
        found.judge(candidate, outcome, quiet=is_quiet)
    found.gone()
    return found


@dataclass(slots=True)
class _Comparison:
    """A comparison of the tree with the records of a snapshot, which was published without the `failed` files."""

    snapshot_id: str
    records: Mapping[str, StoredFile]
    failed: frozenset[str]
    racy_from: int
    walked: int
    skipped: int
    indexed: int = 0
    missing: int = 0
    hashed: int = 0
    seen: set[str] = field(default_factory=set)
    findings: list[HealthFinding] = field(default_factory=list)

    def part(self, candidates: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """Return the files that must be read, and the files that seem unchanged.

        A file must be read when it has no record, another stat, or times so near to the sync that its stat proves
        nothing.
        """
        told: list[Candidate] = []
        quiet: list[Candidate] = []
        for candidate in candidates:
            record = self.records.get(candidate.key)
            if record is not None:
                self.seen.add(candidate.key)
                self.indexed += record.skip is None
                self.skipped += record.skip is not None
            stat = candidate.stat
            racy = stat.mtime_ns >= self.racy_from or stat.ctime_ns >= self.racy_from
            (told if record is None or record.stat != stat or racy else quiet).append(candidate)
        return told, quiet

    def judge(self, candidate: Candidate, outcome: object, *, quiet: bool) -> None:
        """Compare what reading a file gave with its record, and note a finding when they differ."""
        self.hashed += 1
        record = self.records.get(candidate.key)
        if record is None:
            self._unknown(candidate, outcome)
        elif isinstance(outcome, Vanished):
            self._drift("file_gone", "It is indexed, and there is no such file.", candidate)
        elif not agrees(record, candidate, outcome):
            if quiet:
                message = "Its bytes are not the ones that are indexed, and nothing shows that it was changed."
                path = printable(candidate.raw)
                self.findings.append(HealthFinding("hash_differs", Severity.ERROR, message, _LIE, path))
            else:
                self._drift("file_changed", "It has changed since it was indexed.", candidate)

    def _unknown(self, candidate: Candidate, outcome: object) -> None:
        if isinstance(outcome, Skip | Vanished) or candidate.key in self.failed:
            # A file that would be left out, a file that is gone again, or one that the snapshot is known to miss.
            self.skipped += 1
        else:
            self.missing += 1
            self._drift("file_not_indexed", "It belongs in the index, and is not in it.", candidate)

    def gone(self) -> None:
        """Note a finding for every indexed file that the walk did not meet."""
        for key in sorted(self.records.keys() - self.seen):
            if self.records[key].skip is None:
                message = "It is indexed, and there is no such file, or a rule leaves it out now."
                path = printable(key.encode("utf-8", "surrogateescape"))
                self.findings.append(HealthFinding("file_gone", Severity.WARNING, message, _SYNC, path))

    def report(self, of_the_store: Iterable[HealthFinding]) -> AuditReport:
        """Return the report of all findings, with one more when the counts do not add up."""
        findings = [*of_the_store, *self.findings]
        if self.indexed + self.skipped + self.missing != self.walked:
            message = (
                f"{self.walked} names were walked, and {self.indexed + self.skipped + self.missing} accounted for."
            )
            advice = "Run `cairn repair`; this is a bug in Cairn, please report it."
            findings.append(HealthFinding("coverage_wrong", Severity.ERROR, message, advice))
        return AuditReport(
            in_order(findings),
            self.snapshot_id,
            self.walked,
            self.indexed,
            self.skipped,
            self.missing,
            self.hashed,
            drifted=sum(finding.severity is Severity.WARNING for finding in self.findings),
        )

    def _drift(self, code: str, message: str, candidate: Candidate) -> None:
        self.findings.append(HealthFinding(code, Severity.WARNING, message, _SYNC, printable(candidate.raw)))


def agrees(record: StoredFile, candidate: Candidate, outcome: object) -> bool:
    """Whether what reading a file gave agrees with its record."""
    if record.skip in _FOUND_LATER:
        return candidate.stat.size == record.stat.size
    if isinstance(outcome, SourceFile):
        return record.skip is None and outcome.file_hash == record.file_hash
    return isinstance(outcome, Skip) and outcome.reason is record.skip
