"""What is wrong with an index, and with the names in its tree. Everything is read; nothing is repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import STAGING_TTL_SECONDS
from cairn.core.types import SKIP_SENTENCES, SkipReason
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.walk import walk
from cairn.store import verify
from cairn.store.disk import Disk
from cairn.store.fs import Fs
from cairn.store.generations import published, read_claims
from cairn.store.layout import GENERATIONS, INDEX_STATE, POINTER, QUARANTINE, SNAPSHOTS, STAGING, is_created
from cairn.store.readers import NO_LOCKS, has_locks
from cairn.store.standing import HealthFinding, Severity
from cairn.store.tiers import is_overdue
from cairn.sync.codebase import Codebase
from cairn.sync.group import DIRTY, told_to_group
from cairn.sync.place import Place, place_of
from cairn.sync.reading import lease_of
from cairn.sync.sizes import size_of
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


def check_health(
    codebase: Codebase, home: str, progress: Progress, *, clock: Clock = SYSTEM_CLOCK
) -> list[HealthFinding]:
    """Every finding about the tree's names and about the store, if there is one."""
    findings = list(_names(codebase, progress))
    progress("checking the index", 0, 0)
    with open_whatever(place_of(codebase, home)) as disk:
        if disk is None:
            findings.append(
                HealthFinding("not_indexed", Severity.NOTE, "There is no index yet.", "Run `cairn index` to make it.")
            )
        else:
            findings += (of_store(found, shared=disk.modes.shared) for found in verify.check(disk))
            findings += _of_newest(disk)
            findings += _stale_staging(disk, clock)
            findings += _quarantine(disk)
            findings += _locks(disk)
    return findings


def open_whatever(place: Place) -> AbstractContextManager[Disk | None]:
    """The disk of a store, even of one that somebody has half deleted; None when there is nothing of an index in it."""
    return open_store(place, _is_begun)


def _is_begun(disk: Disk) -> bool:
    # The pointer and the state are there from the first snapshot on, the folders before it.
    return not {POINTER, INDEX_STATE, GENERATIONS, SNAPSHOTS}.isdisjoint(disk.list_folder("")) or is_created(disk)


def _names(codebase: Codebase, progress: Progress) -> Iterator[HealthFinding]:
    """Names that would be one file elsewhere, and links that lead nowhere."""
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
            "" if keeps else 'Rename one of them, or set `collisions = "keep"` in your own config.toml.',
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


def of_store(found: verify.Finding, *, shared: bool) -> HealthFinding:
    """What the checker found, and what to do about it."""
    if found.severity is not verify.Severity.ERROR:
        advice = _ASIDE if found.code == "stranger" else _TIDY
        return HealthFinding(found.code, Severity.NOTE, found.message, advice, found.place)
    advice = _REPAIR if found.code != "mode_wrong" else _OPEN if shared else _CLOSE
    return HealthFinding(found.code, Severity.ERROR, found.message, advice, found.place)


def _of_newest(fs: Fs) -> Iterator[HealthFinding]:
    """What a degraded snapshot was published without, and what a group should know of it."""
    for manifest in published(fs, read_claims(fs), []):
        for told in told_to_group(fs, manifest):
            code, advice = ("shared_dirty", _COMMIT) if told == DIRTY else ("shared_untracked", _TRACK)
            yield HealthFinding(code, Severity.WARNING, told, advice)
        for error in manifest.errors:
            advice = "Run `cairn sync` when it can be read."
            yield HealthFinding(error.code, Severity.WARNING, error.message, advice, printable(error.path_key.encode()))
        if is_overdue(manifest):
            tombstones = sum(ref.count for ref in manifest.tombstones)
            message = f"It is read from {len(manifest.segments):,} segments, and {tombstones:,} tombstones hide rows."
            yield HealthFinding("compaction_overdue", Severity.WARNING, message, _COMPACT)
        return


def _stale_staging(fs: Fs, clock: Clock) -> Iterator[HealthFinding]:
    """What runs have left behind for so long that none of them can be at it still."""
    lease = lease_of(fs)
    for name in fs.list_folder(STAGING) if is_created(fs) else ():
        path = f"{STAGING}/{name}"
        with suppress(FileNotFoundError):
            seconds = (clock.wall_ns() - fs.stat(path).mtime_ns) // 1_000_000_000
            if seconds > STAGING_TTL_SECONDS and (lease is None or lease.released or lease.staging_txn_id != name):
                message = f"A run has left it there {seconds // 60:,} minutes ago."
                yield HealthFinding("staging_stale", Severity.NOTE, message, _TAKE_OVER, path)


def _quarantine(disk: Disk) -> Iterator[HealthFinding]:
    """What repairs have put aside."""
    if QUARANTINE in disk.list_folder(""):
        message = f"A repair has put {size_of(disk, QUARANTINE).total:,} bytes aside there."
        advice = "When you miss nothing, remove that folder."
        yield HealthFinding("quarantine", Severity.NOTE, message, advice, f"{disk.path}/{QUARANTINE}")


def _locks(fs: Fs) -> Iterator[HealthFinding]:
    """A disk on which readers and a collector cannot keep out of each other's way."""
    if not has_locks(fs):
        advice = "Set `CAIRN_HOME` to a folder on a local disk."
        yield HealthFinding("locks_unavailable", Severity.WARNING, NO_LOCKS, advice)
