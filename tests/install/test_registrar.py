"""Carrying out plans: what is written is noted first, and a kill in between loses no way back."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cairn.errors import SettingsRefused
from cairn.install import files
from cairn.install.plans import PAGE, FileOutcome
from cairn.install.registrar import Registrar, running_server


class Machine:
    """A home with the settings of Claude Code and Codex, and a project."""

    def __init__(self, tmp_path: Path) -> None:
        self.home, self.root = tmp_path / "home", (tmp_path / "project").resolve()
        (self.home / ".codex").mkdir(parents=True)
        self.root.mkdir()
        self.claude, self.codex = self.home / ".claude.json", self.home / ".codex" / "config.toml"
        self.claude.write_text('{"numStartups": 1}')
        self.codex.write_text('model = "x"\n')
        self.record = self.home / ".cairn" / "installed.json"

    def registrar(self, *, project: bool = False) -> Registrar:
        return Registrar({"HOME": str(self.home), "PATH": ""}, str(self.root) if project else None)

    def texts(self) -> dict[str, bytes]:
        top = self.home.parent
        return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def install(registrar: Registrar, *names: str, kind: str = "server") -> list[FileOutcome]:
    chosen = [registrar.agents[name] for name in names] or registrar.found()
    return [registrar.write(change).outcome for change in registrar.install(chosen, kind)]


def uninstall(registrar: Registrar, *names: str) -> list[FileOutcome]:
    changes = registrar.uninstall([registrar.agents[name] for name in names])
    return [registrar.write(change).outcome for change in changes]


def test_planning_writes_nothing(machine: Machine) -> None:
    before = machine.texts()
    registrar = machine.registrar()
    registrar.install(registrar.found())
    registrar.uninstall([])
    assert machine.texts() == before


def test_everything_is_as_it_was_after_an_uninstall(machine: Machine) -> None:
    before = machine.texts()
    assert install(machine.registrar()) == [FileOutcome.ADDED, FileOutcome.ADDED]
    assert install(machine.registrar(), kind=PAGE) == [FileOutcome.ADDED, FileOutcome.ADDED]
    every = ["claude", "codex", "cursor", "vscode"]
    assert install(machine.registrar(project=True), *every) == [FileOutcome.ADDED] * 4
    assert install(machine.registrar(project=True), *every, kind=PAGE) == [FileOutcome.ADDED] * 2
    installed = machine.texts()
    assert install(machine.registrar()) == [FileOutcome.PRESENT, FileOutcome.PRESENT]
    assert machine.texts() == installed
    assert uninstall(machine.registrar()) == [FileOutcome.REMOVED] * 10
    assert machine.texts() == before
    assert not any(machine.root.iterdir())


def test_a_project_is_left_alone_when_another_one_is_meant(machine: Machine) -> None:
    install(machine.registrar())
    install(machine.registrar(project=True), "claude")
    assert uninstall(machine.registrar(project=True)) == [FileOutcome.REMOVED]
    assert not (machine.root / ".mcp.json").exists()
    assert "cairn" in machine.claude.read_text()


def test_one_agent_goes_and_the_others_stay(machine: Machine) -> None:
    install(machine.registrar())
    assert uninstall(machine.registrar(), "codex") == [FileOutcome.REMOVED]
    assert machine.codex.read_text() == 'model = "x"\n'
    assert "cairn" in machine.claude.read_text()


def test_a_kill_between_the_note_and_the_file_leaves_nothing_to_undo(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machine.texts()
    registrar = machine.registrar()
    (change, _) = registrar.install(registrar.found())
    real = files.replace

    def killed(found: files.FoundFile, data: bytes | None, *, private: bool = False) -> None:
        if found.path == change.found.path:
            raise KeyboardInterrupt
        real(found, data, private=private)

    monkeypatch.setattr(files, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        registrar.write(change)
    monkeypatch.undo()
    assert machine.record.exists()
    assert uninstall(machine.registrar()) == [FileOutcome.ABSENT]
    assert machine.texts() == before


def test_a_kill_between_a_restored_file_and_the_note_is_made_up_for(machine: Machine) -> None:
    install(machine.registrar(), "claude")
    machine.claude.write_text('{"numStartups": 1}')
    assert uninstall(machine.registrar()) == [FileOutcome.ABSENT]
    assert not machine.record.exists()


def test_a_file_that_changes_under_us_is_refused_and_the_record_forgets_it(machine: Machine) -> None:
    registrar = machine.registrar()
    changes = registrar.install(registrar.found())
    machine.claude.write_text('{"numStartups": 2}')
    assert [registrar.write(change).outcome for change in changes] == [FileOutcome.REFUSED, FileOutcome.ADDED]
    assert machine.claude.read_text() == '{"numStartups": 2}'
    assert [one["agents"] for one in json.loads(machine.record.read_text())["written"]] == [["codex"]]


def test_without_a_record_an_agent_that_is_named_loses_its_entry(machine: Machine) -> None:
    install(machine.registrar())
    machine.record.unlink()
    assert uninstall(machine.registrar()) == []
    assert uninstall(machine.registrar(), "claude", "codex") == [FileOutcome.REMOVED, FileOutcome.REMOVED]
    assert json.loads(machine.claude.read_text()) == {"mcpServers": {}, "numStartups": 1}


def test_a_damaged_record_is_an_error_and_nothing_is_touched(machine: Machine) -> None:
    machine.record.parent.mkdir()
    machine.record.write_text("{")
    with pytest.raises(SettingsRefused, match="it is damaged"):
        machine.registrar()


def test_a_record_that_lies_takes_no_folder_away_but_those_around_its_file(machine: Machine) -> None:
    install(machine.registrar(project=True), "cursor")
    record = machine.record.read_text()
    machine.record.write_text(record.replace(str(machine.root / ".cursor") + '"', str(machine.home / ".codex") + '"'))
    (machine.home / ".codex" / "config.toml").unlink()
    assert uninstall(machine.registrar()) == [FileOutcome.REMOVED]
    assert (machine.home / ".codex").is_dir()
    assert (machine.root / ".cursor").is_dir()


def test_settings_that_became_a_link_are_not_followed_by_an_uninstall(machine: Machine) -> None:
    install(machine.registrar(), "codex")
    other = machine.home / "other"
    machine.codex.rename(other)
    machine.codex.symlink_to(other)
    assert uninstall(machine.registrar()) == [FileOutcome.REFUSED]
    assert "cairn" in other.read_text()


def test_the_server_is_the_program_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "cairn"
    script.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert running_server({}, None) == (str(script), ("mcp",), ())
    assert running_server({"CAIRN_HOME": "/h"}, "/r")[1:] == (("mcp", "--root", "/r"), (("CAIRN_HOME", "/h"),))
    monkeypatch.setattr(sys, "argv", ["/x/cairn/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/nonexistent/python3")
    assert running_server({}, None) == ("/nonexistent/python3", ("-P", "-m", "cairn", "mcp"), ())
