"""A store of a few plain texts on any disk: what the fault suites publish, crash, tear and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from cairn.core.clock import Clock, Processes, ProcessId, rfc3339
from cairn.core.config import Config
from cairn.core.fingerprint import EmbeddingIdentity, IndexParts, index_fingerprint
from cairn.core.types import FileFacts, FileStat, SkipRecord, SourceFile
from cairn.store.format.build import SegmentBuilder
from cairn.store.format.manifest import GitState, Manifest
from cairn.store.format.tombstones import Tombstone, TombstoneReason
from cairn.store.fs import Fs
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Layer
from cairn.store.publish.writer import Writer, open_writer
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.syntax.analyze import cut_by_lines
from cairn.syntax.identity import CHUNKER_VERSION
from tests.store.disks import MemoryDisk
from tests.support.clock import ManualClock

DIMENSION = 4
FINGERPRINT = index_fingerprint(
    Config(), IndexParts((), CHUNKER_VERSION, "1", "1", 1, (), EmbeddingIdentity("fake", "fake", "1", DIMENSION))
)
STORE_ID = f"little__{'0' * 16}__{FINGERPRINT.digest[:16]}"
ROOT = "/little"
IGNORE = "0" * 64
GIT = GitState(None, False, True)

FactsOf = Callable[[str, bytes], FileFacts]


@dataclass
class FewProcesses:
    """A machine on which only the listed processes live; `pid` is who asks."""

    pid: int = 1
    alive: set[int] = field(default_factory=lambda: {1})

    def me(self) -> ProcessId:
        return ProcessId(self.pid, 1, "00000000-0000-0000-0000-000000000000", 1, "host")

    def is_gone(self, process: ProcessId) -> bool:
        return process.pid not in self.alive

    def is_running(self, process: ProcessId) -> bool:
        me = self.me()
        return process.pid in self.alive and (process.boot_id, process.namespace) == (me.boot_id, me.namespace)


def facts(key: str, data: bytes) -> FileFacts:
    """A file as the workers would send it, cut by lines."""
    syntax, chunks = cut_by_lines(data, "text")
    stat = FileStat(len(data), 1, 1, 1)
    return FileFacts(SourceFile(key, key.encode(), data, sha256(data).hexdigest(), stat), syntax, chunks)


def write_batch(
    writer: Writer, files: Mapping[str, bytes], skips: Iterable[SkipRecord] = (), facts_of: FactsOf = facts
) -> Layer:
    """Seal the texts, and these skip records, as one batch; no tombstones yet."""
    skips = tuple(skips)
    if not files and not skips:
        return Layer()
    builder = SegmentBuilder(DIMENSION, CHUNKER_VERSION)
    for key, data in sorted(files.items()):
        made = facts_of(key, data)
        builder.add(made, np.full((len(made.chunks), DIMENSION), 0.5, np.float32))
    for record in skips:
        builder.add_skip(record)
    builder.write(writer.fs, writer.staging.begin())
    return Layer((), (writer.staging.seal(builder.rows, builder.files),))


def draft(
    writer: Writer, files: Mapping[str, bytes], clock: Clock, *, full: bool = False, facts_of: FactsOf = facts
) -> Draft:
    """What makes the store hold exactly these files: changed ones in a new batch, gone ones under tombstones."""
    base = {} if full or writer.view is None else contents(writer.view)
    changed = {key: data for key, data in files.items() if base.get(key) != data}
    tombstones = [
        Tombstone(key, TombstoneReason.REPLACE if key in files else TombstoneReason.DELETE)
        for key in base
        if files.get(key) != base[key]
    ]
    layer = Layer(tuple(tombstones), write_batch(writer, changed, facts_of=facts_of).batches)
    expected: dict[str, str | None] = {key: sha256(data).hexdigest() for key, data in files.items()}
    return Draft(
        root=ROOT,
        store_id=STORE_ID,
        fingerprint=FINGERPRINT,
        ignore_fingerprint=IGNORE,
        git=GIT,
        read_at=rfc3339(clock.wall_ns()),
        on_base=not full and writer.base is not None and writer.base.completion is not None,
        layers=(layer,) if layer.tombstones or layer.batches else (),
        expected=expected | {key: None for key in base if key not in files},
        files=len(files),
    )


def save(
    fs: Fs,
    files: Mapping[str, bytes],
    *,
    clock: Clock | None = None,
    processes: Processes | None = None,
    full: bool = False,
    is_fresh: Callable[[], bool] = lambda: True,
    facts_of: FactsOf = facts,
) -> Manifest | None:
    """One whole run: take the lease, seal, publish, let go. `facts_of` makes the facts of a file from its bytes."""
    clock = clock or ManualClock()
    kind = RunKind.REINDEX if full else RunKind.SYNC
    with open_writer(fs, "store", kind, clock=clock, processes=processes or FewProcesses(), rebuild=full) as writer:
        return publish(writer, draft(writer, files, clock, full=full, facts_of=facts_of), is_fresh, clock)


def contents(view: SnapshotView) -> dict[str, bytes]:
    """Every live file of a view, with its bytes."""
    found = {}
    for key in view.records():
        text = view.text(key)
        assert text is not None
        found[key] = bytes(text)
    return found


def load(fs: Fs) -> dict[str, bytes] | None:
    """What a reader finds; None when nothing was published."""
    view = open_view(fs, "store")
    if view is None:
        return None
    with view:
        return contents(view)


# --- what a flipped bit, a clumsy tool or a stranger does to a store --------------------------------------------------


def all_files(fs: Fs, folder: str = "") -> list[str]:
    """Every file of a store, by path."""
    paths = [f"{folder}/{name}".lstrip("/") for name in fs.list_folder(folder)]
    return [file for path in paths for file in (all_files(fs, path) if fs.stat(path).is_folder else [path])]


def rewrite(fs: MemoryDisk, path: str, data: bytes) -> None:
    """Put other bytes into a file, sealed or not, under all of its names; its times show it."""
    fs._step += 1
    inode = fs._file(path)
    fs._files[inode] = fs._files[inode]._replace(data=data, safe=len(data), mtime=fs._step, ctime=fs._step)


def open_up(fs: MemoryDisk, path: str, mode: int) -> None:
    """Give a name rights that the store would never give it."""
    inode = fs._inode(path)
    if inode in fs._folders:
        fs._folders[inode] = fs._folders[inode]._replace(mode=mode)
    else:
        fs._files[inode] = fs._files[inode]._replace(mode=mode)


def part_names(fs: MemoryDisk, path: str) -> None:
    """Let a file that has two names become two files, as in a store that was copied."""
    data, sealed = fs.read(path, 1 << 30), fs.stat(path).mode & 0o777
    fs.remove(path)
    fs.create_bytes(path, data)
    open_up(fs, path, sealed)
