"""The page of the daemon's benchmark says what was measured, and whether it is enough."""

from __future__ import annotations

from bench.serve_measures import Row, in_turn

from bench import serve

ROWS = [
    Row("`cairn search`", 14.0, "ms CPU", 7.0, 3.0, "10 files"),
    Row("a tool's search", 16.0, "ms", 10.0, 1.5),
    Row("CPU", 0.4, "%", None, 0.3),
    Row("started", 30.0, "MiB"),
]


def test_a_row_says_whether_it_is_reached() -> None:
    assert [row.is_reached for row in ROWS] == [True, False, False, True]
    assert serve.cells(ROWS[0]) == ("`cairn search`", "14.00 ms CPU", "7.00 ms CPU", "2.00x", "<= 3x: yes", "10 files")
    assert serve.cells(ROWS[1])[3:5] == ("1.60x", "**<= 1.5x: no**")
    assert serve.cells(ROWS[2])[1:5] == ("0.40 %", "", "", "**<= 0.3 %: no**")
    assert serve.cells(ROWS[3])[2:5] == ("", "", "")


def test_the_page_shows_what_was_ever_measured() -> None:
    kept = {"idle": {"date": "2026-11-16", "machine": "a machine", "rows": [list(ROWS[2])]}}
    page = serve.page(kept)
    assert "## While nobody asks\n\n2026-11-16, a machine.\n" in page
    assert "| CPU | 0.40 % |" in page
    assert "beside a bare Python" not in page


def test_what_is_compared_takes_turns() -> None:
    turns: list[str] = []

    def way(name: str, took: float) -> float:
        turns.append(name)
        return took

    assert in_turn({"a": lambda: way("a", 0.001), "b": lambda: way("b", 0.002)}, 3) == {"a": 1.0, "b": 2.0}
    assert turns == ["a", "b"] * 3
