"""Say where a codebase stands: one function, and every face shows what it says.

`cairn status`, `cairn list` and `cairn health`, the tools of agents, the daemon and `cairn.open` take state, sentence
and advice from here, so that no two of them can disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from cairn.ask.gate import Gate, GateFacts, Lifecycle, decide, gate_error, lifecycle
from cairn.core.text import plain
from cairn.errors import CairnError
from cairn.store import RunOutcome, Tracked
from cairn.sync.codebase import Codebase, open_codebase
from cairn.sync.status import State, StoreStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.inventory import StoreEntry
    from cairn.sync.tracking import Codebases

_SENTENCES = {
    State.INDEXED: ("{root} is indexed.", ""),
    State.INDEXING: ("{root} is being indexed.", "Ask again when the run has ended."),
    State.CLEARED: ("The index of {root} was cleared.", "Run `cairn index` to fill it again."),
    State.NOT_INDEXED: ("{root} is not indexed.", "Run `cairn index` to index it."),
    State.CORRUPT: (
        "Store corrupt: no snapshot of {root} is whole.",
        "Run `cairn repair`, which keeps what is whole and reads the rest again; your files are untouched.",
    ),
}


@dataclass(frozen=True, slots=True)
class FailedRun:
    """The last run over a codebase, which failed: what it was, when it ended, and the code of its error."""

    kind: str
    at: str | None
    code: str | None

    @classmethod
    def told(cls, row: Mapping[str, Any]) -> Self:
        """Return the run that an answer tells of."""
        return cls(row["kind"], row["at"], row["code"])

    @property
    def sentence(self) -> str:
        """What to tell a person."""
        when = f" at {self.at}" if self.at else ""
        return plain(f"The last {self.kind} failed{when} ({self.code or 'internal'}).")

    @property
    def advice(self) -> str:
        """What to do about it."""
        verb = self.kind if self.kind in ("sync", "reindex", "repair") else "index"
        return f"Run `cairn {verb}` again; it says what is in the way."


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a codebase stands.

    `state` is one of six, `sentence` says it to people, and `advice` what to do (empty when the index answers).
    `failed` is the last run, when that failed; a failed run leaves as it is whatever answered before.
    """

    root: str
    state: Lifecycle
    sentence: str
    advice: str
    gate: Gate
    failed: FailedRun | None = None

    @property
    def answers(self) -> bool:
        """Whether the index answers questions."""
        return self.gate.is_open


def where(status: StoreStatus) -> Whereabouts:
    """Return where a codebase with this status stands; nothing else decides it."""
    writer = status.writer if status.writer is not None and status.writer.alive else None
    gate = decide(
        GateFacts(
            status.root,
            status.state,
            status.differs,
            status.failed,
            writer,
            status.snapshot.id if status.snapshot else None,
            proof=status.proof,
            stale=status.stale,
            strict=status.strict,
        )
    )
    state = lifecycle(status.state, status.tracked, differs=bool(status.differs), failed=status.failed)
    return Whereabouts(status.root, state, *_said(status, gate), gate, _failed(status.tracked))


def _said(status: StoreStatus, gate: Gate) -> tuple[str, str]:
    if gate.is_open or (status.state is not State.INDEXED and not status.differs and not status.stale):
        return state_sentence(status.state, status.root)
    problem = gate_error(gate, status.root)
    sentence = state_sentence(State.CORRUPT, status.root)[0] if status.state is State.CORRUPT else problem.sentence
    return plain(sentence), plain(problem.advice)


def _failed(last: Tracked | None) -> FailedRun | None:
    if last is None or last.last_run_outcome is not RunOutcome.FAILED:
        return None
    return FailedRun(last.last_run_kind or "run", last.last_run_at, last.last_error_code)


def state_sentence(state: State, root: str) -> tuple[str, str]:
    """Return what the state of a store means, and what to do about it (empty when it is indexed)."""
    sentence, advice = _SENTENCES[state]
    return plain(sentence.format(root=root)), advice


# --- many codebases ---------------------------------------------------------------------------------------------------


def where_all(
    found: Codebases, environ: Mapping[str, str], look: Callable[[Codebase], StoreStatus]
) -> dict[str, Whereabouts]:
    """Return where each of these codebases stands, by its root; `look` returns the status of one.

    A folder that is gone, or whose settings cannot be read, is left out: only its store can tell something of it.
    """
    roots = {one.root for one in found.stores if one.root and one.root_exists} | {one.root for one in found.tracked}
    standing = {}
    for root in sorted(roots):
        try:
            codebase = open_codebase(root, environ, with_tracked=False)
            if codebase.root.path == root:
                standing[root] = where(look(codebase))
        except (CairnError, OSError):
            continue
    return standing


def where_at_most(entry: StoreEntry | None, tracked: Tracked | None, *, writing: bool) -> Whereabouts:
    """Return where a codebase stands as far as its store and the registry tell: of a folder that is gone."""
    begun = tracked is not None and tracked.last_run_outcome is RunOutcome.BEGUN
    has_snapshot = entry is not None and entry.active_snapshot_id is not None
    if writing and (begun or not has_snapshot):
        state = State.INDEXING
    elif not has_snapshot:
        state = State.NOT_INDEXED
    else:
        state = State.CLEARED if entry is not None and entry.cleared else State.INDEXED
    root = (entry.root if entry else None) or (tracked.root if tracked else "")
    failed = state is State.NOT_INDEXED and tracked is not None and tracked.failed
    return where(StoreStatus(state, root, "", "", failed=failed, tracked=tracked))
