"""What maps are drawn from: what files, folders and definitions are worth."""

from __future__ import annotations

import pytest

from cairn.graph.atlas import Atlas, Folder, Worth
from cairn.graph.references import Graph
from tests.graph.code import code_view
from tests.graph.maps import atlas_of

TREE = {
    "src/app/core.py": "def start(): ...\n\n\ndef stop(): ...\n\n\ndef _own(): ...\n",
    "src/app/web.py": "from app.core import start\n\n\ndef serve():\n    start()\n",
    "src/app/__init__.py": "from app.core import start, stop\n",
    "tests/helper.py": "def make(): ...\n",
    "tests/test_a.py": "from app.core import start\nfrom helper import make\n\n\ndef test_a():\n    start(make())\n",
    "tests/test_b.py": "from helper import make\n\n\ndef test_b():\n    make()\n",
    "docs/guide.md": "# Guide\n\n## Start\n",
}


def files(atlas: Atlas, worth: Worth | None = None) -> list[str]:
    return atlas.files(worth or atlas.usual, atlas.languages)


def names(atlas: Atlas, path: str, worth: Worth | None = None) -> list[str]:
    return [one.qualified for one in atlas.definitions(path, worth or atlas.usual).definitions]


def test_code_that_others_use_comes_before_tests_and_documents() -> None:
    with atlas_of(TREE) as atlas:
        order = files(atlas)
        assert order[0] == "src/app/core.py"
        assert sum(atlas.usual.of_files.values()) == pytest.approx(1)
        assert order.index("src/app/web.py") < order.index("tests/helper.py") < order.index("docs/guide.md")


def test_seen_from_a_test_what_it_uses_comes_first() -> None:
    with atlas_of(TREE) as atlas:
        order = files(atlas, atlas.near({"tests/test_b.py": 1.0}, ()))
        assert order[:2] == ["tests/test_b.py", "tests/helper.py"]


def test_a_name_that_everything_calls_does_not_make_its_file_weighty() -> None:
    callers = {f"c{n}.py": "class A(B):\n    def f(self):\n        super().g()\n" for n in range(60)}
    users = {f"u{n}.py": "from core import work\n\n\nwork()\n" for n in range(10)}
    tree = callers | users | {"core.py": "def work(): ...\n", "tags.py": "class T:\n    def super(self): ...\n"}
    with atlas_of(tree) as atlas:
        assert files(atlas)[0] == "core.py"


def test_the_most_used_definitions_of_a_file_come_first_and_only_what_others_can_use() -> None:
    with atlas_of(TREE) as atlas:
        assert names(atlas, "src/app/core.py") == ["start", "stop"]
        asked = atlas.near({"src/app/core.py": 1.0}, [("src/app/core.py", "stop"), ("tests/helper.py", "start")])
        assert names(atlas, "src/app/core.py", asked) == ["stop", "start"]


def test_a_method_comes_after_its_class_and_nothing_from_inside_a_function() -> None:
    code = "class Lone: ...\n\n\nclass A:\n    def used(self):\n        def inner(): ...\n\n    def rare(self): ...\n"
    with atlas_of({"a.py": code, "b.py": "def f(a):\n    a.used()\n", "c.py": "def g(a):\n    a.used()\n"}) as atlas:
        assert names(atlas, "a.py") == ["A", "A.used", "Lone", "A.rare"]
        assert [one.depth for one in atlas.definitions("a.py", atlas.usual).definitions] == [0, 1, 0, 1]


def test_a_value_counts_by_who_imports_it_and_not_by_its_name() -> None:
    code = "T = 1\nsettings = 2\n\n\ndef work(): ...\n"
    users = {f"u{n}.py": "from a import settings\n\n\ndef f(x: T): ...\n" for n in range(3)}
    with atlas_of({"a.py": code} | users) as atlas:
        assert names(atlas, "a.py") == ["settings", "T", "work"]


def test_blocks_of_a_type_are_named_with_what_is_in_them() -> None:
    code = (
        "pub struct A;\n\nimpl Iterator for A {\n    type Item = u8;\n}\n\nimpl A {\n    pub fn make() -> A { A }\n}\n"
    )
    with atlas_of({"src/lib.rs": code}) as atlas:
        found = atlas.definitions("src/lib.rs", atlas.usual).definitions
        assert [(one.kind, one.depth) for one in found] == [("struct", 0), ("impl", 0), ("method", 1)]


def test_of_a_file_that_offers_nothing_what_stands_at_its_top_is_shown() -> None:
    with atlas_of({"script.py": "def _run():\n    def deep(): ...\n"}) as atlas:
        assert names(atlas, "script.py") == ["_run"]


def test_packages_and_namespaces_around_everything_are_not_named() -> None:
    with atlas_of({"A.java": "package com.x;\n\npublic class A {\n  public void go() {}\n}\n"}) as atlas:
        found = atlas.definitions("A.java", atlas.usual)
        assert ([(one.name, one.depth) for one in found.definitions], found.total) == ([("A", 0), ("go", 1)], 2)


def test_of_a_file_with_thousands_of_definitions_all_are_counted() -> None:
    with atlas_of({"a.py": "".join(f"def f{n}(): ...\n" for n in range(1_500))}) as atlas:
        found = atlas.definitions("a.py", atlas.usual)
        assert (len(found.definitions), found.total) == (1_000, 1_500)


# --- folders and ways in ----------------------------------------------------------------------------------------------


def test_a_folder_that_only_holds_another_is_shown_as_one_with_it() -> None:
    with atlas_of(dict.fromkeys(["a/b/c/x.py", "a/b/c/d/y.py", "e/z.py", "top.py"], "x = 1\n")) as atlas:
        found = atlas.folders(atlas.usual, atlas.languages)
        assert sorted(found) == [
            Folder("a/b/c", "a/b/c", 0, 2),
            Folder("a/b/c/d", "d", 1, 1),
            Folder("e", "e", 0, 1),
        ]
        assert found.index(Folder("a/b/c", "a/b/c", 0, 2)) < found.index(Folder("a/b/c/d", "d", 1, 1))


def test_only_the_files_that_a_glob_takes_in_are_counted() -> None:
    with atlas_of(TREE) as atlas:
        found = list(atlas.within(("*.md", "/tests/test_*.py")))
        assert found == ["docs/guide.md", "tests/test_a.py", "tests/test_b.py"]
        assert atlas.folders(atlas.usual, atlas.within(("tests",))) == [Folder("tests", "tests", 0, 3)]


def test_programs_of_tests_and_examples_come_after_those_of_the_project() -> None:
    main = "if __name__ == '__main__':\n    pass\n"
    tree = {"tests/__main__.py": main, "examples/run.py": main, "tool.py": main, "app/__main__.py": main}
    with atlas_of(tree) as atlas:
        found = [one.path for one in atlas.ways_in(atlas.usual, atlas.languages)]
        assert found == ["app/__main__.py", "tool.py", "tests/__main__.py", "examples/run.py"]
        assert atlas.ways_in(atlas.usual, {"tool.py"})[0].path == "tool.py"


def test_a_second_call_reads_nothing_again() -> None:
    with atlas_of(TREE) as atlas:
        before = atlas.centrality
        assert atlas.prepare(None, None) is atlas  # type: ignore[arg-type]
        assert atlas.centrality is before


def test_importing_files_are_counted_once_for_each_name() -> None:
    tree = {
        "a.py": "def f(): ...\n",
        "b.py": "from a import f\nfrom a import f\n",
        "c.py": "from a import *\nimport a\n",
    }
    with code_view(tree) as view:
        assert Graph(view).importers.files_naming() == {"f": 1}
