"""`cairn watch`: one folder, caught up with and followed until somebody stops it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cairn.sync.codebase import open_codebase
from cairn.sync.report import RunOptions
from cairn.sync.run import index
from tests.conformance import conforms
from tests.support.waiting import PATIENCE


@contextmanager
def watching(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, "CAIRN_HOME": str(folder / "home"), "HOME": str(folder)}
    with subprocess.Popen(
        [sys.executable, "-m", "cairn", "watch", "--root", str(folder / "tree"), *options],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@conforms("004.CU9")
def test_it_catches_up_follows_saves_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("x = 1\n")
    with watching(tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline() == "Catch-up indexing: 1 missing, 0 modified, 0 stale\n"
        assert "1 added" in process.stdout.readline()
        assert process.stderr.readline().startswith("Watching ")
        (tmp_path / "tree/b.py").write_text("y = 1\n")
        assert "Indexed 2 files" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


def test_it_ends_when_the_folder_goes(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("x = 1\n")
    with watching(tmp_path, "--json") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["published"]
        shutil.rmtree(tmp_path / "tree")
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 21
        assert json.loads(out.splitlines()[-1])["error"]["code"] == "root_not_found"


def test_an_index_of_another_version_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("x = 1\n")
    root, environ = str(tmp_path / "tree"), {"CAIRN_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr("cairn.sync.codebase.EXTRACTOR_VERSION", "another")
        index(open_codebase(root, environ), RunOptions(environ["CAIRN_HOME"]), lambda _: None)
    with watching(tmp_path, "--json") as process:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 12
        assert json.loads(out)["error"]["code"] == "requires_reindex"


@pytest.mark.long
def test_an_index_that_was_cleared_is_not_watched(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("x = 1\n")
    environ = {**os.environ, "CAIRN_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    for verb in ("index", "clear"):
        command = [sys.executable, "-m", "cairn", verb, "-q", "--root", str(tmp_path / "tree")]
        subprocess.run(command, env=environ, check=True, capture_output=True)
    with watching(tmp_path, "--json") as process:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 10
        assert json.loads(out)["error"]["code"] == "not_indexed"
