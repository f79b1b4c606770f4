"""What stands on a real terminal of 80 and of 120 columns, with colours and without, and what a pipe gets of it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence

import pytest

from tests.support.commands import Person
from tests.support.waiting import PATIENCE

LONG = 'MESSAGE = "nobody may take a lease that another one holds, ' + "however long that may have been, " * 6 + '"\n'
# The most used commands, each with what must stand on the screen.
SEEN = {
    "steal": "src/lease.py:2",
    "search lease -k 2": "src/lease.py:1",
    "search MESSAGE": "src/long.py:1",
    "search steal --context 0": "Lease.steal (method)",
    "search lease --mode regex -l": "README.md",
    "grep lease": "README.md:1:# A lease",
    "grep -c lease": "README.md:1",
    "symbol Lease": "src/lease.py:1  Lease (class)",
    "refs Lease.steal": "src/lease.py:2  Lease.steal (method)",
    "graph Lease.steal": "Lease.steal",
    "outline src/lease.py": "src/lease.py:1  class Lease",
    "read src/lease.py:1-2": "1 class Lease:",
    "map": "src/lease.py",
    "map src": "lease.py",
    "similar src/lease.py:2": "README.md:1  A lease (heading)",
    "files": "src/lease.py",
    "why build/out.js": "left out: ignored",
    "status": "is indexed.",
    "sync": "Nothing has changed",
    "list": "1 codebase in",
    "--help": "find:",
    "help grep": "usage: cairn grep",
    "version": "cairn ",
    "stauts": "Did you mean `cairn status`?",
}
FAST = {"grep lease", "--help"}


@pytest.fixture(scope="module")
def me(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("terminal"))
    (person.tree / "src" / "long.py").write_text(LONG)
    person.commit()
    assert person.cairn("index").status == 0
    return person


def on_a_terminal(person: Person, line: Sequence[str], columns: int, **variables: str) -> str:
    """What a terminal of this width is sent by a command, on both of its streams."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = person.environment | {"TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path)} | variables
    with subprocess.Popen(
        [sys.executable, "-m", "cairn", *line],
        cwd=person.tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        said = b""
        # A terminal that everybody has left is at its end, or is gone.
        try:
            while piece := os.read(ours, 1 << 16):
                said += piece
        except OSError:
            pass
        finally:
            os.close(ours)
        process.wait(PATIENCE)
    return said.decode().replace("\r\n", "\n")


def bare(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[mK]|\r", "", text)


@pytest.mark.parametrize("line", [one if one in FAST else pytest.param(one, marks=pytest.mark.long) for one in SEEN])
def test_a_terminal_and_a_pipe_are_told_the_same_and_colours_go_where_they_are_wanted(me: Person, line: str) -> None:
    wide = on_a_terminal(me, line.split(), 120)
    assert SEEN[line] in bare(wide)
    if line not in FAST:
        assert SEEN[line] in bare(on_a_terminal(me, line.split(), 80))
        assert "\x1b" not in on_a_terminal(me, line.split(), 80, NO_COLOR="1")
        piped = me.cairn(*line.split())
        assert SEEN[line] in piped.stdout + piped.stderr
        assert "\x1b" not in piped.stdout + piped.stderr


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.long)])
def test_no_line_of_a_search_wraps_and_its_match_is_in_sight(me: Person, columns: int) -> None:
    shown = on_a_terminal(me, ["search", "another", "-k", "3"], columns)
    assert "\x1b[31manother\x1b[0m" in shown
    assert max(map(len, bare(shown).splitlines())) <= columns
    assert len(bare(shown).splitlines()) <= 20


def test_colours_are_forced_and_forbidden_in_one_place(me: Person) -> None:
    forced = Person.__new__(Person)
    forced.tree, forced.home = me.tree, me.home
    forced.environment = me.environment | {"FORCE_COLOR": "1"}
    assert "\x1b[" in forced.cairn("symbol", "Lease").stdout
    assert "\x1b[" not in forced.cairn("symbol", "Lease", "--color", "never").stdout
    forced.environment = me.environment | {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert "\x1b[" not in forced.cairn("symbol", "Lease").stdout
    assert "\x1b[" in forced.cairn("symbol", "Lease", "--color", "always").stdout


def test_places_are_for_editors_and_names_for_pipes(me: Person) -> None:
    assert me.cairn("symbol", "Lease", "--exact", "--format", "plain").stdout == "src/lease.py:1:class Lease\n"
    assert me.cairn("search", "steal", "--mode", "regex", "--format", "vimgrep").stdout.startswith("src/lease.py:2:9:")
    assert me.cairn("search", "lease", "--mode", "regex", "-l", "-0").stdout.split("\0")[0] == "README.md"
    lines = me.cairn("search", "steal", "--mode", "symbol", "--format", "jsonl").stdout.splitlines()
    assert '"end":true' in lines[-1]
    assert len(lines) == 2
    whole = me.cairn("search", "steal", "--mode", "symbol", "--format", "json").stdout
    assert whole.startswith('{"schema":"cairn.search/1"')
