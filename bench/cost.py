"""What does an index cost, and how good is search, in two states of Cairn? Both in one run, taking turns.

    python -m bench.cost ROOT --before SOURCE [--rounds N]

SOURCE is the folder `src` of an older state (`git archive REVISION | tar -x -C DIR`). Each round indexes ROOT anew with
either state and counts the CPU seconds of the command and its children, and the bytes of the index. Then each state is
asked the questions that the history of ROOT holds (`cairn eval --from-git`).
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent.parent / "src"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    states = {"before": options.before.resolve(), "after": HERE.resolve()}
    cpu: dict[str, list[float]] = {name: [] for name in states}
    size: dict[str, int] = {}
    for _ in range(options.rounds):
        for name, source in states.items():
            with tempfile.TemporaryDirectory(prefix="bench-cost-") as home:
                before = _spent()
                _cairn(source, home, options.root, "index", "-q")
                cpu[name].append(_spent() - before)
                size[name] = sum(file.stat().st_size for file in Path(home).rglob("*") if file.is_file())
    print("| | index, CPU seconds (median) | index, bytes |\n|---|---:|---:|")
    for name in states:
        print(f"| {name} | {statistics.median(cpu[name]):.2f} | {size[name]:,} |")
    for name, source in states.items():
        with tempfile.TemporaryDirectory(prefix="bench-cost-") as home:
            _cairn(source, home, options.root, "index", "-q")
            print(f"\n{name}:\n{_cairn(source, home, options.root, 'eval', '--from-git')}")
    return 0


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cairn(source: Path, home: str, root: Path, *arguments: str) -> str:
    environ = {**os.environ, "CAIRN_HOME": home, "PYTHONPATH": str(source)}
    command = [sys.executable, "-m", "cairn", *arguments]
    done = subprocess.run(command, cwd=root, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
