"""Our server in TOML settings: a table at the end, found again wherever and however it stands."""

from __future__ import annotations

import tomllib

import pytest

from cairn.core.limits import MAX_AGENT_TOML_BYTES
from cairn.install.edits import ServerEntry, Unfit, applied
from cairn.install.texts import TomlEntry

ENTRY = TomlEntry("mcp_servers", ServerEntry("/c/cairn", ("mcp",), (("CAIRN_HOME", '/h "x"\x7f'),)))


def take(text: str) -> str:
    splices = ENTRY.take(text)
    assert splices is not None
    return applied(text, splices)


def test_what_is_written_is_what_was_meant() -> None:
    after = applied("a = 1", ENTRY.put("a = 1") or ())
    assert after.startswith("a = 1\n\n[mcp_servers.cairn]\n")
    assert tomllib.loads(after)["mcp_servers"]["cairn"] == {
        "command": "/c/cairn",
        "args": ["mcp"],
        "env": {"CAIRN_HOME": '/h "x"\x7f'},
    }


OURS = 'command = "/c/cairn"\nargs = [\n  "mcp", # one\n]\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a = 1\n[mcp_servers.cairn]\n{OURS}# of b\n[b]\n", "a = 1\n# of b\n[b]\n"),
        (f"[mcp_servers . 'cairn'] # ours\n{OURS}[mcp_servers.cairn.env]\nA = 1\n[b]\n", "[b]\n"),
        ('[mcp_servers]\ncairn = { command = "cairn", args = ["mcp"] }\nb = {}\n', "[mcp_servers]\nb = {}\n"),
        ('mcp_servers.cairn.command = "cairn"\nmcp_servers.cairn.args = ["mcp"]\nx = "cairn"\n', 'x = "cairn"\n'),
        (f'x = """\n[mcp_servers.cairn]\n"""\n[mcp_servers.cairn]\n{OURS}', 'x = """\n[mcp_servers.cairn]\n"""\n'),
        (f"[mcp_servers.cairn]\n{OURS}".removesuffix("\n"), ""),
    ],
)
def test_the_entry_goes_however_it_is_written(text: str, left: str) -> None:
    assert ENTRY.is_ours(text)
    assert take(text) == left


def test_an_entry_in_one_line_with_others_is_left_to_its_owner() -> None:
    text = 'mcp_servers = { b = {}, cairn = { command = "cairn", args = ["mcp"] } }\n'
    with pytest.raises(Unfit, match="cannot be taken out of it without changing more"):
        ENTRY.take(text)
    with pytest.raises(Unfit, match="cannot be added to it without changing more"):
        ENTRY.put(text)
    with pytest.raises(Unfit, match="cannot be added to it without changing more"):
        ENTRY.put("mcp_servers = { b = {} }\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = 1\na = 2\n", "it is not valid TOML (line 2)"),
        ("mcp_servers = 1\n", "mcp_servers in it is not a table"),
        ("[[mcp_servers]]\n", "mcp_servers in it is not a table"),
        ('[mcp_servers.cairn]\ncommand = "rocks"\n', "it has a server called cairn that is not this program"),
        (".".join("a" * 30_000), "a key in it has too many parts"),
        (" . ".join(['"a"'] * 30_000) + " = 1", "a key in it has too many parts"),
        ("a = " + "[" * 50_000, "it is not valid TOML that can be read here"),
        ("a = " + "1" * 5_000, "it is not valid TOML that can be read here"),
        ("#" * (MAX_AGENT_TOML_BYTES + 1), "it is larger than 1,048,576 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason_and_in_no_time(text: str, why: str) -> None:
    with pytest.raises(Unfit) as refused:
        ENTRY.put(text)
    assert str(refused.value) == why


def test_a_number_that_is_none_agrees_with_itself() -> None:
    assert ENTRY.agrees("a = nan\n", "a = nan # x\n")
    assert not ENTRY.agrees("a = 1.0\n", "a = 1.00\n")
