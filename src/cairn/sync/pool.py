"""Many candidates → their facts, in order, on as many processes as pay for themselves.

Parsing holds the interpreter's lock, so it is spread over processes, not threads. Workers are spawned (a daemon has
threads, and forking those is unsafe), know nothing but the root, and end when the pipe to their parent does.

A parser is native code fed with hostile bytes: it may crash, or run for ever. A worker that dies takes nothing with it:
its files go to a fresh worker one by one, and the one that kills again is cut by lines. The kernel ends a worker that
spends too much CPU on one file, so "for ever" becomes "dies".
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from cairn.config import LimitConfig
from cairn.limits import FILES_PER_TASK, MIN_FILES_FOR_POOL, WORKER_CPU_SECONDS_PER_FILE
from cairn.source.beneath import Tree
from cairn.sync.extract import extract
from cairn.types import Candidate, ExtractOutcome, Root

# One task being worked on and one waiting in the pipe, so that no worker ever waits for its parent.
_TASKS_AHEAD = 2


class _Duty(NamedTuple):
    """What every worker is told once."""

    root: Root
    limits: LimitConfig
    cpu_seconds: float


class _Task(NamedTuple):
    """A run of candidates. `start` is the place of the first in the whole list; a suspect is a run of one."""

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
) -> Iterator[ExtractOutcome]:
    """The outcome of every candidate, in the order given."""
    count = worker_count(len(candidates)) if workers is None else workers
    if count <= 1:
        with Tree(root) as tree:
            for candidate in candidates:
                yield extract(tree, candidate, limits)
        return
    with contextlib.closing(_Pool(_Duty(root, limits, cpu_seconds), count)) as pool:
        yield from pool.run(candidates)


def worker_count(files: int) -> int:
    """As many workers as cores, but none for a handful of files: starting two costs more than parsing a hundred."""
    return 1 if files < MIN_FILES_FOR_POOL else max(1, len(os.sched_getaffinity(0)))


class _Worker:
    """One process, the pipe to it, and the tasks it holds."""

    def __init__(self, duty: _Duty) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs, duty), daemon=True)
        self.process.start()
        theirs.close()
        self.tasks: deque[_Task] = deque()

    def give(self, task: _Task) -> None:
        self.tasks.append(task)
        # A worker that is already dead shows at the next wait; the task is then taken back from `tasks`.
        with contextlib.suppress(BrokenPipeError):
            self.pipe.send(task)

    def stop(self) -> None:
        self.pipe.close()
        self.process.join(timeout=0.5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


class _Pool:
    """Hands out tasks, takes back answers, and replaces what dies."""

    def __init__(self, duty: _Duty, count: int) -> None:
        self._duty = duty
        self._workers = [_Worker(duty) for _ in range(count)]
        self._waiting: deque[_Task] = deque()
        self._done: dict[int, ExtractOutcome] = {}

    def run(self, candidates: Sequence[Candidate]) -> Iterator[ExtractOutcome]:
        """All outcomes in order. Answers that come early wait for the ones before them."""
        for start in range(0, len(candidates), FILES_PER_TASK):
            self._waiting.append(_Task(start, tuple(candidates[start : start + FILES_PER_TASK])))
        for index in range(len(candidates)):
            while index not in self._done:
                self._feed()
                self._collect()
            yield self._done.pop(index)

    def close(self) -> None:
        for worker in self._workers:
            worker.stop()

    def _feed(self) -> None:
        for worker in self._workers:
            while self._waiting and len(worker.tasks) < _TASKS_AHEAD:
                # A suspect is worked on alone, so that a death names its file.
                if worker.tasks and (self._waiting[0].suspect or worker.tasks[-1].suspect):
                    break
                worker.give(self._waiting.popleft())

    def _collect(self) -> None:
        ready = wait([worker.pipe for worker in self._workers if worker.tasks])
        for index, worker in enumerate(self._workers):
            if worker.pipe not in ready:
                continue
            try:
                outcomes: list[ExtractOutcome] = worker.pipe.recv()
            except (EOFError, OSError):
                self._bury(index)
            else:
                self._done.update(enumerate(outcomes, worker.tasks.popleft().start))

    def _bury(self, index: int) -> None:
        """A worker died: the files it was at become suspects, each on its own; a suspect that kills is cut by lines."""
        dead = self._workers[index]
        first, *later = dead.tasks
        if first.suspect:
            again = [first._replace(plain=True)]
        else:
            again = [_Task(first.start + at, (file,), suspect=True) for at, file in enumerate(first.candidates)]
        self._waiting.extendleft(reversed([*again, *later]))
        dead.tasks.clear()
        dead.stop()
        self._workers[index] = _Worker(self._duty)


def _serve(pipe: Connection, duty: _Duty) -> None:
    """What a worker does: take a task, answer it, until the parent closes the pipe or is gone."""
    # Ctrl-C reaches the whole group; the parent decides what it means and then closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Tree(duty.root) as tree, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task: _Task = pipe.recv()
            outcomes = []
            for candidate in task.candidates:
                # The default action of SIGPROF ends the process, also inside native code that holds the lock.
                signal.setitimer(signal.ITIMER_PROF, duty.cpu_seconds)
                outcomes.append(extract(tree, candidate, duty.limits, plain=task.plain))
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send(outcomes)
