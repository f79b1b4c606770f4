"""Measure the source of the package: its modules, who imports whom, and how far one file and one query travel.

`python -m bench.house [--at REVISION] [--json]`. A revision is exported by `git archive` into a temporary folder and
measured there, so a figure before a change and one after it are made by the same script.

What is counted is read from the syntax tree. Four kinds of imports are told apart: those at the top of a module, late
ones (inside a function), those for the type checker only, and modules that are named in a string and loaded by it. A
name that a module imports and others import from there is followed to the module that defines it.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
SMALL, LARGE = 70, 700
MOST_METHODS = 20
TOP, LATE, TYPING, NAMED = "top", "late", "typing", "named"


class Import(NamedTuple):
    """One imported name: by whom, from which module, and when. `name` is empty where a whole module is imported."""

    importer: str
    module: str
    name: str
    bound: str
    kind: str
    line: int


class Module(NamedTuple):
    """One source file of the package."""

    name: str
    path: Path
    tree: ast.Module
    lines: int
    imports: tuple[Import, ...]


# --- reading ----------------------------------------------------------------------------------------------------------


def modules_of(package: Path) -> dict[str, Module]:
    """Return every module of a package by its dotted name; the folder's name is the package's."""
    files = {_dotted(path, package): path for path in sorted(package.rglob("*.py"))}
    found = {}
    for name, path in files.items():
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        home = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imports = (*_imports(tree, name, home, files), *_named(tree, name, files))
        found[name] = Module(name, path, tree, text.count("\n"), imports)
    return found


def _dotted(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _imports(tree: ast.Module, importer: str, home: str, files: Iterable[str]) -> Iterator[Import]:
    for node, kind in _statements(tree, TOP):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # Without `as`, the name that is bound is that of the outermost package.
                bound = alias.asname or alias.name.partition(".")[0]
                yield Import(importer, alias.name, "", bound, kind, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            above = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                target, name = (inner, "") if inner in files else (module, alias.name)
                yield Import(importer, target, name, alias.asname or alias.name, kind, node.lineno)
        elif isinstance(node, ast.Call):
            yield Import(importer, node.args[0].value, "", "", kind, node.lineno)  # type: ignore[attr-defined]


def _named(tree: ast.Module, importer: str, files: Iterable[str]) -> Iterator[Import]:
    """Yield the modules that are named in strings of a module that loads modules by name."""
    nodes = list(ast.walk(tree))
    if not any("import_module" in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.Constant) and node.value in files and node.value != importer:
            yield Import(importer, node.value, "", "", NAMED, node.lineno)


def _statements(node: ast.AST, kind: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield every import below a node with its kind; `import_module("a.literal")` is an import as well."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and kind == TOP:
        kind = LATE
    if isinstance(node, ast.If) and _asks_for_typing(node.test):
        for child in node.body:
            yield from _statements(child, TYPING)
        for child in node.orelse:
            yield from _statements(child, kind)
        return
    if isinstance(node, ast.Import | ast.ImportFrom) or _is_import_call(node):
        yield node, kind
    for child in ast.iter_child_nodes(node):
        yield from _statements(child, kind)


def _asks_for_typing(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _is_import_call(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not node.args:
        return False
    called = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
    literal = isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    return literal and called in ("import_module", "__import__")


# --- who imports whom -------------------------------------------------------------------------------------------------


def edges(modules: dict[str, Module], *kinds: str) -> dict[str, set[str]]:
    """Return, for each module, the modules of the package that it imports in one of these ways."""
    return {
        name: {one.module for one in module.imports if one.kind in kinds and one.module in modules} - {name}
        for name, module in modules.items()
    }


def single_importers(modules: dict[str, Module]) -> list[str]:
    """Return the modules that exactly one other module imports."""
    importers = Counter(target for targets in edges(modules, TOP, LATE, TYPING).values() for target in targets)
    return sorted(name for name, count in importers.items() if count == 1)


def late_imports(modules: dict[str, Module], package: str = "") -> list[str]:
    """Return `module:line` of each import inside a function, of all modules or of those of a package."""
    imports = [one for module in modules.values() for one in module.imports if one.kind == LATE]
    found = {(one.importer, one.line) for one in imports if not package or _within(one.module, package)}
    return [f"{importer}:{line}" for importer, line in sorted(found)]


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other (strongly connected components of two or more)."""
    reached = {name: _reached(graph, name) for name in graph}
    groups = {frozenset([name, *(other for other in reached[name] if name in reached[other])]) for name in graph}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


# --- names that cross a border ----------------------------------------------------------------------------------------


def names_reached(modules: dict[str, Module], importer: str, owner: str) -> list[str]:
    """Return the names of one package that the modules of another reach, each as `module.name` where it is defined."""
    found: set[str] = set()
    for name, module in modules.items():
        if _within(name, importer):
            found |= {one for one in _names_used(modules, module) if _within(one.rpartition(".")[0], owner)}
    return sorted(found)


def _names_used(modules: dict[str, Module], module: Module) -> Iterator[str]:
    """Yield every name of the package that a module imports, or reads from a module that it imports."""
    whole = {}
    for one in module.imports:
        if one.name:
            origin = _origin(modules, one.module, one.name)
            yield origin
            if origin in modules:
                whole[one.bound] = origin
        elif one.bound:
            # `import cairn.store.fs` binds `cairn`; with `as` or `from` the module itself is bound.
            whole[one.bound] = one.bound if one.module.partition(".")[0] == one.bound else one.module
    for node in ast.walk(module.tree):
        chain = _chain(node)
        if len(chain) > 1 and chain[0] in whole:
            yield from _attribute(modules, whole[chain[0]], chain[1:])


def _attribute(modules: dict[str, Module], place: str, rest: list[str]) -> Iterator[str]:
    while rest:
        inner = f"{place}.{rest[0]}"
        if inner not in modules:
            yield _origin(modules, place, rest[0])
            return
        place, rest = inner, rest[1:]


def _chain(node: ast.AST) -> list[str]:
    """Return `a.b.c` as its parts, and nothing for any other expression."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (before := _chain(node.value)):
        return [*before, node.attr]
    return []


def _origin(modules: dict[str, Module], module: str, name: str) -> str:
    """Return `module.name` of the place that defines a name, however many modules pass it on."""
    seen = set()
    while module in modules and (module, name) not in seen:
        seen.add((module, name))
        passed = next((one for one in modules[module].imports if one.bound == name), None)
        if passed is None:
            break
        if not passed.name:
            return passed.module
        module, name = passed.module, passed.name
    return f"{module}.{name}"


# --- classes and files ------------------------------------------------------------------------------------------------


def classes(modules: dict[str, Module]) -> dict[str, list[str]]:
    """Return every class name with the modules that define a class so named."""
    found = defaultdict(list)
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    return dict(found)


def public_methods(modules: dict[str, Module]) -> dict[str, int]:
    """Return, for each top-level class, how many public methods it has, with those it inherits inside the package."""
    defined = {
        f"{name}.{node.name}": (name, node)
        for name, module in modules.items()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    }

    def methods(whole: str, seen: frozenset[str]) -> set[str]:
        if whole not in defined or whole in seen:
            return set()
        name, node = defined[whole]
        own = {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
        public = {one for one in own if not one.startswith("_")}
        for base in node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            public |= methods(_base(modules, name, _chain(plain)), seen | {whole})
        return public

    return {whole: len(methods(whole, frozenset())) for whole in defined}


def _base(modules: dict[str, Module], module: str, chain: list[str]) -> str:
    if not chain:
        return ""
    start = _origin(modules, module, chain[0])
    return ".".join([start, *chain[1:]]) if len(chain) == 1 else next(_attribute(modules, start, chain[1:]), "")


def file_names(modules: dict[str, Module]) -> dict[str, list[str]]:
    """Return every file name, except `__init__.py`, with the modules whose files have it."""
    found = defaultdict(list)
    for name, module in modules.items():
        if module.path.name != "__init__.py":
            found[module.path.name].append(name)
    return dict(found)


def shared(names: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names that more than one thing has, the most used first."""
    return dict(sorted(((n, u) for n, u in names.items() if len(u) > 1), key=lambda item: (-len(item[1]), item[0])))


# --- hops -------------------------------------------------------------------------------------------------------------

# Runs `python -m PACKAGE` and notes which functions of the package are entered, in every thread of this process. Code
# that runs because a module or a class is made is no function, and a comprehension belongs to the function around it.
_TRACER = """
import json, os, runpy, sys, threading
package, place, out = sys.argv[1:4]
entered, process = set(), os.getpid()
def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 2 and code.co_filename.startswith(place):
        if code.co_name[0] != "<" or code.co_name == "<lambda>":
            entered.add((code.co_filename[len(place):], code.co_qualname, code.co_firstlineno))
sys.argv = [package, *sys.argv[4:]]
threading.setprofile(note)
sys.setprofile(note)
try:
    runpy.run_module(package, run_name="__main__", alter_sys=False)
finally:
    sys.setprofile(None)
    if os.getpid() == process:
        with open(out, "w") as file:
            json.dump(sorted(entered), file)
"""


class Hops(NamedTuple):
    """How many modules and functions of the package one command entered."""

    modules: int
    functions: int


def hops(package: Path, arguments: list[str], folder: Path, environ: dict[str, str]) -> Hops:
    """Run `python -m PACKAGE ARGUMENTS` in a folder and count what its main process enters."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "entered.json"
        place = f"{package}{os.sep}"
        argv = [sys.executable, "-c", _TRACER, package.name, place, str(out), *arguments]
        within = {**os.environ, **environ, "PYTHONPATH": str(package.parent)}
        done = subprocess.run(argv, cwd=folder, env=within, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr or done.stdout}")
        entered = json.loads(out.read_text("utf-8"))
    return Hops(len({file for file, _, _ in entered}), len(entered))


_FILES = {
    "ledger.py": "def settle(account, amount):\n    return account.pay(amount)\n",
    "account.py": "class Account:\n    def pay(self, amount):\n        self.balance -= amount\n",
    "README.md": "# A ledger\n\nEvery account settles its own debts.\n",
}


def travels(package: Path) -> dict[str, Hops]:
    """Return the hops of one query and of one changed file, on a small folder that is indexed without a daemon."""
    with tempfile.TemporaryDirectory() as scratch:
        tree, environ = Path(scratch) / "tree", {"CAIRN_HOME": str(Path(scratch) / "home")}
        tree.mkdir()
        for name, text in _FILES.items():
            (tree / name).write_text(text, "utf-8")
        hops(package, ["index"], tree, environ)
        query = hops(package, ["search", "--offline", "settle an account"], tree, environ)
        (tree / "ledger.py").write_text("def settle(account, amount):\n    account.pay(amount)\n", "utf-8")
        return {"query": query, "file": hops(package, ["sync"], tree, environ)}


# --- the figures ------------------------------------------------------------------------------------------------------


def figures(package: Path) -> dict[str, object]:
    """Return what is counted in a package, all but the hops."""
    modules = modules_of(package)
    root = package.name
    reached = names_reached(modules, f"{root}.sync", f"{root}.store")
    methods = {name: count for name, count in public_methods(modules).items() if count > MOST_METHODS}
    named, filed = shared(classes(modules)), shared(file_names(modules))
    return {
        "modules": len(modules),
        "lines": sum(module.lines for module in modules.values()),
        "modules with exactly one importer": len(single_importers(modules)),
        "late imports": len(late_imports(modules)),
        "late imports of own modules": len(late_imports(modules, root)),
        "cycles": cycles(edges(modules, TOP)),
        "cycles, late imports included": cycles(edges(modules, TOP, LATE)),
        "cycles, type-checking imports included too": cycles(edges(modules, TOP, LATE, TYPING)),
        "cycles, modules named in strings included too": cycles(edges(modules, TOP, LATE, TYPING, NAMED)),
        "names of store that sync reaches": reached,
        f"classes with more than {MOST_METHODS} public methods": methods,
        "class names of more than one class": named,
        "file names of more than one file": filed,
        f"modules below {SMALL} lines": sum(module.lines < SMALL for module in modules.values()),
        f"modules above {LARGE} lines": sum(module.lines > LARGE for module in modules.values()),
    }


def table(found: dict[str, object]) -> str:
    """Return the figures as lines of text: a count each, and the longest lists by their first few."""
    rows = [(name, _count(value), _examples(value)) for name, value in found.items()]
    wide = max(len(name) for name, _, _ in rows)
    return "\n".join(f"{name:{wide}}  {count:>7}  {examples}".rstrip() for name, count, examples in rows)


def _count(value: object) -> str:
    if isinstance(value, Hops):
        return f"{value.functions:,}"
    return f"{value:,}" if isinstance(value, int) else f"{len(value):,}"  # type: ignore[arg-type]


def _examples(value: object, most: int = 4) -> str:
    if isinstance(value, Hops):
        return f"functions in {value.modules} modules"
    if isinstance(value, int):
        return ""
    if isinstance(value, dict):
        words = [f"{name} ×{used if isinstance(used, int) else len(used)}" for name, used in value.items()]  # noqa: RUF001
    else:
        words = [" ↔ ".join(one) if isinstance(one, list) else str(one) for one in value]  # type: ignore[attr-defined]
    return ", ".join([*words[:most], *(["…"] if len(words) > most else [])])


def exported(revision: str, folder: Path) -> Path:
    """Write the sources of a revision into a folder; return the package's place there."""
    argv = ["git", "-C", str(PROJECT), "archive", "--format=tar", revision, "src/cairn"]
    archive = subprocess.run(argv, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "src" / "cairn"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--at", metavar="REVISION", help="measure this revision instead of the working tree")
    parser.add_argument("--json", action="store_true", help="print everything that was counted, as JSON")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        package = exported(options.at, Path(scratch)) if options.at else PROJECT / "src" / "cairn"
        found = figures(package)
        found |= {f"hops of one {what}": how for what, how in travels(package).items()}
    if options.json:
        plain = {name: value._asdict() if isinstance(value, Hops) else value for name, value in found.items()}
        print(json.dumps(plain, indent=1))
    else:
        print(table(found))


if __name__ == "__main__":
    main()
