"""Imports lead to files of the snapshot, out of it, or nowhere; the same whatever the order of the files."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from cairn.core.filetypes import language_of
from cairn.core.types import Import
from cairn.graph.modules import Modules
from cairn.syntax.resolver import EXTERNAL, UNRESOLVED, ImportTarget, Lead, SnapshotFiles


def modules_of(tree: Mapping[str, str]) -> Modules:
    languages = {path: language_of(path.rpartition("/")[2].encode()) for path in tree}
    return Modules(SnapshotFiles(languages, lambda path: tree[path].encode("utf-8", "surrogatepass")))


def lead(tree: Mapping[str, str], path: str, module: str, name: str = "") -> ImportTarget:
    return modules_of({**tree, path: ""}).resolve(path, Import(module, name, "", 0, 1))


def files(tree: Mapping[str, str], path: str, module: str, name: str = "") -> tuple[str, ...] | str:
    found = lead(tree, path, module, name)
    return found.module or found.files if found.lead is Lead.INSIDE else found.lead.value


PYTHON = dict.fromkeys(
    (
        "src/pkg/__init__.py",
        "src/pkg/a.py",
        "src/pkg/sub/__init__.py",
        "src/pkg/sub/b.py",
        "tests/helpers.py",
        "tests/redis/test_x.py",
        "tests/typing/test_y.py",
        "space/inner/c.py",
        "one/lib/twice/__init__.py",
        "two/lib/twice/__init__.py",
        "vendored/once/__init__.py",
        "stub.pyi",
    ),
    "",
)


@pytest.mark.parametrize(
    ("path", "module", "name", "expected"),
    [
        ("src/pkg/x.py", ".", "a", ("src/pkg/a.py",)),
        ("src/pkg/x.py", ".", "value", ("src/pkg/__init__.py",)),
        ("src/pkg/sub/x.py", "..", "a", ("src/pkg/a.py",)),
        ("src/pkg/sub/x.py", "..a", "value", ("src/pkg/a.py",)),
        ("src/pkg/sub/x.py", "...", "a", "unresolved"),
        ("src/pkg/sub/x.py", "........", "a", "unresolved"),
        ("src/pkg/x.py", "pkg.sub.b", "", ("src/pkg/sub/b.py",)),
        ("app.py", "pkg.sub", "b", ("src/pkg/sub/b.py",)),
        ("app.py", "pkg.sub", "*", ("src/pkg/sub/__init__.py",)),
        ("app.py", "pkg.gone", "", "unresolved"),
        ("tests/test_a.py", "helpers", "", ("tests/helpers.py",)),
        ("app.py", "helpers", "", "external"),
        ("tests/redis/test_z.py", "redis", "", "external"),
        ("tests/typing/test_z.py", "typing", "", "external"),
        ("app.py", "space.inner.c", "", ("space/inner/c.py",)),
        ("app.py", "space.inner", "c", ("space/inner/c.py",)),
        ("app.py", "twice", "", "unresolved"),
        ("one/lib/app.py", "twice", "", ("one/lib/twice/__init__.py",)),
        ("app.py", "once", "", ("vendored/once/__init__.py",)),
        ("app.py", "stub", "", ("stub.pyi",)),
        ("app.py", "numpy.linalg", "", "external"),
        ("app.py", "", "", "external"),
    ],
)
def test_python_modules(path: str, module: str, name: str, expected: object) -> None:
    assert files(PYTHON, path, module, name) == expected


SCRIPTS = {
    "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*", "./gen/*"], "~": ["./src"]}}}',
    "apps/web/tsconfig.json": '{"extends": "../../tsconfig", "compilerOptions": {"baseUrl": "."}}',
    "apps/web/util/x.ts": "",
    "broken/tsconfig.json": "{{{{",
    "round/tsconfig.json": '{"extends": "./tsconfig.json"}',
    "src/index.ts": "",
    "src/a.ts": "",
    "src/a/index.ts": "",
    "src/b/index.tsx": "",
    "src/c.d.ts": "",
    "src/style.css": "",
    "src/data.json": "{}",
    "gen/g.ts": "",
    "dup/one/package.json": '{"name": "dup"}',
    "dup/two/package.json": '{"name": "dup"}',
    "bad/package.json": '{"name": ["x"], "exports": 5}',
}


@pytest.mark.parametrize(
    ("path", "module", "expected"),
    [
        ("src/x.ts", "./a", ("src/a.ts",)),
        ("src/x.ts", "./a.js", ("src/a.ts",)),
        ("src/x.ts", "./a/", ("src/a.ts",)),
        ("src/x.ts", "./b", ("src/b/index.tsx",)),
        ("src/x.ts", "./c", ("src/c.d.ts",)),
        ("src/x.ts", "./style.css", ("src/style.css",)),
        ("src/x.ts", "./data.json", ("src/data.json",)),
        ("src/x.ts", ".", ("src/index.ts",)),
        ("src/a/x.ts", "..", ("src/index.ts",)),
        ("src/x.ts", "./gone", "unresolved"),
        ("src/x.ts", "../../../etc/passwd", "unresolved"),
        ("src/x.ts", "/etc/passwd", "unresolved"),
        ("src/x.ts", "#internal", "unresolved"),
        ("src/x.ts", "@/a", ("src/a.ts",)),
        ("src/x.ts", "@/g", ("gen/g.ts",)),
        ("src/x.ts", "@/../../../a", "unresolved"),
        ("src/x.ts", "~", ("src/index.ts",)),
        ("apps/web/x.ts", "@/a", ("src/a.ts",)),
        ("apps/web/x.ts", "util/x", ("apps/web/util/x.ts",)),
        ("broken/x.ts", "@/a", "external"),
        ("round/x.ts", "@/a", "external"),
        ("src/x.ts", "dup", "external"),
        ("src/x.ts", "node:fs", "external"),
        ("src/x.ts", "react", "external"),
        ("src/x.ts", "", "external"),
    ],
)
def test_typescript_modules(path: str, module: str, expected: object) -> None:
    assert files(SCRIPTS, path, module) == expected


def test_the_order_of_the_files_changes_nothing() -> None:
    tree = PYTHON | SCRIPTS | {"go.mod": "module m\n", "x/go.mod": "module m\n", "x/a.go": "package x\n"}
    asked = [("src/pkg/x.py", "pkg", "a"), ("app.py", "twice", ""), ("src/x.ts", "@/g", ""), ("a.go", "m/x", "")]
    paths = list(tree)
    answers = set()
    for seed in range(5):
        random.Random(seed).shuffle(paths)
        mixed = {path: tree[path] for path in paths}
        answers.add(tuple(lead(mixed, *each) for each in asked))
    assert len(answers) == 1


def test_hostile_paths_names_and_settings_cost_little_and_never_raise() -> None:
    deep = "/".join(["d"] * 1_500)
    tree = {
        f"{deep}/a.py": "",
        f"{deep}/a.ts": "",
        "tsconfig.json": '{"compilerOptions": {"paths": ' + "[" * 30_000 + "}}",
        "package.json": '{"a":' * 10_000,
        "go.mod": "module \x00\n" * 1_000,
        "Cargo.toml": "a = " + "[" * 50_000,
        "src/lib.rs": "",
        "a.go": "",
        "A.java": "package ;\n" * 1_000,
        "a.c": "",
    }
    modules = modules_of(tree)
    words = [
        "." * 100_000,
        "../" * 50_000,
        "a." * 50_000,
        "a." * 2_000,
        "../" * 1_300,
        "::" * 50_000,
        "super::" * 500,
        "\x00",
        "*",
        "\ud800",
        "@/",
        "",
    ]
    for path in tree:
        for word in words:
            for name in ("", "*", "x" * 10_000):
                assert modules.resolve(path, Import(word, name, "", 0, 1)).lead in tuple(Lead)


def test_a_hundred_thousand_imports_are_resolved_in_one_go() -> None:
    tree = (
        {f"p{n}/__init__.py": "" for n in range(2_000)}
        | {f"p{n}/x.h": "" for n in range(2_000)}
        | {"a.py": "", "a.c": ""}
    )
    modules = modules_of(tree)
    found = [modules.resolve("a.py", Import(f"p{n % 3_000}", "", "", 0, 1)) for n in range(90_000)]
    assert sum(each.lead is Lead.INSIDE for each in found) == 60_000
    assert {modules.resolve("a.c", Import("x.h", "", "", 0, n)) for n in range(10_000)} == {UNRESOLVED}


def test_a_language_without_rules_leads_nowhere() -> None:
    assert lead({}, "a.rb", "json") == UNRESOLVED
    assert lead({}, "a.go", "fmt") == EXTERNAL
