"""How answers look at a terminal: results on stdout, everything else on stderr, colours only where they are wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TextIO

from cairn.clock import SYSTEM_CLOCK, Clock

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PROGRESS_AFTER_SECONDS = 0.5
_PROGRESS_EVERY_SECONDS = 0.1
_LINE_EVERY_SECONDS = 5.0
_BAR_WIDTH = 24


class Output:
    """The two streams of one command. `verbosity` is -1 for quiet, 1 for more."""

    def __init__(
        self,
        stdout: TextIO = sys.stdout,
        stderr: TextIO = sys.stderr,
        environ: Mapping[str, str] = os.environ,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.stdout, self.stderr = stdout, stderr
        self.verbosity = 0
        self.json = False
        self._clock = clock
        self._no_color = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        for stream in (stdout, stderr):
            # A terminal that is not UTF-8 must show an escape, never end the command.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def styled(self, text: str, style: str, stream: TextIO | None = None) -> str:
        """The text in a colour, or as it is where colours are off or nobody looks."""
        if self._no_color or not (stream or self.stdout).isatty():
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def line(self, text: str) -> None:
        """A line of the answer."""
        self.stdout.write(text + "\n")

    def note(self, text: str) -> None:
        """A line about the answer; silent with `--quiet` and with `--json`."""
        if self.verbosity >= 0 and not self.json:
            self.stderr.write(text + "\n")

    def progress(self) -> Progress:
        return Progress(self.stderr, self._clock, shown=self.verbosity >= 0 and not self.json)


class Progress:
    """A bar on a terminal, a plain line now and then elsewhere; nothing at all for what is over in half a second."""

    def __init__(self, stream: TextIO, clock: Clock, *, shown: bool) -> None:
        self._stream, self._clock = stream, clock
        self._tty = stream.isatty()
        self._next = clock.monotonic() + (_PROGRESS_AFTER_SECONDS if self._tty else _LINE_EVERY_SECONDS)
        self._shown = shown
        self._drawn = False

    def __call__(self, phase: str, done: int, total: int) -> None:
        """`total` is 0 while it is not known."""
        now = self._clock.monotonic()
        if not self._shown or now < self._next:
            return
        self._next = now + (_PROGRESS_EVERY_SECONDS if self._tty else _LINE_EVERY_SECONDS)
        text = f"{phase} {done:,}" + (f" of {total:,}" if total else "")
        if not self._tty:
            self._stream.write(text + "\n")
            return
        filled = _BAR_WIDTH * done // total if total else 0
        bar = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] " if total else ""
        self._stream.write(f"\r\x1b[K{bar}{text}")
        self._stream.flush()
        self._drawn = True

    def done(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False
