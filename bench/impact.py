"""Does `cairn impact` name the tests that a change needs? Commits whose tests are known, asked before they are written.

    python -m bench.impact ROOT... [--commits N] [--seed N] [--look-back N] [--show]

Of the newest commits of each repository so many are drawn that modify, add or remove at least one source file and
modify 1 to 10 files of tests. In a clone the parent is checked out, the source files are made those of the commit, the
tests stay as they were, and `cairn impact --diff HEAD -k 20 --json` is typed. Counted is the share of the modified
files of tests that is among the 20 (recall@20), the mean over all commits. Beside it stand two rankings that need no
index: tests by how much of their name is that of a changed file, and tests by how many folders they share with one.
Nothing of a repository is run.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from cairn.core.filetypes import language_of
from cairn.graph.impact import is_runnable_test
from cairn.search.places import is_test
from cairn.syntax.languages import has_uses

MOST = 20
_TEST_WORDS = re.compile(r"(?:^|[_.-])(?:tests?|specs?)(?=[_.-]|$)|Tests?(?=\.|$)|Spec(?=\.|$)")


class Commit(NamedTuple):
    """A commit: the source files that it changes, with the letters of git, and the files of tests that it modifies."""

    id: str
    sources: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def is_code(path: str) -> bool:
    return has_uses(language_of(posixpath.basename(path).encode()))


def commits_of(folder: Path, look_back: int) -> list[Commit]:
    """The commits that can be asked about, the newest first."""
    found = []
    for name in git(folder, "rev-list", "--no-merges", f"--max-count={look_back}", "HEAD").split():
        if not git(folder, "rev-list", "--parents", "-n1", name).split()[1:]:
            continue
        lines = git(folder, "diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames", name).splitlines()
        changes = [tuple(line.split("\t", 1)) for line in lines]
        code = [(letter, path) for letter, path in changes if is_code(path)]
        sources = tuple((letter, path) for letter, path in code if not is_test(path))
        tests = tuple(path for letter, path in code if letter == "M" and is_runnable_test(path))
        if sources and 1 <= len(tests) <= 10:
            found.append(Commit(name, sources, tests))
    return found


def asked(folder: Path, home: Path, commit: Commit) -> list[str]:
    """The tests that the command names."""
    git(folder, "checkout", "-q", "--force", "--detach", f"{commit.id}^")
    git(folder, "clean", "-qfdx")
    for letter, path in commit.sources:
        if letter == "D":
            (folder / path).unlink(missing_ok=True)
        else:
            git(folder, "checkout", "-q", commit.id, "--", path)
    git(folder, "reset", "-q")
    environ = {**os.environ, "CAIRN_HOME": str(home)}
    command = [sys.executable, "-m", "cairn", "impact", "--diff", "HEAD", "-k", str(MOST), "--json", "--offline"]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{commit.id}: {done.stdout[:500]}{done.stderr}")
    return [row["path"] for row in json.loads(done.stdout)["results"]]


def by_name(tests: Sequence[str], sources: Sequence[str]) -> list[str]:
    """The tests of which the name is most like that of a source file."""

    def stem(path: str) -> str:
        return _TEST_WORDS.sub("", posixpath.basename(path).split(".")[0]).strip("_-.").lower()

    wanted = {stem(path) for path in sources} - {""}
    ranked = [(max((_likeness(stem(path), each) for each in wanted), default=0), path) for path in tests]
    return [path for score, path in sorted(ranked, key=lambda one: (-one[0], one[1])) if score > 0][:MOST]


def _likeness(one: str, other: str) -> float:
    if one == other:
        return 1.0
    return 0.5 if one and other and (one in other or other in one) else 0.0


def by_folder(tests: Sequence[str], sources: Sequence[str]) -> list[str]:
    """The tests that share most folders with a source file, those in its own folder first."""

    def score(path: str) -> float:
        own = posixpath.dirname(path)
        every = [
            (1.0 if posixpath.dirname(each) == own else 0.0)
            + len(set(own.split("/")) & set(posixpath.dirname(each).split("/")) - {""}) / 10
            for each in sources
        ]
        return max(every, default=0.0)

    return sorted(tests, key=lambda path: (-score(path), path))[:MOST]


def recall(found: Sequence[str], wanted: Sequence[str]) -> float:
    return len(set(found) & set(wanted)) / len(wanted)


def measure(root: Path, commits: int, seed: int, look_back: int, show: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="cairn-impact-") as scratch:
        folder = Path(scratch, "tree")
        subprocess.run(["git", "clone", "-q", "--no-checkout", str(root), str(folder)], check=True)
        head = git(folder, "rev-parse", "--short=12", "HEAD").strip()
        known = commits_of(folder, look_back)
        drawn = set(random.Random(seed).sample(range(len(known)), min(commits, len(known))))
        scores: list[tuple[float, float, float]] = []
        sizes = []
        for number in sorted(drawn, reverse=True):
            commit = known[number]
            found = asked(folder, Path(scratch, "home"), commit)
            tests = [path for path in git(folder, "ls-files").splitlines() if is_code(path) and is_runnable_test(path)]
            sources = [path for _, path in commit.sources]
            scores.append(
                (
                    recall(found, commit.tests),
                    recall(by_name(tests, sources), commit.tests),
                    recall(by_folder(tests, sources), commit.tests),
                )
            )
            sizes.append(len(tests))
            if show:
                missed = sorted(set(commit.tests) - set(found))
                print(f"  {commit.id[:12]} {scores[-1][0]:.2f} of {len(commit.tests)} in {len(tests)}  missed {missed}")
        own, name, near = (mean(column) for column in zip(*scores, strict=True))
        asked_of = f"{len(scores)} of {len(known)}"
        figures = f"{mean(sizes):.0f} | {own:.2f} | {name:.2f} | {near:.2f}"
        print(f"| {root} | {head} | {asked_of} | {figures} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", metavar="ROOT", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=30)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--look-back", type=int, default=800)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    print("| repository | commit | commits | tests there | impact | same name | same folder |")
    print("|---|---|---|---|---|---|---|")
    for root in options.roots:
        measure(root, options.commits, options.seed, options.look_back, options.show)


if __name__ == "__main__":
    main()
