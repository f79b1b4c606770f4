"""The page of the search benchmark says what was measured, and whether it is enough."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.search_measures import Row

from bench import search
from tests.support.faults import Faults

ROWS = [
    Row("NDCG@10, judged questions", "0.912", "0.840", 0.912, ">= 0.90", "10 questions"),
    Row("warm query p50", "2.00 ms", "1.00 ms", 2.0, "<= 1.0"),
    Row("regex, nothing", "1.0 ms", "4.0 ms", 0.25, ""),
]


def kept(*parts: str) -> dict[str, dict[str, Any]]:
    # As they come back from the file that keeps them.
    rows = [list(row) for row in ROWS]
    return {part: {"date": "2026-01-31", "machine": "a laptop", "rows": rows} for part in parts}


def test_a_target_is_reached_from_the_right_side() -> None:
    assert [row.is_reached for row in ROWS] == [True, False, None]
    assert ROWS[0]._replace(value=0.899).is_reached is False
    assert ROWS[1]._replace(value=1.0).is_reached is True


def test_the_page_has_every_part_that_was_measured_with_date_and_machine() -> None:
    text = search.page(kept("regex", "quality"))
    assert text.index("## Quality") < text.index("## Patterns")
    assert "## Speed" not in text
    assert text.count("2026-01-31, a laptop.") == 2
    assert "| NDCG@10, judged questions | 0.912 | 0.840 |  | >= 0.90: yes | 10 questions |" in text
    assert "| warm query p50 | 2.00 ms | 1.00 ms | 2.00x | **<= 1.0: no** |  |" in text
    assert "| regex, nothing | 1.0 ms | 4.0 ms | 0.25x |  |  |" in text


def test_without_matplotlib_the_script_says_so(
    tmp_path: Path, faults: Faults, capsys: pytest.CaptureFixture[str]
) -> None:

    def without(real: Callable[..., Any], name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    faults.around(builtins, "__import__", without)
    search.plot(kept("quality"), tmp_path)
    assert capsys.readouterr().out.strip() == search.NO_PLOTS
    assert list(tmp_path.iterdir()) == []


def test_the_machine_is_named_in_words() -> None:
    assert "shared cores" in search.machine()
    assert "GiB" in search.machine()
