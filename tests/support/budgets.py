"""What each suite may cost, and what it did cost: CPU seconds of its tests and of every process that they awaited.

Printed at the end of a whole run, fast or long. More than its budget fails nothing: no test is judged by time.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator, Mapping

import pytest

from tests.support.forker import seconds_of_forks

# CPU seconds on a machine of two cores that does nothing else: of the fast run, and of the long one as CI runs it.
# A suite is a folder of `tests/`; "." are the files beside the folders.
BUDGETS: Mapping[str, tuple[float, float]] = {
    ".": (15, 300),
    "answer": (12, 300),
    "ask": (30, 300),
    "bench": (12, 300),
    "cli": (65, 300),
    "compat": (2, 300),
    "core": (8, 300),
    "daemon": (20, 300),
    "docs": (12, 300),
    "edit": (2, 300),
    "embedding": (6, 300),
    "engine": (10, 300),
    "evaluation": (3, 300),
    "faults": (50, 300),
    "fuzz": (30, 300),
    "graph": (15, 300),
    "hostile": (12, 300),
    "install": (3, 300),
    "mcp": (12, 300),
    "properties": (15, 300),
    "races": (15, 300),
    "search": (20, 300),
    "semantic": (15, 300),
    "source": (15, 300),
    "store": (45, 300),
    "supply": (3, 300),
    "support": (2, 300),
    "sync": (70, 300),
    "syntax": (15, 300),
    "tools": (15, 300),
    "training": (3, 300),
    "watch": (8, 300),
}
_FAST, _LONG = "not long", "long or hypothesis"
_PROPERTY = "cpu seconds"


def spent() -> float:
    """CPU seconds of this process, of its children that have ended and were awaited, and of commands in forks."""
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, who)) + seconds_of_forks()


def suite_of(nodeid: str) -> str:
    """The suite of a test: its folder, or `.`."""
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else "."


class Budgets:
    """Notes the cost of every test where it runs, and adds it up where the run ends."""

    def __init__(self, budgets: Mapping[str, tuple[float, float]] = BUDGETS) -> None:
        self.budgets = budgets
        self.used: Counter[str] = Counter()
        self._began = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            now = spent()
            # Of a report only these travel from an xdist worker to the controller.
            report.user_properties.append((_PROPERTY, now - self._began))
            self._began = now
        return report

    def pytest_collection_finish(self) -> None:
        self._began = spent()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, seconds in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                self.used[suite_of(report.nodeid)] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if not _is_whole(config):
            return
        terminalreporter.section("CPU seconds of each suite, and its budget")
        for line in self.table(config.option.markexpr == _LONG):
            terminalreporter.write_line(line)

    def table(self, long: bool) -> list[str]:
        """A line for each suite that ran, the dearest first, and one for all of them."""
        of = {suite: pair[long] for suite, pair in self.budgets.items()}
        lines = [_line(suite, seconds, of.get(suite, 0.0)) for suite, seconds in self.used.most_common()]
        return [*lines, _line("all", self.used.total(), sum(of.values()))]


def _line(suite: str, seconds: float, budget: float) -> str:
    return f"{suite:<12}{seconds:>8.1f} of {budget:>6.0f}{'  OVER ITS BUDGET' if seconds > budget else ''}"


def _is_whole(config: pytest.Config) -> bool:
    """Whether all of the fast or of the long run was asked for, and this is where it ends."""
    option = config.option
    asked = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not (option.keyword or option.deselect)
    return asked and option.markexpr in (_FAST, _LONG) and not hasattr(config, "workerinput")
