"""What maps of a few files are drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cairn.core.text import plain
from cairn.graph.atlas import Atlas, Worth
from cairn.graph.references import Graph
from cairn.graph.repo_map import RepoMap, draw_map
from cairn.search.searcher import Searcher
from tests.graph.code import code_view
from tests.search.corpora import MODEL


@contextmanager
def atlas_of(*trees: Mapping[str, str | bytes]) -> Iterator[Atlas]:
    """The atlas of the last of these trees, each published after the one before."""
    with code_view(*trees) as view:
        yield Atlas(view).prepare(Graph(view), Searcher(view, MODEL))


def drawn(atlas: Atlas, max_tokens: int = 1_000, worth: Worth | None = None, include: tuple[str, ...] = ()) -> RepoMap:
    """A map of these files."""
    within = atlas.within(include)
    return draw_map(atlas, worth or atlas.usual, max_tokens=max_tokens, within=within, written=plain)
