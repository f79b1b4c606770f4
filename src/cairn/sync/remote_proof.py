"""Is the copy of a snapshot on a search server complete? The one place where that is decided. And how a server stands.

The words are those of the proof of the index itself. What was asked for and is not there is missing; a question that
was not answered proves nothing either way. That a collection exists, or that all rows are in it, proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.limits import ENGINE_SEARCH_SECONDS
from cairn.engine.choose import LOCAL
from cairn.errors import CairnError, EngineDamaged, EngineError, StoreCorrupt
from cairn.store.manifest import PROOF, Manifest
from cairn.store.standing import PROVEN, UNPROVEN, Proof, ProofOutcome, ProofReason, State
from cairn.sync.codebase import Codebase
from cairn.sync.place import Place, place_of
from cairn.sync.proof import same_place
from cairn.sync.reading import stand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.contract import RowHome

PROBE_FAILED = Proof(ProofOutcome.PROBE_FAILED, ProofReason.PROBE_FAILED)


@dataclass(frozen=True, slots=True)
class EngineStanding:
    """Where rows are searched, and how that place stands. `proof` is None where there is no snapshot to prove.

    That is so while a run makes the index anew, too: until it ends, no marker counts.
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


def validate_remote_proof(engine: RowHome, manifest: Manifest, place: Place) -> Proof:
    """What the marker on the server proves for this snapshot. It changes nothing and never raises."""
    try:
        return proof_there(engine, manifest, place)
    except EngineError:
        return PROBE_FAILED


def proof_there(engine: RowHome, manifest: Manifest, place: Place) -> Proof:
    """The same, but a question that was not answered is raised as the `EngineError` that it is."""
    own = manifest.completion
    if own is None:
        return UNPROVEN
    try:
        marker = engine.get_marker(own.run_id)
    except EngineDamaged as problem:
        cause = problem.__cause__
        if not isinstance(cause, StoreCorrupt):
            raise
        other_kind = cause.fields["artifact"] == PROOF
        return _stale(ProofReason.INVALID_MARKER_KIND if other_kind else ProofReason.INVALID_PAYLOAD)
    if marker is None:
        return UNPROVEN
    if not same_place(marker.codebase_path, place.root):
        return _stale(ProofReason.PATH_MISMATCH)
    if marker.fingerprint != place.fingerprint.digest:
        return Proof(ProofOutcome.FINGERPRINT_MISMATCH, ProofReason.FINGERPRINT_MISMATCH)
    # The two must agree: a marker of the same run with other numbers is none of ours.
    return PROVEN if marker == own else _stale(ProofReason.INVALID_PAYLOAD)


def engine_standing(
    codebase: Codebase, home: str, environ: Mapping[str, str], clock: Clock = SYSTEM_CLOCK
) -> EngineStanding:
    """Which place searches rows, and whether it can: one look, within the time of one question; it never raises."""
    config = codebase.config
    if config.engine.kind == LOCAL:
        return EngineStanding()
    from cairn.sync.remote import remote_rows  # noqa: PLC0415

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


def believed(place: Place) -> Manifest | None:
    """The snapshot that answers; None where there is none, or while it counts for nothing."""
    standing = stand(place)
    if standing.view is None:
        return None
    with standing.view as view:
        return view.manifest if standing.state is State.INDEXED else None


def _stale(reason: ProofReason) -> Proof:
    return Proof(ProofOutcome.STALE_LOCAL, reason)
