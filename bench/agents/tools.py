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
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from bench.agents.tasks import Played, Task

_TEST = re.compile(r"(^|/)(tests?|runtime-tests)/|test", re.IGNORECASE)
_MOST_PAGES = 10


class Reply(NamedTuple):
    """What a tool answered: its envelope, and how much an agent reads."""

    envelope: Mapping[str, Any]
    characters: int

    def rows(self, field: str = "results") -> list[dict[str, Any]]:
        """Return the entries of a list of the envelope."""
        found: list[dict[str, Any]] = self.envelope.get(field, [])
        return found


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
        while self.call("find_symbol", {"name": "main"}).envelope["status"] == "not_ready" or self._works():
            time.sleep(0.2)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _works(self) -> bool:
        told = self.call("index_status", {}).envelope
        return told["status"] != "ok" or bool(told.get("is_indexing"))

    def tools(self) -> str:
        """Return the list of tools, as an agent gets it."""
        return json.dumps(self._ask("tools/list", {})["tools"], separators=(",", ":"), ensure_ascii=False)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Return what a tool answers."""
        found = self._ask("tools/call", {"name": tool, "arguments": arguments})
        texts = [part["text"] for part in found["content"]]
        return Reply(json.loads(texts[0]), sum(map(len, texts)))

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

    def play(self, task: Task) -> Played:
        """Return what was found and what it cost."""
        said, first = getattr(self, f"_{task.kind}")(task)
        return Played(self.calls, self.characters, tuple(said), tuple(first))

    def _call(self, tool: str, **arguments: Any) -> Reply:
        reply = self._server.call(tool, arguments)
        self.calls += 1
        self.characters += reply.characters
        return reply

    # --- the kinds of tasks -------------------------------------------------------------------------------------------

    def _definitions(self, name: str) -> list[dict[str, Any]]:
        rows = self._call("find_symbol", name=name).rows()
        return [row for row in rows if _last(row.get("symbol", "")) == name]

    def _define(self, task: Task) -> tuple[list[str], list[str]]:
        said = [_place(row, "startLine") for row in self._definitions(task.subject)]
        return said, said

    def _uses(self, name: str, **more: str) -> tuple[list[Reply], Reply]:
        """All pages of the uses of a definition; those that only have its name, when there are no surer ones."""
        first = self._call("find_symbol", name=name, references=True, **more)
        pages = [first]
        counts = first.envelope.get("counts", {})
        if not first.rows() and counts.get("nameOnly"):
            pages = [self._call("find_symbol", name=name, references=True, minTier="name_only", **more)]
        while (following := pages[-1].envelope.get("hints", {}).get("continuation")) and len(pages) < _MOST_PAGES:
            pages.append(self._call(following["tool"], **following["args"]))
        return pages, first

    def _calls(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject, role="call")
        return [place for page in pages for place in _used(page, "call")], _used(first, "call")

    def _rename(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject)
        written = [_place(row, "startLine") for row in first.rows("definitions")]
        return [*written, *(place for page in pages for place in _used(page))], [*written, *_used(first)]

    def _implements(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject, role="implementation")
        return [place for page in pages for place in _used(page)], _used(first)

    def _tests(self, task: Task) -> tuple[list[str], list[str]]:
        pages, first = self._uses(task.subject)
        return [file for page in pages for file in _test_files(page)], _test_files(first)

    def _body(self, task: Task) -> tuple[list[str], list[str]]:
        for row in self._definitions(task.subject)[:1]:
            span = {"startLine": row["startLine"], "endLine": row["endLine"]}
            read = self._call("read_file", file=row["path"], **span).envelope
            return [f"{row['path']}:{read['startLine']}-{read['endLine']}"], [_place(row, "startLine")]
        return [], []

    def _members(self, task: Task) -> tuple[list[str], list[str]]:
        for row in self._definitions(task.subject)[:1]:
            rows = self._call("file_outline", file=row["path"], symbol=task.subject).rows()
            if not [one for one in rows if one["kind"] in _CALLED]:
                # Written beside it: what stands in the file under its name.
                rows = self._call("file_outline", file=row["path"]).rows()
            inside = [one for one in rows if one.get("symbol", "").startswith(f"{task.subject}.")]
            return [_last(one["symbol"]) for one in inside if one["kind"] in _CALLED], []
        return [], []

    def _question(self, task: Task) -> tuple[list[str], list[str]]:
        rows = self._call("search_codebase", query=task.subject).rows()
        said = [f"{row['path']}:{row['startLine']}-{row['endLine']}" for row in rows]
        return said, said[:1]

    def _path(self, task: Task) -> tuple[list[str], list[str]]:
        reply = self._call("call_graph", symbol=task.subject, to=task.to)
        names = [_last(row.get("symbol", "")) for row in reply.rows("nodes")]
        said = [name for name in names if name not in (task.subject, task.to)]
        return said, said


_CALLED = frozenset({"method", "function", "constructor"})


def _last(symbol: str) -> str:
    """Return the last part of a dotted name."""
    return symbol.rpartition(".")[2]


def _place(row: Mapping[str, Any], line: str) -> str:
    return f"{row['path']}:{row[line]}"


def _used(page: Reply, kind: str = "") -> list[str]:
    return [_place(row, "line") for row in page.rows() if not kind or row["kind"] == kind]


def _test_files(page: Reply) -> list[str]:
    return [row["path"] for row in page.rows() if _TEST.search(row["path"])]
