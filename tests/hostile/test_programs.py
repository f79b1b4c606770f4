"""A repository brings programs, and PATH leads to them: no command, tool or server of Cairn runs one.

The cases are made from the tables of the product: every verb and every tool, every program that is looked for, every
way in which PATH can lead into a repository. What is added to one of these tables is in the cases, or a test fails.
"""

from __future__ import annotations

import ast
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import cairn
from cairn.ask.allowed import Allowed
from cairn.ask.workspace import Workspace
from cairn.cli.main import command_parser
from cairn.cli.semantic import VERBS as SEMANTIC_VERBS
from cairn.cli.verbs import COMMANDS
from cairn.install.known import agents
from cairn.semantic.checking import CHECKERS
from cairn.semantic.indexers import INDEXERS
from cairn.semantic.model import Family
from cairn.tools.table import CHECK_EDIT, call
from cairn.tools.table import TOOLS as TOOL_TABLE
from tests.hostile.reader import TOOLS
from tests.support.commands import Person, typed
from tests.support.waiting import PATIENCE, until

# --- what there is: commands, programs, ways --------------------------------------------------------------------------

TYPED: dict[str, list[str]] = {
    "search": ["search lease", "search L.ase --mode regex --no-sync"],
    "grep": ["grep lease", "grep -c L.ase --no-sync"],
    "outline": ["outline src/lease.py"],
    "read": ["read src/lease.py"],
    "symbol": ["symbol Lease"],
    "refs": ["refs Lease.steal"],
    "graph": ["graph Lease.steal"],
    "impact": ["impact Lease.steal", "impact --diff"],
    "similar": ["similar src/lease.py:2"],
    "map": ["map"],
    "semantic": [
        "semantic discover",
        "semantic refresh",
        "semantic jobs",
        "semantic state src/lease.py",
        "semantic gate src/lease.py",
        "semantic decide 3f9a1c0e accept --file src/lease.py",
        "semantic plan-rename Lease.steal take",
    ],
    "rename": ["rename Lease.steal take --apply"],
    "undo": ["undo", "undo --forget"],
    "index": ["index"],
    "sync": ["sync"],
    "reindex": ["reindex"],
    "clear": ["clear", "index"],
    "status": ["status"],
    "snapshots": ["snapshots"],
    "list": ["list"],
    "stores": ["stores"],
    "health": ["health"],
    "doctor": ["doctor"],
    "audit": ["audit"],
    "repair": ["repair"],
    "upgrade-store": ["upgrade-store"],
    "compact": ["compact"],
    "engine": ["engine status", "engine push", "engine pull"],
    "gc": ["gc"],
    "files": ["files"],
    "why": ["why src/lease.py"],
    "eval": ["eval --from-git --commits 1"],
    "mcp": ["mcp"],
    "watch": ["watch"],
    "daemon": ["daemon start", "daemon status", "daemon stop", "daemon run"],
    "install": ["install --dry-run"],
    "uninstall": ["uninstall --dry-run"],
    "completion": ["completion bash"],
}
# Commands that last until somebody stops them.
LASTING = {"watch", "daemon run"}
PROGRAMS = sorted(
    {
        "git",
        *(indexer.name for indexer in INDEXERS),
        *(indexer.runtime for indexer in INDEXERS if indexer.runtime),
        *(checker.name for checker in CHECKERS.values()),
        *(command for agent in agents({}).values() for command in agent.commands),
    }
)
# The names that `ProgramPath.find` is called with in the product, as they are written there.
LOOKED_FOR = {"_GIT", "indexer.name", "indexer.runtime", "name"}
# A file of each family, so that each indexer is looked for.
OF_FAMILY = {
    Family.PYTHON: {"pyproject.toml": '[project]\nname = "p"\n', "src/lease.py": ""},
    Family.TYPESCRIPT: {"package.json": '{"name": "p"}', "a.ts": "export const a = 1;\n"},
    Family.GO: {"go.mod": "module p\n", "a.go": "package p\n"},
    Family.RUST: {"Cargo.toml": '[package]\nname = "p"\n', "src/lib.rs": ""},
    Family.JVM: {"pom.xml": "<project/>", "A.java": "class A {}\n"},
    Family.CLANG: {"CMakeLists.txt": "", "a.c": "int a;\n"},
    Family.DOTNET: {"p.csproj": "<Project/>", "a.cs": "class A {}\n"},
    Family.RUBY: {"Gemfile": "", "a.rb": "a = 1\n"},
}


class Village(Person):
    """A repository with every program in it, PATHs that lead there, and the list of those that were run."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.log, self.outside = folder / "sang", folder / "outside"
        for files in OF_FAMILY.values():
            for name, text in files.items():
                (self.tree / name).touch()
                (self.tree / name).write_text((self.tree / name).read_text() or text)
        self.plant(self.tree / ".venv" / "bin")
        self.plant(self.tree)
        self.plant(self.outside / "bin")
        links = self.outside / "links"
        links.mkdir()
        for name in PROGRAMS:
            (links / name).symlink_to(self.tree / ".venv" / "bin" / name)
        (self.outside / "link").symlink_to(self.tree / ".venv" / "bin")
        (self.tree / "out").symlink_to(self.outside / "bin")
        (self.outside / "through").symlink_to(self.tree / "out")
        self.git("add", "src", "README.md", ".gitignore")
        self.git("commit", "-qm", "One")
        self.git("commit", "-qm", "Let one writer steal a lease", "--allow-empty")
        self.home.mkdir(mode=0o700)
        trusted = f'[semantic]\ntrusted_roots = ["{self.tree}"]\n'
        (self.home / "config.toml").write_text(trusted)
        self.real = self.environment["PATH"]
        self.ways = {
            "a folder of it": f"{self.tree}/.venv/bin",
            "dots": f"{self.outside}/../tree/src/../.venv/bin/",
            "a relative folder": ".venv/bin",
            "the current folder": ".",
            "no name": "",
            "a link to a folder of it": f"{self.outside}/link",
            "links to its programs": f"{self.outside}/links",
            "a link that it holds": f"{self.tree}/out",
            "a way through it": f"{self.outside}/through",
        }

    def plant(self, folder: Path, names: list[str] = PROGRAMS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_text(f"#!/bin/sh\necho {name} >> {shlex.quote(str(self.log))}\nexit 1\n")
            (folder / name).chmod(0o755)

    def path(self, *ways: str) -> None:
        """Put these ways before the real PATH."""
        self.environment["PATH"] = os.pathsep.join([*(self.ways[way] for way in ways), self.real])

    @property
    def sang(self) -> set[str]:
        return set(self.log.read_text().split()) if self.log.exists() else set()


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> Village:
    found = Village(tmp_path_factory.mktemp("village"))
    assert found.cairn("index").status == 0
    return found


@pytest.fixture(autouse=True)
def silence(village: Village) -> None:
    village.log.unlink(missing_ok=True)


# --- the tables are whole, and the trap works -------------------------------------------------------------------------


def test_every_verb_tool_family_and_program_of_the_product_is_in_the_cases() -> None:
    assert set(TYPED) == set(COMMANDS)
    assert {line.split()[1] for line in TYPED["semantic"]} == set(SEMANTIC_VERBS)
    [action] = [one for one in command_parser("daemon")._actions if one.dest == "action"]
    assert {line.split()[1] for line in TYPED["daemon"]} == set(action.choices or ())
    assert {name for name, _ in TOOLS} | {CHECK_EDIT.name} == {tool.name for tool in (*TOOL_TABLE, CHECK_EDIT)}
    assert set(OF_FAMILY) == {indexer.family for indexer in INDEXERS} == set(Family)


def test_every_name_that_the_product_looks_for_is_one_of_the_programs_here() -> None:
    """A new call of `find` fails this test until its program is planted."""
    asked = set()
    for module in sorted(Path(cairn.__file__).parent.rglob("*.py")):
        source = module.read_text("utf-8")
        if "ProgramPath" not in source or module.name == "programs.py":
            continue
        for node in ast.walk(ast.parse(source)):
            is_find = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "find"
            if is_find and "programs" in ast.unparse(node.func).lower():
                asked.add(ast.unparse(node.args[0]))
    assert asked == LOOKED_FOR
    assert cairn.source.git._GIT == "git"


def test_the_trap_works_the_same_programs_are_run_when_they_are_the_users(village: Village) -> None:
    village.environment["PATH"] = os.pathsep.join([f"{village.outside}/bin", village.real])
    village.cairn("doctor")
    village.cairn("semantic", "refresh")
    assert village.sang == {"git", *(indexer.name for indexer in INDEXERS)}


# --- nobody runs them -------------------------------------------------------------------------------------------------

LINES = [line for lines in TYPED.values() for line in lines if line not in LASTING]


# Those that look for most programs. The fast run types these, the long one all.
SOME = {"doctor", "index", "search lease", "semantic refresh", "engine push", "daemon start"}


@pytest.mark.parametrize("line", [one if one in SOME else pytest.param(one, marks=pytest.mark.long) for one in LINES])
def test_a_command_runs_no_program_of_the_repository_it_is_typed_in(village: Village, line: str) -> None:
    village.path(*village.ways)
    village.cairn(*line.split(), "--offline")
    assert village.sang == set()


@pytest.mark.parametrize("line", ["doctor", "search lease", "semantic refresh", "index"])
def test_a_command_runs_no_program_of_the_repository_that_it_names(village: Village, line: str, tmp_path: Path) -> None:
    village.path("a folder of it", "links to its programs", "a way through it")
    typed([*line.split(), "--root", str(village.tree)], tmp_path, village.environment)
    assert village.sang == set()


def test_a_command_about_another_folder_runs_no_program_of_the_repository_it_is_typed_in(
    village: Village, tmp_path: Path
) -> None:
    other = Person(tmp_path)
    village.path(*village.ways)
    for line in ("doctor", "index", "search lease"):
        village.cairn(*line.split(), "--root", str(other.tree))
    assert village.sang == set()


def test_a_tool_runs_no_program_of_the_repository(village: Village, monkeypatch: pytest.MonkeyPatch) -> None:
    village.path(*village.ways)
    for name, value in village.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(village.tree)
    desk = Workspace(os.environ, Allowed(os.environ, [str(village.tree)]))
    calls = [*TOOLS, (CHECK_EDIT.name, {"files": ["src/lease.py"]}), ("manage_index", {"action": "sync"})]
    for name, arguments in calls:
        (village.tree / "src" / "lease.py").touch()
        call(desk, name, arguments)
    desk.close()
    assert village.sang == set()


def test_a_daemon_that_is_started_in_a_repository_runs_none_of_its_programs_for_another(
    village: Village, tmp_path: Path
) -> None:
    other = Person(tmp_path / "other")
    village.path(*village.ways)
    hostile = village.environment | {"CAIRN_HOME": str(other.home)}
    try:
        assert typed(["daemon", "start"], village.tree, hostile).status == 0
        assert other.cairn("index").status == 0
        (other.tree / "src" / "lease.py").write_text("class Lease:\n    pass\n")
        assert other.cairn("search", "lease").status == 0
        assert str(other.tree) in other.cairn("daemon", "status", "--json").stdout
    finally:
        other.cairn("daemon", "stop")
    assert village.sang == set()


@pytest.mark.parametrize("line", sorted(LASTING))
def test_a_command_that_lasts_runs_no_program_of_the_repository(village: Village, line: str) -> None:
    village.path(*village.ways)
    with subprocess.Popen(
        [sys.executable, "-m", "cairn", *line.split()],
        cwd=village.tree,
        env=village.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            if line == "watch":
                assert process.stdout is not None
                assert any(said.startswith("Watching") for said in process.stdout)
            else:
                _ask_until_answered(village)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
    assert village.sang == set()


def _ask_until_answered(village: Village) -> None:
    until(lambda: "runs" in village.cairn("daemon", "status").stdout)
    assert village.cairn("search", "lease").status == 0


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("line", LINES)
def test_no_command_runs_any_one_program_by_any_one_way(village: Village, line: str, program: str) -> None:
    """With one program planted, nothing that fails before hides what would have been run after it."""
    for name in PROGRAMS:
        for folder in (village.tree, village.tree / ".venv" / "bin", village.outside / "bin"):
            (folder / name).chmod(0o755 if name == program else 0o644)
    for way in village.ways:
        village.path(way)
        village.cairn(*line.split(), "--offline")
        assert village.sang == set(), way
