"""Pictures: whatever a name holds, it stays inside its label, and how sure an edge is can be seen."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cairn.graph.calls import CallGraph, CallSite, Direction, Edge, Node
from cairn.graph.callsites import EdgeKind
from cairn.graph.outline import Definition
from cairn.graph.pictures import dot, mermaid
from cairn.graph.scopes import Tier

SITE = CallSite("a.py", 3, 5)
HOSTILE = [
    'a" -> evil [label="',
    'x"]; evil["',
    "two\nlines\r\n%% comment",
    "<script>alert(1)</script><br/>",
    "back\\slash\\",
    "end\\",
    "click n0 href javascript:1 | `code` #quot; #35;",
    "\u202edesrever\u2066 \u200bhidden\ufeff \x1b[31mred \u2028line \ud800 \ufe0f \u3164 \U000e0041",
    "1. list",
    "- list",
    "",
]
WILD = st.text(st.characters(), max_size=30)


def node(name: str, path: str = "a.py", *, distance: int = 0) -> Node:
    one = Definition(path, "python", "function", name, "", f"def {name}()", "", 1, 2, 0, 9, exported=True)
    return Node(f"{path}#{name}", path, "python", one, distance)


def graph(*nodes: Node, edges: tuple[Edge, ...] = ()) -> CallGraph:
    return CallGraph(nodes[0].id, (), Direction.BOTH, 1, nodes, edges, (), 0, 0)


def edge(src: Node, dst: Node, tier: Tier = Tier.PROVEN, kind: EdgeKind = EdgeKind.CALL) -> Edge:
    return Edge(src.id, dst.id, kind, tier, SITE, 1)


# --- a reader of just what is written, strict about everything else ---------------------------------------------------

QUOTED = r'"(?:[^"\\]|\\.)*"'
DOT_NODE = rf"n\d+ \[label=({QUOTED})(?:, \w+={QUOTED})*\]"
DOT_EDGE = rf'n\d+ -> n\d+ \[style={QUOTED}(?:, label="import")?\]'
DOT_LINE = re.compile(rf"(?:rankdir={QUOTED}|node \[.*\]|{DOT_NODE}|{DOT_EDGE});")
DOT_MARKS = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
MERMAID_NODE = re.compile(r'n\d+(?:\["([^"]*)"\]|\(\["([^"]*)"\]\))')
MERMAID_EDGE = re.compile(r"n\d+ (?:-->|-\.->)(?:\|(?:import|name only)\|)? n\d+")


def dot_labels(text: str) -> list[str]:
    """The labels of the nodes as Graphviz shows them."""
    first, *lines, last, end = text.split("\n")
    assert (first, last, end) == ("digraph calls {", "}", "")
    found = []
    for line in lines:
        read = DOT_LINE.fullmatch(line.removeprefix("  "))
        assert read, line
        if read[1] is not None:
            found.append(re.sub(r"\\.", lambda mark: DOT_MARKS[mark[0]], read[1][1:-1]))
    return found


def mermaid_labels(text: str) -> list[str]:
    """The labels of the nodes as Mermaid shows them."""
    first, *lines, style, end = text.split("\n")
    assert (first, style, end) == ("flowchart LR", "  style n0 stroke-width:3px", "")
    found = []
    for line in lines:
        read = MERMAID_NODE.fullmatch(line.removeprefix("  "))
        if read is None:
            assert MERMAID_EDGE.fullmatch(line.removeprefix("  ")), line
            continue
        parts = (read[1] if read[1] is not None else read[2]).split("<br/>")
        assert not any(set(part) & set('<>"[](){}|`%\\&@*~') for part in parts)
        assert all(re.fullmatch(r"(?:[^#]|#\d+;)*", part) for part in parts)
        found.append("\n".join(re.sub(r"#(\d+);", lambda code: chr(int(code[1])), part) for part in parts))
    return found


@settings(max_examples=80, derandomize=True, deadline=None)
@given(WILD, WILD)
@example(HOSTILE[0], HOSTILE[1])
@example(HOSTILE[2], HOSTILE[3])
@example(HOSTILE[4], HOSTILE[5])
@example(HOSTILE[6], HOSTILE[7])
@example(HOSTILE[8], HOSTILE[9])
def test_a_name_never_leaves_its_label_and_hides_nothing(name: str, path: str) -> None:
    found = graph(node(name, path), node("plain", distance=1))
    for labels in (dot_labels(dot(found)), mermaid_labels(mermaid(found))):
        assert len(labels) == 2
        [first, second] = labels
        assert second == "plain\na.py:1"
        assert first.count("\n") == 1
        assert first.endswith(":1")
        assert first.replace("\n", "").isprintable()
        assert not any("VARIATION SELECTOR" in unicodedata.name(letter, "") for letter in first)
        if name.isascii() and name.isprintable():
            assert first.startswith(name)


def test_both_pictures_show_the_same_labels() -> None:
    found = graph(*(node(name, f"{number}.py") for number, name in enumerate(HOSTILE)))
    assert dot_labels(dot(found)) == mermaid_labels(mermaid(found))


def test_a_line_is_whole_dashed_or_dotted() -> None:
    one, two = node("one"), node("two")
    file = Node("b.py", "b.py", "python", None, 1)
    edges = (
        edge(one, two),
        edge(two, one, Tier.LIKELY, EdgeKind.DYNAMIC),
        edge(one, one, Tier.NAME_ONLY),
        edge(file, one, kind=EdgeKind.IMPORT),
        edge(file, two, Tier.NAME_ONLY, EdgeKind.IMPORT),
    )
    found = graph(one, two, file, edges=edges)
    assert dot(found).splitlines()[3:] == [
        '  n0 [label="one\\na.py:1", penwidth="2"];',
        '  n1 [label="two\\na.py:1"];',
        '  n2 [label="b.py", shape="note"];',
        '  n0 -> n1 [style="solid"];',
        '  n1 -> n0 [style="dashed"];',
        '  n0 -> n0 [style="dotted"];',
        '  n2 -> n0 [style="solid", label="import"];',
        '  n2 -> n1 [style="dotted", label="import"];',
        "}",
    ]
    assert mermaid(found).splitlines()[1:] == [
        '  n0["one<br/>a.py:1"]',
        '  n1["two<br/>a.py:1"]',
        '  n2(["b.py"])',
        "  n0 --> n1",
        "  n1 -.-> n0",
        "  n0 -.->|name only| n0",
        "  n2 -->|import| n0",
        "  n2 -.->|name only| n1",
        "  style n0 stroke-width:3px",
    ]
    assert dot_labels(dot(found)) == mermaid_labels(mermaid(found))


def test_a_long_name_is_cut() -> None:
    [label] = dot_labels(dot(graph(node("x" * 500))))
    assert label == "x" * 117 + "...\na.py:1"
