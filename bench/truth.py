"""Is what `cairn refs` calls proven true? Each proven use beside what a compiler or language service says of it.

    python -m bench.truth LANGUAGE ROOT [--tool PATH] [--sites N] [--seed N] [--home PATH] [--show N]

`LANGUAGE` is python (jedi; `--tool` is the Python that has it), typescript (its language service; `--tool` is
a folder `node_modules`), go (go/types; `--tool` is the command `go`), rust (rust-analyzer, which is `--tool`), c or cpp
(clang; `--tool` is a Python that has the package libclang). None of them is a part of Cairn, and no indexer
is asked. Definitions are drawn alike until so many proven uses are found. A use is judged when the tool knows where its
name leads; one that leads to a package that is not there, or nowhere, is not judged. An import is no use here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, whole
from cairn.graph.facts import CLASSES, Place
from cairn.graph.references import Graph, Site, WrittenDefinition

HERE = Path(__file__).parent
LANGUAGES = {
    "python": ("python",),
    "typescript": ("typescript", "tsx", "javascript"),
    "go": ("go",),
    "rust": ("rust",),
    "c": ("c",),
    "cpp": ("cpp",),
}
MOST_OF_ONE = 20
"""So many uses of one definition are judged at most, so that no definition decides the figure."""


Spans = tuple[tuple[str, int, int], ...]
"""Files, each with a first and a last line."""


class Claim(NamedTuple):
    """A use that is called proven (its column in letters from 0), and the lines of its definition."""

    path: str
    line: int
    column: int
    name: str
    lines: frozenset[tuple[str, int]]
    spans: Spans


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=LANGUAGES)
    parser.add_argument("root", type=Path)
    parser.add_argument("--tool", default="")
    parser.add_argument("--sites", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--show", type=int, default=0, help="print so many uses that were judged wrong")
    options = parser.parse_args()
    root = options.root.resolve()
    with tempfile.TemporaryDirectory(prefix="bench-truth-") as scratch:
        environ = {**os.environ, "CAIRN_HOME": str(options.home or scratch)}
        with Session(whole(str(root), environ), environ) as session:
            prepare(session, Policy(consent=lambda _: True, seconds=3600))
            graph = session.kept(Graph)
            claims = list(claimed(graph, LANGUAGES[options.language], options.seed, options.sites))
    answers = truth(options.language, root, options.tool, claims)
    judged = [(claim, answer) for claim, answer in zip(claims, answers, strict=True) if answer]
    wrong = [(claim, answer) for claim, answer in judged if not is_right(claim, answer)]
    precision = 1 - len(wrong) / max(1, len(judged))
    print("| repository | language | proven uses | judged | wrong | precision |\n|---|---|---|---|---|---|")
    print(f"| {root.name} | {options.language} | {len(claims)} | {len(judged)} | {len(wrong)} | {precision:.4f} |")
    for claim, answer in wrong[: options.show]:
        print(f"  {claim.path}:{claim.line}:{claim.column + 1} {claim.name} claimed {sorted(claim.lines)}, is {answer}")
    return 0


def claimed(graph: Graph, languages: Sequence[str], seed: int, most: int) -> Iterator[Claim]:
    """Yield proven uses of definitions drawn alike, at most so many."""
    files = graph.names.modules.files.languages
    places = [
        Place(path, number)
        for path in sorted(files)
        if files[path] in languages
        for number in range(len(graph.names.facts(path).symbols))
    ]
    draw = random.Random(seed)
    draw.shuffle(places)
    seen: set[tuple[str, int]] = set()
    for place in places:
        found = graph.references(place, everywhere=True)
        new = [site for site in found.proven if (site.path, site.start_byte) not in seen]
        lines, spans = _written(graph, [*found.definitions, *_prototypes(graph, place), *_of_trait(graph, place)])
        for site in draw.sample(new, min(MOST_OF_ONE, len(new))):
            seen.add((site.path, site.start_byte))
            yield _claim(graph, site, lines, spans)
            if len(seen) >= most:
                return


def _written(graph: Graph, written: Sequence[WrittenDefinition]) -> tuple[frozenset[tuple[str, int]], Spans]:
    """The lines of a definition's names, and for a class the lines from its first to its last."""
    lines: set[tuple[str, int]] = set()
    spans: list[tuple[str, int, int]] = []
    for path, symbol in written:
        text = graph.names.facts(path).text
        lines.add((path, text[: symbol.name_byte].count(b"\n") + 1))
        if symbol.kind in CLASSES:
            spans.append((path, symbol.start_line, symbol.end_line))
    return frozenset(lines), tuple(spans)


def _prototypes(graph: Graph, place: Place) -> list[WrittenDefinition]:
    """The other declarations of a definition of C or C++, in headers that its file includes."""
    if not graph.names.facts(place.path).traits.includes:
        return []
    name = graph.names.facts(place.path).symbols[place.number].name
    paths = sorted({path for path, _ in graph.view.symbols_named(name)} - {place.path})
    alike = [each for path in paths for each in graph.places(path, name) if graph.importers.same(place, each)]
    return [WrittenDefinition(each.path, graph.names.facts(each.path).symbols[each.number]) for each in alike]


def _of_trait(graph: Graph, place: Place) -> list[WrittenDefinition]:
    """What an `impl` block of Rust defines, as the trait declares it: rust-analyzer leads `Self::Item` to the trait."""
    facts = graph.names.facts(place.path)
    symbol = facts.symbols[place.number]
    if not facts.traits.impls or symbol.kind != "type" or symbol.parent < 0:
        return []
    found = graph.names.inherited(Place(place.path, symbol.parent), symbol.name, set())
    return [WrittenDefinition(each.path, graph.names.facts(each.path).symbols[each.number]) for each in found]


def _claim(graph: Graph, site: Site, lines: frozenset[tuple[str, int]], spans: Spans) -> Claim:
    text = graph.names.facts(site.path).text
    begin = text.rfind(b"\n", 0, site.start_byte) + 1
    column = len(text[begin : site.start_byte].decode("utf-8", "replace"))
    return Claim(site.path, site.line, column, site.name, lines, spans)


def truth(language: str, root: Path, tool: str, claims: Sequence[Claim]) -> list[list[tuple[str, int]]]:
    """Where the names of these uses lead; nothing where the tool does not know, an empty path outside of the root."""
    commands = {
        "python": [tool or "python3", str(HERE / "truth_python.py"), str(root)],
        "typescript": ["node", str(HERE / "truth_typescript.cjs"), str(root)],
        "go": [tool or "go", "run", str(HERE / "truth_go.go"), str(root)],
        "rust": [sys.executable, str(HERE / "truth_rust.py"), str(root), tool],
        "c": [tool or "python3", str(HERE / "truth_c.py"), str(root)],
        "cpp": [tool or "python3", str(HERE / "truth_c.py"), str(root)],
    }
    # What a repository depends on is not fetched: a use of it is not judged.
    environ = {**os.environ, "NODE_PATH": tool, "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    asked = "".join(json.dumps({"path": each.path, "line": each.line, "column": each.column}) + "\n" for each in claims)
    done = subprocess.run(commands[language], input=asked, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return [[(path, line) for path, line in json.loads(answer)] for answer in done.stdout.splitlines()]


def is_right(claim: Claim, answer: Sequence[tuple[str, int]]) -> bool:
    """Whether the tool names the claimed definition, or for a class something in it, such as its constructor."""
    return any(
        (path, line) in claim.lines
        or any(path == where and first <= line <= last for where, first, last in claim.spans)
        for path, line in answer
    )


if __name__ == "__main__":
    raise SystemExit(main())
