"""Print answers at a terminal: results on stdout, everything else on stderr, colours only where they are wanted."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, TextIO, cast

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.progress import Progress
from cairn.core.text import plain
from cairn.core.types import SkipReason
from cairn.errors import AnswerUnwritable, CairnError
from cairn.source.root import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.ask.prepare import Policy
    from cairn.ask.session import Session, Target


# --- The surroundings of a command: this process, or a client of the daemon.


class NotHere(Exception):
    """Only the process that the command was typed in can do this, or say it in the right words."""


class Surroundings:
    """The surroundings of this process: its folder, its environment, and codebases opened for one command."""

    # The width of the terminal, where only another process can see it.
    columns: int | None = None

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ

    @property
    def cwd(self) -> str:
        """The folder in which the command was typed."""
        return os.getcwd()

    def path(self, typed: str) -> str:
        """Return a typed path as this process can open it."""
        return typed

    def base(self, root: str) -> str:
        """Return the folder that names of files are relative to: where the command was typed, or `--root`."""
        return self.cwd if root == "." else os.path.normpath(os.path.join(self.cwd, root))

    def only_where_typed(self) -> None:
        """Pass in the process of the command; raise `NotHere` in a daemon.

        Called before what needs the person, or names paths as they were typed.
        """

    def target(self, folder: str) -> Target:
        """Return the codebase that holds a folder, all of it."""
        from cairn.ask.session import whole  # noqa: PLC0415 - numpy takes a tenth of a second

        return whole(folder, self.environ)

    def targets(self, paths: Sequence[str]) -> list[Target]:
        """Return the codebases that hold these files and folders."""
        from cairn.ask.session import find_targets  # noqa: PLC0415

        return find_targets(paths, self.environ)

    @contextmanager
    def sessions(
        self, targets: Sequence[Target], policy: Policy | None, output: Output, *, read_only: bool = False
    ) -> Iterator[list[Session]]:
        """The codebases, open and prepared by the policy (None: not prepared), with a progress bar for long steps."""
        from cairn.ask.session import Session  # noqa: PLC0415

        with ExitStack() as stack:
            opened = [stack.enter_context(Session(one, self.environ, read_only=read_only)) for one in targets]
            if policy is not None:
                prepare_all(opened, policy, output)
            yield opened


def prepare_all(sessions: Sequence[Session], policy: Policy, output: Output) -> None:
    """Do the step before the read for every codebase, with a progress bar when it takes long."""
    from cairn.ask.prepare import prepare  # noqa: PLC0415 - numpy takes a tenth of a second

    for session in sessions:
        progress = output.progress()
        try:
            prepare(session, replace(policy, tell=progress.tell))
        except CairnError as problem:
            if len(sessions) == 1:
                raise
            # The other codebases may answer; this one says why it does not when it is asked.
            session.trouble = problem
        finally:
            progress.done()


# --- The streams: trouble with them is told apart from trouble with any other file or pipe.


class ReaderGone(Exception):
    """Whoever reads the answer has what it wanted, as in `cairn files | head`: nothing more is to be written."""


class _Answers:
    """Standard output. What goes wrong is an error of its own, which nobody takes for that of a file that is read."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _told_apart():
            return self._stream.write(text)

    def data(self, data: bytes) -> None:
        """Write bytes as they are, after what was written before."""
        with _told_apart():
            self._stream.flush()
            self._stream.buffer.write(data)

    def flush(self) -> None:
        with _told_apart():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Notes:
    """Standard error. A note that nobody can read any more stops no run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as problem:
        raise AnswerUnwritable(why=os.strerror(problem.errno or 0)) from None


COLOR_CHOICES = ("auto", "always", "never")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PROGRESS_AFTER_SECONDS = 0.5
_PROGRESS_EVERY_SECONDS = 0.1
_LINE_EVERY_SECONDS = 5.0
_BAR_WIDTH = 24
_DEFAULT_COLUMNS = 80


class Output:
    """The two streams of one command, and its surroundings. `verbosity` is -1 for quiet, 1 for more."""

    def __init__(
        self,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Clock = SYSTEM_CLOCK,
        *,
        around: Surroundings | None = None,
    ) -> None:
        self.stdout = cast("TextIO", _Answers(stdout or sys.stdout))
        self.stderr = cast("TextIO", _Notes(stderr or sys.stderr))
        self.around = around or Surroundings()
        self.verbosity = 0
        self.json = False
        self._clock = clock
        # When colours are wanted: as an option says, or else as the environment does.
        self.color = "auto"
        self._environ = environ
        for stream in (self.stdout, self.stderr):
            # A terminal that is not UTF-8 must show an escape, never end the command.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    @property
    def is_terminal(self) -> bool:
        """Whether a terminal shows the answer, so that nothing in it may steer one."""
        return self.stdout.isatty()

    @property
    def columns(self) -> int | None:
        """The width of the terminal that shows the answer; None where none does, or where nobody knows."""
        if not self.is_terminal:
            return None
        with suppress(OSError, ValueError, AttributeError):
            return self.around.columns or os.get_terminal_size(self.stdout.fileno()).columns or None
        return None

    def is_coloured(self, stream: TextIO | None = None) -> bool:
        """Whether a stream has colours: as `--color` says, else NO_COLOR, else FORCE_COLOR, else on a terminal."""
        if self.color != "auto":
            return self.color == "always"
        if self._environ.get("NO_COLOR"):
            return False
        if self._environ.get("FORCE_COLOR", "0") not in {"", "0"}:
            return True
        return (stream or self.stdout).isatty() and self._environ.get("TERM") != "dumb"

    def styled(self, text: str, style: str, stream: TextIO | None = None) -> str:
        """Return the text in a colour; as it is where colours are off or the stream is no terminal."""
        if not self.is_coloured(stream):
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def line(self, text: str) -> None:
        """Print a line of the answer."""
        self.stdout.write(text + "\n")

    def said(self, text: str, *, as_answer: bool) -> None:
        """Print a sentence as the answer, or beside one that only programs read."""
        (self.line if as_answer else self.note)(text)

    def data(self, data: bytes) -> None:
        """Print bytes as they are: what a program reads."""
        cast("_Answers", self.stdout).data(data)

    def note(self, text: str) -> None:
        """Print a line about the answer; silent with `--quiet` and with `--json`."""
        if self.verbosity >= 0 and not self.json:
            self.stderr.write(text + "\n")

    def progress(self) -> ProgressBar:
        shown = self.verbosity >= 0 and not self.json
        return ProgressBar(self.stderr, self._clock, shown=shown, columns=self.around.columns)

    def clickable(self, root: str, path: str) -> str:
        """Return the path relative to the working folder, for a terminal to open; absolute where it is far above."""
        full = os.path.join(root, path)
        near = os.path.relpath(full, self.around.cwd)
        return printable(os.fsencode(full if near.startswith("../..") else near))


class ProgressBar:
    """A bar on a terminal, a plain line now and then elsewhere; nothing for work that is over in half a second."""

    def __init__(self, stream: TextIO, clock: Clock, *, shown: bool, columns: int | None = None) -> None:
        self._stream, self._clock, self._columns = stream, clock, columns
        self._tty = stream.isatty()
        self._next = clock.monotonic() + (_PROGRESS_AFTER_SECONDS if self._tty else _LINE_EVERY_SECONDS)
        self._shown = shown
        self._drawn = False

    def __call__(self, phase: str, done: int, total: int, rate: float = 0.0, current: str | None = None) -> None:
        """Show the progress; `total` and `rate` (files per second) are 0 while they are not known."""
        now = self._clock.monotonic()
        if not self._shown or now < self._next:
            return
        self._next = now + (_PROGRESS_EVERY_SECONDS if self._tty else _LINE_EVERY_SECONDS)
        text = f"{phase} {done:,}" + (f" of {total:,}" if total else "") + (f", {rate:,.0f} files/s" if rate else "")
        if not self._tty:
            self._stream.write(text + "\n")
            return
        filled = _BAR_WIDTH * min(done, total) // total if total else 0
        bar = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] " if total else ""
        self._stream.write(f"\r\x1b[K{self._fitting(bar + text, current)}")
        self._stream.flush()
        self._drawn = True

    def tell(self, at: Progress) -> None:
        """Show how far a run is."""
        self(at.phase.value, at.done, at.total, at.rate, at.current_file)

    def _fitting(self, text: str, current: str | None) -> str:
        """Return the text and as much of the file's name as fits: a line that wraps could not be erased again."""
        try:
            columns = self._columns or os.get_terminal_size(self._stream.fileno()).columns or _DEFAULT_COLUMNS
        except OSError:
            columns = _DEFAULT_COLUMNS
        room = columns - 1 - len(text)
        if room < 0:
            return text[: columns - 1]
        return text + _end_of(f"  {plain(current)}", room) if current else text

    def done(self) -> None:
        """Erase the bar."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False


def _end_of(name: str, room: int) -> str:
    """Return the name, or its last part behind `  ...`; a wide character takes two columns."""
    widths = [2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in name]
    if sum(widths) <= room:
        return name
    taken, start = 5, len(name)
    while start and taken + widths[start - 1] <= room:
        start -= 1
        taken += widths[start]
    return "  ..." + name[start:] if start < len(name) else ""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sized(number: int) -> str:
    """Return a number of bytes as people say it: `9.1 MB`, in powers of a thousand."""
    if number < 1_000:
        return counted(number, "byte")
    value = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1_000
        # 999.95 would be shown as 1,000.0 of this unit.
        if value < 999.95 or unit == "TB":
            break
    return f"{value:,.1f} {unit}"


def left_out(skipped: Sequence[tuple[SkipReason, int]]) -> str:
    """Return skip counts as `37: 30 ignored, 7 binary`, the most frequent reason first."""
    ranked = sorted(skipped, key=lambda pair: (-pair[1], pair[0].value))
    reasons = ", ".join(f"{count:,} {reason.value.replace('_', ' ')}" for reason, count in ranked if count)
    return f"{sum(count for _, count in ranked):,}: {reasons}"
