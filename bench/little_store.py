"""Stores made for measuring: one that takes a file at a time, two of the same chunks in few and in many segments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cairn.core.clock import SYSTEM_CLOCK, rfc3339
from cairn.core.config import Config, LimitConfig
from cairn.core.fingerprint import EmbeddingIdentity, IndexParts, index_fingerprint
from cairn.core.types import FileFacts, FileStat, Root, SourceFile
from cairn.source.beneath import Tree
from cairn.source.walk import walk
from cairn.store.disk import Disk
from cairn.store.format.build import SegmentBuilder
from cairn.store.format.manifest import GitState
from cairn.store.format.tombstones import Tombstone, TombstoneReason
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Layer
from cairn.store.publish.writer import Writer, open_writer
from cairn.sync.pool import extract_all
from cairn.syntax.analyze import analyze
from cairn.syntax.identity import CHUNKER_VERSION

DIMENSION = 256
_IDENTITY = EmbeddingIdentity("fake", "fake", "1", DIMENSION)
_FINGERPRINT = index_fingerprint(Config(), IndexParts((), CHUNKER_VERSION, "1", "1", 1, (), _IDENTITY))
_STORE_ID = f"bench__{'0' * 16}__{_FINGERPRINT.digest[:16]}"
FEW, MANY = 8, 64


class Published(NamedTuple):
    """Where a store lies, and in how many segments."""

    home: str
    below: str
    segments: int


class CountingDisk(Disk):
    """The real disk, and how often it was asked to sync."""

    __slots__ = ("syncs",)
    syncs: int

    def sync_file(self, path: str) -> None:
        self.syncs += 1
        super().sync_file(path)

    def sync_folder(self, path: str) -> None:
        self.syncs += 1
        super().sync_folder(path)


def one_file_publish(disk: CountingDisk, number: int) -> tuple[float, list[tuple[str, bytes]]]:
    """Seconds from a parsed and embedded file to its published snapshot, and the files that were written for it."""
    data = f"def answer_{number}():\n    return {number}\n".encode() * 40
    syntax, chunks = analyze(data, "python")
    source = SourceFile("main.py", b"main.py", data, sha256(data).hexdigest(), FileStat(len(data), 1, 1, 1))
    vectors = np.full((len(chunks), DIMENSION), 1 / 16, np.float32)
    disk.syncs = 0
    full = number % 40 == 0
    with open_writer(disk, "bench", RunKind.REINDEX if full else RunKind.SYNC, rebuild=full) as writer:
        started = time.perf_counter()
        builder = SegmentBuilder(DIMENSION, CHUNKER_VERSION)
        builder.add(FileFacts(source, syntax, chunks), vectors)
        builder.write(disk, writer.staging.begin())
        batch = writer.staging.seal(builder.rows, builder.files)
        gone = () if full else (Tombstone("main.py", TombstoneReason.REPLACE),)
        layer = Layer(gone, (batch,))
        manifest = publish(writer, _draft((layer,), 1, on_base=not full), lambda: True, SYSTEM_CLOCK)
        took = time.perf_counter() - started
        assert manifest is not None
        folders = [f"segments/{manifest.segments[-1].name}", f"snapshots/{manifest.snapshot_id}"]
        names = [f"{folder}/{name}" for folder in folders for name in disk.list_folder(folder)]
        names += ["ACTIVE_SNAPSHOT"]
        return took, [(name.replace("/", "-"), disk.read(name, 1 << 30)) for name in names]


def make_stores(root: Root, home: Path, chunks: int) -> tuple[Published, Published]:
    """The first chunks of a tree, published once in 8 segments and once in 64."""
    few, many = (Published(str(home), f"data/{count}", count) for count in (FEW, MANY))
    with (
        Disk.at(few.home, few.below, create=True) as few_disk,
        Disk.at(many.home, many.below, create=True) as many_disk,
        open_writer(few_disk, "bench", RunKind.CREATE) as few_writer,
        open_writer(many_disk, "bench", RunKind.CREATE) as many_writer,
    ):
        # Rounded up, so that the last segment takes what is left.
        small, large = _Builders(many_writer, chunks // MANY + 1), _Builders(few_writer, chunks // FEW + 1)
        for facts in _facts(root):
            vectors = np.full((len(facts.chunks), DIMENSION), 1 / 16, np.float32)
            small.add(facts, vectors)
            large.add(facts, vectors)
            if small.rows >= chunks:
                break
        for builders, writer in ((small, many_writer), (large, few_writer)):
            layers = (Layer((), tuple(builders.finish())),)
            assert publish(writer, _draft(layers, builders.files, on_base=False), lambda: True, SYSTEM_CLOCK)
    return few, many


class _Builders:
    """Segments of about the same number of chunks, one after the other."""

    def __init__(self, writer: Writer, rows_each: int) -> None:
        self._writer, self._rows_each = writer, rows_each
        self._builder = SegmentBuilder(DIMENSION, CHUNKER_VERSION)
        self._batches = []
        self.rows = self.files = 0

    def add(self, facts: FileFacts, vectors: np.ndarray) -> None:
        self._builder.add(facts, vectors)
        self.rows += len(facts.chunks)
        self.files += 1
        if self.rows >= self._rows_each * (len(self._batches) + 1):
            self.finish()

    def finish(self):
        if self._builder.files:
            self._builder.write(self._writer.fs, self._writer.staging.begin())
            self._batches.append(self._writer.staging.seal(self._builder.rows, self._builder.files))
            self._builder = SegmentBuilder(DIMENSION, CHUNKER_VERSION)
        return self._batches


def _facts(root: Root) -> Iterator[FileFacts]:
    with Tree(root) as tree:
        candidates = walk(tree, Config()).candidates
    # Taken evenly, so that all languages of the tree are there; most trees of this size hold several times as much.
    spread = [*islice(candidates, 0, None, 2), *islice(candidates, 1, None, 2)]
    for outcome in extract_all(root, spread, LimitConfig()):
        if isinstance(outcome, FileFacts):
            yield outcome


def _draft(layers: tuple[Layer, ...], files: int, *, on_base: bool) -> Draft:
    return Draft(
        root="/bench",
        store_id=_STORE_ID,
        fingerprint=_FINGERPRINT,
        ignore_fingerprint="0" * 64,
        git=GitState(None, False, True),
        read_at=rfc3339(SYSTEM_CLOCK.wall_ns()),
        on_base=on_base,
        layers=layers,
        files=files,
    )
