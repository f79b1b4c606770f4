"""Send a store to the user's search server, prove and sweep the copy there, and use it for searches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import Config
from cairn.core.fingerprint import EmbeddingIdentity
from cairn.core.limits import ENGINE_REST_SECONDS, ENGINE_SEARCH_SECONDS
from cairn.core.progress import Phase, Progress, Tell
from cairn.embedding.choose import identity_of
from cairn.engine.choose import LOCAL, choose
from cairn.errors import CairnError, ConfigError, EngineDamaged, EngineError, NotIndexed, SecretsNotSent, StoreCorrupt
from cairn.store import Disk, Fs, Manifest, SnapshotView, Store, Writer
from cairn.sync.codebase import Codebase, StorePlace, place_of
from cairn.sync.proof import PROVEN, UNPROVEN, Proof, ProofOutcome, ProofReason, same_place
from cairn.sync.remote.secrets import refusal
from cairn.sync.status import State, open_store, stand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.embedding.model import Embedder
    from cairn.engine.contract import Receipt, RowHome
    from cairn.engine.milvus_rows import MilvusRows


NOT_LOOKED_AFTER = (
    "The copy of {store} on the search server could not be looked after ({code}); the index here is as it should be."
)
Attach = Callable[["Writer"], AbstractContextManager["RemoteCopy | None"]]


def attachment(
    codebase: Codebase,
    place: StorePlace,
    tell: Tell,
    *,
    embedding: EmbeddingIdentity | None = None,
    clock: Clock = SYSTEM_CLOCK,
    hurried: bool = False,
) -> Attach | None:
    """Return what attaches a writer to the server that the settings name; None where they name none.

    `hurried`: somebody waits for an answer, so a server that was too slow a moment ago gets no time.
    """
    if codebase.config.engine.kind == LOCAL:
        return None

    @contextmanager
    def attach(writer: Writer) -> Iterator[RemoteCopy]:
        engine = remote_rows(codebase.config, place, os.environ, embedding=embedding, clock=clock)
        assert engine is not None, "a kind that is not local has a server"
        with closing(engine):
            if hurried and is_resting(codebase.config.engine.uri, clock):
                engine.limit(clock.monotonic())
            allowed = codebase.config.engine.allow_secrets
            writer.away = away = RemoteCopy(writer.fs, engine, tell, writer.lease.beat, secrets=allowed)
            try:
                yield away
            finally:
                writer.away = None

    return attach


def keep_copy(
    codebase: Codebase,
    place: StorePlace,
    disk: Disk,
    tell: Tell,
    *,
    embedder: Embedder | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> tuple[str, ...]:
    """Send the newest snapshot to the server after a run that did not; return warnings."""
    if codebase.config.engine.kind == LOCAL:
        return ()

    newest = Store(disk).newest()
    if newest is None or newest.completion is None:
        return ()
    identity = None if embedder is None else embedder.identity
    return keep_marked(codebase, place, disk, newest, tell, embedding=identity, clock=clock)


# --- Whether the copy of a snapshot on a search server is complete; nothing else decides this.


PROBE_FAILED = Proof(ProofOutcome.PROBE_FAILED, ProofReason.PROBE_FAILED)


@dataclass(frozen=True, slots=True)
class EngineStanding:
    """Where rows are searched, and the state of that engine. `proof` is None where there is no snapshot to prove.

    There is none while a run makes the index anew, either: until the run ends, no marker counts.
    """

    kind: str = LOCAL
    uri: str = ""
    version: str = ""
    trouble: CairnError | None = None
    proof: Proof | None = None

    @property
    def health(self) -> str:
        """`ok`, or the code of the error that says why not."""
        return "ok" if self.trouble is None else self.trouble.code


def validate_remote_proof(engine: RowHome, manifest: Manifest, place: StorePlace) -> Proof:
    """Return what the marker on the server proves for this snapshot; changes nothing and never raises."""
    try:
        return proof_there(engine, manifest, place)
    except EngineError:
        return PROBE_FAILED


def proof_there(engine: RowHome, manifest: Manifest, place: StorePlace) -> Proof:
    """Return what the marker on the server proves for this snapshot; raises `EngineError` without an answer."""
    own = manifest.completion
    if own is None:
        return UNPROVEN
    try:
        marker = engine.get_marker(own.run_id)
    except EngineDamaged as problem:
        cause = problem.__cause__
        if not isinstance(cause, StoreCorrupt):
            raise
        other_kind = Store.says_other_kind(cause)
        return _stale(ProofReason.INVALID_MARKER_KIND if other_kind else ProofReason.INVALID_PAYLOAD)
    if marker is None:
        return UNPROVEN
    if not same_place(marker.codebase_path, place.root):
        return _stale(ProofReason.PATH_MISMATCH)
    if marker.fingerprint != place.fingerprint.digest:
        return Proof(ProofOutcome.FINGERPRINT_MISMATCH, ProofReason.FINGERPRINT_MISMATCH)
    # Both markers must be equal: a marker of the same run with other numbers was not written by Cairn.
    return PROVEN if marker == own else _stale(ProofReason.INVALID_PAYLOAD)


def engine_standing(
    codebase: Codebase, home: str, environ: Mapping[str, str], clock: Clock = SYSTEM_CLOCK
) -> EngineStanding:
    """Return which engine searches rows, and whether it can, within the time of one question; never raises."""
    config = codebase.config
    if config.engine.kind == LOCAL:
        return EngineStanding()

    place = place_of(codebase, home)
    found = EngineStanding(config.engine.kind, config.engine.uri)
    try:
        manifest = believed(place)
        found = replace(found, proof=PROBE_FAILED if manifest is not None else None)
        engine = remote_rows(config, place, environ, clock=clock)
        assert engine is not None, "a kind that is not local has a server"
        with closing(engine):
            engine.limit(clock.monotonic() + ENGINE_SEARCH_SECONDS)
            found = replace(found, version=engine.ping())
            return replace(found, proof=proof_there(engine, manifest, place) if manifest is not None else None)
    except CairnError as trouble:
        return replace(found, trouble=trouble)


def believed(place: StorePlace) -> Manifest | None:
    """Return the manifest of the snapshot that answers; None without one, or while a run makes the index anew."""
    standing = stand(place)
    if standing.view is None:
        return None
    with standing.view as view:
        return view.manifest if standing.state is State.INDEXED else None


def _stale(reason: ProofReason) -> Proof:
    return Proof(ProofOutcome.STALE_LOCAL, reason)


# --- What a search server holds of a store, and the steps that keep it there: send, publish, collect.


@dataclass(frozen=True, slots=True)
class EngineReport:
    """What the server holds. `sent` segments and rows went over just now; `trouble` says why it could not be asked.

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
    place: StorePlace,
    environ: Mapping[str, str],
    *,
    embedding: EmbeddingIdentity | None = None,
    rows: int = 0,
    clock: Clock = SYSTEM_CLOCK,
) -> MilvusRows | None:
    """Return the rows of this store on the user's server; None where this machine searches by itself."""
    dimension = (embedding or identity_of(config.embedding)).dimension
    return choose(config.engine, environ, place.store_id, dimension, rows=rows, clock=clock)


# --- commands ---------------------------------------------------------------------------------------------------------


def push(codebase: Codebase, home: str, tell: Tell, *, environ: Mapping[str, str] = os.environ) -> EngineReport:
    """Send the snapshot that answers; whole segments are not sent again, so a push that was cut is continued."""
    place = place_of(codebase, home)
    with open_store(place) as disk, ExitStack() as stack:
        view = None if disk is None else stack.enter_context(_answering(disk, place))
        if disk is None or view is None:
            raise NotIndexed(path=codebase.root.path, why="there is nothing to send")
        engine = remote_rows(codebase.config, place, environ, rows=view.manifest.counts.chunks_indexed)
        if engine is None:
            return _described(EngineReport(LOCAL), view.manifest)
        stack.enter_context(closing(engine))
        away = RemoteCopy(disk, engine, tell, secrets=codebase.config.engine.allow_secrets)
        away.check(view)
        report = EngineReport("milvus", codebase.config.engine.uri, engine.collection, engine.ping())
        away.send(view, counted=True)
        away.mark(view.manifest)
        report = _described(report, view.manifest)
    return replace(report, there=report.segments, sent=len(away.sent), sent_rows=sum(away.sent.values()), proof=PROVEN)


def engine_status(codebase: Codebase, home: str, *, environ: Mapping[str, str] = os.environ) -> EngineReport:
    """Return where rows are searched, and the state of the server; one that does not answer is reported, not raised."""
    place = place_of(codebase, home)
    with open_store(place) as disk, ExitStack() as stack:
        manifest = None if disk is None else Store(disk).newest()
        engine = remote_rows(codebase.config, place, environ)
        if engine is None:
            return _described(EngineReport(LOCAL), manifest)
        stack.enter_context(closing(engine))
        report = _described(EngineReport("milvus", codebase.config.engine.uri, engine.collection), manifest)
        try:
            # Only a snapshot that answers is proven, and none does while a run makes the index anew.
            answers = believed(place)
            report = replace(report, proof=PROBE_FAILED if answers is not None else None)
            report = replace(report, version=engine.ping())
            receipts = engine.receipts(counted=True)
            there = (
                sum(_is_there(receipts, ref.name, ref.rows, ref.sha256) for ref in manifest.segments) if manifest else 0
            )
            proof = proof_there(engine, answers, place) if answers is not None else None
            return replace(report, there=there, orphans=len(engine.orphans()), proof=proof)
        except EngineError as trouble:
            return replace(report, trouble=trouble)


def _answering(disk: Disk, place: StorePlace) -> SnapshotView | AbstractContextManager[None]:
    view = Store(disk, place.path).view()
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
    place: StorePlace,
    disk: Disk,
    manifest: Manifest,
    tell: Tell,
    *,
    embedding: EmbeddingIdentity | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> tuple[str, ...]:
    """Complete the copy of this snapshot on the server if it is not; a server that cannot be asked is a warning.

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
                    away = RemoteCopy(disk, engine, tell, secrets=codebase.config.engine.allow_secrets)
                    away.send(view, counted=True)
                    away.mark(manifest)
                    return away.said
    except (EngineError, ConfigError) as trouble:
        return (NOT_LOOKED_AFTER.format(store=place.store_id, code=trouble.code),)
    return ()


# --- the steps of a run -----------------------------------------------------------------------------------------------


class RemoteCopy:
    """The copy of a store on the server, for the run that publishes. `sent` are the rows of each segment it sent.

    Without `secrets` nothing that holds some is sent, and no marker is written for it; `refused` says why.
    """

    def __init__(
        self,
        fs: Fs,
        engine: RowHome,
        tell: Tell = lambda _: None,
        beat: Callable[[], object] = int,
        *,
        secrets: bool = False,
    ) -> None:
        self._secrets = secrets
        self.refused: SecretsNotSent | None = None
        self._copies = Store(fs).copies
        self._engine = engine
        self._tell = tell
        self._beat = beat
        self.sent: dict[str, int] = {}

    @property
    def said(self) -> tuple[str, ...]:
        """Why nothing was sent, for whoever began the run; nothing when all was."""
        return () if self.refused is None else (f"{self.refused.sentence} {self.refused.advice}",)

    def check(self, view: SnapshotView) -> None:
        """Raise `SecretsNotSent` when a segment of the snapshot holds secrets, whether or not it was sent before."""
        from cairn.engine.rows import segments_of  # noqa: PLC0415

        if not self._secrets and (problem := refusal(segments_of(view), self._beat)):
            raise problem

    def send(self, view: SnapshotView, *, counted: bool = False) -> None:
        """Send every segment of the snapshot that the server lacks; with `counted`, the server counts its rows."""
        from cairn.engine.contract import SealedFile  # noqa: PLC0415
        from cairn.engine.rows import SegmentRows, segments_of  # noqa: PLC0415

        # A ping has the short timeout of a question; without it a server that is away would cost the timeout of a
        # write.
        self._engine.ping()
        there = self._engine.receipts(counted=counted)
        wanted = zip(view.manifest.segments, segments_of(view), strict=True)
        owed = [(ref, rows) for ref, rows in wanted if not _is_there(there, ref.name, ref.rows, ref.sha256)]
        self.refused = None if self._secrets else refusal((rows for _, rows in owed), self._beat)
        for done, (ref, rows) in enumerate(owed if self.refused is None else ()):
            self._tell(Progress(Phase.PUBLISHING, done, len(owed)))
            self._beat()
            with self._copies.files(ref.name) as found:
                files = [SealedFile(name, data) for name, data in found]
                self._engine.put_segment(SegmentRows(ref.name, ref.sha256, rows.part, files))
            self.sent[ref.name] = ref.rows

    def mark(self, manifest: Manifest) -> None:
        """Write the marker of a published snapshot, keyed by its run, with the manifest and what else it names."""
        if manifest.completion is None or self.refused is not None:
            return
        data, others = self._copies.documents(manifest)
        self._engine.put_marker(manifest.completion, data, others)

    def sweep(self) -> tuple[int, int]:
        """Remove what no kept snapshot names; return how many segments and markers went. The caller holds the lease.

        Removes nothing when a manifest cannot be read, because it may name anything.
        """
        self._engine.ping()
        kept = self._copies.kept()
        named = {ref.name for manifest in kept for ref in manifest.segments}
        runs = {manifest.snapshot_id for manifest in kept if manifest.completion is not None}
        # A killed run may have left its manifest on the server without a marker, and a killed sweep a marker without a
        # manifest.
        markers = [run for run in self._engine.runs(marked=False) if run not in runs]
        segments = sorted(({*self._engine.receipts()} | self._engine.orphans()) - named)
        for run in markers:
            self._beat()
            self._engine.clear_marker(run)
        for segment in segments:
            self._beat()
            self._engine.drop_segment(segment)
        return len(segments), len(markers)


def _is_there(receipts: Mapping[str, Receipt], segment: str, rows: int, sha256: str) -> bool:
    found = receipts.get(segment)
    return found is not None and (found.rows, found.sealed_sha256) == (rows, sha256)


# --- The copy of a snapshot on the user's server, for a reader: used when it is proven, and never in the way.


# Stores are named by their ids: an id tells several stores apart, and holds no text of a stranger.
_AWAY = (
    "The search server did not help with {store} ({code}); the answer is from this machine alone."
    " `cairn engine status` says more."
)
_UNPROVEN = (
    "The snapshot of {store} is not complete on the search server ({reason}); the answer is from this machine alone."
    " `cairn engine push` sends it."
)

# Until when a server that was too slow is left alone, by its address: when twenty codebases are searched together, one
# waits for the server, and not each in turn.
_resting: dict[str, float] = {}


def is_resting(uri: str, clock: Clock) -> bool:
    """Whether this server was too slow a moment ago and is left alone."""
    return clock.monotonic() < _resting.get(uri, -1.0)


class RemoteView:
    """The search server of a reader, if the settings name one."""

    def __init__(
        self, config: Config, place: StorePlace, environ: Mapping[str, str], embedding: EmbeddingIdentity, clock: Clock
    ) -> None:
        self._clock = clock
        self._place = place
        self._uri = config.engine.uri
        self._rows: MilvusRows | None = None
        self._trouble: CairnError | None = None
        # None: the server has not been asked yet.
        self._proof: Proof | None = None
        self._snapshot, self._again = "", -1.0
        if config.engine.kind != LOCAL:
            try:
                self._rows = remote_rows(config, place, environ, embedding=embedding, clock=clock)
            except CairnError as problem:
                # A missing token stops a run that sends, not a search.
                self._trouble = problem

    def close(self) -> None:
        """Close the connection; the next question opens it again."""
        if self._rows is not None:
            self._rows.close()

    def limit(self, until: float | None) -> None:
        """Let no question to the server last beyond this time of the clock; None: each has its own limit."""
        if self._rows is not None:
            self._rows.limit(until)

    def rows_of(self, manifest: Manifest) -> MilvusRows | None:
        """Return the rows of this snapshot on the server; None when the copy is not proven to be complete."""
        if self._rows is None:
            return None
        now = self._clock.monotonic()
        if manifest.snapshot_id != self._snapshot or (not self._is_proven and now >= self._again):
            self._snapshot = manifest.snapshot_id
            if is_resting(self._uri, self._clock):
                self._proof = PROBE_FAILED
            else:
                # All requests of this proof together get the time of one question, so that a search waits no longer
                # than that.
                self._rows.limit(now + ENGINE_SEARCH_SECONDS)
                self._proof = validate_remote_proof(self._rows, manifest, self._place)
                self._rows.limit(None)
            self._again = self._clock.monotonic() + ENGINE_REST_SECONDS
            if self.probe_failed and self._again - ENGINE_REST_SECONDS - now > ENGINE_SEARCH_SECONDS / 2:
                _resting[self._uri] = self._again
        return self._rows if self._is_proven else None

    @property
    def _is_proven(self) -> bool:
        return self._proof is not None and self._proof.is_valid

    @property
    def unproven(self) -> ProofReason | None:
        """Why the copy on the server is not believed; None when it is, or when no server was asked."""
        return None if self._proof is None else self._proof.reason

    @property
    def probe_failed(self) -> bool:
        """Whether the last probe could not be finished; that says nothing about what is there."""
        return self._proof is not None and self._proof.outcome is ProofOutcome.PROBE_FAILED

    def said(self, trouble: EngineError | None) -> tuple[str, ...]:
        """Return what an answer says about the server: nothing when the server did its part, or when there is none."""
        problem = trouble or self._trouble
        if problem is not None:
            return (_AWAY.format(store=self._place.store_id, code=problem.code),)
        if self.unproven is None:
            return ()
        if self.probe_failed:
            return (_AWAY.format(store=self._place.store_id, code=self.unproven.value),)
        return (_UNPROVEN.format(store=self._place.store_id, reason=self.unproven.value),)
