"""How good and how fast is search, beside the tools that people know?

    python -m bench.search --benchmark DIR [--semble PYTHON] [--semble-model DIR] [--rg PROGRAM]
                           [--only quality,beside,scale,regex,weight] [--out docs/benchmarks]

DIR holds the two development sets as their harness lays them out: `evaluate.py`, `data`, `repos`, `history`, `systems`,
and `dummy-model`, a static model of four dimensions with which semble runs without its semantic half. PYTHON is one
that has semble; what it scores on each set is kept in DIR/out and not measured again. With `--semble-model`, a static
model that semble can load, the cold index is measured whole as well.

Writes search.md (what was measured before and is not measured now stays) and, where matplotlib can be imported, plots.
Times are ratios of the same run, the sides taking turns; machines are shared, so read no more into a figure alone.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from bench import search_measures as measures
from bench.search_measures import Places, Row

PARTS = {
    "quality": measures.quality,
    "beside": measures.beside,
    "scale": measures.scale,
    "regex": measures.regex,
    "weight": measures.weight,
}
TITLES = {
    "quality": "Quality, beside semble's BM25 and rules",
    "beside": "Speed, beside semble",
    "scale": "Large codebases, beside a bare scan of the vectors",
    "regex": "Patterns, beside ripgrep",
    "weight": "What it weighs",
}
NO_PLOTS = (
    "No plots: matplotlib is not installed. `pip install matplotlib` into an environment of your own and run again."
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", type=Path, required=True)
    parser.add_argument("--semble", default=sys.executable, help="a Python that has semble")
    parser.add_argument("--semble-model", help="a folder with a static model that semble can load")
    parser.add_argument("--rg", default=shutil.which("rg") or "rg")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of: {', '.join(PARTS)}; empty: only write")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    known = options.out / "search.json"
    kept: dict[str, dict] = json.loads(known.read_text()) if known.exists() else {}
    for part in filter(None, options.only.split(",")):
        with tempfile.TemporaryDirectory(prefix="bench-search-") as scratch:
            places = Places(
                options.benchmark.resolve(), options.semble, options.semble_model, options.rg, Path(scratch)
            )
            rows = []
            for row in PARTS[part](places):
                rows.append(row)
                print(" | ".join(_cells(row)), flush=True)
        kept[part] = {"date": datetime.date.today().isoformat(), "machine": machine(), "rows": rows}
        known.write_text(json.dumps(kept, indent=1) + "\n")
    (options.out / "search.md").write_text(page(kept))
    plot(kept, options.out)
    return 0


def machine() -> str:
    """The machine in words, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cpu = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine())
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} shared cores ({cpu}), {memory:.0f} GiB, {system}"


def _cpuinfo() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def page(kept: dict[str, dict]) -> str:
    """The page: a table for each part that was ever measured, with its date and machine."""
    lines = [
        "# Search: how good, how fast",
        "",
        "Made by `python -m bench.search`, which says in its first lines what it needs. Ratios are ours to theirs,",
        "measured in the same run, the sides taking turns. Machines are shared: times differ by some per cent from run",
        "to run, quality by nothing.",
    ]
    for part, title in TITLES.items():
        if part not in kept:
            continue
        of = kept[part]
        lines += ["", f"## {title}", "", f"{of['date']}, {of['machine']}.", ""]
        lines += ["| | ours | beside | ratio | to reach | |", "|---|---:|---:|---:|---:|---|"]
        lines += [f"| {' | '.join(_cells(Row(*row)))} |" for row in of["rows"]]
        if (picture := PICTURES.get(part)) is not None:
            lines += ["", f"![{title}]({picture})"]
    return "\n".join(lines) + "\n"


PICTURES = {"quality": "search-quality.png", "beside": "search-beside.png", "regex": "search-regex.png"}


def _cells(row: Row) -> tuple[str, ...]:
    is_ratio = bool(row.theirs) and not row.what.startswith(("NDCG", "with the right", "symbol"))
    ratio = f"{row.value:.2f}x" if is_ratio else ""
    reached = {True: f"{row.target}: yes", False: f"**{row.target}: no**", None: ""}[row.is_reached]
    # A bar in a pattern would end the cell.
    return row.what, row.ours, row.theirs, ratio, reached, row.note.replace("|", "\\|")


def plot(kept: dict[str, dict], out: Path) -> None:
    """A bar for us and one for the other side, for each line that has both."""
    try:
        import matplotlib  # noqa: PLC0415 - optional
    except ImportError:
        print(NO_PLOTS)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    for part, name in PICTURES.items():
        rows = [Row(*row) for row in kept.get(part, {}).get("rows", ())]
        rows = [row for row in rows if row.theirs]
        if not rows:
            continue
        figure, axes = pyplot.subplots(figsize=(8, 0.6 * len(rows) + 1.2))
        for offset, label, colour, pick in ((0.2, "Cairn", "#1f6f50", 1), (-0.2, "beside", "#b9b9b9", 2)):
            values = [float(row[pick].split()[0]) for row in rows]
            places = [len(rows) - number + offset for number in range(len(rows))]
            axes.barh(places, values, 0.38, label=label, color=colour)
            for place, value, row in zip(places, values, rows, strict=True):
                axes.text(value, place, f" {row[pick]}", va="center", fontsize=8)
        axes.set_yticks([len(rows) - number for number in range(len(rows))], [row.what for row in rows], fontsize=8)
        axes.set_title(f"{TITLES[part]}, {kept[part]['date']}", fontsize=10)
        axes.legend(fontsize=8, loc="lower right")
        axes.margins(x=0.18)
        axes.set_xticks([])
        for side in ("top", "right", "bottom"):
            axes.spines[side].set_visible(False)
        figure.tight_layout()
        figure.savefig(out / name, dpi=120, metadata={"Software": None})
        pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
