"""Index a folder, or bring its index up to date, in a thread that a program may wait for (`cairn.start_indexing`)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from os import PathLike

from cairn.ask.forks import FORKS, one_question
from cairn.ask.library import name_of
from cairn.core.config import cairn_home
from cairn.core.options import called
from cairn.core.progress import Progress
from cairn.errors import CairnError, IndexingInProgressError, SourceError, UsageError
from cairn.source.root import printable
from cairn.sync import run
from cairn.sync.codebase import Codebase, open_codebase
from cairn.sync.report import RunOptions
from cairn.sync.status import look

# The runs of this process that are at work, by process and root: a fork has the entries and none of the threads.
_AT_WORK: dict[tuple[int, str], Indexing] = {}
_TURN = threading.Lock()


class Indexing:
    """A run that makes the index of a folder, or takes in what has changed, while the program goes on."""

    def __init__(self, codebase: Codebase, progress: Callable[[Progress], None] | None) -> None:
        self._codebase, self._told = codebase, progress
        self._progress: Progress | None = None
        self._error: CairnError | None = None
        self._over = threading.Event()

    @property
    def root(self) -> str:
        """The absolute path of the folder."""
        return self._codebase.root.path

    @property
    def progress(self) -> Progress | None:
        """How far the run is; None before it has begun."""
        return self._progress

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, well or not."""
        return self._over.is_set()

    def wait_for_completion(self, timeout: float | None = None) -> bool:
        """Wait for the end of the run, at most so many seconds, and return whether it is over.

        Raises the error of a run that has failed.
        """
        over = self._over.wait(timeout)
        if self._error is not None:
            raise self._error
        return over

    @one_question
    def _work(self) -> None:
        try:
            run.sync(self._codebase, RunOptions(cairn_home(os.environ)), self._tell)
        except CairnError as problem:
            self._error = problem
        except OSError:
            self._error = SourceError(path=printable(os.fsencode(self.root)))
        except Exception:
            # Nothing above this thread could report the error.
            self._error = CairnError()
        finally:
            with _TURN:
                _AT_WORK.pop((os.getpid(), self.root), None)
            self._over.set()

    def _tell(self, at: Progress) -> None:
        FORKS.let_pass()
        self._progress = at
        if self._told is not None:
            self._told(at)


def start_indexing(
    path: str | PathLike[str], *, background: bool, progress: Callable[[Progress], None] | None
) -> Indexing:
    """Begin a run; raises `IndexingInProgressError` when one is at work on this folder."""
    if progress is not None and not callable(progress):
        raise UsageError(problem=f"`progress` takes a function, not {called(progress)}.")
    codebase = open_codebase(name_of(path, "path"), os.environ)
    writer = look(codebase, cairn_home(os.environ), measured=False).writer
    if writer is not None and writer.alive:
        raise IndexingInProgressError(path=printable(os.fsencode(codebase.root.path)))
    begun = Indexing(codebase, progress)
    with _TURN:
        if _AT_WORK.setdefault((os.getpid(), begun.root), begun) is not begun:
            raise IndexingInProgressError(path=printable(os.fsencode(begun.root)))
    if background:
        # A daemon thread: a program that ends does not wait for it, and the next run adopts what it has sealed.
        threading.Thread(target=begun._work, name="cairn indexing", daemon=True).start()
    else:
        begun._work()
        begun.wait_for_completion()
    return begun
