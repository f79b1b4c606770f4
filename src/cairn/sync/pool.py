"""Turn many candidates into their facts, in order, in worker processes.

Parsing holds the interpreter's lock, so it is spread over processes, not threads; a handful of files gets one process.
Workers know nothing but the root, and end when the pipe to their parent does.

A parser is native code fed with hostile bytes: it may crash, run for ever, or eat all memory (300 kB of `x=>` in a .c
file take more than 20 GB). So nothing is parsed in this process. The files of a worker that died go to a fresh worker
one by one, and a file that kills that worker too is cut by lines. The kernel refuses a worker more memory than its
share and ends one that spends too much CPU on a file, so "for ever" and "all memory" become "dies".
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from cairn.core.collector import no_cycle_collection
from cairn.core.config import LimitConfig
from cairn.core.filetypes import language_of
from cairn.core.limits import (
    FILES_PER_TASK,
    MIN_FILES_FOR_POOL,
    WORKER_CPU_SECONDS_PER_FILE,
    WORKER_IDLE_SECONDS,
    WORKER_MEMORY_BYTES,
)
from cairn.core.types import (
    Candidate,
    Chunk,
    ExtractOutcome,
    FileFacts,
    Import,
    Reference,
    Root,
    Skip,
    SkipReason,
    SourceFile,
    Symbol,
    Syntax,
)
from cairn.errors import OUR_TROUBLE, CairnError, GrammarMismatch, OutOfResources
from cairn.source.beneath import Tree
from cairn.source.stable_read import read_stable
from cairn.syntax.analyze import analyze, cut_by_lines
from cairn.syntax.languages import load

# --- Candidate → FileFacts: read once, hash, parse, chunk. Runs in the workers.


HEAD_BYTES = 4_096


def extract(tree: Tree, candidate: Candidate, limits: LimitConfig, *, plain: bool = False) -> ExtractOutcome:
    """Return the facts of one file, or why there are none; `plain` uses no grammar, for a file that killed a parser."""
    outcome = read_stable(tree, candidate, max_bytes=limits.max_file_bytes)
    if not isinstance(outcome, SourceFile):
        return outcome
    name = candidate.raw.rpartition(b"/")[2]
    language = language_of(name, outcome.data[:HEAD_BYTES])
    syntax, chunks = (cut_by_lines if plain else analyze)(outcome.data, language)
    if len(chunks) > limits.max_chunks_per_file:
        detail = f"{len(chunks):,} chunks, the limit is {limits.max_chunks_per_file:,}"
        return Skip(candidate.raw, SkipReason.TOO_MANY_CHUNKS, detail)
    return FileFacts(outcome, syntax, chunks)


# --- Facts on their way from a worker: column by column, in half the time of pickling every fact.


Columns = list[tuple[Any, ...]]
T = TypeVar("T", bound=tuple[Any, ...])


class Parcel(NamedTuple):
    """The facts of one file as columns; `told` is its syntax without symbols, references and imports."""

    source: SourceFile
    symbols: Columns
    references: Columns
    imports: Columns
    chunks: Columns
    told: Syntax


def pack(outcomes: Iterable[ExtractOutcome]) -> list[Any]:
    """Return the outcomes in the form that travels through the pipe."""
    return [_packed(outcome) if isinstance(outcome, FileFacts) else outcome for outcome in outcomes]


def unpack(parcels: Iterable[Any]) -> list[ExtractOutcome]:
    """Return the outcomes that `pack` packed."""
    return [_unpacked(parcel) if isinstance(parcel, Parcel) else parcel for parcel in parcels]


def _packed(facts: FileFacts) -> Parcel:
    syntax = facts.syntax
    rest = Syntax(
        syntax.language,
        syntax.state,
        exports=syntax.exports,
        partial=syntax.partial,
        interface_hash=syntax.interface_hash,
    )
    return Parcel(
        facts.source,
        _columns(syntax.symbols),
        _columns(syntax.references),
        _columns(syntax.imports),
        _columns(facts.chunks),
        rest,
    )


def _columns(rows: Sequence[tuple[Any, ...]]) -> Columns:
    return list(zip(*rows, strict=True))


def _unpacked(parcel: Parcel) -> FileFacts:
    told = parcel.told
    syntax = Syntax(
        told.language,
        told.state,
        _rows(Symbol, parcel.symbols),
        _rows(Reference, parcel.references),
        _rows(Import, parcel.imports),
        told.exports,
        told.partial,
        told.interface_hash,
    )
    return FileFacts(parcel.source, syntax, _rows(Chunk, parcel.chunks))


def _rows(kind: type[T], columns: Sequence[tuple[Any, ...]]) -> tuple[T, ...]:
    # The constructor of a NamedTuple does the same, with a call of a Python function for each row.
    return tuple(map(partial(tuple.__new__, kind), zip(*columns, strict=True)))


# The most workers that wait for another call, each for one codebase.
_MOST_SPARES = 4
# One task in work and one waiting in the pipe, so that no worker ever waits for its parent.
_TASKS_AHEAD = 2


class _Duty(NamedTuple):
    """What a worker is told when it starts."""

    root: Root
    limits: LimitConfig
    cpu_seconds: float
    idle_seconds: float | None = None


class _Task(NamedTuple):
    """Some candidates in a row. `start` is the place of the first in the whole list.

    A `suspect` task is one file of a worker that died; a `plain` one is cut by lines, because it killed twice.
    """

    start: int
    candidates: tuple[Candidate, ...]
    suspect: bool = False
    plain: bool = False


def extract_all(
    root: Root,
    candidates: Sequence[Candidate],
    limits: LimitConfig,
    *,
    workers: int | None = None,
    cpu_seconds: float = WORKER_CPU_SECONDS_PER_FILE,
    keep: bool = False,
) -> Iterator[ExtractOutcome]:
    """Yield the outcome of every candidate, in the order given.

    With `keep`, a worker that had to be spawned waits a while for the next call: for a server, whose files are saved
    one by one. `dismiss` ends such workers.
    """
    count = worker_count(len(candidates)) if workers is None else workers
    if candidates:
        duty = _Duty(root, limits, cpu_seconds, WORKER_IDLE_SECONDS if keep else None)
        with contextlib.closing(_Pool(duty, count, candidates)) as pool:
            yield from pool.run()


def dismiss() -> None:
    """End the workers that wait for another call."""
    _SPARES.dismiss()


def worker_count(files: int) -> int:
    """Return one worker for each core but the one that this process keeps busy; one for a handful of files."""
    return 1 if files < MIN_FILES_FOR_POOL else max(1, len(os.sched_getaffinity(0)) - 1)


class _Worker:
    """One process, the pipe to it, and the tasks it holds."""

    def __init__(self, duty: _Duty, *, forked: bool) -> None:
        context: SpawnContext | ForkContext = get_context("fork") if forked else get_context("spawn")
        self.pipe, theirs = context.Pipe()
        inherited = _open_files() - {theirs.fileno()} if forked else set()
        self.process = context.Process(target=_serve, args=(theirs, duty, inherited), daemon=True)
        if not forked:
            # The resource tracker would else be started inside the block below, and that start unblocks SIGINT again.
            resource_tracker.ensure_running()
            _stand_somewhere()
        with _nameless_main(), _deaf_to_ctrl_c(), warnings.catch_warnings():
            # Newer Pythons warn of forks beside threads, and count the threads of numpy, which are harmless here.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()
        self.folder = _folder(duty.root)
        self.tasks: deque[_Task] = deque()

    def give(self, task: _Task) -> None:
        self.tasks.append(task)
        # The next wait notices a dead worker, and takes this task back from `tasks`.
        with contextlib.suppress(BrokenPipeError):
            self.pipe.send(task)

    def answers(self) -> bool:
        """Whether an idle worker is alive, shown by an answer: a killed process may seem alive for a while.

        A suspect file is given only to a worker that has just answered, so that no file is blamed for an earlier death.
        """
        try:
            self.pipe.send(_Task(0, ()))
            self.pipe.recv()
        except (EOFError, OSError):
            return False
        return True

    def stop(self) -> None:
        self.pipe.close()
        self.process.join(timeout=0.5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


class _Spares:
    """Workers that wait for the next call with their duty, at most one for each duty; each ends when no call comes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[_Duty, _Worker] = {}

    def take(self, duty: _Duty) -> _Worker | None:
        """Return the waiting worker for this duty, if it is alive and the root's path still leads to its folder."""
        with self._lock:
            worker = self._waiting.pop(duty, None)
        if worker is not None and not (worker.process.is_alive() and worker.folder == _folder(duty.root)):
            worker.stop()
            return None
        return worker

    def put(self, duty: _Duty, worker: _Worker) -> None:
        """Let a worker wait; the one that has waited longest ends when there are too many."""
        with self._lock:
            before = self._waiting.pop(duty, None)
            self._waiting[duty] = worker
            longest = self._waiting.pop(next(iter(self._waiting))) if len(self._waiting) > _MOST_SPARES else None
        for gone in (before, longest):
            if gone is not None:
                gone.stop()

    def dismiss(self) -> None:
        """End all waiting workers."""
        with self._lock:
            gone = list(self._waiting.values())
            self._waiting.clear()
        for each in gone:
            each.stop()


_SPARES = _Spares()


def _folder(root: Root) -> tuple[int, int] | None:
    """Return the identity of the folder at the root's path; None when there is none."""
    with contextlib.suppress(OSError):
        found = os.stat(root.path)
        return found.st_dev, found.st_ino
    return None


def _is_alone() -> bool:
    """Whether no other thread runs in this process that makes a fork dangerous.

    Threads of gRPC (a search server was asked) are not Python's and not counted. They end a fork as soon as it closes
    their descriptors, and it would look as if the file were to blame.
    """
    return threading.active_count() == 1 and "grpc" not in sys.modules


def _open_files() -> set[int]:
    """Return every descriptor of this process but the three standard ones.

    A fork inherits them and must close them. With our ends of the pipes, other workers would never see that this
    process has ended; with our locks, the store would stay locked after that.
    """
    return {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2}


def _stand_somewhere() -> None:
    """Leave a working folder that was deleted, as a server's is when its project is cloned anew.

    A spawned process is told the working folder of its parent, and cannot be started without one.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        os.chdir("/")


@contextlib.contextmanager
def _nameless_main() -> Iterator[None]:
    """Hide the main module while a worker starts.

    A spawned process imports the main module of its parent again. Workers need nothing of it, and a script that uses
    Cairn without an `if __name__ == "__main__"` would run a second time in every worker.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Start a worker with SIGINT blocked, so that Ctrl-C, which reaches the whole group, cannot end it in an import.

    That would print a traceback. A Ctrl-C to this process is delivered after the start: a worker that was told only
    half would print a traceback too.
    """
    came: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Other threads receive no Ctrl-C and may not set a handler.
    ours = threading.current_thread() is threading.main_thread() and handler is not None
    if ours:
        signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    # A new process inherits the blocked signals of this thread, but no handler.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if ours:
            signal.signal(signal.SIGINT, handler)
    if came:
        signal.raise_signal(signal.SIGINT)


class _Pool:
    """Hands out tasks, takes back answers, and replaces workers that die."""

    def __init__(self, duty: _Duty, count: int, candidates: Sequence[Candidate]) -> None:
        self._duty, self._candidates = duty, candidates
        # A fork costs milliseconds, a spawned worker a quarter of a second, or a whole one when it must compile the
        # query of C++. But a fork inherits locks that other threads hold, locked for ever: so fork only when there are
        # none.
        self._forked = _is_alone() and sys.platform == "linux"
        if self._forked:
            _load_grammars(candidates)
        spare = _SPARES.take(duty) if self._keeps else None
        self._workers = [*([spare] if spare else []), *(self._worker() for _ in range(count - (spare is not None)))]
        self._waiting: deque[_Task] = deque()
        self._done: dict[int, ExtractOutcome] = {}

    def run(self) -> Iterator[ExtractOutcome]:
        """Yield all outcomes in order; answers that come early wait for the ones before them."""
        candidates = self._candidates
        for start in range(0, len(candidates), FILES_PER_TASK):
            self._waiting.append(_Task(start, tuple(candidates[start : start + FILES_PER_TASK])))
        for index in range(len(candidates)):
            while index not in self._done:
                self._feed()
                self._collect()
            yield self._done.pop(index)

    def _worker(self) -> _Worker:
        return _Worker(self._duty, forked=self._forked)

    @property
    def _keeps(self) -> bool:
        return self._duty.idle_seconds is not None and not self._forked

    def close(self) -> None:
        kept, *others = self._workers
        for worker in others:
            worker.stop()
        # A worker with tasks left belongs to a call that was given up: it is not kept.
        if self._keeps and not kept.tasks:
            _SPARES.put(self._duty, kept)
        else:
            kept.stop()

    def _feed(self) -> None:
        suspicious = bool(self._waiting) and self._waiting[0].suspect
        for index, idle in enumerate(self._workers):
            if not idle.tasks and not (idle.answers() if suspicious else idle.process.is_alive()):
                idle.stop()
                self._workers[index] = self._worker()
        for worker in self._workers:
            while self._waiting and len(worker.tasks) < _TASKS_AHEAD:
                # A worker gets a suspect task alone, so that its death names the file.
                if worker.tasks and (self._waiting[0].suspect or worker.tasks[-1].suspect):
                    break
                worker.give(self._waiting.popleft())

    def _collect(self) -> None:
        ready = wait([worker.pipe for worker in self._workers if worker.tasks])
        for index, worker in enumerate(self._workers):
            if worker.pipe not in ready:
                continue
            try:
                with no_cycle_collection():
                    outcomes = unpack(worker.pipe.recv())
            except (EOFError, OSError):
                self._bury(index)
            else:
                self._done.update(enumerate(outcomes, worker.tasks.popleft().start))

    def _bury(self, index: int) -> None:
        """Replace a dead worker: each of its current files becomes a suspect; a suspect that killed is cut by lines."""
        dead = self._workers[index]
        first, *later = dead.tasks
        if first.plain:
            dead.process.join(timeout=0.5)
            if dead.process.exitcode in OUR_TROUBLE:
                raise OutOfResources(why=os.strerror(dead.process.exitcode))
            # Reading and cutting by lines runs no native code: a death here is a bug, and trying for ever would hide
            # it.
            raise CairnError
        if first.suspect:
            again = [first._replace(plain=True)]
        else:
            again = [_Task(first.start + at, (file,), suspect=True) for at, file in enumerate(first.candidates)]
        self._waiting.extendleft(reversed([*again, *later]))
        dead.tasks.clear()
        dead.stop()
        self._workers[index] = self._worker()


def _load_grammars(candidates: Sequence[Candidate]) -> None:
    """Load the grammars that these file names ask for, once, so that every fork has them.

    No file is parsed here. The worker that needs a grammar reports when it cannot be loaded.
    """
    # Only the content of a header tells C from C++, and where there are headers there are source files with clear
    # names.
    names = (one.raw.rpartition(b"/")[2] for one in candidates if not one.raw.endswith(b".h"))
    for language in set(map(language_of, names)):
        with contextlib.suppress(ImportError, GrammarMismatch):
            load(language)


def _serve(pipe: Connection, duty: _Duty, inherited: set[int]) -> None:
    """Run a worker: take a task, answer it, until the parent closes the pipe or is gone."""
    for descriptor in inherited:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    # The parent decides what Ctrl-C means and then closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _know_our_place()
    # Never search inherited objects for cycles, which would also copy them page by page. A worker makes no cycles worth
    # a search during a task; the search after each task has next to nothing to look at.
    gc.freeze()
    gc.disable()
    try:
        with Tree(duty.root) as tree:
            while duty.idle_seconds is None or pipe.poll(duty.idle_seconds):
                task: _Task = pipe.recv()
                pipe.send(pack(_outcomes(tree, task, duty)))
                gc.collect()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in OUR_TROUBLE:
            os._exit(problem.errno)
        # The parent notices the death and tries again; a traceback on the user's terminal would explain nothing.
        if os.environ.get("CAIRN_DEBUG"):
            raise
        os._exit(1)


def _know_our_place() -> None:
    """Limit this worker's memory to a parser's share, and forbid core files and output on the user's terminal."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        share = pages * resource.getpagesize() + WORKER_MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (share, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if not os.environ.get("CAIRN_DEBUG"):
        # What a parser prints when memory is refused would only puzzle the user. Without a free descriptor it is
        # printed.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _outcomes(tree: Tree, task: _Task, duty: _Duty) -> list[ExtractOutcome]:
    outcomes = []
    for candidate in task.candidates:
        # The default action of SIGPROF ends the process, even inside native code that holds the interpreter's lock.
        signal.setitimer(signal.ITIMER_PROF, duty.cpu_seconds)
        outcomes.append(extract(tree, candidate, duty.limits, plain=task.plain))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return outcomes
