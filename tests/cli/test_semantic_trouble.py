"""`cairn semantic refresh` when its indexer is missing, breaks, hangs or lies: the index stays, the reason is told."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.semantic import fake_indexer
from tests.semantic.indexers import real_indexer
from tests.support.commands import Person, Typed


class Troubled(Person):
    """Somebody with an index and an indexer of some mood."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tools = fake_indexer.install(folder / "tools")
        (self.tools / "git").symlink_to(shutil.which("git") or "")
        self.environment["PATH"] = str(self.tools)
        self.home.mkdir(mode=0o700)
        (self.tree / "src" / "use.py").write_text("from lease import take\n\ntake(1)\n")
        (self.tree / "src" / "take.py").write_text("def take(what):\n    return what\n")

    def answers(self) -> tuple[dict[str, bytes], str]:
        """Every file of the index itself, and what it says."""
        files = {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted((self.home / "data").rglob("*"))
            # A sync comes first, which remembers the times of files.
            if path.is_file() and path.name != "tree.bin" and path.parent.name != "locks"
        }
        found = self.cairn("refs", "take", "--json")
        assert found.status == 0
        value = json.loads(found.stdout)
        return files, json.dumps([value["results"], value["snapshot"]])

    def failed(self, code: str) -> Typed:
        """A refresh that fails as it should: the index is untouched, and the reason is where one looks for it."""
        before = self.answers()
        shown = self.cairn("semantic", "refresh")
        assert shown.stdout == "python:.  failed.\n"
        assert self.answers() == before
        [job, *_] = self.jobs()
        assert (job["status"], job["error"].partition(":")[0]) == ("failed", code)
        status = self.cairn("status")
        assert status.status == 0
        assert f"The last semantic refresh of python:. failed: {code}: " in status.stderr
        assert any(code in warning for warning in json.loads(self.cairn("status", "--json").stdout)["warnings"])
        assert list((self.home / "cache" / "semantic").glob("*")) == [], "the folder of the run is left"
        return shown

    def jobs(self) -> list[dict[str, Any]]:
        jobs: list[dict[str, Any]] = json.loads(self.cairn("semantic", "jobs", "--json").stdout)["jobs"]
        return jobs


@pytest.fixture
def me(tmp_path: Path) -> Troubled:
    person = Troubled(tmp_path)
    person.commit()
    assert person.cairn("index").status == 0
    return person


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("mood", "code", "status", "said"),
    [
        pytest.param("crash", "indexer_failed", 43, "it does not build", marks=LONG),
        pytest.param("garbage", "semantic_unreadable", 40, "cannot be used", marks=LONG),
        pytest.param("empty", "indexer_empty", 46, "", marks=LONG),
        pytest.param("nothing", "indexer_empty", 46, "", marks=LONG),
        pytest.param("run kill -9 $PPID", "indexer_failed", 43, "signal 9", marks=LONG),
        pytest.param("hang", "indexer_timeout", 44, "longer than 1 seconds", marks=LONG),
        pytest.param("eat", "indexer_memory", 45, "more than 100 MiB", marks=LONG),
    ],
)
def test_an_indexer_that_misbehaves_leaves_the_index_alone_and_its_reason_behind(
    me: Troubled, mood: str, code: str, status: int, said: str
) -> None:
    (me.tools / "mood").write_text(mood)
    seconds = 1 if mood == "hang" else 60
    (me.home / "config.toml").write_text(f"[semantic]\nseconds = {seconds}\nmemory_mib = 100\n")
    began = time.monotonic()
    found = me.failed(code)
    assert time.monotonic() - began < 60
    assert found.status == status
    assert said in found.stderr
    # When it is well again, so is everything.
    (me.tools / "mood").write_text("")
    assert me.cairn("semantic", "refresh").status == 0
    assert "semantic refresh" not in me.cairn("status").stderr


def test_a_missing_indexer_is_named_with_what_installs_it(me: Troubled) -> None:
    (me.tools / "scip-python").unlink()
    found = me.failed("indexer_missing")
    assert found.status == 41
    assert "npm install" in found.stderr
    assert "@sourcegraph/scip-python" in found.stderr


@pytest.mark.long
def test_a_repository_without_commits_is_refreshed_and_answers_as_before(tmp_path: Path) -> None:
    me = Troubled(tmp_path)
    assert me.cairn("index").status == 0
    files, _ = me.answers()
    assert me.cairn("semantic", "refresh").status == 0
    assert [job["status"] for job in me.jobs()] == ["completed"]
    after, told = me.answers()
    assert after == files
    assert '"layer": "semantic"' in told
    # The first commit changes none of the files, and is another commit all the same.
    me.commit()
    assert me.cairn("semantic", "refresh").stdout == "python:.  nothing has changed.\n"


@pytest.mark.long
def test_a_project_that_does_not_build_is_read_as_far_as_it_can_be_and_the_index_left_alone(tmp_path: Path) -> None:
    me = Person(tmp_path)
    tools = Path(real_indexer("scip-typescript")).parent
    me.environment["PATH"] = f"{tools}{os.pathsep}{me.environment['PATH']}"
    (me.tree / "src" / "lease.py").unlink()
    (me.tree / "package.json").write_text('{"name": "broken", "version": "1.0.0"}\n')
    (me.tree / "tsconfig.json").write_text('{"extends": "./nowhere.json", "include": ["src"\n')
    (me.tree / "src" / "a.ts").write_text("import { b } from './b'\nexport const a: Missing = b(\n")
    (me.tree / "src" / "b.ts").write_text("export function b(: number { return nothing }\n")
    me.commit()
    assert me.cairn("index").status == 0
    before = sorted((str(path), path.read_bytes()) for path in me.home.glob("data/*/segments/*/*") if path.is_file())
    found = me.cairn("semantic", "refresh")
    after = sorted((str(path), path.read_bytes()) for path in me.home.glob("data/*/segments/*/*") if path.is_file())
    assert after == before
    [job, *_] = json.loads(me.cairn("semantic", "jobs", "--json").stdout)["jobs"]
    assert (job["status"], job["error"], found.status) == ("completed", None, 0)
    assert me.git("status", "--porcelain") == ""
    assert me.cairn("search", "nothing", "--mode", "lexical").status == 0
