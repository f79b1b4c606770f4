"""Run the mutants: each must be killed by the tests that its entry names.

A mutant is made in a copy of the package that stands first on the import path; the tests are the real ones. Its place
must be found exactly once (`change.py`), so a mutant whose statement was rewritten is an error here and in the fast
test run, never a mutant that quietly does nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.lengths import DEEP
from tests.mutants.change import NoSuchChange, changed

PROJECT = Path(__file__).resolve().parent.parent.parent
PACKAGE = PROJECT / "src" / "cairn"
TESTS = PROJECT / "tests"
LIST = Path(__file__).with_name("mutants.toml")
TIMEOUT_SECONDS = 300


class Mutant(NamedTuple):
    """One small lie and the tests that must see it."""

    where: str
    statement: str
    becomes: str
    tests: tuple[str, ...]
    row: str = ""

    @property
    def title(self) -> str:
        before, after = self.statement.splitlines(), self.becomes.splitlines()
        said = next((line.strip() for line in before if line not in after), "")
        lie = next((line.strip() for line in after if line not in before), "nothing")
        return f"{self.row or '-':<10} {self.where}: {said[:60]} → {lie[:60]}"


def load(path: Path = LIST) -> list[Mutant]:
    """The list, as it is committed."""
    entries = tomllib.loads(path.read_text("utf-8"))["mutants"]
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def problem(mutant: Mutant, package: Path = PACKAGE) -> str | None:
    """Why this mutant cannot be told, or None when it applies."""
    if not mutant.tests:
        return "it names no test"
    try:
        changed(package, mutant.where, mutant.statement, mutant.becomes)
        node_ids(mutant.tests)
    except (NoSuchChange, NoSuchTest) as why:
        return str(why)
    return None


class NoSuchTest(Exception):
    """A name that no test has, or more than one; the message says which."""


def node_ids(names: Iterable[str]) -> list[str]:
    """Return what pytest calls these tests, in whatever folder they lie now.

    A test is named by its function, after its file's name (`test_walk.py::test_it`) where another test has the same. A
    file's name alone means all its tests. Raises `NoSuchTest` unless there is exactly one of each.
    """
    found = []
    for name in names:
        file, _, test = name.rpartition("::") if "::" in name or not name.endswith(".py") else (name, "", "")
        paths = [
            path
            for path, tests in _tests().items()
            if (not file or f"/{path}".endswith(f"/{file}")) and (not test or test in tests)
        ]
        if len(paths) != 1:
            raise NoSuchTest(
                f"{len(paths)} tests are called {name}: {', '.join(paths)}" if paths else f"no test is called {name}"
            )
        found.append("::".join(filter(None, (paths[0], test))))
    return found


@cache
def _tests() -> dict[str, frozenset[str]]:
    """The test functions and classes of every test file, by its path in the project."""
    return {
        path.relative_to(PROJECT).as_posix(): frozenset(_TEST.findall(path.read_text("utf-8")))
        for path in sorted(TESTS.rglob("test_*.py"))
    }


_TEST = re.compile(r"^(?:async def |def |class )?([Tt]est\w*)(?=\(|:| = )", re.MULTILINE)


def survives(mutant: Mutant, scratch: Path) -> str | None:
    """None when the tests saw the lie; otherwise what happened instead."""
    source = _copy(scratch)
    file, text = changed(source / "cairn", mutant.where, mutant.statement, mutant.becomes)
    (source / "cairn" / file).write_text(text, "utf-8")
    verdict = _verdict(source, mutant.tests)
    return "its tests pass" if verdict == "" else None if verdict == "failed" else verdict


def _copy(scratch: Path) -> Path:
    source = scratch / "src"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(PACKAGE, source / "cairn", ignore=shutil.ignore_patterns("__pycache__"))
    return source


def _verdict(source: Path, tests: Iterable[str]) -> str:
    """What the tests say about a copy of the package: nothing when they pass, `failed`, or why there is no verdict."""
    # Bytecode would be shared with the next mutant when two edits fall into one second and have one size.
    environ = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", "CAIRN_UPDATE_GOLDEN": ""}
    loaded = _python(["-c", "import cairn; print(cairn.__file__)"], environ)
    if loaded.returncode == 0 and not loaded.stdout.startswith(str(source)):
        return f"the copy was not the one imported ({loaded.stdout.strip()})"
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
    options += ["--hypothesis-profile", DEEP]
    try:
        done = _python(["-m", "pytest", *options, *node_ids(tests)], environ)
    except subprocess.TimeoutExpired:
        return "failed"  # a lie that makes a test hang has been seen
    if done.returncode in (0, 1):
        return "failed" if done.returncode else ""
    # A module that cannot even be imported proves nothing about a test.
    return f"no verdict: {(done.stdout + done.stderr)[-300:]}"


def _python(argv: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv],
        cwd=PROJECT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )


def run(mutants: list[Mutant]) -> Iterator[tuple[Mutant, str | None]]:
    """Each mutant with what went wrong, None when it was killed. Tests that fail without any lie kill nothing."""
    with tempfile.TemporaryDirectory(prefix="cairn-mutants-") as folder:
        scratch = Path(folder)
        honest = _verdict(_copy(scratch), sorted({test for one in mutants if not problem(one) for test in one.tests}))
        for mutant in mutants:
            wrong = problem(mutant)
            if wrong is None and honest and (alone := _verdict(_copy(scratch), mutant.tests)):
                wrong = f"its tests fail without it: {alone}"
            yield mutant, wrong or survives(mutant, scratch)


def main(words: list[str]) -> int:
    """Print killed or survived for each; 1 when any was not killed."""
    wanted = [one for one in load() if not words or any(word in str(one) for word in words)]
    left = 0
    for mutant, wrong in run(wanted):
        left += wrong is not None
        print(
            f"{'killed  ' if wrong is None else 'SURVIVED'} {mutant.title}{f'  ({wrong})' if wrong else ''}", flush=True
        )
    print(f"{len(wanted) - left} of {len(wanted)} mutants killed")
    return 1 if left or not wanted else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
