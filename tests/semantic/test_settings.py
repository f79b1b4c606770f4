"""Which project files decide about which context."""

from __future__ import annotations

from cairn.semantic.model import Family
from cairn.semantic.settings import project_files, settings_of

TREE = [
    *("package.json", "tsconfig.base.json", "a/package.json", "a/b/tsconfig.json", "a/b/c/tsconfig.json"),
    *("a/b/pyproject.toml", "go.mod", "a/b/notes.json", "z/tsconfig.json"),
]


def test_project_files_of_a_context_stand_in_its_folder_and_above_it() -> None:
    found = project_files(TREE)
    assert set(TREE) - set(found) == {"a/b/notes.json"}
    assert settings_of(Family.TYPESCRIPT, "a/b", found) == set(TREE[:4])
    assert settings_of(Family.PYTHON, "a/b", found) == {"a/b/pyproject.toml"}
    assert settings_of(Family.GO, "", found) == {"go.mod"}
    assert settings_of(Family.DOTNET, "", found) == set()
