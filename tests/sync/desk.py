"""A real folder, its store on the real disk, and the runs over them, with a model that counts what it is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

import cairn.source.changes as changes_module
import cairn.source.listing as listing_module
import cairn.sync.catchup as catchup_module
import cairn.sync.pool as extract_module
import cairn.sync.status as status_module
from cairn.core.clock import Clock
from cairn.core.config import LimitConfig
from cairn.core.progress import Progress
from cairn.core.types import Candidate, ExtractOutcome, ReadOutcome, Root
from cairn.embedding.model import Vectors
from cairn.errors import EmbeddingFailed
from cairn.source.beneath import Tree
from cairn.source.stable_read import read_stable
from cairn.store.format.manifest import Manifest
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.store.repair.verify import FindingLevel, check
from cairn.sync import run
from cairn.sync.codebase import Codebase, StorePlace, open_codebase, place_of
from cairn.sync.pool import extract
from cairn.sync.report import RunOptions, RunReport
from cairn.sync.status import StoreStatus, look
from tests.support.clock import ManualClock
from tests.support.fake_embedder import FakeEmbedder
from tests.support.repos import commit, make_repo, run_git
from tests.support.trees import write_tree


def ahead() -> ManualClock:
    """A clock that is ahead of the files: each has been quiet for long, and none is close to a sync."""
    return ManualClock.over_system(10.0)


class Model(FakeEmbedder):
    """A model that remembers every text it was given, and refuses those that hold `poison`."""

    def __init__(self, *, dimension: int = 8, cheap: bool = True, poison: bytes | None = None) -> None:
        super().__init__(dimension, cheap=cheap)
        self.texts: list[bytes] = []
        self.poison = poison

    def embed(self, texts: Sequence[bytes]) -> Vectors:
        if self.poison is not None and any(self.poison in text for text in texts):
            raise EmbeddingFailed(why="it does not like this text")
        self.texts += texts
        return super().embed(texts)


def silent(_: Progress) -> None:
    """Tell nobody."""


class Desk:
    """A tree, a home, a model and a clock; every run takes them."""

    def __init__(self, folder: Path, *, with_git: bool = False, model: Model | None = None) -> None:
        self.tree, self.home = (folder / "tree").resolve(), folder / "home"
        self.tree.mkdir(parents=True)
        self.model = model or Model()
        self.clock = ahead()
        if with_git:
            make_repo(self.tree)

    def put(self, name: str, data: bytes | str) -> Path:
        return write_tree(self.tree, {name: data}) / name

    def git(self, *arguments: str) -> str:
        return run_git(self.tree, *arguments)

    def commit(self) -> str:
        return commit(self.tree)

    @property
    def codebase(self) -> Codebase:
        return open_codebase(str(self.tree), {"CAIRN_HOME": str(self.home)})

    @property
    def place(self) -> StorePlace:
        return place_of(self.codebase, str(self.home), self.model.identity)

    def options(self, *, allow_degraded: bool = False, workers: int | None = None) -> RunOptions:
        return RunOptions(str(self.home), allow_degraded, 0.0, workers, self.model)

    def index(self, **chosen: bool) -> RunReport:
        return run.index(self.codebase, self.options(**chosen), silent, clock=self.clock)

    def sync(self, tell: Callable[[Progress], None] = silent, **chosen: bool) -> RunReport:
        return run.sync(self.codebase, self.options(**chosen), tell, clock=self.clock)

    def reindex(self) -> RunReport:
        return run.reindex(self.codebase, self.options(), silent, clock=self.clock)

    def clear(self) -> RunReport:
        return run.clear(self.codebase, self.options(), silent, clock=self.clock)

    def manifest(self) -> Manifest:
        """The manifest that a reader gets; the store must be sound, and tidy."""
        with self.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
            assert [finding for finding in check(disk) if finding.severity is FindingLevel.ERROR] == []
            assert view.damage == ()
            return view.manifest

    def texts(self) -> dict[str, bytes]:
        """Every indexed file, as a reader gets it."""
        self.manifest()
        with self.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
            return texts_of(view)

    def status(self) -> StoreStatus:
        """What people are told; they are asked for no model, so the store of ours is put in the place of theirs."""
        with patch.object(status_module, "place_of", lambda *_: self.place):
            return look(self.codebase, str(self.home))

    def staged(self) -> list[str]:
        return sorted(os.listdir(Path(self.place.path) / "staging"))

    def store(self) -> dict[str, tuple[int, ...]]:
        """Everything in the store that a write would change."""
        found: dict[str, tuple[int, ...]] = {}
        for path in Path(self.place.path).rglob("*"):
            stat = path.lstat()
            found[str(path)] = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        return found


def texts_of(view: SnapshotView) -> dict[str, bytes]:
    """Every indexed file of a view with its bytes."""
    return {key: bytes(view.text(key) or b"") for key, record in view.records().items() if record.skip is None}


def extract_here(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> list[str]:
    """Parse in this process, by the given clock; gives a list that every file that is read will be added to.

    No file is read only because its turn has come: whose turn it is follows from the time of day.
    """
    reads: list[str] = []

    def read(tree: Tree, candidate: Candidate, *, max_bytes: int, clock: Clock = clock) -> ReadOutcome:
        reads.append(candidate.key)
        return read_stable(tree, candidate, max_bytes=max_bytes, clock=clock)

    def extract_all(
        root: Root, candidates: Sequence[Candidate], limits: LimitConfig, *, workers: int | None, keep: bool
    ) -> Iterator[ExtractOutcome]:
        del workers, keep
        with Tree(root) as tree:
            for candidate in candidates:
                yield extract(tree, candidate, limits)

    monkeypatch.setattr(extract_module, "read_stable", read)
    monkeypatch.setattr(catchup_module, "read_stable", read)
    monkeypatch.setattr(catchup_module, "extract_all", extract_all)
    for module in (changes_module, listing_module):
        monkeypatch.setattr(module, "REHASH_FRACTION", 1 << 40)
    return reads
