from __future__ import annotations

import io
import os
import unicodedata
from dataclasses import replace

import pytest

from cairn.cli.output import Output, ProgressBar, counted, left_out, sized
from cairn.core.progress import Phase, Progress
from cairn.core.types import SkipReason
from tests.support.clock import ManualClock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
    stream, clock = Terminal(), ManualClock()
    progress = ProgressBar(stream, clock, shown=True)
    progress("reading", 10, 100)
    assert stream.getvalue() == ""
    clock.advance(0.6)
    progress("reading", 50, 100)
    assert "[############............] reading 50 of 100" in stream.getvalue()
    progress.done()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_progress_is_a_plain_line_now_and_then() -> None:
    stream, clock = io.StringIO(), ManualClock()
    progress = ProgressBar(stream, clock, shown=True)
    for second in range(12):
        progress("walking", 1000 * second, 0)
        clock.advance(1.0)
    progress.done()
    assert stream.getvalue() == "walking 5,000\nwalking 10,000\n"


# --- where a run stands -----------------------------------------------------------------------------------------------


def shown(at: Progress, stream: io.StringIO) -> str:
    clock = ManualClock()
    progress = ProgressBar(stream, clock, shown=True)
    clock.advance(6.0)
    progress.tell(at)
    return stream.getvalue().removeprefix("\r\x1b[K")


RUNNING = Progress(Phase.INDEXING, done=600, total=1_200, rate=345.6, current_file="src/lease.py")


def test_the_bar_shows_phase_count_rate_and_file() -> None:
    assert shown(RUNNING, Terminal()) == "[############............] indexing 600 of 1,200, 346 files/s  src/lease.py"


def test_a_plain_line_has_no_file_and_no_bar() -> None:
    assert shown(RUNNING, io.StringIO()) == "indexing 600 of 1,200, 346 files/s\n"


@pytest.mark.parametrize("name", ["a/" * 300 + "file.py", "深い/" * 100 + "ファイル.py", "x" * 500])
@pytest.mark.parametrize("columns", [20, 61, 64, 65, 66, 80, 200])
def test_a_long_name_loses_its_beginning_so_that_the_line_never_wraps(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Terminal, "fileno", lambda _: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    text = shown(replace(RUNNING, current_file=name), Terminal())
    cells = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
    assert cells < columns
    if columns >= 80:
        assert text.endswith(name[-5:])
        assert "  ..." in text
        assert cells >= columns - 2


def test_a_name_cannot_steer_the_terminal_through_the_bar() -> None:
    text = shown(replace(RUNNING, current_file="a\x1b[2J\u202eb\r"), Terminal())
    assert text.endswith("2J\\u202eb\\x0d")
    assert text.isprintable()


def test_more_than_all_is_a_full_bar() -> None:
    assert shown(replace(RUNNING, done=5_000), Terminal()).startswith("[########################] ")


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (9_100_000, "9.1 MB"),
        (12_345_678_901, "12.3 GB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_sizes_are_said_as_people_say_them(number: int, words: str) -> None:
    assert sized(number) == words


def test_what_is_left_out_is_listed_by_how_often() -> None:
    skipped = ((SkipReason.BINARY, 7), (SkipReason.TOO_LARGE, 7), (SkipReason.IGNORED, 1_030), (SkipReason.ALIAS, 0))
    assert left_out(skipped) == "1,044: 1,030 ignored, 7 binary, 7 too large"
    assert counted(1, "file") == "1 file"
