"""The conformance machinery: it must be able to say no."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.conformance import conforms
from tests.conformance_report import PAGE, PROJECT, collect, load, marks_in, render
from tests.conftest import Conformance

TABLE = """\
claimed = ["900.A1", "900.A2"]
[[sections]]
title = "Made up"
[sections.rows]
"900.A1" = "one"
"900.A2" = "two"
"900.A3" = "three"
"""

CONFTEST = """\
from pathlib import Path
from tests.conftest import Conformance
from tests.conformance_report import load

def pytest_configure(config):
    config.addinivalue_line("markers", "conforms(*rows): rows")
    config.pluginmanager.register(Conformance(load(Path(__file__).parent / "rows.toml"), default_marks=""))
"""


def suite(folder: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a made-up test suite under the same plugin, in a process of its own."""
    (folder / "rows.toml").write_text(TABLE)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text(f"[pytest]\ntestpaths = .\npythonpath = {PROJECT}\n")
    (folder / "test_it.py").write_text("import pytest\nfrom tests.conformance import conforms\n" + body)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *options]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)


GOOD = """
@conforms("900.A1", "900.A2")
def test_good():
    pass
"""


def report(rows: list[str], outcome: str, when: str = "call", **extra: object) -> pytest.TestReport:
    made = pytest.TestReport("t", ("t.py", 0, "t"), {}, outcome, None, when, user_properties=[("conforms", rows)])
    vars(made).update(extra)
    return made


@conforms("001.DR3")
@pytest.mark.parametrize(
    "second",
    [
        pytest.param([], id="no test"),
        pytest.param([report(["900.A2"], "skipped")], id="skipped"),
        pytest.param([report(["900.A2"], "passed", wasxfail="why")], id="expected to fail"),
        pytest.param([report(["900.A2"], "passed"), report(["900.A2"], "failed")], id="one of two fails"),
        pytest.param([report(["900.A2"], "passed"), report(["900.A2"], "failed", "teardown")], id="fails at the end"),
    ],
)
def test_only_a_test_that_passed_proves_a_row(tmp_path: Path, second: list[pytest.TestReport]) -> None:
    (tmp_path / "rows.toml").write_text(TABLE)
    watcher = Conformance(load(tmp_path / "rows.toml"))
    for each in [report(["900.A1"], "passed"), *second]:
        watcher.pytest_runtest_logreport(each)
    assert watcher.unproven == ["900.A2"]


@pytest.mark.long
def test_claims_are_counted_across_worker_processes_and_fail_a_whole_run(tmp_path: Path) -> None:
    spread = '@conforms("900.A1")\ndef test_one():\n    pass\n\n@conforms("900.A2")\ndef test_two():\n    pass\n'
    assert suite(tmp_path, spread).returncode == 0
    missing = suite(tmp_path, spread.replace("900.A2", "900.A3"), "-n", "2")
    assert missing.returncode == 1
    assert "claimed without a passing test: 900.A2\n" in missing.stdout, "900.A1 was proven in a worker"
    assert "1 failed, 2 passed" in missing.stdout.splitlines()[-1]
    narrow = suite(tmp_path, spread.replace("900.A2", "900.A3"), "-k", "one")
    assert narrow.returncode == 0, "a narrow run does not ask for the claims"


def test_a_mark_that_names_no_row_stops_the_run(tmp_path: Path) -> None:
    done = suite(tmp_path, GOOD.replace("900.A2", "900.A9"))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "900.A9: no such row" in done.stderr + done.stdout


def test_marks_are_found_on_tests_classes_parameters_and_modules() -> None:
    source = """
pytestmark = conforms("900.A1")

@conforms("900.A2")
class TestThing:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=conforms("900.A3"))])
    def test_it(self, x): ...

def helper(): ...
"""
    name = "TestThing::test_it"
    assert list(marks_in(ast.parse(source))) == [("900.A1", name), ("900.A2", name), ("900.A3", name)]


def test_a_table_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    departed = '[deviations."900.A1"]\ndate = "2026-01-01"\nwhy = "x"\n'
    for bad in (TABLE.replace('"900.A2"]', '"900.X"]'), TABLE + departed):
        path.write_text(bad)
        with pytest.raises(ValueError, match=r"rows\.toml"):
            load(path)


def test_the_committed_page_is_what_the_rows_and_marks_make() -> None:
    assert PAGE.read_text("utf-8") == render(load(), collect()), (
        "docs/CONFORMANCE.md is out of date; run: python -m tests.conformance_report --write"
    )


def test_every_deviation_has_a_date_and_one_sentence() -> None:
    for date, why in load().deviations.values():
        assert len(date) == 10
        assert date[:2] == "20"
        assert why.endswith(".")


@conforms("003.CIT1")
def test_properties_run_with_fixed_seeds_and_bounded_examples_in_every_run() -> None:
    now = settings()
    assert now.derandomize
    assert now.database is None
    assert now.max_examples <= 200
    # The change gate runs the very command of the README.
    gate = (PROJECT / ".ci" / "run").read_text().splitlines()
    assert any(line.split("#")[0].strip() == "python3 run.py test" for line in gate)
    assert "python3 run.py test" in (PROJECT / "README.md").read_text()
