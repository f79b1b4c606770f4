"""The nearest places of a name are looked at first, no more of them than a page needs, and no page hides any."""

from __future__ import annotations

import pytest

from cairn.core import limits
from cairn.graph.facts import Place
from cairn.graph.references import Graph
from cairn.graph.scopes import Tier
from cairn.graph.uses import Uses, uses_of
from tests.graph.trees import graph_of, place
from tests.support.faults import Faults

FAR = 12
TREE = {
    "lib/store.py": "class Store:\n    def get(self):\n        return self.get()\n",
    "lib/beside.py": "def f(x):\n    x.get()\n",
    "near/user.py": "from lib.store import Store\n\ndef g(store: Store):\n    store.get()\n    hand(store.get)\n",
    "tests/test_store.py": "from lib.store import Store\n\ndef test_get():\n    Store().get()\n",
    **{f"far/f{n:02}.py": f"def h{n}(x):\n    x.get()\n    x.get()\n    # get it\n" for n in range(FAR)},
    **{f"far/w{n:02}.py": f"get = {n}\n" for n in range(3)},
}


def page(graph: Graph, where: Place, offset: int, limit: int, tier: Tier = Tier.NAME_ONLY) -> Uses:
    return uses_of(graph, where, min_tier=tier, offset=offset, limit=limit)


def spots(uses: Uses) -> list[tuple[str, int]]:
    return [(use.path, use.start_byte) for use in uses.uses]


def test_a_page_looks_at_the_files_near_the_definition_and_says_how_many_others_there_are(faults: Faults) -> None:
    faults.limit(limits, USES_LOOKED_AT=15)
    with graph_of(TREE) as graph:
        found = page(graph, place(graph, "lib/store.py", "Store.get"), 0, 5)
        whole = graph.references(place(graph, "lib/store.py", "Store.get"), list_name_only=True, everywhere=True)
    assert [(use.path, use.line, use.tier) for use in found.uses] == [
        ("lib/store.py", 3, "proven"),
        ("near/user.py", 4, "likely"),
        ("near/user.py", 5, "likely"),
        ("tests/test_store.py", 4, "likely"),
        ("lib/beside.py", 2, "name_only"),
    ]
    assert found.files_left >= FAR - 2
    assert 0 < found.not_looked_at <= 2 * FAR
    # What was not looked at counts, so nobody takes a page for all there is.
    looked_at = found.proven + found.likely + found.name_only + found.elsewhere
    assert looked_at == len(whole.proven) + len(whole.likely) + whole.name_only_count + whole.elsewhere_count


@pytest.mark.parametrize("cost", [1, 15, 10_000])
def test_all_pages_together_list_every_place_once_however_little_each_looks_at(faults: Faults, cost: int) -> None:
    faults.limit(limits, USES_LOOKED_AT=cost)
    with graph_of(TREE) as graph:
        where = place(graph, "lib/store.py", "Store.get")
        listed: list[tuple[str, int]] = []
        while fresh := spots(found := page(graph, where, len(listed), 4)):
            assert spots(page(graph, where, len(listed), 4)) == fresh
            listed += fresh
        whole = graph.references(where, list_name_only=True, everywhere=True)
    every = {(each.path, each.start_byte) for each in (*whole.proven, *whole.likely, *whole.name_only)}
    assert (len(listed), set(listed)) == (len(every), every)
    assert (found.total, found.files_left, found.not_looked_at) == (len(every), 0, 0)
    assert (found.proven, found.likely, found.name_only) == (len(whole.proven), len(whole.likely), len(whole.name_only))
    assert found.mentions == whole.mentions == FAR


def test_who_asks_for_sure_uses_only_gets_those_of_the_nearest_files_first(faults: Faults) -> None:
    faults.limit(limits, USES_LOOKED_AT=1)
    with graph_of(TREE) as graph:
        where = place(graph, "lib/store.py", "Store.get")
        sure = [use.path for use in page(graph, where, 0, 2, Tier.LIKELY).uses]
        every = page(graph, where, 0, 100, Tier.LIKELY)
    assert sure[0] == "lib/store.py"
    assert every.files_left


def test_callers_of_a_common_name_are_those_nearby_and_the_others_are_counted() -> None:
    with graph_of(TREE) as graph:
        where = place(graph, "lib/store.py", "Store.get")
        near, whole = graph.nearest(where, 16), graph.references(where)
    assert (near.proven, near.likely) == (whole.proven, whole.likely)
    assert near.files == {"lib/store.py", "lib/beside.py", "near/user.py", "tests/test_store.py"}
    assert near.not_looked_at == 2 * FAR
