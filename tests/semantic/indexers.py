"""Real indexers for tests: one that is on PATH, or one that is installed once into a folder outside of every checkout.

`CAIRN_TEST_TOOLS` names that folder. A test whose indexer cannot be had is skipped with the reason; where CI is set it
fails, so that nobody takes a skipped test for a passed one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

# Looked up once, before a test gives itself another home.
_ENVIRON = dict(os.environ)
_CACHE = _ENVIRON.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
TOOLS = Path(_ENVIRON.get("CAIRN_TEST_TOOLS") or os.path.join(_CACHE, "cairn-test-tools"))
_INSTALL_SECONDS = 300


class _Recipe(NamedTuple):
    """The package that holds the indexer, the program that installs it, and where its own program is then."""

    package: str
    installer: str
    program: str
    in_ci: bool = True


_RECIPES = {
    "scip-python": _Recipe("@sourcegraph/scip-python@0.6.6", "npm", "node_modules/.bin/scip-python"),
    "scip-typescript": _Recipe("@sourcegraph/scip-typescript@0.4.0", "npm", "node_modules/.bin/scip-typescript"),
    "scip-go": _Recipe("github.com/scip-code/scip-go/cmd/scip-go@v0.2.9", "go", "bin/scip-go", in_ci=False),
}


@cache
def real_indexer(name: str) -> str:
    """The path of a real indexer of this name; skips the test that asks when there is none to be had."""
    recipe = _RECIPES[name]
    if recipe.installer == "npm" and shutil.which("node", path=_ENVIRON.get("PATH")) is None:
        _without(name, "there is no node", recipe)
    if found := shutil.which(name, path=_ENVIRON.get("PATH")):
        return found
    folder = TOOLS / recipe.package.rpartition("/")[2].replace("@", "-")
    program = folder / recipe.program
    if not program.exists():
        if (installer := shutil.which(recipe.installer, path=_ENVIRON.get("PATH"))) is None:
            _without(name, f"there is no {recipe.installer} to install it with", recipe)
        _install(name, recipe, installer, folder)
    return str(program)


def _install(name: str, recipe: _Recipe, installer: str, folder: Path) -> None:
    """Installed beside its place and then moved there, under a lock: it is whole or not there."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    with open(TOOLS / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / recipe.program).exists():
            return
        with tempfile.TemporaryDirectory(dir=TOOLS) as scratch:
            place = Path(scratch, "tool")
            environ = _ENVIRON | {"GOBIN": str(place / "bin"), "GOFLAGS": "-buildvcs=false"}
            arguments = ["install", recipe.package]
            if recipe.installer == "npm":
                arguments += ["--prefix", str(place), "--no-audit", "--no-fund", "--ignore-scripts"]
            try:
                subprocess.run(
                    [installer, *arguments],
                    env=environ,
                    check=True,
                    capture_output=True,
                    timeout=_INSTALL_SECONDS,
                    stdin=subprocess.DEVNULL,
                    cwd=scratch,
                )
            except subprocess.SubprocessError as problem:
                said = (getattr(problem, "stderr", b"") or b"").decode(errors="replace").strip()
                _without(name, f"it could not be installed: {problem} {said[-500:]}", recipe)
            shutil.rmtree(folder, ignore_errors=True)
            place.rename(folder)


def _without(name: str, why: str, recipe: _Recipe) -> NoReturn:
    sentence = f"{name} is not here: {why}"
    if _ENVIRON.get("CI") and recipe.in_ci:
        pytest.fail(sentence)
    pytest.skip(sentence)
