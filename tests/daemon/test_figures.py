"""Counts and times of requests, bounded however many kinds clients invent."""

from __future__ import annotations

from cairn.core.limits import DAEMON_LEAST_TIMES
from cairn.daemon.dispatcher import Figures


def test_counts_and_quantiles_are_those_of_each_kind() -> None:
    figures = Figures()
    for number in range(1, 101):
        figures.add("search", float(number), failed=number % 10 == 0)
    figures.add("read", 7.0, failed=False)
    assert figures.total == 101
    read, search = figures.kinds()
    assert tuple(read) == ("read", 1, 0, None, None)
    assert tuple(search) == ("search", 100, 10, 51.0, 96.0)


def test_of_a_handful_of_requests_no_quantile_is_told() -> None:
    figures = Figures()
    for number in range(1, DAEMON_LEAST_TIMES):
        figures.add("search", float(number), failed=False)
    assert figures.kinds()[0][3:] == (None, None)
    figures.add("search", 20.0, failed=False)
    assert figures.kinds()[0][3:] == (11.0, 20.0)


def test_only_the_last_few_hundred_times_count_but_every_request() -> None:
    figures = Figures()
    for _ in range(1_000):
        figures.add("x", 1_000.0, failed=False)
    for _ in range(512):
        figures.add("x", 1.0, failed=False)
    assert tuple(figures.kinds()[0]) == ("x", 1_512, 0, 1.0, 1.0)


def test_a_client_cannot_make_it_grow() -> None:
    figures = Figures()
    for number in range(1_000):
        figures.add(f"kind {number}", 1.0, failed=False)
    assert len(figures.kinds()) <= 65
    assert figures.total == 1_000
