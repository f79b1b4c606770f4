"""Small codebases with marks in them, and what is expected of each definition, as a table of marks.

A mark is a comment `@1` at the end of a line; a line of a table reads
`file:name: proven 1 2; likely 3; name_only 4; elsewhere 2; imports 5`, where what is not named must be empty, and
`elsewhere` is a count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cairn.core.filetypes import language_of
from cairn.core.types import FileFacts
from cairn.graph.facts import Place
from cairn.graph.references import Graph
from tests.search.trees import viewed
from tests.store import little
from tests.store.disks import MemoryDisk
from tests.store.segments import analyzed

_MARK = re.compile(r"@(\d+)\b")


def _facts(key: str, data: bytes) -> FileFacts:
    return analyzed(key, data, language_of(key.rpartition("/")[2].encode(), data))


@contextmanager
def graph_of(*trees: Mapping[str, str]) -> Iterator[Graph]:
    """The graph of the last of these trees, each published after the one before."""
    fs = MemoryDisk()
    for tree in trees:
        little.save(fs, {path: text.encode() for path, text in tree.items()}, facts_of=_facts)
    with viewed(fs) as view:
        yield Graph(view)


def check(tree: Mapping[str, str], table: str) -> None:
    """Every line of the table holds, and says all there is."""
    marks = {
        (path, number): mark[1]
        for path, text in tree.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (mark := _MARK.search(line))
    }
    lines = [line.strip() for line in table.strip().splitlines() if line.strip()]
    with graph_of(tree) as graph:
        found = [_row(graph, marks, line) for line in lines]
    wrong = [f"{_tidy(line)}\n    but {each}" for line, each in zip(lines, found, strict=True) if each != _tidy(line)]
    assert not wrong, "\n".join(wrong)


def _tidy(line: str) -> str:
    about, _, rest = line.partition(": ")
    return "; ".join([f"{about}:", *(part.strip() for part in rest.split(";") if part.strip())])


def _row(graph: Graph, marks: Mapping[tuple[str, int], str], line: str) -> str:
    about = line.partition(": ")[0]
    path, _, name = about.partition(":")
    places = graph.places(path, name)
    assert places, f"{about} is not there"
    found = graph.references(places[0], list_name_only=True)
    parts = [f"{about}:"]
    for tier in ("proven", "likely", "name_only", "imports"):
        sites = [marks.get((site.path, site.line), f"{site.path}:{site.line}") for site in getattr(found, tier)]
        if tier == "imports" and found.elsewhere_count:
            parts.append(f"elsewhere {found.elsewhere_count}")
        if sites:
            parts.append(f"{tier} {' '.join(sites)}")
    return "; ".join(parts)


def place(graph: Graph, path: str, name: str) -> Place:
    """The one definition of this name."""
    (found,) = graph.places(path, name)
    return found
