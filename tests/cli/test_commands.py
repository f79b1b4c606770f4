"""A command that a server runs prints what it would have printed where it was typed, or is handed back."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cairn.ask.allowed import Allowed
from cairn.ask.workspace import Workspace
from cairn.cli.commands import RENDERED, run_command, typed_of
from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.cli.verbs import COMMANDS
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.sync.codebase import open_codebase, place_of
from cairn.thin import OWN
from tests.conformance import conforms
from tests.support.servers import threaded

LEASE = '''"""Leases."""


class Lease:
    """Who may write."""

    def steal(self, victim):
        return take(victim)


def take(one):
    return Lease().steal(one)
'''
OTHER = "from src.lease import Lease, take\n\n\ndef renew():\n    take(1)\n    return Lease()\n"


class Said(NamedTuple):
    """How a command ended, and what it printed in which order."""

    status: int | None
    pieces: list[tuple[str, str]]

    @property
    def out(self) -> str:
        return "".join(text for name, text in self.pieces if name == "out")

    @property
    def err(self) -> str:
        return "".join(text for name, text in self.pieces if name == "err")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Bystander:
    """Somebody with a tree and its index, who types commands and has them run by a desk."""

    def __init__(self, folder: Path) -> None:
        self.tree = (folder / "tree").resolve()
        (self.tree / "src").mkdir(parents=True)
        (self.tree / "src" / "lease.py").write_text(LEASE)
        (self.tree / "src" / "other.py").write_text(OTHER)
        (self.tree / "README.md").write_text("# Leases\n\nOne writer at a time, by a lease.\n")
        subprocess.run(["git", "init", "-q"], cwd=self.tree, check=True)
        self.environ = {"CAIRN_HOME": str(folder / "home"), "HOME": str(folder / "me"), "PATH": os.environ["PATH"]}
        self.desk = Workspace(self.environ, Allowed(self.environ))

    def typed(self, *arguments: str, terminal: bool = False) -> Said:
        """The command, run where it is typed."""
        kind = Terminal if terminal else io.StringIO
        out, err = kind(), kind()
        status = main(arguments, Output(out, err, {}))
        return Said(status, [("out", out.getvalue()), ("err", err.getvalue())])

    def served(self, *arguments: str, terminal: bool = False, cwd: str | None = None, **more: Any) -> Said:
        """The command, run by the desk, which stands elsewhere."""
        body = {
            "argv": list(arguments),
            "cwd": cwd or os.getcwd(),
            "environ": {},
            "terminal": {"stdout": terminal, "stderr": terminal, "columns": 80},
        }
        pieces: list[tuple[str, str]] = []
        here = os.getcwd()
        os.chdir("/")
        try:
            status = run_command(self.desk, body | more, lambda name, text: pieces.append((name, text)))
        finally:
            os.chdir(here)
        return Said(status, pieces)


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bystander]:
    found = Bystander(tmp_path_factory.mktemp("served"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in found.environ.items():
            patch.setenv(name, value)
        assert main(["index", "--root", str(found.tree), "-q"], Output(io.StringIO(), io.StringIO())) == 0
    yield found
    found.desk.close()


@pytest.fixture
def me(everybody: Bystander, monkeypatch: pytest.MonkeyPatch) -> Bystander:
    monkeypatch.chdir(everybody.tree)
    monkeypatch.delenv("CAIRN_DEBUG", raising=False)
    for name, value in everybody.environ.items():
        monkeypatch.setenv(name, value)
    return everybody


def masked(text: str) -> str:
    """Without what differs from one moment to the next: ids, timings, and when the files were looked at."""
    text = re.sub(r'"timingsMs":\{[^}]*\}', '"timingsMs":{}', text)
    text = re.sub(r'"freshness":\{[^}]*\}', '"freshness":{}', text)
    text = re.sub(r"[0-9.,]+ [kMGT]B left", "some left", text)
    text = re.sub(r'"freeBytes":[0-9]+', '"freeBytes":0', text)
    return re.sub(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "then", text)


LINES: tuple[tuple[str, ...], ...] = (
    ("search", "who steals a lease"),
    ("who may write", "-k", "2", "--explain"),
    ("search", "take", "--mode", "symbol"),
    ("search", "Lea.e", "src", "--mode", "regex", "-k", "1"),
    ("search", "nothing-like-it", "--mode", "regex"),
    ("search", "lease", "README.md", "--no-sync"),
    ("outline", "src/lease.py"),
    ("outline", "src/lease.py", "--symbol", "Lease", "-v"),
    ("read", "src/lease.py:4-8", "--annotate"),
    ("symbol", "take"),
    ("symbol", "Leas", "--exact"),
    ("refs", "take"),
    ("graph", "Lease.steal", "--depth", "2"),
    ("graph", "take", "--format", "dot"),
    ("similar", "src/lease.py:7", "--same-file"),
    ("map", "--max-tokens", "300"),
    ("status",),
    ("list",),
    ("outline", "nowhere.py"),
    ("refs", "no_such_name"),
    ("search", "lease", "-k", "0"),
    ("search",),
    ("read", "src/lease.py:9-4"),
)


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_server_prints_what_the_command_would_have_printed(me: Bystander, line: tuple[str, ...]) -> None:
    for terminal in (False, True):
        direct, served = me.typed(*line, terminal=terminal), me.served(*line, terminal=terminal)
        assert served.status == direct.status
        assert masked(served.out) == masked(direct.out)
        assert masked(served.err) == masked(direct.err)
    direct, served = me.typed(*line, "--json"), me.served(*line, "--json")
    assert (served.status, served.err) == (direct.status, direct.err)
    assert masked(served.out) == masked(direct.out)
    assert json.loads(served.out)["schema"] == json.loads(direct.out)["schema"]


def test_every_verb_is_tried_both_ways_or_stays_where_it_is_typed() -> None:
    tried = {line[0] for line in LINES}
    assert tried >= RENDERED
    assert set(COMMANDS) <= RENDERED | OWN
    assert not RENDERED & OWN


def test_paths_are_meant_from_where_the_person_stands(me: Bystander, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(me.tree / "src")
    for line in (("outline", "lease.py"), ("search", "lease", ".", "-k", "1"), ("read", "other.py", "--root", "..")):
        direct, served = me.typed(*line), me.served(*line)
        assert masked(served.out) == masked(direct.out)
        assert served.status == direct.status
    assert me.served("outline", "lease.py").out.startswith("lease.py:4")


def test_a_search_sees_what_was_saved_before_it(me: Bystander) -> None:
    new = me.tree / "src" / "fresh.py"
    new.write_text("def zebra_crossing():\n    return 1\n")
    try:
        assert "src/fresh.py:1" in me.served("search", "zebra_crossing", "--mode", "symbol").out
    finally:
        new.unlink()
    assert "zebra" not in me.served("search", "zebra_crossing", "--mode", "symbol", "--json").out.split("results")[1]


def test_what_only_the_person_can_see_to_is_handed_back(me: Bystander, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "a.py").write_text("x = 1\n")
    for line in (
        ("index",),
        ("sync",),
        ("--version",),
        ("help",),
        ("search", "--help"),
        ("map", "-qh"),
        ("search", "--batch", "-"),
        ("search", "lease", "--read-only"),
        ("search", "lease", "--root", "nowhere"),
        ("search", "lease", str(me.tree), str(bare)),
        ("search", "x", "--root", str(bare)),
        ("outline", "a.py", "--root", str(bare)),
    ):
        assert me.served(*line).status is None, line
    # It was looked at, and nothing came of it.
    assert not list((tmp_path / "home").glob("data/*bare*"))


def test_while_the_index_is_built_anew_the_command_is_handed_back(me: Bystander) -> None:
    place = place_of(open_codebase(str(me.tree), me.environ), me.environ["CAIRN_HOME"])
    with place.make_disk() as disk, open_writer(disk, "here", RunKind.REINDEX, rebuild=True):
        assert me.served("search", "lease").status is None
        assert me.served("status").status == 11


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"argv": [], "cwd": "/"},
        {"argv": "search", "cwd": "/"},
        {"argv": [1], "cwd": "/"},
        {"argv": ["x"]},
        {"argv": ["x"], "cwd": "here"},
        {"argv": ["x"], "cwd": "/a\0b"},
        {"argv": ["x"], "cwd": "/", "environ": []},
        {"argv": ["x"], "cwd": "/", "terminal": 1},
    ],
)
def test_what_is_no_command_line_is_handed_back(me: Bystander, body: dict[str, Any]) -> None:
    assert typed_of(body) is None
    assert run_command(me.desk, body, lambda *_: pytest.fail("nothing was asked")) is None


def test_of_the_environment_only_what_colours_depend_on_is_taken(me: Bystander) -> None:
    body = {"argv": ["x"], "cwd": "/", "environ": {"NO_COLOR": "1", "CAIRN_HOME": "/elsewhere", "TERM": 3}}
    typed = typed_of(body)
    assert typed is not None
    assert typed.environ == {"NO_COLOR": "1"}
    plain = me.served("outline", "src/lease.py", terminal=True, environ={"NO_COLOR": "1"})
    assert "\x1b[" in me.served("outline", "src/lease.py", terminal=True).out
    assert "\x1b[" not in plain.out


def test_results_come_before_what_is_said_about_them_and_a_long_answer_in_pieces(
    me: Bystander, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.cli.commands._PIECE", 10)
    said = me.served("refs", "take")
    names = [name for name, _ in said.pieces]
    assert names == sorted(names, key=["out", "err"].index)
    assert max(len(text) for name, text in said.pieces if name == "out") == 10
    assert masked(said.out) == masked(me.typed("refs", "take").out)


def test_a_mistake_of_ours_is_handed_back_and_is_no_answer(me: Bystander, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.cli.store.codebase_rows", None)
    assert me.served("list").status is None


@conforms("003.RDR1", "003.RDR2")
def test_a_command_line_through_a_real_daemon_prints_what_it_prints_without(me: Bystander) -> None:
    def typed(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "cairn", *arguments]
        environ = {**me.environ, "LC_ALL": "C.UTF-8"}
        found = subprocess.run(command, cwd=me.tree, env=environ, capture_output=True, text=True, check=False)
        return found.returncode, masked(found.stdout), found.stderr

    lines = (
        ["search", "who steals a lease"],
        ["refs", "take"],
        ["outline", "nowhere.py"],
        ["status", "--root", "nowhere"],
    )
    with threaded(me.environ) as daemon:
        served = [typed(*line) for line in lines]
        assert daemon.report().requests == len(lines)
        alone = [typed(*line, "--offline") for line in lines]
        assert daemon.report().requests == len(lines)
    assert served == alone
    assert [status for status, _, _ in served] == [0, 0, 15, 21]
    log = Path(me.environ["CAIRN_HOME"], "logs", "daemon.log").read_text()
    outcomes = [line["outcome"] for line in map(json.loads, log.splitlines()) if line["event"] == "request"]
    assert outcomes == ["exit 0", "exit 0", "exit 15", "direct"]
