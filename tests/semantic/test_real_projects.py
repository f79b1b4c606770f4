"""Real indexers on code that others wrote: a client of HTTP in Python, and the TypeScript indexer's own sources."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from cairn.semantic.scip import Document, byte_column, is_local
from tests.semantic.indexers import real_indexer
from tests.semantic.test_real_indexers import Real

pytestmark = pytest.mark.long

_PACKAGE = re.compile(r"scip-\S+ \S+ (\S+) ")


def sources(folder: Path, suffix: str, below: str) -> dict[str, str]:
    return {f"{below}/{path.relative_to(folder)}": path.read_text() for path in sorted(folder.rglob(f"*{suffix}"))}


@pytest.fixture
def python(tmp_path: Path) -> Real:
    # It comes with the package for MCP, which tests need anyway.
    found = importlib.util.find_spec("httpx2") or importlib.util.find_spec("httpx")
    if found is None or found.origin is None:
        pytest.skip("there is no real project of Python here: httpx is not installed")
    files = sources(Path(found.origin).parent, ".py", found.name)
    return Real(tmp_path, {**files, "pyproject.toml": f'[project]\nname = "{found.name}"\n'}, "scip-python")


@pytest.fixture
def typescript(tmp_path: Path) -> Real:
    package = Path(real_indexer("scip-typescript")).resolve().parents[2]
    files = sources(package / "src", ".ts", "src")
    if not files:
        pytest.skip("there is no real project of TypeScript here: this indexer came without its sources")
    return Real(tmp_path, {**files, "package.json": (package / "package.json").read_text()}, "scip-typescript")


def check(project: Real, suffix: str) -> None:
    """Every file is spoken of, names stand where they are said to, and what is used is defined."""
    found = project.run()
    assert set(found) >= {name for name in project.names() if name.endswith(suffix) and project.read(name)}
    defined = {one.symbol for document in found.values() for one in document.occurrences if one.is_definition}
    own = {_PACKAGE.match(symbol)[1] for symbol in defined if not is_local(symbol)}  # type: ignore[index]
    assert len(own) == 1
    total = dangling = misplaced = 0
    for document in found.values():
        for symbol, text in spots(project, document):
            if not is_local(symbol) and f" {next(iter(own))} " in symbol and not symbol.endswith(("/", ":")):
                total += 1
                dangling += symbol not in defined
                # A name may be used under another; a constructor is written as its class.
                misplaced += text.strip("'\"#") not in symbol
    assert total > 2_000
    assert dangling < total / 200
    assert misplaced < total / 50


def spots(project: Real, document: Document) -> list[tuple[str, str]]:
    """Every symbol, with the text that stands where it is said to be."""
    lines = (project.root / document.path).read_bytes().split(b"\n")
    found = []
    for one in document.occurrences:
        line = lines[one.range.start_line]
        columns = (one.range.start_column, one.range.end_column)
        begin, end = (byte_column(line, column, document.encoding) for column in columns)
        found.append((one.symbol, line[begin:end].decode()))
    return found


def test_a_real_project_of_python_is_understood(python: Real) -> None:
    check(python, ".py")


def test_a_real_project_of_typescript_is_understood(typescript: Real) -> None:
    check(typescript, ".ts")
