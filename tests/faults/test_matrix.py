from __future__ import annotations

from tests.faults.matrix import COLUMNS, PAGE, Row, names, page, read


def test_the_page_speaks_of_every_operation_and_every_fault_and_nothing_was_lost() -> None:
    columns, rows = read(PAGE.read_text("utf-8"))
    assert columns == COLUMNS
    assert [(row.operation, row.fault) for row in rows] == names()
    assert [row for row in rows if row.lost or not row.runs or row.survived != row.runs] == []


def test_what_is_written_can_be_read_again() -> None:
    rows = [Row("sync", "killed", 7, 6, 1), Row("sync", "EIO", 2, 2, 0)]
    text = page(rows)
    assert read(text) == (COLUMNS, rows)
    assert text.endswith("| all of them |  | 9 | 8 | 1 |\n")
