"""A store of real code, with its definitions, on a disk in memory."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.core.types import FileFacts
from tests.store import little
from tests.store.disks import MemoryDisk
from tests.store.segments import analyzed

_LANGUAGES = {"py": "python", "rs": "rust"}


def _facts(key: str, data: bytes) -> FileFacts:
    return analyzed(key, data, _LANGUAGES[key.rpartition(".")[2]])


def code_store(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> MemoryDisk:
    """A store that holds the second tree, of which the first is still there under tombstones."""
    fs = MemoryDisk()
    if before:
        little.save(fs, before, facts_of=_facts)
    little.save(fs, after, facts_of=_facts)
    return fs
