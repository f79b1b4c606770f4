"""What goes wrong in a test: system calls that fail or do something first, and limits that are soon reached."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest


@contextmanager
def small_files(most: int) -> Iterator[dict[str, str]]:
    """No file may grow beyond so many bytes meanwhile, in this process and in those that it starts.

    Python does not see that it has written half of a module's bytecode, and fails to load it from then on: it is not to
    write any. What is given is for the environment of a process that does not get ours.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    environ = {"PYTHONDONTWRITEBYTECODE": "1"}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "dont_write_bytecode", True)
        for name, value in environ.items():
            patched.setenv(name, value)
        # What is only lowered for a moment needs no rights to be raised again.
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        try:
            yield environ
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Faults:
    """Faults that hold until the test ends; the fixture `faults` gives one, and `Faults.meanwhile` one for a block.

    Use it for what no parameter reaches: functions of the operating system, doors of a disk, and a module's limits.
    Whatever takes a clock, a disk, processes or an environment gets another one as an argument.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    @classmethod
    @contextmanager
    def meanwhile(cls) -> Iterator[Faults]:
        """Give faults that end with the block."""
        with pytest.MonkeyPatch.context() as monkeypatch:
            yield cls(monkeypatch)

    def end(self) -> None:
        """Let everything be as it was."""
        self._monkeypatch.undo()

    def limit(self, module: ModuleType, **limits: float) -> None:
        """Let a module work with other limits. A name that is none of its numbers is an error."""
        for name, limit in limits.items():
            old = getattr(module, name)
            if not isinstance(old, int | float) or isinstance(old, bool):
                raise TypeError(f"{module.__name__}.{name} is no number")
            self._monkeypatch.setattr(module, name, limit)

    def around(self, owner: object, name: str, call: Callable[..., Any]) -> None:
        """Let `call` answer instead of a function or method; it gets the real one, and then all arguments."""
        real = getattr(owner, name)
        self._monkeypatch.setattr(owner, name, lambda *given, **named: call(real, *given, **named))

    def fail(self, owner: object, name: str, error: BaseException, *, at: int | None = None) -> None:
        """Let a function or method raise this error: each call of it, or only the one with this number, from 1 on."""
        calls = 0

        def call(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if at is None or calls == at:
                raise error
            return real(*given, **named)

        self.around(owner, name, call)

    def answer(self, owner: object, name: str, value: object) -> None:
        """Let a function or method return this value, whatever it is given."""
        self._monkeypatch.setattr(owner, name, lambda *_, **__: value)

    def note(self, owner: object, name: str) -> list[tuple[Any, ...]]:
        """Return a list to which every call of a function or method will add its positional arguments."""
        noted: list[tuple[Any, ...]] = []

        def call(real: Callable[..., Any], *given: Any, **named: Any) -> Any:
            noted.append(given)
            return real(*given, **named)

        self.around(owner, name, call)
        return noted
