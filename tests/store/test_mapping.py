"""The hint which file went to which segment: read back as it was written, or not at all."""

from __future__ import annotations

import pytest

from cairn.store.format.tombstones import mapping_lines, mapping_path, read_mapping
from tests.conformance import conforms
from tests.store.little import rewrite
from tests.store.test_salvage import store


@conforms("003.REP3")
def test_every_publish_writes_down_the_files_that_it_brought() -> None:
    fs, made = store()
    brought = ({"a.txt", "b.txt"}, {"a.txt", "c.txt"}, {"d.txt"})
    for manifest, files in zip(made, brought, strict=True):
        assert read_mapping(fs, manifest.snapshot_id) == {manifest.segments[-1].name: files}


def test_names_of_every_kind_come_back() -> None:
    fs, made = store()
    keys = ["é/ü.py", 'quo"te', "back\\slash", "new\nline", "\u2028"]
    rewrite(fs, mapping_path(made[0].snapshot_id), "".join(mapping_lines("seg", keys)).encode())
    assert read_mapping(fs, made[0].snapshot_id) == {"seg": frozenset(keys)}


@pytest.mark.parametrize("key", ["../../etc/passwd", "/etc/passwd", "", "a//b", 7, None])
def test_a_hint_that_names_no_file_of_a_tree_is_none(key: object) -> None:
    fs, made = store()
    segment = made[0].segments[0].name
    good = "".join(mapping_lines(segment, ["a.txt", "b.txt"]))
    bad = good + f'{{"path_key":{key!r},"segment_id":"{segment}"}}\n'.replace("'", '"').replace("None", "null")
    rewrite(fs, mapping_path(made[0].snapshot_id), bad.encode())
    assert read_mapping(fs, made[0].snapshot_id) is None
    rewrite(fs, mapping_path(made[0].snapshot_id), good.encode())
    assert read_mapping(fs, made[0].snapshot_id) == {segment: frozenset({"a.txt", "b.txt"})}
