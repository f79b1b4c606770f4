"""The calls of a coordinator, awaited; and that every service keeps its contract."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cairn.aio import AsyncCode
from cairn.ask.library import CLOSED
from cairn.core.clock import SYSTEM_CLOCK
from cairn.errors import NotFound, PathOutsideRoot, UsageError
from cairn.graph.outline import Definition
from cairn.graph.repo_map import RepoMap
from cairn.graph.uses import Use
from cairn.search.types import Hit, Mode
from cairn.semantic.editing import FileStateService, Verdict
from cairn.semantic.model import FULL, NOTHING, FactFreshness, JobStatus
from cairn.sync.report import RunReport
from tests.conformance import conforms
from tests.semantic.test_worker import World as Worker
from tests.semantic.worlds import World
from tests.support import contracts
from tests.support.contracts import RefreshJobs
from tests.support.waiting import PATIENCE
from tests.sync.desk import extract_here

# That these fit is proven by the type checker, which reads tests too.
AsCoordinator = contracts.IndexCoordinator[Hit, Definition, Use, RepoMap, RunReport]


def as_coordinator(one: AsyncCode) -> AsCoordinator:
    return one


def as_states(one: FileStateService) -> contracts.FileStateService:
    return one


def as_jobs(one: RefreshJobs) -> contracts.RefreshJobService:
    return one


@conforms("002.IF1")
@pytest.mark.parametrize(
    ("ours", "contract", "calls"),
    [
        (
            AsyncCode,
            contracts.IndexCoordinator,
            "search get_symbol get_references get_map reindex_incremental reindex_full",
        ),
        (
            FileStateService,
            contracts.FileStateService,
            "get_file_state get_file_states_batch check_mutation_gate",
        ),
        (RefreshJobs, contracts.RefreshJobService, "enqueue_refresh run_job get_job_status"),
    ],
)
def test_a_service_has_the_calls_of_its_contract(ours: type, contract: Any, calls: str) -> None:
    for name in calls.split():
        wanted, found = getattr(contract, name), getattr(ours, name)
        assert list(inspect.signature(found).parameters) == list(inspect.signature(wanted).parameters)
        assert inspect.iscoroutinefunction(found) == inspect.iscoroutinefunction(wanted)


@conforms("002.IF1")
def test_a_codebase_is_asked_and_brought_up_to_date_from_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    world = World(tmp_path.resolve())
    world.refresh()

    async def talk(one: AsCoordinator) -> None:
        hits = await one.search("greet", Mode.SYMBOL, "all")
        assert hits[0].path == "lib.py"
        greet = await one.get_symbol("greet", "lib.py")
        assert greet is not None
        assert await one.get_symbol("nothing_like_it", None) is None
        uses = await one.get_references(greet, 1)
        assert {use.layer for use in uses} == {"semantic"}
        with pytest.raises(KeyError):
            await one.get_references(greet, 99)
        both = await asyncio.gather(one.get_map(["*.py"]), one.get_map(["lib.py"]))
        assert "greet" in both[0].text
        world.write("new.py", "def fresh(): ...\n")
        report = await one.reindex_incremental([Path("new.py")])
        assert (report.published, report.changes.added) == (True, 1)
        assert await one.get_symbol("fresh", None) is not None
        with pytest.raises(PathOutsideRoot):
            await one.reindex_incremental([Path("/etc/passwd")])
        assert (await one.reindex_full()).published
        assert await one.get_symbol("fresh", None) is not None

    with world.session() as session:
        asyncio.run(talk(as_coordinator(AsyncCode(session))))


@conforms("002.IF1", "002.FS1", "002.FS2")
def test_states_and_gates_are_asked_for_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    world = World(tmp_path.resolve())
    world.refresh()
    memory = world.memory()
    with world.database.reading() as db:
        assert db is not None
        states = as_states(FileStateService(db, memory))
        numbers = dict(db.execute("SELECT path, id FROM files"))
        found = states.get_file_states_batch(list(numbers.values()), 1)
        assert {state.freshness for state in found.values()} == {FactFreshness.CLEAN}
        assert states.check_mutation_gate([numbers["lib.py"], numbers["app.py"]], 1).verdict is Verdict.AUTOMATIC
        assert states.get_file_state(numbers["lib.py"], 9).freshness is FactFreshness.UNINDEXED
        assert states.get_file_state(999, 1).freshness is FactFreshness.UNINDEXED
        memory.files["lib.py"] += b"added = 1\n"
        again = as_states(FileStateService(db, memory))
        assert again.get_file_state(numbers["lib.py"], 1).freshness is FactFreshness.DIRTY
        gate = again.check_mutation_gate([numbers["app.py"]], 1)
        assert (gate.verdict, gate.files[0].context) == (Verdict.BLOCKED, "python:.")


@conforms("002.IF1")
def test_a_refresh_is_asked_for_run_and_looked_at(tmp_path: Path) -> None:
    jobs = as_jobs(RefreshJobs(Worker(tmp_path).surroundings()))
    job = jobs.enqueue_refresh(1, FULL)
    assert job is not None
    assert jobs.get_job_status(job) is JobStatus.QUEUED
    jobs.run_job(job)
    assert jobs.get_job_status(job) is JobStatus.COMPLETED
    assert jobs.enqueue_refresh(1, NOTHING) is None
    assert jobs.get_job_status(job + 1) is None
    with pytest.raises(KeyError):
        jobs.enqueue_refresh(99, FULL)


@pytest.mark.parametrize("odd", [None, 3, b"x", [3], object(), "\ud800"])
def test_what_is_no_value_of_an_argument_is_refused_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: Any
) -> None:
    extract_here(monkeypatch, SYSTEM_CLOCK)
    world = World(tmp_path.resolve())
    world.refresh()

    async def talk(one: AsyncCode) -> None:
        calls: list[Any] = [one.search, one.get_symbol, one.get_map, one.reindex_incremental]
        for call in [*calls, lambda wrong: one.get_references(wrong, 1)]:
            with pytest.raises((UsageError, NotFound)):
                await call(odd if call != one.reindex_incremental or not isinstance(odd, str) else [odd])

    with world.session() as session:
        asyncio.run(talk(AsyncCode(session)))


def test_a_program_that_awaits_opens_a_folder_asks_and_closes_it(tmp_path: Path) -> None:
    """As a user writes it: a script of its own, run by a Python of its own."""
    (tmp_path / "lease.py").write_text("def steal_lease():\n    return 1\n")
    script = """
import asyncio, sys
import cairn.aio

async def main():
    async with cairn.aio.open(sys.argv[1]) as code:
        hits, symbol = await asyncio.gather(code.search("steal the lease"), code.get_symbol("steal_lease"))
        print(code.root == sys.argv[1], hits[0].path, symbol.start_line)
    try:
        await code.search("steal the lease")
    except cairn.UsageError as closed:
        print(closed)

asyncio.run(main())
"""
    environ = {**os.environ, "CAIRN_HOME": str(tmp_path / "home")}
    told = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path.resolve())],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (told.stdout, told.returncode) == (f"True lease.py 1\n{CLOSED}\n", 0), told.stderr
