"""`cairn install` and `cairn uninstall` as a person meets them: real processes, real files, real questions."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.schemas import check
from tests.support.commands import Typed, typed

CLAUDE = '{\n  // mine\n  "mcpServers": {\n    "other": {"command": "x", "env": {"TOKEN": "t"}},\n  },\n}\n'
CODEX = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "x"'


class User:
    """Somebody who has Claude Code and Codex, and a project."""

    def __init__(self, tmp_path: Path) -> None:
        self.home, self.project = tmp_path / "home", (tmp_path / "project").resolve()
        (self.home / ".codex").mkdir(parents=True)
        self.project.mkdir()
        self.claude, self.codex = self.home / ".claude.json", self.home / ".codex" / "config.toml"
        self.claude.write_text(CLAUDE)
        self.claude.chmod(0o600)
        self.codex.write_text(CODEX)
        self.environment = {"HOME": str(self.home), "PATH": "/nonexistent", "LC_ALL": "C.UTF-8"}

    def cairn(self, *arguments: str) -> Typed:
        return typed(arguments, self.project, self.environment)

    def asked(self, answers: str, *arguments: str) -> str:
        """Everything that is shown at a terminal where these answers are typed."""
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "cairn", *arguments]
        process = subprocess.Popen(
            command, cwd=self.project, env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        os.write(ours, answers.encode())
        shown = b""
        try:
            while more := os.read(ours, 4096):
                shown += more
        except OSError:
            pass  # The terminal is gone with its last user.
        finally:
            os.close(ours)
            process.wait()
        return shown.decode()

    def texts(self) -> dict[str, str]:
        top = self.home.parent
        return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_without_consent_nothing_is_written(user: User) -> None:
    before = user.texts()
    shown = user.cairn("install")
    assert shown.status == 2
    assert "+[mcp_servers.cairn]" in shown.stdout
    assert "say --yes" in shown.stderr
    assert user.cairn("install", "--dry-run").status == 0
    assert user.cairn("install", "--json").status == 2
    assert user.texts() == before


def test_it_is_written_once_and_taken_back_to_the_byte(user: User) -> None:
    before = user.texts()
    assert user.cairn("install", "--yes", "--instructions").status == 0
    assert "// mine" in user.claude.read_text()
    assert user.claude.stat().st_mode & 0o777 == 0o600
    assert "`search_codebase`" in (user.home / ".codex" / "AGENTS.md").read_text()
    installed = user.texts()
    again = user.cairn("install", "--yes", "--instructions")
    assert again.stdout.count("has it already") == 4
    assert user.texts() == installed
    assert user.cairn("uninstall", "--yes").status == 0
    assert user.texts() == before


def test_what_was_edited_since_stays(user: User) -> None:
    user.cairn("install", "--yes")
    for file in (user.claude, user.codex):
        file.write_text(file.read_text().replace("mine", "still mine").replace('"x"', '"y"'))
    user.cairn("uninstall", "--yes")
    assert user.claude.read_text() == CLAUDE.replace("mine", "still mine").replace('"x"', '"y"')
    assert user.codex.read_text() == CODEX.replace("mine", "still mine").replace('"x"', '"y"')


def test_at_a_terminal_each_kind_is_a_question_of_its_own(user: User) -> None:
    before = user.texts()
    assert "Nothing was written." in user.asked("n\n", "install")
    assert user.texts() == before
    shown = user.asked("y\nn\n", "install")
    assert shown.count("Write this (2 files)? [y/N]") == 2
    assert "mcp_servers.cairn" in user.codex.read_text()
    assert not (user.home / ".codex" / "AGENTS.md").exists()
    user.asked("yes\n", "uninstall")
    assert user.texts() == before


def test_a_project_gets_entries_that_name_it(user: User) -> None:
    done = user.cairn("install", "cursor", "vscode", "--project", "--yes", "--json", "--instructions")
    told = json.loads(done.stdout)
    check(told, "cairn.install/1")
    assert told["codebaseRoot"] == str(user.project)
    assert [(row["agents"], row["outcome"]) for row in told["results"]] == [
        (["cursor"], "added"),
        (["vscode"], "added"),
        (["cursor", "vscode"], "added"),
    ]
    entry = json.loads((user.project / ".vscode" / "mcp.json").read_text())["servers"]["cairn"]
    assert entry["type"] == "stdio"
    assert os.path.isabs(entry["command"])
    assert entry["args"][-3:] == ["mcp", "--root", str(user.project)]
    gone = json.loads(user.cairn("uninstall", "--project", "--yes", "--json").stdout)
    check(gone, "cairn.install/1")
    assert {row["outcome"] for row in gone["results"]} == {"removed"}
    assert not any(user.project.iterdir())


def test_the_command_that_is_written_can_be_started(user: User) -> None:
    user.cairn("install", "claude", "--project", "--yes")
    entry = json.loads((user.project / ".mcp.json").read_text())["mcpServers"]["cairn"]
    program = [entry["command"], *entry["args"][: entry["args"].index("mcp")]]
    (user.project / "cairn").mkdir()
    (user.project / "cairn" / "__main__.py").write_text("print('not this one')\n")
    # The second form is written where Cairn has no script of its own.
    for command in (program, [sys.executable, "-P", "-m", "cairn"]):
        found = subprocess.run([*command, "--version"], cwd=user.project, capture_output=True, text=True, check=True)
        assert found.stdout.startswith("cairn ")


def test_one_file_that_cannot_be_read_does_not_keep_the_others_from_their_entry(user: User) -> None:
    user.claude.write_text("{ nothing")
    done = user.cairn("install", "--yes")
    assert done.status == 34
    assert f"{user.claude} was left as it is: it is not valid JSON (line 1)." in done.stderr
    assert user.claude.read_text() == "{ nothing"
    assert "mcp_servers.cairn" in user.codex.read_text()
    told = json.loads(user.cairn("install", "--dry-run", "--json").stdout)
    assert [(row["outcome"], row["message"]) for row in told["results"]] == [
        ("refused", "it is not valid JSON (line 1)"),
        ("present", None),
    ]


def test_a_project_cannot_lead_the_writing_out_of_it(user: User) -> None:
    (user.project / ".mcp.json").symlink_to(user.claude)
    done = user.cairn("install", "claude", "--project", "--yes")
    assert done.status == 34
    assert "it leads out of the project" in done.stderr
    assert user.claude.read_text() == CLAUDE


def test_for_another_agent_the_entry_is_printed(user: User) -> None:
    before = user.texts()
    done = user.cairn("install", "windsurf")
    assert done.status == 0
    assert json.loads(done.stdout)["mcpServers"]["cairn"]["args"][-1] == "mcp"
    assert "Cairn does not know windsurf" in done.stderr
    told = json.loads(user.cairn("install", "windsurf", "--json").stdout)
    check(told, "cairn.install/1")
    assert json.loads(told["snippet"])["mcpServers"]
    assert user.texts() == before
    wrong = user.cairn("uninstall", "windsurf")
    assert (wrong.status, "There is no agent windsurf" in wrong.stderr) == (2, True)


def test_where_there_is_nothing_it_says_so(user: User) -> None:
    user.environment["HOME"] = "/nonexistent"
    assert "No agent that Cairn knows was found" in user.cairn("install").stderr
    assert "Nothing of Cairn is in the settings of any agent." in user.cairn("uninstall").stderr


def test_settings_that_may_not_be_written_are_left_alone(user: User) -> None:
    user.codex.chmod(0o444)
    done = user.cairn("install", "codex", "--yes", "-q")
    assert (done.status, done.stdout) == (34, "")
    assert "it is read-only" in done.stderr
