"""Who imports a definition, under which names, and which files lead to which."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.graph.facts import Place
from cairn.graph.references import Graph
from tests.graph.trees import graph_of, place


def importers(graph: Graph, path: str, name: str) -> tuple[list[tuple[str, int]], set[tuple[str, str]]]:
    """The places of the imports of a definition, and the other names that they give it."""
    sites, aliases = graph.importers.of(graph.places(path, name)[0])
    return [(site.path, site.line) for site in sites], aliases


def dependencies(tree: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    with graph_of(tree) as graph:
        return graph.importers.dependencies()


def test_imports_are_found_through_every_name_that_files_hand_it_on_by() -> None:
    tree = {
        "a.ts": "function real() {}\nexport { real as first };\n",
        "b.ts": "export { first as second } from './a';\n",
        "c.ts": "import { second as third } from './b';\nexport { third as fourth };\nexport default third;\n",
        "d.ts": "import fifth, { fourth } from './c';\n",
        "e.ts": "import { first } from './x';\nimport { second } from 'elsewhere';\n",
        "x.ts": "export function first() {}\n",
    }
    with graph_of(tree) as graph:
        sites, aliases = importers(graph, "a.ts", "real")
    assert sites == [("b.ts", 1), ("c.ts", 1), ("d.ts", 1), ("d.ts", 1)]
    assert aliases == {("b.ts", "second"), ("c.ts", "third"), ("d.ts", "fourth"), ("d.ts", "fifth")}


def test_sites_are_in_order_of_path_and_place() -> None:
    tree = {f"{path}.py": "def f():\n    from t import x\nfrom t import x\n" for path in "cab"}
    with graph_of({**tree, "t.py": "def x(): pass\n"}) as graph:
        sites, aliases = importers(graph, "t.py", "x")
    assert sites == [(path, line) for path in ("a.py", "b.py", "c.py") for line in (2, 3)]
    assert aliases == set()
    late = {"z.py": "from t import x as y\n", "k.py": "from z import y as w\n", "a.py": "from k import w\n"}
    with graph_of({**late, "t.py": "def x(): pass\n"}) as graph:
        assert importers(graph, "t.py", "x")[0] == [("a.py", 1), ("k.py", 1), ("z.py", 1)]


def test_a_ring_of_files_that_rename_what_they_hand_on_ends() -> None:
    tree = {f"m{n}.py": f"from m{(n + 1) % 4} import x{(n + 1) % 4} as x{n}\n" for n in range(4)}
    tree["m2.py"] = "def x2(): pass\n" + tree["m2.py"]
    with graph_of(tree) as graph:
        sites, aliases = importers(graph, "m2.py", "x2")
    assert ("m1.py", 1) in sites
    assert {name for _, name in aliases} <= {"x0", "x1", "x2", "x3"}


def test_nobody_imports_what_is_only_named_alike() -> None:
    tree = {"a.py": "def x(): pass\n", "b.py": "def x(): pass\n", "c.py": "from a import x\nfrom gone import x\n"}
    with graph_of(tree) as graph:
        assert importers(graph, "a.py", "x") == ([("c.py", 1)], set())
        assert importers(graph, "b.py", "x") == ([], set())


def test_in_how_many_files_a_name_is_imported_is_counted_once_for_each() -> None:
    tree = {
        "a.py": "from t import x, y\nfrom u import x\nfrom t import *\nimport t\n",
        "b.py": "from t import x as z\n",
        "c.rb": "require 'x'\n",
    }
    with graph_of(tree) as graph:
        assert dict(graph.importers.files_naming()) == {"x": 2, "y": 1}


def test_a_file_depends_on_what_its_imports_lead_to_and_never_on_itself() -> None:
    tree = {
        "a.py": "import a\nimport c\nimport b\nimport numpy\nfrom . import gone\n",
        "b.py": "import b\n",
        "c.py": "",
    }
    assert dependencies(tree) == {"a.py": ("b.py", "c.py")}


def test_a_module_of_a_package_is_what_is_needed_unless_the_package_defines_that_name() -> None:
    tree = {
        "p/__init__.py": "def both(): pass\n",
        "p/both.py": "",
        "p/only.py": "",
        "a.py": "from p import only\n",
        "b.py": "from p import both\n",
        "c.py": "from p import gone\n",
    }
    assert dependencies(tree) == {"a.py": ("p/only.py",), "b.py": ("p/__init__.py",), "c.py": ("p/__init__.py",)}


def test_of_a_package_of_many_files_only_those_that_define_the_name_are_needed() -> None:
    tree = {
        "One.kt": "package p\nfun one() {}\n",
        "Two.kt": "package p\nfun two() {}\n",
        "Use.kt": "package q\nimport p.two\n",
        "All.kt": "package q\nimport p.*\n",
        "Lost.kt": "package q\nimport p.three\n",
    }
    assert dependencies(tree) == {"All.kt": ("One.kt", "Two.kt"), "Use.kt": ("Two.kt",)}


def test_a_language_whose_imports_are_not_resolved_depends_on_nothing() -> None:
    assert dependencies({"a.rb": "require_relative 'b'\n", "b.rb": "class B\nend\n"}) == {}


def test_no_file_and_no_import_is_no_dependency() -> None:
    assert dependencies({"a.py": ""}) == {}
    assert dependencies({"a.md": "# import b\n"}) == {}


def test_two_places_are_one_definition_only_if_one_file_reaches_the_other() -> None:
    tree = {
        "one/a.h": "int f(int x);\n",
        "one/a.c": '#include "a.h"\nint f(int x) { return x; }\nint g(void) { return 1; }\n',
        "two/a.c": "int f(int x) { return 2; }\n",
        "a.ts": "function h(a: string): void;\nfunction h(a: any) {}\n",
    }
    with graph_of(tree) as graph:
        same = graph.importers.same
        header, source, other = (place(graph, path, "f") for path in ("one/a.h", "one/a.c", "two/a.c"))
        assert (same(header, source), same(source, header), same(source, source)) == (True, True, True)
        assert (same(header, other), same(other, source), same(source, place(graph, "one/a.c", "g"))) == (False,) * 3
        assert same(*graph.places("a.ts", "h"))
        assert same(Place("a.ts", -1), Place("a.ts", -1))
        assert not same(Place("a.ts", -1), Place("one/a.h", -1))
