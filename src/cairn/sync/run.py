"""Run the four commands that write an index: create it, catch up, build it anew beside the old one, empty it.

What they need only when there is work (numpy, the grammars, the model) is imported then: most syncs find nothing to do.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.fingerprint import IndexFingerprint
from cairn.core.progress import Phase, Progress, Tell
from cairn.core.types import SkipReason
from cairn.embedding.choose import choose
from cairn.errors import CairnError, NotIndexed, RequiresReindex, RootNotUtf8
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.store import Disk, Draft, Home, Manifest, RunKind, Store, Tracked
from cairn.sync.codebase import Codebase, StorePlace, place_of, sibling_stores
from cairn.sync.memory import is_unchanged, load_memory
from cairn.sync.proof import ProofReason, chosen_otherwise, differing, examine, judge, refuse_second, told_to_group
from cairn.sync.remote.copy import attachment, keep_copy
from cairn.sync.report import Changes, RunOptions, RunReport
from cairn.sync.room import freeing, truthful
from cairn.sync.scope import OutOfScope, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.embedding.cache import EmbeddingCache
    from cairn.embedding.model import Embedder
    from cairn.sync.catchup import Task

_CACHE = "cache/embeddings"
STALE_LOCAL = (
    "Local snapshot claims indexed, but completion proof is missing/invalid; treating as not_indexed for create."
)
NOT_COMPARED = "There is an index, and the files were not compared with it; a sync does that."


def index(codebase: Codebase, options: RunOptions, tell: Tell, *, clock: Clock = SYSTEM_CLOCK) -> RunReport:
    """Create the index that the settings ask for; one that is proven is left as it is, and nothing is written."""
    began, proposed = clock.monotonic(), codebase.proposal is not None
    codebase = codebase.proposed
    with _store(codebase, options, proposed=proposed) as (place, disk):
        proven, warnings = _proven(disk, place)
        if proven is not None:
            report = _unchanged(RunKind.CREATE, proven, clock.monotonic() - began)
            report = replace(report, warnings=(NOT_COMPARED,))
            return _with_copy(report, disk, codebase, place, options, tell, clock)
        report = _catch_up(disk, codebase, place, options, tell, RunKind.CREATE, clock)
        return replace(report, warnings=(*warnings, *report.warnings))


def sync(codebase: Codebase, options: RunOptions, tell: Tell, *, clock: Clock = SYSTEM_CLOCK) -> RunReport:
    """Catch up with the tree, or create the index the first time.

    Raises `NotIndexed` when it was cleared, and `RequiresReindex` when there is one by settings that somebody changed.
    """
    began = clock.monotonic()
    with _store(codebase, options) as (place, disk):
        tell(Progress(Phase.WALKING))
        newest = Store(disk).newest()
        if newest is not None and judge(newest, place).is_valid:
            scope = _scope_of(options, codebase, newest)
            if scope is not None:
                with contextlib.suppress(OutOfScope):
                    return _catch_up(disk, codebase, place, options, tell, RunKind.SYNC, clock, scope)
            memory = load_memory(disk)
            if is_unchanged(codebase, newest, memory, clock) and Store(disk).is_whole(newest):
                if options.seen is not None and memory is not None:
                    options.seen.keep_if(memory.synced_at_ns)
                _recovered(place, clock)
                report = _unchanged(RunKind.SYNC, newest, clock.monotonic() - began)
                return _with_copy(report, disk, codebase, place, options, tell, clock)
        if _is_cleared(newest, place):
            # The user emptied this index on purpose: only an explicit index or reindex fills it again.
            raise NotIndexed(path=codebase.root.path, why="it was cleared")
        if newest is None and (differs := chosen_otherwise(place)):
            # An index by other settings is for somebody to replace, and a sync is done unasked.
            raise RequiresReindex(path=codebase.root.path, differs=", ".join(differs))
        # A snapshot that is not proven for this root is nothing to build on.
        kind = RunKind.SYNC if newest is not None and judge(newest, place).is_valid else RunKind.CREATE
        report = _catch_up(disk, codebase, place, options, tell, kind, clock)
        return _with_copy(report, disk, codebase, place, options, tell, clock)


def reindex(codebase: Codebase, options: RunOptions, tell: Tell, *, clock: Clock = SYSTEM_CLOCK) -> RunReport:
    """Build the whole index anew beside the old one, which stays published until the new one is.

    This is how settings that a repository proposes are taken up.
    """
    proposed = codebase.proposal is not None
    codebase = codebase.proposed
    with _store(codebase, options, proposed=proposed) as (place, disk):
        return _catch_up(disk, codebase, place, options, tell, RunKind.REINDEX, clock)


def clear(codebase: Codebase, options: RunOptions, tell: Tell, *, clock: Clock = SYSTEM_CLOCK) -> RunReport:
    """Publish an empty snapshot; the older snapshots stay until they are collected.

    Work that was staged and never published goes at once. Indexes of this folder by other settings are emptied too:
    none of them is to answer when somebody goes back to those settings.
    """
    from cairn.sync.tracking import note_cleared  # noqa: PLC0415

    place = place_of(codebase, options.home, None if options.embedder is None else options.embedder.identity)
    report = freeing(options.home, lambda: _clear(codebase, options, tell, clock), place)
    for below in sibling_stores(place):
        # Of a later version, damaged, or being written just now: what is published after this clear may answer.
        with contextlib.suppress(OSError, CairnError), Home(place.home).disk(below) as disk:
            newest = Store(disk).newest()
            if newest is not None and newest.completion is not None:
                named = IndexFingerprint(newest.config_fields, newest.config_fingerprint)
                sibling = StorePlace(place.home, os.path.basename(below), named, place.root)
                _emptied(disk, sibling, newest, options, clock)
                note_cleared(place, clock)
    return report


def _clear(codebase: Codebase, options: RunOptions, tell: Tell, clock: Clock) -> RunReport:
    from cairn.sync.tracking import note_cleared  # noqa: PLC0415

    began = clock.monotonic()
    with _store(codebase, options) as (place, disk):
        newest = Store(disk).newest()
        if newest is None or newest.completion is None:
            if any(Store(disk).notes.staged()):
                with Store(disk, place.path).open_writer(
                    RunKind.CLEAR, clock=clock, wait_seconds=options.wait_seconds, rebuild=True
                ) as writer:
                    writer.staging.end()
            return _unchanged(RunKind.CLEAR, newest, clock.monotonic() - began)
        tell(Progress(Phase.PUBLISHING))
        cleared = _emptied(disk, place, newest, options, clock)
        note_cleared(place, clock)
    deleted = Changes(deleted=newest.counts.files_indexed)
    return _report(RunKind.CLEAR, cleared, changes=deleted, published=True, seconds=clock.monotonic() - began)


def _emptied(disk: Disk, place: StorePlace, newest: Manifest, options: RunOptions, clock: Clock) -> Manifest:
    """Publish an empty snapshot after the newest one of a store, and return it."""
    store = Store(disk, place.path)
    with store.open_writer(RunKind.CLEAR, clock=clock, wait_seconds=options.wait_seconds, rebuild=True) as writer:
        draft = Draft(
            root=place.root,
            store_id=place.store_id,
            fingerprint=place.fingerprint,
            ignore_fingerprint=newest.ignore_fingerprint,
            git=newest.git,
            read_at=rfc3339(clock.wall_ns()),
            on_base=False,
            complete=False,
        )
        cleared = store.publish(writer, draft, lambda: True, clock)
    assert cleared is not None
    return cleared


# --- the store --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _store(codebase: Codebase, options: RunOptions, *, proposed: bool = False) -> Iterator[tuple[StorePlace, Disk]]:
    """Open the codebase's store, and make it if there is none; raises trouble with its disk as a store error.

    What the repository has `proposed` is there for all members of a group; other settings are those of one of them.
    """
    raw = os.fsencode(codebase.root.path)
    if raw != raw.decode("utf-8", "replace").encode():
        raise RootNotUtf8(path=printable(raw))
    place = place_of(codebase, options.home, None if options.embedder is None else options.embedder.identity)
    shared = codebase.config.store.shared if options.shared is None else options.shared
    if proposed:
        # It stands in the place of the one that answers, and is for the same people.
        shared = shared if shared is not None else Home(place.home).shared
    else:
        refuse_second(place, codebase.root.path)
    with truthful(place), place.make_disk(shared=shared) as disk:
        Home(place.home).reserve.keep()
        try:
            yield place, disk
            Store(disk).notes.keep_settings(codebase.file)
        except OSError as problem:
            raise Store.trouble(place.path, problem) from problem


def _proven(disk: Disk, place: StorePlace) -> tuple[Manifest | None, list[str]]:
    """Return the manifest of a proven snapshot, or a warning when something else claims to be an index.

    A snapshot that stands in for a damaged newer one is not enough. A store that cannot be read proves nothing either.
    """
    try:
        found = examine(disk, place)
    except OSError:
        return None, []
    if found.view is None:
        known = None if found.corrupt or found.cleared else _remembered(place)
        claimed = found.corrupt or found.proof.reason is ProofReason.PATH_MISMATCH
        # An index by other settings is proven, and what the registry says is about that one.
        lost = known is not None and known.claims_index and not differing(place)
        return None, [STALE_LOCAL] if claimed or lost else []
    with found.view as view:
        return (None, [STALE_LOCAL]) if view.damage else (view.manifest, [])


def _is_foreign(base: Manifest | None, place: StorePlace) -> bool:
    """Whether a snapshot belongs to another folder or has another fingerprint, so that nothing may be taken from it."""
    return base is not None and base.completion is not None and not judge(base, place).is_valid


def _is_cleared(newest: Manifest | None, place: StorePlace) -> bool:
    if newest is not None:
        return newest.completion is None
    known = _remembered(place)
    return known is not None and known.cleared


def _remembered(place: StorePlace) -> Tracked | None:
    from cairn.sync.tracking import remembered  # noqa: PLC0415

    return remembered(place)


def _recovered(place: StorePlace, clock: Clock) -> None:
    from cairn.sync.tracking import note_recovered  # noqa: PLC0415

    note_recovered(place, clock)


# --- the work ---------------------------------------------------------------------------------------------------------


def _scope_of(options: RunOptions, codebase: Codebase, newest: Manifest) -> Scope | None:
    """Return the files that a sync may confine itself to; None when it must look at everything."""
    seen = options.seen.tree if options.seen is not None else None
    if seen is None or options.hinted is None or codebase.tracked is not None or newest.degraded:
        return None
    return Scope(seen, options.hinted) if seen.snapshot_id == newest.snapshot_id else None


def _catch_up(
    disk: Disk,
    codebase: Codebase,
    place: StorePlace,
    options: RunOptions,
    tell: Tell,
    kind: RunKind,
    clock: Clock,
    scope: Scope | None = None,
) -> RunReport:
    from cairn.embedding.cache import EmbeddingCache  # noqa: PLC0415
    from cairn.sync.catchup import CatchUp  # noqa: PLC0415
    from cairn.sync.scoped import ScopedCatchUp  # noqa: PLC0415
    from cairn.sync.tracking import noted, refused  # noqa: PLC0415

    began = clock.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(refused(place, kind, clock))
        embedder = options.embedder or choose(codebase.config.embedding, os.environ, clock)
        cache = None
        if not embedder.cheap:
            cached = stack.enter_context(Disk.at(place.home, _CACHE, create=True, modes=disk.modes))
            cache = stack.enter_context(EmbeddingCache(cached))
        # A run that creates or builds anew does not build on the last snapshot, whole or not.
        fresh = kind is not RunKind.SYNC
        tree = stack.enter_context(Tree(codebase.root))
        writer = stack.enter_context(
            Store(disk, place.path).open_writer(kind, clock=clock, wait_seconds=options.wait_seconds, rebuild=fresh)
        )
        attach = attachment(codebase, place, tell, embedding=embedder.identity, clock=clock, hurried=not options.upkeep)
        away = stack.enter_context(attach(writer)) if attach is not None else None
        anew = kind is RunKind.REINDEX or _is_foreign(writer.base, place)
        task = _task(codebase, place, options, embedder, cache, anew=anew)
        with noted(place, kind, clock):
            given = (task, writer, tree, tell, clock)
            outcome = (CatchUp(*given) if scope is None else ScopedCatchUp(*given, scope=scope)).go()
        base = writer.base
    if outcome.manifest is not None:
        from cairn.sync.upkeep import look_after  # noqa: PLC0415

        merged = look_after(disk, place.path, outcome.manifest, tell, eager=options.upkeep, clock=clock, attach=attach)
        if options.seen is not None:
            options.seen.follow(outcome.manifest.snapshot_id, merged)
    report = _report(
        kind,
        outcome.manifest or base,
        changes=outcome.changes,
        published=outcome.manifest is not None,
        seconds=clock.monotonic() - began,
    )
    return replace(
        report,
        skipped=outcome.skipped,
        failed=outcome.failed,
        adopted=outcome.adopted,
        source_bytes=outcome.source_bytes,
        warnings=(*outcome.warnings, *told_to_group(disk, outcome.manifest), *(away.said if away else ())),
        left_out=outcome.left_out,
    )


def _task(
    codebase: Codebase,
    place: StorePlace,
    options: RunOptions,
    embedder: Embedder,
    cache: EmbeddingCache | None,
    *,
    anew: bool,
) -> Task:
    from cairn.sync.catchup import Task  # noqa: PLC0415

    return Task(
        codebase,
        place,
        embedder,
        cache,
        anew,
        options.allow_degraded,
        options.workers,
        keep_worker=options.keep_worker,
        seen=options.seen,
        found=options.found,
    )


def _with_copy(
    report: RunReport, disk: Disk, codebase: Codebase, place: StorePlace, options: RunOptions, tell: Tell, clock: Clock
) -> RunReport:
    """Return the report, after completing the server's copy of a snapshot that this run found unchanged.

    A killed run may have left the copy without its marker.
    """
    if report.published or not options.upkeep:
        return report
    copied = keep_copy(codebase, place, disk, tell, embedder=options.embedder, clock=clock)
    return replace(report, warnings=(*report.warnings, *copied))


def _unchanged(kind: RunKind, manifest: Manifest | None, seconds: float) -> RunReport:
    return _report(kind, manifest, changes=Changes(), published=False, seconds=seconds)


def _report(
    kind: RunKind, manifest: Manifest | None, *, changes: Changes, published: bool, seconds: float
) -> RunReport:
    """Return a report with what the manifest says."""
    return RunReport(
        kind=kind.value,
        published=published,
        snapshot_id=manifest.snapshot_id if manifest else "",
        generation=manifest.generation if manifest else 0,
        changes=changes,
        files_indexed=manifest.counts.files_indexed if manifest else 0,
        chunks_live=manifest.counts.chunks_live if manifest else 0,
        skipped=tuple((SkipReason(reason), count) for reason, count in manifest.skipped) if manifest else (),
        failed=(),
        adopted=0,
        store_bytes=_size(manifest) if manifest else 0,
        source_bytes=0,
        seconds=seconds,
    )


def _size(manifest: Manifest) -> int:
    """Return the bytes of all artifacts that the snapshot reads."""
    sizes = [ref.size_bytes for ref in manifest.segments]
    return sum(sizes) + sum(ref.size_bytes for ref in manifest.tombstones)
