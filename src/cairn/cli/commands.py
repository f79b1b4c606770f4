"""Run a command in the daemon that was typed in another process: it prints what it would have printed there.

Only commands that read are run here, from codebases that are kept open, and only while the index can answer. Everything
else is left to the process that the command was typed in: indexing a folder, asking the person, naming a wrong path.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TextIO, cast

from cairn.ask.prepare import AS_IT_IS, Policy
from cairn.ask.runs import Patience
from cairn.ask.session import Session, Target, find_targets, whole
from cairn.ask.workspace import Workspace
from cairn.cli.main import main
from cairn.cli.output import NotHere, Output, Surroundings
from cairn.cli.verbs import COMMANDS
from cairn.daemon.frames import RENDERED
from cairn.daemon.requests import Emit

_DISPLAY = frozenset({"NO_COLOR", "FORCE_COLOR", "TERM"})
# A character takes at most twelve bytes in a frame, and a frame holds ten million.
_PIECE = 1 << 19


class Typed(NamedTuple):
    """A command line, its folder, and the streams it is printed on. `columns` is 0 where the width does not matter."""

    arguments: list[str]
    cwd: str
    environ: Mapping[str, str]
    stdout_is_terminal: bool
    stderr_is_terminal: bool
    columns: int


def run_command(
    workspace: Workspace, body: Mapping[str, Any], emit: Emit, cancelled: Callable[[], bool] = lambda: False
) -> int | None:
    """Return the exit status of a command, once all of its output was emitted; None when the client must run it itself.

    After None, the client must not print what was emitted.
    """
    typed = typed_of(body)
    if typed is None or not _is_rendered(typed.arguments):
        return None
    pages = _Pages(emit)
    around = _Elsewhere(workspace, typed, cancelled)
    stdout = cast("TextIO", _Page("out", pages, typed.stdout_is_terminal))
    stderr = cast("TextIO", _Page("err", pages, typed.stderr_is_terminal))
    try:
        status = main(typed.arguments, Output(stdout, stderr, typed.environ, around=around))
    except Exception:
        # The client runs the command again, where a person can see what is wrong.
        return None
    pages.flush()
    return status


def typed_of(body: Mapping[str, Any]) -> Typed | None:
    """Return the command line in a client's message; None when the message holds none."""
    arguments, cwd = body.get("argv"), body.get("cwd")
    environ, terminal = body.get("environ", {}), body.get("terminal", {})
    if not (isinstance(arguments, list) and arguments and all(isinstance(one, str) for one in arguments)):
        return None
    if not (isinstance(cwd, str) and os.path.isabs(cwd) and "\0" not in cwd):
        return None
    if not (isinstance(environ, dict) and isinstance(terminal, dict)):
        return None
    columns = terminal.get("columns")
    return Typed(
        arguments,
        cwd,
        {name: value for name, value in environ.items() if name in _DISPLAY and isinstance(value, str)},
        terminal.get("stdout") is True,
        terminal.get("stderr") is True,
        columns if isinstance(columns, int) and columns > 0 else 0,
    )


def _is_rendered(arguments: Sequence[str]) -> bool:
    first = arguments[0]
    if first.startswith("-") or first == "help":
        return False
    return first in RENDERED or first not in COMMANDS


class _Pages:
    """The output of a command in its order: the answer is held back to the end, and notes are emitted at once."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._held: list[str] = []

    def write(self, name: str, text: str) -> None:
        if name == "out":
            self._held.append(text)
            return
        self.flush()
        self._emit(name, text)

    def flush(self) -> None:
        whole_text = "".join(self._held)
        self._held.clear()
        for start in range(0, len(whole_text), _PIECE):
            self._emit("out", whole_text[start : start + _PIECE])


class _Page(io.TextIOBase):
    """One of the two streams of a command that was typed elsewhere."""

    def __init__(self, name: str, pages: _Pages, is_terminal: bool) -> None:
        self._name, self._pages, self._is_terminal = name, pages, is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self._pages.write(self._name, text)
        return len(text)


class _Elsewhere(Surroundings):
    """The surroundings of a person in another process: that process's folder, and the daemon's open codebases."""

    def __init__(self, workspace: Workspace, typed: Typed, cancelled: Callable[[], bool]) -> None:
        super().__init__(workspace.pool.environ)
        self._workspace, self._typed, self._cancelled = workspace, typed, cancelled
        self.columns = typed.columns or None

    @property
    def cwd(self) -> str:
        return self._typed.cwd

    def path(self, typed: str) -> str:
        return os.path.join(self.cwd, typed)

    def only_where_typed(self) -> None:
        raise NotHere

    def target(self, folder: str) -> Target:
        return Target(folder, whole(self.path(folder), self.environ).codebase)

    def targets(self, paths: Sequence[str]) -> list[Target]:
        return find_targets(paths, self.environ, self.cwd)

    @contextmanager
    def sessions(
        self, targets: Sequence[Target], policy: Policy | None, output: Output, *, read_only: bool = False
    ) -> Iterator[list[Session]]:
        """The codebase as it is kept open, compared with its files first; raises `NotHere` when it cannot answer."""
        if read_only or len(targets) != 1:
            raise NotHere
        [target] = targets
        progress = output.progress()
        try:
            # A person waits and sees the progress. A folder is indexed for the first time only where the command was
            # typed.
            policy = replace(
                policy or AS_IT_IS, create=False, stale_ok=False, rests=False, overlay=True, tell=progress.tell
            )
            patience = Patience(policy.seconds, cancelled=self._cancelled)
            with self._workspace.prepared(target, policy, patience) as session:
                progress.done()
                if not session.gate.is_open:
                    raise NotHere
                yield [session]
        finally:
            progress.done()
