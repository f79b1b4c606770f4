"""`cairn gc`: remove old snapshots of an index and what only they used; `--stores`: indexes that nobody uses."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from cairn.answer.collecting import collect_report, stores_report
from cairn.answer.envelope import plain
from cairn.cli.output import Output, counted, sized
from cairn.config import cairn_home
from cairn.errors import CairnError, SourceError, UsageError
from cairn.limits import MAX_ENVELOPE_BYTES, STORE_UNUSED_DAYS
from cairn.semantic.database import SemanticDatabase
from cairn.source.root import printable
from cairn.store.standing import StoresCollected
from cairn.sync.codebase import open_codebase
from cairn.sync.place import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.collect import CollectReport


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn gc`."""
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only say what would go")
    add("--stores", action="store_true", help="remove whole indexes that were not used for long, of any folder")
    add("--unused-days", metavar="N", type=int, help=f"with --stores: how long that is (default: {STORE_UNUSED_DAYS})")
    add("--force", action="store_true", help="with --stores: the index of this folder as well, if it was not used")


def run(options: argparse.Namespace, output: Output) -> int:
    """Collect, and say what went; that nothing could go is told and is no failure."""
    if not options.stores and (options.force or options.unused_days is not None):
        raise UsageError(problem="--unused-days and --force go with --stores.")
    if options.unused_days is not None and options.unused_days < 0:
        raise UsageError(problem="--unused-days takes a number of days, 0 or more.")
    return _stores(options, output) if options.stores else _snapshots(options, output)


def _snapshots(options: argparse.Namespace, output: Output) -> int:
    codebase = open_codebase(options.root, os.environ)
    # What reads an index is loaded by a run, never by `--help`.
    from cairn.sync.collect import gc  # noqa: PLC0415
    from cairn.sync.run import RunOptions  # noqa: PLC0415

    progress = output.progress()
    try:
        report = gc(codebase, RunOptions(cairn_home(os.environ)), progress.tell, dry_run=options.dry_run)
    finally:
        progress.done()
    if options.json:
        envelope = collect_report(
            path=options.root,
            root=codebase.root.path,
            dry_run=report.dry_run,
            snapshots=report.snapshots,
            segments=report.segments,
            staging=report.staging,
            freed_bytes=report.freed_bytes,
            kept=report.kept,
            note=report.note,
            warnings=(*codebase.config.warnings, *report.warnings),
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
        return 0
    output.line(_summary(report))
    for warning in (*codebase.config.warnings, *report.warnings):
        output.note(plain(warning))
    return 0


def _summary(report: CollectReport) -> str:
    if report.note is not None:
        return plain(report.note)
    went = [
        counted(count, noun)
        for count, noun in (
            (len(report.snapshots), "snapshot"),
            (report.segments, "segment"),
            (report.staging, "unfinished piece"),
        )
        if count
    ]
    kept = f"{counted(report.kept, 'snapshot')} {'stays' if report.kept == 1 else 'stay'}."
    if not went:
        return f"There is nothing to remove; {kept}"
    verb = "Would remove" if report.dry_run else "Removed"
    return f"{verb} {', '.join(went)}: {sized(report.freed_bytes)}. {kept}"


# --- whole indexes ----------------------------------------------------------------------------------------------------


def _stores(options: argparse.Namespace, output: Output) -> int:
    from cairn.sync.reconcile import prune  # noqa: PLC0415
    from cairn.sync.stores import collect_stores  # noqa: PLC0415

    home = cairn_home(os.environ)
    root, current = _here(options.root, home)
    days = STORE_UNUSED_DAYS if options.unused_days is None else options.unused_days
    collected = collect_stores(home, current=current, unused_days=days, force=options.force, dry_run=options.dry_run)
    collected = _with_semantics(collected, home, dry_run=options.dry_run)
    if collected.removed and not options.dry_run:
        # An index that was collected is not missed: the next search in its folder may make it anew.
        prune(home)
    if options.json:
        envelope = stores_report(
            path=options.root, root=root, dry_run=options.dry_run, collected=collected, budget=MAX_ENVELOPE_BYTES
        )
        output.line(envelope.to_json())
        return 0
    _show(collected, options.dry_run, output)
    return 0


def _with_semantics(collected: StoresCollected, home: str, *, dry_run: bool) -> StoresCollected:
    """What indexers know of a folder goes with its last index; one that a refresh is writing stays until the next."""
    staying = {kept.entry.root for kept in collected.kept}
    freed, notes = collected.freed_bytes, list(collected.notes)
    for root in sorted({entry.root for entry in collected.removed if entry.root is not None} - staying):
        try:
            freed += SemanticDatabase(home, root).remove(dry_run=dry_run)
        except CairnError as problem:
            notes.append(problem.sentence)
    return replace(collected, freed_bytes=freed, notes=tuple(notes))


def _here(folder: str, home: str) -> tuple[str | None, frozenset[str]]:
    """The root of this folder and the id of its store, which is spared; a folder that is not there has none.

    Settings that cannot be read are an error here as well: which store is to be spared would not be known.
    """
    try:
        codebase = open_codebase(folder, os.environ)
    except SourceError:
        return None, frozenset()
    return codebase.root.path, frozenset({place_of(codebase, home).store_id})


def _show(collected: StoresCollected, dry_run: bool, output: Output) -> None:
    for entry in collected.removed:
        root = "a folder that is not known" if entry.root is None else printable(os.fsencode(entry.root))
        output.line(f"{sized(entry.size_bytes):>10}  {entry.store_id}  {root}")
    verb = "Would remove" if dry_run else "Removed"
    size, stays = sized(collected.freed_bytes), "stays" if len(collected.kept) == 1 else "stay"
    output.line(
        f"{verb} {_indexes(len(collected.removed))}: {size}. {_indexes(len(collected.kept)).capitalize()} {stays}."
    )
    for kept in collected.kept:
        output.note(f"Kept: {kept.entry.store_id}. {plain(kept.why)}")
    for note in collected.notes:
        output.note(plain(note))


def _indexes(number: int) -> str:
    return "1 index" if number == 1 else f"{number or 'no'} indexes"
