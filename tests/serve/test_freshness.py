"""Before a search the files are compared: once for all who wait, not too often, and nobody waits for long."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from cairn.clock import SystemClock
from cairn.errors import ConfigError
from cairn.limits import AGENT_RECENT_SECONDS, RECENT_SYNC_SECONDS
from cairn.serve import runs as module
from cairn.serve.freshness import Freshener
from cairn.serve.runs import Action, Run, Runs
from cairn.store.lease import RunKind
from cairn.store.standing import Freshness
from cairn.sync.codebase import Codebase, open_codebase
from cairn.sync.report import RunReport
from tests.conformance import conforms
from tests.serve.conftest import Agent

LONG = 30.0


class Shifted(SystemClock):
    """A clock that can be put forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Files:
    """A tree with an index, and who keeps it fresh."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.clock, self.waiting = agent, Shifted(), 0
        self.runs = Runs(agent.environ, self.clock)
        self.freshener = Freshener(self.runs, self.clock)

    @property
    def codebase(self) -> Codebase:
        return open_codebase(str(self.agent.tree), self.agent.environ)

    def ensure(self, seconds: float = LONG) -> Freshness:
        return self.freshener.ensure(self.codebase, seconds=seconds)

    def count_waiting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """How many callers have come and wait for a run."""
        wait = Run.wait

        def counted(run: Run, seconds: float) -> bool:
            self.waiting += 1
            return wait(run, seconds)

        monkeypatch.setattr(Run, "wait", counted)

    def save(self, name: str) -> None:
        (self.agent.tree / name).write_text("def saved(): ...\n")


@pytest.fixture
def files(indexed: Agent) -> Iterator[Files]:
    found = Files(indexed)
    yield found
    found.runs.close()


def test_every_save_before_a_search_is_seen(files: Files) -> None:
    for number in range(3):
        files.save(f"b{number}.py")
        found = files.ensure()
        assert (found.mode, found.changed) == ("synced", 1)


def test_a_tree_that_takes_long_is_given_a_rest_of_a_second_at_most(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module._ENGINES[Action.SYNC]

    def slow(*given: object, **options: object) -> object:
        files.clock.ahead += 100.0
        return real(*given, **options)

    monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, Action.SYNC: slow})
    first = files.ensure(seconds=1_000.0)
    assert first.mode == "synced"
    assert files.ensure() == Freshness("skipped_recent", 0, first.checked_at)
    files.clock.ahead += AGENT_RECENT_SECONDS
    assert files.ensure(seconds=1_000.0).mode == "synced"


def test_files_that_are_watched_are_looked_at_when_they_change(files: Files) -> None:
    root = str(files.agent.tree)
    files.freshener.watch(root)
    assert files.ensure().mode == "synced"
    files.clock.ahead += RECENT_SYNC_SECONDS / 2
    assert files.ensure().mode == "skipped_recent"
    files.save("b.py")
    files.freshener.changed(root)
    found = files.ensure()
    assert (found.mode, found.changed) == ("synced", 1)
    assert files.ensure().mode == "skipped_recent"
    files.clock.ahead += RECENT_SYNC_SECONDS / 2
    files.freshener.watch(root, watched=False)
    assert files.ensure().mode == "synced"


class Held:
    """Syncs that stand still before they look at the files, and how many began."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.count = 0
        real = module._ENGINES[Action.SYNC]

        def sync(*given: object, **options: object) -> object:
            self.count += 1
            self.began.release()
            assert self.go.acquire(timeout=LONG)
            return real(*given, **options)

        monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, Action.SYNC: sync})


def test_all_who_come_while_one_looks_share_the_next_look(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    files.count_waiting(monkeypatch)
    found: list[Freshness] = []
    threads = [threading.Thread(target=lambda: found.append(files.ensure())) for _ in range(6)]
    threads[0].start()
    assert held.began.acquire(timeout=LONG)
    for thread in threads[1:]:
        thread.start()
    # All of them have come: each waits for the run of the first.
    while files.waiting < 6:
        SystemClock().sleep(0.001)
    files.save("b.py")
    held.go.release()
    assert held.began.acquire(timeout=LONG)
    held.go.release()
    for thread in threads:
        thread.join(LONG)
    # The first look may have missed the save; the second one, shared, has not.
    assert held.count == 2
    modes = sorted(fresh.mode for fresh in found)
    assert modes == ["coalesced"] * 4 + ["synced"] * 2


@conforms("000.API5")
def test_a_look_that_takes_long_goes_on_and_its_caller_does_not_wait(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    files.save("b.py")
    assert files.ensure(seconds=0.0) == Freshness("skipped_indexing")
    run = files.runs.active(str(files.agent.tree))
    assert run is not None
    held.go.release()
    assert run.wait(LONG)
    assert isinstance(run.report, RunReport)
    assert run.report.changes.added == 1


def test_another_writer_is_not_waited_for(files: Files) -> None:
    with files.agent.writing(RunKind.SYNC):
        assert files.ensure() == Freshness("skipped_busy")


def test_what_went_wrong_is_told_by_its_code_and_not_tried_again_at_once(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Run] = []

    def fail(*_: object, **__: object) -> RunReport:
        tried.append(files.runs.active(str(files.agent.tree)))  # type: ignore[arg-type]
        raise ConfigError(file="x", why="y")

    monkeypatch.setattr(module, "_ENGINES", {Action.SYNC: fail})
    assert files.ensure() == files.ensure() == Freshness("sync_failed", trouble="config_invalid")
    assert len(tried) == 1
