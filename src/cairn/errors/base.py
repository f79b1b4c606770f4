"""What every error is: a sentence made from its docstring, advice, a stable code and an exit status."""

from __future__ import annotations

import errno
import resource
from typing import ClassVar

# Trouble of this process or machine, not of a file: to go on without the file would lose it in silence.
OUR_TROUBLE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


# What a loader says when a library does not fit in the memory that is left.
_NO_ROOM = ("failed to map segment", "cannot allocate memory", "cannot map zero-fill", "out of memory")
_MOST_CAUSES = 16


def memory_trouble(problem: BaseException) -> str | None:
    """Return why memory was too short, when that is what an exception comes from; None for every other one.

    Few say so themselves: a library that does not fit is an `ImportError`, one that fits in half a `SystemError`, and a
    thread without a stack a `RuntimeError`.
    """
    at: BaseException | None = problem
    for _ in range(_MOST_CAUSES):
        if at is None:
            return None
        text = str(at).lower()
        if isinstance(at, MemoryError):
            return "the system gave it no more"
        if isinstance(at, OSError) and at.errno == errno.ENOMEM:
            return "the system gave it no more"
        if isinstance(at, ImportError | OSError) and any(words in text for words in _NO_ROOM):
            return "a library could not be loaded"
        if isinstance(at, SystemError) and "without exception set" in text and _is_limited():
            return "a library could not be loaded"
        if isinstance(at, RuntimeError) and "can't start new thread" in text and _is_limited():
            return "no other thread could be started"
        at = at.__cause__ or at.__context__
    return None


def _is_limited() -> bool:
    """Whether the memory of this process has a limit of its own."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


class CairnError(Exception):
    """Something went wrong inside Cairn.

    This is a bug in Cairn, not in your repository; please report it with the command you ran.
    """

    code: ClassVar[str] = "internal"
    exit_status: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        sentence, advice = _paragraphs(type(self))
        self.sentence = sentence.format(**fields)
        self.advice = advice.format(**fields)
        super().__init__(self.sentence)


def _paragraphs(error: type[CairnError]) -> tuple[str, str]:
    # Folding all white space undoes the indentation too; `inspect.cleandoc` would cost more to import than we do.
    sentence, _, advice = (error.__doc__ or "").partition("\n\n")
    return " ".join(sentence.split()), " ".join(advice.split())
