"""Let a fork of a program wait until no other thread is in the middle of a question.

A child has only the thread that forked. A lock that another thread held at that moment (SQLite and RE2 have locks for a
whole process) is never released in the child, and its first question would wait for good.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from cairn.core.limits import FORK_WAIT_SECONDS

Given = ParamSpec("Given")
Told = TypeVar("Told")


class Forks:
    """Knows which threads are at work for a question; a fork of another thread waits for them, and they for it.

    A fork waits for `FORK_WAIT_SECONDS` at most. A thread that forks in the middle of its own question waits for
    nobody: two of them would wait for each other.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._at_work: dict[int, int] = {}
        self._waiting = 0

    @contextmanager
    def question(self) -> Iterator[None]:
        """Be at work for a question, inside the block; questions may stand in one another."""
        me = threading.get_ident()
        with self._turn:
            if me not in self._at_work:
                self._turn.wait_for(lambda: not self._waiting)
            self._at_work[me] = self._at_work.get(me, 0) + 1
        try:
            yield
        finally:
            with self._turn:
                self._at_work[me] -= 1
                if not self._at_work[me]:
                    del self._at_work[me]
                self._turn.notify_all()

    def let_pass(self) -> None:
        """Let a fork that waits go first; a long question calls this where it holds no lock."""
        me = threading.get_ident()
        with self._turn:
            if self._waiting and me in self._at_work:
                depth = self._at_work.pop(me)
                self._turn.notify_all()
                self._turn.wait_for(lambda: not self._waiting)
                self._at_work[me] = depth

    def before(self) -> None:
        """Wait for the questions of other threads, and let none begin until the fork is done."""
        self._turn.acquire()
        if threading.get_ident() not in self._at_work:
            self._waiting += 1
            self._turn.wait_for(lambda: not self._at_work, FORK_WAIT_SECONDS)

    def after_in_parent(self) -> None:
        """Let questions begin again."""
        if threading.get_ident() not in self._at_work:
            self._waiting -= 1
            self._turn.notify_all()
        self._turn.release()

    def after_in_child(self) -> None:
        """Forget the threads of the parent."""
        me = threading.get_ident()
        mine = self._at_work.get(me, 0)
        self._turn, self._at_work, self._waiting = threading.Condition(), {me: mine} if mine else {}, 0


FORKS = Forks()
os.register_at_fork(before=FORKS.before, after_in_parent=FORKS.after_in_parent, after_in_child=FORKS.after_in_child)


def one_question(ask: Callable[Given, Told]) -> Callable[Given, Told]:
    """Make a function one that a fork waits for."""

    @wraps(ask)
    def asked(*args: Given.args, **given: Given.kwargs) -> Told:
        with FORKS.question():
            return ask(*args, **given)

    return asked
