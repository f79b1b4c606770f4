"""What was put into a segment comes back from its two files, and damage ends in one typed error."""

from __future__ import annotations

import errno
import os
import sqlite3
import struct
import zlib
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.filetypes import language_of
from cairn.core.types import Chunk, FileFacts, FileStat
from cairn.errors import Incompatible, StoreCorrupt
from cairn.source.root import path_key_ci
from cairn.store.disk import Disk
from cairn.store.format.columns import read_container, write_container
from cairn.store.format.document import CHUNK_ROWS
from cairn.store.format.segment import Segment
from cairn.store.format.segment_facts import SegmentFacts
from cairn.syntax import identity
from cairn.syntax.identity import CHUNKER_VERSION
from tests.conformance import conforms
from tests.store.disks import FAULTS, FailingDisk, Fault, MemoryDisk
from tests.store.segments import (
    DIMENSION,
    FILES,
    FOLDER,
    SKIPS,
    analyzed,
    as_stored,
    built,
    file_facts,
    opened,
    parts,
    vectors_for,
)

KEYS = [FILES[0].source.key, SKIPS[0].key, *(facts.source.key for facts in FILES[1:]), SKIPS[1].key]


@pytest.fixture
def segment() -> Any:
    with Segment.open(built(), FOLDER) as segment:
        yield segment


def number_of(segment: Segment, facts: FileFacts) -> int:
    found = segment.find(facts.source.key)
    assert found is not None
    return found


def chunks_of(segment: Segment, file_id: int) -> list[Chunk]:
    """The chunks as they left the syntax layer."""
    return [
        Chunk(
            row.ordinal,
            row.byte_start,
            row.byte_end,
            row.start_line,
            row.end_line,
            row.kind,
            row.symbols,
            row.breadcrumb,
            row.chunk_hash,
            row.chunk_id,
        )
        for row in segment.chunks(file_id)
    ]


def check_facts(segment: Segment, facts: FileFacts) -> None:
    """All that is known of a file is what went in."""
    file_id = number_of(segment, facts)
    syntax, source = facts.syntax, facts.source
    file = segment.file(file_id)
    assert (file.key, file.stat, file.file_hash, file.size) == (
        source.key,
        source.stat,
        source.file_hash,
        len(source.data),
    )
    assert (file.language, file.state, file.interface_hash) == (syntax.language, syntax.state, syntax.interface_hash)
    assert (file.skip, file.detail, file.chunks) == (None, "", len(facts.chunks))
    assert bytes(segment.text(file_id)) == source.data
    assert SegmentFacts(segment).symbols(file_id) == [as_stored(symbol) for symbol in syntax.symbols]
    assert SegmentFacts(segment).references(file_id) == list(syntax.references)
    assert SegmentFacts(segment).imports(file_id) == list(syntax.imports)
    assert segment.exports(file_id) == syntax.exports
    assert segment.partial(file_id) == syntax.partial
    assert chunks_of(segment, file_id) == list(facts.chunks)


def check_names(segment: Segment, files: list[FileFacts]) -> None:
    """Every definition and every use is found by its name, and nothing else is."""
    numbered = [(number_of(segment, facts), facts.syntax) for facts in files]
    names = {symbol.name for _, syntax in numbered for symbol in syntax.symbols}
    names |= {use.name for _, syntax in numbered for use in syntax.references}
    for name in names | {"no such name"}:
        symbols = [(n, as_stored(s)) for n, syntax in numbered for s in syntax.symbols if s.name == name]
        assert SegmentFacts(segment).symbols_named(name) == symbols
        assert SegmentFacts(segment).files_defining(name) == sorted({n for n, _ in symbols})
        uses = [(n, use) for n, syntax in numbered for use in syntax.references if use.name == name]
        assert SegmentFacts(segment).references_named(name) == uses


# --- what comes back --------------------------------------------------------------------------------------------------


def test_facts_of_real_code_come_back_as_they_were(segment: Segment) -> None:
    assert sum(len(facts.syntax.symbols) for facts in FILES) > 200
    assert sum(len(facts.syntax.references) for facts in FILES) > 200
    assert any(facts.syntax.partial for facts in FILES)
    for facts in FILES:
        check_facts(segment, facts)
    check_names(segment, list(FILES))


@given(st.tuples(file_facts("a.py"), file_facts("b/b.py"), file_facts("b/é.c")))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_any_facts_come_back_as_they_were(files: tuple[FileFacts, ...]) -> None:
    with Segment.open(built(files), FOLDER) as segment:
        for facts in files:
            check_facts(segment, facts)
        check_names(segment, list(files))


def test_the_facts_of_this_project_come_back_as_they_were() -> None:
    root = Path(__file__).parents[2] / "src"
    files = [
        analyzed(str(path.relative_to(root)), data, language_of(path.name.encode(), data))
        for path in sorted(root.rglob("*.py"))[::3]
        for data in [path.read_bytes()]
    ]
    assert len(files) > 15
    with Segment.open(built(files), FOLDER) as segment:
        for facts in files:
            check_facts(segment, facts)


def test_files_are_numbered_in_the_order_they_came(segment: Segment) -> None:
    assert segment.keys() == KEYS
    assert [segment.find(key) for key in KEYS] == list(range(len(KEYS)))
    assert segment.find("no/such") is segment.find("\ud800") is None
    assert [record.key for record in segment.records()] == KEYS
    assert segment.records() == [segment.file(file_id) for file_id in range(len(KEYS))]
    assert segment.files == len(FILES)


def test_a_skip_record_comes_back_and_has_nothing_else(segment: Segment) -> None:
    for record in SKIPS:
        file_id = segment.find(record.key)
        assert file_id is not None
        assert segment.file(file_id) == record
        assert bytes(segment.text(file_id)) == b""
        facts = SegmentFacts(segment)
        assert segment.chunks(file_id) == facts.symbols(file_id) == facts.references(file_id) == []
        assert facts.imports(file_id) == []
        assert segment.exports(file_id) == segment.partial(file_id) == ()


def test_a_file_from_the_far_future_with_a_large_inode_comes_back() -> None:
    stat = FileStat(5, 32_503_680_000 * 10**9, -(10**20), 2**64 - 1)
    facts = analyzed("a", b"text\n", "text")
    facts = replace(facts, source=replace(facts.source, stat=stat))
    record = SKIPS[0]._replace(stat=stat, size=5)
    with Segment.open(built([facts], [record]), FOLDER) as segment:
        check_facts(segment, facts)
        assert segment.records()[1] == record


def test_files_stand_in_the_text_one_after_the_other_with_a_newline_between(segment: Segment) -> None:
    assert bytes(segment.whole_text()) == b"".join(facts.source.data + b"\n" for facts in FILES)
    starts = segment.text_starts()
    assert len(starts) == len(KEYS) + 1
    assert starts[-1] == len(segment.whole_text())
    for file_id, start in enumerate(starts[:-1]):
        text = segment.text(file_id)
        assert segment.whole_text()[start : start + len(text)] == text


def test_the_rows_of_a_file_are_those_between_two_starts(segment: Segment) -> None:
    starts = list(segment.row_starts())
    assert len(starts) == len(KEYS) + 1
    assert starts[-1] == segment.rows == sum(len(facts.chunks) for facts in FILES)
    for file_id in range(len(KEYS)):
        rows = range(starts[file_id], starts[file_id + 1])
        assert [segment.chunk(row) for row in rows] == segment.chunks(file_id)


@conforms("003.ROW1", "003.ROW5", "003.ROW7")
def test_every_row_has_all_columns_and_they_agree_with_the_file(segment: Segment) -> None:
    for facts in FILES:
        data = facts.source.data
        for ordinal, row in enumerate(segment.chunks(number_of(segment, facts))):
            assert (row.path_key, row.path_key_ci) == (facts.source.key, path_key_ci(facts.source.key))
            assert row.ordinal == ordinal
            assert row.file_hash == sha256(data).hexdigest()
            payload = data[row.byte_start : row.byte_end]
            assert row.text.encode() == payload
            assert row.chunk_hash == sha256(payload).hexdigest()
            assert row.chunker_version == CHUNKER_VERSION
            assert row.chunk_id == identity.chunk_id(row.chunk_hash, CHUNKER_VERSION, row.kind)
            assert row.row_id == identity.row_id(facts.source.key, row.chunk_id, ordinal)
            assert row.language == facts.syntax.language
            assert row.start_line == data.count(b"\n", 0, row.byte_start) + 1
            assert row.end_line == data.count(b"\n", 0, row.byte_end - 1) + 1


@conforms("003.ROW2")
def test_every_row_has_a_vector_of_the_models_dimension_near_the_one_put_in(segment: Segment) -> None:
    assert segment.dimension == DIMENSION
    for facts in FILES:
        rows = segment.chunks(number_of(segment, facts))
        for row, vector in zip(rows, vectors_for(facts).tolist(), strict=True):
            assert len(row.embedding) == DIMENSION
            assert row.embedding == pytest.approx(vector, abs=row.scale * 0.51)


@conforms("003.ROW3", "003.ROW4")
def test_no_two_rows_share_an_id_or_a_place_though_their_text_is_the_same() -> None:
    twins = [analyzed(key, b"same text\n", "text") for key in ("a", "b", "A")]
    with Segment.open(built(twins), FOLDER) as segment:
        rows = [segment.chunk(row) for row in range(segment.rows)]
    assert len({row.chunk_id for row in rows}) == 1
    assert len({row.row_id for row in rows}) == len({(row.path_key, row.ordinal) for row in rows}) == 3


def test_a_long_line_is_measured_from_its_own_start() -> None:
    data = b"a\n" + b"x" * 40_000 + b" = f(1); y = g(2)\nz()\n"
    facts = analyzed("a.py", data, "python")
    assert len(facts.chunks) > 2
    assert max(use.column for use in facts.syntax.references) > 40_000
    with Segment.open(built([facts]), FOLDER) as segment:
        check_facts(segment, facts)
        check_names(segment, [facts])


def test_a_container_is_put_together_however_deep_it_is() -> None:
    data = b"".join(b"%sclass C%d:\n" % (b" " * n, n) for n in range(300)) + b" " * 300 + b"pass\n"
    facts = analyzed("deep.py", data, "python")
    assert max(len(symbol.container) for symbol in facts.syntax.symbols) > 900
    with Segment.open(built([facts]), FOLDER) as segment:
        check_facts(segment, facts)
        check_names(segment, [facts])


# --- opening and closing ----------------------------------------------------------------------------------------------


def copied(fs: MemoryDisk, disk: Disk) -> None:
    disk.make_folder(FOLDER)
    for name in ("rows.sqlite", "data.bin"):
        disk.create_bytes(f"{FOLDER}/{name}", fs.read(f"{FOLDER}/{name}", 1 << 30))


def test_a_segment_on_the_real_disk_answers_after_its_names_are_gone(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path), "store", create=True) as disk:
        copied(built(), disk)
        before = len(os.listdir("/proc/self/fd"))
        with Segment.open(disk, FOLDER) as segment:
            for name in ("rows.sqlite", "data.bin"):
                disk.remove(f"{FOLDER}/{name}")
            disk.remove_folder(FOLDER)
            for facts in FILES:
                check_facts(segment, facts)
        assert len(os.listdir("/proc/self/fd")) == before, "the map and the database are given back"


def test_a_closed_segment_answers_no_more_and_may_be_closed_again() -> None:
    segment = Segment.open(built(), FOLDER)
    held = segment.text(0)
    segment.close()
    segment.close()
    for ask in (segment.keys, segment.records, segment.whole_text, lambda: segment.text(0)):
        with pytest.raises(ValueError, match="closed"):
            ask()
    assert bytes(held) == FILES[0].source.data, "a view that is held stays good"


def test_a_segment_with_a_file_missing_is_not_opened_and_leaves_nothing_open(tmp_path: Path) -> None:
    with Disk.at(str(tmp_path), "store", create=True) as disk:
        copied(built(), disk)
        before = len(os.listdir("/proc/self/fd"))
        for name in ("rows.sqlite", "data.bin"):
            disk.remove(f"{FOLDER}/{name}")
            with pytest.raises(FileNotFoundError):
                Segment.open(disk, FOLDER)
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(("number", "how"), FAULTS)
def test_trouble_with_the_disk_is_told_as_it_is(number: int, how: Any) -> None:
    fs = built()
    for at in (1, 2):
        with pytest.raises(OSError, match=rf"^\[Errno {number}\]"):
            Segment.open(FailingDisk(fs, Fault(at, number, how)), FOLDER)
    # Two calls, one for each file.
    Segment.open(FailingDisk(fs, Fault(3, number, how)), FOLDER).close()


# --- damage -----------------------------------------------------------------------------------------------------------

ROWS, DATA = parts(built())


def with_sql(*statements: str, rows: bytes = ROWS) -> bytes:
    """The tables after somebody has changed them."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        db.deserialize(rows)
        for statement in statements:
            db.execute(statement)
        return db.serialize()
    finally:
        db.close()


def with_section(name: str, change: Any, data: bytes = DATA) -> bytes:
    """The data file with one section changed, or gone when there is nothing left to write."""
    fs = MemoryDisk()
    sections = {key: bytes(view) for key, view in read_container(memoryview(data)).items()}
    changed = change(sections.pop(name))
    with fs.create("x") as out:
        write_container(out, [*sections.items(), *([(name, changed)] if changed is not None else [])])
    return fs.read("x", 1 << 30)


def gone(_: bytes) -> None:
    return None


def longer(data: bytes) -> bytes:
    return data + bytes(4)


@conforms("003.ROW8")
@pytest.mark.parametrize("version", [0, CHUNK_ROWS.newest + 1])
def test_another_version_of_the_row_schema_is_named(version: int) -> None:
    with pytest.raises(Incompatible, match=f"chunk row schema .* version {version};"):
        opened(with_sql(f"PRAGMA user_version = {version}"), DATA)


def test_a_data_file_of_the_future_is_named() -> None:
    fs = MemoryDisk()
    with fs.create("x") as out:
        write_container(out, [])
    data = bytearray(fs.read("x", 100))
    struct.pack_into("<I", data, 8, 99)
    struct.pack_into("<I", data, 24, zlib.crc32(bytes(data[:24])))
    with pytest.raises(Incompatible, match="version 99;"):
        opened(ROWS, bytes(data))


@pytest.mark.parametrize(
    "rows",
    [
        b"",
        b"no database at all" * 100,
        ROWS[:1000],
        with_sql("PRAGMA application_id = 7"),
        with_sql("DROP TABLE segment"),
        with_sql("DELETE FROM segment"),
        with_sql("INSERT INTO segment SELECT * FROM segment"),
        with_sql("DROP TABLE imports"),
        with_sql("DELETE FROM files WHERE id = (SELECT max(id) FROM files)"),
        with_sql("DELETE FROM chunks WHERE id = (SELECT max(id) FROM chunks)"),
        with_sql("DELETE FROM symbols WHERE id = (SELECT max(id) FROM symbols)"),
        with_sql("DELETE FROM imports WHERE id = (SELECT max(id) FROM imports)"),
        with_sql("UPDATE segment SET rows = rows + 1"),
        with_sql("UPDATE segment SET dimension = dimension + 1"),
        with_sql("UPDATE segment SET files = files + 100"),
    ],
)
def test_tables_that_do_not_fit_the_data_are_damage(rows: bytes) -> None:
    with pytest.raises(StoreCorrupt):
        opened(rows, DATA)


NEEDED = [
    *("text", "file.text", "file.rows", "file.symbols", "file.imports", "chunk.at", "chunk.line"),
    *("names.text", "names.at", "ways.name", "ways.receiver", "ways.kind", "ways.at", "ways.row"),
    *("refs.at", "refs.way", "refs.offset", "vectors", "scales"),
]


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("change", [gone, longer, lambda data: data[:-1]], ids=["gone", "longer", "cut"])
def test_a_section_that_is_gone_or_has_another_size_is_damage(name: str, change: Any) -> None:
    with pytest.raises(StoreCorrupt):
        opened(ROWS, with_section(name, change))


def test_a_section_that_nobody_knows_is_passed_over() -> None:
    more = with_section("text", lambda text: text)
    fs = MemoryDisk()
    with fs.create("x") as out:
        write_container(out, [*read_container(memoryview(more)).items(), ("new.thing", b"?")])
    with opened(ROWS, fs.read("x", 1 << 30)) as segment:
        assert bytes(segment.sections["new.thing"]) == b"?"
        check_facts(segment, FILES[0])


@pytest.mark.parametrize(
    ("statement", "ask"),
    [
        ("UPDATE symbols SET name = 1 << 40 WHERE id = 0", lambda s: SegmentFacts(s).symbols(0)),
        ("UPDATE symbols SET name = -1 WHERE id = 0", lambda s: SegmentFacts(s).symbols(0)),
        ("UPDATE symbols SET container = 1 << 40 WHERE id = 1", lambda s: SegmentFacts(s).symbols(0)),
        ("UPDATE symbols SET up = 1 << 40 WHERE id = 1", lambda s: SegmentFacts(s).symbols(0)),
        ("UPDATE files SET exports = x'010203' WHERE id = 0", lambda s: s.exports(0)),
        ("UPDATE files SET partial = x'01020304' WHERE id = 0", lambda s: s.partial(0)),
        ("UPDATE chunks SET breadcrumb = x'ffffffff' WHERE id = 0", lambda s: s.chunk(0)),
        ("UPDATE imports SET module = 1 << 40", lambda s: SegmentFacts(s).imports(0)),
        ("UPDATE files SET skip = 999 WHERE id = 1", lambda s: s.records()),
        ("DELETE FROM files WHERE id = 0", lambda s: s.file(0)),
        ("DELETE FROM chunks WHERE id = 0", lambda s: s.chunk(0)),
    ],
)
def test_rows_that_lead_nowhere_are_damage_when_they_are_read(statement: str, ask: Any) -> None:
    with opened(with_sql(statement), DATA) as segment, pytest.raises(StoreCorrupt):
        ask(segment)


@pytest.mark.parametrize("file_id", [-1, len(KEYS), 10**12])
def test_a_number_that_no_file_has_gives_no_other_file(segment: Segment, file_id: int) -> None:
    facts = SegmentFacts(segment)
    for ask in (segment.file, segment.text, segment.chunks, facts.symbols, facts.references, facts.imports):
        with pytest.raises(StoreCorrupt):
            ask(file_id)
    with pytest.raises(StoreCorrupt):
        segment.chunk(segment.rows)


def test_a_disk_that_cannot_be_read_is_not_taken_for_damage(segment: Segment) -> None:
    class Unreadable:
        def execute(self, *_: object) -> None:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
            raise error

        def close(self) -> None:
            pass

    real, segment.db = segment.db, Unreadable()  # type: ignore[assignment]
    with pytest.raises(OSError, match=r"rows\.sqlite") as told:
        segment.keys()
    assert told.value.errno == errno.EIO
    segment.db = real
