"""A small indexer of Python, which knows modules, what stands in them, and what imports lead to; and files in memory.

It writes what a real one writes, so everything behind it is the real thing. What it says of a tree is the truth that
answers are compared with.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import count
from typing import NamedTuple

from cairn.core.types import FileStat, ParseState, StoredFile, Symbol, Syntax
from cairn.core.types import Import as ImportLine
from cairn.semantic.database import SemanticDatabase, register
from cairn.semantic.facts import FileSyntax
from cairn.semantic.importing import Imported, ImportRequest, Indexed, SeenFile, import_index
from cairn.semantic.model import FULL, Context, Family, of_files
from cairn.semantic.places import lines_of
from cairn.semantic.shape import CodeShape, shape_of
from cairn.semantic.state import Now
from cairn.syntax.analyze import analyze
from cairn.syntax.frame import code_lines
from cairn.syntax.languages import traits_of
from tests.semantic.indices import document, field, index, occurrence

CONTEXT = Context("python:.", Family.PYTHON, "", "demo", "pyproject.toml", "settings", why="pyproject.toml")
_STAT = FileStat(0, 0, 0, 0)
_UTF8 = 1
_CLOCK = count(1.0)


class Spot(NamedTuple):
    """A symbol in a place; the line counts from 1, columns are bytes from 0."""

    path: str
    line: int
    column: int
    end: int
    symbol: str
    is_definition: bool


class Memory:
    """Files in memory, as a snapshot of them; `others` are no Python."""

    def __init__(self, files: Mapping[str, bytes], others: Mapping[str, bytes] | None = None) -> None:
        self.files, self.others = dict(files), dict(others or {})

    def shape(self, path: str) -> CodeShape | None:
        data = self.files.get(path)
        return None if data is None else shape_of(code_lines(data, traits_of("python").lexis), ())

    def file(self, path_key: str) -> StoredFile | None:
        data = self.files.get(path_key, self.others.get(path_key))
        if data is None:
            return None
        digest, syntax = _parsed(data)
        rest = "python", ParseState.PARSED, None, "", len(data), 1, syntax.interface_hash
        return StoredFile(path_key, _STAT, digest, *rest)

    def text(self, path_key: str) -> memoryview | None:
        data = self.files.get(path_key)
        return None if data is None else memoryview(data)

    def symbols(self, path_key: str) -> list[Symbol]:
        data = self.files.get(path_key)
        return [] if data is None else list(_parsed(data)[1].symbols)

    def now(self, path: str) -> Now | None:
        file = self.file(path)
        return None if file is None else Now(file.file_hash, file.interface_hash)

    def paths(self) -> list[str]:
        return [*self.files, *self.others]

    def imports(self, path_key: str) -> list[ImportLine]:
        data = self.files.get(path_key)
        return [] if data is None else list(_parsed(data)[1].imports)

    def lines(self, path: str) -> list[bytes]:
        return lines_of(self.files.get(path, b""))

    def syntax(self, path: str) -> FileSyntax | None:
        data = self.files.get(path)
        if data is None:
            return None
        syntax = _parsed(data)[1]
        return FileSyntax(data, syntax.symbols, syntax.references, syntax.imports)


@cache
def _parsed(data: bytes) -> tuple[str, Syntax]:
    return hashlib.sha256(data).hexdigest(), analyze(data, "python")[0]


def refresh(
    database: SemanticDatabase, pinned: Memory, only: Iterable[str] | None = None, *, context: Context = CONTEXT
) -> Imported:
    """Index all files, and take in what is said of these, or of all."""
    wanted = None if only is None else set(only)
    seen = {path: SeenFile(_STAT, _parsed(data)[0]) for path, data in pinned.files.items()}
    with database.writing() as db:
        register(db, [context])
        indexed = Indexed(index_of(pinned.files, wanted), "test", "1.0")
        scope = FULL if wanted is None else of_files(wanted)
        return import_index(
            db, indexed, ImportRequest(context, "/project", pinned, seen, seen, next(_CLOCK), scope, pinned.shape)
        )


def index_of(files: Mapping[str, bytes], only: set[str] | None = None) -> bytes:
    """The bytes of an index of these files."""
    documents = []
    for path in sorted(files):
        if only is None or path in only:
            found = [
                occurrence([spot.line - 1, spot.column, spot.end], spot.symbol, int(spot.is_definition))
                for spot in sorted(spots(files)[path])
            ]
            overrides = [
                field(1, each) + field(4, field(1, base) + field(3, 1)) for each, base in _overrides(files, path)
            ]
            types = [
                field(1, each) + field(3, f"```python\n-> {made}\n```") for each, made in _found_out(files[path], path)
            ]
            documents.append(document(path, found, [*overrides, *types], _UTF8))
    return index(*documents)


def spots(files: Mapping[str, bytes]) -> dict[str, set[Spot]]:
    """What every name of every file stands for."""
    return _spots(tuple(sorted(files.items())))


@cache
def _spots(files: tuple[tuple[str, bytes], ...]) -> dict[str, set[Spot]]:
    modules = {path.removesuffix(".py").replace("/", "."): _Module(path, data) for path, data in files}
    return {module.path: set(module.spots(modules)) for module in modules.values()}


def _overrides(files: Mapping[str, bytes], path: str) -> Iterator[tuple[str, str]]:
    """The methods of a file that override one of a base, and what they override."""
    modules = {each.removesuffix(".py").replace("/", "."): _Module(each, data) for each, data in files.items()}
    own = modules[path.removesuffix(".py").replace("/", ".")]
    for node in own.tree.body:
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                symbol = own.means(base.id, modules) if isinstance(base, ast.Name) else None
                for method in node.body if symbol else ():
                    if isinstance(method, ast.FunctionDef):
                        target = f"{symbol}{method.name}()."
                        if any(target in module.defined.values() for module in modules.values()):
                            yield f"{own.symbol(node.name)}#{method.name}().", target


def _found_out(data: bytes, path: str) -> Iterator[tuple[str, str]]:
    """The functions of a file that return a new object, and of what class that is, which nobody wrote down."""
    own = _Module(path, data)
    for node in own.tree.body:
        if isinstance(node, ast.FunctionDef):
            for each in ast.walk(node):
                if isinstance(each, ast.Return) and isinstance(each.value, ast.Call):
                    yield own.defined[node.name], ast.unparse(each.value.func)


class _Module:
    """One file: what it defines at its top, what it imports, and where."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self._lines = path, data.split(b"\n")
        self.name = path.removesuffix(".py").replace("/", ".")
        try:
            self.tree = ast.parse(data)
        except SyntaxError:
            self.tree = ast.Module([], [])
        self.defined: dict[str, str] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.stars: list[str] = []
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef):
                self.defined[node.name] = self.symbol(f"{node.name}().")
            elif isinstance(node, ast.ClassDef):
                self.defined[node.name] = self.symbol(f"{node.name}#")
                for method in node.body:
                    if isinstance(method, ast.FunctionDef):
                        self.defined[f"{node.name}.{method.name}"] = self.symbol(f"{node.name}#{method.name}().")
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(node.module or "")
                    else:
                        self.imported[alias.asname or alias.name] = (node.module or "", alias.name)

    def symbol(self, rest: str) -> str:
        return f"scip-python python demo 0.1 `{self.name}`/{rest}"

    def means(self, name: str, modules: Mapping[str, _Module], depth: int = 8) -> str | None:
        """What a name at the top of this file stands for, through files that hand it on."""
        if name in self.defined:
            return self.defined[name]
        if not depth:
            return None
        if name in self.imported:
            module, original = self.imported[name]
            return modules[module].means(original, modules, depth - 1) if module in modules else None
        for star in reversed(self.stars):
            if star in modules and (found := modules[star].means(name, modules, depth - 1)):
                return found
        return None

    def spots(self, modules: Mapping[str, _Module]) -> Iterator[Spot]:
        yield self._spot(1, 0, "", self.symbol("__init__:"), is_definition=True)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                yield from self._import(node, modules)
            elif isinstance(node, ast.Name) and (symbol := self.means(node.id, modules)):
                yield self._spot(node.lineno, node.col_offset, node.id, symbol)
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield self._named(node, self.defined[node.name])
            if isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef):
                        yield self._named(method, self.defined[f"{node.name}.{method.name}"])
                        yield from self._on_self(node.name, method)

    def _on_self(self, around: str, method: ast.FunctionDef) -> Iterator[Spot]:
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                symbol = self.defined.get(f"{around}.{node.attr}")
                if symbol:
                    at = (node.end_col_offset or 0) - len(node.attr.encode())
                    yield self._spot(node.end_lineno or 0, at, node.attr, symbol)

    def _import(self, node: ast.ImportFrom, modules: Mapping[str, _Module]) -> Iterator[Spot]:
        if node.module is not None and node.module in modules:
            start = node.col_offset + len("from ")
            yield self._spot(node.lineno, start, node.module, modules[node.module].symbol("__init__:"))
            for alias in node.names:
                if symbol := modules[node.module].means(alias.name, modules):
                    yield self._spot(alias.lineno, alias.col_offset, alias.name, symbol)

    def _named(self, node: ast.FunctionDef | ast.ClassDef, symbol: str) -> Spot:
        word = b"def " if isinstance(node, ast.FunctionDef) else b"class "
        at = self._lines[node.lineno - 1].index(word, node.col_offset) + len(word)
        return self._spot(node.lineno, at, node.name, symbol, is_definition=True)

    def _spot(self, line: int, column: int, name: str, symbol: str, *, is_definition: bool = False) -> Spot:
        return Spot(self.path, line, column, column + len(name.encode()), symbol, is_definition)
