"""Cycles of imports: which files they lead through, each told once, whatever the order of the files."""

from __future__ import annotations

import random
from collections.abc import Mapping

from cairn.graph.cycles import import_cycles
from tests.graph.trees import graph_of


def cycles(tree: Mapping[str, str], *within: str) -> list[tuple[list[str], int]]:
    """The files of each cycle, and the size of its knot."""
    with graph_of(tree) as graph:
        found = import_cycles(graph, set(within) or set(tree))
    return [([f"{step.path}:{step.line}" for step in one.steps], one.knot) for one in found]


def test_each_cycle_is_told_once_from_its_first_file_and_the_shortest_first() -> None:
    tree = {
        "a.py": "x = 1\nfrom b import y\n",
        "b.py": "from c import z\nfrom e import w\ny = 1\n",
        "c.py": "from a import x\nz = 1\n",
        "e.py": "from b import y\nw = 1\n",
        "f.py": "from a import x\n",
        "g.py": "from g import g\n",
    }
    knot = [(["b.py:2", "e.py:1"], 4), (["a.py:2", "b.py:1", "c.py:1"], 4)]
    assert cycles(tree) == knot
    assert cycles(dict(reversed(tree.items()))) == knot
    assert cycles(tree, "a.py", "b.py", "c.py") == [(["a.py:2", "b.py:1", "c.py:1"], 3)]
    assert cycles(tree, "a.py", "b.py", "f.py") == []


def test_an_import_inside_a_function_says_so() -> None:
    tree = {"a.py": "from b import y\n", "b.py": "class B:\n    def late(self):\n        from a import b\ny = 1\n"}
    with graph_of(tree) as graph:
        ((one, other),) = (cycle.steps for cycle in import_cycles(graph, {"a.py", "b.py"}))
    assert (one.inside, other.inside, other.text.strip()) == ("", "B.late", "from a import b")


def test_no_cycle_is_missed_and_none_is_made_up() -> None:
    """Random imports: a file is in a cycle exactly if it reaches itself."""
    chance = random.Random(18)
    for _ in range(30):
        files = [f"m{number}" for number in range(12)]
        leads = {name: chance.sample(files, chance.randint(0, 2)) for name in files}
        reach = {name: set(leads[name]) - {name} for name in files}
        for _ in files:
            for name in files:
                for other in list(reach[name]):
                    reach[name] |= set(leads[other]) - {other}
        tree = {f"{name}.py": "".join(f"from {one} import x\n" for one in leads[name]) for name in files}
        found = cycles(tree)
        told = {step.partition(".")[0] for steps, _ in found for step in steps}
        assert told == {name for name in files if name in reach[name]}
        for steps, _ in found:
            names = [step.partition(".")[0] for step in steps]
            assert all(following in leads[name] for name, following in zip(names, names[1:] + names[:1], strict=True))


def test_a_long_chain_of_files_is_no_matter_of_depth() -> None:
    size = 2_000
    tree = {f"m{number}.py": f"from m{(number + 1) % size} import x\n" for number in range(size)}
    with graph_of(tree) as graph:
        (cycle,) = import_cycles(graph, set(tree))
    assert len(cycle.steps) == cycle.knot == size
