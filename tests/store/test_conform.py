"""Each promise of the row schema is looked at: a segment that breaks one, and only that one, is found out."""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Any

import pytest

from cairn.store.format.conform import segment_problems
from cairn.store.format.segment import Segment
from tests.conformance import conforms
from tests.store.segments import FILES, FOLDER, SKIPS, analyzed, built, opened, parts
from tests.store.test_segment import DATA, ROWS, with_section, with_sql


def problems(rows: bytes = ROWS, data: bytes = DATA) -> list[str]:
    with opened(rows, data) as segment:
        return list(segment_problems(segment))


def number(at: int, value: int, kind: str = "I") -> Any:
    """Put another number at a place of a section, counted from its end when negative."""
    width = struct.calcsize(kind)

    def change(data: bytes) -> bytes:
        place = at * width if at >= 0 else len(data) + at * width
        return data[:place] + struct.pack(f"<{kind}", value) + data[place + width :]

    return change


def numbers_of(name: str, kind: str = "I") -> list[int]:
    with opened(ROWS, DATA) as segment:
        return segment.sections[name].cast(kind).tolist()  # type: ignore[call-overload, no-any-return]


STARTS = numbers_of("file.text")
CHUNK_AT = numbers_of("chunk.at")
ROW_AT = numbers_of("file.rows")
SYMBOL_AT = numbers_of("file.symbols")
WAY_NAMES, WAYS_AT, REFS_AT = numbers_of("ways.name"), numbers_of("ways.at"), numbers_of("refs.at")
WAY_ROWS = numbers_of("ways.row", "H")
NAMES_AT = numbers_of("names.at")
LONG = 5  # the number of the file with many chunks; it has rows of its own beyond the first
FIRST = ROW_AT[LONG]
BUSY = next(row for row in range(len(CHUNK_AT)) if REFS_AT[row + 1] - REFS_AT[row] > 3)


@conforms("003.ROW1", "003.ROW2", "003.ROW4", "003.ROW5", "003.ROW7")
def test_a_segment_as_it_was_built_has_no_problems() -> None:
    assert problems() == []
    for files, skips in (((), ()), (FILES[:1], ()), ((), SKIPS)):
        with Segment.open(built(files, skips), FOLDER) as segment:
            assert list(segment_problems(segment)) == []


def swapped(pair: tuple[int, int], width: int) -> Any:
    def change(data: bytes) -> bytes:
        first, second = (data[at * width : (at + 1) * width] for at in pair)
        out = bytearray(data)
        out[pair[0] * width : (pair[0] + 1) * width] = second
        out[pair[1] * width : (pair[1] + 1) * width] = first
        return bytes(out)

    return change


def text_with(at: int, new: bytes) -> Any:
    return lambda data: data[:at] + new + data[at + len(new) :]


BROKEN_TABLES: dict[str, tuple[str, str]] = {
    "a file is missing in the middle": ("DELETE FROM imports WHERE id = 1", "numbers of imports"),
    "a chunk is missing": ("DELETE FROM chunks WHERE id = 1", "numbers of chunks"),
    "a definition is missing": ("DELETE FROM symbols WHERE id = 1", "numbers of symbols"),
    "a file is gone": ("DELETE FROM files WHERE id = 2", "numbers of files"),
    "a number is negative": ("UPDATE imports SET id = -1 WHERE id = 0", "numbers of imports"),
    "a path is none": ("UPDATE files SET path = '../x' WHERE id = 0", "File 0 has a path"),
    "a file has another hash": ("UPDATE files SET hash = zeroblob(32) WHERE id = 0", "File 0 does not have the bytes"),
    "a chunk has another hash": (
        "UPDATE chunks SET hash = zeroblob(32) WHERE id = 1",
        "Chunk 1 does not have the bytes",
    ),
    "there are fewer files than said": ("UPDATE segment SET files = files - 1", "files with text"),
    "a definition ends beyond the file": ("UPDATE symbols SET length = 1 << 40 WHERE id = 0", "definitions of file 0"),
    "definitions are out of order": (
        f"UPDATE symbols SET start = 0, name_at = 0 WHERE id = {SYMBOL_AT[LONG] + 9}",
        f"definitions of file {LONG}",
    ),
    "a definition lies in one of another file": (
        f"UPDATE symbols SET up = 3 WHERE id = {SYMBOL_AT[LONG] + 2}",
        "damaged",
    ),
    "a definition has no name": ("UPDATE symbols SET name = 99999 WHERE id = 0", "damaged"),
    "an import lies beyond the file": ("UPDATE imports SET start = 1 << 40 WHERE id = 0", "import of file 0"),
    "an import has no module": ("UPDATE imports SET module = 99999 WHERE id = 0", "damaged"),
    "an export has no name": ("UPDATE files SET exports = x'ffffffff' WHERE id = 0", "damaged"),
    "half a line range": ("UPDATE files SET partial = x'01000000' WHERE id = 0", "damaged"),
    "a breadcrumb has no name": ("UPDATE chunks SET breadcrumb = x'ffffffff' WHERE id = 0", "damaged"),
}


@pytest.mark.parametrize("what", BROKEN_TABLES)
def test_tables_that_break_a_promise_are_found_out(what: str) -> None:
    statement, said = BROKEN_TABLES[what]
    found = problems(rows=with_sql(statement))
    assert len(found) == 1, found
    assert said in found[0]


def test_a_damaged_page_is_found_out() -> None:
    # The index says something else than its table.
    rows = with_sql("PRAGMA writable_schema = ON", "UPDATE sqlite_schema SET sql = replace(sql, '(name)', '(kind)')")
    found = problems(rows=rows)
    assert found
    assert all(problem.startswith("The tables are damaged") for problem in found)


@conforms("003.ROW3")
def test_two_files_of_one_path_are_found_out() -> None:
    # A table without the index that would have refused it.
    columns = (
        "id, path, size, mtime, ctime, inode, hash, language, state, interface, exports, partial, skip, detail, wide"
    )
    rows = with_sql(
        "ALTER TABLE files RENAME TO old",
        f"CREATE TABLE files ({columns.replace('id,', 'id INTEGER PRIMARY KEY,', 1)})",
        "INSERT INTO files SELECT * FROM old",
        "DROP TABLE old",
        "UPDATE files SET path = (SELECT path FROM files WHERE id = 0) WHERE id = 1",
    )
    assert problems(rows=rows) == ["File 1 has a path that is not one, or that another file has."]


BROKEN_DATA: dict[str, tuple[str, Any, str]] = {
    "texts do not ascend": ("file.text", number(1, STARTS[3] + 1), "file.text do not ascend"),
    "texts do not begin at 0": ("file.text", number(0, 1), "file.text do not ascend"),
    "rows do not ascend": ("file.rows", number(1, 99), "file.rows do not ascend"),
    "definitions do not ascend": ("file.symbols", number(1, 9_999), "file.symbols do not ascend"),
    "imports do not ascend": ("file.imports", number(1, 9_999), "file.imports do not ascend"),
    "names do not ascend": ("names.at", number(1, 9_999_999), "names.at do not ascend"),
    "ways do not ascend": ("ways.at", number(1, 9_999_999), "ways.at do not ascend"),
    "uses do not ascend": ("refs.at", number(1, 9_999_999), "refs.at do not ascend"),
    "names are not in order": ("names.text", text_with(NAMES_AT[2], b"\x7f"), "names are not in order"),
    "the first name is not empty": ("names.at", lambda data: data[4:], "names are not in order"),
    "a name is no text": ("names.text", lambda data: data[:-1] + b"\xff", "name is not text"),
    "a file has other bytes": ("text", text_with(3, b"X"), "File 0 does not have the bytes"),
    "files are not parted": ("text", text_with(STARTS[1] - 1, b" "), "File 0 does not end in the newline"),
    "the first chunk begins late": (
        "chunk.at",
        number(FIRST, CHUNK_AT[FIRST] + 1),
        f"chunks of file {LONG} do not tile",
    ),
    "chunks overlap": ("chunk.at", swapped((FIRST + 1, FIRST + 2), 4), f"chunks of file {LONG} do not tile"),
    "a chunk is beyond its file": ("chunk.at", number(ROW_AT[LONG + 1] - 1, STARTS[LONG + 1]), "do not tile"),
    "a chunk has other bytes": ("chunk.at", number(FIRST + 1, CHUNK_AT[FIRST + 1] + 1), f"Chunk {FIRST} does not have"),
    "a chunk has another line": ("chunk.line", number(FIRST + 1, 1), f"Chunk {FIRST + 1} does not begin in the line"),
    "a vector is without end": ("scales", number(0, float("inf"), "f"), "scales holds"),  # type: ignore[arg-type]
    "a vector has a scale below 0": ("scales", number(0, -1.0, "f"), "scales holds"),  # type: ignore[arg-type]
    "postings are damaged": ("body.tf", number(0, 0, "B"), "postings are damaged"),
    "a way has a receiver that is no name": ("ways.receiver", number(0, 5_000), "A way of using a name is of no name"),
    "a way has a name that is none": ("ways.name", number(-1, 99_999), "A way of using a name is of no name"),
    "a way has no kind": ("ways.kind", number(-1, 9, "B"), "A way of using a name is of no name or of no kind"),
    "ways are there twice": ("ways.name", number(1, 0), "not in order, each once"),
    "a use is beyond its chunk": (
        "refs.offset",
        number(REFS_AT[BUSY + 1] - 1, 65_535, "H"),
        f"in chunk {BUSY} are not",
    ),
    "uses are not in order": ("refs.offset", number(REFS_AT[BUSY], 300, "H"), f"in chunk {BUSY} are not"),
    "a use has no way": ("refs.way", number(REFS_AT[BUSY], 65_535, "H"), f"in chunk {BUSY} are not"),
    "a use has another way": ("refs.way", number(REFS_AT[BUSY], len(WAY_NAMES) - 1, "H"), "in other chunks"),
    "a name is used elsewhere": ("ways.row", number(0, WAY_ROWS[0] + 1, "H"), "in other chunks"),
}


@pytest.mark.parametrize("what", BROKEN_DATA)
def test_data_that_break_a_promise_are_found_out(what: str) -> None:
    name, change, said = BROKEN_DATA[what]
    found = problems(data=with_section(name, change))
    assert found
    assert said in found[0]


def test_postings_of_other_rows_are_found_out() -> None:
    data = DATA
    for field in ("path", "symbol", "comment", "body"):
        data = with_section(f"{field}.length", lambda lengths: lengths + b"\0\0", data)
    assert problems(data=data)[0] == "The postings are of more or fewer rows than there are."


@conforms("003.ROW5", "003.ROW7")
def test_another_text_is_found_out_until_every_hash_and_line_agrees_with_it() -> None:
    assert ROW_AT[1] == 1, "the first file is one chunk"
    text = FILES[0].source.data.replace(b"hello", b"hullo").replace(b"\n\n\n", b"  \n", 1)
    data = with_section("text", text_with(0, text))
    digest = sha256(text).hexdigest()
    assert problems(data=data) == ["File 0 does not have the bytes that its hash was made of."]
    rows = with_sql(f"UPDATE files SET hash = x'{digest}' WHERE id = 0")
    assert problems(rows, data) == ["Chunk 0 does not have the bytes that its hash was made of."]
    rows = with_sql(f"UPDATE chunks SET hash = x'{digest}' WHERE id = 0", rows=rows)
    assert problems(rows, data) == []


def test_a_file_that_was_left_out_and_has_text_is_found_out() -> None:
    rows, data = parts(built([analyzed("a", b"", "text")], ()))
    changes = "skip = 16, detail = '', hash = NULL, state = NULL, language = NULL, interface = NULL"
    rows = with_sql(f"UPDATE files SET {changes} WHERE id = 0", "UPDATE segment SET files = 0", rows=rows)
    assert problems(rows, data) == ["File 0 was left out, and yet there are rows of it."]


def test_a_file_that_has_no_place_in_the_text_is_found_out() -> None:
    known = f"hash = x'{sha256().hexdigest()}', state = 0, language = 'text', skip = NULL"
    rows = with_sql(f"UPDATE files SET {known} WHERE id = 1", "UPDATE segment SET files = files + 1")
    assert problems(rows) == ["File 1 does not end in the newline that parts it from the next."]


@pytest.mark.parametrize("name", ["file.rows", "file.symbols", "file.imports"])
def test_a_file_that_was_left_out_and_has_rows_is_found_out(name: str) -> None:
    # The last row of file 0 becomes one of file 1, a skip record.
    data = with_section(name, number(1, numbers_of(name)[1] - 1))
    assert problems(data=data) == ["File 1 was left out, and yet there are rows of it."]
