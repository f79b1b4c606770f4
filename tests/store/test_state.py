"""index_state.json repeats what the active manifest says, and can be made again from it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from cairn.core import limits
from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.format.document import INDEX_STATE, seal
from cairn.store.format.manifest import GitState, Manifest, decode_manifest, encode_manifest
from cairn.store.format.side_files import IndexState, decode_state, encode_state, state_of
from tests.conformance import conforms
from tests.store.test_manifest import CONFIG, EMPTY, IGNORE, NEW, ROOT, SAMPLE, TIME, manifests

STATE = state_of(SAMPLE)


def document() -> dict[str, Any]:
    found = json.loads(encode_state(STATE))
    assert isinstance(found, dict)
    return {name: value for name, value in found.items() if name not in ("state_sha256", "schema_version")}


def sealed(changed: dict[str, Any], version: int = 1) -> bytes:
    return seal(replace(INDEX_STATE, written=version), "state_sha256", changed)


@conforms("003.IS2", "003.IS3")
def test_the_state_has_every_field_of_the_contract() -> None:
    found = json.loads(encode_state(STATE))
    assert len(found.pop("state_sha256")) == 64
    assert found == {
        "schema_version": 1,
        "store_id": SAMPLE.store_id,
        "canonical_root": ROOT,
        "config_fingerprint": CONFIG,
        "ignore_fingerprint": IGNORE,
        "active_snapshot_id": NEW,
        "git": {"last_head_sha": "ab" * 20, "dirty": True, "untracked_included": False},
        "last_sync_at": TIME,
        "last_result": "degraded",
    }


@conforms("003.IS1")
@given(manifests())
def test_the_state_follows_from_the_bytes_of_the_active_manifest(manifest: Manifest) -> None:
    data = encode_state(state_of(manifest))
    assert encode_state(state_of(decode_manifest(encode_manifest(manifest)))) == data
    assert decode_state(data) == state_of(manifest)
    assert encode_state(decode_state(data)) == data


def test_a_sync_that_found_nothing_changes_only_the_time() -> None:
    later = state_of(EMPTY, "2026-01-02T00:00:00Z")
    assert later.last_sync_at == "2026-01-02T00:00:00Z"
    assert replace(later, last_sync_at=EMPTY.created_at) == state_of(EMPTY)
    assert later.last_result == "ok"
    assert decode_state(encode_state(later)) == later


@conforms("003.IS3")
def test_unknown_fields_are_passed_over_and_covered_by_the_digest() -> None:
    data = sealed({**document(), "future": [1, {"x": None}], "git": {**document()["git"], "branch": "trunk"}})
    assert decode_state(data) == STATE
    with pytest.raises(StoreCorrupt, match="digest"):
        decode_state(data.replace(b"trunk", b"drunk"))


def test_every_single_flipped_bit_is_refused() -> None:
    data = encode_state(STATE)
    for position in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        with pytest.raises(StoreCorrupt):
            decode_state(bytes(flipped))


@pytest.mark.parametrize("name", document())
def test_a_missing_or_mistyped_field_is_refused_by_its_name(name: str) -> None:
    without = {key: value for key, value in document().items() if key != name}
    with pytest.raises(StoreCorrupt, match=f"{name} is missing"):
        decode_state(sealed(without))
    for value in (None, 1, True, "", "nonsense", [], ["x"]):
        with pytest.raises(StoreCorrupt, match=name):
            decode_state(sealed({**document(), name: value}))


@pytest.mark.parametrize("name", ["last_head_sha", "dirty", "untracked_included"])
def test_a_missing_or_mistyped_git_field_is_refused_by_its_name(name: str) -> None:
    git = document()["git"]
    for broken in ({key: value for key, value in git.items() if key != name}, {**git, name: 1}):
        with pytest.raises(StoreCorrupt, match=rf"git\.{name}"):
            decode_state(sealed({**document(), "git": broken}))


@conforms("003.VER2")
@pytest.mark.parametrize("version", [0, 999])
def test_a_state_of_another_version_is_refused_by_name(version: int) -> None:
    with pytest.raises(Incompatible, match=f"The index state of the index has format version {version};"):
        decode_state(sealed(document(), version))


def test_a_state_that_is_too_large_is_not_parsed() -> None:
    with pytest.raises(StoreCorrupt, match="larger"):
        decode_state(sealed({**document(), "pad": "x" * limits.MAX_STATE_BYTES}))


@pytest.mark.parametrize(
    "state",
    [
        replace(STATE, last_result="failed"),
        replace(STATE, store_id="x"),
        replace(STATE, config_fingerprint=IGNORE),
        replace(STATE, git=GitState("short", dirty=True, untracked_included=True)),
        replace(STATE, active_snapshot_id=""),
    ],
)
def test_what_could_not_be_read_again_is_never_written(state: IndexState) -> None:
    with pytest.raises(ValueError, match="index state"):
        encode_state(state)
