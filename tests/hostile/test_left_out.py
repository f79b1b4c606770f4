"""One file that cannot be indexed never stops the others: one of every reason beside a good change, by the command."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cairn.core.types import SkipReason
from tests.conformance import conforms
from tests.hostile.shapes import SHAPES, uproot
from tests.support.commands import Person
from tests.support.trees import write_tree

# Settings of the repository under which each reason can come up.
SETTINGS = """[index]
exclude = ["excluded/"]

[limits]
max_chunks_per_file = 3
"""


def planted(name: str) -> Callable[[Path], None]:
    """What plants this shape of the hostile tree in a folder of its own."""
    (shape,) = [shape for shape in SHAPES if shape.name == name]

    def plant(tree: Path) -> None:
        (tree / name).mkdir()
        shape.plant(tree / name)

    return plant


def void(_: object) -> None:
    """Return nothing."""


def unreadable(tree: Path) -> None:
    (tree / "locked.py").write_text("x = 1\n")
    (tree / "locked.py").chmod(0)


def fifo(tree: Path) -> None:
    os.mkfifo(tree / "pipe.py")


def not_named(tree: Path) -> None:
    Path(os.fsdecode(os.fsencode(tree) + b"/caf\xe9.py")).write_text("x = 1\n")


# One of each; a reason that is added later must be added here, or the first test says so.
CASES: dict[SkipReason, Callable[[Path], None]] = {
    SkipReason.CAIRNIGNORED: lambda tree: void(write_tree(tree, {".cairnignore": "/ours.py\n", "ours.py": "x = 1\n"})),
    SkipReason.IGNORED: lambda tree: void(write_tree(tree, {"src/build/more.py": "x = 1\n"})),
    SkipReason.EXCLUDED: lambda tree: void(write_tree(tree, {"excluded/x.py": "x = 1\n"})),
    SkipReason.UNTRACKED: lambda tree: void((tree / "new.py").write_text("x = 1\n")),
    SkipReason.SENSITIVE_NAME: lambda tree: void((tree / "id_rsa").write_text("x")),
    SkipReason.VCS_INTERNAL: lambda tree: void((tree / ".svn").mkdir()),
    SkipReason.NESTED_REPOSITORY: lambda tree: void(subprocess.run(["git", "init", "-q", tree / "inner"], check=True)),
    SkipReason.OUTSIDE_ROOT: lambda tree: void((tree / "out.py").symlink_to("/etc/hostname")),
    SkipReason.SYMLINK_LOOP: lambda tree: void((tree / "loop.py").symlink_to("loop.py")),
    SkipReason.BROKEN_LINK: lambda tree: void((tree / "broken.py").symlink_to("nothing.py")),
    SkipReason.ALIAS: lambda tree: void((tree / "alias.md").symlink_to("README.md")),
    SkipReason.LINK_TARGET_SKIPPED: lambda tree: void((tree / "to.js").symlink_to("build/out.js")),
    SkipReason.NOT_REGULAR: fifo,
    SkipReason.UNREADABLE: unreadable,
    SkipReason.NAME_NOT_UTF8: not_named,
    SkipReason.PATH_TOO_LONG: planted("path-too-long"),
    SkipReason.TOO_LARGE: lambda tree: void((tree / "large.py").write_bytes(b"#" * (11 << 20))),
    SkipReason.BINARY: lambda tree: void((tree / "binary").write_bytes(b"x = 1\0\n")),
    SkipReason.NOT_UTF8: lambda tree: void((tree / "latin.py").write_bytes(b"x = '\xe9'\n")),
    SkipReason.DATA_FILE: lambda tree: void((tree / "rows.csv").write_text("a,b\n")),
    SkipReason.LOCK_FILE: lambda tree: void((tree / "package-lock.json").write_text("{}")),
    SkipReason.MINIFIED: lambda tree: void((tree / "app.js").write_text("x=1;" * 20_000)),
    SkipReason.TOO_MANY_CHUNKS: lambda tree: void((tree / "many.py").write_text("def f():\n    return 1\n" * 2_000)),
}


@pytest.fixture
def me(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path)
    (person.tree / ".cairn.toml").write_text(SETTINGS)
    person.commit()
    yield person
    for child in (*person.tree.glob("locked*"), *person.tree.glob("path-too-long")):
        if child.is_dir():
            uproot(child)
        else:
            child.chmod(0o600)


def limited(me: Person, *arguments: str) -> dict[str, Any]:
    """The answer of a command by somebody for whom the rights of files count, as they do not for the superuser."""
    alone = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if alone and shutil.which("setpriv") is None:
        pytest.skip("only the superuser is here, who may read everything")
    command = [*alone, sys.executable, "-m", "cairn", *arguments, "--json"]
    done = subprocess.run(command, cwd=me.tree, env=me.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done
    return dict(json.loads(done.stdout))


def answer(me: Person, *arguments: str) -> dict[str, Any]:
    """The answer of a command that need not be refused any file."""
    done = me.cairn(*arguments, "--json")
    assert done.status == 0, done
    return dict(json.loads(done.stdout))


def change_something(me: Person) -> None:
    (me.tree / "src" / "lease.py").write_text("class Lease:\n    def give_back(self):\n        return None\n")


def is_found(me: Person) -> bool:
    found = answer(me, "search", "give_back", "--mode", "symbol", "--no-sync")
    return "src/lease.py" in [hit["path"] for hit in found["results"]]


def left_out(me: Person) -> dict[str, int]:
    counts: dict[str, int] = answer(me, "status")["coverage"]["skipped"]
    return counts


def test_there_is_a_case_for_every_reason() -> None:
    assert CASES.keys() == set(SkipReason)


@conforms("003.STR2", "003.STR3", "003.CI1", "004.CU16")
def test_a_good_change_is_indexed_beside_one_file_of_every_reason(me: Person) -> None:
    answer(me, "index")
    before = left_out(me)
    for reason, plant in CASES.items():
        if reason is not SkipReason.UNTRACKED:
            plant(me.tree)
    # Twins are no reason to leave anything out, nor to stop.
    write_tree(me.tree, {"Twin.py": "first = 1\n", "twin.py": "second = 2\n", "\u00e9.py": "x = 3\n"})
    write_tree(me.tree, {"e\u0301.py": "y = 4\n"})
    change_something(me)
    report = limited(me, "sync")
    assert report["published"]
    assert is_found(me)
    after = left_out(me)
    assert [reason for reason in CASES if after.get(reason, 0) <= before.get(reason, 0)] == [SkipReason.UNTRACKED]
    # What was left out is told alike by the run, the index and a second run.
    assert report["coverage"]["skipped"] == limited(me, "sync")["coverage"]["skipped"] == after
    for name, text in (("Twin.py", "first"), ("twin.py", "second"), ("\u00e9.py", "x = 3"), ("e\u0301.py", "y = 4")):
        assert text in json.dumps(answer(me, "read", name, "--no-sync")), name


@pytest.mark.long
@pytest.mark.parametrize("reason", CASES, ids=str)
def test_a_good_change_is_indexed_beside_a_file_that_is_left_out(me: Person, reason: SkipReason) -> None:
    if reason is SkipReason.UNTRACKED:
        (me.tree / ".cairn.toml").write_text("[index]\nuntracked = false\n")
    answer(me, "index")
    before = left_out(me)
    CASES[reason](me.tree)
    change_something(me)
    assert limited(me, "sync")["published"]
    assert is_found(me)
    assert left_out(me).get(reason, 0) > before.get(reason, 0)


def test_a_file_that_is_written_all_the_time_costs_no_other(me: Person) -> None:
    answer(me, "index")
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.wait(0.001):
            number += 1
            (me.tree / "log.txt").write_text(f"{number}\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        change_something(me)
        report = answer(me, "sync")
        assert [(one["path"], one["code"]) for one in report["failed"]] == [("log.txt", "unstable")]
        assert is_found(me)
    finally:
        over.set()
        writer.join()
    assert answer(me, "sync")["failed"] == []


# --- how many are left out, after runs that changed nothing else ------------------------------------------------------


def left_out_by_a_fresh_index(me: Person, folder: Path) -> dict[str, int]:
    """What an index says that somebody makes now, in a home of its own."""
    other = copy.copy(me)
    other.environment = me.environment | {"CAIRN_HOME": str(folder)}
    answer(other, "index")
    return left_out(other)


def out_of_links(me: Person) -> None:
    """The target of a link comes, in a folder that no walk enters."""
    (me.tree / "build" / "later.js").write_text("x")


CHANGES: dict[str, Callable[[Person], object]] = {
    "ignored": lambda me: write_tree(me.tree, {"src/build/more.py": "x = 1\n"}),
    "a name that holds a secret": lambda me: (me.tree / "id_rsa").write_text("x"),
    "no secret any more": lambda me: (me.tree / ".env").unlink(),
    "a link": lambda me: (me.tree / "out.py").symlink_to("/etc/hostname"),
    "the target of a link": out_of_links,
    "a pipe": lambda me: os.mkfifo(me.tree / "pipe.py"),
    "a repository": lambda me: subprocess.run(["git", "init", "-q", me.tree / "inner"], check=True),
    "other bytes of a binary": lambda me: (me.tree / "logo.txt").write_bytes(b"\xe9\xe9\n"),
    "a data file": lambda me: (me.tree / "rows.csv").write_text("a,b\n"),
}


@conforms("003.STR3")
def test_what_is_left_out_is_counted_anew_by_each_sync(me: Person, tmp_path: Path) -> None:
    (me.tree / "later.js").symlink_to("build/later.js")
    answer(me, "index")
    for number, (what, change) in enumerate(CHANGES.items()):
        change(me)
        report = answer(me, "sync")
        fresh = left_out_by_a_fresh_index(me, tmp_path / f"fresh{number}")
        searched = answer(me, "search", "steal", "--mode", "regex")["coverage"]["skipped"]
        assert report["coverage"]["skipped"] == left_out(me) == searched == fresh, what
