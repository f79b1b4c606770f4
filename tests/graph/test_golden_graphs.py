"""The whole graph of a written codebase of each language, frozen: every use, and the calls around one definition.

The codebase of a language has shadowing, inheritance, dynamic dispatch, a cycle, generated code and a test file, and
what there is of re-exports, overloads and decorators. Whether the edges are right is for `test_labelled.py` to say.
`CAIRN_UPDATE_GOLDEN=1 pytest tests/graph/test_golden_graphs.py` writes tests/golden/graphs anew; read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.graph.calls import Direction, calls_around
from cairn.graph.facts import Place
from cairn.graph.references import Graph
from cairn.graph.scopes import Bound
from tests.conformance import conforms
from tests.graph.labels import WRITTEN, labelled
from tests.graph.trees import graph_of

GOLDEN = Path(__file__).parent.parent / "golden" / "graphs"
# In the middle of each codebase: what it calls and what calls it is more than one step long.
ROOTS = {
    "c": ("src/lamp.c", "lamp_on"),
    "cpp": ("src/owl.cpp", "bird.Owl.sing"),
    "csharp": ("src/Core/Waltz.cs", "Dance.Core.Waltz.Turn"),
    "go": ("cargo/check.go", "Box.check"),
    "java": ("src/main/java/mill/wheat/Wheat.java", "mill.wheat.Wheat.sack"),
    "kotlin": ("src/main/kotlin/kiln/fire/Oven.kt", "kiln.fire.Oven.put"),
    "php": ("src/Machine.php", "Press.Machine.make"),
    "python": ("src/shop/cart.py", "Cart.due"),
    "ruby": ("lib/garden/plant.rb", "Garden.Plant.grow"),
    "rust": ("src/creature/mod.rs", "wake"),
    "scala": ("src/main/scala/loom/weave/Loom.scala", "loom.weave.Loom.add"),
    "swift": ("Sources/Kite/Wing.swift", "Kite.climb"),
    "typescript": ("src/lib/store.ts", "Store.set"),
}


def drawn(graph: Graph, name: str) -> str:
    """The graph as text: every use of a name with what it means, then the calls around the root, if there is one."""
    calls = ["", *_calls(graph, graph.places(*ROOTS[name])[0])] if name in ROOTS else []
    return "\n".join([*_uses(graph), *calls]) + "\n"


def _uses(graph: Graph) -> Iterator[str]:
    for path in sorted(graph.view.records()):
        for use in graph.view.references(path):
            bound = graph.bind(path, use)
            whole = f"{use.receiver}.{use.name}" if use.receiver else use.name
            yield f"{path}:{use.line}:{use.column} {use.kind} {whole} -> {_meaning(graph, bound)}"


def _meaning(graph: Graph, bound: Bound) -> str:
    if not bound.places:
        return "elsewhere" if bound.elsewhere else "unknown"
    return f"{bound.tier} {', '.join(_shown(graph, each) for each in bound.places)}"


def _shown(graph: Graph, found: Place) -> str:
    if found.number < 0:
        return found.path
    facts = graph.names.facts(found.path)
    return f"{found.path}:{facts.symbols[found.number].start_line} {facts.qualified(found.number)}"


def _calls(graph: Graph, root: Place) -> Iterator[str]:
    found = calls_around(graph, root, direction=Direction.BOTH, depth=2, most_nodes=100, most_edges=100)
    yield f"two steps around {found.root}"
    for node in found.nodes:
        yield f"{node.distance} {node.id}"
    for edge in found.edges:
        line = f"{edge.site.path}:{edge.site.line}:{edge.site.column}"
        yield f"{edge.tier} {edge.kind} {edge.src} -> {edge.dst} at {line}{f' x{edge.count}' if edge.count > 1 else ''}"


@conforms("002.R3")
@pytest.mark.parametrize("name", WRITTEN)
def test_the_graph_of_a_written_codebase_is_the_one_that_was_read_and_frozen(name: str) -> None:
    with graph_of(labelled(name).tree) as graph:
        text = drawn(graph, name)
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("CAIRN_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


@pytest.mark.parametrize("name", WRITTEN)
def test_neither_the_order_nor_the_number_of_publishes_changes_a_byte(name: str) -> None:
    tree = labelled(name).tree
    backwards = dict(reversed(tree.items()))
    later = dict(list(backwards.items())[::2])
    with graph_of(later | {f"old/{path}": text for path, text in tree.items()}, later, backwards) as graph:
        assert drawn(graph, name) == (GOLDEN / f"{name}.txt").read_text("utf-8")
