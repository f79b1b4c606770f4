"""Write and read manifests: the segments and tombstones of a snapshot, and the proof that its run was completed.

A manifest is self-contained: it can be read without its parent. It is closed: an unknown field is refused, because the
field might change what is live. A manifest that could not be read back is never written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from cairn.core.fingerprint import fingerprint_of
from cairn.core.limits import (
    KIB,
    MAX_DEGRADED_ERRORS,
    MAX_MANIFEST_BYTES,
    MAX_SEGMENTS_PER_SNAPSHOT,
    MAX_TOMBSTONE_BYTES,
    MAX_TOMBSTONE_FILES,
    MAX_TOMBSTONES_PER_SNAPSHOT,
)
from cairn.core.types import SkipReason
from cairn.errors import StoreCorrupt, StoreUnreadable
from cairn.store.format.document import (
    CHUNK_ROWS,
    MANIFEST,
    Artifact,
    Fields,
    check_version,
    is_absolute_path,
    is_git_id,
    is_reading_newer,
    is_sha256,
    is_store_id,
    is_time,
    seal,
    unseal,
)
from cairn.store.format.layout import is_segment_name, is_snapshot_id
from cairn.store.format.tombstones import is_path_key, is_tombstone_path, snapshot_of

COMPLETION_KIND = "cairn_index_completion_v1"
PROOF = "completion proof"

_DIGEST = "manifest_sha256"
_ERROR_CODE = re.compile("[a-z][a-z0-9_]{0,63}")
_FIELD_NAME = re.compile("[A-Za-z][A-Za-z0-9._-]{0,63}")
_MOST_FINGERPRINT_FIELDS = 500
_MOST_MESSAGE_CHARS = 1_000
# The shortest possible line: {"path_key":"a","reason":"delete"}
_LEAST_TOMBSTONE_BYTES = 35


@dataclass(frozen=True, slots=True)
class GitState:
    """The state of the work tree; the head is None without git or before the first commit."""

    head_sha: str | None
    dirty: bool
    untracked_included: bool


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A sealed segment: how many chunk rows and files with facts it holds, and the size and digest of its bytes."""

    name: str
    sequence: int
    rows: int
    files: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TombstoneRef:
    """A tombstone file, by its path below the store. It hides only rows of segments with a lower sequence."""

    path: str
    sequence: int
    count: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of live files, of chunk rows in all segments, of live chunk rows, and of tombstones added here."""

    files_indexed: int
    chunks_indexed: int
    chunks_live: int
    tombstones_added: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The completion marker of a snapshot. It counts live files and chunks."""

    codebase_path: str
    fingerprint: str
    indexed_files: int
    total_chunks: int
    completed_at: str
    run_id: str


@dataclass(frozen=True, slots=True)
class FileError:
    """A file that could not be indexed, in a snapshot that was published nevertheless."""

    path_key: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One snapshot. Segments and tombstones are in order of their sequence, errors in order of path and code.

    `created_at` is when the run began to look at the tree: later changes are not in the snapshot. `config_fields` spell
    out what the fingerprint is a digest of, so that a difference can be explained; `skipped` counts the names of the
    tree that are left out, by reason. A manifest without a completion is the empty snapshot of a cleared index.
    """

    snapshot_id: str
    parent_snapshot_id: str | None
    generation: int
    lease_epoch: int
    created_at: str
    canonical_root: str
    store_id: str
    config_fingerprint: str
    config_fields: tuple[tuple[str, str], ...]
    ignore_fingerprint: str
    chunk_row_schema_version: int
    git: GitState
    segments: tuple[SegmentRef, ...]
    tombstones: tuple[TombstoneRef, ...]
    counts: Counts
    skipped: tuple[tuple[str, int], ...]
    completion: Completion | None
    degraded: bool = False
    errors: tuple[FileError, ...] = ()


_MOST_REMEMBERED_BYTES = 64 * KIB
# As many manifests as frequent saves leave while snapshots are kept: each run reads all of them, and with fewer entries
# the cache would drop each manifest before it is read again.
_MOST_REMEMBERED = 512


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the bytes of a manifest. Raises ValueError for a manifest that could not be read back."""
    fields = asdict(manifest) | {
        "completion": manifest.completion and _completion_fields(manifest.completion),
        "config_fields": dict(manifest.config_fields),
        "skipped": dict(manifest.skipped),
    }
    data = seal(MANIFEST, _DIGEST, fields)
    try:
        back = decode_manifest(data)
    except StoreUnreadable as error:
        raise ValueError(error.sentence) from error
    if back != manifest:
        raise ValueError("a manifest holds tuples and plain numbers")
    return data


def decode_manifest(data: bytes) -> Manifest:
    """Return the manifest in these bytes. Refuses damage (`StoreCorrupt`) and unreadable versions (`Incompatible`)."""
    # A run that writes decodes the same manifests again and again.
    if len(data) > _MOST_REMEMBERED_BYTES or is_reading_newer():
        return _decoded(data)
    return _remembered(data, MANIFEST, CHUNK_ROWS)


@lru_cache(_MOST_REMEMBERED)
def _remembered(data: bytes, *_: Artifact) -> Manifest:
    return _decoded(data)


def _decoded(data: bytes) -> Manifest:
    fields = unseal(MANIFEST, _DIGEST, data, MAX_MANIFEST_BYTES)
    rows_version = fields.number("chunk_row_schema_version", most=(1 << 31) - 1)
    check_version(CHUNK_ROWS, rows_version)
    completion = fields.object_or_none("completion")
    manifest = Manifest(
        snapshot_id=fields.text("snapshot_id", is_snapshot_id),
        parent_snapshot_id=fields.text_or_none("parent_snapshot_id", is_snapshot_id),
        generation=fields.number("generation", least=1),
        lease_epoch=fields.number("lease_epoch"),
        created_at=fields.text("created_at", is_time),
        canonical_root=fields.text("canonical_root", is_absolute_path),
        store_id=fields.text("store_id", is_store_id),
        config_fingerprint=fields.text("config_fingerprint", is_sha256),
        config_fields=tuple(fields.texts("config_fields", _MOST_FINGERPRINT_FIELDS, _is_field)),
        ignore_fingerprint=fields.text("ignore_fingerprint", is_sha256),
        chunk_row_schema_version=rows_version,
        git=_git(fields.object("git")),
        segments=tuple(map(_segment, fields.objects("segments", MAX_SEGMENTS_PER_SNAPSHOT))),
        tombstones=tuple(map(_tombstones, fields.objects("tombstones", MAX_TOMBSTONE_FILES))),
        counts=_counts(fields.object("counts")),
        skipped=tuple(fields.numbers("skipped", len(SkipReason), _is_skip_reason)),
        completion=None if completion is None else _completion(completion),
        degraded=fields.flag("degraded"),
        errors=tuple(map(_error, fields.objects("errors", MAX_DEGRADED_ERRORS))),
    )
    fields.end()
    for contradiction in _contradictions(manifest):
        fields.refuse(contradiction)
    return manifest


def encode_completion(completion: Completion) -> bytes:
    """Return the marker as bytes of its own, for a server that keeps it as a separate document."""
    return json.dumps(_completion_fields(completion), sort_keys=True).encode()


def decode_completion(data: bytes) -> Completion:
    """Return the marker in these bytes; raises `StoreCorrupt`, about `PROOF` for a marker of another kind."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise StoreCorrupt(artifact="completion marker", why="it is no object")
    return _completion(Fields(MANIFEST, values, version=MANIFEST.written))


def manifest_version(data: bytes) -> int:
    """Return the format version of the manifest in these bytes. Refuses damage and unreadable versions."""
    return unseal(MANIFEST, _DIGEST, data, MAX_MANIFEST_BYTES).version


# --- one object each --------------------------------------------------------------------------------------------------


def _git(fields: Fields) -> GitState:
    git = GitState(fields.text_or_none("head_sha", is_git_id), fields.flag("dirty"), fields.flag("untracked_included"))
    fields.end()
    return git


def _segment(fields: Fields) -> SegmentRef:
    segment = SegmentRef(
        name=fields.text("name", is_segment_name),
        sequence=fields.number("sequence"),
        rows=fields.number("rows"),
        files=fields.number("files"),
        size_bytes=fields.number("size_bytes", least=1),
        sha256=fields.text("sha256", is_sha256),
    )
    fields.end()
    return segment


def _tombstones(fields: Fields) -> TombstoneRef:
    # A tombstone file without tombstones is not referenced at all.
    count = fields.number("count", least=1, most=MAX_TOMBSTONES_PER_SNAPSHOT)
    tombstones = TombstoneRef(
        path=fields.text("path", is_tombstone_path),
        sequence=fields.number("sequence"),
        count=count,
        size_bytes=fields.number("size_bytes", least=count * _LEAST_TOMBSTONE_BYTES, most=MAX_TOMBSTONE_BYTES),
        sha256=fields.text("sha256", is_sha256),
    )
    fields.end()
    return tombstones


def _counts(fields: Fields) -> Counts:
    counts = Counts(
        files_indexed=fields.number("files_indexed"),
        chunks_indexed=fields.number("chunks_indexed"),
        chunks_live=fields.number("chunks_live"),
        tombstones_added=fields.number("tombstones_added"),
    )
    fields.end()
    return counts


def _completion(fields: Fields) -> Completion:
    try:
        fields.text("kind", COMPLETION_KIND.__eq__)
    except StoreCorrupt as found:
        # Reported apart from other damage: a marker that another program wrote may be whole, but it proves nothing
        # here.
        raise StoreCorrupt(artifact=PROOF, why=found.fields["why"]) from None
    completion = Completion(
        codebase_path=fields.text("codebasePath", is_absolute_path),
        fingerprint=fields.text("fingerprint", is_sha256),
        indexed_files=fields.number("indexedFiles"),
        total_chunks=fields.number("totalChunks"),
        completed_at=fields.text("completedAt", is_time),
        run_id=fields.text("runId", is_snapshot_id),
    )
    fields.end()
    return completion


def _completion_fields(completion: Completion) -> dict[str, str | int]:
    return {
        "kind": COMPLETION_KIND,
        "codebasePath": completion.codebase_path,
        "fingerprint": completion.fingerprint,
        "indexedFiles": completion.indexed_files,
        "totalChunks": completion.total_chunks,
        "completedAt": completion.completed_at,
        "runId": completion.run_id,
    }


def _error(fields: Fields) -> FileError:
    error = FileError(
        path_key=fields.text("path_key", is_path_key),
        code=fields.text("code", lambda text: _ERROR_CODE.fullmatch(text) is not None),
        # The message is shown to people as it is, so it must not contain control characters for the terminal.
        message=fields.text("message", lambda text: 0 < len(text) <= _MOST_MESSAGE_CHARS and text.isprintable()),
    )
    fields.end()
    return error


# --- what the parts say of one another --------------------------------------------------------------------------------


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """Yield where parts of a manifest, each sound by itself, contradict one another."""
    segments, tombstones, counts = manifest.segments, manifest.tombstones, manifest.counts
    # No tombstone reaches these segments: everything in them is live.
    reach = max((t.sequence for t in tombstones), default=0)
    unreached = [s for s in segments if s.sequence >= reach]
    rules = (
        (manifest.parent_snapshot_id != manifest.snapshot_id, "it is its own parent"),
        (
            fingerprint_of(dict(manifest.config_fields)) == manifest.config_fingerprint,
            "config_fingerprint is not that of its fields",
        ),
        (manifest.store_id[-16:] == manifest.config_fingerprint[:16], "store_id is that of another fingerprint"),
        (_ascend(s.sequence for s in segments), "segments are out of order"),
        (_distinct(s.name for s in segments), "a segment is there twice"),
        (_ascend(t.sequence for t in tombstones), "tombstones are out of order"),
        (_distinct(t.path for t in tombstones), "a tombstone file is there twice"),
        (sum(t.count for t in tombstones) <= MAX_TOMBSTONES_PER_SNAPSHOT, "it has too many tombstones"),
        (sum(s.rows for s in segments) == counts.chunks_indexed, "chunks_indexed is not the sum of the rows"),
        (
            sum(s.rows for s in unreached) <= counts.chunks_live <= counts.chunks_indexed,
            "chunks_live does not fit segments and tombstones",
        ),
        (
            sum(s.files for s in unreached) <= counts.files_indexed <= sum(s.files for s in segments),
            "files_indexed does not fit segments and tombstones",
        ),
        (
            sum(t.count for t in tombstones if snapshot_of(t.path) == manifest.snapshot_id) == counts.tombstones_added,
            "tombstones_added is not the count of its own tombstones",
        ),
        (manifest.degraded == bool(manifest.errors), "degraded and errors disagree"),
        (_ascend((e.path_key, e.code) for e in manifest.errors), "errors are out of order"),
        (_proven(manifest), "completion does not fit the snapshot"),
    )
    return (problem for holds, problem in rules if not holds)


def _proven(manifest: Manifest) -> bool:
    proof, counts = manifest.completion, manifest.counts
    if proof is None:
        return not manifest.segments and not manifest.tombstones
    return (proof.codebase_path, proof.fingerprint, proof.indexed_files, proof.total_chunks) == (
        manifest.canonical_root,
        manifest.config_fingerprint,
        counts.files_indexed,
        counts.chunks_live,
    )


def _is_field(text: str) -> bool:
    return _FIELD_NAME.fullmatch(text) is not None


def _is_skip_reason(text: str) -> bool:
    return text in SkipReason.__members__.values()


def _ascend(values: Iterable[Any]) -> bool:
    found = list(values)
    return found == sorted(set(found))


def _distinct(values: Iterable[str]) -> bool:
    found = list(values)
    return len(set(found)) == len(found)
