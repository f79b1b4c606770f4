"""How an agent plays a task with Cairn's tools alone: the tool that its description names for this, then the next page.

The server is the command that agents start, `cairn mcp` over stdio.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from bench.agents.tasks import Played, Task
from cairn.search.budget import tokens_in

_TEST = re.compile(r"(^|/)(tests?|runtime-tests)/|test", re.IGNORECASE)
_MOST_PAGES = 10


_TOP = re.compile(r"(?P<path>\S[^:|]*):(?P<first>\d+)(-(?P<last>\d+))?(?P<rest>( .*)?)")
_INDENTED = re.compile(r"  (?P<first>\d+)(-(?P<last>\d+))?(?P<rest>( .*)?)")
_NUMBERS = re.compile(r"(?P<path>\S[^:|]*):(?P<lines>\d+(,\d+)+)")
_USES = re.compile(r"(?P<kind>\w+), (proven|likely|name_only)")
_OTHERS = frozenset({"others of this name", "similar names"})


class Place(NamedTuple):
    """A place as an agent reads it. `kind` is the heading above it: what is done there with what was asked about."""

    path: str
    first: int
    last: int
    name: str
    code: str
    kind: str

    @property
    def said(self) -> str:
        return f"{self.path}:{self.first}"

    @property
    def span(self) -> str:
        return f"{self.path}:{self.first}-{self.last}"


class Reply(NamedTuple):
    """What a tool answered: what an agent should know of it, its lines, and how much an agent reads."""

    head: Mapping[str, Any]
    text: str
    characters: int

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def places(self, *, grouped: bool = True) -> list[Place]:
        """Return the places that the answer names; not `grouped`, what is indented is code."""
        found, path, kind = [], "", ""
        for line in self.lines:
            if several := _NUMBERS.fullmatch(line):
                each = map(int, several["lines"].split(","))
                found += [Place(several["path"], number, number, "", "", kind) for number in each]
                continue
            use, top, inner = _USES.fullmatch(line), _TOP.fullmatch(line), _INDENTED.fullmatch(line)
            if use is not None or line in _OTHERS:
                kind = line if use is None else use["kind"]
            elif top is not None or (inner is not None and grouped):
                match = top or inner
                assert match is not None
                path = match["path"] if top else path
                name, _, code = match["rest"].strip().partition(" | ")
                first = int(match["first"])
                found.append(Place(path, first, int(match["last"] or first), name, code, kind))
            elif not line.startswith(" "):
                path = line
        return [one for one in found if one.kind not in _OTHERS]


class Server:
    """A `cairn mcp` that serves one tree, with an index of its own."""

    def __init__(self, tree: Path, home: Path) -> None:
        command = [sys.executable, "-m", "cairn", "mcp", "--offline", "--root", str(tree)]
        environ = os.environ | {"CAIRN_HOME": str(home)}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
        self._last = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        # The index is made when the server starts; an agent would ask again as well.
        while self.call("find_symbol", {"name": "main"}).head["status"] == "not_ready" or self._works():
            time.sleep(0.2)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)

    def _works(self) -> bool:
        told = self.call("index_status", {}).head
        return told["status"] != "ok" or bool(told.get("is_indexing"))

    def tools(self) -> str:
        """Return the list of tools, as an agent gets it."""
        return json.dumps(self._ask("tools/list", {})["tools"], separators=(",", ":"), ensure_ascii=False)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Return what a tool answers."""
        found = self._ask("tools/call", {"name": tool, "arguments": arguments})
        head, *more = [part["text"] for part in found["content"]]
        return Reply(json.loads(head), "\n".join(more), len(head) + sum(map(len, more)))

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if told.get("id") == self._last:
                result: dict[str, Any] = told["result"]
                return result
        raise RuntimeError("the server has ended")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


class Tools:
    """One task, played with the tools of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.calls = self.characters = 0
        self.paid: list[tuple[str, int]] = []

    def play(self, task: Task) -> Played:
        """Return what was found and what it cost."""
        said, first = getattr(self, f"_{task.kind}")(task)
        return Played(self.calls, self.characters, tuple(said), tuple(first), tuple(self.paid))

    def _call(self, tool: str, **arguments: Any) -> Reply:
        reply = self._server.call(tool, arguments)
        self.calls += 1
        self.characters += reply.characters
        self.paid.append((tool, tokens_in(json.dumps(reply.head, separators=(",", ":"))) + tokens_in(reply.text)))
        return reply

    # --- the kinds of tasks -------------------------------------------------------------------------------------------

    def _definitions(self, name: str) -> list[Place]:
        return [one for one in self._call("find_symbol", name=name).places() if _last(one.name) == name]

    def _define(self, task: Task) -> tuple[list[str], list[str]]:
        said = [one.said for one in self._definitions(task.subject)]
        return said, said

    def _uses(self, name: str, **more: str) -> tuple[list[Reply], Reply]:
        """All pages of the uses of a definition; those that only have its name, when there are no surer ones."""
        first = self._call("find_symbol", name=name, references=True, **more)
        pages = [first]
        if not any(one.kind for one in first.places()) and "name_only" in first.text:
            pages = [self._call("find_symbol", name=name, references=True, minTier="name_only", **more)]
        while (following := pages[-1].head.get("hints", {}).get("continuation")) and len(pages) < _MOST_PAGES:
            pages.append(self._call(following["tool"], **following["args"]))
        return pages, first

    def _calls(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject, role="call")
        return [place for page in pages for place in _used(page)], _used(first)

    def _rename(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject)
        written = [one.said for one in first.places() if not one.kind]
        return [*written, *(place for page in pages for place in _used(page))], [*written, *_used(first)]

    def _implements(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject, role="implementation")
        return [place for page in pages for place in _used(page)], _used(first)

    def _tests(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject)
        return [file for page in pages for file in _test_files(page)], _test_files(first)

    def _body(self, task: Task) -> tuple[list[str], list[str]]:
        for one in self._definitions(task.subject)[:1]:
            read = self._call("read_file", file=one.path, startLine=one.first, endLine=one.last)
            return [place.span for place in read.places(grouped=False)[:1]], [one.said]
        return [], []

    def _members(self, task: Task) -> tuple[list[str], list[str]]:
        for one in self._definitions(task.subject)[:1]:
            names = _inside(self._call("file_outline", file=one.path, symbol=task.subject).lines, task.subject)
            # Written beside it: what stands in the file under its name.
            names = names or _inside(self._call("file_outline", file=one.path).lines, task.subject)
            return names, []
        return [], []

    def _question(self, task: Task) -> tuple[list[str], list[str]]:
        said = [one.span for one in self._call("search_codebase", query=task.subject).places(grouped=False)]
        return said, said[:1]

    def _path(self, task: Task) -> tuple[list[str], list[str]]:
        places = self._call("call_graph", symbol=task.subject, to=task.to).places()
        steps = [step for one in places for step in re.findall(r"[\w.]+", re.sub(r"\([^)]*\)|\[\w+\]", "", one.name))]
        names = [_last(step) for step in steps]
        said = [name for name in names if name not in (task.subject, task.to)]
        return said, said


def _last(symbol: str) -> str:
    """Return the last part of a dotted name."""
    return symbol.rpartition(".")[2]


def _used(page: Reply) -> list[str]:
    return [one.said for one in page.places() if one.kind]


def _test_files(page: Reply) -> list[str]:
    return [one.path for one in page.places() if one.kind and _TEST.search(one.path)]


def _inside(lines: Sequence[str], owner: str) -> list[str]:
    """Return what can be called of a class in an outline: what is indented below it, or has it as its receiver."""
    names, within = [], -1
    for line in lines:
        row = re.fullmatch(r"  [\d-]+ (?P<indent> *)(?P<code>.*)", line)
        if row is None:
            continue
        depth, called = (
            len(row["indent"]),
            re.search(r"(\w+)\s*(<[^(]*>)?\(", re.sub(r"^func \([^)]*\)", "", row["code"])),
        )
        receiver = re.match(rf"func \(\w+ \*?{owner}\)", row["code"])
        if re.search(rf"\b(class|impl|interface)\b.*\b{owner}\b", row["code"]):
            within = depth
        elif depth <= within:
            within = -1
        if called and (receiver or (within >= 0 and depth == within + 2)):
            names.append(called[1])
    return names
