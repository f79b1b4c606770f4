"""How fast are answers about structure, in one process, beside a bare SQLite look-up of the same rows?

    python -m bench.graph --repo DIR [--repo DIR …] [--only speed,share] [--questions N] [--home PATH]
                          [--out docs/benchmarks]

DIR is a checked-out repository, best one of 50,000 chunks. Without --home it is indexed into a temporary folder; with
--home an index that is there is used, which `share` leaves alone.

Writes graph.md, where what was measured before and is not measured now stays. The clock is that of the CPU: machines
are shared, and wall time tells of the neighbours.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
from pathlib import Path

from bench import graph_measures as measures
from bench.graph_measures import Row, Share
from bench.search import machine

PARTS = {"speed": measures.speed, "share": measures.share}
TITLES = {
    "speed": "Questions, beside a bare SQLite look-up",
    "share": "What structure adds to a full index",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, action="append", required=True, help="a checked-out repository")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of: {', '.join(PARTS)}; empty: only write")
    parser.add_argument("--questions", type=int, default=300, help="how many symbols are asked about")
    parser.add_argument("--home", type=Path, help="where the indexes are kept (default: a temporary folder)")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    known = options.out / "graph.json"
    kept: dict[str, dict] = json.loads(known.read_text()) if known.exists() else {}
    for part in filter(None, options.only.split(",")):
        rows: list[Row | Share] = []
        for repo in options.repo:
            with tempfile.TemporaryDirectory(prefix="bench-graph-") as scratch:
                home = options.home or Path(scratch, "home")
                for row in PARTS[part](measures.Setting(repo.resolve(), home, Path(scratch), options.questions)):
                    rows.append(row)
                    print(" | ".join(CELLS[part](row)), flush=True)
        kept[part] = {"date": datetime.date.today().isoformat(), "machine": machine(), "rows": rows}
        known.write_text(json.dumps(kept, indent=1) + "\n")
    (options.out / "graph.md").write_text(page(kept))
    return 0


def page(kept: dict[str, dict]) -> str:
    """The page: a table for each part that was ever measured, with its date and machine."""
    lines = [
        "# Structure: how fast",
        "",
        "Made by `python -m bench.graph`, which says in its first lines what it needs. Milliseconds of CPU in one",
        "process that has answered before, each question about another symbol: any that is used, or, `drawn by use`,",
        "the more often used the more likely. Beside them stands a table of SQLite with an index, asked for the rows",
        "that the answer is made of: it decides nothing about them.",
    ]
    for part, title in TITLES.items():
        if part in kept:
            of = kept[part]
            lines += ["", f"## {title}", "", f"{of['date']}, {of['machine']}.", ""]
            lines += HEADS[part]
            lines += [f"| {' | '.join(CELLS[part](KINDS[part](*row)))} |" for row in of["rows"]]
    return "\n".join(lines) + "\n"


def _answered(row: Row) -> tuple[str, ...]:
    ratio = f"{row.p50 / row.beside:.1f}x" if row.beside else ""
    beside = f"{row.beside:.3f}" if row.beside else ""
    target = f"p50 <= {row.most_p50:g}, p95 <= {row.most_p95:g}"
    times = (f"{row.p50:.2f}", f"{row.p95:.1f}", f"{row.worst:.0f}")
    return row.what, *times, beside, ratio, _reached(target, row.is_reached), row.note


def _added(row: Share) -> tuple[str, ...]:
    reached = _reached(f"<= {row.most:.0%}", row.is_reached)
    return row.what, f"{row.whole:.1f} s", f"{row.without:.1f} s", f"{row.added:.1%}", reached


def _reached(target: str, is_reached: bool) -> str:
    return f"{target}: yes" if is_reached else f"**{target}: no**"


KINDS = {"speed": Row, "share": Share}
CELLS = {"speed": _answered, "share": _added}
HEADS = {
    "speed": ["| | p50 | p95 | worst | SQLite p50 | ratio | to reach | |", "|---|---:|---:|---:|---:|---:|---:|---|"],
    "share": ["| | whole | without uses and imports | added | to reach |", "|---|---:|---:|---:|---:|"],
}


if __name__ == "__main__":
    sys.exit(main())
