"""What is derived is derived as everywhere else, and the tables refuse what cannot be a row."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.types import FileStat, ParseState, ReferenceKind, SkipReason, StoredFile, Symbol, SymbolKind
from cairn.source import root
from cairn.store.format import rows
from cairn.store.format.document import CHUNK_ROWS
from cairn.store.format.rows import (
    CHUNK_KINDS,
    INDEX,
    MAX_STORED_DOC,
    REFERENCE_KINDS,
    ROW_SCHEMA,
    SCHEMA,
    SKIPS,
    STATES,
    SYMBOL_KINDS,
    Meta,
    Tables,
    encode_rows,
    folded,
    narrow_stat,
    packed_doc,
    path_key_ci,
    qualified,
    stored_file,
    unpacked_doc,
)
from cairn.syntax import identity, symbols
from cairn.syntax.chunks import KIND
from tests.conformance import conforms

PATHS = st.text("aAäÄß\u017fÅ\u0301\u0345İ\u0131Σς/.", min_size=1, max_size=12)
TEXT = st.text("ab \n\té\0", max_size=80)


def test_every_kind_reason_and_state_has_one_number_for_ever() -> None:
    assert (SYMBOL_KINDS[0], SYMBOL_KINDS[11], SYMBOL_KINDS[24]) == ("module", "function", "element")
    assert (SKIPS[0], SKIPS[16], SKIPS[21]) == ("ignored", "binary", "too_many_chunks")
    assert REFERENCE_KINDS == ("call", "type", "base", "annotation")
    assert STATES == ("parsed", "partial", "lines")
    assert CHUNK_KINDS == ("text", "anchor")
    for ours, theirs in [
        (SYMBOL_KINDS, SymbolKind),
        (SKIPS, SkipReason),
        (REFERENCE_KINDS, ReferenceKind),
        (STATES, ParseState),
    ]:
        assert len(set(ours)) == len(ours)
        assert set(ours) == set(theirs)
    assert KIND in CHUNK_KINDS


@given(PATHS)
@settings(max_examples=300, derandomize=True)
def test_a_path_without_case_is_the_same_here_as_in_the_source_layer(path: str) -> None:
    assert path_key_ci(path) == root.path_key_ci(path)


@given(PATHS, st.binary(min_size=32, max_size=32), st.sampled_from(CHUNK_KINDS), st.integers(0, 2000))
@settings(max_examples=100, derandomize=True)
def test_ids_are_the_same_here_as_in_the_syntax_layer(path: str, content: bytes, kind: str, ordinal: int) -> None:
    chunk = rows.chunk_id(content.hex(), "1", kind)
    assert chunk == identity.chunk_id(content.hex(), "1", kind)
    assert rows.row_id(path, chunk, ordinal) == identity.row_id(path, chunk, ordinal)


@given(st.text("a.", max_size=1_100), st.text("b", max_size=1_100))
@settings(max_examples=50, derandomize=True)
def test_a_container_follows_from_the_definition_around_as_in_the_syntax_layer(container: str, name: str) -> None:
    around = Symbol("class", name, container, "", "", 0, 0, 1, 1, 0, True, -1)
    assert qualified(container, name) == symbols.qualified(around)


@given(TEXT, st.integers(0, 80), st.integers(0, 80))
@settings(max_examples=200, derandomize=True)
def test_folding_is_what_a_signature_does_with_white_space(text: str, start: int, length: int) -> None:
    data = text.encode()
    assert folded(data, start, length) == b" ".join(data[start:].split())[:length]
    assert folded(memoryview(data), start, length) == folded(data, start, length)


@given(TEXT, st.integers(0, 80), st.text("ab é\0", max_size=5))
@settings(max_examples=200, derandomize=True)
def test_a_doc_line_comes_back_whether_it_was_found_in_the_text_or_not(text: str, start: int, line: str) -> None:
    data = text.encode()
    stored = packed_doc(data, start, line)
    if isinstance(stored, int):
        assert line.encode() in data
        assert unpacked_doc(memoryview(data), start, stored) == line
    else:
        assert stored == (line or None)


def test_a_doc_line_is_looked_for_before_the_definition_then_after_its_start_and_not_far_away() -> None:
    line = "x" * (MAX_STORED_DOC - 1) + "😀"
    before, after = f"// {line}\nint f;".encode(), f'def f:\n """{line}"""'.encode()
    far = line.encode() + b" " * 5_000 + b"int f;" + b" " * 5_000 + line.encode()
    for data, start, found in ((before, before.index(b"int"), True), (after, 0, True), (far, far.index(b"int"), False)):
        stored = packed_doc(data, start, line)
        assert isinstance(stored, int) is found
        if isinstance(stored, int):
            assert unpacked_doc(memoryview(data), start, stored) == line


FILE = ("a.py", 1, 2, 3, 4, b"h" * 32, "python", 0, None, b"e", b"p", None, None, None)
SKIP = ("b.py", 1, 2, 3, 4, None, None, None, None, None, None, 16, "why", None)
CHUNK = (b"h" * 32, 0, None)
SYMBOL = (0, 0, None, 0, 0, 0, 1, 0, 5, None)
IMPORT = (0, 0, 0, 0)
META = Meta(4, "1", 1, 1)


def table(files: object = FILE, chunk: object = CHUNK, symbol: object = SYMBOL, imported: object = IMPORT) -> bytes:
    return encode_rows(META, Tables([files], [chunk], [symbol], [imported]))  # type: ignore[list-item]


def changed(row: tuple[object, ...], place: int, value: object) -> tuple[object, ...]:
    return (*row[:place], value, *row[place + 1 :])


def test_equal_rows_give_equal_bytes() -> None:
    assert table() == table()
    assert table() != table(files=SKIP)


def statements(sql: str) -> set[str]:
    """The statements of a script, without comments and line breaks."""
    return {" ".join(part.split()) for part in re.sub(r"--.*", "", sql).split(";")} - {""}


def test_the_format_page_shows_the_schema_as_it_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "FORMAT.md").read_text("utf-8")
    shown = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    assert statements(shown[0]) == statements(SCHEMA) | statements(INDEX)
    for words in (SYMBOL_KINDS, SKIPS):
        assert ", ".join(words) in " ".join(page.split())


@conforms("003.ROW8")
def test_the_version_of_the_row_schema_stands_in_the_file() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(table())
        assert db.execute("PRAGMA user_version").fetchone() == (ROW_SCHEMA,) == (CHUNK_ROWS.written,)


@pytest.mark.parametrize(
    "rows",
    [
        {"files": changed(FILE, 0, None)},
        {"files": changed(FILE, 1, "one")},
        {"files": changed(FILE, 5, b"short")},
        {"files": changed(FILE, 5, None)},
        {"files": changed(FILE, 6, None)},
        {"files": changed(FILE, 7, None)},
        {"files": changed(FILE, 7, len(STATES))},
        {"files": changed(FILE, 8, b"short")},
        {"files": changed(FILE, 11, 1)},
        {"files": changed(SKIP, 11, None)},
        {"files": changed(SKIP, 11, -1)},
        {"files": changed(SKIP, 5, b"h" * 32)},
        {"chunk": changed(CHUNK, 0, b"short")},
        {"chunk": changed(CHUNK, 0, None)},
        {"chunk": changed(CHUNK, 1, len(CHUNK_KINDS))},
        {"symbol": changed(SYMBOL, 1, len(SYMBOL_KINDS))},
        {"symbol": changed(SYMBOL, 0, None)},
        {"symbol": changed(SYMBOL, 3, -1)},
        {"symbol": changed(SYMBOL, 4, -1)},
        {"symbol": changed(SYMBOL, 6, 2)},
        {"symbol": changed(SYMBOL, 7, -1)},
        {"symbol": changed(SYMBOL, 8, None)},
        {"symbol": changed(SYMBOL, 8, b"bytes")},
        {"symbol": changed(SYMBOL, 9, b"bytes")},
        {"imported": changed(IMPORT, 3, -1)},
        {"imported": changed(IMPORT, 0, None)},
    ],
)
@conforms("003.ROW1")
def test_the_tables_refuse_what_is_no_row(rows: dict[str, object]) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        table(**rows)


@conforms("003.ROW3")
def test_the_tables_refuse_a_path_that_is_there_twice() -> None:
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        encode_rows(META, Tables([FILE, SKIP, FILE], [], [], []))


def test_a_file_and_a_skip_record_are_read_from_their_rows() -> None:
    row = ("a.py", 1, 2, 3, 4, b"\1" * 32, "python", 1, None, None, b"\2" * 32, None)
    stat = FileStat(1, 2, 3, 4)
    assert stored_file(row, 7, 2) == StoredFile("a.py", stat, "01" * 32, "python", "partial", None, "", 7, 2, "02" * 32)
    assert stored_file((*row[:10], None, None), 7, 2).interface_hash == ""
    gone = ("a.py", 1, 2, 3, 4, None, None, None, 16, "why", None, None)
    assert stored_file(gone, 0, 0) == StoredFile("a.py", stat, "", "", "", SkipReason.BINARY, "why", 1, 0, "")


@given(st.builds(FileStat, *[st.integers(-(2**70), 2**70)] * 4))
@settings(max_examples=100, derandomize=True)
def test_a_stat_comes_back_whatever_its_numbers_are(stat: FileStat) -> None:
    narrow, wide = narrow_stat(stat)
    assert all(-(2**63) <= number < 2**63 for number in narrow)
    assert (wide is None) is (narrow == stat)
    assert stored_file(("a", *narrow, None, None, None, 16, "", None, wide), 0, 0).stat == stat
