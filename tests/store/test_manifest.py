"""A manifest is read back exactly as it was written, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core import limits
from cairn.core.fingerprint import canonical_json, fingerprint_of
from cairn.core.types import SkipReason
from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.format.layout import segment_name, snapshot_id
from cairn.store.format.manifest import (
    COMPLETION_KIND,
    Completion,
    Counts,
    FileError,
    GitState,
    Manifest,
    SegmentRef,
    TombstoneRef,
    decode_completion,
    decode_manifest,
    encode_completion,
    encode_manifest,
)
from cairn.store.format.tombstones import is_path_key, tombstone_path
from tests.conformance import conforms

OLD, MIDDLE, NEW = (snapshot_id(1_767_268_800_000_000_000 + i * 10**9, bytes([i] * 10)) for i in range(3))
FIELDS = (("chunkerVersion", '"1"'), ("embeddingDimension", "4"))
CONFIG, IGNORE, DIGEST = fingerprint_of(dict(FIELDS)), "1f" * 32, "5e" * 32
TIME = "2026-01-01T12:00:00Z"
ROOT = "/home/ann/häuser"


def segment(of: str, number: int, sequence: int, rows: int, files: int) -> SegmentRef:
    return SegmentRef(segment_name(of, number), sequence, rows, files, size_bytes=4_096 + rows, sha256=DIGEST)


def tombstones(of: str, sequence: int, count: int) -> TombstoneRef:
    return TombstoneRef(tombstone_path(of), sequence, count, size_bytes=50 * count, sha256=DIGEST)


def proof(files: int, chunks: int) -> Completion:
    return Completion(ROOT, CONFIG, files, chunks, TIME, NEW)


SAMPLE = Manifest(
    snapshot_id=NEW,
    parent_snapshot_id=MIDDLE,
    generation=7,
    lease_epoch=42,
    created_at=TIME,
    canonical_root=ROOT,
    store_id=f"haeuser__{'ab' * 8}__{CONFIG[:16]}",
    config_fingerprint=CONFIG,
    config_fields=FIELDS,
    ignore_fingerprint=IGNORE,
    chunk_row_schema_version=1,
    git=GitState("ab" * 20, dirty=True, untracked_included=False),
    segments=(segment(OLD, 0, 0, 100, 20), segment(OLD, 1, 1, 50, 10), segment(NEW, 0, 4, 9, 3)),
    tombstones=(tombstones(MIDDLE, 2, 1), tombstones(NEW, 4, 3)),
    counts=Counts(files_indexed=30, chunks_indexed=159, chunks_live=140, tombstones_added=3),
    skipped=(("binary", 4), ("ignored", 1_000)),
    completion=proof(30, 140),
    degraded=True,
    errors=(FileError("src/ü.py", "embed_failed", "The model gave no vector."),),
)
EMPTY = replace(
    SAMPLE,
    segments=(),
    tombstones=(),
    counts=Counts(0, 0, 0, 0),
    skipped=(),
    completion=None,
    degraded=False,
    errors=(),
    parent_snapshot_id=None,
    git=GitState(None, dirty=False, untracked_included=True),
)


def document(manifest: Manifest = SAMPLE) -> dict[str, Any]:
    """A manifest as any JSON reader sees it, to be changed and sealed again."""
    found = json.loads(encode_manifest(manifest))
    assert isinstance(found, dict)
    return found


def resealed(changed: dict[str, Any]) -> bytes:
    """The bytes of a document with the digest that belongs to it, as a hostile writer would make it."""
    bare = {name: value for name, value in changed.items() if name != "manifest_sha256"}
    digest = sha256((canonical_json(bare) + "\n").encode()).hexdigest()
    return (canonical_json({**bare, "manifest_sha256": digest}) + "\n").encode()


def refusal(data: bytes) -> str:
    with pytest.raises(StoreCorrupt) as refused:
        decode_manifest(data)
    assert refused.value.fields["artifact"] in ("manifest", "completion proof")
    assert refused.value.sentence.isprintable()
    return str(refused.value.fields["why"])


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every field in a document."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*above, step)
        yield from places(inner, (*above, step))


PLACES = [place for place in places(document()) if place != ("manifest_sha256",)]
# The keys of these two objects are not fixed: what they may hold has its own test.
FREE = ("config_fields", "skipped")
FIXED = [place for place in PLACES if place[0] not in FREE or len(place) == 1]


def at(changed: dict[str, Any], place: tuple[Any, ...]) -> Any:
    """What holds the last step of the way."""
    found: Any = changed
    for step in place[:-1]:
        found = found[step]
    return found


# --- what is in it ----------------------------------------------------------------------------------------------------


@conforms("003.MAN1", "003.MAN2", "003.MAN5", "003.SUM1", "000.PRF6")
def test_a_manifest_has_every_field_of_the_contract() -> None:
    assert document() == {
        "schema_version": 1,
        "chunk_row_schema_version": 1,
        "snapshot_id": NEW,
        "parent_snapshot_id": MIDDLE,
        "generation": 7,
        "lease_epoch": 42,
        "created_at": TIME,
        "canonical_root": ROOT,
        "store_id": SAMPLE.store_id,
        "config_fingerprint": CONFIG,
        "config_fields": {"chunkerVersion": '"1"', "embeddingDimension": "4"},
        "ignore_fingerprint": IGNORE,
        "git": {"head_sha": "ab" * 20, "dirty": True, "untracked_included": False},
        "segments": [
            {"name": f"seg_{OLD}_0", "sequence": 0, "rows": 100, "files": 20, "size_bytes": 4_196, "sha256": DIGEST},
            {"name": f"seg_{OLD}_1", "sequence": 1, "rows": 50, "files": 10, "size_bytes": 4_146, "sha256": DIGEST},
            {"name": f"seg_{NEW}_0", "sequence": 4, "rows": 9, "files": 3, "size_bytes": 4_105, "sha256": DIGEST},
        ],
        "tombstones": [
            {
                "path": f"snapshots/{MIDDLE}/tombstones.jsonl",
                "sequence": 2,
                "count": 1,
                "size_bytes": 50,
                "sha256": DIGEST,
            },
            {
                "path": f"snapshots/{NEW}/tombstones.jsonl",
                "sequence": 4,
                "count": 3,
                "size_bytes": 150,
                "sha256": DIGEST,
            },
        ],
        "counts": {"files_indexed": 30, "chunks_indexed": 159, "chunks_live": 140, "tombstones_added": 3},
        "skipped": {"binary": 4, "ignored": 1_000},
        "completion": {
            "kind": COMPLETION_KIND,
            "codebasePath": ROOT,
            "fingerprint": CONFIG,
            "indexedFiles": 30,
            "totalChunks": 140,
            "completedAt": TIME,
            "runId": NEW,
        },
        "degraded": True,
        "errors": [{"path_key": "src/ü.py", "code": "embed_failed", "message": "The model gave no vector."}],
        "manifest_sha256": document()["manifest_sha256"],
    }


def test_the_bytes_are_canonical_and_hold_their_own_digest() -> None:
    data = encode_manifest(SAMPLE)
    text = data.decode()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    digest = document()["manifest_sha256"]
    without = text.replace(f'"manifest_sha256":"{digest}",', "")
    assert sha256(without.encode()).hexdigest() == digest
    assert resealed(document()) == data


@pytest.mark.parametrize("manifest", [SAMPLE, EMPTY])
def test_what_was_written_is_read_back(manifest: Manifest) -> None:
    data = encode_manifest(manifest)
    assert decode_manifest(data) == manifest
    assert encode_manifest(decode_manifest(data)) == data


SMALL = st.integers(0, 1_000)
BIG = st.integers(0, 2**64 - 1)
IDS = st.builds(snapshot_id, st.integers(0, 2**61), st.binary(min_size=10, max_size=10))
HEX = st.binary(min_size=32, max_size=32).map(bytes.hex)
TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=20)


JSON_TEXT = TEXT.map(json.dumps) | st.integers().map(str)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Any sound manifest."""
    own, runs = draw(IDS), draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    named = draw(st.dictionaries(st.sampled_from(["a", "b.c", "schema.manifest"]), JSON_TEXT))
    config, root = (
        fingerprint_of(named),
        "/" + draw(TEXT.filter(lambda text: "/" not in text and text not in (".", ".."))),
    )
    sequences = sorted(draw(st.sets(st.integers(0, 40), max_size=6)))
    segments = tuple(
        SegmentRef(segment_name(draw(st.sampled_from(runs)), i), s, draw(SMALL), draw(SMALL), draw(BIG) or 1, draw(HEX))
        for i, s in enumerate(sequences)
    )
    holders = draw(st.lists(IDS | st.just(own), max_size=3, unique=True))
    hiding = sorted(draw(st.sets(st.integers(0, 40), min_size=len(holders), max_size=len(holders))))
    marks = tuple(
        TombstoneRef(tombstone_path(holder), sequence, count := draw(st.integers(1, 99)), count * 40, draw(HEX))
        for holder, sequence in zip(holders, hiding, strict=True)
    )
    safe = [s for s in segments if s.sequence >= max(hiding, default=0)]
    rows, files = sum(s.rows for s in segments), sum(s.files for s in segments)
    counts = Counts(
        files_indexed=draw(st.integers(sum(s.files for s in safe), files)),
        chunks_indexed=rows,
        chunks_live=draw(st.integers(sum(s.rows for s in safe), rows)),
        tombstones_added=sum(t.count for t in marks if t.path == tombstone_path(own)),
    )
    errors = draw(st.sets(st.tuples(TEXT, TEXT), max_size=3))
    failed = {path: FileError(path, "read_failed", message) for path, message in errors if is_path_key(path)}
    proven = Completion(root, config, counts.files_indexed, counts.chunks_live, TIME, draw(IDS))
    return Manifest(
        snapshot_id=own,
        parent_snapshot_id=draw(st.none() | IDS.filter(lambda other: other != own)),
        generation=draw(BIG) or 1,
        lease_epoch=draw(BIG),
        created_at=TIME,
        canonical_root=root,
        store_id=f"r__{'0' * 16}__{config[:16]}",
        config_fingerprint=config,
        config_fields=tuple(sorted(named.items())),
        ignore_fingerprint=draw(HEX),
        chunk_row_schema_version=1,
        git=GitState(draw(st.none() | st.just("a" * 40) | HEX), draw(st.booleans()), draw(st.booleans())),
        segments=segments,
        tombstones=marks,
        counts=counts,
        skipped=tuple(sorted(draw(st.dictionaries(st.sampled_from(list(SkipReason)), st.integers(1, 9))).items())),
        completion=proven if segments or marks else draw(st.none() | st.just(proven)),
        degraded=bool(failed),
        errors=tuple(failed[path] for path in sorted(failed)),
    )


@given(manifests())
def test_every_sound_manifest_is_read_back(manifest: Manifest) -> None:
    data = encode_manifest(manifest)
    assert decode_manifest(data) == manifest
    assert encode_manifest(decode_manifest(data)) == data


# --- damage -----------------------------------------------------------------------------------------------------------


def flip(bits: Iterable[int]) -> None:
    data = encode_manifest(SAMPLE)
    for position in range(len(data)):
        for bit in bits:
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            with pytest.raises(StoreCorrupt):
                decode_manifest(bytes(flipped))


@pytest.mark.parametrize("bit", [0, 5])
def test_a_flipped_bit_of_any_byte_is_refused(bit: int) -> None:
    flip([bit])


@pytest.mark.long
def test_every_single_flipped_bit_is_refused() -> None:
    flip(range(8))


def test_every_cut_is_refused_and_so_is_every_tail() -> None:
    data = encode_manifest(SAMPLE)
    for size in range(len(data)):
        refusal(data[:size])
    for tail in (b"\0", b"\n", b" ", data):
        refusal(data + tail)


@given(manifests(), st.data())
def test_a_flipped_bit_in_any_manifest_is_damage(manifest: Manifest, data: st.DataObject) -> None:
    flipped = bytearray(encode_manifest(manifest))
    position = data.draw(st.integers(0, len(flipped) * 8 - 1))
    flipped[position // 8] ^= 1 << position % 8
    refusal(bytes(flipped))


# --- a document with the right digest and wrong contents --------------------------------------------------------------


@conforms("003.MAN1", "003.MAN2", "003.MAN5")
@pytest.mark.parametrize("place", [p for p in FIXED if isinstance(p[-1], str)], ids=lambda p: ".".join(map(str, p)))
def test_a_missing_field_is_refused_by_its_name(place: tuple[Any, ...]) -> None:
    changed = document()
    del at(changed, place)[place[-1]]
    assert f"{place[-1]} is missing" in refusal(resealed(changed))


@conforms("003.MAN1", "003.MAN2", "003.MAN5")
@pytest.mark.parametrize("place", FIXED, ids=lambda p: ".".join(map(str, p)))
def test_a_field_of_another_type_or_out_of_its_range_is_refused(place: tuple[Any, ...]) -> None:
    before = at(document(), place)[place[-1]]
    others: list[Any] = [value for value in (None, True, 1, "x", [], {}) if type(value) is not type(before)]
    if place[-1] in ("parent_snapshot_id", "head_sha"):
        others.remove(None)
    unfit: dict[type, list[Any]] = {
        int: [-1, 2**64, 10**4_000],
        str: ["", "x\0", "x" * 20_000],
        list: [[1]],
        dict: [{"x": 1}] if place[-1] in FREE else [{}, {"x": 1}],
        bool: [],
    }
    for value in others + unfit[type(before)]:
        changed = document()
        at(changed, place)[place[-1]] = value
        assert str(place[-1] if isinstance(place[-1], str) else place[0]) in refusal(resealed(changed))


@pytest.mark.parametrize("value", [None, True, [], {}])
@pytest.mark.parametrize("field", FREE)
def test_what_counts_or_spells_out_holds_nothing_else(field: str, value: object) -> None:
    changed = document()
    key = next(iter(changed[field]))
    changed[field][key] = value
    assert field in refusal(resealed(changed))


@pytest.mark.parametrize("place", [(), ("git",), ("segments", 0), ("tombstones", 1), ("counts",), ("completion",)])
def test_an_unknown_field_is_refused_because_it_may_change_what_is_live(place: tuple[Any, ...]) -> None:
    changed = document()
    at(changed, (*place, "x"))["row_tombstones"] = []
    assert "has a field that this version does not know" in refusal(resealed(changed))


@conforms("003.VER2", "003.DOWN1")
@pytest.mark.parametrize("version", [0, 999])
def test_a_manifest_or_rows_of_another_version_are_refused_by_name(version: int) -> None:
    with pytest.raises(Incompatible) as refused:
        decode_manifest(resealed({**document(), "schema_version": version, "new": 1}))
    assert refused.value.fields == {"artifact": "manifest", "version": version, "oldest": 1, "newest": 1}
    with pytest.raises(Incompatible) as refused:
        decode_manifest(resealed({**document(), "chunk_row_schema_version": version}))
    assert refused.value.fields == {"artifact": "chunk row schema", "version": version, "oldest": 1, "newest": 1}


WRONG: dict[str, tuple[Manifest, str]] = {
    "own parent": (replace(SAMPLE, parent_snapshot_id=NEW), "its own parent"),
    "fields of another fingerprint": (replace(SAMPLE, config_fields=(("a", "1"),)), "config_fingerprint"),
    "a field without a name": (replace(SAMPLE, config_fields=(("", "1"),)), "config_fields"),
    "a reason that nobody knows": (replace(SAMPLE, skipped=(("bored", 1),)), "skipped"),
    "a reason without a name": (replace(SAMPLE, skipped=(("ignored", 0),)), "skipped"),
    "another store": (replace(SAMPLE, store_id=f"r__{'0' * 16}__{'0' * 16}"), "store_id"),
    "generation zero": (replace(SAMPLE, generation=0), "generation"),
    "segments swapped": (replace(SAMPLE, segments=SAMPLE.segments[::-1]), "segments are out of order"),
    "one sequence twice": (
        replace(SAMPLE, segments=(SAMPLE.segments[0], replace(SAMPLE.segments[1], sequence=0), SAMPLE.segments[2])),
        "segments are out of order",
    ),
    "one segment twice": (
        replace(
            SAMPLE,
            segments=(
                SAMPLE.segments[0],
                replace(SAMPLE.segments[1], name=SAMPLE.segments[0].name),
                SAMPLE.segments[2],
            ),
        ),
        "a segment is there twice",
    ),
    "tombstones swapped": (replace(SAMPLE, tombstones=SAMPLE.tombstones[::-1]), "tombstones are out of order"),
    "one tombstone file twice": (
        replace(SAMPLE, tombstones=(tombstones(NEW, 2, 1), tombstones(NEW, 4, 3))),
        "a tombstone file is there twice",
    ),
    "too many tombstones": (
        replace(SAMPLE, tombstones=(tombstones(OLD, 2, 125_000), tombstones(MIDDLE, 4, 125_001))),
        "too many tombstones",
    ),
    "more tombstones than bytes": (
        replace(SAMPLE, tombstones=(replace(SAMPLE.tombstones[0], size_bytes=34), SAMPLE.tombstones[1])),
        "tombstones[0].size_bytes",
    ),
    "chunks miscounted": (replace(SAMPLE, counts=replace(SAMPLE.counts, chunks_indexed=160)), "chunks_indexed"),
    "more live than there are": (replace(SAMPLE, counts=replace(SAMPLE.counts, chunks_live=160)), "chunks_live"),
    "fewer live than unreachable": (replace(SAMPLE, counts=replace(SAMPLE.counts, chunks_live=8)), "chunks_live"),
    "more files than there are": (replace(SAMPLE, counts=replace(SAMPLE.counts, files_indexed=34)), "files_indexed"),
    "fewer files than unreachable": (replace(SAMPLE, counts=replace(SAMPLE.counts, files_indexed=2)), "files_indexed"),
    "tombstones miscounted": (
        replace(SAMPLE, counts=replace(SAMPLE.counts, tombstones_added=4)),
        "tombstones_added",
    ),
    "hidden rows without tombstones": (
        replace(SAMPLE, tombstones=(), counts=replace(SAMPLE.counts, files_indexed=33, tombstones_added=0)),
        "chunks_live",
    ),
    "hidden files without tombstones": (
        replace(SAMPLE, tombstones=(), counts=replace(SAMPLE.counts, chunks_live=159, tombstones_added=0)),
        "files_indexed",
    ),
    "degraded without errors": (replace(SAMPLE, errors=()), "degraded"),
    "errors without degraded": (replace(SAMPLE, degraded=False), "degraded"),
    "errors out of order": (
        replace(SAMPLE, errors=(FileError("b", "x", "m"), FileError("a", "x", "m"))),
        "errors are out of order",
    ),
    "one error twice": (
        replace(SAMPLE, errors=(FileError("b", "x", "m"), FileError("b", "x", "other"))),
        "errors are out of order",
    ),
    "an error for no file": (replace(SAMPLE, errors=(FileError("../b", "x", "m"),)), "errors[0].path_key"),
    "an error that steers a terminal": (replace(SAMPLE, errors=(FileError("b", "x", "\x1b[2J"),)), "errors[0].message"),
    "a message too long": (replace(SAMPLE, errors=(FileError("b", "x", "m" * 1_001),)), "errors[0].message"),
    "a code that is none": (replace(SAMPLE, errors=(FileError("b", "X y", "m"),)), "errors[0].code"),
    "proof of another root": (
        replace(SAMPLE, completion=replace(proof(30, 140), codebase_path="/other")),
        "completion",
    ),
    "proof of another fingerprint": (
        replace(SAMPLE, completion=replace(proof(30, 140), fingerprint=IGNORE)),
        "completion",
    ),
    "proof of other files": (replace(SAMPLE, completion=proof(31, 140)), "completion"),
    "proof of other chunks": (replace(SAMPLE, completion=proof(30, 141)), "completion"),
    "contents without proof": (replace(SAMPLE, completion=None), "completion"),
    "tombstones without proof": (
        replace(EMPTY, tombstones=(tombstones(MIDDLE, 1, 1),)),
        "completion",
    ),
    "too many segments": (
        replace(SAMPLE, segments=tuple(segment(OLD, i, i, 0, 0) for i in range(65))),
        "segments is not a list of at most 64",
    ),
    "too many tombstone files": (
        replace(SAMPLE, tombstones=tuple(tombstones(NEW, i, 1) for i in range(257))),
        "tombstones is not a list of at most 256",
    ),
    "too many errors": (
        replace(SAMPLE, errors=tuple(FileError(f"{i:05}", "x", "m") for i in range(limits.MAX_DEGRADED_ERRORS + 1))),
        "errors is not a list of at most 10000",
    ),
    "too large": (
        replace(SAMPLE, errors=tuple(FileError(f"{i:05}", "x", "m" * 1_000) for i in range(5_000))),
        f"larger than {limits.MAX_MANIFEST_BYTES}",
    ),
}


def as_document(value: Any) -> Any:
    """What a careless writer would put down, without any check."""
    if isinstance(value, Completion):
        return document()["completion"] | {
            "codebasePath": value.codebase_path,
            "fingerprint": value.fingerprint,
            "indexedFiles": value.indexed_files,
            "totalChunks": value.total_chunks,
        }
    if isinstance(value, tuple):
        return [as_document(item) for item in value]
    if hasattr(value, "__slots__"):
        found = {field.name: as_document(getattr(value, field.name)) for field in fields(value)}
        named = ("config_fields", "skipped") if isinstance(value, Manifest) else ()
        return found | {name: dict(found[name]) for name in named}
    return value


@pytest.mark.parametrize("name", WRONG)
def test_parts_that_do_not_fit_together_are_refused(name: str) -> None:
    manifest, why = WRONG[name]
    assert why in refusal(resealed({"schema_version": 1, **as_document(manifest)}))


@pytest.mark.parametrize("name", WRONG)
def test_what_could_not_be_read_again_is_never_written(name: str) -> None:
    manifest, _ = WRONG[name]
    with pytest.raises(ValueError, match="manifest of the index"):
        encode_manifest(manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        replace(SAMPLE, segments=list(SAMPLE.segments)),  # type: ignore[arg-type]
        replace(SAMPLE, canonical_root="/caf\udce9", completion=replace(proof(30, 140), codebase_path="/caf\udce9")),
    ],
)
def test_a_writer_cannot_slip_in_other_types_or_text_that_is_not_unicode(manifest: Manifest) -> None:
    with pytest.raises(ValueError, match=r"tuples|surrogates"):
        encode_manifest(manifest)


def test_rows_in_the_newest_segments_are_live_whatever_the_tombstones_say() -> None:
    # A tombstone with the sequence of a segment is the one that made room for it: it does not reach it.
    lowest = replace(SAMPLE, counts=replace(SAMPLE.counts, files_indexed=3, chunks_live=9), completion=proof(3, 9))
    assert decode_manifest(encode_manifest(lowest)) == lowest


def test_a_manifest_at_every_cap_is_written_and_read() -> None:
    full = replace(
        SAMPLE,
        segments=tuple(segment(OLD, i, i, 10, 5) for i in range(64)),
        tombstones=tuple(
            tombstones(snapshot_id(i * 10**9, bytes(10)), 100 + i, 976 if i else 1_120) for i in range(256)
        ),
        counts=Counts(320, 640, 640, 0),
        completion=proof(320, 640),
        errors=tuple(FileError(f"{i:05}", "x" * 64, "m" * 100) for i in range(limits.MAX_DEGRADED_ERRORS)),
    )
    assert sum(ref.count for ref in full.tombstones) == limits.MAX_TOMBSTONES_PER_SNAPSHOT
    assert decode_manifest(encode_manifest(full)) == full


def test_a_marker_by_itself_is_read_back_and_one_of_another_kind_or_form_is_refused() -> None:
    marker = proof(2, 5)
    data = encode_completion(marker)
    assert decode_completion(data) == marker
    fields_of_it = {"kind", "codebasePath", "fingerprint", "indexedFiles", "totalChunks", "completedAt", "runId"}
    assert set(json.loads(data)) == fields_of_it
    other = data.replace(b"completion_v1", b"completion_v2")
    for wrong in (b"", b"[]", b"no json", other, data[:-1] + b', "more": 1}', b"[" * 100_000):
        with pytest.raises(StoreCorrupt):
            decode_completion(wrong)
