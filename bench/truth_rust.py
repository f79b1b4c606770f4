"""Where does rust-analyzer say that names lead? Asked by `textDocument/definition`, a question for each line of stdin.

    python truth_rust.py ROOT [PROGRAM] < questions > answers

A question is `{"path": …, "line": …, "column": …}` (a line from 1, a column in letters from 0); an answer is a list of
files and lines, with an empty path for what is outside of ROOT. Nothing is fetched, built or run: no build script, no
macro of another crate.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

OPTIONS = {
    "cargo": {"buildScripts": {"enable": False}},
    "procMacro": {"enable": False},
    "checkOnSave": False,
    "cachePriming": {"enable": False},
}


class Service:
    """One rust-analyzer, asked over its standard streams."""

    def __init__(self, root: Path, program: str) -> None:
        environ = {**os.environ, "CARGO_NET_OFFLINE": "true"}
        self._process = subprocess.Popen(
            [program], cwd=root, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._numbers = itertools.count(1)
        self._is_ready = False
        told = {"experimental": {"serverStatusNotification": True}, "general": {"positionEncodings": ["utf-32"]}}
        folder = {"uri": root.as_uri(), "name": root.name}
        asked = {"processId": os.getpid(), "rootUri": root.as_uri(), "capabilities": told, "workspaceFolders": [folder]}
        self.ask("initialize", asked | {"initializationOptions": OPTIONS})
        self._send({"method": "initialized", "params": {}})
        while not self._is_ready:
            self._heard()

    def ask(self, method: str, params: object) -> Any:
        """Return the result of a question."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while True:
            said = self._heard()
            if said.get("id") == number and "method" not in said:
                return said.get("result")

    def end(self) -> None:
        self.ask("shutdown", None)
        self._send({"method": "exit"})
        self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _heard(self) -> dict[str, Any]:
        stream, length = self._process.stdout, 0
        assert stream is not None, "it is a pipe"
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        said: dict[str, Any] = json.loads(stream.read(length))
        if said.get("method") == "experimental/serverStatus":
            self._is_ready = said["params"]["quiescent"]
        elif "method" in said and "id" in said:
            # Whatever it asks of a client (settings, progress), the answer is nothing.
            asked = said.get("params") or {}
            nothing = [None] * len(asked.get("items", ())) if said["method"] == "workspace/configuration" else None
            self._send({"id": said["id"], "result": nothing})
        return said


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    service = Service(root, sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else "rust-analyzer")
    for line in sys.stdin:
        asked = json.loads(line)
        place = {"line": asked["line"] - 1, "character": asked["column"]}
        document = {"uri": (root / asked["path"]).as_uri()}
        found = service.ask("textDocument/definition", {"textDocument": document, "position": place})
        print(json.dumps([_place(root, each) for each in found or ()]), flush=True)
    service.end()
    return 0


def _place(root: Path, found: dict[str, Any]) -> tuple[str, int]:
    path = Path(unquote(urlparse(found.get("targetUri") or found["uri"]).path))
    span = found.get("targetSelectionRange") or found["range"]
    return (str(path.relative_to(root)) if path.is_relative_to(root) else "", span["start"]["line"] + 1)


if __name__ == "__main__":
    raise SystemExit(main())
