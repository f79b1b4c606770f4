"""Write a call graph in the language of Graphviz (`dot`) or of Mermaid.

Names and paths are text of a repository, so nodes are numbered, and every character that could end a label, begin a tag
or be invisible is escaped. The tier of an edge is its line: solid, dashed or dotted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from cairn.graph.calls import CallGraph, Edge, Node
from cairn.graph.callsites import EdgeKind
from cairn.graph.scopes import Tier

_MOST_CHARS = 120
_STYLES = {Tier.PROVEN: "solid", Tier.LIKELY: "dashed", Tier.NAME_ONLY: "dotted"}
_ARROWS = {Tier.PROVEN: "-->", Tier.LIKELY: "-.->", Tier.NAME_ONLY: "-.->"}
# Characters that have a meaning in Mermaid, Markdown or HTML; `1. ` and `- ` would begin a list.
_NOT_PLAIN = re.compile(r"[\x00-\x7f](?<![A-Za-z0-9 _,:/.-])|[.-](?= )")


def dot(graph: CallGraph) -> str:
    """Return the graph in the language of Graphviz."""
    return "\n".join(["digraph calls {", *(f"  {line}" for line in _dot_lines(graph)), "}"]) + "\n"


def _dot_lines(graph: CallGraph) -> Iterator[str]:
    yield 'rankdir="LR";'
    yield 'node [shape="box", fontname="sans-serif"];'
    numbers = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        shape = ', shape="note"' if node.definition is None else ""
        width = ', penwidth="2"' if node.id == graph.root else ""
        label = "\\n".join(_in_quotes(line) for line in _label(node))
        yield f'{numbers[node.id]} [label="{label}"{shape}{width}];'
    for edge in graph.edges:
        label = f', label="{_edge_label(edge)}"' if _edge_label(edge) else ""
        yield f'{numbers[edge.src]} -> {numbers[edge.dst]} [style="{_STYLES[edge.tier]}"{label}];'


def mermaid(graph: CallGraph) -> str:
    """Return the graph in the language of Mermaid, which many Markdown pages draw."""
    return "\n".join(["flowchart LR", *(f"  {line}" for line in _mermaid_lines(graph))]) + "\n"


def _mermaid_lines(graph: CallGraph) -> Iterator[str]:
    numbers = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        label = "<br/>".join(_in_codes(line) for line in _label(node))
        opens, closes = ("([", "])") if node.definition is None else ("[", "]")
        yield f'{numbers[node.id]}{opens}"{label}"{closes}'
    for edge in graph.edges:
        # Mermaid has solid and dotted lines only, so the third tier is written as a label.
        label = "name only" if edge.tier is Tier.NAME_ONLY else _edge_label(edge)
        arrow = f"{_ARROWS[edge.tier]}|{label}|" if label else _ARROWS[edge.tier]
        yield f"{numbers[edge.src]} {arrow} {numbers[edge.dst]}"
    yield f"style {numbers[graph.root]} stroke-width:3px"


def _label(node: Node) -> tuple[str, ...]:
    if node.definition is None:
        return (_shown(node.path),)
    return _shown(node.definition.qualified), f"{_shown(node.path)}:{node.line}"


def _edge_label(edge: Edge) -> str:
    return "import" if edge.kind is EdgeKind.IMPORT else ""


def _shown(text: str) -> str:
    """Return a text without invisible characters, cut to fit on a line."""
    cut = text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 3]}..."
    return "".join(letter if _can_be_seen(letter) else f"\\u{ord(letter):04x}" for letter in cut)


def _can_be_seen(letter: str) -> bool:
    # Variation selectors change the character before them, and the fillers in `hidden` are drawn as nothing.
    hidden = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    return letter.isprintable() and letter not in hidden and "VARIATION SELECTOR" not in unicodedata.name(letter, "")


def _in_quotes(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _in_codes(text: str) -> str:
    return _NOT_PLAIN.sub(lambda found: f"#{ord(found[0])};", text)
