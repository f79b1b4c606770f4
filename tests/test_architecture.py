"""The house stands as it was drawn: import directions, doors, sizes, and nothing that ties it to one machine."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import cairn
from bench import house
from tests.architecture import MEDIAN_LINES, complaints
from tests.conformance import conforms
from tests.conformance_report import PROJECT

# Where the package was imported from, so that a mutated copy is judged and not the original.
PACKAGE = Path(cairn.__file__).parent
# How many names of the store may be known where the index catches up with the tree.
MOST_NAMES_OF_THE_STORE = 15


@cache
def modules() -> dict[str, house.Module]:
    """The modules of the package with what they import; read once."""
    return house.modules_of(PACKAGE)


MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


@conforms("000.HID3", "003.AD1", "003.TMB4")
@pytest.mark.parametrize("file", MODULES)
def test_a_module_keeps_the_rules_of_the_house(file: str) -> None:
    assert complaints(file, MODULES[file].read_text("utf-8")) == []


def test_most_modules_are_small() -> None:
    lines = [path.read_text("utf-8").count("\n") for path in MODULES.values()]
    assert statistics.median(lines) <= MEDIAN_LINES


@pytest.mark.parametrize(
    ("file", "source", "says"),
    [
        ("source/walk.py", "from cairn.syntax.chunks import split", "source may not import cairn.syntax.chunks.split"),
        ("syntax/chunks.py", "import cairn.source.walk", "syntax may not import cairn.source.walk"),
        ("core/types.py", "from cairn.ask import gate", "core may not import cairn.ask.gate"),
        ("errors.py", "from cairn import __version__", "errors may not import cairn.__version__"),
        ("source/git.py", "from cairn.sync.pool import run", "source may not import cairn.sync.pool.run"),
        ("store/fs.py", "from cairn.search.query import Query", "store may not import cairn.search.query.Query"),
        (
            "engine/local.py",
            "from cairn.store.format.segment import Segment",
            "engine may not reach cairn.store.format.segment",
        ),
        (
            "search/query.py",
            "from cairn.store.format.columns import U32",
            "search may not reach cairn.store.format.columns",
        ),
        (
            "sync/run.py",
            "def f():\n    import cairn.store.format.segment as s",
            "sync may not reach cairn.store.format.segment",
        ),
        ("sync/run.py", "from cairn.store import conform", "sync may not reach cairn.store.conform"),
        (
            "cli/store.py",
            "from cairn.store.read.snapshot import open_view",
            "cli may not reach cairn.store.read.snapshot",
        ),
        ("answer/runs.py", "from cairn import store", "answer may not reach cairn.store"),
        (
            "ask/edits.py",
            "from cairn.edit.applying import undo",
            "may not write to a codebase (cairn",
        ),
        ("cli/main.py", "def f():\n    import cairn.edit.tree_writer", "may not write to a codebase"),
        ("tools/reading.py", "from cairn.edit.applying import apply", "tools may not import cairn.edit.applying.apply"),
        ("graph/facts.py", "def f(x):\n    return x.language == 'go'", "names a language ('go')"),
        ("search/rank.py", "FAMILIES = {'jvm': 1}", "names a language ('jvm')"),
        ("cellar/wine.py", "x = 1", "no rule says what cellar may import"),
        ("source/walk.py", "from . import git", "imports relatively"),
        ("syntax/parse.py", "data = open('x').read()", "opens a file (open)"),
        ("source/walk.py", "import os as system\nfd = system.open('x', 0)", "opens a file (os.open)"),
        ("source/walk.py", "from os import open as peek", "opens a file (os.open)"),
        ("source/walk.py", "import os\nlook = os.open", "opens a file (os.open)"),
        ("source/root.py", "def f(path):\n    return path.read_text()", "opens a file (?.read_text)"),
        ("source/root.py", "from pathlib import Path", "opens a file (pathlib.Path)"),
        ("source/root.py", "def f(path):\n    return path.open()", "opens a file (?.open)"),
        ("sync/survey.py", "import os\nos.scandir('.')", "lists a folder (os.scandir)"),
        ("source/changes.py", "import subprocess", "runs a program (subprocess)"),
        ("source/changes.py", "import os\nos.system('ls')", "runs a program (os.system)"),
        ("source/git.py", "import os\nos.execvp('git', [])", "lets the system look for a program (os.execvp)"),
        ("source/git.py", "import subprocess\nsubprocess.getoutput('git')", "lets the system look for a program"),
        ("source/git.py", "import subprocess\nsubprocess.run(['git', 'x'])", "names a program"),
        ("source/git.py", "import subprocess\nsubprocess.run(('/usr/bin/git',))", "names a program"),
        ("source/git.py", "from subprocess import Popen as go\ngo('git')", "names a program"),
        ("source/git.py", "import subprocess\nsubprocess.run(args=['git'])", "names a program"),
        ("source/git.py", "import subprocess\nsubprocess.run(['git' + ''])", "names a program"),
        ("source/git.py", "import subprocess\nsubprocess.run(command, shell=True)", "by another name than its first"),
        ("source/git.py", "import subprocess\nsubprocess.run(command, executable='git')", "by another name than its"),
        ("source/git.py", "import os\npath = os.environ['PATH']", "reads or writes PATH"),
        ("semantic/tools.py", "def f(environ):\n    return environ.get('PATH')", "reads or writes PATH"),
        ("semantic/tools.py", "def f(path):\n    return {'PATH': path}", "reads or writes PATH"),
        ("semantic/tools.py", "import os\nos.access('x', os.X_OK)", "looks for a program (os.X_OK)"),
        ("store/disk.py", "import shutil\nshutil.which('git')", "looks for a program (shutil.which)"),
        ("sync/survey.py", "from multiprocessing import Pool", "starts worker processes (multiprocessing.Pool)"),
        ("sync/survey.py", "def f():\n    import time", "looks at the clock (time)"),
        ("answer/envelope.py", "from datetime import datetime\nnow = datetime.now()", "looks at the clock"),
        ("source/beneath.py", "open('x', 'w')", "writes to a disk (open-for-writing)"),
        ("core/config.py", "import os\nos.replace('a', 'b')", "writes to a disk (os.replace)"),
        ("core/config.py", "import os\nfd = os.open('a', os.O_CREAT)", "writes to a disk (os.O_CREAT)"),
        ("sync/pool.py", "from urllib.request import urlopen", "goes to the network (urllib.request.urlopen)"),
        ("syntax/languages/__init__.py", "import requests", "goes to the network (requests)"),
        ("syntax/chunks.py", "import numpy as np", "workers must not carry (numpy)"),
        ("sync/pool.py", "import pickle\npickle.loads(b'')", "runs made-up code (pickle"),
        ("syntax/chunks.py", "eval('1')", "runs made-up code (eval)"),
        (
            "cli/index.py",
            "from cairn.source.ignore import IgnoreStack\nstack = IgnoreStack.for_root(None, None)",
            "makes an ignore matcher",
        ),
        ("core/limits.py", "x = 1\n" * 701, "701 lines, at most 700"),
        ("core/limits.py", "def long():\n" + "    x = 1\n" * 60, "long has 61 lines, at most 60"),
    ],
)
def test_a_broken_rule_is_named(file: str, source: str, says: str) -> None:
    found = complaints(file, source)
    assert any(says in complaint for complaint in found), found


def test_what_is_allowed_is_not_complained_about() -> None:
    assert complaints("source/git.py", "import subprocess\nimport os\nfd = os.open('x', os.O_RDONLY)\n") == []
    assert complaints("source/git.py", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x'])\n") == []
    assert complaints("cli/main.py", "def f(parser):\n    parser.add_argument('x', metavar='PATH')\n") == []
    assert complaints("sync/pool.py", "from cairn.source.walk import walk\nfrom cairn.syntax import parse\n") == []
    assert complaints("source/root.py", "import os\nx = os.stat('.')\ny = 'a'.replace('a', 'b')\n") == []


# --- what an import brings with it ------------------------------------------------------------------------------------


def modules_after(code: str, *, path: str = "") -> set[str]:
    """The modules that are loaded in a fresh process after running this code."""
    start = f"import sys; sys.path[:0] = {[path, str(PACKAGE.parent)]!r}"
    argv = [sys.executable, "-c", f"{start}\n{code}\nprint(*sys.modules)"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_is_light() -> None:
    heavy = {
        "tree_sitter",
        "asyncio",
        "subprocess",
        "multiprocessing",
        "json",
        "numpy",
        "argparse",
        "ctypes",
        "watchfiles",
        "rich",
        "click",
    }
    assert modules_after("import cairn") & heavy == set()


def test_a_worker_never_loads_numpy(tmp_path: Path) -> None:
    # A stand-in that can be imported: an optional import would be seen as well, installed or not.
    (tmp_path / "numpy.py").write_text("")
    names = [file.removesuffix(".py").replace("/", ".") for file in MODULES if file.startswith("syntax/")]
    code = "\n".join(f"import cairn.{name}" for name in [*names, "sync.pool"] if "__init__" not in name)
    loaded = modules_after(code, path=str(tmp_path))
    assert "cairn.syntax.chunks" in loaded
    assert "numpy" not in loaded
    assert "numpy" in modules_after("import numpy", path=str(tmp_path)), "the stand-in must be able to show itself"


# --- nothing ties the project to one machine or to a moving target ----------------------------------------------------

# Written in pieces, so that this file does not hold what it looks for.
_PLACES = "|".join(("root", "work", "Users"))
_REGISTRIES = "|".join(("py" + r"pi\.org", "python" + "hosted", "crates" + r"\.io", "npm" + r"js\.(?:com|org)"))
_MOVING = "|".join(("latest", "master", "main", "HEAD", "nightly"))
FORBIDDEN = {
    "a folder beside the project": re.compile(r"\.\./" + "shared"),
    "a machine's own path": re.compile(rf"(?<![\w.~-])/(?:{_PLACES})/[\w.-]+"),
    "a package registry": re.compile(_REGISTRIES),
    "an address that moves": re.compile(rf"https?://[^\s\"'<>)]*/(?:{_MOVING})\b"),
}
TEXT = {".py", ".md", ".toml", ".txt", ".scm", ".json", ".cfg", ".yml", ".yaml", ".html", ""}


def project_files() -> list[Path]:
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, check=False)
    if done.returncode == 0:
        found = [PROJECT / name for name in done.stdout.decode().split("\0") if name]
    else:
        leave = set((PROJECT / ".gitignore").read_text().replace("/", "").split()) | {".git"}
        found = [path for path in PROJECT.rglob("*") if not leave & set(path.relative_to(PROJECT).parts)]
    return [path for path in found if path.suffix in TEXT and path.is_file() and not path.is_symlink()]


def mentions(text: str) -> list[str]:
    """What in a text would tie the project to a place."""
    return [f"{what}: {hit.group()}" for what, pattern in FORBIDDEN.items() for hit in pattern.finditer(text)]


@conforms("003.AD1")
def test_no_file_names_a_machine_a_registry_or_an_address_that_moves() -> None:
    found = {str(path.relative_to(PROJECT)): mentions(path.read_text("utf-8", "replace")) for path in project_files()}
    assert len(found) > 20
    assert {name: hits for name, hits in found.items() if hits} == {}


@pytest.mark.parametrize(
    "text",
    [
        "see ../" + "shared/page.md",
        "in /root" + "/.cache",
        "from https://py" + "pi.org/simple",
        "get https://example.org/releases/" + "latest/x.tar.gz",
        "https://example.org/x/blob/" + "main/README",
    ],
)
def test_a_mention_is_found(text: str) -> None:
    assert mentions(text)


def test_harmless_text_is_left_alone() -> None:
    assert mentions("the /main part; src/root.py; https://www.apache.org/licenses/LICENSE-2.0; work/main") == []


def test_the_package_names_no_address_at_all() -> None:
    assert [file for file, path in MODULES.items() if re.search(r"https?://", path.read_text("utf-8"))] == []


# --- classes ----------------------------------------------------------------------------------------------------------


def test_names_classes_and_doors_keep_the_measures_of_the_house() -> None:
    """One test, because to read the whole package takes longer than to judge it."""
    package = modules()
    assert house.shared(house.classes(package)) == {}, "a class name means one class in the whole package"
    methods = house.public_methods(package)
    assert {name: count for name, count in methods.items() if count > house.MOST_METHODS} == {}
    reached = house.names_reached(package, "cairn.sync", "cairn.store")
    assert len(reached) <= MOST_NAMES_OF_THE_STORE, f"what asks for more goes through an object of the door: {reached}"


# --- the pinned environment -------------------------------------------------------------------------------------------


_PIN = r"[a-z0-9-]+(?:\[[a-z,]+\])?==[\w.]+"


def pins(name: str) -> dict[str, list[str]]:
    """Package==version → its hashes, from a lock; a line that is neither fails."""
    found: dict[str, list[str]] = {}
    for line in (PROJECT / "requirements" / name).read_text("utf-8").replace("\\\n", " ").splitlines():
        match = re.fullmatch(rf"({_PIN})(?: ; [^#]+?)?((?:\s+--hash=sha256:[0-9a-f]{{64}})+)\s*", line)
        assert match, f"{name}: {line[:80]}"
        found[match[1]] = match[2].split()
    return found


@conforms("003.AD1")
def test_every_dependency_is_pinned_by_version_and_hash_and_by_nothing_else() -> None:
    runtime, dev = pins("runtime.txt"), pins("dev.txt")
    assert all(runtime.values())
    assert runtime.items() <= dev.items(), "dev.txt must hold all of runtime.txt: run.py relies on it"
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    exact = {one for one in project["dependencies"] if "==" in one}
    assert exact <= runtime.keys()
    grammars = {one for one in project["dependencies"] if one.startswith("tree-sitter")}
    assert grammars == exact, "a grammar is part of what the index means, so its version is fixed"


def test_a_package_that_is_wanted_with_an_extra_is_pinned_with_that_extra() -> None:
    # Some versions of pip take `coverage[toml]` for another package than the pinned `coverage`, look for its newest
    # version, and then refuse to install anything because that one has no hash.
    wanted = set()
    for package in {line.partition("==")[0].partition("[")[0] for line in pins("dev.txt")}:
        try:
            needs = metadata.requires(package) or []
        except metadata.PackageNotFoundError:  # it belongs to another platform
            continue
        for need in map(Requirement, needs):
            if need.extras and (need.marker is None or need.marker.evaluate({"extra": ""})):
                wanted |= {f"{need.name.lower()}[{extra}]" for extra in need.extras}
    pinned = {line.partition("==")[0] for line in pins("dev.txt")}
    assert wanted, "pytest-cov wants coverage with an extra"
    assert wanted <= pinned
