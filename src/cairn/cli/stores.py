"""`cairn stores`: every index that you have, wherever its folder is; `--purge` removes them all."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cairn.answer.envelope import plain
from cairn.answer.stores import lost_roots, purge_report, store_list
from cairn.cli.daemon import stop
from cairn.cli.output import Output, counted, sized
from cairn.config import USER_CONFIG_NAME, cairn_home
from cairn.errors import CairnError, UsageError
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.source.root import printable
from cairn.store.standing import Purged, StoreEntry
from cairn.sync.codebase import open_codebase
from cairn.sync.inventory import DATA, Inventory, inventory
from cairn.sync.place import place_of
from cairn.sync.purge import purge
from cairn.sync.sizes import Measured

_MOST_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn stores`."""
    parser.add_argument("--purge", action="store_true", help="remove every index, cache and log; your settings stay")
    parser.add_argument("--yes", action="store_true", help="with --purge: do not ask")
    parser.add_argument("--dry-run", action="store_true", help="with --purge: only say what would go")


def run(options: argparse.Namespace, output: Output) -> int:
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
            unknown=[_shown(name) for name in found.unknown],
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
        return 0
    _show(found, current, home, output)
    return 0


def _here(folder: str, home: str) -> tuple[str | None, str | None]:
    """The root of this folder and the id of its store; None where it has none: the others are listed all the same."""
    try:
        codebase = open_codebase(folder, os.environ)
        return codebase.root.path, place_of(codebase, home).store_id
    except CairnError:
        return None, None


@contextmanager
def _measuring(output: Output) -> Iterator[Measured]:
    """Shows how many files were looked at, when that takes long."""
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
        output.line(f"There are no indexes in {_shown(home)}.")
    for entry in found.stores:
        for line in _lines(entry, entry.store_id == current, output):
            output.line(line)
    if found.stores:
        total = sum(entry.size_bytes for entry in found.stores)
        output.note(f"{counted(len(found.stores), 'store')}, {sized(total)} in {_shown(home)}.")
    if advice := lost_roots(found.stores):
        output.note(advice)
    if found.leftovers:
        what = counted(len(found.leftovers), "removal")
        output.note(f"Cut short: {what}; `cairn gc --stores` goes on with it.")
    if found.unknown:
        output.note(f"Not Cairn's, and left alone: {_some([_shown(name) for name in found.unknown])}.")


def _lines(entry: StoreEntry, current: bool, output: Output) -> Iterator[str]:
    mark = output.styled("*", "green") if current else " "
    gone = output.styled(" (no longer there)", "yellow") if entry.root_exists is False else ""
    root = "a folder that is not known" if entry.root is None else _shown(entry.root)
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
            # It would live on with everything gone, and nobody could reach it.
            stop(home)
            purged = purge(home, tell=tell)
    if options.json:
        dry_run = options.dry_run
        envelope = purge_report(path=options.root, root=None, home=home, purged=purged, dry_run=dry_run)
        output.line(envelope.to_json())
        return 0
    verb = "Would remove" if options.dry_run else "Removed"
    output.line(f"{verb} {_what(purged)} from {_shown(home)}: {sized(purged.freed_bytes)}.")
    for stayed in purged.stayed:
        output.note(f"Left: {plain(stayed.name)}. {plain(stayed.why)}")
    return 0


def _consent(purged: Purged, home: str, output: Output) -> bool:
    """Whether a person at a terminal wants it; where there is none it has to be said with `--yes`."""
    if output.json or not (sys.stdin.isatty() and output.stderr.isatty()):
        raise UsageError(problem="--purge removes every index; say --yes where nobody can be asked.")
    size = sized(purged.freed_bytes)
    output.stderr.write(f"Remove {_what(purged)} from {_shown(home)} ({size})? {USER_CONFIG_NAME} stays. [y/N] ")
    output.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _what(purged: Purged) -> str:
    """`3 stores, cache, logs`."""
    stores = sum(name.startswith(f"{DATA}/") for name in purged.removed)
    others = [name for name in purged.removed if not name.startswith(f"{DATA}/")]
    return ", ".join([counted(stores, "store"), *others])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(map(plain, names[:_MOST_SHOWN])) + more


def _shown(path: str) -> str:
    return printable(os.fsencode(path))
