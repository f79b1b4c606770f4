"""Our server in JSON settings: the text around it stays, and what it means too."""

from __future__ import annotations

import json

import pytest

from cairn.install.edits import ServerEntry, Unfit, applied
from cairn.install.texts import JsonEntry, calls_cairn

ENTRY = JsonEntry("mcpServers", ServerEntry("/c/cairn", ("mcp",)))
OURS = '"cairn": {"command": "/c/cairn", "args": ["mcp"]}'


def put(text: str, entry: JsonEntry = ENTRY) -> str:
    splices = entry.put(text)
    assert splices is not None
    return applied(text, splices)


def take(text: str) -> str:
    splices = ENTRY.take(text)
    assert splices is not None
    return applied(text, splices)


def test_the_entry_comes_first_with_the_indentation_of_the_file() -> None:
    text = '{\n\t"a": 1,\n\t"mcpServers": { // all\n\t\t"b": {} // b\n\t}\n}\n'
    assert put(text) == (
        '{\n\t"a": 1,\n\t"mcpServers": { // all\n\t\t"cairn": {\n\t\t\t"command": "/c/cairn",\n\t\t\t"args": [\n'
        '\t\t\t\t"mcp"\n\t\t\t]\n\t\t},\n\t\t"b": {} // b\n\t}\n}\n'
    )


def test_a_file_on_one_line_stays_on_one_line() -> None:
    assert put('{"mcpServers":{"b":{}}}') == '{"mcpServers":{' + OURS + ', "b":{}}}'


def test_a_file_of_blanks_or_comments_gets_an_object() -> None:
    for text in ("", "\n", "// mine", "/* mine */\r\n", "\ufeff"):
        after = put(text)
        assert after.startswith(text)
        assert json.loads(after[after.index("{") :])["mcpServers"]["cairn"]["command"] == "/c/cairn"


def test_a_bracket_in_a_comment_is_no_bracket() -> None:
    assert put('// {"mcpServers": {\n{}').startswith('// {"mcpServers": {\n{\n  "mcpServers"')


def test_line_ends_stay_what_they_are() -> None:
    assert "\n" not in put('{\r\n  "a": 1\r\n}\r\n').replace("\r\n", "")


def test_what_was_set_in_the_entry_by_hand_is_no_reason_to_write() -> None:
    entry = JsonEntry("mcpServers", ServerEntry("/c/cairn", ("mcp",), (("CAIRN_HOME", "/h"),)))
    mine = '{"command": "/c/cairn", "args": ["mcp"], "timeout": 5, "env": {"A": "b", "CAIRN_HOME": "/h"}}'
    assert entry.put('{"mcpServers": {"cairn": ' + mine + "}}") is None
    assert "/h" in put(('{"mcpServers": {"cairn": ' + mine + "}}").replace("/h", "/other"), entry)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"mcpServers": {' + OURS + "}}", '{"mcpServers": {}}'),
        ('{"mcpServers": {' + OURS + ', "b": 1}}', '{"mcpServers": {"b": 1}}'),
        ('{"mcpServers": {"b": 1, ' + OURS + "}}", '{"mcpServers": {"b": 1 }}'),
        ('{"mcpServers": {"b": 1, ' + OURS + ",}}", '{"mcpServers": {"b": 1, }}'),
        ('{"mcpServers": {\n  "b": 1, // b\n  ' + OURS + "\n}}", '{"mcpServers": {\n  "b": 1 // b\n}}'),
        ('{"mcpServers": {' + OURS + " /* c */, // d\n}}", '{"mcpServers": { /* c */ // d\n}}'),
    ],
)
def test_only_the_entry_goes_and_the_comma_that_it_needed(text: str, left: str) -> None:
    assert take(text) == left


def test_a_text_with_a_comma_more_does_not_agree() -> None:
    """Claude Code does not forgive it, though we would."""
    assert not ENTRY.agrees('{"a": 1}', '{"a": 1,}')
    assert ENTRY.agrees('{"a": 1,}', '{"a": 1}')


def test_order_doubles_and_digits_are_compared_too() -> None:
    for other in ('{"b": 1, "a": 1}', '{"a": 1, "b": 1, "b": 1}', '{"a": 1, "b": 1.0}', '{"a": [["b", 1]]}'):
        assert not ENTRY.agrees('{"a": 1, "b": 1}', other)


@pytest.mark.parametrize("text", ['"' * 200_001, "/*" * 200_000, '"' + '\\"' * 200_000, ",  " * 200_000, "{" * 200_000])
def test_hostile_text_is_refused_in_no_time(text: str) -> None:
    """Each of these takes hours with a pattern that goes back to try again."""
    with pytest.raises(Unfit):
        ENTRY.put(text)


def test_a_call_of_cairn_is_told_from_others() -> None:
    assert calls_cairn(["/a/b/cairn"], [["mcp", "--root", "/x"]])
    assert calls_cairn(["/usr/bin/python3"], [["-P", "-m", "cairn", "mcp"]])
    assert not calls_cairn(["/a/cairn"], [["serve"]])
    assert not calls_cairn([None], [None])
    assert not calls_cairn(["npx"], [["cairn-other", "mcp"]])


@pytest.mark.parametrize("depth", [200, *range(900, 1_000, 9), 50_000])
@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_edited_or_refused(depth: int, opens: str, closes: str) -> None:
    text = '{"a":' + opens * depth + "1" + closes * depth + "}"
    try:
        after = put(text)
    except Unfit:
        assert depth > 200
    else:
        assert take(after).endswith(text[1:])
