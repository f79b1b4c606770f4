"""What holds for every test run: fixed seeds for properties, and claimed requirements that are really proven."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.conformance_report import Table, load
from tests.lengths import DEEP, shorten
from tests.support.budgets import Budgets
from tests.support.faults import Faults
from tests.support.leftovers import Leftovers
from tests.support.order import with_grpc_last
from tests.support.repos import make_repo

# The same examples on every machine and every run: a red run can be repeated, and time is bounded by the examples.
FIXED = settings(derandomize=True, deadline=None, max_examples=100, database=None)
settings.register_profile("fixed", FIXED)
settings.register_profile(DEEP, FIXED)
settings.load_profile("fixed")


# Read when gRPC is loaded: it is not to wake its threads in forks of a test run, which let go of its descriptors.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"
# Read when numpy is loaded: the threads of its matrices would spin beside every test. Commands do without them too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class Conformance:
    """Refuses a mark that names no row; after a whole run, fails it when a claimed row has no passing test."""

    def __init__(self, table: Table, default_marks: str = "not long") -> None:
        self.table = table
        self.default_marks = default_marks
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    @property
    def unproven(self) -> list[str]:
        return self.table.unproven(self.passed - self.failed)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            rows = [row for mark in item.iter_markers("conforms") for row in mark.args]
            if unknown := self.table.unknown(rows):
                raise pytest.UsageError(f"{item.nodeid} conforms to {', '.join(unknown)}: no such row")
            # The only thing of an item that travels with its report from an xdist worker to the controller.
            item.user_properties.append(("conforms", rows))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, rows in report.user_properties:
            if name == "conforms" and report.failed:
                self.failed.update(rows)
            elif name == "conforms" and report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
                self.passed.update(rows)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        ran = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if not (ran and self._whole_run(session.config)):
            return
        if not self.unproven or (reporter := session.config.pluginmanager.getplugin("terminalreporter")) is None:
            return
        message = f"claimed without a passing test: {', '.join(self.unproven)}"
        where = ("docs/conformance/rows.toml", 0, "conformance")
        # As a failed report it stands with the other failures and in the closing line.
        report = pytest.TestReport("docs/conformance/rows.toml::claimed", where, {}, "failed", message, "call")
        reporter.stats.setdefault("failed", []).append(report)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _whole_run(self, config: pytest.Config) -> bool:
        option = config.option
        narrowed = option.keyword or option.markexpr != self.default_marks or option.deselect or option.collectonly
        failed_only = getattr(option, "lf", False) or getattr(option, "stepwise", False) or option.maxfail
        is_worker = hasattr(config, "workerinput")
        asked_for_everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        return asked_for_everything and not (narrowed or failed_only or is_worker)


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that starts a run in the background has it ignore Ctrl-C, and with it every process that it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(Conformance(load()), "conformance")
    config.pluginmanager.register(Budgets(), "budgets")
    config.pluginmanager.register(Leftovers(), "leftovers")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = with_grpc_last(items)
    if config.getoption("--hypothesis-profile") != DEEP:
        shorten(items)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """An empty git repository."""
    return make_repo(tmp_path / "repo")


@pytest.fixture
def faults() -> Iterator[Faults]:
    """What goes wrong until the test ends."""
    with Faults.meanwhile() as faults:
        yield faults
