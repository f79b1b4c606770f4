"""Say what is known of holes in the locked dependencies. It reports and gates nothing: it always ends with status 0.

`python -m bench.audit [--lock FILE] [--tool PROGRAM] [--seconds N]`. The lock is looked up by `pip-audit`, which is no
part of the environment: install it in one of its own and put it on PATH. Which servers it asks is its own setting. What
could not be looked up is said and counted, since a package that nobody knows anything of is not one without a hole.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
TOOL = "pip-audit"
_LOCK = PROJECT / "requirements" / "dev.txt"
_SECONDS = 300.0
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[\w,.-]+\])?==([^\s;\\]+)", re.MULTILINE)
_MOST_WORDS = 60


class Unknown(Exception):
    """Why nothing could be looked up, as the end of a sentence."""


class Hole(NamedTuple):
    """A known hole of one package."""

    package: str
    version: str
    name: str
    mended_in: tuple[str, ...]


def packages(lock: Path) -> set[tuple[str, str]]:
    """Return the names, in small letters, and versions of a lock."""
    return {(_named(name), version) for name, version in _PIN.findall(lock.read_text("utf-8"))}


def looked_up(lock: Path, tool: str, seconds: float) -> tuple[list[Hole], set[tuple[str, str]]]:
    """Return the known holes of the packages of a lock, and the packages that were looked up; raises `Unknown`."""
    program = shutil.which(tool)
    if program is None:
        raise Unknown(f"`{tool}` is not on PATH; install it in an environment of its own")
    command = [program, "--requirement", str(lock), "--disable-pip", "--require-hashes", "--format", "json"]
    try:
        done = subprocess.run(
            [*command, "--progress-spinner", "off"], capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unknown(f"`{tool}` did not answer in {seconds:,.0f} seconds") from None
    except OSError as problem:
        raise Unknown(f"`{tool}` could not be started: {problem.strerror}") from None
    try:
        told = json.loads(done.stdout)["dependencies"]
        known = {(_named(one["name"]), str(one["version"])) for one in told if "vulns" in one}
        return list(_holes(told)), known
    except (ValueError, KeyError, TypeError):
        # What it prints then may name servers.
        raise Unknown(f"`{tool}` ended with status {done.returncode} and no report") from None


def _holes(told: Sequence[dict[str, Any]]) -> Iterator[Hole]:
    for one in told:
        for hole in one.get("vulns", ()):
            mended = tuple(_short(version) for version in hole.get("fix_versions", ()))
            yield Hole(_named(one["name"]), _short(one["version"]), _short(hole["id"]), mended)


def _named(name: object) -> str:
    return re.sub(r"[-_.]+", "-", _short(name)).lower()


def _short(text: object) -> str:
    """A word of somebody else, short and without what could steer a terminal."""
    return "".join(char if char.isprintable() else "?" for char in str(text)[:_MOST_WORDS])


def report(lock: Path, tool: str, seconds: float) -> Iterator[str]:
    """Yield the lines that say what is known."""
    locked = packages(lock)
    try:
        holes, known = looked_up(lock, tool, seconds)
    except Unknown as problem:
        yield f"The advisories could not be had: {problem}."
        yield f"Nothing is known of the {len(locked):,} locked packages."
        return
    for hole in sorted(holes):
        mended = f"mended in {', '.join(hole.mended_in)}" if hole.mended_in else "not mended yet"
        yield f"{hole.package} {hole.version}: {hole.name} ({mended})"
    missing = sorted(locked - known)
    if missing:
        few = ", ".join(name for name, _ in missing[:5]) + (" ..." if len(missing) > 5 else "")
        yield f"The advisories of {len(missing):,} of {len(locked):,} locked packages could not be had ({few})."
    found = len(locked & known)
    yield (
        f"{len(holes):,} known holes in the {found:,} packages that were looked up."
        if found
        else ("Nothing was looked up, so nothing is known.")
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m bench.audit", description=__doc__.partition("\n")[0])
    parser.add_argument("--lock", type=Path, default=_LOCK, help="the lock (default: requirements/dev.txt)")
    parser.add_argument("--tool", default=TOOL, help=f"the program that looks up a lock (default: {TOOL})")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="how long it may take")
    given = parser.parse_args(argv)
    for line in report(given.lock, given.tool, given.seconds):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
