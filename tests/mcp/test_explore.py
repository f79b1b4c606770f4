"""One call says what an agent would ask next about a definition, whether it is named or described."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from cairn.search.budget import tokens_in
from tests.mcp.test_text import ask, kept
from tests.schemas import validator
from tests.support.servers import HELLO, READY, Mcp

CODE = {
    "till.py": (
        "class Till:\n"
        "    def pay(self, total):\n"
        '        """Take money for a basket."""\n'
        "        return round_up(total)\n\n\n"
        "class Card(Till):\n"
        "    def pay(self, total):\n"
        "        return total\n\n\n"
        "def round_up(total):\n"
        "    return total + 1\n\n\n"
        "def settle(basket):\n"
        "    return round_up(basket.total)\n"
    ),
    "long.py": "def endless(x):\n" + "".join(f"    x = x + {n}\n" for n in range(900)) + "    return x\n",
    "test_till.py": "from till import settle\n\n\ndef test_settle():\n    assert settle(None)\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    with Mcp(kept(tmp_path_factory.mktemp("explore"), CODE), "--offline", "--format", "text") as server:
        server.said(HELLO)
        server.send(READY)
        yield server


def test_a_name_gets_its_text_and_what_leads_to_it_and_from_it(server: Mcp) -> None:
    _, lines = ask(server, "explore", about="round_up()")
    assert lines == [
        "till.py:12-13 round_up",
        "  def round_up(total):",
        "      return total + 1",
        "callers",
        "till.py",
        "  4 Till.pay | return round_up(total)",
        "  17 settle | return round_up(basket.total)",
        "tests that reach it",
        "test_till.py:4-5 test_settle",
    ]
    _, lines = ask(server, "explore", about="settle")
    assert lines[lines.index("calls") + 1] == "till.py:12-13 round_up | def round_up(total)"
    _, lines = ask(server, "explore", about="Till.pay")
    assert lines[lines.index("heirs") + 1].startswith("till.py:8 Card")


def test_a_question_gets_the_same_of_the_definition_that_answers_best(server: Mcp) -> None:
    _, lines = ask(server, "explore", about="how is money taken for a basket")
    assert lines[0] == "till.py:2-4 Till.pay"
    assert "  4 Till.pay" not in "\n".join(lines)
    assert lines[lines.index("calls") + 1].startswith("till.py:12-13 round_up")


def test_a_name_that_nothing_has_is_told_and_answered_for_nothing_else(server: Mcp) -> None:
    head, lines = ask(server, "explore", about="setle")
    assert (head["status"], lines[0].split(" | ")[0]) == ("not_found", "till.py:16-17 settle")


def test_a_long_definition_is_cut_so_that_the_answer_keeps_its_length(server: Mcp) -> None:
    head, lines = ask(server, "explore", about="endless")
    assert tokens_in("\n".join(lines)) <= 1_900
    assert lines[-1] == "  … to line 902"
    assert head["limitsHit"][0]["field"] == "lines"


def test_the_other_modes_say_ways_tests_and_what_a_change_reaches(server: Mcp) -> None:
    _, lines = ask(server, "explore", about="test_settle", mode="path", to="round_up")
    assert [line.partition(" -> ")[2].split()[0] for line in lines if " -> " in line] == ["settle", "round_up"]
    _, lines = ask(server, "explore", about="round_up", mode="tests")
    assert lines == ["tests to run", "test_till.py | named_after"]
    _, lines = ask(server, "explore", about="round_up", mode="impact")
    assert "callers" in lines
    assert lines[-2:] == ["tests to run", "test_till.py | named_after"]
    head, _ = ask(server, "explore", mode="changes")
    assert head["status"] == "not_found"


@pytest.mark.parametrize("given", [{}, {"mode": "path", "about": "settle"}])
def test_what_is_missing_is_named(server: Mcp, given: dict[str, str]) -> None:
    text = server.parts("explore", **given)[0]
    assert json.loads(text)["error"]["code"] == "invalid_request"
    assert "missing" in json.loads(text)["error"]["message"]


@pytest.mark.parametrize("about", ["settle", "how is money taken for a basket", "Till", "nothing_of_this", "a b c"])
def test_the_envelope_has_its_schema(server: Mcp, about: str) -> None:
    envelope = json.loads(server.parts("explore", about=about, format="json")[0])
    validator("cairn.explore/1").validate(envelope)
