"""Bring the snapshot that a search server holds back to this machine, byte by byte as it was sent, without a model.

The files wait beside the store until all of them are there and have the digests that the manifest names, so a pull that
was cut goes on where it stopped. Then a run with the lease puts them in place and claims the generation like any other
run; a snapshot that was published first wins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.progress import Tell
from cairn.engine.choose import LOCAL
from cairn.errors import EngineDamaged, NotFound
from cairn.store import Manifest, Store
from cairn.sync.codebase import Codebase, StorePlace, place_of
from cairn.sync.proof import PROVEN, judge
from cairn.sync.remote.copy import EngineReport, remote_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.contract import RowHome


def pull(
    codebase: Codebase,
    home: str,
    tell: Tell,
    *,
    environ: Mapping[str, str] = os.environ,
    clock: Clock = SYSTEM_CLOCK,
    wait_seconds: float = 10.0,
) -> EngineReport:
    """Take over the newest complete snapshot of the server, unless the store has one that is as new."""
    place = place_of(codebase, home)
    engine = remote_rows(codebase.config, place, environ, clock=clock)
    if engine is None:
        return EngineReport(LOCAL)
    with closing(engine):
        report = EngineReport("milvus", codebase.config.engine.uri, engine.collection, engine.ping())
        manifest, data, others = _newest_there(engine, place)
        report = replace(
            report,
            snapshot_id=manifest.snapshot_id,
            segments=len(manifest.segments),
            there=len(manifest.segments),
            rows=manifest.counts.chunks_indexed,
            proof=PROVEN,
        )
        with place.make_disk(shared=codebase.config.store.shared) as disk:
            try:
                store = Store(disk, place.path)
                store.create()
                here = store.newest()
                if here is not None and here.generation >= manifest.generation:
                    return report
                brought = store.copies.fetch(manifest, engine.sealed_files, tell)
                store.copies.take_over(manifest, data, others, clock, wait_seconds)
            except OSError as problem:
                raise Store.trouble(place.path, problem) from problem
    return replace(report, sent=len(brought), sent_rows=sum(brought.values()))


def _newest_there(engine: RowHome, place: StorePlace) -> tuple[Manifest, bytes, dict[str, bytes]]:
    """Return the newest complete snapshot on the server for this root and settings; raises `NotFound` without one."""
    best: tuple[Manifest, bytes, dict[str, bytes]] | None = None
    damaged: EngineDamaged | None = None
    for run in engine.runs():
        try:
            marker = engine.get_marker(run)
            data, others = engine.snapshot(run)
            manifest = Store.copied_manifest(run, data)
        except EngineDamaged as problem:
            # One damaged snapshot says nothing about the others.
            damaged = problem
            continue
        if manifest.completion != marker or not judge(manifest, place).is_valid:
            continue
        if best is None or manifest.generation > best[0].generation:
            best = manifest, data, others
    if best is None and damaged is not None:
        raise damaged
    if best is None:
        raise NotFound(
            problem="The search server holds no complete snapshot of this root with these settings.",
            advice="Run `cairn engine push` where there is one",
        )
    return best
