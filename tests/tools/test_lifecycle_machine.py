"""A codebase lives: it is indexed, cleared, lost, damaged, killed and asked, on a disk that fails now and then.

What is answered follows from what was really done and from nothing else. A read changes nothing, and trouble with the
disk is an error or a note, never another state.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from cairn.ask.gate import TRANSITIONS, Lifecycle
from cairn.core.clock import SystemClock
from cairn.errors import StoreError
from cairn.store.disk import Disk, LooseFiles
from cairn.store.publish.lease import RunKind
from cairn.sync import run as engine
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.reconcile import reconcile_non_destructive
from cairn.sync.report import RunOptions
from cairn.sync.tracking import remembered
from tests.conformance import conforms
from tests.support.servers import Agent
from tests.support.waiting import PATIENCE
from tests.sync.desk import extract_here

# Every way to the disk that can fail: all that is asked of a store, but not to let go of it.
DOORS = (
    *("create", "create_bytes", "make_folder", "move", "swap", "claim", "remove", "remove_folder", "seal"),
    *("sync_file", "sync_folder", "read", "open_map", "open_database", "stat", "list_folder"),
)
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find_symbol", {"name": "Lease"}),
    ("file_outline", {"file": "lease.py"}),
    ("read_file", {"file": "lease.py"}),
    ("call_graph", {"symbol": "take"}),
    ("repo_map", {}),
)
NUMBERS = (errno.EIO, errno.EACCES, errno.ETIMEDOUT)
GATES = {"ok", "not_ready", "requires_reindex", "not_indexed"}


class Fault(NamedTuple):
    """From this call on so many calls fail, with this number."""

    at: int
    calls: int
    number: int


# Mostly at its first calls, where it looks at what is there, and now and then all of them.
CALLS = st.integers(1, 4) | st.integers(1, 20) | st.integers(1, 150)
FIRES = st.builds(Fault, CALLS, st.sampled_from([1, 3, 10_000]), st.sampled_from(NUMBERS))
# Every second step or so, since many end before the call that is to fail: in one step of five one does.
FAULTS = st.booleans().flatmap(lambda turn: FIRES if turn else st.none())


class Trouble:
    """Stands at every door to the disk; fails when it is told to, or ends the process there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fault: Fault | None = None
        self.count = self.fired = self.steps = self.struck = 0
        self.die_at = 0
        for door in DOORS:
            monkeypatch.setattr(Disk, door, self._guarded(getattr(Disk, door)))
        for door in ("append", "database"):
            monkeypatch.setattr(LooseFiles, door, self._guarded(getattr(LooseFiles, door)))

    def _guarded(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(disk: Disk | LooseFiles, path: str, *given: Any, **more: Any) -> Any:
            self.count += 1
            if self.die_at and self.count >= self.die_at:
                os._exit(9)
            fault = self.fault
            if fault is not None and fault.at <= self.count < fault.at + fault.calls:
                self.fired += 1
                raise OSError(fault.number, os.strerror(fault.number), path)
            return real(disk, path, *given, **more)

        return guarded

    @contextmanager
    def during(self, fault: Fault | None) -> Iterator[None]:
        """The fault holds for what is done inside."""
        self.fault, self.count, self.fired = fault, 0, 0
        try:
            yield
        finally:
            self.fault = None
            self.steps += 1
            self.struck += self.fired > 0


class Truth(NamedTuple):
    """What the disk holds of one index: the newest snapshot, and whether it is a whole one (False: emptied)."""

    snapshot: str | None = None
    complete: bool = False


class Members(NamedTuple):
    """What the list shows: whose indexes there are, and how many."""

    roots: frozenset[str] = frozenset()
    stores: int = 0


class Life(RuleBasedStateMachine):
    """One codebase under two settings, which make two different indexes of it."""

    def __init__(self, folder: Path, trouble: Trouble) -> None:
        super().__init__()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.agent, self.trouble = Agent(folder), trouble
        # What is built by the way of a search is another thing: here only who asks for an index gets one.
        self.agent.settings("[search]\nauto_index = false\n")
        self.root = str(self.agent.tree)
        self.other = False
        self.members = Members()
        self.now = Lifecycle.NOT_FOUND
        self.steps = 0

    def teardown(self) -> None:
        self.agent.close()

    # --- what is so ---------------------------------------------------------------------------------------------------

    @property
    def codebase(self) -> Codebase:
        return open_codebase(self.root, self.agent.environ)

    @property
    def store(self) -> Path:
        return Path(place_of(self.codebase, str(self.agent.home)).path)

    def truth(self, store: Path) -> Truth:
        """As the newest manifest says that can be read; not by any code that answers."""
        generations = store / "generations"
        names = os.listdir(generations) if generations.is_dir() else []
        for number in sorted((int(name) for name in names if name.isdigit()), reverse=True):
            # A number without bytes was taken by a writer that was to keep another one out.
            manifest = json.loads((generations / str(number)).read_bytes() or "{}")
            if "snapshot_id" in manifest:
                return Truth(manifest["snapshot_id"], manifest["completion"] is not None)
        return Truth()

    def expected(self) -> str:
        """The status that follows from it."""
        own = self.truth(self.store)
        if own.snapshot is not None:
            return "ok" if own.complete else "not_indexed"
        if any(path.stat().st_size for path in self.store.glob("generations/*")):
            # Something was published, and nothing of it can be read.
            return "not_indexed"
        known = remembered(place_of(self.codebase, str(self.agent.home)))
        if known is not None and known.cleared:
            return "not_indexed"
        data = self.agent.home / "data"
        others = [data / name for name in os.listdir(data)] if data.is_dir() else []
        return "requires_reindex" if any(self.truth(one).complete for one in others) else "not_indexed"

    def settled(self) -> None:
        """A sync before a search may go on after its answer: it is waited for."""
        run = self.agent.desk.runs.active(self.root)
        assert run is None or run.wait(PATIENCE)

    # --- what is checked after every step -----------------------------------------------------------------------------

    def check(self, *, wrote: bool) -> None:
        """Without trouble every face says the same, that is what is so, and a step of the table leads there."""
        self.steps += 1
        expected = self.expected()
        status = self.agent.ask("index_status")
        assert status["status"] == expected, (status, expected)
        now = Lifecycle(status["lifecycle"])
        over = {(self.now, Lifecycle.INDEXING), (Lifecycle.INDEXING, now)}
        assert now is self.now or (wrote and ((self.now, now) in TRANSITIONS or over <= TRANSITIONS)), (self.now, now)
        self.now = now
        members = self.listed()
        assert self.members.roots <= members.roots
        assert self.members.stores <= members.stores
        self.members = members
        assert self.agent.ask("find_symbol", name="Lease")["status"] == expected

    def listed(self) -> Members:
        rows = self.agent.ask("list_codebases")["results"]
        return Members(frozenset(row["root"] for row in rows if row["root"]), sum(row["stores"] for row in rows))

    def read(self, fault: Fault | None, tool: str, **arguments: Any) -> dict[str, Any]:
        """Ask on a disk that may fail. Nothing is changed by it, and the answer is what is so, or an error."""
        before, expected = self.agent.stored(), self.expected()
        with self.trouble.during(fault):
            answer = self.agent.ask(tool, **arguments)
        fired = self.trouble.fired > 0
        assert answer["status"] == expected or (fired and answer["status"] == "error"), (answer, expected, fault)
        assert self.agent.stored() == before
        return answer

    @initialize(indexed=st.sampled_from([True, True, True, False]))
    def begin(self, indexed: bool) -> None:
        """Most lives begin with an index: where there is none, little can go wrong."""
        if indexed:
            self.manage(None, "create")

    # --- what agents and people do ------------------------------------------------------------------------------------

    @rule(fault=FAULTS)
    def status(self, fault: Fault | None) -> None:
        self.read(fault, "index_status")
        self.check(wrote=False)

    @rule(fault=FAULTS)
    def look(self, fault: Fault | None) -> None:
        """Each of the tools that read, each with the same trouble."""
        for tool, arguments in READS:
            self.read(fault, tool, **arguments)
        self.check(wrote=False)

    @rule(fault=FAULTS)
    def list_codebases(self, fault: Fault | None) -> None:
        before = self.agent.stored()
        with self.trouble.during(fault):
            found = self.listed()
        assert found == self.members
        assert self.agent.stored() == before
        self.check(wrote=False)

    @rule(fault=FAULTS)
    def search(self, fault: Fault | None) -> None:
        expected = self.expected()
        with self.trouble.during(fault):
            answer = self.agent.ask("search_codebase", query="Lease", mode="symbol")
            self.settled()
        fired = self.trouble.fired > 0
        assert answer["status"] == expected or (fired and answer["status"] == "error"), (answer, expected, fault)
        # It brings an index up to date, and makes or empties none.
        assert self.expected() == expected
        self.check(wrote=expected == "ok")

    @rule(fault=FAULTS, action=st.sampled_from(["create", "create", "sync", "reindex", "clear", "repair"]))
    def manage(self, fault: Fault | None, action: str) -> None:
        before, expected, store = self.truth(self.store), self.expected(), self.store
        with self.trouble.during(fault):
            answer = self.agent.ask("manage_index", action=action, force=action == "clear")
            self.settled()
        fired = self.trouble.fired > 0
        after = self.truth(store)
        self.judge(action, answer, before, after, expected=expected, fired=fired)
        self.check(wrote=True)

    def judge(
        self, action: str, answer: dict[str, Any], before: Truth, after: Truth, *, expected: str, fired: bool
    ) -> None:
        """What came of it is what is there, and nobody is told of an index that is not."""
        if answer["status"] == "ok" and action == "create" and not answer["published"]:
            assert before.complete
            assert after == before
        if action == "sync" and expected != "ok":
            assert after == before
            assert answer["status"] in ({expected, "error"} if fired else {expected})
        elif not fired:
            assert answer["status"] == "ok" or (action == "repair" and answer["status"] == expected), answer
            assert action == "repair" or after.complete == (action != "clear")
        elif answer["status"] != "ok":
            # It failed: what was there is there, or what it was to make.
            assert after == before or after.complete == (action != "clear")

    @rule(action=st.sampled_from(["index", "sync", "reindex", "clear"]), at=st.integers(1, 120))
    def killed(self, action: str, at: int) -> None:
        """A process of somebody's own does it, and is gone in the middle of it."""
        if action == "sync" and self.expected() != "ok":
            # On the command line the first sync is to create.
            action = "index"
        before, store = self.truth(self.store), self.store
        codebase, embedder = self.codebase, self.agent.desk.pool._models.of(self.codebase.config.embedding)
        options = RunOptions(str(self.agent.home), wait_seconds=0.0, embedder=embedder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            try:
                self.trouble.count, self.trouble.die_at = 0, at
                getattr(engine, action)(codebase, options, lambda _: None)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        after = self.truth(store)
        if after.snapshot is not None and after != before:
            assert after.complete == (action != "clear")
        else:
            assert after == before
        self.check(wrote=True)

    @rule(kind=st.sampled_from([RunKind.REINDEX, RunKind.SYNC]), fault=FAULTS)
    def another_writes(self, kind: RunKind, fault: Fault | None) -> None:
        """Meanwhile a full run closes the gate, whatever the proof says; afterwards it is what it was."""
        if self.truth(self.store).snapshot is None:
            return
        expected = self.expected()
        with self.agent.writing(kind):
            during = "not_ready" if kind is RunKind.REINDEX or expected != "ok" else "ok"
            with self.trouble.during(fault):
                answers = [self.agent.ask("index_status"), self.agent.ask("find_symbol", name="Lease")]
            for answer in answers:
                assert answer["status"] == during or (self.trouble.fired and answer["status"] in ("error", expected))
            if self.trouble.fired == 0:
                refused = self.agent.ask("manage_index", action="reindex")
                assert refused["hints"]["retryAfterMs"] > 0
                assert refused["hints"]["status"]["args"] == {"action": "status", "path": self.root}
        self.check(wrote=True)

    @rule(fault=FAULTS)
    def reconcile(self, fault: Fault | None) -> None:
        """Somebody who looks after the registry may add to it, and removes nothing."""
        with self.trouble.during(fault), suppress(StoreError, OSError) if fault else nullcontext():
            reconcile_non_destructive(self.agent.environ)
        self.check(wrote=False)

    # --- what happens to the files ------------------------------------------------------------------------------------

    @rule(name=st.sampled_from("abc"), text=st.sampled_from(["x = 1\n", "def f():\n    return 2\n", ""]))
    def edit(self, name: str, text: str) -> None:
        (self.agent.tree / f"{name}.py").write_text(text)
        self.check(wrote=False)

    @rule()
    def settings_change(self) -> None:
        """The user's own: what a repository changes is a proposal and moves nothing."""
        self.other = not self.other
        self.agent.settings("[limits]\nmax_file_bytes = 1000\n" if self.other else "")
        self.now = Lifecycle(self.agent.ask("index_status")["lifecycle"])
        self.check(wrote=False)

    @precondition(lambda self: self.steps % 5 == 0 and self.store.is_dir())
    @rule()
    def lost(self) -> None:
        """Somebody removes the folder. It was indexed, so that is told, and only a create makes it again."""
        shutil.rmtree(self.store)
        answer = self.agent.ask("find_symbol", name="Lease")
        known = remembered(place_of(self.codebase, str(self.agent.home)))
        # A run that was killed after it had published could not note it any more.
        if answer["status"] == "not_indexed" and known is not None and known.claims_index:
            assert answer["hints"]["staleLocal"]["recommendedAction"]["args"]["action"] == "create"
        self.now = Lifecycle(self.agent.ask("index_status")["lifecycle"])
        self.members = self.listed()
        self.check(wrote=False)

    @precondition(lambda self: self.steps % 7 == 0 and self.truth(self.store).snapshot is not None)
    @rule()
    def damage(self) -> None:
        """The bytes of every manifest go wrong."""
        for path in [*self.store.glob("generations/*"), *self.store.glob("snapshots/*/manifest.json")]:
            path.chmod(0o600)
            path.write_bytes(b"{}")
        self.now = Lifecycle(self.agent.ask("index_status")["lifecycle"])
        self.check(wrote=False)


def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, examples: int, steps: int) -> None:
    extract_here(monkeypatch, SystemClock())
    trouble = Trouble(monkeypatch)
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        # The steps that led there are printed as they were drawn: to look for fewer of them takes minutes.
        phases=[Phase.explicit, Phase.generate],
    )
    run_state_machine_as_test(lambda: Life(tmp_path / "life", trouble), settings=chosen)  # type: ignore[arg-type]
    print(f"{trouble.struck} of {trouble.steps} steps met a call that failed")
    assert trouble.struck >= trouble.steps / 5


@conforms("001.AC1", "001.AC2", "001.AC3", "001.AC5", "001.AC7", "001.AC8", "001.INV2", "001.INV7", "001.DR1")
@conforms("000.PRF1", "000.SM1", "000.SM2", "000.LIFE2", "001.INV3", "001.INV4", "001.INV6")
def test_a_codebase_never_changes_its_state_without_a_step_that_somebody_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(tmp_path, monkeypatch, examples=10, steps=25)


@pytest.mark.long
@conforms("001.AC1", "001.AC2", "001.AC3", "001.AC5", "001.AC7", "001.AC8", "001.INV2", "001.INV7", "001.DR1")
@conforms("000.PRF1", "000.SM1", "000.SM2", "000.LIFE2", "001.INV3", "001.INV4", "001.INV6")
def test_five_thousand_steps_change_no_state_that_nobody_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(tmp_path, monkeypatch, examples=100, steps=50)
