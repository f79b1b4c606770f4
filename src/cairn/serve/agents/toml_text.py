"""An entry in a TOML file: a table of its own at the end. The text is edited, never written anew.

Every edit is proven by reading both texts: besides our entry they mean the same.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, NamedTuple

from cairn.limits import MAX_AGENT_TOML_BYTES
from cairn.serve.agents.edits import NAME, Server, Splice, Unfit, applied, newline_of
from cairn.serve.agents.json_text import calls_cairn

# Its reader takes quadratic time for `a.a.a.a...`.
_DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}""")
_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+|\n|[\[\]{}]|[^\s\"'#\[\]{}]++",
    re.DOTALL,
)


class _Statement(NamedTuple):
    """A header, or a key with its value, and the lines that it stands on."""

    text: str
    start: int
    end: int
    is_header: bool


class TomlEntry:
    """Our server as `[TABLE.cairn]`."""

    def __init__(self, table: str, server: Server) -> None:
        self._table = table
        self._wanted: dict[str, Any] = {"command": server.command, "args": list(server.args)}
        if server.env:
            self._wanted["env"] = dict(server.env)

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is there; None when it is. `Unfit` when the name is taken by another."""
        entry = self._entry(_read(text))
        if isinstance(entry, dict) and all(entry.get(key) == value for key, value in self._wanted.items()):
            return None
        if entry is not None and not _is_ours(entry):
            raise Unfit(f"it has a server called {NAME} that is not this program")
        break_ = newline_of(text)
        splices = self._replaced(text, break_) if entry is not None else self._added(text, break_)
        try:
            after = applied(text, splices)
            proven = self.agrees(text, after) and self._entry(_read(after)) == self._wanted
        except Unfit:
            proven = False
        if not proven:
            raise Unfit("an entry cannot be added to it without changing more")
        return splices

    def take(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is not there; None when it is not."""
        if self._entry(_read(text)) is None:
            return None
        splices = tuple(Splice(one.start, text[one.start : one.end], "") for one in self._statements(text))
        try:
            after = applied(text, splices)
            proven = self.agrees(text, after) and self._entry(_read(after)) is None
        except Unfit:
            proven = False
        if not proven:
            raise Unfit(f"the entry {NAME} cannot be taken out of it without changing more")
        return splices

    def is_ours(self, text: str) -> bool:
        """Whether the entry is there and starts some `cairn mcp`."""
        return _is_ours(self._entry(_read(text)))

    def agrees(self, before: str, after: str) -> bool:
        """Whether both texts mean the same but for our entry."""
        return self._rest(before) == self._rest(after)

    def _rest(self, text: str) -> dict[str, Any]:
        """All that the text means but our entry, and the table that holds it when it holds nothing else."""
        tree = _read(text)
        table = tree.get(self._table)
        if not isinstance(table, dict):
            return tree
        kept = {key: value for key, value in table.items() if key != NAME}
        return {key: kept if key == self._table else value for key, value in tree.items() if value is not table or kept}

    def is_empty(self, text: str) -> bool:
        """Whether nothing is left, not even a comment."""
        return not text.strip()

    def _entry(self, tree: dict[str, Any]) -> Any:
        table = tree.get(self._table, {})
        if not isinstance(table, dict):
            raise Unfit(f"{self._table} in it is not a table")
        return table.get(NAME)

    def _written(self, break_: str) -> str:
        lines = [f"[{self._table}.{NAME}]"]
        for key, value in self._wanted.items():
            if isinstance(value, dict):
                inner = ", ".join(f"{name} = {_string(text)}" for name, text in value.items())
                lines.append(f"{key} = {{ {inner} }}")
            elif isinstance(value, list):
                lines.append(f"{key} = [{', '.join(map(_string, value))}]")
            else:
                lines.append(f"{key} = {_string(value)}")
        return "".join(line + break_ for line in lines)

    def _added(self, text: str, break_: str) -> tuple[Splice, ...]:
        ended = break_ if text and not text.endswith("\n") else ""
        apart = break_ if text.strip() else ""
        return (Splice(len(text), "", ended + apart + self._written(break_)),)

    def _replaced(self, text: str, break_: str) -> tuple[Splice, ...]:
        """The new entry in place of the old, which is one piece of text as we write it; `put` refuses any other."""
        ours = self._statements(text)
        if not ours:
            raise Unfit("an entry cannot be added to it without changing more")
        start, end = ours[0].start, ours[-1].end
        return (Splice(start, text[start:end], self._written(break_)),)

    def _statements(self, text: str) -> list[_Statement]:
        """All statements that are a part of our entry."""
        ours: list[_Statement] = []
        header: tuple[str, ...] = ()
        for statement in _statements(text):
            if statement.is_header:
                header = _keys(statement.text)
                path = header
            elif header[:2] == (self._table, NAME):
                path = header
            elif NAME not in statement.text:
                continue
            else:
                path = (*header, *_keys(statement.text))
            if path[:2] == (self._table, NAME):
                ours.append(statement)
        return ours


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and calls_cairn([entry.get("command")], [entry.get("args")])


def _string(text: str) -> str:
    """A TOML string; what JSON escapes is escaped alike, and one character more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read(text: str) -> dict[str, Any]:
    if len(text) > MAX_AGENT_TOML_BYTES:
        raise Unfit(f"it is larger than {MAX_AGENT_TOML_BYTES:,} bytes")
    if _DEEP.search(text):
        raise Unfit("a key in it has too many parts")
    try:
        # Numbers stay text: one that is not a number is not even equal to itself.
        return tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as problem:
        place = re.search(r"\(at line (\d+)", str(problem))
        raise Unfit(f"it is not valid TOML (line {place[1]})" if place else "it is not valid TOML") from None
    except (ValueError, RecursionError):
        raise Unfit("it is not valid TOML that can be read here") from None


def _statements(text: str) -> list[_Statement]:
    """The statements of a text that can be read, each with the whole of its lines."""
    found: list[_Statement] = []
    start, end, depth = -1, -1, 0
    line = 0
    for token in _TOKENS.finditer(text):
        sign = text[token.start()]
        if sign == "\n":
            if start >= 0 and depth == 0:
                found.append(_Statement(text[start:end], line, token.end(), text[start] == "["))
                start = -1
            if start < 0:
                line = token.end()
            continue
        if sign == "#":
            continue
        if start < 0:
            start = token.start()
        depth += (sign in "[{") - (sign in "]}")
        end = token.end()
    if start >= 0:
        found.append(_Statement(text[start:end], line, len(text), text[start] == "["))
    return found


def _keys(statement: str) -> tuple[str, ...]:
    """The keys that a statement leads through; those of the value after them too, which nobody asks for."""
    try:
        value: Any = tomllib.loads(statement)
    except (ValueError, RecursionError):
        return ()
    keys: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        keys.append(key)
    return tuple(keys)
