from __future__ import annotations

import io

from cairn.cli.output import Output, Progress
from cairn.clock import SystemClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Hand(SystemClock):
    """A clock that is moved by hand."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_colours_are_for_terminals_that_want_them() -> None:
    assert Output(Terminal(), Terminal(), {}).styled("x", "red") == "\x1b[31mx\x1b[0m"
    assert Output(Terminal(), Terminal(), {"NO_COLOR": "1"}).styled("x", "red") == "x"
    assert Output(Terminal(), Terminal(), {"TERM": "dumb"}).styled("x", "red") == "x"
    assert Output(io.StringIO(), Terminal(), {}).styled("x", "red") == "x"


def test_notes_are_silent_when_asked_and_with_json() -> None:
    for quiet, json in ((True, False), (False, True)):
        stderr = io.StringIO()
        output = Output(io.StringIO(), stderr, {})
        output.verbosity, output.json = -quiet, json
        output.note("not now")
        assert stderr.getvalue() == ""


def test_a_bar_appears_after_half_a_second_and_goes_away_again() -> None:
    stream, clock = Terminal(), Hand()
    progress = Progress(stream, clock, shown=True)
    progress("reading", 10, 100)
    assert stream.getvalue() == ""
    clock.now = 0.6
    progress("reading", 50, 100)
    assert "[############............] reading 50 of 100" in stream.getvalue()
    progress.done()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_progress_is_a_plain_line_now_and_then() -> None:
    stream, clock = io.StringIO(), Hand()
    progress = Progress(stream, clock, shown=True)
    for second in range(12):
        clock.now = float(second)
        progress("walking", 1000 * second, 0)
    progress.done()
    assert stream.getvalue() == "walking 5,000\nwalking 10,000\n"
