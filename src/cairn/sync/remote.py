"""What of a store is on the search server, and the steps that keep it there: send, publish, collect.

The store stays the one that decides: a number is claimed in its folder, and nowhere else. The server holds copies under
names that no other run ever uses, so a writer that lost its lease can leave orphans there, and nothing worse. Rows are
there and safe before the claim; the marker comes after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import Config
from cairn.core.fingerprint import EmbeddingIdentity
from cairn.core.limits import ENGINE_SEARCH_SECONDS, MAX_TOMBSTONE_BYTES
from cairn.embedding.choose import identity_of
from cairn.engine.choose import LOCAL, choose
from cairn.errors import ConfigError, EngineError, NotIndexed
from cairn.store.disk import Disk
from cairn.store.files import read_whole
from cairn.store.fs import Fs
from cairn.store.generations import published, read_claims, read_generation
from cairn.store.layout import GENERATIONS, generation_number, segment_folder
from cairn.store.manifest import Manifest, SegmentRef, encode_manifest
from cairn.store.standing import PROVEN, Proof
from cairn.sync.attach import NOT_LOOKED_AFTER
from cairn.sync.codebase import Codebase
from cairn.sync.place import Place, place_of
from cairn.sync.remote_proof import PROBE_FAILED, believed, proof_there
from cairn.sync.report import Phase, Progress, Tell
from cairn.sync.status import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.contract import Receipt, RowHome
    from cairn.engine.milvus_rows import MilvusRows
    from cairn.store.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class EngineReport:
    """What is where. `sent` segments and rows went over just now; `trouble` says why the server could not be asked.

    `marked`: the snapshot that answers here is complete there too. `proof` says so, or why not; None: nothing to prove.
    """

    kind: str
    uri: str = ""
    collection: str = ""
    version: str = ""
    snapshot_id: str | None = None
    segments: int = 0
    rows: int = 0
    there: int = 0
    sent: int = 0
    sent_rows: int = 0
    orphans: int = 0
    proof: Proof | None = None
    trouble: EngineError | None = None

    @property
    def marked(self) -> bool:
        return self.proof is not None and self.proof.is_valid


def remote_rows(
    config: Config,
    place: Place,
    environ: Mapping[str, str],
    *,
    embedding: EmbeddingIdentity | None = None,
    rows: int = 0,
    clock: Clock = SYSTEM_CLOCK,
) -> MilvusRows | None:
    """The rows of this store on the user's server; None where this machine searches by itself."""
    dimension = (embedding or identity_of(config.embedding)).dimension
    return choose(config.engine, environ, place.store_id, dimension, rows=rows, clock=clock)


# --- commands ---------------------------------------------------------------------------------------------------------


def push(codebase: Codebase, home: str, tell: Tell, *, environ: Mapping[str, str] = os.environ) -> EngineReport:
    """Send the snapshot that answers. What is there whole is not sent again, so a push that was cut is continued."""
    place = place_of(codebase, home)
    with open_store(place) as disk, ExitStack() as stack:
        view = None if disk is None else stack.enter_context(_answering(disk, place))
        if disk is None or view is None:
            raise NotIndexed(path=codebase.root.path, why="there is nothing to send")
        engine = remote_rows(codebase.config, place, environ, rows=view.manifest.counts.chunks_indexed)
        if engine is None:
            return _described(EngineReport(LOCAL), view.manifest)
        stack.enter_context(closing(engine))
        report = EngineReport("milvus", codebase.config.engine.uri, engine.collection, engine.ping())
        away = Away(disk, engine, tell)
        away.send(view, counted=True)
        away.mark(view.manifest)
        report = _described(report, view.manifest)
    return replace(report, there=report.segments, sent=len(away.sent), sent_rows=sum(away.sent.values()), proof=PROVEN)


def engine_status(codebase: Codebase, home: str, *, environ: Mapping[str, str] = os.environ) -> EngineReport:
    """Where rows are searched, and how the server stands. A server that does not answer is said, not raised."""
    place = place_of(codebase, home)
    with open_store(place) as disk, ExitStack() as stack:
        manifest = None if disk is None else next(published(disk, read_claims(disk), []), None)
        engine = remote_rows(codebase.config, place, environ)
        if engine is None:
            return _described(EngineReport(LOCAL), manifest)
        stack.enter_context(closing(engine))
        report = _described(EngineReport("milvus", codebase.config.engine.uri, engine.collection), manifest)
        try:
            # Only what answers has a proof: nothing does while an index is made anew.
            answers = believed(place)
            report = replace(report, proof=PROBE_FAILED if answers is not None else None)
            report = replace(report, version=engine.ping())
            receipts = engine.receipts(counted=True)
            there = sum(_is_there(receipts, ref) for ref in manifest.segments) if manifest else 0
            proof = proof_there(engine, answers, place) if answers is not None else None
            return replace(report, there=there, orphans=len(engine.orphans()), proof=proof)
        except EngineError as trouble:
            return replace(report, trouble=trouble)


def _answering(disk: Disk, place: Place) -> SnapshotView | AbstractContextManager[None]:
    from cairn.store.snapshot import open_view  # noqa: PLC0415

    view = open_view(disk, place.path)
    if view is not None and view.manifest.completion is None:
        view.close()
        view = None
    return view or nullcontext()


def _described(report: EngineReport, manifest: Manifest | None) -> EngineReport:
    if manifest is None or manifest.completion is None:
        return report
    counts = manifest.counts
    return replace(
        report, snapshot_id=manifest.snapshot_id, segments=len(manifest.segments), rows=counts.chunks_indexed
    )


def keep_marked(
    codebase: Codebase,
    place: Place,
    disk: Disk,
    manifest: Manifest,
    tell: Tell,
    *,
    embedding: EmbeddingIdentity | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> tuple[str, ...]:
    """The copy of this snapshot is complete; where it was not, it is now. A server that cannot be asked is a warning.

    For a run that published nothing, or that did not wait for the server before it did.
    """
    try:
        engine = remote_rows(codebase.config, place, os.environ, embedding=embedding, clock=clock)
        assert engine is not None, "a kind that is not local has a server"
        with closing(engine):
            engine.limit(clock.monotonic() + ENGINE_SEARCH_SECONDS)
            if proof_there(engine, manifest, place).is_valid:
                return ()
            engine.limit(None)
            with _answering(disk, place) as view:
                if view is not None and view.manifest.snapshot_id == manifest.snapshot_id:
                    away = Away(disk, engine, tell)
                    away.send(view, counted=True)
                    away.mark(manifest)
    except (EngineError, ConfigError) as trouble:
        return (NOT_LOOKED_AFTER.format(store=place.store_id, code=trouble.code),)
    return ()


# --- the steps of a run -----------------------------------------------------------------------------------------------


class Away:
    """The copy of a store on the server, for the run that publishes. `sent` are the rows of what went over by it."""

    def __init__(self, fs: Fs, engine: RowHome, tell: Tell = lambda _: None, beat: Callable[[], object] = int) -> None:
        self._fs = fs
        self._engine = engine
        self._tell = tell
        self._beat = beat
        self.sent: dict[str, int] = {}

    def send(self, view: SnapshotView, *, counted: bool = False) -> None:
        """Every segment of the snapshot is there and safe. What is there already, `counted` or not, stays as it is."""
        from cairn.engine.contract import SealedFile  # noqa: PLC0415
        from cairn.engine.rows import SegmentRows, segments_of  # noqa: PLC0415

        # The time of a question, not of a write, for a server that is away.
        self._engine.ping()
        there = self._engine.receipts(counted=counted)
        wanted = zip(view.manifest.segments, segments_of(view), strict=True)
        owed = [(ref, rows) for ref, rows in wanted if not _is_there(there, ref)]
        for done, (ref, rows) in enumerate(owed):
            self._tell(Progress(Phase.PUBLISHING, done, len(owed)))
            self._beat()
            with ExitStack() as maps:
                folder = segment_folder(ref.name)
                files = [
                    SealedFile(name, maps.enter_context(self._fs.open_map(f"{folder}/{name}")).view)
                    for name in sorted(self._fs.list_folder(folder))
                ]
                self._engine.put_segment(SegmentRows(ref.name, ref.sha256, rows.part, files))
            self.sent[ref.name] = ref.rows

    def mark(self, manifest: Manifest) -> None:
        """The snapshot was published: its marker, keyed by its run, with the manifest and what else it names."""
        if manifest.completion is None:
            return
        others = {
            ref.path: read_whole(self._fs, ref.path, MAX_TOMBSTONE_BYTES, "tombstone file")
            for ref in manifest.tombstones
        }
        self._engine.put_marker(manifest.completion, encode_manifest(manifest), others)

    def sweep(self) -> tuple[int, int]:
        """Only for the holder of the lease: what no snapshot that is kept names is gone; so many segments and markers.

        A manifest that cannot be read may name anything: then nothing goes.
        """
        self._engine.ping()
        numbers = filter(None, map(generation_number, self._fs.list_folder(GENERATIONS)))
        kept = [manifest for number in numbers if (manifest := read_generation(self._fs, number)) is not None]
        named = {ref.name for manifest in kept for ref in manifest.segments}
        runs = {manifest.snapshot_id for manifest in kept if manifest.completion is not None}
        # A run that was killed may have left its manifest there and no marker, or the collection the other way round.
        markers = [run for run in self._engine.runs(marked=False) if run not in runs]
        segments = sorted(({*self._engine.receipts()} | self._engine.orphans()) - named)
        for run in markers:
            self._beat()
            self._engine.clear_marker(run)
        for segment in segments:
            self._beat()
            self._engine.drop_segment(segment)
        return len(segments), len(markers)


def _is_there(receipts: Mapping[str, Receipt], ref: SegmentRef) -> bool:
    found = receipts.get(ref.name)
    return found is not None and (found.rows, found.sealed_sha256) == (ref.rows, ref.sha256)
