"""Tiers are never mixed, what is left out is counted, and the same snapshot gives the same answer."""

from __future__ import annotations

import random

from cairn.core import limits
from cairn.graph.references import Graph, SymbolUses
from cairn.graph.scopes import Tier
from tests.graph.trees import graph_of, place
from tests.support.faults import Faults

TREE = {
    "lib/__init__.py": "from .a import work as job\n",
    "lib/a.py": "class A:\n    def go(self):\n        return self.go()\ndef work():\n    return A().go()\n",
    "app.py": "from lib import job\nfrom lib.a import A\njob()\ndef f(x: A, y):\n    x.go()\n    y.go()\n",
    "web/x.ts": "import { y } from './y';\ny();\n",
    "web/y.ts": "export function y() {}\n",
}


def everything(graph: Graph) -> dict[str, SymbolUses]:
    return {
        f"{path}:{number}": graph.references(each, list_name_only=True)
        for path in sorted(TREE)
        for number, symbol in enumerate(graph.view.symbols(path))
        for each in graph.places(path, symbol.name, symbol.start_line)
    }


def test_the_order_in_which_files_came_in_changes_nothing() -> None:
    with graph_of(TREE) as graph:
        expected = everything(graph), graph.dependencies()
    for seed in range(4):
        paths = sorted(TREE)
        random.Random(seed).shuffle(paths)
        steps = [{path: TREE[path] for path in paths[:size]} for size in (1, 3)]
        old = {path: TREE[path] + "\n# old\n" for path in paths[2:]} if seed % 2 else {}
        with graph_of(*steps, {**steps[1], **old}, {path: TREE[path] for path in paths}) as graph:
            assert (everything(graph), graph.dependencies()) == expected


def test_a_use_has_one_tier_only_and_all_uses_are_accounted_for() -> None:
    with graph_of(TREE) as graph:
        found = graph.references(place(graph, "lib/a.py", "A.go"), list_name_only=True)
        counted = graph.references(place(graph, "lib/a.py", "A.go"))
        all_uses = len(list(graph.view.references_named("go")))
    tiers = [set(found.proven), set(found.likely), set(found.name_only)]
    assert sum(map(len, tiers)) == len(set.union(*tiers)) == all_uses - found.elsewhere_count
    assert (counted.name_only, counted.name_only_count) == ((), len(found.name_only))
    assert (counted.proven, counted.likely) == (found.proven, found.likely)


def test_a_use_says_what_it_is_in_and_where() -> None:
    with graph_of(TREE) as graph:
        found = graph.references(place(graph, "lib/a.py", "work"))
        (definition,) = found.definitions
    (site,) = found.proven
    assert (site.path, site.line, site.column, site.kind, site.name, site.inside) == ("app.py", 3, 0, "call", "job", "")
    assert (definition.path, definition.symbol.start_line) == ("lib/a.py", 4)
    assert [(each.path, each.line) for each in found.imports] == [("app.py", 1), ("lib/__init__.py", 1)]


def test_a_use_can_be_bound_on_its_own() -> None:
    with graph_of(TREE) as graph:
        tiers = [(use.line, use.name, graph.bind("app.py", use).tier) for use in graph.view.references("app.py")]
    assert tiers == [
        (3, "job", Tier.PROVEN),
        (4, "A", Tier.PROVEN),
        (5, "go", Tier.LIKELY),
        (6, "go", Tier.LIKELY),
    ]


def test_a_deleted_file_leaves_no_edge() -> None:
    less = {path: text for path, text in TREE.items() if path != "lib/a.py"}
    with graph_of(TREE, less) as graph:
        assert not graph.places("lib/a.py", "A")
        assert graph.dependencies() == {"app.py": ("lib/__init__.py",), "web/x.ts": ("web/y.ts",)}
        (use, *_) = graph.view.references("app.py")
        assert graph.bind("app.py", use).places == ()


def test_towers_and_rings_of_re_exports_and_bases_end() -> None:
    tree = {f"m{n}.py": f"from m{n + 1} import *\nfrom m{n + 1} import x{n}\n" for n in range(300)}
    tree["m300.py"] = "from m0 import *\ndef deep():\n    pass\n"
    tree["near.py"] = "from m290 import deep\ndeep()\n"
    tree["far.py"] = "from m0 import deep\ndeep()\n"
    tree["c.py"] = "".join(f"class C{n}(C{(n + 1) % 400}):\n    pass\n" for n in range(400))
    tree["c.py"] += "class D(C0):\n    def go(self):\n        self.deep()\n"
    with graph_of(tree) as graph:
        found = graph.references(place(graph, "m300.py", "deep"), list_name_only=True)
    assert [site.path for site in found.proven] == ["near.py"]
    assert {site.path for site in found.name_only} == {"far.py", "c.py"}


def test_hostile_nesting_and_thousands_of_wildcards_cost_little() -> None:
    nested = "".join(f"{' ' * n}def f{n}():\n" for n in range(90)) + " " * 90 + "target()\n"
    wild = "from nowhere import *\n" * 5_000 + "target()\n" * 2_000
    same = "from x import target\n" * 5_000 + "target()\n" * 2_000
    tree = {"n.py": nested, "w.py": wild, "s.py": same, "x.py": "def target():\n    pass\n"}
    with graph_of(tree) as graph:
        found = graph.references(place(graph, "x.py", "target"))
    assert {site.path for site in found.proven} == {"s.py"}
    assert (len(found.proven), len(found.imports), found.name_only_count) == (2_000, 5_000, 2_001)


def test_files_that_import_all_of_each_other_are_walked_through_once() -> None:
    # Two dozen such files took longer than anybody waits: each base was looked for in all that each of them imports.
    every = range(24)
    wildcards = "".join(f"import team.o{number}.Part{number}._\n" for number in every)
    tree = {
        f"o{number}/Part{number}.scala": f"package team.o{number}\n{wildcards}"
        f"object Part{number} extends Base{number} {{\n  def go{number}() = go{(number + 1) % 24}()\n}}\n"
        for number in every
    }
    with graph_of(tree) as graph:
        found = [graph.references(place(graph, f"o{n}/Part{n}.scala", f"team.o{n}.Part{n}.go{n}")) for n in every]
    assert [[site.path for site in each.proven] for each in found] == [
        [f"o{(number - 1) % 24}/Part{(number - 1) % 24}.scala"] for number in every
    ]


def test_of_too_many_uses_those_near_are_looked_at_and_the_rest_only_counted(faults: Faults) -> None:
    tree = {
        "a_far.py": "def f(x):\n    x.go()\n    x.go()\n",
        "lib.py": "class A:\n    def go(self):\n        return self.go()\n",
        "user.py": "from lib import A\nA().go()\n",
    }
    with graph_of(tree) as graph:
        wanted = place(graph, "lib.py", "A.go")
        whole = graph.references(wanted, list_name_only=True)
        made = graph.references(place(graph, "lib.py", "A"))
    assert whole.not_looked_at == 0
    faults.limit(limits, MAX_USES_LOOKED_AT=1)
    with graph_of(tree) as graph:
        found = graph.references(wanted, list_name_only=True)
        assert graph.references(place(graph, "lib.py", "A")) == made
    assert (found.proven, found.likely, found.name_only) == (whole.proven, (), ())
    all_of_it = len(whole.proven) + len(whole.likely) + whole.name_only_count
    assert (found.not_looked_at, found.name_only_count) == (all_of_it - 1, all_of_it - 1)
