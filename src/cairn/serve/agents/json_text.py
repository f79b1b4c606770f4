"""An entry in a JSON file as people keep them: with comments, commas too many, and an order of their own.

The text is edited, never written anew. Every edit is proven by reading both texts: but for our entry they mean the
same.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cairn.serve.agents.edits import NAME, Server, Splice, Unfit, applied, newline_of, whole_lines
from cairn.serve.agents.json_reading import Pairs, Span, has_comments, object_at, read, top_object

# What follows a bracket on its line and is no member: blanks and comments.
_AFTER_BRACKET = re.compile(r"(?:[ \t]|/\*(?:[^*\n]|\*(?!/))*+\*/)*+(?://[^\r\n]*+)?(?=\r?\n)")
_INDENT = re.compile(r"\n([ \t]*+)\Z")
_UNIT = "  "


class JsonEntry:
    """Our server under `table`, the object of all servers that an agent knows."""

    def __init__(self, table: str, server: Server, *, kind: str | None = None) -> None:
        self._table = table
        self._wanted = json_value(server, kind=kind)

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is there; None when it is. `Unfit` when the name is taken by another."""
        found = self._entries(text)
        if found and _is_as_wanted(found[0], self._wanted):
            return None
        if found and not _is_ours(found[0]):
            raise Unfit(f"it has a server called {NAME} that is not this program")
        splices = (self._replaced(text) if found else self._added(text),)
        after = applied(text, splices)
        if not self.agrees(text, after) or self._entries(after) != [_pairs(self._wanted)]:
            raise Unfit("an entry cannot be added to it without changing more")
        return splices

    def take(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is not there; None when it is not."""
        if not self._entries(text):
            return None
        splices = _cut(text, self._servers(text), NAME)
        after = applied(text, splices)
        if not self.agrees(text, after) or self._entries(after):
            raise Unfit(f"the entry {NAME} cannot be taken out of it without changing more")
        return splices

    def is_ours(self, text: str) -> bool:
        """Whether the entry is there and starts some `cairn mcp`."""
        return any(map(_is_ours, self._entries(text)))

    def agrees(self, before: str, after: str) -> bool:
        """Whether both texts mean the same but for our entry, and whoever can read the first can read the second."""
        old, new = read(before), read(after)
        try:
            return self._rest(old.tree) == self._rest(new.tree) and new.commas <= old.commas
        except RecursionError:
            # What is just not too deep to be read can be too deep to be compared.
            raise Unfit("it is nested too deeply") from None

    def is_empty(self, text: str) -> bool:
        """Whether there is neither a member left nor a comment."""
        return not has_comments(text) and not self._rest(read(text).tree) and not self._entries(text)

    def _rest(self, tree: Pairs | None) -> Pairs:
        """All members but our entry, and the table that holds it when it holds nothing else."""
        kept = [(key, _without(value) if key == self._table else value) for key, value in tree or ()]
        return Pairs(pair for pair in kept if pair != (self._table, Pairs()))

    def _entries(self, text: str) -> list[Any]:
        """Our entry, if it is there. `Unfit` when it cannot be told which is meant."""
        tree = read(text).tree or Pairs()
        tables = tree.values_of(self._table)
        if len(tables) > 1:
            raise Unfit(f"it has {self._table} more than once")
        if tables and not isinstance(tables[0], Pairs):
            raise Unfit(f"{self._table} in it is not an object")
        entries: list[Any] = tables[0].values_of(NAME) if tables else []
        if len(entries) > 1:
            raise Unfit(f"it has {NAME} more than once")
        return entries

    def _servers(self, text: str) -> Span:
        table = top_object(text).named(self._table)
        assert table is not None
        return object_at(text, table.value)

    def _replaced(self, text: str) -> Splice:
        member = self._servers(text).named(NAME)
        assert member is not None
        value = _written(self._wanted, text, _indent(text, member.start) or "", _unit(text, top_object(text)))
        return Splice(member.value, text[member.value : member.end], value)

    def _added(self, text: str) -> Splice:
        if read(text).tree is None:
            break_ = newline_of(text)
            start = break_ if text.strip("\ufeff") and not text.endswith("\n") else ""
            whole = json.dumps({self._table: {NAME: self._wanted}}, indent=2, ensure_ascii=False)
            return Splice(len(text), "", start + whole.replace("\n", break_) + break_)
        top = top_object(text)
        table = top.named(self._table)
        if table is None:
            return _first(text, top, self._table, {NAME: self._wanted}, top)
        return _first(text, object_at(text, table.value), NAME, self._wanted, top)


def json_value(server: Server, *, kind: str | None = None) -> dict[str, Any]:
    """The entry as agents with JSON settings want it."""
    typed = {"type": kind} if kind else {}
    env = {"env": dict(server.env)} if server.env else {}
    return {**typed, "command": server.command, "args": list(server.args), **env}


def _is_as_wanted(entry: object, wanted: dict[str, Any]) -> bool:
    """Whether it starts what we want; what else is set there is the user's business."""
    if not isinstance(entry, Pairs):
        return False
    env = entry.values_of("env")[-1:]
    set_there = set(env[0]) if env and isinstance(env[0], Pairs) and all(type(v) is str for _, v in env[0]) else set()
    same = all(entry.values_of(key) == [wanted[key]] for key in ("command", "args"))
    return same and set_there.issuperset(wanted.get("env", {}).items())


def _is_ours(entry: object) -> bool:
    """Whether some `cairn mcp` is started by it, if only from another place."""
    if not isinstance(entry, Pairs):
        return False
    return calls_cairn(entry.values_of("command")[-1:], entry.values_of("args")[-1:])


def calls_cairn(command: list[Any], args: list[Any]) -> bool:
    """Whether this is a call of `cairn mcp`, whatever its place and options."""
    words = [*command, *(args[0] if args and isinstance(args[0], list) else [])]
    named = [word.rpartition("/")[2] for word in words if isinstance(word, str)]
    return NAME in named and "mcp" in named


def _pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return Pairs((key, _pairs(inner)) for key, inner in value.items())
    return value


def _without(table: Any) -> Any:
    return Pairs(pair for pair in table if pair[0] != NAME) if isinstance(table, Pairs) else table


# --- writing ----------------------------------------------------------------------------------------------------------


def _first(text: str, into: Span, name: str, value: Any, top: Span) -> Splice:
    """The member as the first of its object: what comes after it stays as it is, to the comma."""
    unit, break_ = _unit(text, top), newline_of(text)
    after = _AFTER_BRACKET.match(text, into.start + 1)
    at = after.end() if after else into.start + 1
    if into.members and after:
        deep = _indent(text, into.members[0].start)
        deep = deep if deep is not None else unit
        return Splice(at, "", f"{break_}{deep}{_member(name, value, text, deep, unit)},")
    if into.members:
        # All on one line, or a line that begins with the bracket: ours goes in between.
        compact = json.dumps(value, ensure_ascii=False)
        return Splice(into.start + 1, "", f"{json.dumps(name)}: {compact}, ")
    base = _line_indent(text, into.start)
    written = f"{break_}{base}{unit}{_member(name, value, text, base + unit, unit)}"
    # The bracket that closes gets a line of its own, if it had none.
    closing = "" if after and _indent(text, into.close) is not None else f"{break_}{base}"
    return Splice(at if after else into.start + 1, "", written + closing)


def _member(name: str, value: Any, text: str, indent: str, unit: str) -> str:
    return f"{json.dumps(name)}: {_written(value, text, indent, unit)}"


def _written(value: Any, text: str, indent: str, unit: str) -> str:
    lines = json.dumps(value, indent=unit or _UNIT, ensure_ascii=False).split("\n")
    return f"{newline_of(text)}{indent}".join(lines)


def _indent(text: str, at: int) -> str | None:
    """The blanks before this place when nothing else is on its line, else None."""
    found = _INDENT.search(text, max(0, text.rfind("\n", 0, at)), at)
    return found[1] if found else None


def _line_indent(text: str, at: int) -> str:
    """The blanks that the line of this place begins with."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, top: Span) -> str:
    """By how much this file indents."""
    first = _indent(text, top.members[0].start) if top.members else None
    return first or _UNIT


def _cut(text: str, within: Span, name: str) -> tuple[Splice, ...]:
    """The changes that take one member away, and the comma that it needed."""
    place = next(at for at, member in enumerate(within.members) if member.name == name)
    member = within.members[place]
    start, end = whole_lines(text, member.start, member.end if member.comma is None else member.comma + 1)
    if member.comma is not None and text[member.end : member.comma].strip():
        # A comment between the value and its comma stays, the comma goes on its own.
        start, end = member.start, member.end
        return Splice(start, text[start:end], ""), Splice(member.comma, ",", "")
    cuts = [Splice(start, text[start:end], "")]
    before = within.members[place - 1].comma if place and member.comma is None else None
    if before is not None:
        cuts.insert(0, Splice(before, ",", ""))
    return tuple(cuts)
