"""Run what writes an index in the background of a server: one run at a time for each codebase.

A run is a thread of this process. The caller that started a run may wait for it a while, any caller can read its
progress, and it can be cancelled.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.config import cairn_home
from cairn.core.limits import AGENT_SYNC_SECONDS, AGENT_WAIT_SECONDS, MAX_RUNS
from cairn.core.progress import Phase, Progress, Tell
from cairn.embedding.choose import Models
from cairn.errors import CairnError, Cancelled, SourceError, StoreBusy
from cairn.source.root import printable
from cairn.store import RunProgress, WriterInfo
from cairn.sync import run as engine
from cairn.sync.codebase import Codebase
from cairn.sync.pool import dismiss
from cairn.sync.repair import RepairReport, repair
from cairn.sync.report import Gap, RunOptions, RunReport
from cairn.sync.scope import Seen

# A run that publishes, compacts or collects is not stopped: it has nothing left to undo.
_TO_THE_END = frozenset({Phase.PUBLISHING, Phase.COMPACTING, Phase.COLLECTING})
_TURN_SECONDS = 0.1
# As `nice` lowers it: by so much, and no further than that.
_LOWER_BY, _LEAST_PRIORITY = 10, 19
_LEAST_RETRY_MS, _USUAL_RETRY_MS, _MOST_RETRY_MS = 500, 2_000, 30_000


class Action(StrEnum):
    """A kind of run over an index."""

    CREATE = "create"
    REINDEX = "reindex"
    SYNC = "sync"
    CLEAR = "clear"
    REPAIR = "repair"

    @property
    def closes_the_gate(self) -> bool:
        """Whether the index does not answer during the run."""
        return self in (Action.CREATE, Action.REINDEX)

    @property
    def is_large(self) -> bool:
        """Whether the run reads a whole tree, so that only `MAX_RUNS` such runs work at once."""
        return self in (Action.CREATE, Action.REINDEX, Action.REPAIR)


_ENGINES: Mapping[Action, Callable[..., RunReport | RepairReport]] = {
    Action.CREATE: engine.index,
    Action.REINDEX: engine.reindex,
    Action.SYNC: engine.sync,
    Action.CLEAR: engine.clear,
    Action.REPAIR: repair,
}


class Run:
    """One run. `report` or `error` is set once `wait` has returned True."""

    def __init__(self, action: Action, codebase: Codebase, clock: Clock, *, gentle: bool = False) -> None:
        self.action, self.codebase = action, codebase
        self._gentle = gentle
        self.began = clock.monotonic()
        self.began_at = rfc3339(clock.wall_ns())
        self.progress: Progress | None = None
        self.report: RunReport | RepairReport | None = None
        self.error: CairnError | None = None
        self._clock = clock
        self._over = threading.Event()
        self._stop = threading.Event()

    @property
    def root(self) -> str:
        return self.codebase.root.path

    def now(self) -> float:
        """Return the time of the run's clock."""
        return self._clock.monotonic()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether the run is over, or ends within this time."""
        return self._over.wait(max(0.0, seconds))

    def cancel(self) -> None:
        """Ask the run to stop; a run that publishes does not, and one that stops leaves the last snapshot as it was."""
        self._stop.set()

    def tell(self, progress: Progress) -> None:
        """Note the progress; raises `Cancelled` here when the run is to stop."""
        if self._stop.is_set() and progress.phase not in _TO_THE_END:
            raise Cancelled
        self.progress = progress

    def work(self, options: RunOptions, slots: threading.Semaphore, then: Callable[[Run], None]) -> None:
        """Do the run once it has its turn; every error is kept in `error`, not raised."""
        try:
            if self._gentle:
                _yield_to_others()
            with self._turn(slots):
                self.report = _ENGINES[self.action](self.codebase, options, self.tell, clock=self._clock)
        except CairnError as problem:
            self.error = _bare(problem)
        except OSError:
            self.error = SourceError(path=printable(os.fsencode(self.root)))
        except Exception:
            # Nothing above this thread could report the error.
            self.error = CairnError()
        finally:
            try:
                then(self)
            finally:
                self._over.set()

    @contextmanager
    def _turn(self, slots: threading.Semaphore) -> Iterator[None]:
        """Wait until the run may work; raises `Cancelled` when it is to stop before that."""
        if not self.action.is_large:
            yield
            return
        while not slots.acquire(timeout=_TURN_SECONDS):
            self.tell(Progress(Phase.QUEUED))
        try:
            yield
        finally:
            slots.release()

    @property
    def writer(self) -> WriterInfo:
        """The run as readers of its lease see it."""
        told = self.progress or Progress(Phase.WALKING)
        at = RunProgress("", told.phase.value, told.done, told.total, told.current_file, self.began_at)
        return WriterInfo(os.getpid(), self.action.value, self.began_at, "", alive=True, progress=at)

    @property
    def is_starting(self) -> bool:
        """Whether the run closes the gate and has not begun to publish; its lease may not be taken yet."""
        told = self.progress
        closes = self.action.closes_the_gate and not self.is_beside
        return closes and (told is None or told.phase not in _TO_THE_END)

    @property
    def is_beside(self) -> bool:
        """Whether the run makes an index that the repository's settings propose: the one in force goes on to answer."""
        return self.action.closes_the_gate and self.codebase.proposal is not None


def _yield_to_others() -> None:
    """Lower the priority of this thread, and of the processes that it starts, for good."""
    if sys.platform == "linux":
        # Elsewhere this would be the priority of the whole process.
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            usual = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, min(_LEAST_PRIORITY, usual + _LOWER_BY))


def _bare(problem: CairnError) -> CairnError:
    """Return the error without its traceback, whose frames hold workers and descriptors: a run is kept for long."""
    problem.__traceback__ = problem.__context__ = problem.__cause__ = None
    return problem


class Runs:
    """The runs of this process by their roots."""

    def __init__(
        self, environ: Mapping[str, str], clock: Clock = SYSTEM_CLOCK, *, models: Models | None = None
    ) -> None:
        self._clock = clock
        self._home = cairn_home(environ)
        self._models = models or Models(environ, clock)
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(MAX_RUNS)
        self._active: dict[str, tuple[Run, threading.Thread]] = {}
        self._last: dict[str, Run] = {}
        self._seen: dict[str, Seen] = {}
        self._closed = False
        # Called with every run when it begins, and again when it is over.
        self.observe: Callable[[Run], None] = lambda _: None

    def at_work(self) -> list[Run]:
        """Return all runs that are not over."""
        with self._lock:
            return [run for run, _ in self._active.values()]

    def active(self, root: str) -> Run | None:
        """Return the run that is at work on this root; None when there is none."""
        with self._lock:
            found = self._active.get(root)
            return found[0] if found else None

    def last(self, root: str) -> Run | None:
        """Return the run of this root that ended last; None when there is none."""
        with self._lock:
            return self._last.get(root)

    def remember(self, root: str) -> Seen:
        """Let runs of this root keep, from now on, what they saw, for scoped syncs."""
        with self._lock:
            return self._seen.setdefault(root, Seen())

    def forget(self, root: str) -> None:
        """Drop what runs of this root saw, because nobody watches its files any more."""
        with self._lock:
            self._seen.pop(root, None)

    def start(
        self,
        action: Action,
        codebase: Codebase,
        *,
        allow_degraded: bool = False,
        wait_seconds: float = 0.2,
        upkeep: bool = True,
        gentle: bool = False,
        hinted: frozenset[bytes] | None = None,
        found: Callable[[Gap], None] = lambda _: None,
        then: Callable[[Run], None] = lambda _: None,
    ) -> Run:
        """Start a run; raises `StoreBusy` while another run is at work on this root, `Cancelled` after `close`.

        `then` is called when the run is over, before `wait` returns. `hinted`: the only files that a sync must look at,
        because the rest was watched. A `gentle` run leaves the processor to everybody else.
        """
        run = Run(action, codebase, self._clock, gentle=gentle)
        options = RunOptions(
            self._home,
            allow_degraded=allow_degraded,
            wait_seconds=wait_seconds,
            embedder=self._models.of(codebase.config.embedding),
            upkeep=upkeep,
            # A worker inherits the priority of the run, and none can raise it again: it is not kept for the next run.
            keep_worker=not gentle,
            seen=self._seen.get(codebase.root.path),
            hinted=hinted,
            found=found,
        )

        def over(ended: Run) -> None:
            try:
                then(ended)
            finally:
                with self._lock:
                    del self._active[ended.root]
                    self._last[ended.root] = ended
                self.observe(ended)

        with self._lock:
            other = self._active.get(run.root)
            if other is not None:
                raise StoreBusy(kind=other[0].action.value, pid=os.getpid())
            if self._closed:
                raise Cancelled
            # A daemon thread: a process that ends does not wait for it, and the next run adopts what a killed run has
            # sealed.
            given = (options, self._slots, over)
            thread = threading.Thread(target=run.work, args=given, name=f"cairn {action}", daemon=True)
            self._active[run.root] = run, thread
            self.observe(run)
            thread.start()
        return run

    def close(self, seconds: float = 10.0) -> None:
        """Stop all runs and wait for them, at most so long together."""
        with self._lock:
            self._closed = True
            left = list(self._active.values())
        until = self._clock.monotonic() + seconds
        for run, _ in left:
            run.cancel()
        for _, thread in left:
            thread.join(max(0.0, until - self._clock.monotonic()))
        dismiss()


def retry_after_ms(run: Run | None) -> int:
    """Return after how many milliseconds it is worth asking again."""
    told = run.progress if run is not None else None
    if told is None or not told.rate or not told.total:
        return _USUAL_RETRY_MS
    left = 1_000 * (told.total - told.done) / told.rate
    return int(min(max(left, _LEAST_RETRY_MS), _MOST_RETRY_MS))


_TICK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call waits for a run, who gets the run's progress, and how the call learns that its caller left."""

    seconds: float = AGENT_WAIT_SECONDS
    sync_seconds: float = AGENT_SYNC_SECONDS
    progress: Tell = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    clock: Clock = SYSTEM_CLOCK

    def wait(self, run: Run, seconds: float | None = None) -> bool:
        """Whether the run is over in time; raises `Cancelled` when nobody waits for the answer any more."""
        until = self.clock.monotonic() + (self.seconds if seconds is None else seconds)
        told = None
        while not run.wait(min(_TICK_SECONDS, until - self.clock.monotonic())):
            if self.cancelled():
                raise Cancelled
            now = run.progress
            if now is not None and now != told:
                self.progress(now)
                told = now
            if self.clock.monotonic() >= until:
                return False
        return True
