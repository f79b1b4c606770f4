"""Which classes derive from one and which methods override one, in several languages."""

from __future__ import annotations

import pytest

from cairn.graph.heirs import Heirs
from tests.graph.trees import graph_of, place

PYTHON = {
    "base.py": "class Base:\n    def run(self): ...\n    def stop(self): ...\n",
    "mid.py": "from base import Base as Root\n\n\nclass Mid(Root):\n    def run(self): ...\n",
    "low.py": "import mid\n\n\nclass Low(mid.Mid):\n    def run(self): ...\n    def walk(self): ...\n",
    "twin.py": "class Base: ...\n\n\nclass Other(Base):\n    def run(self): ...\n",
}
JAVA = {
    "p/Shape.java": "package p;\npublic interface Shape { int area(); }\n",
    "p/Square.java": "package p;\nclass Square implements Shape {\n  public int area() { return 1; }\n}\n",
}
RUST = {
    "Cargo.toml": "[package]\nname = 'x'\n",
    "src/lib.rs": """\
pub trait Shape { fn area(&self) -> u32; }
pub struct Square;
impl Square { fn area(&self) -> u32 { 0 } }
impl Shape for Square {
    fn area(&self) -> u32 { 1 }
}
""",
}
GO = {
    "go.mod": "module x\n",
    "a/a.go": "package a\n\ntype Shape interface {\n\tArea() int\n\tName() string\n}\n",
    "b/b.go": """\
package b

type Square struct{}

func (s *Square) Area() int { return 1 }
func (s *Square) Name() string { return "" }

type Half struct{}

func (h Half) Area() int { return 0 }
""",
}
CASES = [
    (PYTHON, "base.py", "Base", [("mid.py", 4, "implementation", "proven"), ("low.py", 4, "implementation", "proven")]),
    (PYTHON, "base.py", "Base.run", [("mid.py", 5, "override", "proven"), ("low.py", 5, "override", "proven")]),
    (PYTHON, "base.py", "Base.stop", []),
    (JAVA, "p/Shape.java", "Shape", [("p/Square.java", 2, "implementation", "proven")]),
    (JAVA, "p/Shape.java", "area", [("p/Square.java", 3, "override", "proven")]),
    (RUST, "src/lib.rs", "Shape.area", [("src/lib.rs", 5, "override", "proven")]),
    (GO, "a/a.go", "Shape", [("b/b.go", 3, "implementation", "likely")]),
    (GO, "a/a.go", "Shape.Area", [("b/b.go", 5, "override", "likely")]),
]


@pytest.mark.parametrize(("tree", "path", "name", "wanted"), CASES)
def test_what_derives_from_a_definition_is_found_the_nearest_first(
    tree: dict[str, str], path: str, name: str, wanted: list[tuple[str, int, str, str]]
) -> None:
    with graph_of(tree) as graph:
        found = Heirs(graph).of(place(graph, path, name))
    assert [(each.site.path, each.site.line, each.site.kind, each.tier.value) for each in found] == wanted
