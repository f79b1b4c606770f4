"""The project files that decide what the names of a context mean: when one is another, nothing of it is believed.

`tsconfig.json` says where `import "lib"` leads to; no file that imports it is changed when that becomes another one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from cairn.semantic.model import Family

# How their names begin; they stand in the folder of the context or above it.
_NAMES: dict[Family, tuple[str, ...]] = {
    Family.PYTHON: ("pyproject.toml", "setup.py", "setup.cfg"),
    Family.TYPESCRIPT: ("package.json", "pnpm-workspace.yaml", "tsconfig", "jsconfig"),
    Family.GO: ("go.mod", "go.work"),
    Family.RUST: ("Cargo.toml",),
    Family.JVM: ("pom.xml", "build.gradle", "settings.gradle", "build.sbt"),
    Family.CLANG: ("compile_commands.json", "CMakeLists.txt", "meson.build"),
    Family.RUBY: ("Gemfile",),
}
_ALL = tuple(name for names in _NAMES.values() for name in names)


def project_files(paths: Iterable[str]) -> list[str]:
    """Those of them that may decide what names mean in some context."""
    return [path for path in paths if path.rpartition("/")[2].startswith(_ALL)]


def settings_of(family: Family, root: str, paths: Iterable[str]) -> frozenset[str]:
    """Those of them that do so in the context of this family and folder."""
    folders, at = {root}, root
    while at:
        at = posixpath.dirname(at)
        folders.add(at)
    names = _NAMES.get(family, ())
    split = ((path, *path.rpartition("/")[::2]) for path in paths)
    return frozenset(path for path, folder, name in split if folder in folders and names and name.startswith(names))
