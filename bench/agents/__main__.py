"""Play the tasks of one half with both programs and print what each has cost and found, as a page of Markdown."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from bench.agents.grep import Grep
from bench.agents.tasks import Played, Score, Task, read, score, unpack
from bench.agents.tools import Server, Tools
from cairn.search.budget import tokens_in


class Row(NamedTuple):
    """A task, as both sides have played it."""

    task: Task
    cairn: Played
    grep: Played


def play(clones: Path, half: str, only: str) -> tuple[list[Row], int]:
    """Return every task of a half as it was played, and the tokens of the list of tools."""
    repositories, tasks = read()
    rows, listed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, repository in repositories.items():
            due = [task for task in tasks if task.repository == name and task.half == half and only in task.kind]
            if not due:
                continue
            tree = unpack(repository, clones, Path(folder))
            with Server(tree, Path(folder, "home")) as server:
                listed = tokens_in(server.tools())
                rows += [
                    Row(task, Tools(server).play(task), Grep(tree, repository.language).play(task)) for task in due
                ]
    return rows, listed


def page(rows: Sequence[Row], listed: int) -> str:
    """Return the figures as Markdown."""
    kinds = sorted({row.task.kind for row in rows})
    head = "| | tasks | calls | characters | precision | recall | right | right by the first call |"
    lines = [head, "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for kind in ["all", *kinds]:
        own = [row for row in rows if kind in ("all", row.task.kind)]
        for side in ("cairn", "grep"):
            played = [(row.task, getattr(row, side)) for row in own]
            lines.append(_line(f"{kind}, {'Cairn' if side == 'cairn' else 'ripgrep'}", played))
    calls, characters = (
        sum(getattr(row.cairn, what) for row in rows) / sum(getattr(row.grep, what) for row in rows)
        for what in ("calls", "characters")
    )
    lines += ["", f"Cairn beside ripgrep: {characters:.2f} of the characters, {calls:.2f} of the calls."]
    return "\n".join([*lines, f"The list of tools: {listed:,} tokens.", "", *_by_tool(rows)])


def _by_tool(rows: Sequence[Row]) -> list[str]:
    """Return what the answers of each tool cost, in tokens."""
    paid: dict[str, list[int]] = {}
    for row in rows:
        for tool, tokens in row.cairn.paid:
            paid.setdefault(tool, []).append(tokens)
    lines = ["| tool | answers | median tokens | 95th percentile |", "|---|---:|---:|---:|"]
    for tool, costs in sorted(paid.items()):
        most = sorted(costs)[min(len(costs) - 1, int(0.95 * len(costs)))]
        lines.append(f"| {tool} | {len(costs)} | {median(costs):,.0f} | {most:,} |")
    return lines


def _line(name: str, played: Sequence[tuple[Task, Played]]) -> str:
    scores = [score(task, one.said) for task, one in played]
    first = [score(task, one.said_first) for task, one in played]
    cells = [
        f"{len(played)}",
        f"{sum(one.calls for _, one in played)}",
        f"{sum(one.characters for _, one in played):,}",
        f"{mean(one.precision for one in scores):.2f}",
        f"{mean(one.recall for one in scores):.2f}",
        f"{_right(scores):.2f}",
        f"{_right(first):.2f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _right(scores: Sequence[Score]) -> float:
    return mean(one.right for one in scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path, help="the clones of the repositories: OWNER/NAME, or OWNER+NAME/repo")
    parser.add_argument("--half", choices=("work", "held", "fresh"), default="work")
    parser.add_argument("--kind", default="", help="only tasks of this kind")
    parser.add_argument("-v", "--verbose", action="store_true", help="every task, with what was said")
    options = parser.parse_args()
    if shutil.which("rg") is None:
        parser.error("ripgrep (rg) is not on the PATH")
    rows, listed = play(options.clones, options.half, options.kind)
    if options.verbose:
        for row in rows:
            print(f"{row.task.repository} {row.task.kind} {row.task.subject}: {', '.join(row.task.answer)}")
            for side, one in (("cairn", row.cairn), ("ripgrep", row.grep)):
                found = score(row.task, one.said)
                print(f"  {side}: {one.calls} calls, {one.characters:,} characters, {found.precision:.2f} precise, "
                      f"{found.recall:.2f} complete: {', '.join(one.said[:12])}")  # fmt: skip
    print(page(rows, listed))


if __name__ == "__main__":
    main()
