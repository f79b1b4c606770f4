"""Contracts of a coordinator, a service of file states and a service of refresh jobs, which tests hold ours against.

`cairn.aio.AsyncCode` and `cairn.semantic.editing.FileStateService` keep the first two. `RefreshJobs`
keeps the third with nothing but `cairn.semantic.jobs` and `cairn.semantic.worker`.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Protocol, TypeVar

from cairn.semantic import jobs
from cairn.semantic.editing import MutationGate
from cairn.semantic.model import FileState, JobStatus, RefreshScope
from cairn.semantic.worker import RefreshEnvironment, run_job

Result = TypeVar("Result")
Definition = TypeVar("Definition")
Reference = TypeVar("Reference")
Map_co = TypeVar("Map_co", covariant=True)
Stats_co = TypeVar("Stats_co", covariant=True)


class IndexCoordinator(Protocol[Result, Definition, Reference, Map_co, Stats_co]):
    """Questions to one codebase, and the runs that bring its index up to date."""

    async def search(self, query: str, mode: Any, scope: Any) -> list[Result]:
        """What fits a query."""

    async def get_symbol(self, name: str, path: str | None) -> Definition | None:
        """The one definition of this name, in a file or anywhere; None when there is none or more than one."""

    async def get_references(self, symbol: Definition, context_id: int) -> list[Reference]:
        """Who uses it, by what this context knows where that is clean."""

    async def get_map(self, include: list[str]) -> Map_co:
        """What the codebase consists of."""

    async def reindex_incremental(self, changed_paths: Sequence[PathLike[str]]) -> Stats_co:
        """Take in what has changed."""

    async def reindex_full(self) -> Stats_co:
        """Build all of it anew."""


class FileStateService(Protocol):
    """How fresh and how sure what is known of files is."""

    def get_file_state(self, file_id: int, context_id: int) -> FileState:
        """The state of one file."""

    def get_file_states_batch(self, file_ids: Sequence[int], context_id: int) -> dict[int, FileState]:
        """The states of several, each looked at once."""

    def check_mutation_gate(self, file_ids: Sequence[int], context_id: int) -> MutationGate:
        """Whether they may be edited together."""


class RefreshJobService(Protocol):
    """Refreshes of contexts: asked for, run, looked at."""

    def enqueue_refresh(self, context_id: int, scope: RefreshScope) -> int | None:
        """The job that will cover the scope; None when there is nothing to do."""

    def run_job(self, job_id: int) -> None:
        """Run it, unless somebody else does."""

    def get_job_status(self, job_id: int) -> JobStatus | None:
        """Where it stands; None when it is not known."""


class RefreshJobs:
    """Refresh jobs in these surroundings."""

    def __init__(self, surroundings: RefreshEnvironment) -> None:
        self._at = surroundings

    def enqueue_refresh(self, context_id: int, scope: RefreshScope) -> int | None:
        """The job that will cover the scope at the commit of this moment. `KeyError` for a context nobody knows."""
        with self._at.database.writing() as db:
            found = db.execute("SELECT key FROM contexts WHERE id = ?", (context_id,)).fetchone()
            if found is None:
                raise KeyError(context_id)
            asked = jobs.enqueue(db, found[0], scope, head=self._at.head(), reason="asked", clock=self._at.clock)
            return asked.job

    def run_job(self, job_id: int) -> None:
        """Run the job to its end; how it ended is its status."""
        run_job(self._at, job_id)

    def get_job_status(self, job_id: int) -> JobStatus | None:
        """Where the job stands."""
        found = self._at.database.ask(lambda db: jobs.get(db, job_id))
        return None if found is None else found.status
