"""The table of indexers, and what each is asked to do."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from cairn.semantic.contexts import discover
from cairn.semantic.indexers import BY_FAMILY, INDEXERS, IndexerWork, RunPlan, source_roots
from cairn.semantic.model import Context, Family
from tests.architecture import DOORS
from tests.conformance import conforms

PROJECT = Path(__file__).parents[2]


def work(files: dict[str, str], family: Family, wanted: tuple[str, ...] = ()) -> IndexerWork:
    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    found = discover(files, read)
    context = next(one for one in found.contexts if one.family is family)
    owned = tuple(path for path in sorted(files) if found.owner(path) == context)
    environ = {"HOME": "/home/me", "PATH": "/bin", "GITHUB_TOKEN": "secret"}
    return IndexerWork("/code/it", context, owned, wanted or owned, "/scratch", environ, read)


def plans(files: dict[str, str], family: Family, wanted: tuple[str, ...] = ()) -> tuple[RunPlan, ...]:
    return BY_FAMILY[family].plans(work(files, family, wanted))


def given(plan: RunPlan, name: str) -> Any:
    return json.loads(dict(plan.given)[name])


def all_plans() -> Iterator[tuple[str, RunPlan]]:
    files = {
        "pyproject.toml": '[project]\nname = "a b"\n',
        "a.py": "",
        "package.json": '{"name": "n"}',
        "a.ts": "",
        "go.mod": "module m",
        "a.go": "",
        "Cargo.toml": "[package]",
        "a.rs": "",
        "pom.xml": "",
        "A.java": "",
        "CMakeLists.txt": "",
        "a.c": "",
        "a.csproj": "",
        "a.cs": "",
        "a.gemspec": "",
        "a.rb": "",
    }
    for indexer in INDEXERS:
        for plan in plans(files, indexer.family):
            yield indexer.name, plan


def test_every_family_has_one_indexer_and_every_indexer_a_command_that_installs_it() -> None:
    assert {indexer.family for indexer in INDEXERS} == set(Family)
    assert len(BY_FAMILY) == len(INDEXERS)
    assert all(indexer.install for indexer in INDEXERS)


def test_those_that_our_tests_run_are_the_ones_that_are_called_tested() -> None:
    tested = {indexer.name for indexer in INDEXERS if indexer.tested}
    assert tested == {"scip-python", "scip-typescript", "scip-go"}
    run = (PROJECT / "tests/semantic/test_real_indexers.py").read_text()
    assert all(f'"{name}"' in run for name in tested)


def test_every_plan_writes_into_its_own_folder_and_leaks_nothing_of_ours() -> None:
    for name, plan in all_plans():
        assert any("/scratch/index.scip" in argument for argument in plan.arguments), name
        assert "secret" not in str(plan)
        assert all(not file.startswith(("/", ".")) for file, _ in plan.given)


@conforms("002.LAY2")
def test_indexers_are_batch_programs_and_nothing_here_speaks_to_a_language_server() -> None:
    (programs,) = (door.files for door in DOORS if door.what == "runs a program")
    assert {file for file in programs if file.startswith("semantic/")} == {"semantic/process.py", "semantic/keeper.py"}
    for name, plan in all_plans():
        assert not {"lsp", "--stdio", "serve", "server", "--lsp", "--watch", "lsp-server"} & set(plan.arguments), name
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    needed = " ".join([*settings["dependencies"], *chain(*settings["optional-dependencies"].values())])
    assert not any(word in needed for word in ("lsp", "pyright", "jedi", "langserver", "clangd"))


# --- Python -----------------------------------------------------------------------------------------------------------


def test_python_is_asked_with_an_absolute_folder_a_fixed_version_and_no_package_of_this_machine() -> None:
    (plan,) = plans({"pyproject.toml": '[project]\nname = "my shop"\n', "shop/a.py": ""}, Family.PYTHON)
    assert "--cwd=/code/it" in plan.arguments
    assert "--project-version=0" in plan.arguments
    assert "--project-name=my-shop" in plan.arguments
    assert given(plan, "environment.json") == []


def test_python_reads_exactly_the_files_of_its_context() -> None:
    files = {
        "pyproject.toml": "[project]",
        "a.py": "",
        "odd[1].py": "",
        "star*.py": "",
        ".venv/lib/x.py": "",
        "libs/b/pyproject.toml": "[project]",
        "libs/b/c.py": "",
    }
    asked = work(files, Family.PYTHON)
    asked = asked._replace(files=tuple(path for path in asked.files if not path.startswith(".venv")))
    (plan,) = BY_FAMILY[Family.PYTHON].plans(asked)
    assert given(plan, "pyrightconfig.json")["include"] == ["a.py", "odd[1].py"]
    nested = discover(files, lambda path: files[path].encode()).contexts[1]
    (plan,) = BY_FAMILY[Family.PYTHON].plans(asked._replace(context=nested, files=("libs/b/c.py",)))
    assert "--cwd=/code/it/libs/b" in plan.arguments
    assert given(plan, "pyrightconfig.json")["include"] == ["c.py"]


def test_the_settings_of_python_stand_in_for_those_of_the_tree_whatever_its_name_is() -> None:
    asked = work({"pyproject.toml": "[project]", "a.py": ""}, Family.PYTHON)._replace(root='/odd "name"\\x')
    (plan,) = BY_FAMILY[Family.PYTHON].plans(asked)
    assert json.dumps('/odd "name"\\x/pyrightconfig.json') in dict(plan.given)["overlay.cjs"].decode()


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        (["src/shop/__init__.py", "tests/t.py"], ("src",)),
        (["shop/__init__.py", "shop/x/__init__.py"], ()),
        (["src/shop/a.py"], ("src",)),
        (["src/__init__.py", "src/a.py"], ()),
        (["lib/deep/shop/__init__.py", "src/a.py"], ("lib/deep", "src")),
        # Two that offer the same package: the wrong one might be taken.
        (["apps/a/app/__init__.py", "apps/b/app/__init__.py", "apps/c/other/__init__.py"], ("apps/c",)),
        (["tests/requests/__init__.py", "lib/examples/x/__init__.py", "testsuite/x/__init__.py"], ("testsuite",)),
    ],
)
def test_modules_are_looked_for_where_packages_begin(files: list[str], roots: tuple[str, ...]) -> None:
    context = Context("python:.", Family.PYTHON, "", "x", "", "")
    assert source_roots(context, files) == roots
    nested = Context("python:examples/in", Family.PYTHON, "examples/in", "x", "", "")
    assert source_roots(nested, [f"examples/in/{path}" for path in files]) == tuple(
        f"examples/in/{one}" for one in roots
    )


# --- TypeScript -------------------------------------------------------------------------------------------------------


def test_typescript_is_given_settings_of_ours_that_lean_on_the_real_ones_and_name_the_files() -> None:
    files = {"tsconfig.json": "{}", "packages/a/package.json": '{"name": "a"}', "packages/a/x.ts": "", "b.ts": ""}
    asked = work(files, Family.TYPESCRIPT)
    nested = discover(files, lambda path: files[path].encode()).contexts[1]
    asked = asked._replace(context=nested, files=("packages/a/x.ts",), wanted=("packages/a/x.ts",))
    first, second = BY_FAMILY[Family.TYPESCRIPT].plans(asked)
    settings = given(first, "tsconfig.json")
    assert settings["extends"] == "/code/it/tsconfig.json"
    assert settings["files"] == ["/code/it/packages/a/x.ts"]
    assert settings["compilerOptions"]["typeRoots"][0] == "/code/it/packages/a/node_modules/@types"
    assert len(settings["compilerOptions"]["typeRoots"]) == 3
    assert "extends" not in given(second, "tsconfig.json")
    assert "--infer-tsconfig" not in first.arguments


def test_typescript_reads_only_what_is_wanted_and_keeps_the_roots_of_types_that_the_project_names() -> None:
    files = {"tsconfig.json": '{"compilerOptions": {"typeRoots": ["./types"]}}', "a.ts": "", "b.ts": ""}
    first, _ = plans(files, Family.TYPESCRIPT, wanted=("b.ts",))
    settings = given(first, "tsconfig.json")
    assert settings["files"] == ["/code/it/b.ts"]
    assert "typeRoots" not in settings["compilerOptions"]


def test_plain_javascript_needs_no_settings() -> None:
    (plan,) = plans({"a.js": ""}, Family.TYPESCRIPT)
    assert given(plan, "tsconfig.json")["compilerOptions"]["allowJs"] is True


# --- Go ---------------------------------------------------------------------------------------------------------------


def test_go_downloads_nothing_and_runs_no_compiler_of_c() -> None:
    (plan,) = plans({"go.mod": "module m", "a.go": "", "x/b.go": ""}, Family.GO)
    environ = dict(plan.environ)
    assert (environ["GOPROXY"], environ["GOTOOLCHAIN"], environ["CGO_ENABLED"]) == ("off", "local", "0")
    assert (environ["GOWORK"], environ["GOMODCACHE"]) == ("off", "/home/me/go/pkg/mod")
    assert plan.arguments[-1] == "./..."


def test_go_takes_the_workspace_of_the_codebase_and_the_packages_that_are_wanted() -> None:
    files = {"go.work": "use ./a", "a/go.mod": "module m", "a/x.go": "", "a/in/y.go": "", "a/in/z.go": ""}
    (plan,) = plans(files, Family.GO, wanted=("a/in/y.go", "a/in/z.go"))
    assert dict(plan.environ)["GOWORK"] == "/code/it/go.work"
    assert plan.arguments[-1] == "./in"
    (plan,) = plans(files, Family.GO, wanted=("a/x.go",))
    assert plan.arguments[-1] == "."
