"""What a run wants the next snapshot to be: the segments before, what replaces some of them, what comes on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cairn.core.fingerprint import IndexFingerprint
from cairn.store.manifest import FileError, GitState
from cairn.store.staging import Batch
from cairn.store.tombstones import Tombstone


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of a draft: these tombstones hide what lies below, then these batches come on top."""

    tombstones: tuple[Tombstone, ...] = ()
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """These segments of the base give way to one that holds what was live in them; None when nothing was."""

    replaced: tuple[str, ...]
    batch: Batch | None


@dataclass(frozen=True, slots=True)
class Draft:
    """All that a new snapshot will say.

    `on_base` keeps the segments of the snapshot before, but for those that are rewritten; without it only the layers
    count. `expected` names every file that was looked at, with the hash of its bytes, or None when it must be gone;
    `files` is how many the tree holds. A draft that is not `complete` clears the index.
    """

    root: str
    store_id: str
    fingerprint: IndexFingerprint
    ignore_fingerprint: str
    git: GitState
    read_at: str
    on_base: bool
    layers: tuple[Layer, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    expected: Mapping[str, str | None] = field(default_factory=dict)
    files: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    errors: tuple[FileError, ...] = ()
    complete: bool = True
