"""Before a search the files are compared: once for all who wait, not too often, and nobody waits for long."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

import pytest

from cairn.ask import runs as module
from cairn.ask.freshness import Freshener
from cairn.ask.runs import Action, Run, Runs
from cairn.core.clock import SystemClock
from cairn.core.limits import AGENT_RECENT_SECONDS, WATCH_RECONCILE_SECONDS
from cairn.errors import ConfigError
from cairn.store.publish.lease import RunKind
from cairn.sync.codebase import Codebase, open_codebase
from cairn.sync.report import Freshness, Gap, RunReport
from tests.conformance import conforms
from tests.support.servers import Agent
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("parsed_here")


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

    def ensure(self, seconds: float = PATIENCE) -> Freshness:
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


def test_a_tree_that_nobody_watches_is_never_given_a_rest(files: Files) -> None:
    for _ in range(3):
        assert files.ensure().mode == "synced"


class Ear:
    """Tells what it was told to tell."""

    def __init__(self) -> None:
        self.heard: set[bytes] | None = set()
        self.names: set[bytes] = set()
        self.everything = False
        self.back: list[frozenset[bytes] | None] = []
        self.ends: list[frozenset[bytes] | None] = []

    def hear(self) -> None:
        self.names |= self.heard or set()
        self.heard = set()

    def look(self, looked_at: set[bytes]) -> None: ...

    @property
    def waits(self) -> bool:
        return self.everything or bool(self.names)

    def take(self) -> frozenset[bytes] | None:
        self.everything = False
        taken, self.names = frozenset(self.names), set()
        return taken or None

    def put_back(self, hinted: frozenset[bytes] | None) -> None:
        self.back.append(hinted)

    def want_all(self) -> None:
        self.everything = True

    def found(self, gap: Gap) -> None: ...

    def ended(self, run: Run, hinted: frozenset[bytes] | None) -> None:
        self.ends.append(hinted)


@conforms("003.CD2")
def test_files_that_are_watched_are_looked_at_when_they_change(files: Files) -> None:
    root, ear = str(files.agent.tree), Ear()
    files.freshener.watch(root, ear)
    assert files.ensure().mode == "synced"
    assert WATCH_RECONCILE_SECONDS == 300
    files.clock.ahead += WATCH_RECONCILE_SECONDS / 2
    assert files.ensure().mode == "skipped_recent"
    files.save("b.py")
    ear.heard = {b"b.py"}
    found = files.ensure()
    assert (found.mode, found.changed) == ("synced", 1)
    assert files.ensure().mode == "skipped_recent"
    assert (ear.ends, ear.back) == ([None, frozenset({b"b.py"})], [])
    files.clock.ahead += WATCH_RECONCILE_SECONDS
    assert files.ensure().mode == "synced"
    files.freshener.unwatch(root)
    files.clock.ahead += AGENT_RECENT_SECONDS
    assert files.ensure().mode == "synced"


def test_a_watcher_does_not_vouch_for_files_that_other_settings_let_in(files: Files) -> None:
    root, ear = str(files.agent.tree), Ear()
    files.freshener.watch(root, ear)
    assert files.ensure().mode == "synced"
    assert files.ensure().mode == "skipped_recent"
    files.agent.settings('[index]\nallow_sensitive = ["credentials"]\n')
    assert files.freshener.vouched(open_codebase(root, files.agent.environ), 0.0) is None
    assert files.ensure().mode == "synced"
    assert (ear.ends, ear.back) == ([None, None], [])
    assert files.ensure().mode == "skipped_recent"


def test_what_was_told_waits_again_when_its_run_has_failed(files: Files) -> None:
    root, ear = str(files.agent.tree), Ear()
    assert files.ensure().mode == "synced"
    files.freshener.watch(root, ear)
    ear.heard = {b"b.py"}
    with files.agent.writing(RunKind.SYNC):
        assert files.ensure().mode == "skipped_busy"
    assert ear.back == [frozenset({b"b.py"})]


def test_every_root_has_its_store_looked_after_once_in_a_while(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many others are saved to in between: else its segments would come together until each run must merge."""
    said: dict[str, list[bool]] = {}

    def start(_: object, codebase: Codebase, *, upkeep: bool, **__: object) -> None:
        said.setdefault(codebase.root.path, []).append(upkeep)

    monkeypatch.setattr(files.runs, "start", start)
    other = files.agent.tree.parent / "other"
    other.mkdir(exist_ok=True)
    both = [open_codebase(str(tree), files.agent.environ) for tree in (files.agent.tree, other)]
    for _ in range(20):
        for codebase in both:
            files.freshener.start(codebase, Ear())
    assert [flags.index(True) for flags in said.values()] == [8, 8]
    assert [sum(flags) for flags in said.values()] == [2, 2]


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
            assert self.go.acquire(timeout=PATIENCE)
            return real(*given, **options)

        monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, Action.SYNC: sync})


def test_all_who_come_while_one_looks_share_the_next_look(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    files.count_waiting(monkeypatch)
    found: list[Freshness] = []
    threads = [threading.Thread(target=lambda: found.append(files.ensure())) for _ in range(6)]
    threads[0].start()
    assert held.began.acquire(timeout=PATIENCE)
    for thread in threads[1:]:
        thread.start()
    # All of them have come: each waits for the run of the first.
    until(lambda: files.waiting >= 6)
    files.save("b.py")
    held.go.release()
    assert held.began.acquire(timeout=PATIENCE)
    held.go.release()
    for thread in threads:
        thread.join(PATIENCE)
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
    assert run.wait(PATIENCE)
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


def test_files_that_a_run_has_just_met_are_looked_at_before_the_files_are_vouched_for(files: Files) -> None:
    """A run finds that a file has a second name, through which it has changed, while a question waits for its end."""
    root, ear = str(files.agent.tree), Ear()
    files.freshener.watch(root, ear)
    assert files.ensure().mode == "synced"
    looks: list[int] = []

    def look(looked_at: set[bytes]) -> None:
        looks.append(len(looks))
        if len(looks) == 1:
            # The run that was at work has ended between this look and the verdict.
            files.freshener._checked[root] = dataclasses.replace(files.freshener._checked[root])
        elif b"lease.py" not in looked_at:
            looked_at.add(b"lease.py")
            ear.names.add(b"lease.py")

    ear.look = look  # type: ignore[method-assign]
    assert files.freshener.vouched(files.codebase, 0.0) is None
    looks.clear()
    ear.names.clear()
    assert files.ensure().mode == "synced"
    assert len(looks) >= 2
