"""Files of the working tree laid over a snapshot: the view says what a publish of the same files would say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.types import FileFacts
from cairn.store.read.live import live_parts
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.syntax.identity import CHUNKER_VERSION
from tests.store.disks import MemoryDisk
from tests.store.little import all_files, contents, facts, save
from tests.store.segments import DIMENSION, JAVA, PYTHON, analyzed

BASE = {"a.py": PYTHON, "b.java": JAVA, "c.txt": b"gamma\n"}


def view_of(files: Mapping[str, bytes]) -> tuple[MemoryDisk, SnapshotView]:
    fs = MemoryDisk()
    save(fs, files, facts_of=_facts)
    view = open_view(fs, "here")
    assert view is not None
    return fs, view


def _facts(key: str, data: bytes) -> FileFacts:
    language = {"py": "python", "java": "java"}.get(key.rpartition(".")[2])
    return facts(key, data) if language is None else analyzed(key, data, language)


def overlaid(view: SnapshotView, files: Mapping[str, bytes], gone: tuple[str, ...] = ()) -> SnapshotView:
    made = [_facts(key, data) for key, data in sorted(files.items())]
    with_vectors = [(one, np.full((len(one.chunks), DIMENSION), 0.5, np.float32)) for one in made]
    return view.overlaid(with_vectors, gone, DIMENSION, CHUNKER_VERSION)


def everything(view: SnapshotView) -> object:
    """All that can be read through a view, in an order that does not depend on its segments."""
    names = ("Greeter", "greet", "main", "Box", "settle", "print")
    rows = [row for key in sorted(contents(view)) for row in view.chunks(key)]
    return (
        contents(view),
        {key: (view.symbols(key), view.references(key), view.imports(key)) for key in contents(view)},
        [(row.row_id, row.text, row.start_line, bytes(row.vector)) for row in rows],
        {name: sorted(view.symbols_named(name), key=str) for name in names},
        {name: sorted(view.references_named(name), key=str) for name in names},
        view.counts(),
        sorted(key for part in live_parts(view) for key, _ in part.files()),
    )


def test_the_view_says_what_a_publish_of_the_same_files_would_say() -> None:
    after = {"a.py": PYTHON.replace(b"greet", b"settle"), "d.py": b"def settle(x):\n    return x\n"}
    _, view = view_of(BASE)
    _, published = view_of({"c.txt": b"gamma\n"} | after)
    with view, published, overlaid(view, after, gone=("b.java",)) as over:
        assert everything(over) == everything(published)
        assert over.manifest is view.manifest
        assert dict(over.working) == {
            key: record.file_hash for key, record in published.records().items() if key in after
        }


def test_the_snapshot_below_is_as_it_was_and_nothing_is_written() -> None:
    fs, view = view_of(BASE)
    before, files = everything(view), {path: fs.stat(path) for path in all_files(fs)}
    with view:
        overlaid(view, {"a.py": b"x = 1\n"}, gone=("c.txt",)).close()
        assert everything(view) == before
        assert view.working == {}
    assert {path: fs.stat(path) for path in all_files(fs)} == files


def test_an_overlay_can_be_laid_over_an_overlay() -> None:
    _, view = view_of(BASE)
    with view, overlaid(view, {"a.py": b"x = 1\n"}) as first, overlaid(first, {"a.py": b"y = 2\n"}) as second:
        assert contents(second)["a.py"] == b"y = 2\n"
        assert contents(first)["a.py"] == b"x = 1\n"


_FILES = st.dictionaries(
    st.sampled_from(["a.py", "b.java", "c.txt", "d.py", "e/f.txt"]),
    st.sampled_from([PYTHON, JAVA, b"", b"one\n", b"def settle():\n    main()\n"]),
    max_size=4,
)


@given(_FILES, _FILES, st.sets(st.sampled_from(["a.py", "b.java", "c.txt", "d.py"])))
def test_whatever_changes_an_overlay_equals_a_fresh_index(
    before: dict[str, bytes], changed: dict[str, bytes], gone: set[str]
) -> None:
    after = {key: data for key, data in before.items() if key not in gone} | changed
    _, view = view_of(before)
    _, published = view_of(after)
    with view, published, overlaid(view, changed, gone=tuple(gone)) as over:
        assert everything(over) == everything(published)
