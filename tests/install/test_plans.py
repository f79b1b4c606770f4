"""An install is taken back to the byte, and what was edited since stays."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.install.edits import EntryFormat, ServerEntry, Splice
from cairn.install.known import SettingsScope, agents
from cairn.install.plans import (
    INSTRUCTIONS,
    PAGE,
    SERVER,
    Change,
    FileOutcome,
    plan_install,
    plan_uninstall,
    targets,
    undone,
)
from cairn.install.texts import Block, JsonEntry, TomlEntry
from tests.install import settings
from tests.install.settings import MANY, PAGES, json_texts, put, toml_texts, written

JSON = JsonEntry("mcpServers", settings.SERVER)
TOML = TomlEntry("mcp_servers", settings.SERVER)
BLOCK = Block(INSTRUCTIONS)
ANY: st.SearchStrategy[tuple[EntryFormat, str]] = st.one_of(
    st.tuples(st.just(JSON), json_texts()), st.tuples(st.just(TOML), toml_texts()), st.tuples(st.just(BLOCK), PAGES)
)


@MANY
@given(ANY)
def test_an_install_is_taken_back_to_the_byte(found: tuple[EntryFormat, str]) -> None:
    entry, text = found
    after, record = put(entry, text)
    assert entry.put(after) is None
    assert entry.agrees(text, after)
    assert undone(record, after, entry) == text


@MANY
@given(ANY, st.booleans())
def test_text_that_was_added_since_stays_to_the_byte_and_only_ours_goes(
    found: tuple[EntryFormat, str], front: bool
) -> None:
    entry, text = found
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    note = "// mine\n" if entry is JSON else "# mine\n"

    def edited(old: str) -> str:
        body = old.removeprefix(mark)
        return mark + note + body if front else mark + body + "\n" + note

    after, record = put(entry, text)
    assert undone(record, edited(after), entry) == edited(text)


@MANY
@given(json_texts(), st.sampled_from([None, 1, 4]))
def test_settings_that_their_agent_wrote_anew_lose_our_entry_and_nothing_else(text: str, indent: int | None) -> None:
    """Claude Code writes its file on every start, in an order and with blanks of its own, and puts servers in it."""
    after, record = put(JSON, text)
    tree = _plain(after)
    tree["mcpServers"] = {"first": {"command": "x"}, **tree["mcpServers"], "last": {"command": "y"}}
    anew = json.dumps(tree, indent=indent)
    left = json.loads(undone(record, anew, JSON))
    del tree["mcpServers"]["cairn"]
    assert left == tree


@MANY
@given(toml_texts(), st.booleans())
def test_a_key_that_was_added_to_our_table_goes_with_it_and_does_not_fall_to_another(text: str, far: bool) -> None:
    after, record = put(TOML, text)
    end = "\r\n" if after.endswith("\r\n") else "\n"
    added = f"startup_timeout_sec = 20{end}" + (f"[mcp_servers.cairn.env]{end}A = 1{end}" if far else "")
    left = undone(record, after + added, TOML)
    assert TOML.agrees(left, text)
    assert "startup_timeout_sec" not in left


def test_a_record_that_lies_cannot_change_what_is_not_ours() -> None:
    """Whoever can write in the user's folder could say that anything was written by us."""
    text = '{"mcpServers": {"a": {"command": "safe"}}}'
    lie = written((Splice(text.index("safe"), "evil", "safe"),), text)
    assert undone(lie, text, JSON) == text


def test_an_entry_of_somebody_else_that_took_our_name_stays() -> None:
    after, record = put(JSON, "{}")
    other = after.replace("/opt/bin/cairn", "/bin/other").replace('"mcp"', '"serve"')
    assert undone(record, other, JSON) == other


def _plain(text: str) -> dict[str, dict[str, object]]:
    """The value of a text with comments, by the one reader that is not under test."""
    from cairn.syntax.settings import json_of

    found = json_of(text)
    assert isinstance(found, dict)
    return found


# --- with files -------------------------------------------------------------------------------------------------------


class Project:
    """A folder with the settings of one agent in it."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root.resolve()
        self._agent = agents({"HOME": "/nonexistent"})[name]
        self.file = Path(self._agent.file(SettingsScope.PROJECT, str(self.root)))

    def plan(self, *, command: str = "/opt/bin/cairn", known: Change | None = None, kind: str = SERVER) -> Change:
        (target,) = targets([self._agent], SettingsScope.PROJECT, str(self.root), kind, ServerEntry(command, ("mcp",)))
        record = {known.written.key: known.written} if known and known.written else {}
        return plan_install(target, SettingsScope.PROJECT, str(self.root), record)

    def back(self, change: Change) -> Change:
        assert change.written is not None
        return plan_uninstall(change.written, change.agents, self._agent.format(ServerEntry("", ())))


def save(change: Change) -> None:
    path = Path(change.found.path)
    if change.after is None:
        path.unlink()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(change.after)


@pytest.mark.parametrize("name", ["claude", "codex", "cursor", "vscode"])
def test_a_file_that_was_not_there_is_made_and_goes_again(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path, name)
    change = project.plan()
    assert change.outcome is FileOutcome.ADDED
    assert change.found.data is None
    save(change)
    assert project.plan(known=change).outcome is FileOutcome.PRESENT
    back = project.back(change)
    assert (back.outcome, back.after) == (FileOutcome.REMOVED, None)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_new_place_of_the_program_replaces_the_entry_and_the_first_text_still_comes_back(
    tmp_path: Path, name: str
) -> None:
    project = Project(tmp_path, name)
    original = b"{ }" if name == "claude" else b"# mine"
    project.file.parent.mkdir(exist_ok=True)
    project.file.write_bytes(original)
    first = project.plan()
    save(first)
    second = project.plan(command="/new/cairn", known=first)
    assert second.outcome is FileOutcome.CHANGED
    assert second.after is not None
    assert b"/new/cairn" in second.after
    assert b"/opt/bin/cairn" not in second.after
    save(second)
    assert project.back(second).after == original


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_entry_that_no_record_knows_is_replaced_in_place_and_comes_back(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path, name)
    save(project.plan(command="/old/cairn"))
    old = project.file.read_bytes()
    change = project.plan()
    assert change.outcome is FileOutcome.CHANGED
    save(change)
    assert project.back(change).after == old


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"a": }', "it is not valid JSON (line 1)"),
        (b"[]", "it is not a JSON object"),
        (b'{"a": "\xff"}', "byte 8 is not UTF-8"),
        (b'{"mcpServers": {}, "mcpServers": {}}', "it has mcpServers more than once"),
        (b'{"mcpServers": {"cairn": {}, "cairn": {}}}', "it has cairn more than once"),
        (b'{"mcpServers": []}', "mcpServers in it is not an object"),
        (b'{"mcpServers": {"cairn": {"command": "rocks"}}}', "it has a server called cairn that is not this program"),
        (b"{} /* open", "a comment in it is not closed"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "it is nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_left_as_it_is(tmp_path: Path, content: bytes, why: str) -> None:
    project = Project(tmp_path, "claude")
    project.file.write_bytes(content)
    change = project.plan()
    assert (change.outcome, change.why, change.writes) == (FileOutcome.REFUSED, why, False)


def test_doubled_keys_elsewhere_are_nobodys_business(tmp_path: Path) -> None:
    project = Project(tmp_path, "claude")
    project.file.write_bytes(b'{"a": 1, "a": 2}')
    change = project.plan()
    assert change.after is not None
    assert change.after.endswith(b'"a": 1, "a": 2}')


def test_settings_of_ten_megabytes_are_edited_as_any_other(tmp_path: Path) -> None:
    project = Project(tmp_path, "claude")
    project.file.write_text(json.dumps({"history": ["x" * 90] * 100_000}))
    original = project.file.read_bytes()
    change = project.plan()
    assert change.outcome is FileOutcome.ADDED
    save(change)
    assert project.back(change).after == original


def test_a_path_that_is_not_utf_8_is_not_written(tmp_path: Path) -> None:
    change = Project(tmp_path, "claude").plan(command=os.fsdecode(b"/\xff/cairn"))
    assert (change.outcome, change.why) == (FileOutcome.REFUSED, "the path that belongs there is not UTF-8")


def test_a_page_that_two_agents_read_is_planned_once_and_kept_while_one_needs_it(tmp_path: Path) -> None:
    known = agents({"HOME": "/nonexistent"})
    both = [known["codex"], known["cursor"]]
    (target,) = targets(both, SettingsScope.PROJECT, str(tmp_path.resolve()), PAGE, ServerEntry("", ()))
    change = plan_install(target, SettingsScope.PROJECT, str(tmp_path.resolve()), {})
    save(change)
    assert change.written is not None
    kept = plan_uninstall(change.written, {"codex"}, BLOCK)
    assert (kept.outcome, kept.agents, kept.why) == (FileOutcome.KEPT, ("codex",), "cursor")
    assert kept.written is not None
    assert plan_uninstall(kept.written, {"cursor"}, BLOCK).after is None
