"""segment_file_index.jsonl: which file went to which segment, beside the manifest of the snapshot that brought it.

One line for every file, `{"path_key":"a.py","segment_id":"seg_ID_0"}`. It is a hint for repairs, so it is not synced,
and whoever reads it believes it only as far as it agrees with the manifest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from cairn.core.limits import MAX_TREE_BYTES
from cairn.errors import StoreCorrupt
from cairn.store.files import read_whole
from cairn.store.fs import Fs
from cairn.store.layout import MAPPING, snapshot_folder
from cairn.store.tombstones import is_path_key


def mapping_path(run: str) -> str:
    """Where the hint of this snapshot lies."""
    return f"{snapshot_folder(run)}/{MAPPING}"


def mapping_lines(segment: str, keys: Iterable[str]) -> Iterator[str]:
    """The lines of the files in one segment."""
    name = json.dumps(segment)
    return (f'{{"path_key":{json.dumps(key, ensure_ascii=False)},"segment_id":{name}}}\n' for key in keys)


def read_mapping(fs: Fs, run: str) -> dict[str, frozenset[str]] | None:
    """The files of each segment that this snapshot brought; None when there is no hint that can be read."""
    found: dict[str, set[str]] = {}
    try:
        data = read_whole(fs, mapping_path(run), MAX_TREE_BYTES, "mapping")
        for line in data.splitlines():
            value = json.loads(line)
            key, segment = value["path_key"], value["segment_id"]
            if not isinstance(key, str) or not isinstance(segment, str) or not is_path_key(key):
                return None
            found.setdefault(segment, set()).add(key)
    except (FileNotFoundError, StoreCorrupt, ValueError, TypeError, KeyError, RecursionError):
        return None
    return {segment: frozenset(keys) for segment, keys in found.items()}
