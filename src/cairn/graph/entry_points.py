"""Find the entry points of a codebase: declared commands, `main` functions, and files that are run directly.

Only the snapshot is read. The names of declared commands are shown as the settings write them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from cairn.core.types import Symbol
from cairn.store import SnapshotView
from cairn.syntax.languages import traits_of
from cairn.syntax.resolver import SnapshotFiles, above, below, normal, parent
from cairn.syntax.settings import json_of, mapping, text, toml_of
from cairn.syntax.traits import Main

# Limits for a hostile tree, in which every file may be a settings file and every line a command.
_MOST = 1_000
_MOST_OF_A_FILE = 50


class EntryKind(StrEnum):
    """The kinds of entry points, the surest first."""

    COMMAND = "command"
    LIBRARY = "library"
    MODULE = "module"
    MAIN = "main"
    SCRIPT = "script"


WAYS = tuple(EntryKind)
DECLARED = frozenset({EntryKind.COMMAND, EntryKind.LIBRARY})


class EntryPoint(NamedTuple):
    """A place where a program begins.

    `name` is the command, package or module, as text of the repository, and may be empty. `line` is the line of the
    definition, 0 for the whole file.
    """

    way: EntryKind
    path: str
    line: int
    name: str


def entry_points(view: SnapshotView, files: SnapshotFiles) -> tuple[EntryPoint, ...]:
    """Return every entry point, in the order of `WAYS` and then by path."""
    found: dict[EntryPoint, None] = {}
    known: set[str] = set()
    for one in (*islice(_declared(view, files), _MOST), *_mains(view, files), *_run_as_they_are(view, files)):
        # A `main` function in a file that a command leads to is not listed again.
        if one.way in DECLARED or one.path not in known:
            found[one] = None
            known.add(one.path)
    return tuple(sorted(found, key=lambda one: (WAYS.index(one.way), *one[1:]))[:_MOST])


# --- what settings declare --------------------------------------------------------------------------------------------


def _declared(view: SnapshotView, files: SnapshotFiles) -> Iterator[EntryPoint]:
    for name, read in (("pyproject.toml", _of_pyproject), ("package.json", _of_package), ("Cargo.toml", _of_cargo)):
        for settings in files.by_name.get(name, ())[:_MOST]:
            yield from list(read(view, files, settings))[:_MOST_OF_A_FILE]


def _of_pyproject(view: SnapshotView, files: SnapshotFiles, settings: str) -> Iterator[EntryPoint]:
    tables = toml_of(files.settings(settings) or "")
    project, poetry = mapping(tables.get("project")), mapping(mapping(tables.get("tool")).get("poetry"))
    for table in (project.get("scripts"), project.get("gui-scripts"), poetry.get("scripts")):
        for command, target in mapping(table).items():
            module, _, name = text(target).partition(":")
            path = _python_file(files, settings, module)
            yield EntryPoint(EntryKind.COMMAND, path or settings, _line(view, path, name.strip()), command)


def _python_file(files: SnapshotFiles, settings: str, module: str) -> str:
    """Find the file of a dotted module; empty when there is none.

    The folder of the settings and its `src` are searched first, then the folders around; then the shallowest file
    anywhere whose path ends like the module.
    """
    whole = module.strip().replace(".", "/")
    if not whole:
        return ""
    wanted = (f"{whole}.py", f"{whole}/__init__.py")
    for folder in above(parent(settings)):
        for place in (folder, below(folder, "src")):
            for each in wanted:
                if below(place, each) in files:
                    return below(place, each)
    named = [path for each in wanted for path in files.by_name.get(each.rpartition("/")[2], ())[:_MOST]]
    fitting = [path for path in named if path.endswith(tuple(f"/{each}" for each in wanted))]
    return min(fitting, key=lambda path: (path.count("/"), path), default="")


def _of_package(view: SnapshotView, files: SnapshotFiles, settings: str) -> Iterator[EntryPoint]:
    package = mapping(json_of(files.settings(settings) or ""))
    commands = package.get("bin")
    if isinstance(commands, str):
        commands = {text(package.get("name")): commands}
    for command, target in mapping(commands).items():
        yield EntryPoint(EntryKind.COMMAND, _pointed_at(files, settings, text(target)), 0, command)
    main = text(package.get("main")) or text(package.get("module"))
    if main:
        yield EntryPoint(EntryKind.LIBRARY, _pointed_at(files, settings, main), 0, text(package.get("name")) or main)


def _pointed_at(files: SnapshotFiles, settings: str, target: str) -> str:
    """Return the file that settings point at, or the settings themselves when a build has yet to make that file."""
    path = normal(parent(settings), target) or ""
    return next((each for each in (path, f"{path}.js", below(path, "index.js")) if each in files), settings)


def _of_cargo(view: SnapshotView, files: SnapshotFiles, settings: str) -> Iterator[EntryPoint]:
    tables = toml_of(files.settings(settings) or "")
    bins = tables.get("bin")
    for each in bins if isinstance(bins, list) else ():
        one = mapping(each)
        name = text(one.get("name"))
        inner = text(one.get("path")) or f"src/bin/{name}.rs"
        path = normal(parent(settings), inner) or ""
        if path in files:
            yield EntryPoint(EntryKind.COMMAND, path, _line(view, path, "main"), name)
    package = text(mapping(tables.get("package")).get("name"))
    path = below(parent(settings), "src/main.rs")
    if package and path in files:
        yield EntryPoint(EntryKind.COMMAND, path, _line(view, path, "main"), package)


def _line(view: SnapshotView, path: str, name: str) -> int:
    """Return the line of a definition at the top of a file; 0 when there is none."""
    own = (symbol.start_line for symbol in view.symbols(path) if symbol.name == name and not symbol.container)
    return next(own, 0) if path and name else 0


# --- what the code says -----------------------------------------------------------------------------------------------


def _mains(view: SnapshotView, files: SnapshotFiles) -> Iterator[EntryPoint]:
    for name in ("main", "Main"):
        for path, symbol in sorted(view.symbols_named(name), key=lambda found: (found[0], found[1].start_byte)):
            if _begins_a_program(view, path, traits_of(files.languages.get(path, "")).main, symbol):
                yield EntryPoint(EntryKind.MAIN, path, symbol.start_line, "")


def _begins_a_program(view: SnapshotView, path: str, main: Main, symbol: Symbol) -> bool:
    if main is Main.NONE or symbol.kind not in ("function", "method"):
        return False
    if main is Main.IN_PACKAGE_MAIN:
        around = view.symbols(path)[:1]
        return bool(around) and around[0].kind == "module" and around[0].name == "main" and not symbol.container
    if main is Main.STATIC:
        return "static" in symbol.signature.split()
    return symbol.name == "main" and (symbol.parent < 0 or main is Main.ANYWHERE)


def _run_as_they_are(view: SnapshotView, files: SnapshotFiles) -> Iterator[EntryPoint]:
    for path, language in files.languages.items():
        traits = traits_of(language)
        if traits.run_as_module and path.rpartition("/")[2] == traits.run_as_module:
            yield EntryPoint(EntryKind.MODULE, path, 0, _package(files, parent(path), traits.package_file))
        elif traits.script_marks:
            written = bytes(view.text(path) or b"")
            if any(mark in written for mark in traits.script_marks):
                yield EntryPoint(EntryKind.SCRIPT, path, 0, "")


def _package(files: SnapshotFiles, folder: str, package_file: str) -> str:
    """Return the dotted name of the package in a folder, from the outermost folder that is a package."""
    outer = folder
    while outer and below(parent(outer), package_file) in files:
        outer = parent(outer)
    return folder[len(parent(outer)) :].strip("/").replace("/", ".")
