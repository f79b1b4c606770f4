"""What was called proven, or something else, without a proof, in codebases that nobody had tuned for."""

from __future__ import annotations

from cairn.graph.calls import Direction, calls_around
from cairn.graph.scopes import Tier
from cairn.graph.uses import uses_of
from tests.graph.trees import graph_of

Row = tuple[str, int, str, str]


def rows(tree: dict[str, str], path: str, name: str, *, roles: tuple[str, ...] = ()) -> tuple[list[Row], int]:
    """The uses as file, line, role and tier, and how many places mean something else."""
    with graph_of(tree) as graph:
        [place, *_] = graph.places(path, name)
        found = uses_of(graph, place, min_tier=Tier.NAME_ONLY, offset=0, limit=99, roles=roles)
    return [(use.path, use.line, use.kind, use.tier) for use in found.uses], found.elsewhere


OVERRIDDEN = {
    "a.py": """\
class Base:
    def run(self):
        self.step()
    def step(self): ...
class Sub(Base):
    def step(self):
        super().step()
    def go(self):
        self.step()
"""
}


def test_a_call_in_a_base_may_run_the_override_and_a_call_of_super_never_does() -> None:
    assert rows(OVERRIDDEN, "a.py", "Sub.step") == (
        [("a.py", 9, "call", "proven"), ("a.py", 3, "call", "name_only")],
        1,
    )


def test_an_impl_block_in_a_module_is_not_the_type_that_the_module_imports() -> None:
    tree = {
        "src/lib.rs": "mod text;\nmod impls;\n",
        "src/text.rs": "pub struct BStr;\n",
        "src/impls.rs": """\
mod inner {
    use crate::text::BStr;
    impl Clone for BStr {
        fn clone(&self) -> BStr { BStr }
    }
    fn take(one: BStr) {}
}
""",
    }
    found, elsewhere = rows(tree, "src/text.rs", "BStr")
    assert ("src/impls.rs", 6, "type", "proven") in found
    assert elsewhere == 0


def test_a_type_inside_an_impl_block_is_named_behind_self_only() -> None:
    tree = {
        "src/lib.rs": """\
pub struct Item;
pub struct Many;
impl Iterator for Many {
    type Item = u8;
    fn next(&mut self) -> Option<Self::Item> { take::<Item>() }
}
"""
    }
    found, _ = rows(tree, "src/lib.rs", "Item")
    assert [row[3] for row in found if row[1] == 5][:1] == ["proven"]


LITERAL = """\
package m

type skipped struct{ a int }

func take(all []skipped) int {
	all[0] = skipped{
		a: 1,
	}
	for {
		skipped := all[1]
		if skipped.a > 0 {
			return skipped.a
		}
	}
}
"""


def test_a_literal_of_go_names_a_type_though_a_variable_has_its_name() -> None:
    tree = {"go.mod": "module m\n", "a.go": LITERAL}
    found, _ = rows(tree, "a.go", "skipped")
    assert ("a.go", 6, "call", "proven") in found
    assert not [row for row in found if row[1] >= 10 and row[3] == "proven"]
    with graph_of(tree) as graph:
        [place] = graph.places("a.go", "take")
        notes = calls_around(graph, place, direction=Direction.CALLEES, most_nodes=9, most_edges=9).notes
    assert not [note for note in notes if note.text == "skipped"]


def test_decorators_are_asked_for_by_that_name() -> None:
    tree = {"a.py": "def cached(f): ...\n\n@cached\ndef go(): ...\n\ncached(go)\n"}
    assert rows(tree, "a.py", "cached", roles=("decorator",)) == ([("a.py", 3, "annotation", "proven")], 0)
