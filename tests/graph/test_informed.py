"""A graph that knows what an indexer does: exactly what it says where files are clean, and the syntax elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from cairn.core.limits import MAX_REFERENCES
from cairn.graph.calls import Edge, calls_around
from cairn.graph.facts import Place
from cairn.graph.informed import InformedGraph, PinnedView
from cairn.graph.references import Graph
from cairn.graph.scopes import SEMANTIC, SYNTACTIC, Tier
from cairn.graph.uses import Use, uses_of
from cairn.semantic.database import SemanticDatabase, register
from cairn.semantic.facts import SemanticFacts
from cairn.semantic.importing import ImportRequest, Indexed, SeenFile, import_index
from cairn.semantic.model import FULL, Context, Family
from tests.graph.trees import graph_of
from tests.semantic.indices import document, index, occurrence
from tests.semantic.small_indexer import Memory, Spot, refresh, spots
from tests.semantic.test_facts import random_edit, random_file
from tests.semantic.worlds import TREE

PYTHON = {path: text for path, text in TREE.items() if path.endswith(".py")}


@pytest.fixture
def database(tmp_path: Path) -> SemanticDatabase:
    return SemanticDatabase(str(tmp_path / "home"), str(tmp_path / "root"))


def memory(tree: Mapping[str, str]) -> Memory:
    return Memory({path: text.encode() for path, text in tree.items()})


@contextmanager
def informed(database: SemanticDatabase, *trees: Mapping[str, str]) -> Iterator[InformedGraph]:
    """The graph of the last tree, with what the database says of it."""
    with graph_of(*trees) as graph, database.reading() as db:
        assert db is not None
        yield InformedGraph(graph, SemanticFacts(db, PinnedView(graph.view)))


def uses(graph: Graph, path: str, name: str, tier: Tier = Tier.LIKELY) -> tuple[Use, ...]:
    (place, *_) = graph.places(path, name)
    return uses_of(graph, place, min_tier=tier, offset=0, limit=MAX_REFERENCES).uses


def shown(found: tuple[Use, ...]) -> list[tuple[str, int, int, str, str]]:
    return [(one.path, one.line, one.column, one.kind, one.layer) for one in found]


def test_uses_in_clean_files_are_those_of_the_indexer(database: SemanticDatabase) -> None:
    refresh(database, memory(PYTHON))
    with informed(database, PYTHON) as graph:
        assert shown(uses(graph, "lib.py", "greet")) == [
            ("app.py", 5, 5, "call", SEMANTIC),
            ("hand.py", 5, 1, "call", SEMANTIC),
            ("app.py", 5, 21, "value", SEMANTIC),
            ("app.py", 1, 17, "import", SEMANTIC),
            ("hand.py", 2, 5, "import", SEMANTIC),
        ]


def test_mixed_answers_say_which_is_which(database: SemanticDatabase) -> None:
    refresh(database, memory(PYTHON))
    edited = PYTHON | {"app.py": PYTHON["app.py"].replace("def main", "more = 1\ndef main")}
    with informed(database, PYTHON, edited) as graph:
        found = {(one.path, one.kind, one.layer) for one in uses(graph, "lib.py", "greet")}
    assert {layer for path, _, layer in found if path == "app.py"} == {SYNTACTIC}
    assert {layer for path, _, layer in found if path == "hand.py"} == {SEMANTIC}
    # Of an edited file the indexer tells nothing: what is passed on there is known by its syntax.
    assert ("app.py", "value", SYNTACTIC) in found


def test_a_definition_that_has_changed_is_known_by_its_syntax_alone(database: SemanticDatabase) -> None:
    refresh(database, memory(PYTHON))
    edited = PYTHON | {"lib.py": "more = 1\n" + PYTHON["lib.py"]}
    with graph_of(PYTHON, edited) as plain, informed(database, PYTHON, edited) as graph:
        assert shown(uses(graph, "lib.py", "greet")) == shown(uses(plain, "lib.py", "greet"))
        assert not graph.knows("lib.py", len("more = 1\n"), "greet")


def test_calls_that_only_an_indexer_can_tell_are_edges_and_say_so(database: SemanticDatabase) -> None:
    tree = {
        "one.py": "class A:\n    def go(self):\n        self.go()\n\n\nclass B:\n    def go(self): ...\n",
        "two.py": "from one import A\n\n\ndef run():\n    A()\n",
    }
    refresh(database, memory(tree))
    with informed(database, tree) as graph:
        edges = edges_of(graph, "one.py", "A")
        assert {(one.src, one.layer, one.tier) for one in edges} >= {("two.py#run", SEMANTIC, Tier.PROVEN)}
    edited = tree | {"two.py": tree["two.py"] + "more = 1\n"}
    with informed(database, tree, edited) as graph:
        assert {one.layer for one in edges_of(graph, "one.py", "A") if one.src == "two.py#run"} == {SYNTACTIC}


def edges_of(graph: Graph, path: str, name: str) -> tuple[Edge, ...]:
    (place, *_) = graph.places(path, name)
    return calls_around(graph, place, most_nodes=50, most_edges=200).edges


def test_a_place_at_which_the_indexer_names_nothing_is_left_to_the_syntax(database: SemanticDatabase) -> None:
    tree = {
        "one.py": "class A:\n    def only(self): ...\n",
        "two.py": "def run(value):\n    value.only()\n",
    }
    refresh(database, memory(tree))
    with informed(database, tree) as graph:
        assert [(one.tier, one.layer) for one in uses(graph, "one.py", "A.only")] == [("likely", SYNTACTIC)]


def test_definitions_that_the_indexer_knows_are_told(database: SemanticDatabase) -> None:
    refresh(database, memory(PYTHON))
    with informed(database, PYTHON) as graph:
        symbols = graph.names.facts("lib.py").symbols
        assert [graph.knows("lib.py", each.start_byte, each.name) for each in symbols] == [True] * len(symbols)
        assert not graph.knows("notes.py", 0, "value")


def test_what_makes_a_class_is_a_use_of_the_class_where_its_name_stands(database: SemanticDatabase) -> None:
    """`new Foo()` of TypeScript, whose indexer names the constructor there."""
    tree = {
        "one.ts": "export class Foo {\n  constructor(a: number) {}\n}\n",
        "two.ts": "import { Foo } from './one';\nnew Foo(1);\n",
    }
    name = "scip-typescript npm demo 1.0 `one.ts`/Foo#"
    made = f"{name}`<constructor>`()."
    data = index(
        document("one.ts", [occurrence([0, 13, 16], name, 1), occurrence([1, 2, 13], made, 1)], encoding=1),
        document("two.ts", [occurrence([0, 9, 12], name), occurrence([1, 4, 7], made)], encoding=1),
    )
    context = Context("typescript:.", Family.TYPESCRIPT, "", "demo", "package.json", "x")
    with graph_of(tree) as graph, database.writing() as db:
        register(db, [context])
        files = {path: graph.view.file(path) for path in tree}
        seen = {path: SeenFile(file.stat, file.file_hash) for path, file in files.items() if file}
        import_index(
            db, Indexed(data, "test", "1"), ImportRequest(context, "/project", graph.view, seen, seen, 1.0, FULL)
        )
        known = InformedGraph(graph, SemanticFacts(db, PinnedView(graph.view)))
        assert [(one.path, one.line, one.layer) for one in uses(known, "one.ts", "Foo")] == [
            ("two.ts", 2, SEMANTIC),
            ("two.ts", 1, SEMANTIC),
        ]


# --- precision --------------------------------------------------------------------------------------------------------


def precise(database: SemanticDatabase, seed: int, rounds: int) -> int:
    """Every semantic use is one of the indexer's own, after any edit; on clean files every one of its is there."""
    draw = random.Random(seed)
    seen = 0
    for _ in range(rounds):
        files = {f"{name}.py": random_file(draw) for name in ("one", "two", "three", "four")}
        refresh(database, Memory(files))
        before = {path: data.decode() for path, data in files.items()}
        for _ in range(draw.randrange(3)):
            random_edit(draw, files)
        after = {path: data.decode() for path, data in files.items()}
        truth = spots(files)
        with informed(database, before, after) as graph:
            for path in files:
                for number, symbol in enumerate(graph.names.facts(path).symbols):
                    seen += _precise(graph, Place(path, number), truth, all_clean=before == after)
                    assert symbol.name
    return seen


def _precise(graph: InformedGraph, place: Place, truth: Mapping[str, set[Spot]], *, all_clean: bool) -> int:
    facts = graph.names.facts(place.path)
    lines = [
        graph.spot(place.path, facts.symbols[n].name_byte) for n in facts.written_as[facts.qualified(place.number)]
    ]
    wanted = {spot.symbol for spot in truth[place.path] if spot.is_definition and (spot.line, spot.column) in lines}
    own = {
        (spot.path, spot.line, spot.column)
        for found in truth.values()
        for spot in found
        if spot.symbol in wanted and not spot.is_definition
    }
    listed = uses_of(graph, place, min_tier=Tier.LIKELY, offset=0, limit=MAX_REFERENCES).uses
    semantic = {(one.path, *graph.spot(one.path, one.start_byte)) for one in listed if one.layer == SEMANTIC}
    assert semantic <= own
    if all_clean:
        # Of imports that stand in for each other an indexer follows one, which proves nothing of the others.
        name = facts.symbols[place.number].name
        assert semantic == {one for one in own if not graph.in_turn(one[0], name)}
    plain = Graph.references(graph, place)
    assert len(listed) >= len(plain.proven)
    return len(semantic)


def test_semantic_uses_are_exactly_those_of_the_indexer(database: SemanticDatabase) -> None:
    assert precise(database, 3, 25) > 30


@pytest.mark.long
def test_semantic_uses_are_exactly_those_of_the_indexer_over_many_codebases(database: SemanticDatabase) -> None:
    assert precise(database, 4, 200) > 250


def test_a_body_is_told_apart_only_where_heads_say_all() -> None:
    tree = {
        "a.go": "package a\n\nfunc A() int {\n\treturn 1\n}\n",
        "a.py": "def a():\n    return 1\n",
        "a.ts": "export function a() {\n  return 1;\n}\n",
    }
    with graph_of(tree) as graph:
        shapes = {path: PinnedView(graph.view).shape(path) for path in tree}
    assert {path: shape and [body.lines for body in shape.bodies] for path, shape in shapes.items()} == {
        "a.go": [(4,)],
        "a.py": [],
        "a.ts": [],
    }
