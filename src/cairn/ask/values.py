"""The values that questions are answered with; `cairn.answer` renders them, and nothing here knows how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cairn.ask.gate import Gate, Status
from cairn.errors import Ambiguous, CairnError, NotFound, Unsupported
from cairn.graph.outline import Definition
from cairn.search.types import ChunkSpan, Found, Hit
from cairn.store import WriterInfo
from cairn.sync.proof import ProofReason
from cairn.sync.report import Freshness
from cairn.sync.status import ProposedIndex, SnapshotInfo


@dataclass(frozen=True, slots=True)
class Source:
    """The snapshot that an answer is from; `later` holds warnings for the answer, such as that of a later format.

    `engine_proof` is why the copy of it on a search server was not used. `working` holds the files that were read from
    the working tree for this answer, each with its hash: of them the snapshot has another version, or none. `overlay`
    names them all. `narrowed` says, in a sentence each, what was not looked at although nobody asked for that.
    """

    snapshot: SnapshotInfo
    index_fingerprint: str
    ignore_fingerprint: str
    query_fingerprint: str
    skipped: tuple[tuple[str, int], ...]
    freshness: Freshness
    writer: WriterInfo | None = None
    damaged: bool = False
    later: tuple[str, ...] = ()
    probe_failed: bool = False
    engine_proof: ProofReason | None = None
    working: Mapping[str, str] = field(default_factory=dict)
    overlay: str = ""
    proposed: ProposedIndex | None = None
    narrowed: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all code that is there was looked at, as it was when the question came.

        A file that could not be indexed could hold what was not found too.
        """
        return self.freshness.is_current and not self.snapshot.degraded and not self.narrowed

    @property
    def pages_on(self) -> str:
        """The name of what answers, as the token of a next page holds it: that page comes from just the same.

        Empty for an index that is still being made: a moment later it holds more.
        """
        return "" if self.freshness.files else f"{self.snapshot.id}{self.overlay}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one codebase: its results and their source, or a closed gate, or an error."""

    path: str
    root: str
    source: Source | None = None
    found: Found | None = None
    gate: Gate | None = None
    error: CairnError | None = None

    @property
    def status(self) -> Status:
        if self.found is not None:
            return Status.OK
        return self.gate.status if self.gate is not None else Status.ERROR


@dataclass(frozen=True, slots=True)
class Page:
    """One page of results from one or several codebases: the merged hits, each with the number of its codebase.

    `question` is the digest of the question in the token of the next page. `last` is the highest offset that can be
    asked for.
    """

    hits: tuple[tuple[int, Hit], ...]
    total: int
    offset: int
    question: str
    shortened: bool = False
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a question has no answer, with candidates that were perhaps meant; `total` counts all candidates."""

    error: NotFound | Ambiguous | Unsupported
    candidates: tuple[Definition, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class Symbols:
    """The best definitions whose name fits, the number of all that fit, and the number of files searched.

    `offset` definitions were on the pages before; `question` is the digest of the question in the token of the next
    page.
    """

    definitions: tuple[Definition, ...]
    total: int
    files: int
    offset: int = 0
    question: str = ""


@dataclass(frozen=True, slots=True)
class Similar:
    """The chunk that was pointed at, and the chunks that are similar to it."""

    chunk: ChunkSpan
    found: Found


Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Reply(Generic[Told]):
    """The reply of a codebase to a question: a value, a miss, or (with neither) a closed gate."""

    path: str
    root: str
    gate: Gate
    source: Source | None = None
    value: Told | None = None
    miss: Miss | None = None
