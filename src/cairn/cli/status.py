"""`cairn status`: where the index stands."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace

from cairn.answer.engine import proof_fields
from cairn.answer.envelope import Status, plain
from cairn.answer.runs import lifecycle_of, status_gate, status_sentence, store_status
from cairn.answer.states import Lifecycle
from cairn.cli.output import Output, counted, left_out, sized
from cairn.config import cairn_home
from cairn.limits import EMBED_CACHE_BYTES, RETAIN_SNAPSHOTS_MIN_AGE_SECONDS
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.jobs import failed_refreshes
from cairn.source.root import printable
from cairn.store.standing import DiskUse, SnapshotInfo, State, StoreStatus
from cairn.sync.codebase import open_codebase
from cairn.sync.later import later_warnings, reading
from cairn.sync.remote_proof import EngineStanding, engine_standing
from cairn.sync.status import look

_EXIT_STATUS = {Status.OK: 0, Status.NOT_INDEXED: 10, Status.NOT_READY: 11, Status.REQUIRES_REINDEX: 12}
_CORRUPT = 90
_OFFLINE = (
    "Read without the daemon: a process that stands still for longer than "
    f"{RETAIN_SNAPSHOTS_MIN_AGE_SECONDS // 60} minutes before it asks for the next page may find its snapshot gone."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn status`."""
    parser.add_argument(
        "--read-only", action="store_true", help="read an index of a later format as far as it is known"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Say where the index stands; nothing is changed and no file of the tree is compared."""
    codebase = open_codebase(output.around.path(options.root), output.around.environ)
    with reading(options.read_only) as met:
        status = look(codebase, cairn_home(output.around.environ))
    warnings = (*codebase.config.warnings, *status.warnings, *later_warnings(met))
    warnings += failed_refreshes(SemanticDatabase(cairn_home(output.around.environ), codebase.root.path))
    if options.offline:
        warnings = (*warnings, _OFFLINE)
    engine = engine_standing(codebase, cairn_home(output.around.environ), output.around.environ)
    if options.json:
        told = {"kind": engine.kind, "health": engine.health, "proof": proof_fields(engine.proof)}
        output.line(store_status(status, path=options.root, warnings=warnings, engine=told).to_json())
        return exit_status(status)
    output.line(status_sentence(replace(status, root=_shown(status.root)))[0])
    for label, text in _lines(status):
        output.line(f"  {label:<10} {text}")
    if engine.uri:
        output.line(f"  {'engine':<10} {plain(_engine_words(engine))}")
    for note in _notes(status, warnings):
        output.note(note)
    return exit_status(status)


def exit_status(status: StoreStatus) -> int:
    """0 when the index can answer, else why it cannot."""
    return _CORRUPT if status.state is State.CORRUPT else _EXIT_STATUS[status_gate(status).status]


def git_words(snapshot: SnapshotInfo) -> str:
    """Which commit it was made from, and whether the files were those of the commit."""
    return f"{snapshot.head[:12]}{', with changes' if snapshot.dirty else ''}" if snapshot.head else "no commit"


def _engine_words(engine: EngineStanding) -> str:
    """Which server, whether it answers, and whether it has all of the index."""
    where = f"{engine.kind} at {engine.uri}"
    if engine.trouble is not None:
        return f"{where}: {engine.health}; this machine answers alone"
    if engine.proof is None:
        return f"{where}: answers; there is no snapshot to prove ({engine.version})"
    why = engine.proof.reason.value if engine.proof.reason is not None else ""
    return f"{where}: {f'not complete there, {why}' if why else 'complete there'} ({engine.version})"


def _lines(status: StoreStatus) -> Iterator[tuple[str, str]]:
    snapshot = status.snapshot
    state = lifecycle_of(status)
    if state is not Lifecycle.NOT_FOUND:
        yield "state", state.value
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
        yield "on disk", f"{sized(status.store_bytes)} in {_shown(status.path)}"
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


def _notes(status: StoreStatus, warnings: tuple[str, ...]) -> Iterator[str]:
    if advice := status_sentence(status)[1]:
        yield advice
    if status.snapshot and status.snapshot.degraded:
        yield f"{counted(status.snapshot.errors, 'file')} could not be indexed; `cairn health` names them."
    if status.siblings:
        others = "1 other index" if status.siblings == 1 else f"{status.siblings:,} other indexes"
        yield f"Kept beside it: {others} of this folder, made with other settings or by another version."
    yield from map(plain, warnings)


def _shown(path: str) -> str:
    return printable(os.fsencode(path))
