"""The copy of a snapshot on the user's server, for a reader: used when it is proven, and never in the way.

The server is asked once for each snapshot, and again after a while when that was to no avail. Whatever it says, the
snapshot here answers: the server can only take work off this machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from cairn.core.clock import Clock
from cairn.core.config import Config
from cairn.core.fingerprint import EmbeddingIdentity
from cairn.core.limits import ENGINE_REST_SECONDS, ENGINE_SEARCH_SECONDS
from cairn.engine.choose import LOCAL
from cairn.errors import CairnError, EngineError
from cairn.store.manifest import Manifest
from cairn.store.standing import Proof, ProofOutcome, ProofReason
from cairn.sync.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.milvus_rows import MilvusRows

# By the id of the store: it tells several apart, and nobody else wrote it.
_AWAY = (
    "The search server did not help with {store} ({code}); the answer is from this machine alone."
    " `cairn engine status` says more."
)
_UNPROVEN = (
    "The snapshot of {store} is not complete on the search server ({reason}); the answer is from this machine alone."
    " `cairn engine push` sends it."
)

# Until when a server that let somebody wait in vain is left alone, by its address: of twenty codebases that are
# searched together one waits for it, and not each in turn.
_resting: dict[str, float] = {}


def is_resting(uri: str, clock: Clock) -> bool:
    """Whether a server let somebody wait in vain a moment ago."""
    return clock.monotonic() < _resting.get(uri, -1.0)


class RemoteView:
    """The server that the settings name, if they name one."""

    def __init__(
        self, config: Config, place: Place, environ: Mapping[str, str], embedding: EmbeddingIdentity, clock: Clock
    ) -> None:
        self._clock = clock
        self._place = place
        self._uri = config.engine.uri
        self._rows: MilvusRows | None = None
        self._trouble: CairnError | None = None
        # None: the server was not asked, which says nothing.
        self._proof: Proof | None = None
        self._snapshot, self._again = "", -1.0
        if config.engine.kind != LOCAL:
            from cairn.sync.remote import remote_rows  # noqa: PLC0415

            try:
                self._rows = remote_rows(config, place, environ, embedding=embedding, clock=clock)
            except CairnError as problem:
                # A token that is not set stops who sends, not who searches.
                self._trouble = problem

    def close(self) -> None:
        """Let go of the connection; the next question makes it anew."""
        if self._rows is not None:
            self._rows.close()

    def limit(self, until: float | None) -> None:
        """No question to the server lasts beyond this time of the clock; None: each may take its own."""
        if self._rows is not None:
            self._rows.limit(until)

    def rows_of(self, manifest: Manifest) -> MilvusRows | None:
        """The rows of this snapshot there; None when they are not proven to be all there."""
        if self._rows is None:
            return None
        now = self._clock.monotonic()
        if manifest.snapshot_id != self._snapshot or (not self._is_proven and now >= self._again):
            from cairn.sync.remote_proof import PROBE_FAILED, validate_remote_proof  # noqa: PLC0415

            self._snapshot = manifest.snapshot_id
            if is_resting(self._uri, self._clock):
                self._proof = PROBE_FAILED
            else:
                # Whatever it takes to look: a search that waits for it waits for one question.
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
        """Why the copy on the server is not believed; None when it is, when there is none, or before it was asked."""
        return None if self._proof is None else self._proof.reason

    @property
    def probe_failed(self) -> bool:
        """Whether the last look could not be finished; that says nothing about what is there."""
        return self._proof is not None and self._proof.outcome is ProofOutcome.PROBE_FAILED

    def said(self, trouble: EngineError | None) -> tuple[str, ...]:
        """What an answer tells of the server: nothing when it did its part, or when there is none."""
        problem = trouble or self._trouble
        if problem is not None:
            return (_AWAY.format(store=self._place.store_id, code=problem.code),)
        if self.unproven is None:
            return ()
        if self.probe_failed:
            return (_AWAY.format(store=self._place.store_id, code=self.unproven.value),)
        return (_UNPROVEN.format(store=self._place.store_id, reason=self.unproven.value),)
