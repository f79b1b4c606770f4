"""To read changes nothing: every tool and every verb that reads answers the same where nothing can be written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cairn.core.limits import RACY_WINDOW_NS
from tests.conformance import conforms
from tests.hostile.reader import TOOLS, VERBS
from tests.support.commands import Person

PROJECT = Path(__file__).parents[2]
READER = [sys.executable, "-m", "tests.hostile.reader"]
# What the clock and the disk say at the moment, and for which tree nobody is to blame.
MOMENT = {"timingsMs", "disk", "checkedAt", "freeBytes", "lastUsedAt"}
# Everything that could change a file, a name or what is known of one.
WRITES = (
    "mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,mknod,mknodat,"
    "chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,truncate,ftruncate,fallocate,utime,utimes,utimensat,futimesat,"
    "setxattr,fsetxattr,lsetxattr,removexattr,fsync,fdatasync,open,openat,openat2,creat"
)
OPENS = re.compile(r"\bopen(at2?)?\(")
OPENED_TO_WRITE = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("reader"))
    person.commit()
    assert person.cairn("index").status == 0
    # A file that was saved a moment ago is read again before a search, by whoever can take the lease for it.
    time.sleep(RACY_WINDOW_NS / 1e9 + 0.1)
    assert person.cairn("sync").status == 0
    # That the store was used is noted by the first read of an hour.
    assert person.cairn("search", "lease").status == 0
    return person


def read(person: Person, before: list[str]) -> list[Any]:
    """What a reader gets, started by the command in front of it."""
    environment = {**person.environment, "PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*before, *READER, str(person.tree)], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def at_any_moment(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: at_any_moment(part) for name, part in answer.items() if name not in MOMENT}
    return [at_any_moment(part) for part in answer] if isinstance(answer, list) else answer


def stored(person: Person) -> dict[str, tuple[int, int, int]]:
    every = [*person.home.rglob("*"), *person.tree.rglob("*")]
    kept = {str(path): path.lstat() for path in every if path.name != "last_used"}
    return {name: (found.st_ino, found.st_size, found.st_ctime_ns) for name, found in kept.items()}


@conforms("001.INV1", "001.INV5", "001.INV7", "001.FG1", "001.RD1")
def test_on_a_disk_that_takes_no_write_every_reader_answers_the_same(person: Person) -> None:
    places = [str(person.home), str(person.tree)]
    mounts = " && ".join(f"mount --bind {place} {place} && mount -o remount,ro,bind {place}" for place in places)
    refused = f"! touch {places[0]}/x 2>/dev/null && ! touch {places[1]}/x 2>/dev/null"
    # Without rights of its own a user becomes the root of a namespace of theirs.
    own = [] if os.geteuid() == 0 else ["-r"]
    alone = ["unshare", *own, "-m", "sh", "-c", f'{mounts} && {refused} && exec "$@"', "sh"]
    tried = subprocess.run([*alone, "true"], capture_output=True, text=True, check=False)
    if tried.returncode and not os.environ.get("CI"):
        pytest.skip(f"nothing can be mounted here: {tried.stderr.strip()}")
    assert tried.returncode == 0, tried.stderr
    before = stored(person)
    expected, found = read(person, []), read(person, alone)
    assert stored(person) == before
    assert len(found) == len(TOOLS) + len(VERBS)
    for asked, written in zip(found, expected, strict=True):
        assert at_any_moment(asked) == at_any_moment(written), asked[0]
        assert asked[-1]["status"] == "ok", asked
    assert {asked[1] for asked in found[len(TOOLS) :]} == {0}


@pytest.mark.long
@conforms("001.INV1", "001.INV5")
def test_no_reader_even_tries_to_write(person: Person, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("there is no strace here to see the calls with")
    # A file for each thread: in one for all, a call during which another thread makes one is torn in two.
    read(person, ["strace", "-ff", "-y", "-o", str(tmp_path / "calls"), "-e", f"trace={WRITES}"])
    lines = [line for trace in tmp_path.glob("calls.*") for line in trace.read_text().splitlines()]
    assert sum(str(person.home) in line for line in lines) > 100
    ours = [line for line in lines if str(person.home) in line or str(person.tree) in line]
    written = [line for line in ours if (OPENED_TO_WRITE.search(line) or not OPENS.search(line)) and not others(line)]
    assert written == []


def others(line: str) -> bool:
    """Whether it is about a file of somebody else's, or notes that a store was used."""
    # `-y` shows the folder that we stand in with every path; what is named by a whole one does not lie in it.
    return "last_used" in line or bool(re.search(r'AT_FDCWD<[^>]*>, "/(?!tmp/)', line))
