"""Which agents are found, and where their settings are."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.install.known import SettingsScope, agents


def found(home: Path, root: Path | None = None, **environ: str) -> set[str]:
    known = agents({"HOME": str(home), "PATH": "", **environ})
    return {name for name, one in known.items() if one.is_found({"PATH": "", **environ}, root and str(root))}


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert found(tmp_path) == set()


@pytest.mark.parametrize(
    ("folder", "name"),
    [(".claude", "claude"), (".codex", "codex"), (".cursor", "cursor"), (".config/Code/User", "vscode")],
)
def test_an_agent_is_found_by_the_folder_of_its_settings(tmp_path: Path, folder: str, name: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    assert found(tmp_path) == {name}


def test_an_agent_is_found_by_its_command(tmp_path: Path) -> None:
    for name in ("codex", "code", "claude"):
        (tmp_path / name).touch(mode=0o755)
    (tmp_path / "claude").chmod(0o644)
    assert found(tmp_path, PATH=f"relative:{tmp_path}") == {"codex", "vscode"}


def test_the_files_of_a_project_count_when_a_project_is_meant(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".vscode").mkdir(parents=True)
    (root / "CLAUDE.md").touch()
    assert found(tmp_path) == set()
    assert found(tmp_path, root) == {"claude", "vscode"}


def test_the_environment_can_move_settings() -> None:
    known = agents({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/s"})
    assert known["claude"].file(SettingsScope.USER, None) == "/c/.claude.json"
    assert known["claude"].page(SettingsScope.USER, None) == "/c/CLAUDE.md"
    assert known["codex"].file(SettingsScope.USER, None) == "/x/config.toml"
    assert known["vscode"].file(SettingsScope.USER, None) == "/s/Code/User/mcp.json"
    assert known["cursor"].page(SettingsScope.USER, None) is None
    assert known["cursor"].page(SettingsScope.PROJECT, "/r") == "/r/AGENTS.md"
