"""Every word that is code to Pygments and has the name of a definition is a place that `cairn refs` looks at."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.occurrences import Recall, recall

from cairn.graph.references import Graph
from tests.graph.traps import LANGUAGES, traps
from tests.graph.trees import graph_of

HERE = Path(__file__).parent.parent.parent
EVERY = 1_000_000
"""More names than there are."""
LEXED_OTHERWISE = frozenset({"a nested comment"})
"""In Kotlin a comment may hold comments, which Pygments does not know."""


def told(graph: Graph, found: Recall) -> list[str]:
    lines = []
    for path, at, name in found.missed:
        text = graph.names.facts(path).text
        lines.append(f"{path}:{text.count(bytes([10]), 0, at) + 1} {name}")
    return lines


FAST = LANGUAGES[::5]
EACH = [pytest.param(language, marks=[] if language in FAST else [pytest.mark.long]) for language in LANGUAGES]


@pytest.mark.parametrize("language", EACH)
def test_every_place_of_every_name_is_found_in_the_traps_of_a_language(language: str) -> None:
    kept = (trap for trap in traps(language) if trap.title not in LEXED_OTHERWISE)
    tree = {f"{number}/{path}": text for number, trap in enumerate(kept) for path, text in trap.tree.items()}
    with graph_of(tree) as graph:
        found = recall(graph, EVERY, 18)
        assert found.wanted
        assert told(graph, found) == []


@pytest.mark.long
def test_almost_every_place_of_every_name_is_found_in_the_sources_of_cairn() -> None:
    tree = {str(path.relative_to(HERE)): path.read_text() for path in (HERE / "src" / "cairn").rglob("*.py")}
    with graph_of(tree) as graph:
        found = recall(graph, 2_000, 18)
        print(f"{len(found.wanted):,} places of {found.names:,} names, recall {found.share:.4f}")
        assert found.share >= 0.995
