"""A test that changes the process for those after it fails, and they do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TESTS = """
import os, signal
import pytest

def test_mask(): os.umask(0o077)
def test_folder(): os.chdir("/")
def test_variable(): os.environ["LEFT"] = "1"
def test_signal(): signal.signal(signal.SIGTERM, signal.SIG_IGN)
def test_after_them(): assert os.umask(0o022) == 0o022
def test_what_is_put_back(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEFT", "2")
"""


def test_a_test_that_leaves_something_behind_is_named_and_the_next_ones_pass(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(_TESTS)
    (tmp_path / "conftest.py").write_text(
        "from tests.support.leftovers import Leftovers\n"
        "def pytest_configure(config): config.pluginmanager.register(Leftovers())\n"
    )
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ntestpaths = .\npythonpath = {Path(__file__).parents[2]}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "6 passed, 4 errors" in done.stdout, done.stdout + done.stderr
    for name in ("file mask: 18 became 63", "folder: ", "variable LEFT: None became '1'", "handler of SIGTERM"):
        assert f"for those after it: {name}" in done.stdout, (name, done.stdout)
