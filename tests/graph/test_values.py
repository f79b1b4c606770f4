"""What a value probably is, from the text that makes it; what the text says in two ways is not known."""

from __future__ import annotations

import pytest

from tests.graph.trees import graph_of


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("def use():\n    x = Tool()\n    x.go()\n", True),
        ("def use():\n    x = mod.Tool(1)\n    x.go()\n", False),
        ("def use(x: Tool):\n    x.go()\n", True),
        ("def use(x: 'Tool'):\n    x.go()\n", True),
        ("def use(x: Optional[Tool] = None):\n    x.go()\n", True),
        ("def use():\n    with Tool() as x:\n        x.go()\n", True),
        ("def use():\n    x = Tool()\n    x = Other()\n    x.go()\n", False),
        ("def use(x):\n    x.go()\n", False),
        ("def use():\n    x = make()\n    x.go()\n", False),
        ("def use():\n    return Tool().go()\n", True),
        ("x = Tool()\nx.go()\n", True),
        ("class Use:\n    def __init__(self):\n        self.x = Tool()\n    def f(self):\n        self.x.go()\n", True),
        (
            "class Use:\n    def __init__(self, y: Tool):\n        self.x = y\n    def f(self):\n        self.x.go()\n",
            True,
        ),
        ("class Use:\n    def __init__(self, y):\n        self.x = y\n    def f(self):\n        self.x.go()\n", False),
        ("def use():\n" + "    x\n" * 1_000 + "    x = Tool()\n    x.go()\n", False),
    ],
)
def test_a_value_is_known_by_how_it_is_made(written: str, known: bool) -> None:
    tree = {
        "tool.py": "class Tool:\n    def go(self):\n        pass\n",
        "other.py": "class Other:\n    def go(self):\n        pass\n",
        "use.py": f"from tool import Tool\nfrom other import Other\n{written}",
    }
    with graph_of(tree) as graph:
        found = graph.references(graph.places("tool.py", "Tool.go")[0], list_name_only=True)
    assert (found.proven, len(found.likely), found.elsewhere_count) == ((), int(known), 0)
    assert len(found.name_only) == 1 - known


def test_a_variable_of_another_file_is_known_by_its_declaration() -> None:
    tree = {
        "a.ts": "class Maker { build() {} }\nexport const maker = new Maker();\n",
        "b.ts": "import { maker } from './a';\nmaker.build();\n",
        "c.ts": "class Second { build() {} }\n",
    }
    with graph_of(tree) as graph:
        found = graph.references(graph.places("a.ts", "Maker.build")[0])
    assert [(site.path, site.line) for site in found.likely] == [("b.ts", 2)]
