"""Code that no parser understood may define and use any name in it: no answer about such a name is called complete.

Asked over the pipe of a real `cairn mcp`, and with commands.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.commands import typed
from tests.support.servers import HELLO, READY, Agent, Mcp
from tests.support.trees import write_tree

SAID = "1 file holds this name in code that was not parsed; a search by regex shows where."
FILES = {
    "lib.js": "export function helper() { return 1 }\n",
    "App.vue": "<script>\nimport { helper } from './lib.js'\nexport default { created() { helper() } }\n</script>\n",
    "x.pl": "sub perlfunc { return 1; }\n",
    "broken.py": "def whole(): pass\nclass ( { [[[ ]] def hidden(x): return 1\n)))\n",
    "notes.md": "Call `whole` and `told`.\n",
    "told.py": "def told(): pass\n",
}
DOUBTFUL = ("perlfunc", "hidden", "helper")


@pytest.fixture
def tree(agent: Agent) -> Agent:
    write_tree(agent.tree, FILES)
    agent.index()
    return agent


def is_said(answer: dict[str, Any]) -> bool:
    said = SAID in answer["warnings"]
    assert not (said and answer.get("coverage", {}).get("exhaustive")), answer
    return said


def test_every_tool_that_is_asked_for_a_name_says_so(tree: Agent) -> None:
    with Mcp(tree, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        for name in (*DOUBTFUL, "whole", "told"):
            answers = {
                "symbol": server.ask("find_symbol", name=name),
                "search": server.ask("search_codebase", query=name, mode="symbol"),
                "uses": server.ask("find_symbol", name=name, references=True),
                "calls": server.ask("call_graph", symbol=name),
                "explored": server.ask("explore", about=name),
                "impact": server.ask("explore", about=name, mode="impact"),
            }
            assert {kind: is_said(answer) for kind, answer in answers.items()} == dict.fromkeys(
                answers, name in DOUBTFUL
            ), name


def test_commands_say_so_with_hits_and_without(tree: Agent) -> None:
    for command in ("symbol", "refs", "graph", "impact"):
        for name in (*DOUBTFUL, "told"):
            said = typed([command, name, "--offline"], tree.tree, tree.variables())
            assert (f"note: {SAID}" in said.stderr) is (name in DOUBTFUL), (command, name, said)
    said = typed(["symbol", "perlfunc", "--json", "--offline"], tree.tree, tree.variables())
    assert json.loads(said.stdout)["coverage"]["exhaustive"] is False
