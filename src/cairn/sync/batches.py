"""Turn the facts of files into sealed batches with vectors, holding only a bounded amount in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cairn.core.limits import EMBED_GROUP_BYTES
from cairn.core.types import FileFacts, StoredFile
from cairn.embedding.cache import EmbeddingCache, embed_with_cache
from cairn.embedding.model import Embedder
from cairn.errors import EmbeddingFailed
from cairn.store import Writer
from cairn.sync.report import FailedFile
from cairn.syntax.identity import CHUNKER_VERSION


@dataclass
class Packer:
    """Takes facts and skip records one by one, and seals a batch whenever enough text has come together.

    No batch holds more text than `most_bytes`, unless a single file does. The first holds at most `first_bytes`, and
    each after it twice as much as the one before: of an index that is still being made something can answer soon. A
    file that cannot be embedded goes to `failed`.
    """

    writer: Writer
    embedder: Embedder
    cache: EmbeddingCache | None
    most_bytes: int
    first_bytes: int
    fingerprint: str
    beat: Callable[[], None]
    failed: list[FailedFile] = field(default_factory=list)
    _group: list[FileFacts] = field(default_factory=list)
    _group_bytes: int = 0

    def __post_init__(self) -> None:
        self._segments = self.writer.segments(self.embedder.identity.dimension, CHUNKER_VERSION)
        self.batches = self._segments.batches
        self._bound = min(self.first_bytes, self.most_bytes)

    def add(self, facts: FileFacts) -> None:
        """Add a file with its facts; vectors are made for many files at once."""
        self._group.append(facts)
        self._group_bytes += len(facts.source.data)
        if self._group_bytes >= EMBED_GROUP_BYTES:
            self._embed()

    def add_skip(self, record: StoredFile) -> None:
        """Add the record of a file that was read and is not indexed."""
        self._segments.add_skip(record)

    def finish(self, *, stopped: bool = False) -> None:
        """Seal the last of the `batches`; when `stopped`, a slow model is not asked for vectors that are missing."""
        if self.embedder.cheap or not stopped:
            self._embed()
        self._seal()

    def _embed(self) -> None:
        group, self._group, self._group_bytes = self._group, [], 0
        if not group:
            return
        self.beat()
        try:
            self._store(group)
        except EmbeddingFailed:
            # A single text may be what the model refuses: try each file alone, so that only its own file fails.
            for facts in group:
                try:
                    self._store([facts])
                except EmbeddingFailed as problem:
                    self.failed.append(FailedFile(facts.source.key, problem.code, problem.sentence))

    def _store(self, group: Sequence[FileFacts]) -> None:
        texts = [text for facts in group for text in _texts(facts)]
        hashes = [chunk.chunk_hash for facts in group for chunk in facts.chunks]
        vectors = embed_with_cache(self.embedder, self.cache, self.fingerprint, hashes, texts, self.beat)
        at = 0
        for facts in group:
            if self._segments.pending and self._segments.payload + len(facts.source.data) > self._bound:
                self._seal()
            self._segments.add(facts, vectors[at : at + len(facts.chunks)])
            at += len(facts.chunks)
            if self._segments.payload >= self._bound:
                self._seal()

    def _seal(self) -> None:
        if self._segments.pending:
            self.beat()
            self._segments.seal()
            self._bound = min(2 * self._bound, self.most_bytes)


def _texts(facts: FileFacts) -> Iterator[bytes]:
    data = facts.source.data
    return (data[chunk.start_byte : chunk.end_byte] for chunk in facts.chunks)
