"""Facts come in one by one and leave as sealed batches of a bounded size."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple, cast

import pytest

import cairn.sync.batches as batches_module
from cairn.core.types import FileFacts, FileStat, SkipReason, SourceFile, StoredFile
from cairn.store.format.layout import create_store
from cairn.store.format.seal import Remembered
from cairn.store.publish.staging import BatchWriter, Staging, staged_records
from cairn.store.publish.writer import Writer
from cairn.sync.batches import Packer
from cairn.syntax.analyze import analyze
from tests.conformance import conforms
from tests.store.disks import MemoryDisk
from tests.support.faults import Faults
from tests.sync.desk import Model

RUN = "01KA3M7Q2W0000000000000000"


def facts(name: str, data: bytes) -> FileFacts:
    syntax, chunks = analyze(data, "python")
    source = SourceFile(name, name.encode(), data, sha256(data).hexdigest(), FileStat(len(data), 1, 1, 1))
    return FileFacts(source, syntax, chunks)


def skip(name: str) -> StoredFile:
    return StoredFile(name, FileStat(3, 1, 1, 1), "", "", "", SkipReason.BINARY, "", 3, 0, "")


class Run(NamedTuple):
    """What a packer needs of a run that writes."""

    disk: MemoryDisk
    staging: Staging

    def segments(self, dimension: int, chunker_version: str) -> BatchWriter:
        return BatchWriter(self.disk, self.staging, dimension, chunker_version)


class Bench:
    """A packer over a disk in memory."""

    def __init__(self, most_bytes: int, model: Model | None = None, first_bytes: int | None = None) -> None:
        self.disk = MemoryDisk()
        create_store(self.disk)
        self.model = model or Model()
        self.beats = 0
        staging = Staging(self.disk, RUN, Remembered())
        writer = cast("Writer", Run(self.disk, staging))
        first = most_bytes if first_bytes is None else first_bytes
        self.packer = Packer(writer, self.model, None, most_bytes, first, "0" * 64, self.beat)

    def beat(self) -> None:
        self.beats += 1

    def contents(self, *, stopped: bool = False) -> list[list[str]]:
        self.packer.finish(stopped=stopped)
        return [[record.key for record in staged_records(self.disk, RUN, batch)] for batch in self.packer.batches]


@conforms("003.LIM1")
@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ((99,), [1]),
        ((100,), [1]),
        ((101,), [1]),
        ((50, 49), [2]),
        ((50, 50), [2]),
        ((50, 51), [1, 1]),
        ((99, 1, 1), [2, 1]),
        ((99, 2), [1, 1]),
        ((10, 500, 10), [1, 1, 1]),
    ],
)
def test_no_batch_holds_more_than_it_may_unless_one_file_does(
    sizes: tuple[int, ...], batches: list[int], faults: Faults
) -> None:
    faults.limit(batches_module, EMBED_GROUP_BYTES=120)
    bench = Bench(100)
    for number, size in enumerate(sizes):
        bench.packer.add(facts(f"f{number}.py", b"#" * (size - 1) + b"\n"))
    found = bench.contents()
    assert [len(batch) for batch in found] == batches
    assert [key for batch in found for key in batch] == [f"f{number}.py" for number in range(len(sizes))]
    assert bench.beats


def test_the_first_batches_are_small_so_that_something_can_answer_soon(faults: Faults) -> None:
    faults.limit(batches_module, EMBED_GROUP_BYTES=1)
    bench = Bench(40, first_bytes=10)
    for number in range(20):
        bench.packer.add(facts(f"f{number:02}.py", b"#" * 9 + b"\n"))
    assert [len(batch) for batch in bench.contents()] == [1, 2, 4, 4, 4, 4, 1]


def test_nothing_given_makes_no_batch() -> None:
    assert Bench(100).contents() == []


def test_files_that_are_left_out_are_written_down_too() -> None:
    bench = Bench(1_000)
    bench.packer.add_skip(skip("image.png"))
    bench.packer.add(facts("a.py", b"a = 1\n"))
    assert bench.contents() == [["image.png", "a.py"]]
    assert (bench.packer.batches[0].files, bench.packer.batches[0].rows) == (1, 1)
    alone = Bench(1_000)
    alone.packer.add_skip(skip("image.png"))
    assert alone.contents() == [["image.png"]]


def test_a_text_that_cannot_be_embedded_fails_its_own_file_only() -> None:
    bench = Bench(1_000, Model(poison=b"bad"))
    for name in ("a", "bad", "c"):
        bench.packer.add(facts(f"{name}.py", f"{name} = 1\n".encode()))
    assert bench.contents() == [["a.py", "c.py"]]
    assert [(failed.path, failed.code) for failed in bench.packer.failed] == [("bad.py", "embedding_failed")]


@pytest.mark.parametrize(("cheap", "kept"), [(True, [["a.py"]]), (False, [])])
def test_who_is_stopped_does_not_wait_for_a_remote_model(cheap: bool, kept: list[list[str]]) -> None:
    bench = Bench(1_000, Model(cheap=cheap))
    bench.packer.add(facts("a.py", b"a = 1\n"))
    assert bench.contents(stopped=True) == kept
    assert len(bench.model.texts) == len(kept)


def test_small_files_are_embedded_together() -> None:
    bench = Bench(1_000)
    calls: list[int] = []
    embed = bench.model.embed
    bench.model.embed = lambda texts: calls.append(len(texts)) or embed(texts)  # type: ignore[method-assign,func-returns-value]
    for number in range(5):
        bench.packer.add(facts(f"f{number}.py", b"a = %d\n" % number))
    bench.packer.finish()
    assert calls == [5]
