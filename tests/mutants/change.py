"""Change one statement of the package, found by what it says and not by where its file lies.

A place has two names. `where` is the qualified name of a function, class or constant inside its module (`Lease.steal`,
`MAX_FILE_BYTES`), in whatever module it lies. `statement` is what stands there, compared as a syntax tree: neither a
move to another module nor line breaks, quotes and comments make a difference. `statement` is

- one statement, or several that follow each other; `becomes` is what stands there instead, nothing removes them;
- an expression, as the condition of an `if`; `becomes` is the expression in its stead;
- a string literal: part of a longer one, as a clause of some SQL; `becomes` is the literal in its stead.

Only the text of the place is written anew. All other lines of the module keep their comments and their form.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple


class NoSuchChange(Exception):
    """A change that does not apply to exactly one place, or that changes nothing; the message says why."""


class _Place(NamedTuple):
    """What is to be replaced in a module: statements that follow each other, or one expression."""

    file: Path
    source: str
    nodes: tuple[ast.stmt, ...] | tuple[ast.expr]

    @property
    def start(self) -> tuple[int, int]:
        first = self.nodes[0]
        # A function begins at its decorators; the parser says where its `def` is.
        return min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", ()))]), first.col_offset

    @property
    def end(self) -> tuple[int, int]:
        last = self.nodes[-1]
        assert last.end_lineno is not None
        assert last.end_col_offset is not None
        return last.end_lineno, last.end_col_offset


def changed(package: Path, where: str, statement: str, becomes: str) -> tuple[str, str]:
    """Return the path of the one module below `package` that has the place, and its source with the change.

    Raises `NoSuchChange` when no place or more than one has both names, or when the change is none.
    """
    wanted, instead = _parsed("statement", statement), _parsed("becomes", becomes)
    if not wanted:
        raise NoSuchChange("`statement` is empty")
    if _dump(*wanted) == _dump(*instead):
        raise NoSuchChange("it changes nothing: `statement` and `becomes` are the same")
    last = where.rpartition(".")[2]
    name = re.escape(last)
    defines = re.compile(rf"^[ \t]*(?:(?:async +)?def|class) +{name}\b|^[ \t]*(?:\w+ *= *)*{name} *[:=]", re.MULTILINE)
    holders, places = [], []
    for file in sorted(package.rglob("*.py")):
        status = file.stat()
        source = _text(file, status.st_mtime_ns, status.st_size)
        # Most modules define nothing of that name, and need not be parsed.
        if last in source and defines.search(source) and (scopes := _definitions(source).get(where)):
            holders.append(file.relative_to(package).as_posix())
            places += [place for scope in scopes for place in _places(file, source, scope, wanted)]
    if not holders:
        raise NoSuchChange(f"no module has a function, class or constant `{where}`")
    if not places:
        raise NoSuchChange(f"`{where}` ({', '.join(holders)}) does not say `{statement.strip()}`")
    if len(places) > 1:
        lines = ", ".join(f"{place.file.relative_to(package).as_posix()}:{place.start[0]}" for place in places)
        raise NoSuchChange(f"{len(places)} places in `{where}` say `{statement.strip()}`: {lines}")
    (place,) = places
    return place.file.relative_to(package).as_posix(), _written(place, wanted, instead)


def _parsed(name: str, text: str) -> list[ast.stmt]:
    try:
        return ast.parse(textwrap.dedent(text).strip()).body
    except SyntaxError as problem:
        raise NoSuchChange(f"`{name}` is not Python: {problem}") from None


def _dump(*nodes: ast.AST) -> list[str]:
    return [ast.dump(node) for node in nodes]


@cache
def _text(file: Path, changed_at: int, size: int) -> str:
    """The text of a file as it was at that time and of that size."""
    return file.read_text("utf-8")


@cache
def _definitions(source: str) -> dict[str, list[ast.stmt]]:
    """Every function, class and constant of a module by its qualified name; one name may be defined several times."""
    found: dict[str, list[ast.stmt]] = {}

    def visit(node: ast.AST, prefix: str, *, is_function: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.setdefault(prefix + child.name, []).append(child)
                visit(child, f"{prefix}{child.name}.", is_function=not isinstance(child, ast.ClassDef))
                continue
            if isinstance(child, ast.Assign | ast.AnnAssign) and not is_function:
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    if isinstance(target, ast.Name):
                        found.setdefault(prefix + target.id, []).append(child)
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                visit(child, prefix, is_function=is_function)

    visit(ast.parse(source), "", is_function=False)
    return found


def _places(file: Path, source: str, scope: ast.stmt, wanted: list[ast.stmt]) -> Iterator[_Place]:
    dumped, size = _dump(*wanted), len(wanted)
    for block in _blocks(scope):
        for start in range(len(block) - size + 1):
            run = block[start : start + size]
            if all(type(one) is type(other) for one, other in zip(run, wanted, strict=True)) and _dump(*run) == dumped:
                yield _Place(file, source, tuple(run))
    if size == 1 and isinstance(wanted[0], ast.Expr):
        for found in _expressions(scope):
            if _says(found, wanted[0].value):
                yield _Place(file, source, (found,))


def _blocks(scope: ast.stmt) -> Iterator[list[ast.stmt]]:
    yield [scope]
    for node in ast.walk(scope):
        for _, block in ast.iter_fields(node):
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Every expression that is no statement by itself; an f-string only as a whole, its parts have no true position."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not isinstance(node, ast.Expr):
            yield child
        if not isinstance(child, ast.JoinedStr):
            yield from _expressions(child)


def _says(found: ast.expr, wanted: ast.expr) -> bool:
    if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str):
        return isinstance(found, ast.Constant) and isinstance(found.value, str) and wanted.value in found.value
    return type(found) is type(wanted) and ast.dump(found) == ast.dump(wanted)


def _written(place: _Place, wanted: list[ast.stmt], instead: list[ast.stmt]) -> str:
    """The source of the module with the change."""
    if isinstance(place.nodes[0], ast.stmt):
        if place.source.encode("utf-8").splitlines()[place.start[0] - 1][place.start[1] :].startswith(b"elif"):
            raise NoSuchChange("`statement` is an `elif` there, which only its condition can name")
        lines = "\n".join(map(ast.unparse, instead or [ast.Pass()]))
        text = textwrap.indent(lines, " " * place.start[1]).lstrip(" ")
    elif len(instead) == 1 and isinstance(instead[0], ast.Expr) and isinstance(wanted[0], ast.Expr):
        text = f"({ast.unparse(_instead(place.nodes[0], wanted[0].value, instead[0].value))})"
    else:
        raise NoSuchChange("`statement` is part of a statement there, so `becomes` must be one expression")
    new = _spliced(place, text)
    try:
        ast.parse(new)
    except SyntaxError as problem:
        raise NoSuchChange(f"{place.file.name} would not be Python with it: {problem}") from None
    return new


def _instead(found: ast.expr, wanted: ast.expr, becomes: ast.expr) -> ast.expr:
    """What comes in the place of an expression: of a string, only the part that was named becomes another."""
    match found, wanted, becomes:
        case ast.Constant(str(whole)), ast.Constant(str(part)), ast.Constant(str(other)):
            if (times := whole.count(part)) != 1:
                raise NoSuchChange(f"the string on line {found.lineno} says it {times} times")
            return ast.Constant(whole.replace(part, other))
        case ast.Constant(str(whole)), ast.Constant(str(part)), _ if whole != part:
            raise NoSuchChange("`statement` is part of a string there, so `becomes` must be a string")
    return becomes


def _spliced(place: _Place, text: str) -> str:
    """The source of a module with the text in that place; columns count bytes, as the parser does."""
    lines = place.source.encode("utf-8").splitlines(keepends=True)
    (first, start), (last, end) = place.start, place.end
    middle = lines[first - 1][:start] + text.encode("utf-8") + lines[last - 1][end:]
    return b"".join([*lines[: first - 1], middle, *lines[last:]]).decode("utf-8")
