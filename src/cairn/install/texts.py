"""JSON with comments and commas too many: what it means, to the order and the digits, and where its members stand."""

from __future__ import annotations

import json
import re
import tomllib
from functools import lru_cache
from typing import Any, NamedTuple

from cairn.core.limits import MAX_AGENT_TOML_BYTES
from cairn.install.edits import NAME, ServerEntry, Splice, Unfit, applied, newline_of, whole_lines

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_COMMENT = r"//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)"
# Each branch ends at the end of the text too: what is not closed is looked at once.
_HIDDEN = re.compile(f"{_STRING}|{_COMMENT}", re.DOTALL)
_COMMAS = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])", re.DOTALL)
_JSON_TOKENS = re.compile(rf'{_STRING}|{_COMMENT}|[{{}}\[\],:]|[^\s"{{}}\[\],:/]++', re.DOTALL)


class Pairs(tuple[tuple[str, Any], ...]):
    """The members of an object in their order, those with the same name too."""

    __slots__ = ()

    def values_of(self, name: str) -> list[Any]:
        return [value for key, value in self if key == name]


class Member(NamedTuple):
    """A member of an object: where it begins, where its value stands, and the comma after it."""

    name: str
    start: int
    value: int
    end: int
    comma: int | None


class ObjectSpan(NamedTuple):
    """An object from bracket to bracket."""

    start: int
    members: list[Member]
    close: int

    def named(self, name: str) -> Member | None:
        return next((member for member in self.members if member.name == name), None)


class ObjectReading(NamedTuple):
    """The object in a text, None when there is nothing but blanks and comments; and how many commas are too many.

    Some readers forgive those and others do not.
    """

    tree: Pairs | None
    commas: int


@lru_cache(maxsize=2)
def read(text: str) -> ObjectReading:
    """What the text means. A file can be large, and each of the two texts of an edit is asked about several times."""
    commas = 0

    def shown(found: re.Match[str]) -> str:
        if found[0][0] == '"':
            return found[0]
        if found[0][1] == "*" and (len(found[0]) < 4 or not found[0].endswith("*/")):
            raise Unfit("a comment in it is not closed")
        # The lines are counted when something is wrong behind it.
        return "\n" * found[0].count("\n") or " "

    def one_less(found: re.Match[str]) -> str:
        nonlocal commas
        commas += found[0] == ","
        return "" if found[0] == "," else found[0]

    bare = _HIDDEN.sub(shown, text.removeprefix("\ufeff"))
    if not bare.strip():
        return ObjectReading(None, 0)
    try:
        tree = json.loads(
            _COMMAS.sub(one_less, bare), object_pairs_hook=Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
    except json.JSONDecodeError as problem:
        # Only the line is told: the message of the parser could quote the file.
        raise Unfit(f"it is not valid JSON (line {problem.lineno})") from None
    except RecursionError:
        raise Unfit("it is nested too deeply") from None
    if not isinstance(tree, Pairs):
        raise Unfit("it is not a JSON object")
    return ObjectReading(tree, commas)


def top_object(text: str) -> ObjectSpan:
    """The whole object of a text that can be read."""
    tokens = _JSON_TOKENS.finditer(text, text.startswith("\ufeff"))
    return object_at(text, next(found.start() for found in tokens if found[0][0] != "/"))


def object_at(text: str, start: int) -> ObjectSpan:
    """The members of the object that opens at `start` of a text that can be read."""
    members: list[Member] = []
    depth, key, value, end = 0, None, -1, -1
    for token in _JSON_TOKENS.finditer(text, start):
        at = token.start()
        sign = text[at]
        if sign == "/":
            continue
        if sign in "}]":
            depth -= 1
        if depth == 0 and sign == "}":
            if key is not None:
                members.append(Member(json.loads(text[key[0] : key[1]], strict=False), key[0], value, end, None))
            return ObjectSpan(start, members, at)
        if depth == 1:
            if sign == ",":
                assert key is not None
                members.append(Member(json.loads(text[key[0] : key[1]], strict=False), key[0], value, end, at))
                key, value = None, -1
            elif key is None:
                key = at, token.end()
            elif sign != ":":
                value, end = (at if value < 0 else value), token.end()
        if sign in "{[":
            depth += 1
    raise Unfit("it is not valid JSON")


def has_comments(text: str) -> bool:
    """Whether somebody has written a comment in it."""
    return any(found[0][0] == "/" for found in _HIDDEN.finditer(text))


# --- An entry in a JSON file as people keep them: with comments, commas too many, and an order of their own.


# What follows a bracket on its line and is no member: blanks and comments.
_AFTER_BRACKET = re.compile(r"(?:[ \t]|/\*(?:[^*\n]|\*(?!/))*+\*/)*+(?://[^\r\n]*+)?(?=\r?\n)")
_INDENT = re.compile(r"\n([ \t]*+)\Z")
_UNIT = "  "


class JsonEntry:
    """Our server under `table`, the object of all servers that an agent knows."""

    def __init__(self, table: str, server: ServerEntry, *, kind: str | None = None) -> None:
        self._table = table
        self._wanted = json_value(server, kind=kind)

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is there; None when it is. `Unfit` when the name is taken by another."""
        found = self._entries(text)
        if found and _is_as_wanted(found[0], self._wanted):
            return None
        if found and not _is_our_json(found[0]):
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
        return any(map(_is_our_json, self._entries(text)))

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

    def _servers(self, text: str) -> ObjectSpan:
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


def json_value(server: ServerEntry, *, kind: str | None = None) -> dict[str, Any]:
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


def _is_our_json(entry: object) -> bool:
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


def _first(text: str, into: ObjectSpan, name: str, value: Any, top: ObjectSpan) -> Splice:
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


def _unit(text: str, top: ObjectSpan) -> str:
    """By how much this file indents."""
    first = _indent(text, top.members[0].start) if top.members else None
    return first or _UNIT


def _cut(text: str, within: ObjectSpan, name: str) -> tuple[Splice, ...]:
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


# --- An entry in a TOML file: a table of its own at the end. The text is edited, never written anew.


# Its reader takes quadratic time for `a.a.a.a...`.
_DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}""")
_TOML_TOKENS = re.compile(
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

    def __init__(self, table: str, server: ServerEntry) -> None:
        self._table = table
        self._wanted: dict[str, Any] = {"command": server.command, "args": list(server.args)}
        if server.env:
            self._wanted["env"] = dict(server.env)

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the entry is there; None when it is. `Unfit` when the name is taken by another."""
        entry = self._entry(_read(text))
        if isinstance(entry, dict) and all(entry.get(key) == value for key, value in self._wanted.items()):
            return None
        if entry is not None and not _is_our_toml(entry):
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
        return _is_our_toml(self._entry(_read(text)))

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


def _is_our_toml(entry: Any) -> bool:
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
    for token in _TOML_TOKENS.finditer(text):
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


# --- A block of text between two marks, in a page that people write: instructions for agents.


BEGIN = "<!-- cairn:begin - `cairn uninstall` removes what stands up to the end mark -->"
END = "<!-- cairn:end -->"
_MARKS = re.compile(r"^<!-- cairn:(begin|end)\b[^\n]*?-->[ \t]*+\r?$", re.MULTILINE)


class Block:
    """Our lines between their marks; everything around them is somebody else's."""

    def __init__(self, lines: str) -> None:
        self._lines = [BEGIN, *lines.strip().split("\n"), END]

    def put(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the block is there as it should be; None when it is."""
        break_ = newline_of(text)
        wanted = break_.join(self._lines)
        span = _span(text)
        if span is None:
            ended = break_ if text and not text.endswith("\n") else ""
            apart = break_ if text.strip() else ""
            return (Splice(len(text), "", ended + apart + wanted + break_),)
        found = text[slice(*span)]
        return None if found == wanted else (Splice(span[0], found, wanted),)

    def take(self, text: str) -> tuple[Splice, ...] | None:
        """What to change so that the block is not there; None when it is not."""
        span = _span(text)
        if span is None:
            return None
        start, end = span
        if text.startswith(("\n", "\r\n"), end):
            end = text.index("\n", end) + 1
        return (Splice(start, text[start:end], ""),)

    def is_ours(self, text: str) -> bool:
        """Whether the block is there."""
        return _span(text) is not None

    def agrees(self, before: str, after: str) -> bool:
        """Whether both have the same lines but for ours; how many empty ones stand between them is no matter."""
        return _others(before) == _others(after)

    def is_empty(self, text: str) -> bool:
        """Whether nothing is left."""
        return not text.strip()


def _others(text: str) -> list[str]:
    start, end = _span(text) or (len(text), len(text))
    return [line for line in [*text[:start].splitlines(), *text[end:].splitlines()] if line.strip()]


def _span(text: str) -> tuple[int, int] | None:
    """From the first mark to the last, None when there are none. `Unfit` when they are not one pair."""
    marks = list(_MARKS.finditer(text))
    if not marks:
        return None
    if [mark[1] for mark in marks] != ["begin", "end"]:
        raise Unfit("the marks of the block are not one pair")
    return marks[0].start(), marks[1].end() - marks[1][0].endswith("\r")
