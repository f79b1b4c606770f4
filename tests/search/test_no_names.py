"""The ranking knows no repository by name: what it is measured on may not stand in it.

Kept are only digests of the names, so that no file holds them. The name of one repository is that of a file format,
which the table of file types needs; it is left out.
"""

from __future__ import annotations

import ast
import re
from hashlib import sha256
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "cairn"
NAMES = frozenset((SOURCE.parents[1] / "tests" / "golden" / "benchmark-names.txt").read_text("ascii").split())
MODULES = sorted([*SOURCE.glob("search/*.py"), *SOURCE.glob("engine/*.py"), SOURCE / "core/tokens.py"])


def words_of(source: str) -> set[str]:
    """Every word in the texts and numbers of a module, but for what is written for people to read."""
    tree = ast.parse(source)
    explained = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None
        if isinstance(node.body[0], ast.Expr)
    }
    texts = [
        node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in explained
    ]
    return {word for text in texts for word in re.findall(r"[a-z0-9][a-z0-9._-]+", text.lower())}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_repository_of_a_benchmark_is_named_in_what_ranks(module: Path) -> None:
    named = {word for word in words_of(module.read_text("utf-8")) if sha256(word.encode()).hexdigest()[:16] in NAMES}
    assert named == set()


def test_a_name_would_be_seen() -> None:
    assert words_of('BOOST = {"some-repository": 2.0}') == {"some-repository"}
