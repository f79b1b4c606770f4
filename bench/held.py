"""The page of attacks and of load (docs/benchmarks/held.md): what commands printed, when, and at which commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.freshness import when

_HEAD = """\
# Held under attack and under load

What takes longer than a test may. Each part is what a command printed; a command that is run again takes the place of
what it printed before. Answers right after random edits are held against the files in [freshness.md](freshness.md).

- `python -m bench.leases`: schedules of a model of two machines with two process namespaces each, drawn from a seed,
  and real writers in namespaces of their own, half of them under another host name, that are killed or put to sleep.
- `python -m bench.load`: servers of agents, each with threads that ask all the time, while files are saved. Memory is
  RssAnon of all servers and of the daemon together, handles are their open descriptors, and times are what a client
  waits."""


def record(folder: Path, command: str, told: str) -> None:
    """Note what a command printed, in the place of what it printed before, and write the page."""
    known = folder / "held.json"
    kept: list[dict[str, Any]] = json.loads(known.read_text()) if known.exists() else []
    kept = [one for one in kept if one["command"] != command] + [{**when(), "command": command, "told": told}]
    folder.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(kept, indent=1) + "\n")
    (folder / "held.md").write_text(page(kept))


def page(kept: list[dict[str, Any]]) -> str:
    """The page."""
    lines = [_HEAD]
    for one in sorted(kept, key=lambda one: str(one["command"])):
        lines += ["", f"`{one['command']}`, commit {one['commit']}, {one['date']}, {one['machine']}:", ""]
        lines += ["```text", *one["told"].split("\n"), "```"]
    return "\n".join(lines) + "\n"
