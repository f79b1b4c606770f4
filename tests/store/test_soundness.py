"""The quick look says yes to what is sound, and never to what a reading file by file would refuse."""

from __future__ import annotations

import pytest

from cairn.store.format.segment import Segment
from cairn.store.format.soundness import sound_files, uses_are_sound
from tests.store.segments import FILES, FOLDER, SKIPS, analyzed, built, opened
from tests.store.test_conform import BROKEN_DATA, BROKEN_TABLES
from tests.store.test_segment import DATA, ROWS, with_section, with_sql

IN_A_FILE = [what for what, (_, said) in BROKEN_TABLES.items() if "definitions" in said or said == "damaged"]
IN_A_FILE += ["an import lies beyond the file"]
IN_THE_USES = [what for what, (_, _, said) in BROKEN_DATA.items() if "in chunk" in said or "in other chunks" in said]


def test_every_file_of_plain_ascii_is_sound_and_no_other() -> None:
    files = [analyzed("a.py", b"def a():\n    return b()\n", "python"), analyzed("b.py", "é = 1\n".encode(), "python")]
    with Segment.open(built(files, ()), FOLDER) as segment:
        assert sound_files(segment) == {0}
        assert uses_are_sound(segment)


@pytest.mark.parametrize("files", [(), FILES[:1], FILES])
def test_a_segment_as_it_was_built_is_sound(files: tuple[object, ...]) -> None:
    with Segment.open(built(files, SKIPS), FOLDER) as segment:  # type: ignore[arg-type]
        assert uses_are_sound(segment)
        plain = {n for n, record in enumerate(segment.records()) if record.skip or bytes(segment.text(n)).isascii()}
        assert sound_files(segment) == plain


@pytest.mark.parametrize("what", IN_A_FILE)
def test_tables_that_break_a_promise_are_left_open(what: str) -> None:
    with opened(with_sql(BROKEN_TABLES[what][0]), DATA) as segment:
        assert sound_files(segment) == set()


def test_a_stored_text_that_is_none_is_left_open() -> None:
    with opened(with_sql("UPDATE symbols SET signature = CAST(x'ff' AS TEXT) WHERE id = 0"), DATA) as segment:
        assert sound_files(segment) == set()


@pytest.mark.parametrize("value", ["x'ff'", "x'ffffffff'"])
def test_a_list_that_is_cut_or_names_nothing_is_left_open(value: str) -> None:
    with opened(with_sql(f"UPDATE chunks SET breadcrumb = {value} WHERE id = 0"), DATA) as segment:
        assert sound_files(segment) == set()


@pytest.mark.parametrize("what", IN_THE_USES)
def test_uses_that_break_a_promise_are_left_open(what: str) -> None:
    name, change, _ = BROKEN_DATA[what]
    with opened(ROWS, with_section(name, change)) as segment:
        assert not uses_are_sound(segment)
