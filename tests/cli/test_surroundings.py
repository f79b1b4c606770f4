"""Where a command is typed."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from cairn.ask.session import find_targets
from cairn.cli.output import Output, Surroundings
from cairn.errors import PathNotFound


def test_names_of_files_are_meant_from_where_one_stands_or_from_the_root_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    around = Surroundings({})
    assert around.cwd == os.getcwd()
    assert around.base(".") == str(tmp_path)
    assert around.base("a/../b") == f"{tmp_path}/b"
    assert around.base("/c/") == "/c"
    around.only_where_typed()


def test_a_path_is_shown_from_where_the_person_stands(tmp_path: Path) -> None:
    class Below(Surroundings):
        @property
        def cwd(self) -> str:
            return f"{tmp_path}/a"

    output = Output(io.StringIO(), io.StringIO(), {}, around=Below({}))
    assert output.clickable(f"{tmp_path}/a", "b.py") == "b.py"
    assert output.clickable(str(tmp_path), "c.py") == "../c.py"
    assert output.clickable("/elsewhere", "d.py") == "/elsewhere/d.py"


def test_paths_that_were_typed_elsewhere_are_found_from_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("x = 1\n")
    environ = {"CAIRN_HOME": str(tmp_path / "home")}
    [target] = find_targets(["b.py"], environ, str(tmp_path / "a"))
    assert (target.asked, target.codebase.root.path, target.below) == ("b.py", str(tmp_path.resolve() / "a"), ("b.py",))
    with pytest.raises(PathNotFound):
        find_targets(["b.py"], environ, str(tmp_path))
