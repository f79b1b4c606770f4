"""Show indexes and stores, and remove all of them (`cairn status`, `snapshots`, `list`, `stores`)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cairn.answer.runs import not_indexed, snapshot_list, store_status
from cairn.answer.stores import codebase_list, codebase_rows, lost_roots, proof_fields, purge_report, store_list
from cairn.ask.gate import Lifecycle, Status
from cairn.ask.whereabouts import FailedRun, Whereabouts, state_sentence, where, where_all
from cairn.cli.output import Output, counted, left_out, sized
from cairn.core.config import USER_CONFIG_NAME, cairn_home
from cairn.core.limits import EMBED_CACHE_BYTES, MAX_ENVELOPE_BYTES, RETAIN_SNAPSHOTS_MIN_AGE_SECONDS
from cairn.core.text import lasting, plain
from cairn.daemon.client import stop_daemon
from cairn.edit.journal import cut_sentences
from cairn.errors import CairnError, NotIndexed, UsageError
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.jobs import failed_refreshes
from cairn.source.root import printable
from cairn.sync.codebase import open_codebase, place_of
from cairn.sync.inventory import DATA, DiskUse, Inventory, Measured, StoreEntry, inventory
from cairn.sync.remote.copy import EngineStanding, engine_standing
from cairn.sync.status import SnapshotInfo, State, StoreStatus, kept_snapshots, later_warnings, look, reading
from cairn.sync.stores import Purged, purge
from cairn.sync.tracking import Members

_EXIT_STATUS = {Status.OK: 0, Status.NOT_INDEXED: 10, Status.NOT_READY: 11, Status.REQUIRES_REINDEX: 12}
_CORRUPT = 90
_OFFLINE = (
    "Read without the daemon: a process that stands still for longer than "
    f"{RETAIN_SNAPSHOTS_MIN_AGE_SECONDS // 60} minutes before it asks for the next page may find its snapshot gone."
)


def configure_status(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn status`."""
    parser.add_argument(
        "--read-only", action="store_true", help="read an index of a later format as far as it is known"
    )


def run_status(options: argparse.Namespace, output: Output) -> int:
    """Print where the index stands; changes nothing and compares no file of the tree."""
    codebase = open_codebase(output.around.path(options.root), output.around.environ)
    with reading(options.read_only) as met:
        status = look(codebase, cairn_home(output.around.environ))
    warnings = (*codebase.config.warnings, *status.warnings, *later_warnings(met))
    warnings = (*cut_sentences(cairn_home(output.around.environ), codebase.root.path), *warnings)
    warnings += failed_refreshes(SemanticDatabase(cairn_home(output.around.environ), codebase.root.path))
    if options.offline:
        warnings = (*warnings, _OFFLINE)
    engine = engine_standing(codebase, cairn_home(output.around.environ), output.around.environ)
    if options.json:
        told = {"kind": engine.kind, "health": engine.health, "proof": proof_fields(engine.proof)}
        output.line(store_status(status, path=options.root, warnings=warnings, engine=told).to_json())
        return exit_status(status)
    stands = where(replace(status, root=_status_path(status.root)))
    output.line(stands.sentence)
    for label, text in _status_lines(status, stands):
        output.line(f"  {label:<10} {text}")
    if engine.uri:
        output.line(f"  {'engine':<10} {plain(_engine_words(engine))}")
    for note in _notes(status, stands, warnings):
        output.note(note)
    return exit_status(status)


def exit_status(status: StoreStatus) -> int:
    """Return 0 when the index can answer, else the exit status that says why it cannot."""
    return _CORRUPT if status.state is State.CORRUPT else _EXIT_STATUS[where(status).gate.status]


def git_words(snapshot: SnapshotInfo) -> str:
    """Return the commit of a snapshot, and whether its files differed from the commit."""
    return f"{snapshot.head[:12]}{', with changes' if snapshot.dirty else ''}" if snapshot.head else "no commit"


def _engine_words(engine: EngineStanding) -> str:
    """Return which server it is, whether it answers, and whether it has all of the index."""
    where = f"{engine.kind} at {engine.uri}"
    if engine.trouble is not None:
        return f"{where}: {engine.health}; this machine answers alone"
    if engine.proof is None:
        return f"{where}: answers; there is no snapshot to prove ({engine.version})"
    why = engine.proof.reason.value if engine.proof.reason is not None else ""
    return f"{where}: {f'not complete there, {why}' if why else 'complete there'} ({engine.version})"


def _status_lines(status: StoreStatus, stands: Whereabouts) -> Iterator[tuple[str, str]]:
    snapshot = status.snapshot
    if stands.state is not Lifecycle.NOT_FOUND:
        yield "state", stands.state.value
    if stands.failed is not None:
        yield "last run", stands.failed.sentence
    if snapshot:
        yield "files", f"{snapshot.files:,} in {counted(snapshot.chunks, 'chunk')}"
        yield "snapshot", f"{snapshot.id}, number {snapshot.generation:,}, published {snapshot.created_at}"
        yield "commit", git_words(snapshot)
    if status.skipped:
        yield "left out", left_out(status.skipped)
    if status.embedding_model:
        yield "model", plain(status.embedding_model)
    if status.last_sync_at:
        yield "last sync", status.last_sync_at
    if status.store_bytes:
        yield "on disk", f"{sized(status.store_bytes)} in {_status_path(status.path)}"
        yield "of that", _parts(status.disk)
    if status.disk.embedding_cache:
        yield (
            "cache",
            f"{sized(status.disk.embedding_cache)} of vectors for all indexes, at most {sized(EMBED_CACHE_BYTES)}",
        )
    if status.disk.free is not None:
        yield "free", f"{sized(status.disk.free)} left on that disk"
    if status.writer:
        at_work = "at work" if status.writer.alive else "gone without an end"
        if status.writer.is_silent:
            at_work = f"no heartbeat for {lasting(status.writer.silent_seconds)}"
        yield (
            "run",
            f"{plain(status.writer.kind)}, process {status.writer.pid}, {at_work}, since {status.writer.started_at}",
        )
        if told := status.writer.progress:
            of = f" of {told.total:,} files ({100 * told.fraction:.0f} %)" if told.total else ""
            yield "progress", f"{plain(told.phase)} {told.done:,}{of}"


def _parts(use: DiskUse) -> str:
    named = (
        (use.live, "live"),
        (use.older, "of older snapshots"),
        (use.staging, "not published yet"),
        (use.quarantine, "in quarantine"),
        (use.other, "other"),
    )
    return ", ".join(f"{sized(size)} {name}" for size, name in named if size)


def _notes(status: StoreStatus, stands: Whereabouts, warnings: tuple[str, ...]) -> Iterator[str]:
    if stands.advice:
        yield stands.advice
    if stands.failed is not None and stands.answers:
        yield stands.failed.advice
    if status.snapshot and status.snapshot.degraded:
        yield f"{counted(status.snapshot.errors, 'file')} could not be indexed; `cairn health` names them."
    if status.siblings:
        others = "1 other index" if status.siblings == 1 else f"{status.siblings:,} other indexes"
        yield f"Kept beside it: {others} of this folder, made with other settings or by another version."
    yield from map(plain, warnings)


def _status_path(path: str) -> str:
    return printable(os.fsencode(path))


# --- `cairn snapshots`: the snapshots that are kept, the newest first.


def configure_snapshots(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn snapshots`."""
    parser.add_argument(
        "--read-only", action="store_true", help="read an index of a later format as far as it is known"
    )


def run_snapshots(options: argparse.Namespace, output: Output) -> int:
    """List the snapshots; the one that answers is marked."""
    codebase = open_codebase(options.root, os.environ)
    root = codebase.root.path
    with reading(options.read_only) as met:
        found = kept_snapshots(codebase, cairn_home(os.environ))
    warnings = later_warnings(met)
    if not found:
        if options.json:
            output.line(not_indexed("cairn.snapshots/1", path=options.root, root=root).to_json())
        else:
            sentence, advice = state_sentence(State.NOT_INDEXED, printable(os.fsencode(root)))
            output.line(sentence)
            output.note(advice)
        return NotIndexed.exit_status
    if options.json:
        envelope = snapshot_list(
            path=options.root, root=root, snapshots=found, warnings=warnings, budget=MAX_ENVELOPE_BYTES
        )
        output.line(envelope.to_json())
        return 0
    for snapshot in found:
        output.line(_snapshot_line(snapshot, output))
    for warning in warnings:
        output.note(warning)
    return 0


def _snapshot_line(snapshot: SnapshotInfo, output: Output) -> str:
    mark = output.styled("*", "green") if snapshot.active else " "
    holds = f"{counted(snapshot.files, 'file')}, {counted(snapshot.chunks, 'chunk')}"
    degraded = f"; {counted(snapshot.errors, 'file')} failed" if snapshot.degraded else ""
    name = output.styled(snapshot.id, "cyan")
    return f"{mark} {snapshot.generation:>6,}  {name}  {snapshot.created_at}  {holds}; {git_words(snapshot)}{degraded}"


# --- `cairn list`: every codebase that the user has indexed, and where it stands.


def configure_codebases(parser: argparse.ArgumentParser) -> None:
    """Add nothing: `cairn list` has no options of its own."""


def run_codebases(options: argparse.Namespace, output: Output) -> int:
    """List the codebases; changes nothing, and reads of their files no more than their settings."""
    environ = output.around.environ
    home = cairn_home(environ)
    found = Members(home).look()
    standing = where_all(found, environ, lambda codebase: look(codebase, home, measured=False))
    if options.json:
        listed = codebase_list(found.stores, tracked=found.tracked, standing=standing, budget=MAX_ENVELOPE_BYTES)
        output.line(listed.to_json())
        return 0
    rows = codebase_rows(found.stores, roots={}, tracked=found.tracked, standing=standing)
    for row in rows:
        output.line(_codebase_line(row, output))
        if row["lastRun"]:
            output.note(f"  {FailedRun.told(row['lastRun']).sentence}")
        if row["trouble"]:
            output.note(f"  {row['trouble']['message']}")
    output.note(f"{counted(len(rows), 'codebase')} in {printable(os.fsencode(home))}." if rows else "None is indexed.")
    return 0


def _codebase_line(row: dict[str, Any], output: Output) -> str:
    root = "a folder that is not known" if row["root"] is None else printable(os.fsencode(row["root"]))
    gone = output.styled(" (no longer there)", "yellow") if row["rootExists"] is False else ""
    files = "" if row["files"] is None else f"  {counted(row['files'], 'file')}"
    synced = f"  synced {row['lastSyncAt']}" if row["lastSyncAt"] else ""
    model = f"  {plain(row['embeddingModel'])}" if row["embeddingModel"] else ""
    return f"{output.styled(row['state'], 'cyan')}{files}{synced}{model}  {root}{gone}"


# --- `cairn stores`: every store of the user, wherever its folder is; `--purge` removes them all.


_MOST_SHOWN = 20


def configure_stores(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn stores`."""
    parser.add_argument("--purge", action="store_true", help="remove every index, cache and log; your settings stay")
    parser.add_argument("--yes", action="store_true", help="with --purge: do not ask")
    parser.add_argument("--dry-run", action="store_true", help="with --purge: only say what would go")


def run_stores(options: argparse.Namespace, output: Output) -> int:
    """List the stores, or remove them all."""
    if (options.yes or options.dry_run) and not options.purge:
        raise UsageError(problem="--yes and --dry-run go with --purge.")
    home = cairn_home(os.environ)
    if options.purge:
        return _purge(options, home, output)
    root, current = _here(options.root, home)
    with _measuring(output) as tell:
        found = inventory(home, tell=tell)
    if options.json:
        envelope = store_list(
            path=options.root,
            root=root,
            home=home,
            stores=found.stores,
            current=current,
            unknown=[_store_path(name) for name in found.unknown],
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
        return 0
    _show(found, current, home, output)
    return 0


def _here(folder: str, home: str) -> tuple[str | None, str | None]:
    """Return the root of this folder and the id of its store; None where it has none: all stores are still listed."""
    try:
        codebase = open_codebase(folder, os.environ)
        return codebase.root.path, place_of(codebase, home).store_id
    except CairnError:
        return None, None


@contextmanager
def _measuring(output: Output) -> Iterator[Measured]:
    """Show how many files were measured, when that takes long."""
    progress, seen = output.progress(), 0

    def tell(more: int) -> None:
        nonlocal seen
        seen += more
        progress("measuring, files so far:", seen, 0)

    try:
        yield tell
    finally:
        progress.done()


def _show(found: Inventory, current: str | None, home: str, output: Output) -> None:
    if not found.stores:
        output.line(f"There are no indexes in {_store_path(home)}.")
    for entry in found.stores:
        for line in _store_lines(entry, entry.store_id == current, output):
            output.line(line)
    if found.stores:
        total = sum(entry.size_bytes for entry in found.stores)
        output.note(f"{counted(len(found.stores), 'store')}, {sized(total)} in {_store_path(home)}.")
    if advice := lost_roots(found.stores):
        output.note(advice)
    if found.leftovers:
        what = counted(len(found.leftovers), "removal")
        output.note(f"Cut short: {what}; `cairn gc --stores` goes on with it.")
    if found.unknown:
        output.note(f"Not Cairn's, and left alone: {_some([_store_path(name) for name in found.unknown])}.")


def _store_lines(entry: StoreEntry, current: bool, output: Output) -> Iterator[str]:
    mark = output.styled("*", "green") if current else " "
    gone = output.styled(" (no longer there)", "yellow") if entry.root_exists is False else ""
    root = "a folder that is not known" if entry.root is None else _store_path(entry.root)
    used = f"used {entry.last_used_at}" if entry.last_used_at else "never used"
    name = output.styled(entry.store_id, "cyan")
    yield f"{mark} {sized(entry.size_bytes):>10}  {used}  {name}  {root}{gone}"
    if entry.writer_alive:
        yield f"{'':14}A run is writing it."
    if entry.trouble is not None:
        yield f"{'':14}{plain(entry.trouble.message)}"


# --- purge ------------------------------------------------------------------------------------------------------------


def _purge(options: argparse.Namespace, home: str, output: Output) -> int:
    with _measuring(output) as tell:
        purged = purge(home, dry_run=True, tell=tell)
        if not options.dry_run and purged.removed:
            if not options.yes and not _consent(purged, home, output):
                output.line("Nothing was removed.")
                return 0
            # The daemon would go on with all its stores gone, where nobody could reach it.
            stop_daemon(home)
            purged = purge(home, tell=tell)
    if options.json:
        dry_run = options.dry_run
        envelope = purge_report(path=options.root, root=None, home=home, purged=purged, dry_run=dry_run)
        output.line(envelope.to_json())
        return 0
    verb = "Would remove" if options.dry_run else "Removed"
    output.line(f"{verb} {_what(purged)} from {_store_path(home)}: {sized(purged.freed_bytes)}.")
    for stayed in purged.stayed:
        output.note(f"Left: {plain(stayed.name)}. {plain(stayed.why)}")
    return 0


def _consent(purged: Purged, home: str, output: Output) -> bool:
    """Whether a person at a terminal agrees; raises `UsageError` without a terminal, where only `--yes` will do."""
    if output.json or not (sys.stdin.isatty() and output.stderr.isatty()):
        raise UsageError(problem="--purge removes every index; say --yes where nobody can be asked.")
    size = sized(purged.freed_bytes)
    output.stderr.write(f"Remove {_what(purged)} from {_store_path(home)} ({size})? {USER_CONFIG_NAME} stays. [y/N] ")
    output.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _what(purged: Purged) -> str:
    """Return what was removed, as `3 stores, cache, logs`."""
    stores = sum(name.startswith(f"{DATA}/") for name in purged.removed)
    others = [name for name in purged.removed if not name.startswith(f"{DATA}/")]
    return ", ".join([counted(stores, "store"), *others])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(map(plain, names[:_MOST_SHOWN])) + more


def _store_path(path: str) -> str:
    return printable(os.fsencode(path))
