"""Real indexers on real projects: what they say is right, and the project stays as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from cairn.core.config import SemanticConfig
from cairn.errors import IndexerFailed
from cairn.semantic.contexts import Discovery, discover
from cairn.semantic.model import FULL, Context, RefreshScope
from cairn.semantic.running import Runner
from cairn.semantic.scip import Document, ScipIndex
from tests.semantic.indexers import real_indexer
from tests.support.repos import make_repo, run_git
from tests.support.trees import write_tree

PYTHON = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "src/shop/__init__.py": "",
    "src/shop/price.py": "def total(items):\n    return sum(items)\n",
    "src/shop/basket.py": """\
        from shop.price import total


        class Basket:
            def __init__(self):
                self.items = []

            def sum(self):
                return total(self.items)
        """,
    "src/shop/broken.py": "def half(:\n    return\n",
    "tests/test_basket.py": """\
        from shop.basket import Basket


        def test_it():
            assert Basket().sum() == 0
        """,
}
TYPESCRIPT = {
    "package.json": '{"name": "shop", "version": "1.2.3"}',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "composite": true}, "include": ["src"]}',
    "src/price.ts": "export function total(items: number[]): number { return items.length; }\n",
    "src/basket.ts": 'import { total } from "./price";\nexport const sum = () => total([1]);\n',
    "src/old.js": 'import { total } from "./price";\nexport const old = total([1]);\n',
}
GO = {
    "go.mod": "module example.com/shop\n\ngo 1.18\n",
    "main.go": 'package main\n\nimport "example.com/shop/price"\n\nfunc main() { println(price.Total(nil)) }\n',
    "price/price.go": "package price\n\nfunc Total(items []int) int { return len(items) }\n",
}


class Real:
    """A project on disk, with a real indexer for it."""

    def __init__(self, tmp_path: Path, files: dict[str, str], indexer: str) -> None:
        self.root = tmp_path.resolve() / "the project"
        write_tree(self.root, {name: dedent(text) for name, text in files.items()})
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        settings = SemanticConfig(tools=((indexer, real_indexer(indexer)),), seconds=300)
        self.runner = Runner(str(self.root), str(home), dict(os.environ), settings, self.owned, self.read)

    def write(self, name: str, text: str) -> None:
        write_tree(self.root, {name: text})

    def read(self, path: str) -> bytes | None:
        place = self.root / path
        return place.read_bytes() if place.is_file() else None

    def names(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())

    @property
    def discovery(self) -> Discovery:
        return discover([name for name in self.names() if not name.startswith(".git/")], self.read)

    def owned(self, context: Context) -> Iterator[str]:
        there = self.discovery
        return (name for name in self.names() if there.owner(name) == context)

    def run(self, scope: RefreshScope = FULL) -> dict[str, Document]:
        (context,) = self.discovery.contexts
        before = {name: (self.root / name).read_bytes() for name in self.names()}
        index = ScipIndex(self.runner(context, scope, lambda: False).data, "index")
        assert {name: (self.root / name).read_bytes() for name in self.names()} == before
        return {document.path: document for document in index.documents()}


def symbols(document: Document) -> dict[tuple[int, int], str]:
    """The last descriptor of every symbol, by the place where it stands."""
    return {
        (one.range.start_line, one.range.start_column): one.symbol.rpartition("/")[2] for one in document.occurrences
    }


def test_python_is_understood_across_a_src_layout_without_a_trace_in_the_tree(tmp_path: Path) -> None:
    found = Real(tmp_path, PYTHON, "scip-python").run()
    assert set(found) >= {"src/shop/basket.py", "src/shop/price.py", "tests/test_basket.py"}
    use = symbols(found["tests/test_basket.py"])
    assert (use[4, 11], use[4, 20]) == ("Basket#", "Basket#sum().")
    # The name that is used is the name that is defined: no `src.` in one of them.
    defined = {one.symbol for one in found["src/shop/price.py"].occurrences if one.is_definition}
    used = {one.symbol for one in found["src/shop/basket.py"].occurrences}
    assert any(symbol.endswith("`shop.price`/total().") for symbol in defined & used)


@pytest.mark.long
def test_python_says_the_same_whatever_is_installed_here_or_stands_above_the_project(tmp_path: Path) -> None:
    project = Real(tmp_path, PYTHON, "scip-python")
    before = project.run()
    # Settings above the project, packages on PYTHONPATH, and a version in git would all change what is said.
    (tmp_path / "pyrightconfig.json").write_text('{"include": ["elsewhere"]}')
    project.write("pyrightconfig.json", '{"exclude": ["**"], "venvPath": "/", "venv": "x"}')
    package = tmp_path / "packages" / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    project.runner.environ["PYTHONPATH"] = str(package.parent)  # type: ignore[index]
    make_repo(project.root)
    run_git(project.root, "commit", "-q", "--allow-empty", "-m", "x")
    assert project.run() == before


@pytest.mark.long
def test_python_does_not_look_into_a_package_that_is_nested_in_it(tmp_path: Path) -> None:
    project = Real(tmp_path, PYTHON, "scip-python")
    outer, _ = discover([*PYTHON, "libs/a/pyproject.toml", "libs/a/x.py"], lambda _: b"[project]").contexts
    project.write("libs/a/x.py", "y = 1\n")
    files = [name for name in PYTHON if name.endswith(".py")]
    runner = Runner(
        **{name: getattr(project.runner, name) for name in ("root", "home", "environ", "settings", "read")},
        files=lambda _: files,
    )
    found = ScipIndex(runner(outer, FULL, lambda: False).data, "index").documents()
    assert not any(document.path.startswith("libs") for document in found)


@pytest.mark.long
def test_typescript_is_understood_with_settings_of_ours_and_a_scope_is_really_smaller(tmp_path: Path) -> None:
    project = Real(tmp_path, TYPESCRIPT, "scip-typescript")
    found = project.run()
    assert set(found) == {"src/price.ts", "src/basket.ts", "src/old.js"}
    assert symbols(found["src/basket.ts"])[1, 25] == "total()."
    assert symbols(found["src/old.js"])[1, 19] == "total()."
    (one,) = project.run(RefreshScope(files=frozenset({"src/basket.ts"})))
    assert one == "src/basket.ts"


@pytest.mark.long
@pytest.mark.parametrize("settings", ['{"extends": "@not/installed/tsconfig.json"}', "{ this is no json"])
def test_typescript_goes_without_settings_that_cannot_be_read(tmp_path: Path, settings: str) -> None:
    found = Real(tmp_path, {**TYPESCRIPT, "tsconfig.json": settings}, "scip-typescript").run()
    assert symbols(found["src/basket.ts"])[1, 25] == "total()."


@pytest.mark.long
def test_sources_that_do_not_parse_do_not_stop_typescript(tmp_path: Path) -> None:
    found = Real(tmp_path, {**TYPESCRIPT, "src/bad.ts": "export function (((\n"}, "scip-typescript").run()
    assert "src/price.ts" in found


@pytest.mark.long
def test_go_is_understood_offline_and_one_package_can_be_asked_for(tmp_path: Path) -> None:
    project = Real(tmp_path, GO, "scip-go")
    found = project.run()
    assert set(found) == {"main.go", "price/price.go"}
    assert symbols(found["main.go"])[4, 28] == "Total()."
    assert set(project.run(RefreshScope(packages=frozenset({"price"})))) == {"price/price.go"}


@pytest.mark.long
def test_a_go_module_that_wants_another_go_does_not_build_and_says_so(tmp_path: Path) -> None:
    project = Real(tmp_path, {**GO, "go.mod": GO["go.mod"].replace("1.18", "9.99")}, "scip-go")
    with pytest.raises(IndexerFailed, match=r"9\.99"):
        project.run()


@pytest.mark.long
def test_what_a_go_module_needs_and_is_not_here_is_not_fetched(tmp_path: Path) -> None:
    needs = GO["go.mod"] + "\nrequire example.com/nowhere/at/all v1.0.0\n"
    uses = GO["main.go"].replace("import ", 'import _ "example.com/nowhere/at/all"\nimport ')
    project = Real(tmp_path, {**GO, "go.mod": needs, "main.go": uses}, "scip-go")
    assert "price/price.go" in project.run()


@pytest.mark.long
def test_a_repository_without_commits_is_no_trouble(tmp_path: Path) -> None:
    project = Real(tmp_path, PYTHON, "scip-python")
    make_repo(project.root)
    assert "src/shop/price.py" in project.run()
