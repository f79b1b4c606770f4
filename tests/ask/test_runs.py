"""Runs in the background: one for each root, with progress, cancelled without harm."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import cairn
from cairn.ask import runs as module
from cairn.ask.runs import Action, Run, Runs, retry_after_ms
from cairn.core.limits import MAX_RUNS
from cairn.core.progress import Phase, Progress
from cairn.errors import Cancelled, SourceError, StoreBusy
from cairn.store.publish.lease import RunKind
from cairn.sync.codebase import Codebase, open_codebase
from cairn.sync.report import RunReport
from tests.conformance import conforms
from tests.support.servers import Agent
from tests.support.waiting import PATIENCE, until


@pytest.fixture
def runs(agent: Agent) -> Iterator[Runs]:
    found = Runs(agent.environ)
    yield found
    found.close()


def codebase(agent: Agent) -> Codebase:
    return open_codebase(str(agent.tree), agent.environ)


@conforms("004.CU15")
def test_a_run_goes_on_by_itself_and_can_be_waited_for(agent: Agent, runs: Runs) -> None:
    run = runs.start(Action.CREATE, codebase(agent))
    assert run.wait(PATIENCE)
    assert isinstance(run.report, RunReport)
    assert run.report.files_indexed == 1
    assert runs.active(run.root) is None
    assert runs.last(run.root) is run


class Paused:
    """A run that stands still where it is told to, until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, phase: Phase) -> None:
        self.here, self.go = threading.Event(), threading.Event()
        before = Run.tell

        def tell(run: Run, progress: Progress) -> None:
            if progress.phase is phase and not self.go.is_set():
                self.here.set()
                assert self.go.wait(PATIENCE)
            before(run, progress)

        monkeypatch.setattr(Run, "tell", tell)


@conforms("004.CU14")
def test_a_second_run_of_the_same_root_is_refused_and_another_root_is_not_kept_waiting(
    agent: Agent, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = Paused(monkeypatch, Phase.INDEXING)
    first = runs.start(Action.CREATE, codebase(agent))
    assert paused.here.wait(PATIENCE)
    with pytest.raises(cairn.IndexingInProgressError) as refused:
        runs.start(Action.SYNC, codebase(agent))
    assert isinstance(refused.value, StoreBusy)
    assert runs.active(first.root) is first
    other = tmp_path / "other"
    other.mkdir()
    second = runs.start(Action.CLEAR, open_codebase(str(other), agent.environ))
    assert second.wait(PATIENCE)
    paused.go.set()
    assert first.wait(PATIENCE)
    assert first.report is not None


def test_more_full_runs_than_may_be_at_work_wait_for_their_turn_and_a_sync_does_not(
    agent: Agent, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, at_work, most = threading.Event(), [0], [0]
    counted = threading.Lock()

    def work(*_: object, **__: object) -> None:
        with counted:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        assert go.wait(PATIENCE)
        with counted:
            at_work[0] -= 1

    monkeypatch.setattr(module, "_ENGINES", {**dict.fromkeys(Action, work), Action.SYNC: lambda *_, **__: None})
    begun = []
    for number in range(MAX_RUNS + 2):
        folder = tmp_path / f"root{number}"
        folder.mkdir()
        begun.append(runs.start(Action.CREATE, open_codebase(str(folder), agent.environ)))
    waiting = begun[MAX_RUNS:]
    until(lambda: all(run.progress == Progress(Phase.QUEUED) for run in waiting))
    # It stands at the gate like one that is at work, and says that it waits.
    assert all(run.is_starting and run.writer.progress.phase == "queued" for run in waiting)  # type: ignore[union-attr]
    assert runs.start(Action.SYNC, codebase(agent)).wait(PATIENCE)
    waiting[0].cancel()
    assert waiting[0].wait(PATIENCE)
    assert isinstance(waiting[0].error, Cancelled)
    go.set()
    assert all(run.wait(PATIENCE) for run in begun)
    assert most == [MAX_RUNS]
    assert [run.error for run in begun if run is not waiting[0]] == [None] * (MAX_RUNS + 1)


def test_what_a_run_held_that_came_to_nothing_is_let_go_though_its_error_is_kept(
    agent: Agent, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers, descriptors and the half of an index: a run that was cancelled is remembered until the next one."""
    let_go = threading.Event()

    def holding() -> Iterator[None]:
        try:
            yield
        finally:
            let_go.set()

    def cancelled(*_: object, **__: object) -> object:
        held = holding()
        next(held)
        try:
            raise KeyError
        except KeyError:
            raise Cancelled from None

    monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, Action.CREATE: cancelled})
    run = runs.start(Action.CREATE, codebase(agent))
    assert run.wait(PATIENCE)
    assert isinstance(run.error, Cancelled)
    assert let_go.is_set()


def test_a_cancelled_run_publishes_nothing_and_the_next_one_begins_at_once(
    agent: Agent, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = Paused(monkeypatch, Phase.INDEXING)
    run = runs.start(Action.CREATE, codebase(agent))
    assert paused.here.wait(PATIENCE)
    run.cancel()
    paused.go.set()
    assert run.wait(PATIENCE)
    assert (run.report, type(run.error)) == (None, Cancelled)
    again = runs.start(Action.CREATE, codebase(agent))
    assert again.wait(PATIENCE)
    assert again.report is not None


def test_a_run_that_is_publishing_is_not_stopped_any_more(
    agent: Agent, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = Paused(monkeypatch, Phase.PUBLISHING)
    run = runs.start(Action.CREATE, codebase(agent))
    assert paused.here.wait(PATIENCE)
    run.cancel()
    paused.go.set()
    assert run.wait(PATIENCE)
    assert run.report is not None


def test_a_run_waits_for_no_other_process_and_says_that_it_is_busy(agent: Agent, runs: Runs) -> None:
    with agent.writing(RunKind.SYNC):
        run = runs.start(Action.REINDEX, codebase(agent), wait_seconds=0.0)
        assert run.wait(PATIENCE)
        assert isinstance(run.error, StoreBusy)


@pytest.mark.parametrize(("raised", "code"), [(OSError(5, "EIO"), SourceError.code), (RuntimeError("x"), "internal")])
def test_whatever_goes_wrong_is_kept_and_who_waits_is_let_go(
    agent: Agent, runs: Runs, monkeypatch: pytest.MonkeyPatch, raised: Exception, code: str
) -> None:
    def fail(*_: object, **__: object) -> RunReport:
        raise raised

    monkeypatch.setattr(module, "_ENGINES", {Action.SYNC: fail})
    told: list[Run] = []
    run = runs.start(Action.SYNC, codebase(agent), then=told.append)
    assert run.wait(PATIENCE)
    assert run.error is not None
    assert (run.error.code, told) == (code, [run])


def test_closing_stops_what_is_at_work_and_nothing_begins_after_it(
    agent: Agent, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = Paused(monkeypatch, Phase.INDEXING)
    run = runs.start(Action.CREATE, codebase(agent))
    assert paused.here.wait(PATIENCE)
    threading.Timer(0.05, paused.go.set).start()
    runs.close()
    assert run.is_over
    assert isinstance(run.error, Cancelled)
    with pytest.raises(Cancelled):
        runs.start(Action.SYNC, codebase(agent))


def test_when_to_ask_again_follows_from_how_fast_the_run_is(agent: Agent) -> None:
    class Now:
        progress: Progress | None = None

    run = Now()
    assert retry_after_ms(None) == retry_after_ms(run) == 2_000  # type: ignore[arg-type]
    for done, rate, expected in ((90, 10.0, 1_000), (99, 100.0, 500), (0, 0.1, 30_000)):
        run.progress = Progress(Phase.INDEXING, done, 100, rate)
        assert retry_after_ms(run) == expected  # type: ignore[arg-type]
