"""What a snapshot and its side files say that people ask for: when the tree was compared, and by which model."""

from __future__ import annotations

import json

from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import StoreUnreadable
from cairn.store.fs import Fs
from cairn.store.layout import INDEX_STATE
from cairn.store.manifest import Manifest
from cairn.store.state import decode_state


def last_sync(fs: Fs, manifest: Manifest) -> str:
    """When the tree was last compared: after the snapshot was made, a sync may have found nothing to do."""
    try:
        state = decode_state(fs.read(INDEX_STATE, MAX_STATE_BYTES))
    except (FileNotFoundError, StoreUnreadable):
        return manifest.created_at
    return state.last_sync_at if state.active_snapshot_id == manifest.snapshot_id else manifest.created_at


def model_of(fields: tuple[tuple[str, str], ...]) -> str | None:
    """The name of the model in the fields of a fingerprint."""
    value = json.loads(dict(fields).get("embeddingModel", "null"))
    return value if isinstance(value, str) else None
