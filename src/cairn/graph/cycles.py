"""Find cycles of imports between files: `a` imports `b`, and imports lead from `b` back to `a`."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from cairn.graph.references import Graph
from cairn.graph.uses import shown_line

# Of each file the shortest cycle is looked for, in so many files of one knot.
_MOST_STARTS = 400
Links = Mapping[str, Sequence[str]]


class CycleStep(NamedTuple):
    """An import of a cycle: the file and line that has it, the line itself, and the definition around it, if any."""

    path: str
    line: int
    text: str
    inside: str


class ImportCycle(NamedTuple):
    """A cycle of imports, from the first file by path; the last import leads back to it.

    `knot` is how many files all reach each other, these included.
    """

    steps: tuple[CycleStep, ...]
    knot: int


def import_cycles(graph: Graph, within: Collection[str]) -> tuple[ImportCycle, ...]:
    """Return the shortest cycle through each file `within`, each cycle once, the shortest first.

    Of a knot of very many files not all are begun at.
    """
    links = {
        path: [each for each in leads if each in within]
        for path, leads in graph.dependencies().items()
        if path in within
    }
    found: dict[tuple[str, ...], int] = {}
    for knot in _knots(links):
        inside = {path: [each for each in links[path] if each in knot] for path in sorted(knot)}
        for path in list(inside)[:_MOST_STARTS]:
            files = _shortest(inside, path)
            first = files.index(min(files))
            found[(*files[first:], *files[:first])] = len(knot)
    ordered = sorted(found, key=lambda files: (len(files), files))
    return tuple(ImportCycle(tuple(_steps(graph, files)), found[files]) for files in ordered)


def _steps(graph: Graph, files: tuple[str, ...]) -> Iterator[CycleStep]:
    for path, leads_to in zip(files, (*files[1:], files[0]), strict=True):
        imported, facts = graph.importers.between(path, leads_to), graph.names.facts(path)
        if imported is None:
            raise LookupError(f"{path} imports nothing of {leads_to}")
        around = facts.scopes.get(imported.start_byte, -1)
        inside = facts.qualified(around) if around >= 0 else ""
        yield CycleStep(path, imported.line, shown_line(facts.text, imported.start_byte)[1], inside)


def _shortest(links: Links, start: str) -> tuple[str, ...]:
    """Return the files of a shortest cycle through a file of a knot, in the order of the imports."""
    came: dict[str, str] = {}
    pending = deque([start])
    while pending:
        at = pending.popleft()
        for following in links[at]:
            if following == start:
                back = [at]
                while back[-1] != start:
                    back.append(came[back[-1]])
                return tuple(reversed(back))
            if following not in came:
                came[following] = at
                pending.append(following)
    raise LookupError(f"no cycle leads through {start}")


def _knots(links: Links) -> Iterator[frozenset[str]]:
    """Yield each set of two or more files that all reach each other: Tarjan's algorithm, without recursion."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_files: list[str] = []
    is_open: set[str] = set()
    for root in sorted(links):
        if root in number:
            continue
        walk = [(root, iter(links[root]))]
        number[root] = lowest[root] = len(number)
        open_files.append(root)
        is_open.add(root)
        while walk:
            at, rest = walk[-1]
            for following in rest:
                if following not in number:
                    number[following] = lowest[following] = len(number)
                    open_files.append(following)
                    is_open.add(following)
                    walk.append((following, iter(links.get(following, ()))))
                    break
                if following in is_open:
                    lowest[at] = min(lowest[at], number[following])
            else:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[at])
                if lowest[at] == number[at]:
                    cut = open_files.index(at)
                    knot = open_files[cut:]
                    del open_files[cut:]
                    is_open.difference_update(knot)
                    if len(knot) > 1:
                        yield frozenset(knot)
