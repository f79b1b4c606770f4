"""Somebody who only reads: every tool and every verb that reads, asked in one process; prints each answer as JSON."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any

from cairn.ask.allowed import Allowed
from cairn.ask.workspace import Workspace
from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.tools.table import call

TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("search_codebase", {"query": "who steals a lease"}),
    ("search_codebase", {"query": "L.ase", "mode": "regex"}),
    ("explore", {"about": "who steals a lease"}),
    ("explore", {"about": "Lease.steal", "mode": "impact"}),
    ("file_outline", {"file": "src/lease.py"}),
    ("read_file", {"file": "src/lease.py", "mode": "annotated"}),
    ("find_symbol", {"name": "Lease"}),
    ("find_symbol", {"name": "Lease.steal", "references": True}),
    ("call_graph", {"symbol": "Lease.steal"}),
    ("repo_map", {"query": "lease"}),
    ("manage_index", {"action": "status"}),
    ("index_status", {}),
    ("list_codebases", {}),
]
VERBS = [
    ["search", "who steals a lease"],
    ["search", "--no-sync", "L.ase", "--mode", "regex"],
    ["outline", "src/lease.py"],
    ["read", "src/lease.py"],
    ["symbol", "Lease"],
    ["refs", "Lease.steal"],
    ["graph", "Lease.steal"],
    ["similar", "src/lease.py:2"],
    ["map"],
    ["status"],
    ["list"],
    ["snapshots"],
    ["stores"],
    ["files"],
    ["why", "src/lease.py"],
    ["health"],
    ["audit"],
]


def answers(tree: str) -> list[Any]:
    """The answer of each tool, then the exit status and the answer of each verb."""
    found: list[Any] = []
    desk = Workspace(os.environ, Allowed(os.environ, [tree]))
    for name, arguments in TOOLS:
        found.append([name, json.loads(call(desk, name, arguments).to_json())])
    desk.close()
    for verb in VERBS:
        printed = io.StringIO()
        status = main([*verb, "--json"], Output(printed, io.StringIO(), {}))
        found.append([" ".join(verb), status, json.loads(printed.getvalue())])
    return found


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    print(json.dumps(answers(sys.argv[1])))
