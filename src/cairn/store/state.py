"""index_state.json: the few facts about a store that are asked for most, beside the truth.

It says nothing that the active manifest does not say, so it can be thrown away and made again at any time. Unknown
fields are passed over (the digest covers them): a later writer may add what an older reader can do without.
"""

from __future__ import annotations

from dataclasses import dataclass

from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import StoreUnreadable
from cairn.store.document import is_absolute_path, is_git_id, is_sha256, is_store_id, is_time, seal, unseal
from cairn.store.ids import is_snapshot_id
from cairn.store.manifest import GitState, Manifest
from cairn.store.versions import INDEX_STATE

OK, DEGRADED = "ok", "degraded"

_DIGEST = "state_sha256"


@dataclass(frozen=True, slots=True)
class IndexState:
    """Where the store stands. A failed run publishes nothing, so the result is that of the active snapshot."""

    store_id: str
    canonical_root: str
    config_fingerprint: str
    ignore_fingerprint: str
    active_snapshot_id: str
    git: GitState
    last_sync_at: str
    last_result: str


def state_of(manifest: Manifest, synced_at: str | None = None) -> IndexState:
    """The state that follows from the active manifest; a sync that found no change has a later time than it."""
    return IndexState(
        store_id=manifest.store_id,
        canonical_root=manifest.canonical_root,
        config_fingerprint=manifest.config_fingerprint,
        ignore_fingerprint=manifest.ignore_fingerprint,
        active_snapshot_id=manifest.snapshot_id,
        git=manifest.git,
        last_sync_at=manifest.created_at if synced_at is None else synced_at,
        last_result=DEGRADED if manifest.degraded else OK,
    )


def encode_state(state: IndexState) -> bytes:
    """The bytes of index_state.json. Refuses, as a mistake of the writer, what could not be read."""
    git = {
        "last_head_sha": state.git.head_sha,
        "dirty": state.git.dirty,
        "untracked_included": state.git.untracked_included,
    }
    fields = {
        "store_id": state.store_id,
        "canonical_root": state.canonical_root,
        "config_fingerprint": state.config_fingerprint,
        "ignore_fingerprint": state.ignore_fingerprint,
        "active_snapshot_id": state.active_snapshot_id,
        "git": git,
        "last_sync_at": state.last_sync_at,
        "last_result": state.last_result,
    }
    data = seal(INDEX_STATE, _DIGEST, fields)
    try:
        decode_state(data)
    except StoreUnreadable as error:
        raise ValueError(error.sentence) from error
    return data


def decode_state(data: bytes) -> IndexState:
    """The state in these bytes. Refuses damage and versions we cannot read; the answer to both is `state_of`."""
    fields = unseal(INDEX_STATE, _DIGEST, data, MAX_STATE_BYTES)
    git = fields.object("git")
    state = IndexState(
        store_id=fields.text("store_id", is_store_id),
        canonical_root=fields.text("canonical_root", is_absolute_path),
        config_fingerprint=fields.text("config_fingerprint", is_sha256),
        ignore_fingerprint=fields.text("ignore_fingerprint", is_sha256),
        active_snapshot_id=fields.text("active_snapshot_id", is_snapshot_id),
        git=GitState(
            head_sha=git.text_or_none("last_head_sha", is_git_id),
            dirty=git.flag("dirty"),
            untracked_included=git.flag("untracked_included"),
        ),
        last_sync_at=fields.text("last_sync_at", is_time),
        last_result=fields.text("last_result", (OK, DEGRADED).__contains__),
    )
    if state.store_id[-16:] != state.config_fingerprint[:16]:
        fields.refuse("store_id is that of another fingerprint")
    return state
