"""A few files of real code as one snapshot, each in the language that its name says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cairn.core.filetypes import language_of
from cairn.core.types import FileFacts, StoredFile
from cairn.store.read.snapshot import SnapshotView
from tests.search.trees import viewed
from tests.store import little
from tests.store.disks import MemoryDisk
from tests.store.segments import analyzed


def _facts(key: str, data: bytes) -> FileFacts:
    return analyzed(key, data, language_of(key.rpartition("/")[2].encode(), data))


@contextmanager
def code_view(*trees: Mapping[str, str | bytes]) -> Iterator[SnapshotView]:
    """The last of these trees, each published after the one before, so that old rows lie below tombstones."""
    fs = MemoryDisk()
    for tree in trees:
        little.save(
            fs, {key: text if isinstance(text, bytes) else text.encode() for key, text in tree.items()}, facts_of=_facts
        )
    with viewed(fs) as view:
        yield view


def file_of(view: SnapshotView, key: str) -> StoredFile:
    """What the view knows of a file that is in it."""
    found = view.file(key)
    assert found is not None
    return found
