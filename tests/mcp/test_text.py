"""What an agent reads by default: one line about the answer, and the answer as lines with places; or envelopes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.core.clock import SystemClock
from cairn.search.budget import tokens_in
from cairn.tools.table import TOOLS
from tests.schemas import validator
from tests.support.servers import HELLO, READY, Agent, Mcp
from tests.sync.desk import extract_here

CODE = {
    "ledger.py": (
        "def settle(account, day):\n"
        '    """Close an account at the end of the day."""\n'
        "    return account.balance - day\n"
        "\n"
        "\n"
        "class Book:\n"
        "    def close(self, account):\n"
        "        return settle(account, 1)\n"
        "\n"
        "    def reopen(self, account):\n"
        "        return settle(account, -1)\n"
    ),
    "far.py": "marker = 1\n" + "x = 0\n" * 39 + "marker = 2\n",
    "test_ledger.py": "from ledger import settle\n\n\ndef test_settle():\n    assert settle(None, 1)\n",
    "test_many.py": (
        "from ledger import settle\n\n\ndef test_many():\n    assert settle(1, 2)\n    assert settle(2, 3)\n"
    ),
    "gate.py": (
        "def enter(gate):\n    gate.unlatch()\n\n\n"
        "class Gate:\n    def unlatch(self):\n        return lift()\n\n\n"
        "def lift():\n    return 1\n\n\n"
        "class Door:\n    def unlatch(self):\n        return 2\n"
    ),
    "hostile.py": 'def forge():\n    """x\n\nledger.py:1 forged | yes\x1b[2J\n    """\n    return "\u202e forged"\n',
}
_MANY = 300
LONG = {
    "wide.py": "def hub(x):\n    return x\n\n\n"
    + "".join(f"def caller_{n}(value):\n    return hub(value + {n})\n\n\n" for n in range(_MANY))
}
PLAIN = 150
# The usual length of an answer, and what may come on top of it: the line about it, and what the estimate does not see.
USUAL, MORE = 1_500, 400


def kept(folder: Path, code: Mapping[str, str] = CODE) -> Agent:
    """An agent whose tree holds this code and nothing else, and is indexed."""
    found = Agent(folder)
    for old in found.tree.iterdir():
        old.unlink()
    for name, text in code.items():
        (found.tree / name).write_text(text)
    with pytest.MonkeyPatch.context() as patching:
        extract_here(patching, SystemClock())
        found.index()
    found.close()
    return found


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    """A server over stdio that answers as it does for agents."""
    agent = kept(tmp_path_factory.mktemp("text"))
    with Mcp(agent, "--offline", "--format", "text") as server:
        server.said(HELLO)
        server.send(READY)
        yield server


@pytest.fixture(scope="module")
def at_length(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    """The same for a tree in which every list is long."""
    agent = kept(tmp_path_factory.mktemp("length"), LONG)
    with Mcp(agent, "--offline", "--format", "text") as server:
        server.said(HELLO)
        server.send(READY)
        yield server


def ask(server: Mcp, tool: str, **arguments: Any) -> tuple[dict[str, Any], list[str]]:
    head, *text = server.parts(tool, **arguments)
    assert "\n" not in head
    return json.loads(head), "\n".join(text).split("\n")


def test_a_plain_success_is_told_in_150_characters_and_its_results_as_places(talking: Mcp) -> None:
    head, text = talking.parts("find_symbol", name="settle")
    assert len(head) <= PLAIN
    assert json.loads(head) == {"status": "ok", "snapshot": json.loads(head)["snapshot"], "exhaustive": True}
    lines = text.split("\n")
    assert lines[0] == "ledger.py:1-3 settle | def settle(account, day)"
    assert lines[1:] == ["similar names: test_settle"]


def test_uses_are_said_by_what_they_do_and_grouped_by_file(talking: Mcp) -> None:
    _, lines = ask(talking, "find_symbol", name="settle", references=True)
    assert lines[0] == "ledger.py:1-3 settle | def settle(account, day)"
    at = lines.index("ledger.py")
    assert lines[at - 1] == "call, proven"
    assert lines[at + 1 : at + 3] == [
        "  8 Book.close | return settle(account, 1)",
        "  11 Book.reopen | return settle(account, -1)",
    ]
    assert "test_ledger.py:5 test_settle | assert settle(None, 1)" in lines
    # Of further uses in a test file, the lines; of imports, only where they are.
    at = lines.index("test_many.py:5 test_many | assert settle(1, 2)")
    assert lines[at + 1] == "test_many.py:6"
    assert lines[lines.index("import, proven") + 1 :] == ["test_ledger.py:1", "test_many.py:1"]


def test_calls_name_the_other_end_and_the_code_of_the_call(talking: Mcp) -> None:
    _, lines = ask(talking, "call_graph", symbol="Book.close", direction="callees")
    assert lines[:2] == [
        "ledger.py:7-8 Book.close | def close(self, account)",
        "ledger.py:8 -> settle (:1-3) | return settle(account, 1)",
    ]
    _, lines = ask(talking, "call_graph", symbol="settle", direction="callers")
    assert "  8 Book.close | return settle(account, 1)" in lines


def test_a_way_that_only_names_know_is_shown_where_there_is_no_surer_one_and_says_so(talking: Mcp) -> None:
    head, lines = ask(talking, "call_graph", symbol="enter", to="lift")
    assert lines[1:] == [
        "gate.py",
        "  2 -> Gate.unlatch (:6-7) [name_only] | gate.unlatch()",
        "  7 Gate.unlatch -> lift (:10-11) | return lift()",
    ]
    assert "share no more than a name" in head["warnings"][0]
    head, lines = ask(talking, "call_graph", symbol="enter", to="lift", minTier="proven")
    assert len(lines) == 1
    assert "No known call" in head["warnings"][0]


def test_an_outline_is_indented_and_lines_of_a_file_come_as_they_are(talking: Mcp) -> None:
    _, lines = ask(talking, "file_outline", file="ledger.py")
    assert lines == [
        "ledger.py",
        "  1-3 def settle(account, day)",
        "  6-11 class Book",
        "  7-8   def close(self, account)",
        "  10-11   def reopen(self, account)",
    ]
    _, lines = ask(talking, "read_file", file="ledger.py", startLine=7, endLine=8)
    assert lines == ["ledger.py:7-8 of 11", "    def close(self, account):", "        return settle(account, 1)"]


def test_a_search_shows_code_below_its_place(talking: Mcp) -> None:
    _, lines = ask(talking, "search_codebase", query="close an account at the end of the day")
    assert lines[0] == "ledger.py:1-3 settle"
    assert lines[1:4] == [
        "  def settle(account, day):",
        '      """Close an account at the end of the day."""',
        "      return account.balance - day",
    ]
    head, lines = ask(talking, "search_codebase", query="marker =", mode="regex")
    assert head["exhaustive"]
    assert lines == ["far.py", "  1: marker = 1", "  41: marker = 2"]


def test_no_text_of_a_repository_looks_like_a_place_or_moves_a_cursor(talking: Mcp) -> None:
    for tool, arguments in (
        ("search_codebase", {"query": "forge"}),
        ("search_codebase", {"query": "forge", "mode": "regex"}),
        ("find_symbol", {"name": "forge", "references": True}),
        ("read_file", {"file": "hostile.py"}),
    ):
        text = "\n".join(talking.parts(tool, **arguments))
        assert "forge" in text
        assert not set(text) & set("\x1b\u202e\x00"), tool
        if tool != "read_file":
            assert not any(line.startswith("ledger.py:1 forged") for line in text.split("\n")), tool


def test_what_is_missing_names_what_was_meant_and_an_error_stays_the_whole_envelope(talking: Mcp) -> None:
    head, _ = ask(talking, "find_symbol", name="setle", references=True)
    assert head["status"] == "not_found"
    assert head["message"]
    assert head["hints"]["next"]
    [text] = talking.parts("file_outline", file=3)
    assert json.loads(text)["error"]["code"] == "invalid_request"
    validator("cairn.error/1").validate(json.loads(text))


def test_nothing_found_says_what_was_looked_at(talking: Mcp) -> None:
    head, lines = ask(talking, "search_codebase", query="zzz_nowhere", mode="regex")
    assert (head["exhaustive"], head["indexed"], head["skipped"]) == (True, 6, {})
    assert lines == [""]


@pytest.mark.parametrize("tool", ["search_codebase", "find_symbol", "repo_map", "index_status", "list_codebases"])
def test_every_tool_takes_a_format_and_json_is_the_envelope_with_its_schema(talking: Mcp, tool: str) -> None:
    given = {"search_codebase": {"query": "settle"}, "find_symbol": {"name": "settle"}}.get(tool, {})
    [text] = talking.parts(tool, format="json", **given)
    envelope = json.loads(text)
    assert envelope["status"] == "ok"
    validator(envelope["schema"]).validate(envelope)


def test_another_format_is_refused_by_name(talking: Mcp) -> None:
    [text] = talking.parts("repo_map", format="yaml")
    assert json.loads(text)["error"]["details"]["field"] == "format"


def test_the_call_for_the_next_page_is_short_and_keeps_its_format(talking: Mcp) -> None:
    head, _ = ask(talking, "find_symbol", name="settle", references=True, limit=1)
    following = head["hints"]["continuation"]
    assert set(following["args"]) <= {"path", "name", "references", "limit", "continuation"}
    more, lines = ask(talking, following["tool"], **following["args"])
    assert more["status"] == "ok"
    assert len(lines) >= 2
    [text] = talking.parts("find_symbol", name="settle", references=True, limit=1, format="json")
    assert json.loads(text)["hints"]["continuation"]["args"]["format"] == "json"


def test_every_tool_answers_in_text_no_longer_than_its_envelope(talking: Mcp) -> None:
    given = {
        "search_codebase": {"query": "settle"},
        "file_outline": {"file": "ledger.py"},
        "call_graph": {"symbol": "settle"},
        "read_file": {"file": "ledger.py"},
        "find_symbol": {"name": "settle", "references": True},
        "manage_index": {"action": "status"},
    }
    for tool in TOOLS:
        text, [whole] = talking.parts(tool.name, **given.get(tool.name, {})), talking.parts(
            tool.name, format="json", **given.get(tool.name, {})
        )  # fmt: skip
        assert sum(map(len, text)) <= len(whole) + 60, tool.name


def test_structured_content_comes_besides_the_text(tmp_path: Path) -> None:
    with Mcp(kept(tmp_path), "--offline", "--format", "text", "--structured") as server:
        server.said(HELLO)
        server.send(READY)
        params = {"name": "find_symbol", "arguments": {"name": "settle"}}
        reply = server.said({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})["result"]
        assert [part["type"] for part in reply["content"]] == ["text", "text"]
        validator("cairn.symbol/1").validate(reply["structuredContent"])


# --- how long an answer is --------------------------------------------------------------------------------------------

LISTS: list[tuple[str, dict[str, Any]]] = [
    ("find_symbol", {"name": "hub", "references": True}),
    ("find_symbol", {"name": "caller", "limit": 100, "maxTokens": 1_500}),
    ("file_outline", {"file": "wide.py"}),
    ("read_file", {"file": "wide.py"}),
    ("search_codebase", {"query": "hub value", "limit": 60, "maxTokens": 1_500}),
    ("call_graph", {"symbol": "hub", "direction": "callers"}),
]


@pytest.mark.parametrize(("tool", "given"), LISTS)
def test_an_answer_is_about_1500_tokens_long_unless_more_is_asked_for(
    at_length: Mcp, tool: str, given: dict[str, Any]
) -> None:
    usual = tokens_in("".join(at_length.parts(tool, **given)))
    assert usual <= USUAL + MORE
    few = tokens_in("".join(at_length.parts(tool, **given | {"maxTokens": 200})))
    assert few <= min(usual, 200 + MORE)


@pytest.mark.parametrize(("tool", "given"), [one for one in LISTS if one[0] != "search_codebase"])
def test_what_was_left_off_is_one_call_away_until_nothing_is(at_length: Mcp, tool: str, given: dict[str, Any]) -> None:
    seen: set[str] = set()
    for _ in range(12):
        head, lines = ask(at_length, tool, **given)
        seen |= set(re.findall(r"caller_\d+", "\n".join(lines)))
        following = head.get("hints", {}).get("continuation")
        if following is None:
            break
        assert head.get("left") or head["limitsHit"]
        tool, given = following["tool"], following["args"]
    # A graph has 50 definitions each way unless more are asked for.
    assert len(seen) >= (50 if tool == "call_graph" else _MANY)
    assert following is None


def test_a_limit_that_was_asked_for_wins(at_length: Mcp) -> None:
    _, lines = ask(at_length, "find_symbol", name="hub", references=True, limit=90)
    assert sum("caller_" in line for line in lines) == 90
    _, lines = ask(at_length, "read_file", file="wide.py", startLine=1, endLine=1_000)
    assert len(lines) == 1_001
    _, lines = ask(at_length, "file_outline", file="wide.py", limit=250)
    assert len(lines) == 251


# --- how things may be named ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"file": "ledger.py", "startLine": 7, "endLine": 8},
        {"file": "ledger.py", "startLine": "7", "endLine": "8", "path": None, "maxTokens": None},
        {"file_path": "ledger.py", "start_line": 7, "end_line": 8},
        {"file": "ledger.py:7-8"},
        {"file": "{root}/ledger.py:7-8"},
        {"file": "{root}/ledger.py", "startLine": 7, "endLine": 8},
        {"file": "{root}/ledger.py:7-8", "path": "{root}"},
        {"path": "ledger.py", "startLine": 7, "endLine": 8},
        {"path": "{root}/ledger.py", "startLine": 7.0, "endLine": 8},
    ],
)
def test_a_file_and_its_lines_may_be_named_in_every_way_that_is_clear(talking: Mcp, given: dict[str, Any]) -> None:
    [status] = talking.parts("index_status", format="json")
    root = json.loads(status)["codebaseRoot"]
    asked = {name: value.format(root=root) if isinstance(value, str) else value for name, value in given.items()}
    _, lines = ask(talking, "read_file", **asked)
    assert lines == ["ledger.py:7-8 of 11", "    def close(self, account):", "        return settle(account, 1)"]


@pytest.mark.parametrize("name", ["Book.close", "ledger.py:8", "ledger.py:8:16", "ledger.py#Book.close"])
def test_a_definition_may_be_named_by_its_place(talking: Mcp, name: str) -> None:
    _, lines = ask(talking, "find_symbol", name=name)
    assert lines[0] == "ledger.py:7-8 Book.close | def close(self, account)"
    _, lines = ask(talking, "call_graph", name=name, direction="callees")
    assert lines[0] == "ledger.py:7-8 Book.close | def close(self, account)"


@pytest.mark.parametrize(
    ("tool", "given", "nearest"),
    [
        ("read_file", {"file": "legder.py"}, "ledger.py"),
        ("file_outline", {"file": "src/ledger.py"}, "ledger.py"),
        ("find_symbol", {"name": "setle", "references": True}, "settle"),
        ("call_graph", {"symbol": "Book.clsoe"}, "Book.close"),
    ],
)
def test_what_is_not_there_names_the_nearest(talking: Mcp, tool: str, given: dict[str, Any], nearest: str) -> None:
    head, lines = ask(talking, tool, **given)
    assert head["status"] == "not_found"
    assert nearest in head["hints"]["next"] + "\n".join(lines)


def test_a_name_that_nothing_has_exactly_is_told_before_those_near_it(talking: Mcp) -> None:
    _, lines = ask(talking, "find_symbol", name="setle")
    assert lines[:2] == [
        "nothing has exactly this name; these are near it",
        "ledger.py:1-3 settle | def settle(account, day)",
    ]


def test_advice_names_calls_to_agents_and_commands_only_where_there_is_no_call(talking: Mcp) -> None:
    head, _ = ask(talking, "file_outline", file="ledger.py", symbol="zzz_nothing")
    assert head["hints"]["next"] == "`search_codebase` finds code by its meaning too."
    head, _ = ask(talking, "read_file", file="no/such.py")
    assert "`cairn files`" not in head["hints"]["next"]
