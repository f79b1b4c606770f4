"""Symbols: one identity whatever the release or the layout, and a name and a kind from how they are written."""

from __future__ import annotations

import pytest

from cairn.core.types import Import
from cairn.semantic.model import Context, Family
from cairn.semantic.symbols import Normaliser, imported_keys, offered_keys

# --- What is imported and what is offered, as keys: who takes the place of a file shares one with those who
# import it.


def wanted(path: str, *imports: tuple[str, str]) -> frozenset[str]:
    return imported_keys(path, [Import(module, name, "", 0, 1) for module, name in imports])


@pytest.mark.parametrize(
    ("user", "module", "name", "new"),
    [
        ("app.py", "tools", "hammer", "tools/__init__.py"),
        ("app.py", "json", "", "json.py"),
        ("app.py", "pack.tools", "", "src/pack/tools.py"),
        ("app.py", "pack", "tools", "pack/tools.py"),
        ("app.py", "tools.deep", "", "tools/__init__.py"),
        ("pack/app.py", ".tools", "hammer", "pack/tools/__init__.py"),
        ("pack/app.py", ".", "tools", "pack/tools.py"),
        ("pack/deep/app.py", "..tools", "hammer", "pack/tools.py"),
        ("src/app.ts", "./tools", "hammer", "src/tools.ts"),
        ("src/app.ts", "./tools.js", "hammer", "src/tools.ts"),
        ("src/app.ts", "../tools", "hammer", "tools/index.tsx"),
        ("src/app.ts", "./tools.service", "hammer", "src/tools.service.ts"),
        ("src/app.ts", "@/lib/tools", "hammer", "src/lib/tools.d.ts"),
        ("src/App.java", "org.tools", "Hammer", "src/org/tools/Hammer.java"),
        ("src/app.rs", "crate::tools", "hammer", "src/tools/mod.rs"),
        ("src/app.c", "deep/tools.h", "", "include/deep/tools.h"),
    ],
)
def test_a_file_that_an_import_may_mean_shares_a_key_with_it(user: str, module: str, name: str, new: str) -> None:
    assert wanted(user, (module, name)) & offered_keys(new)


@pytest.mark.parametrize(
    ("user", "module", "name", "new"),
    [
        ("app.py", "tools", "hammer", "other.py"),
        ("pack/app.py", ".tools", "hammer", "elsewhere/tools.py"),
        ("src/app.ts", "./tools", "hammer", "lib/tools.ts"),
        ("src/app.ts", "./tools", "hammer", "src/hammer.ts"),
        ("app.go", "example.org/tools", "", "tools/more.go"),
    ],
)
def test_a_file_that_it_cannot_mean_does_not(user: str, module: str, name: str, new: str) -> None:
    assert not wanted(user, (module, name)) & offered_keys(new)


PYTHON = Context("python:.", Family.PYTHON, "", "demo", "pyproject.toml", "")


def normaliser(*files: str, root: str = "", family: Family = Family.PYTHON) -> Normaliser:
    context = Context(f"{family}:{root}", family, root, "demo", "", "")
    return Normaliser(context, set(files).__contains__)


@pytest.mark.parametrize(
    ("written", "kind", "names"),
    [
        ("s m p 1 `a.b`/C#run().", "method", ("a.b", "C", "run")),
        ("s m p 1 `a.b`/run().", "function", ("a.b", "run")),
        ("s m p 1 `a.b`/run(+1).", "function", ("a.b", "run")),
        ("s m p 1 `a.b`/C#x.", "field", ("a.b", "C", "x")),
        ("s m p 1 `a.b`/x.", "variable", ("a.b", "x")),
        ("s m p 1 `a.b`/C#", "type", ("a.b", "C")),
        ("s m p 1 `a.b`/__init__:", "module", ("a.b", "__init__")),
        ("s m p 1 a/b/", "namespace", ("a", "b")),
        ("s m p 1 a/C#[T]", "type_parameter", ("a", "C", "T")),
        ("s m p 1 a/f().(x)", "parameter", ("a", "f", "x")),
        ("s m p 1 a/m!", "macro", ("a", "m")),
        ("s m p 1 a/`od``d name`.", "variable", ("a", "od`d name")),
        ("s m p 1 a/größe.", "variable", ("a", "größe")),
    ],
)
def test_the_kind_and_the_names_follow_from_how_it_is_written(written: str, kind: str, names: tuple[str, ...]) -> None:
    found = normaliser().symbol(written, "f.py")
    assert (found.kind, found.names, found.name) == (kind, names, names[-1])
    assert found.qualified_name == ".".join(names)


def test_another_version_of_the_package_is_the_same_symbol() -> None:
    known = normaliser()
    assert known.symbol("s m p 1.0 a/f().", "x") == known.symbol("s m p 2.0 a/f().", "y")
    assert known.symbol("s m p 1.0 a/f().", "x") != known.symbol("s m q 1.0 a/f().", "x")


def test_a_blank_in_a_part_is_written_twice_and_parts_nothing() -> None:
    known = normaliser()
    odd = known.symbol("s m my  package 1  beta a/f().", "x")
    assert odd.identity == "s m my  package . a/f()."
    assert odd.names == ("a", "f")


def test_a_local_symbol_is_one_of_its_own_file() -> None:
    known = normaliser()
    assert known.symbol("local 1", "a.py") != known.symbol("local 1", "b.py")
    assert known.symbol("local 1", "a.py").kind == "local"
    assert known.symbol("local 1", "a.py").name == ""


@pytest.mark.parametrize("folder", ["src", "lib", "python"])
@pytest.mark.parametrize("root", ["", "packages/one"])
def test_the_folder_of_sources_is_no_package(folder: str, root: str) -> None:
    below = f"{root}/" if root else ""
    known = normaliser(f"{below}{folder}/flask/app.py", f"{below}{folder}/flask/__init__.py", root=root)
    defined = known.symbol(f"s m p 1 `{folder}.flask.app`/Flask#run().", "x")
    used = known.symbol("s m p 1 `flask.app`/Flask#run().", "y")
    assert defined == used
    assert known.symbol(f"s m p 1 `{folder}.flask`/__init__:", "x").names == ("flask", "__init__")


def test_two_modules_stay_two_and_a_package_called_src_stays_one() -> None:
    both = normaliser("src/flask/app.py", "flask/app.py")
    assert both.symbol("s m p 1 `src.flask.app`/F#", "x") != both.symbol("s m p 1 `flask.app`/F#", "y")
    package = normaliser("src/__init__.py", "src/app.py")
    assert package.symbol("s m p 1 `src.app`/F#", "x").names == ("src.app", "F")
    other = normaliser("src/app.py", family=Family.TYPESCRIPT)
    assert other.symbol("s m p 1 `src.app`/F#", "x").names == ("src.app", "F")


@pytest.mark.parametrize(
    "written", ["", " ", "nonsense", "a b c d", "s m p 1 ", "s m p 1 a/(", "s m p 1 a/f() .", "s  m"]
)
def test_whatever_is_written_is_some_symbol_and_different_texts_stay_apart(written: str) -> None:
    known = normaliser()
    found = known.symbol(written, "a.py")
    assert found.kind == "unknown"
    assert found.identity != known.symbol(written + "x", "a.py").identity
