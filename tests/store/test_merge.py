"""A merged segment has the bytes that a builder makes of the same files, and damage is never merged into wrong rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.types import Chunk, FileFacts, FileStat, ParseState, Reference, SkipReason, SkipRecord, Syntax
from cairn.errors import StoreCorrupt
from cairn.store.format import postings
from cairn.store.format.build import SegmentBuilder
from cairn.store.format.columns import read_container
from cairn.store.format.conform import segment_problems
from cairn.store.format.manifest import SegmentRef
from cairn.store.format.postings import FIELDS, Postings
from cairn.store.read.snapshot import Part
from cairn.store.tend import merge as merge_plan
from cairn.store.tend import merge as merge_postings
from cairn.store.tend.merge import Merged, merge
from cairn.syntax.identity import CHUNKER_VERSION, chunk_hash, chunk_id
from tests.lengths import at_length
from tests.store.disks import MemoryDisk
from tests.store.segments import (
    DIMENSION,
    FILES,
    FOLDER,
    SKIPS,
    analyzed,
    facts_of,
    file_facts,
    opened,
    parts,
    skipped,
    vectors_for,
)
from tests.store.test_conform import BROKEN_DATA, BROKEN_TABLES, number, numbers_of, swapped
from tests.store.test_segment import DATA, ROWS, with_section, with_sql
from tests.support.faults import Faults

File = FileFacts | SkipRecord
Files = tuple[bytes, bytes]
"""Both files of a segment."""

REF = SegmentRef("seg_x", 1, 0, 0, 0, "0" * 64)


def key_of(file: File) -> str:
    return file.source.key if isinstance(file, FileFacts) else file.key


def fresh(files: Iterable[File], dimension: int = DIMENSION, chunker: str = CHUNKER_VERSION) -> Files:
    """What a builder makes of these files, in this order."""
    builder = SegmentBuilder(dimension, chunker)
    for file in files:
        if isinstance(file, FileFacts):
            builder.add(file, vectors_for(file, dimension))
        else:
            builder.add_skip(file)
    fs = MemoryDisk()
    fs.make_folder(FOLDER)
    builder.write(fs, FOLDER)
    return parts(fs)


def merge_onto(
    fs: MemoryDisk, sources: Sequence[Files], hidden: Sequence[Collection[int]] = (), without: Collection[str] = ()
) -> Merged:
    with ExitStack() as stack:
        segments = [stack.enter_context(opened(*source)) for source in sources]
        dead = [*map(frozenset, hidden), *[frozenset[int]()] * (len(segments) - len(hidden))]
        found = [Part(REF, *part) for part in zip(segments, dead, strict=True)]
        return merge(fs, FOLDER, found, without)


def merged(sources: Sequence[Files], hidden: Sequence[Collection[int]] = (), without: Collection[str] = ()) -> Files:
    """What a merge of these segments wrote."""
    fs = MemoryDisk()
    fs.make_folder(FOLDER)
    merge_onto(fs, sources, hidden, without)
    return parts(fs)


def in_order(files: Iterable[File]) -> list[File]:
    return sorted(files, key=key_of)


# --- the bytes of a builder -------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """Files spread over segments; which of them are hidden there, and which paths are to be left out."""

    segments: list[list[File]]
    hidden: list[set[int]]
    without: set[str]


_KEYS = ("a", "a/b.py", "a.py", "B", "é/ü", "\U0001f600", "\uffee", "src/Greeter.py")
_SKIPS = st.builds(
    lambda reason, detail, stat: (reason, detail, FileStat(*stat)),
    st.sampled_from([SkipReason.BINARY, SkipReason.TOO_LARGE]),
    st.text("aé", max_size=3),
    st.tuples(*[st.integers(-(1 << 64), 1 << 64)] * 4),
)


@st.composite
def some_file(draw: st.DrawFn, key: str) -> File:
    """A file of real code, a made-up one, or a skip record."""
    kind = draw(st.integers(0, 5))
    if kind == 0:
        reason, detail, stat = draw(_SKIPS)
        return skipped(key, reason, detail)._replace(stat=stat)
    facts = draw(st.sampled_from(FILES)) if kind < 3 else draw(file_facts(key))
    stat = FileStat(*draw(st.tuples(*[st.sampled_from([0, 1, 1 << 63])] * 4)))
    return replace(facts, source=replace(facts.source, key=key, raw=key.encode(), stat=stat))


@st.composite
def spreads(draw: st.DrawFn) -> Spread:
    """Each path may be in several segments and is live in one of them or in none, as in a snapshot."""
    count = draw(st.integers(1, 5))
    found: list[list[tuple[File, bool]]] = [[] for _ in range(count)]
    without = set()
    for key in draw(st.lists(st.sampled_from(_KEYS), unique=True)):
        places = draw(st.lists(st.integers(0, count - 1), unique=True, min_size=1, max_size=2))
        is_live = draw(st.sampled_from([True, True, True, False]))
        for place in places:
            found[place].append((draw(some_file(key)), is_live and place == places[-1]))
        if draw(st.integers(0, 5)) == 0:
            without.add(key)
    for own in found:
        own[:] = draw(st.permutations(own))
    hidden = [{place for place, (_, is_live) in enumerate(own) if not is_live} for own in found]
    return Spread([[file for file, _ in own] for own in found], hidden, without)


def survivors(spread: Spread) -> list[File]:
    return in_order(
        file
        for files, hidden in zip(spread.segments, spread.hidden, strict=True)
        for place, file in enumerate(files)
        if place not in hidden and key_of(file) not in spread.without
    )


def check(spread: Spread) -> None:
    fs = MemoryDisk()
    fs.make_folder(FOLDER)
    said = merge_onto(fs, [fresh(files) for files in spread.segments], spread.hidden, spread.without)
    left = survivors(spread)
    assert parts(fs) == fresh(left)
    with_text = [file for file in left if isinstance(file, FileFacts)]
    assert said == (len(with_text), sum(len(file.chunks) for file in with_text), len(left) - len(with_text))


@given(spreads())
@settings(max_examples=30, derandomize=True, deadline=None)
def test_a_merge_has_the_bytes_of_a_fresh_build_of_what_is_live(spread: Spread) -> None:
    check(spread)


@pytest.mark.long
@given(spreads())
@settings(max_examples=at_length(1_500), derandomize=True, deadline=None)
def test_many_more_merges_have_the_bytes_of_a_fresh_build(spread: Spread) -> None:
    check(spread)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_real_code_is_merged_however_it_was_spread(count: int) -> None:
    files: list[File] = [*FILES, *SKIPS]
    spread = Spread([files[place::count] for place in range(count)], [{0}, *[set()] * (count - 1)], {"Box.java"})
    check(spread)
    check(Spread(spread.segments, [set()] * count, set()))


def test_a_merge_of_a_merge_is_the_same_as_one_merge() -> None:
    files: list[File] = [*FILES, *SKIPS]
    one, two, three = (fresh(files[place::3]) for place in range(3))
    assert merged([merged([three, one]), two]) == merged([one, two, three]) == fresh(in_order(files))


def test_when_nothing_is_live_the_merge_is_a_segment_of_nothing() -> None:
    one = fresh([FILES[0], SKIPS[0]])
    assert merged([one], [{0, 1}]) == merged([one, one], [{0, 1}, {1}], {key_of(FILES[0])}) == fresh([])
    assert merged([fresh([])] * 2) == fresh([])


def test_what_only_dead_files_said_is_nowhere_in_the_merge() -> None:
    secret = analyzed(
        "secret.py", b"import xyzzy\n\nclass Plugh:\n    def plover(self):\n        return frotz.zork()\n", "python"
    )
    sources = [fresh([FILES[0], secret]), fresh([FILES[2]])]
    assert all(word in b"".join(sources[0]) for word in (b"xyzzy", b"Plugh", b"plover", b"frotz", b"zork"))
    for hidden, without in (([{1}], set()), ([], {"secret.py"})):
        found = b"".join(merged(sources, hidden, without)).lower()
        assert not any(word in found for word in (b"xyzzy", b"plugh", b"plover", b"frotz", b"zork", b"secret"))


def finely_cut(key: str, count: int, size: int = 1, data: bytes | None = None) -> FileFacts:
    """A text of so many chunks, with a use in each of a name of its own."""
    data = data or b"x" * (count * size)
    content = chunk_hash(data[:size])
    identity = chunk_id(content, CHUNKER_VERSION, "text")
    chunks = tuple(Chunk(n, n * size, n * size + size, 1, 1, "text", (), (), content, identity) for n in range(count))
    uses = tuple(Reference("call", f"{key}{n}", "", n * size, 1, n * size, -1) for n in range(count))
    return facts_of(key, data, Syntax("text", ParseState.LINES, (), uses), chunks)


@pytest.mark.long
def test_numbers_are_as_wide_as_the_merged_segment_needs_them() -> None:
    one, two = finely_cut("a", 33_000), finely_cut("b", 33_000)
    both, second = fresh([one, two]), fresh([two])
    assert merged([second, fresh([one])]) == both
    assert merged([both], [{0}]) == second


def test_counts_that_were_cut_off_stay_as_they_are() -> None:
    many = finely_cut("many", 1, 65_000, b"fooBar " * 9_285 + b"12345")
    assert merged([fresh([FILES[0]]), fresh([many])]) == fresh([many, FILES[0]])
    found = Postings(read_container(memoryview(fresh([many])[1])))
    assert found.columns("body").tf.max() == 255


def test_terms_of_one_hash_stay_apart_and_come_in_one_order_however_the_files_were_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def weak(term: str) -> bytes:
        return bytes([len(term) % 3]) * 8

    monkeypatch.setattr(postings, "term_hash", weak)
    monkeypatch.setattr(merge_postings, "term_hash", weak)
    files = in_order(FILES)
    together = merged([fresh(files[3:]), fresh(files[:3])])
    assert together == merged([fresh(files[1:3]), fresh(files[3:]), fresh(files[:1])])

    def said(data: bytes) -> dict[tuple[str, str], list[list[int]]]:
        found = Postings(read_container(memoryview(data)))
        return {
            (field, found.term(term)): [column.tolist() for column in found.postings(field, term)]
            for field in FIELDS
            for term in range(found.terms)
        }

    assert said(together[1]) == said(fresh(files)[1])


# --- refusals ---------------------------------------------------------------------------------------------------------


def refused(sources: Sequence[Files], why: type[Exception], match: str, hidden: Sequence[Collection[int]] = ()) -> None:
    fs = MemoryDisk()
    fs.make_folder(FOLDER)
    with pytest.raises(why, match=match):
        merge_onto(fs, sources, hidden)
    assert fs.list_folder(FOLDER) == [], "nothing was written"


def test_segments_that_cannot_be_one_are_refused() -> None:
    refused([], ValueError, "at least one segment")
    for other in (fresh([], dimension=DIMENSION + 1), fresh([], chunker="other")):
        refused([fresh([]), other], ValueError, "one chunker and one dimension")


@pytest.mark.parametrize(
    ("place", "limit", "most", "match"),
    [
        (merge_plan, "MOST_TEXT_BYTES", sum(len(facts.source.data) + 1 for facts in FILES), "4 GiB"),
        (merge_plan, "MOST_ROWS", sum(len(facts.chunks) for facts in FILES), "so many rows"),
        (
            merge_postings,
            "MOST_TERMS",
            len(Postings(read_container(memoryview(fresh(FILES)[1]))).hashes),
            "so many terms",
        ),
    ],
)
def test_more_than_one_segment_can_hold_is_refused(
    place: ModuleType, limit: str, most: int, match: str, faults: Faults
) -> None:
    sources = [fresh(FILES[:4]), fresh(FILES[4:])]
    faults.limit(place, **{limit: most})
    assert merged(sources) == fresh(in_order(FILES))
    faults.limit(place, **{limit: most - 1})
    refused(sources, ValueError, match)
    assert merged(sources, [{0}]) == fresh(in_order(FILES[1:])), "the dead do not count"


def test_a_number_that_does_not_fit_is_never_cut() -> None:
    assert merge_plan.u32(np.array([0, (1 << 32) - 1])) == bytes(4) + b"\xff" * 4
    with pytest.raises(ValueError, match="so many rows"):
        merge_plan.u32(np.array([0, 1 << 32]))


# --- damage -----------------------------------------------------------------------------------------------------------

SOUND = (ROWS, DATA)
OTHER = fresh([analyzed("other.py", b"def other(): return function_1(2)\n", "python")])
# What stands in the tables of one file and says something of that file alone goes along as it is: whoever publishes the
# merged segment looks for it, and finds it.
CARRIED = {
    "a chunk has another hash",
    "a definition ends beyond the file",
    "definitions are out of order",
    "a definition lies in one of another file",
    "an import lies beyond the file",
    "half a line range",
    "the first chunk begins late",
    "a chunk has other bytes",
    "a chunk has another line",
    "a use is beyond its chunk",
    "uses are not in order",
}
# What the merge counts anew.
MENDED = {"there are fewer files than said"}


def broken(what: str) -> Files:
    if what in BROKEN_TABLES:
        return with_sql(BROKEN_TABLES[what][0]), DATA
    name, change, _ = BROKEN_DATA[what]
    return ROWS, with_section(name, change)


@pytest.mark.parametrize("what", sorted({*BROKEN_TABLES, *BROKEN_DATA}))
def test_damage_is_refused_or_mended_or_found_in_the_merge(what: str) -> None:
    if what not in CARRIED | MENDED:
        refused([OTHER, broken(what)], StoreCorrupt, "damaged")
        return
    found = merged([OTHER, broken(what)])
    with opened(*found) as segment:
        problems = list(segment_problems(segment))
    assert problems if what in CARRIED else found == merged([OTHER, SOUND])


def other_rows(data: bytes) -> bytes:
    for field in FIELDS:
        data = with_section(f"{field}.length", lambda lengths: lengths + b"\0\0", data)
    return data


def term_twice(data: bytes) -> bytes:
    """The bytes of one term become those of another of the same length."""
    texts = Postings(read_container(memoryview(data))).texts()
    one = next(place for place, text in enumerate(texts) if len(text) == len(texts[-1]))
    return with_section("term.text", lambda _: b"".join([*texts[:one], texts[-1], *texts[one + 1 :]]), data)


def rows_swapped(data: bytes) -> bytes:
    starts = Postings(read_container(memoryview(data))).columns("body").starts
    first = int(starts[np.flatnonzero(np.diff(starts) > 1)[0]])
    return with_section("body.row", swapped((first, first + 1), 2), data)


LEFT_OUT = "skip = 16, detail = '', hash = NULL, state = NULL, language = NULL, interface = NULL"
COLUMNS = "id, path, size, mtime, ctime, inode, hash, language, state, interface, exports, partial, skip, detail, wide"
UNCHECKED = "PRAGMA ignore_check_constraints = ON"
MORE_DAMAGE: dict[str, Files] = {
    "a file that was left out has text": (with_sql(f"UPDATE files SET {LEFT_OUT} WHERE id = 2"), DATA),
    **{
        f"a file that was left out has {name}": (ROWS, with_section(name, number(1, numbers_of(name)[1] - 1)))
        for name in ("file.rows", "file.symbols", "file.imports")
    },
    "postings are of other rows": (ROWS, other_rows(DATA)),
    "a term is there twice": (ROWS, term_twice(DATA)),
    "a term has another hash": (ROWS, with_section("term.hash", number(0, 0, "Q"))),
    "a term is no text": (ROWS, with_section("term.text", lambda text: b"\xff" + text[1:])),
    "rows are not in order": (ROWS, rows_swapped(DATA)),
    "a posting is of no row": (ROWS, with_section("body.row", number(-1, 65_535, "H"))),
    "a list of names is cut": (with_sql("UPDATE chunks SET breadcrumb = x'01' WHERE id = 0"), DATA),
    "a definition has a name below 0": (with_sql("UPDATE symbols SET name = -1 WHERE id = 0"), DATA),
    "a definition is of no kind": (with_sql(UNCHECKED, "UPDATE symbols SET kind = 99 WHERE id = 0"), DATA),
    "a file has neither a hash nor a reason": (with_sql(UNCHECKED, "UPDATE files SET hash = NULL WHERE id = 0"), DATA),
    "a path is no text": (
        with_sql(
            "ALTER TABLE files RENAME TO old",
            f"CREATE TABLE files ({COLUMNS.replace('id,', 'id INTEGER PRIMARY KEY,', 1)})",
            "INSERT INTO files SELECT * FROM old",
            "DROP TABLE old",
            "UPDATE files SET path = 7 WHERE id = 0",
        ),
        DATA,
    ),
}


@pytest.mark.parametrize("what", MORE_DAMAGE)
def test_damage_to_what_files_share_is_refused(what: str) -> None:
    refused([OTHER, MORE_DAMAGE[what]], StoreCorrupt, "damaged")


def test_a_file_that_is_live_in_two_segments_is_refused() -> None:
    refused([fresh(FILES[:2]), fresh(FILES[1:3])], StoreCorrupt, "another file has it")
    assert merged([fresh(FILES[:2]), fresh(FILES[1:3])], [{1}]) == fresh(in_order(FILES[:3]))


def test_a_disk_that_fails_is_not_taken_for_damage() -> None:
    fs = MemoryDisk()
    with pytest.raises(FileNotFoundError):
        merge_onto(fs, [fresh(FILES)])


SMALL = fresh([FILES[0], SKIPS[0], FILES[2], FILES[3]])
MERGED = merged([SMALL, OTHER])
SECTIONS = {name: len(view) for name, view in read_container(memoryview(SMALL[1])).items() if view}


@st.composite
def flips(draw: st.DrawFn) -> bytes:
    """The data file with one bit turned over."""
    name = draw(st.sampled_from(sorted(SECTIONS)))
    at, bit = draw(st.integers(0, SECTIONS[name] - 1)), draw(st.integers(0, 7))

    def flip(data: bytes) -> bytes:
        return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]

    return with_section(name, flip, SMALL[1])


def found_in(rows: bytes, data: bytes) -> bool:
    try:
        with opened(rows, data) as segment:
            return any(True for _ in segment_problems(segment))
    except StoreCorrupt:
        return True


def check_flip(data: bytes) -> None:
    try:
        got = merged([(SMALL[0], data), OTHER])
    except StoreCorrupt:
        return
    assert got == MERGED or found_in(*got) or not found_in(SMALL[0], data)


@given(flips())
@settings(max_examples=80, derandomize=True, deadline=None)
def test_damage_that_could_be_seen_before_a_merge_can_be_seen_after_it(data: bytes) -> None:
    check_flip(data)


@pytest.mark.long
@given(flips())
@settings(max_examples=at_length(5_000), derandomize=True, deadline=None)
def test_much_more_damage_can_be_seen_after_a_merge(data: bytes) -> None:
    check_flip(data)
