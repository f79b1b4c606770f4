"""What does a question cost through the daemon, and what does the daemon cost while nobody asks?

    python -m bench.serve [--only command,trip,saves,idle,memory] [--tree DIR] [--files N] [--saves N] [--seconds N]
                          [--home PATH] [--out docs/benchmarks]

Without --tree a tree of --files files is made. Everything lies in a temporary folder, or below --home.

Writes serve.md, where what was measured before and is not measured now stays. Where two things are compared they take
turns in one run: machines are shared, and a figure alone tells of the neighbours.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path

from bench import serve_measures as measures
from bench.search import machine
from bench.serve_measures import Row

PARTS = {
    "command": (measures.command, "A warm `cairn search` beside a bare Python"),
    "trip": (measures.trip, "A search over the socket, beside the same search in one process"),
    "saves": (measures.saves, "From a save to an answer that shows it, through the watcher"),
    "idle": (measures.idle, "While nobody asks"),
    "memory": (measures.memory, "Memory of its own (RssAnon) after work"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of: {', '.join(PARTS)}; empty: only write")
    parser.add_argument("--tree", type=Path, help="a checked-out repository (default: one is made)")
    parser.add_argument("--files", type=int, default=10_000, help="how many files are made")
    parser.add_argument("--saves", type=int, default=200, help="how many files are saved one after the other")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long nobody asks")
    parser.add_argument("--home", type=Path, help="where everything is kept (default: a temporary folder)")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    known = options.out / "serve.json"
    kept: dict[str, dict] = json.loads(known.read_text()) if known.exists() else {}
    with tempfile.TemporaryDirectory(prefix="bench-serve-", dir=options.home) as scratch:
        place = measures.Place(
            Path(scratch).resolve(),
            options.tree and options.tree.resolve(),
            options.files,
            options.saves,
            options.seconds,
        )
        for part in filter(None, options.only.split(",")):
            rows = []
            for row in PARTS[part][0](place):
                rows.append(row)
                print(" | ".join(cells(row)), flush=True)
            kept[part] = {"date": datetime.date.today().isoformat(), "machine": machine(), "rows": rows}
            known.write_text(json.dumps(kept, indent=1) + "\n")
    (options.out / "serve.md").write_text(page(kept))
    return 0


def page(kept: dict[str, dict]) -> str:
    """The page: a table for each part that was ever measured, with its date and machine."""
    lines = [
        "# The daemon: what a question costs, and what it costs to be there",
        "",
        "Made by `python -m bench.serve`, which says in its first lines what it needs. Where a ratio stands, both",
        "sides took turns in one run; medians of them.",
    ]
    for part, (_, title) in PARTS.items():
        if part in kept:
            of = kept[part]
            lines += ["", f"## {title}", "", f"{of['date']}, {of['machine']}.", ""]
            lines += ["| | measured | beside | ratio | to reach | |", "|---|---:|---:|---:|---:|---|"]
            lines += [f"| {' | '.join(cells(Row(*row)))} |" for row in of["rows"]]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> tuple[str, ...]:
    """A row of a table."""
    ratio = "" if row.beside is None else f"{row.measured / row.beside:.2f}x"
    beside = "" if row.beside is None else f"{row.beside:,.2f} {row.unit}"
    target = "" if row.most is None else f"<= {row.most:g}{'x' if row.beside is not None else f' {row.unit}'}"
    reached = target and (f"{target}: yes" if row.is_reached else f"**{target}: no**")
    return row.what, f"{row.measured:,.2f} {row.unit}", beside, ratio, reached, row.note


if __name__ == "__main__":
    # What is measured is what an installed program does, and that has its bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(main())
