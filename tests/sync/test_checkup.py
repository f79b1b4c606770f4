"""What is said about the machine and the user's folder, when they are as they should be and when they are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.store.registry import REGISTRY
from cairn.sync import checkup
from cairn.sync.checkup import check_up
from cairn.sync.report import Check, Severity
from tests.support.faults import Faults


def found(home: Path) -> dict[str, Check]:
    return {check.name: check for check in check_up({**os.environ, "CAIRN_HOME": str(home)}, "")}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


def test_everything_that_is_looked_at_has_a_line_and_nothing_is_written(home: Path) -> None:
    checks = found(home)
    names = {"python", "sqlite", "git", "max_user_watches", "max_user_instances", "home", "disk", "registry"}
    assert set(checks) == names
    assert checks["git"].message.startswith("git version")
    assert [checks[name].severity for name in ("python", "sqlite", "git", "home", "registry")] == [None] * 5
    assert os.listdir(home) == []


def test_a_home_that_is_not_there_is_none_to_complain_about(tmp_path: Path) -> None:
    assert found(tmp_path / "nothing")["home"].severity is Severity.NOTE
    assert not (tmp_path / "nothing").exists()


def test_a_home_that_others_can_look_into_or_that_is_no_folder_is_told(home: Path, tmp_path: Path) -> None:
    home.chmod(0o755)
    assert found(home)["home"].severity in (Severity.WARNING, Severity.ERROR)
    file = tmp_path / "file"
    file.write_text("")
    assert found(file)["home"].severity is Severity.ERROR


def test_a_home_that_may_not_be_written_is_told(home: Path) -> None:
    home.chmod(0o500)
    check = found(home)["home"]
    assert check.severity is Severity.WARNING
    assert "chmod u+w" in check.advice


def test_a_home_of_another_user_is_an_error(home: Path, faults: Faults) -> None:
    own = os.geteuid()
    faults.answer(os, "geteuid", own + 1)
    assert found(home)["home"].severity is Severity.ERROR


def test_a_damaged_registry_is_a_warning_that_says_what_is_lost(home: Path) -> None:
    (home / REGISTRY).write_bytes(b"no database" * 100)
    (home / REGISTRY).chmod(0o600)
    check = found(home)["registry"]
    assert check.severity is Severity.WARNING
    assert "anew" in check.advice


def test_few_watches_little_space_and_no_git_are_told_with_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    monkeypatch.setattr(checkup, "_number", lambda path: 8 if path.endswith("watches") else None)
    faults.limit(checkup, _LITTLE_SPACE=2**62)
    monkeypatch.setenv("PATH", "/nonexistent")
    checks = found(home)
    for name in ("git", "max_user_watches", "disk"):
        assert checks[name].severity is Severity.WARNING
        assert checks[name].advice
    assert "fs.inotify.max_user_watches=65536" in checks["max_user_watches"].advice
    assert checks["max_user_instances"].severity is Severity.NOTE


def test_what_the_kernel_does_not_say_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("many")
    assert checkup._number(str(tmp_path / "words")) is None
    assert checkup._number(str(tmp_path / "nothing")) is None
