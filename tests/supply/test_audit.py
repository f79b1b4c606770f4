"""The audit of the lock, with programs in place of the one that looks it up: it reports, and gates nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.audit import packages

from tests.conformance_report import PROJECT

LOCK = "One_two==1.0 \\\n    --hash=sha256:00\nthree[x]==2.0 ; sys_platform == 'linux' \\\n    --hash=sha256:00\n"
HOLE = {"id": "GHSA-x", "fix_versions": ["1.1", "2.0"], "description": "long"}


def audit(tmp_path: Path, tool: str | None, *options: str, said: Any = None, status: int = 0) -> str:
    """What the audit prints when this program looks the lock up."""
    lock, programs = tmp_path / "lock.txt", tmp_path / "bin"
    lock.write_text(LOCK)
    programs.mkdir()
    if tool is not None:
        text = json.dumps(said) if said is not None else ""
        (programs / "pip-audit").write_text(
            f"#!{sys.executable}\nimport sys, time\n{tool}\nprint({text!r})\nsys.exit({status})\n"
        )
        (programs / "pip-audit").chmod(0o755)
    command = [sys.executable, "-m", "bench.audit", "--lock", str(lock), *options]
    environ = {"PATH": str(programs), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=PROJECT, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def told(*dependencies: dict[str, Any]) -> dict[str, Any]:
    return {"dependencies": list(dependencies), "fixes": []}


def test_without_the_program_it_says_that_nothing_is_known(tmp_path: Path) -> None:
    said = audit(tmp_path, None)
    assert said.startswith("The advisories could not be had: `pip-audit` is not on PATH")
    assert said.endswith("Nothing is known of the 2 locked packages.\n")


@pytest.mark.parametrize(
    ("tool", "options", "why"),
    [
        ("sys.stderr.write('https://secret.example refused'); sys.exit(1)", [], "ended with status 1 and no report"),
        ("print('<html>')", [], "ended with status 0 and no report"),
        ("print('{}')", [], "ended with status 0 and no report"),
        ("time.sleep(600)", ["--seconds", "0.2"], "did not answer in"),
    ],
)
def test_where_the_data_cannot_be_had_it_says_so(tmp_path: Path, tool: str, options: list[str], why: str) -> None:
    said = audit(tmp_path, tool, *options)
    assert why in said
    assert "Nothing is known of the 2 locked packages." in said
    assert "secret.example" not in said


def test_holes_are_listed_and_do_not_fail_anything(tmp_path: Path) -> None:
    known = told(
        {"name": "one-two", "version": "1.0", "vulns": [HOLE, {"id": "CVE-y\x1b[2J", "fix_versions": []}]},
        {"name": "three", "version": "2.0", "vulns": []},
    )
    assert audit(tmp_path, "", said=known, status=1).splitlines() == [
        "one-two 1.0: CVE-y?[2J (not mended yet)",
        "one-two 1.0: GHSA-x (mended in 1.1, 2.0)",
        "2 known holes in the 2 packages that were looked up.",
    ]


def test_what_could_not_be_looked_up_is_not_called_sound(tmp_path: Path) -> None:
    partly = told({"name": "one-two", "version": "1.0", "vulns": []}, {"name": "three", "skip_reason": "not found"})
    assert audit(tmp_path, "", said=partly).splitlines() == [
        "The advisories of 1 of 2 locked packages could not be had (three).",
        "0 known holes in the 1 packages that were looked up.",
    ]


def test_a_report_about_nothing_is_no_good_news(tmp_path: Path) -> None:
    nothing = told({"name": "one-two", "skip_reason": "not found"}, {"name": "three", "skip_reason": "not found"})
    assert audit(tmp_path, "", said=nothing).endswith("Nothing was looked up, so nothing is known.\n")


def test_the_lock_of_this_project_is_read_whole() -> None:
    for name in ("runtime.txt", "dev.txt"):
        text = (PROJECT / "requirements" / name).read_text("utf-8")
        lines = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert len(packages(PROJECT / "requirements" / name)) == len({line.split(" ")[0] for line in lines})
    assert os.access(PROJECT / ".ci" / "run", os.X_OK)
    assert "bench.audit" in (PROJECT / ".ci" / "run").read_text("utf-8")
